"""Account of a run: its caps, its spending by phase and role, and how much of its material models were
given, and what would give the next run more of it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from deep_research.budget.fidelity import FidelityLevel, ItemFidelity, RunFidelity
from deep_research.models.failures import tells_too_long
from deep_research.patterns import regex
from deep_research.state import (
    Budget,
    DeepResearchPhase,
    DeepResearchState,
    Limit,
    Notice,
    Record,
    Usage,
)
from deep_research.state.notices import reported_notices

MAX_ITEMS = 10  # that are named
_COUNTED = {"max_model_calls": "model_calls", "max_searches": "searches", "max_fetches": "fetches"}
LARGE_ARCHIVE = 1_000_000_000  # bytes
LOW_FIDELITY = 0.5
_FLOORS = regex(r"\bfloors of the \d+ protected\b")  # as the allocation says it
_NO_ROOM = regex(r"\bdo(?:es)? not fit\b")  # as `WindowError` says it


class CapUse(Record):
    """A cap by the name of its setting, None for none; ``usage`` is None where it is not known."""

    name: str
    cap: int | float | None
    usage: int | float | None


class KeptItem(Record):
    """A text of which a phase was not given all; ``archived`` is the hash under which the original is kept."""

    id: str
    title: str
    phase: DeepResearchPhase
    original_tokens: int
    current_tokens: int
    current_level: FidelityLevel
    compression_ratio: float
    archived: str | None = None


class Accounts(Record):
    """The books of one run. ``least_kept`` are the texts of which least was sent,
    at most `MAX_ITEMS`; ``advice`` is what could be done about what was left out."""

    research_id: str
    query: str
    caps: tuple[CapUse, ...]
    usage: Usage
    fidelity: RunFidelity
    least_kept: tuple[KeptItem, ...]
    notices: tuple[Notice | Limit, ...]
    advice: tuple[str, ...]

    @classmethod
    def of(cls, state: DeepResearchState, *, archive_bytes: int = 0) -> Accounts:
        """``archive_bytes`` are those of the archive as a whole."""
        fidelity, notices = RunFidelity.of(state.context_usage), reported_notices(state)
        aborted = state.abort.message if state.abort else ""
        kept = sorted(
            _shortened(state, fidelity), key=lambda i: (i.compression_ratio, -i.original_tokens, i.id)
        )
        return cls(
            research_id=state.research_id,
            query=state.query,
            caps=tuple(_caps(state)),
            usage=state.usage,
            fidelity=fidelity,
            least_kept=tuple(kept[:MAX_ITEMS]),
            notices=notices,
            advice=tuple(advice(fidelity, notices, aborted=aborted, archive_bytes=archive_bytes)),
        )


def _caps(state: DeepResearchState) -> Iterator[CapUse]:
    usage = state.usage
    told = {limit.name: limit.usage for limit in state.limits}
    for name in Budget.model_fields:
        used: float | None
        match name:
            case "max_usd":
                used = usage.cost_usd
            case "max_tokens":
                used = usage.input_tokens + usage.output_tokens
            case "max_iterations":
                used = state.iteration
            case "max_seconds":
                used = told.get(name) or state.seconds or None  # the log of an older run does not say
            case _:
                used = dict(usage).get(_COUNTED[name])
        cap = state.max_iterations if name == "max_iterations" else getattr(state.options.budget, name)
        yield CapUse(name=name, cap=cap, usage=used)


def _shortened(state: DeepResearchState, fidelity: RunFidelity) -> Iterator[KeptItem]:
    titles = _titles(state)
    for phase, sent in fidelity.phases.items():
        for name, item in sent.content_fidelity.items():
            if item.current_tokens < item.original_tokens:
                archived = fidelity.content_archive_hashes.get(name)
                yield _kept_item(name, titles.get(name, name), phase, item, archived)


def _kept_item(
    name: str, title: str, phase: DeepResearchPhase, item: ItemFidelity, archived: str | None
) -> KeptItem:
    return KeptItem(id=name, title=title, phase=phase, archived=archived, **dict(item))


def _titles(state: DeepResearchState) -> dict[str, str]:
    return (
        {source.id: source.title for source in state.sources}
        | {finding.id: finding.content for finding in state.findings}
        | {gap.id: gap.description for gap in state.gaps}
        | {contradiction.id: contradiction.description for contradiction in state.contradictions}
    )


def advice(
    fidelity: RunFidelity, notices: Sequence[Notice], *, aborted: str = "", archive_bytes: int = 0
) -> list[str]:
    """A line for each thing that can be done. ``aborted`` is why the run was, if it was; ``archive_bytes`` are those of
    the archive as a whole."""
    limits = [notice for notice in notices if isinstance(notice, Limit)]
    return [
        *_of_content(fidelity, limits),
        *_of_prompts(notices, aborted),
        *_of_archive(notices, archive_bytes),
        *_of_caps(limits),
    ]


def _of_content(fidelity: RunFidelity, limits: Sequence[Limit]) -> Iterator[str]:
    totals = fidelity.content_allocation_metadata
    # Where a cap was the reason, more room would not help.
    caps = [x.of_cap for x in limits if not x.is_shared and x.name != x.of_cap]
    if dropped := totals.items_dropped:
        texts = "1 text was" if dropped == 1 else f"{dropped:,} texts were"
        yield (
            f"{texts} left out to keep within {caps[0]}: raise it, or lower max_sources_per_query. What is named by"
            " protected stays."
            if caps
            else f"{texts} left out: take a model with a larger window, raise reading.tokens, lower"
            " window.runtime_overhead and window.safety_margin, or lower max_sources_per_query. What is"
            " named by protected_sources stays."
        )
        if not fidelity.content_archive_hashes:
            yield "No original was kept: content_archive.enabled keeps those of what is left out."
    if totals.fidelity < LOW_FIDELITY:
        yield (
            f"Less than half of what was found reached the models: raise {caps[0]}, or lower max_sources_per_query."
            if caps
            else "Less than half of what was found reached the models: lower max_sources_per_query, raise"
            " reading.tokens, or take a model with a larger window; window.model_tokens says what one has."
        )


def _of_prompts(notices: Sequence[Notice], aborted: str) -> Iterator[str]:
    failures = [aborted, *(notice.message for notice in notices if notice.name in ("agent", "model"))]
    floors = [said for said in failures if _FLOORS.search(said)]
    if floors:
        yield "What is protected is more than a model reads: raise reading.tokens and the caps, or protect less."
    if any((_NO_ROOM.search(x) and x not in floors) or tells_too_long(x) for x in failures):
        yield (
            "A prompt was too long for its model: raise window.safety_margin or window.runtime_overhead, give the true"
            " window in window.model_tokens, or lower max_sources_per_query."
        )
    if "summarizer" in _names(notices):
        yield (
            "A model could not choose what is kept of a long text: name faster or further ones in"
            " summarization.model, or raise summarization.timeout."
        )


def _of_archive(notices: Sequence[Notice], size: int) -> Iterator[str]:
    if "archive" in _names(notices):
        yield "Originals could not be kept: set content_archive.dir to a folder that can be written."
    if size > LARGE_ARCHIVE:
        yield (
            f"The archive has grown to {size / 1e9:.1f} GB: lower content_archive.ttl_hours, then run"
            " `deep-research archive clean`."
        )


def _of_caps(limits: Sequence[Limit]) -> Iterator[str]:
    """Of the run's own budget, and of one that it shares: to raise the one helps nothing against the other."""
    for of, shared in (("", False), (" of the shared budget", True)):
        reached = dict.fromkeys(limit.of_cap for limit in limits if limit.is_shared is shared)
        if reached:
            named = " and ".join(reached)
            yield f"Raise {named}{of}: the report was written from what there was when that was reached."


def _names(notices: Iterable[Notice]) -> set[str]:
    return {notice.name for notice in notices}
