"""Account of a run: its caps, its spending by phase and role, and how much of its material models were given. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from deep_research.budget.fidelity import FidelityLevel, ItemFidelity, RunFidelity
from deep_research.budget.recommendations import advice
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

MOST_ITEMS = 10  # that are named
_COUNTED = {"max_model_calls": "model_calls", "max_searches": "searches", "max_fetches": "fetches"}


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
    at most `MOST_ITEMS`; ``advice`` is what could be done about what was left out."""

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
            least_kept=tuple(kept[:MOST_ITEMS]),
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
