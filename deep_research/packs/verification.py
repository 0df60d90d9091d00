"""Verification of a run: repeats hashes, spans, the fold of the log and verdicts, offline.

It shows damage, not who made the pack: a run that is changed and packed again gives a pack that verifies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from deep_research.errors import (
    ContentMissingError,
    DeepResearchError,
    PackVersionError,
    StoreVersionError,
)
from deep_research.packs import members
from deep_research.packs.evidence import Evidence, Failure
from deep_research.packs.recheck import Check, Comparison, compared, recomputed
from deep_research.packs.report_check import rendering_failures
from deep_research.state import Citation, DeepResearchState, Quote, Record
from deep_research.state.events import Event, decode_log
from deep_research.state.identity import sha256_hex
from deep_research.state.reducer import fold
from deep_research.store import StoredEvent

MAX_KEPT_CHARS = 50_000_000
_SHOWN_CHARS = 40  # characters of a quote


class Verification(Record):
    """What was found. ``members`` is how many files were looked at, ``quotes`` how many different passages, ``claims``
    how many verdicts. ``checker`` made these, ``own_checker`` is ours; ``differing`` are verdicts that differ where the
    two do."""

    research_id: str
    members: int = 0
    texts: int = 0
    quotes: int = 0
    claims: int = 0
    failures: tuple[Failure, ...] = ()
    differing: tuple[Failure, ...] = ()
    checker: str = ""
    own_checker: str = ""

    @property
    def holds(self) -> bool:
        """Whether everything is as it was recorded."""
        return not self.failures


class SavedTexts(Mapping[str, str]):
    """The texts of the evidence by their hash, without those that are damaged. Each is read when it is asked for and kept
    for the claims after that, up to `MAX_KEPT_CHARS` of all."""

    def __init__(self, evidence: Evidence, damaged: frozenset[str] = frozenset()) -> None:
        self._evidence = evidence
        names = (name for name in evidence.names() - damaged if name.startswith(members.TEXTS))
        self._hashes = frozenset(name.removeprefix(members.TEXTS) for name in names)
        self._cache: dict[str, str] = {}
        self._cache_chars = 0

    def __getitem__(self, content_hash: str) -> str:
        if content_hash not in self._hashes:
            raise KeyError(content_hash)
        if (text := self._cache.get(content_hash)) is None:
            text = self._evidence.member(members.TEXTS + content_hash).decode("utf-8")
            if self._cache_chars + len(text) > MAX_KEPT_CHARS:
                self._cache, self._cache_chars = {}, 0
            self._cache[content_hash] = text
            self._cache_chars += len(text)
        return text

    def __contains__(self, content_hash: object) -> bool:
        return content_hash in self._hashes

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._hashes))

    def __len__(self) -> int:
        return len(self._hashes)


def verified(
    evidence: Evidence,
    check: Check | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Verification:
    """Everything made again and compared with what is recorded. What fails is named in the order of members, log, texts,
    passages, report, verdicts. ``check`` makes the verdicts; without one ours does, and calls ``progress`` with how many
    claims are checked, and how many there are. Raises `PackVersionError` for a log of a newer version."""
    check = check or partial(recomputed, progress=progress)
    failures = list(evidence.faults())
    broken = {failure.place for failure in failures}
    failures += _misnamed(evidence, sorted(evidence.names() - broken))
    damaged = frozenset(failure.place for failure in failures)
    verification = Verification(
        research_id=evidence.research_id,
        members=len(evidence.names()) + 1,
        failures=tuple(failures),
        checker=evidence.checker,
    )
    log = _log(evidence) if members.EVENTS not in damaged else None
    if log is None:
        return verification
    if isinstance(log, Failure):
        return verification.model_copy(update={"failures": (*failures, log)})
    rows, events, state = log
    texts = SavedTexts(evidence, damaged)
    quotes = {
        (q.content_hash, q.start, q.end, q.quote): q for event in events for q in members.quotes_in(event)
    }
    failures += _of_log(evidence, rows, state, damaged)
    failures += _of_sources(state, texts)
    failures += _of_quotes(list(quotes.values()), texts, damaged)
    failures += rendering_failures(events)
    is_damaged = any(members.is_member(name) for name in damaged)
    verdicts = Comparison((), (), "") if is_damaged else _verdicts(events, texts, check)
    return verification.model_copy(
        update={
            "texts": len(texts),
            "quotes": len(quotes),
            "claims": len(state.claims),
            "failures": (*failures, *verdicts.failures),
            "differing": verdicts.differing,
            "own_checker": verdicts.own,
        }
    )


def _misnamed(evidence: Evidence, names: Iterable[str]) -> Iterator[Failure]:
    """Texts and pages bear the hash of what they are."""
    for name in names:
        kind, slash, content_hash = name.partition("/")
        if not slash:
            continue
        try:
            body = evidence.member(name)
            if kind + slash == members.TEXTS:
                body.decode("utf-8")
        except UnicodeDecodeError:
            yield Failure(place=name, what="is no text")
        except ContentMissingError:
            yield Failure(place=name, what="is missing")
        else:
            if sha256_hex(body) != content_hash:
                yield Failure(place=name, what="has another hash than its name")


def _log(evidence: Evidence) -> tuple[list[StoredEvent], list[Event], DeepResearchState] | Failure:
    try:
        rows = members.event_rows(evidence.member(members.EVENTS))
        events = decode_log(rows)
        return rows, events, fold(events).snapshot()
    except StoreVersionError as error:
        raise PackVersionError(error.problem, hint=error.hint, **error.data) from None
    except DeepResearchError as error:
        return Failure(place=members.EVENTS, what=error.problem)


def _of_log(
    evidence: Evidence, rows: Sequence[StoredEvent], state: DeepResearchState, damaged: frozenset[str]
) -> Iterator[Failure]:
    """Whether the log tells what stands beside it."""
    if state.research_id != evidence.research_id:
        yield Failure(place=members.EVENTS, what=f"is of run {state.research_id!r}")
    if members.checker_of(state) != evidence.checker:
        yield Failure(place=members.EVENTS, what=f"has no verdicts of {evidence.checker!r} alone")
    contents = members.derived(rows)
    # One that was made because of a stop is none any more once the run goes on.
    if state.report is not None and state.report.encode("utf-8", "replace") != contents.get(members.REPORT):
        yield Failure(place=members.EVENTS, what="folds to another report than it says")
    names = {members.REPORT, members.CLAIMS, members.SETUP} - damaged
    for name in sorted(names & (evidence.names() | contents.keys())):
        if name not in evidence.names():
            yield Failure(place=name, what="is missing")
        elif name not in contents or evidence.member(name) != contents[name]:
            yield Failure(place=name, what=f"is not what {members.EVENTS} tells")


def _of_sources(state: DeepResearchState, texts: SavedTexts) -> Iterator[Failure]:
    for source in state.sources:
        text = texts.get(source.content_hash or "")
        if text is None:
            continue
        if source.length != len(text):
            yield Failure(
                place=f"source {source.id}", what=f"has {len(text):,} characters, not {source.length:,}"
            )
        elif any(span.end > len(text) for span in source.passages):
            yield Failure(place=f"source {source.id}", what="has passages beyond its end")


def _of_quotes(
    quotes: Sequence[Quote | Citation], texts: SavedTexts, damaged: frozenset[str]
) -> Iterator[Failure]:
    """Each passage stands where it is said to. What is damaged itself is told once."""
    by_text: dict[str, list[Quote | Citation]] = {}
    for quote in quotes:
        by_text.setdefault(quote.content_hash, []).append(quote)
    for content_hash, passages in sorted(by_text.items()):
        name = members.TEXTS + content_hash
        if name in damaged:
            continue
        text = texts.get(content_hash)
        if text is None:
            yield Failure(place=name, what=f"is missing, with {len(passages)} passages that are quoted")
            continue
        for quote in passages:
            if quote.start < 0 or text[quote.start : quote.end] != quote.quote:
                yield Failure(
                    place=f"quote {quote.quote[:_SHOWN_CHARS]!r}",
                    what=f"does not stand at {quote.start} to {quote.end} of {name}",
                )


def _verdicts(events: Sequence[Event], texts: SavedTexts, check: Check) -> Comparison:
    report = members.report_written(events)
    if report is None or not (report[0].draft or report[0].claims):
        return Comparison((), (), "")
    return compared(*report, texts, check)
