"""Lines that code adds to a report about the research itself, each supported by the log. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from deep_research.patterns import regex
from deep_research.provenance.independence import voices
from deep_research.state import (
    AbortReason,
    ConfidenceLevel,
    Contradiction,
    DeepResearchState,
    Finding,
    Gap,
    Notice,
    Source,
    SourceKind,
    SourceQuality,
)
from deep_research.state.notices import count_of, current_notices, group_notices, other_names
from deep_research.text.passages import sentences
from deep_research.text.plain import plainly
from deep_research.verification.finding_clusters import level_of

SURE = {
    ConfidenceLevel.HIGH: "",
    ConfidenceLevel.MEDIUM: "Probably.",
    ConfidenceLevel.LOW: "Perhaps: it may be beside the point.",
    ConfidenceLevel.SPECULATION: "Doubtful: this is only what comes nearest.",
}
MOST_WORDS = "Perhaps: this passage has most of the question's words, and may be beside the point."
ALL_WITHDRAWN = "All that was found stands in works that were retracted. It should not be relied on."
IN_THEIR_WORDS = "Put together without a language model: every sentence is its source's own."
IN_OTHER_WORDS = "Put together without a language model, from statements that one drew from the sources."
STOPPED = {
    AbortReason.CANCELLED: "Partial report: the research was cancelled.",
    AbortReason.TIMEOUT: "Partial report: the time allowed ran out.",
}
# Each holds of some runs alone.
FIXED = (
    *filter(None, SURE.values()),
    MOST_WORDS,
    ALL_WITHDRAWN,
    IN_THEIR_WORDS,
    IN_OTHER_WORDS,
    *STOPPED.values(),
)
DIFFER = "They differ; nothing here decides which is right, or whether they are of one thing."
GAPS = "Gaps and limits"  # the heading of what was not found, and of what was left out
LIMITS = "Limits of this research"  # the heading of what was left out, in a report that a model wrote
MAX_GAP_WORDS = 36

ENOUGH_FINDINGS = 3
OPENING = "Read with caution: this report rests on"
_NUMBERS = ("nothing that was found", "1 finding", "2 findings")
_TOGETHER = regex(r"(?P<often>\d{1,6}) times(?: \(also (?P<also>.{1,600}?)\))?: (?P<line>.+)\Z")
_AND_MORE = regex(r"(?: and (?P<more>\d{1,4}) more)?\Z")


def left_out(findings: int) -> str:
    """Of findings that the wanted length had no room for."""
    many = "A further finding is" if findings == 1 else f"{findings} further findings are"
    return f"{many} left out to keep the wanted length."


def gap_line(gap: Gap) -> str:
    """A gap as a report tells it: not too long."""
    words = gap.description.split()
    short = " ".join(words[:MAX_GAP_WORDS])
    return short if len(words) <= MAX_GAP_WORDS else f"{short.rstrip(',')} …"


def better_borne_out(conflict: Contradiction, said: Callable[[str], str] = str) -> str:
    """Which side of a contradiction is preferred and why, outside words as ``said`` writes them; empty where none is."""
    if conflict.preferred is None:
        return ""
    told = conflict.sides[conflict.preferred].wording
    return f"better supported is {said(told)}: {said(conflict.because)}."


def subject_of(conflict: Contradiction) -> str:
    """In what its sides differ, and of what."""
    return capital(f"{conflict.about}{f' for {conflict.of}' if conflict.of else ''}")


def capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def gap_lines(state: DeepResearchState) -> Iterator[str]:
    """What was not found, as the section of gaps has it: elsewhere the same words may be anything."""
    yield from map(gap_line, state.unresolved_gaps())


def own_lines(state: DeepResearchState, cited: Iterable[str], *, partial: bool = False) -> Iterator[str]:
    """The lines that hold of a run whose report cites these findings. ``partial`` says that the report was put together
    because the run was stopped."""
    cited = set(cited)
    told = [finding for finding in state.findings if finding.id in cited]
    levels = {level_of(finding.probability) for finding in told if finding.probability is not None}
    yield from filter(None, (SURE[level] for level in levels & SURE.keys()))
    if ConfidenceLevel.LOW in levels:
        yield MOST_WORDS
    if state.findings and not parted(state.findings, state.sources)[0]:
        yield ALL_WITHDRAWN
    yield IN_OTHER_WORDS if state.own_words else IN_THEIR_WORDS
    if partial:
        yield from STOPPED.values()
    yield from (notice.line for notice in current_notices(state))
    yield DIFFER
    for conflict in state.contradictions:
        if better := better_borne_out(conflict):
            yield f"They differ. {capital(better)}"
            yield f"{subject_of(conflict)}: {better}"
    if little := caution(told, state.sources):
        yield little
    uncited = {finding.id for finding in state.findings}.difference(cited)
    yield from map(left_out, range(1, len(uncited) + 1))


def is_told_together(state: DeepResearchState, line: str) -> bool:
    """Whether a line of a report tells several notices of the run as one, and no more of them than the log has: some may
    have come after it was written."""
    read = _TOGETHER.match(plainly(line))
    return read is not None and any(
        any(read["line"] in _sentences_of(each.line) for each in group)
        and int(read["often"]) <= count_of(group)
        and _holds_names(group, read["also"] or "")
        for group in group_notices(current_notices(state))
    )


def _sentences_of(line: str) -> set[str]:
    return {plainly(line), *(plainly(line[span.start : span.end]) for span in sentences(line))}


def _holds_names(group: list[Notice], also: str) -> bool:
    """Whether nothing is named but what the notices of a group are of."""
    every = {name.casefold() for each in group for name in other_names([each, *group])}
    for name in sorted(every, key=len, reverse=True):
        also = also.replace(name, "", 1)
    rest = _AND_MORE.match(also.replace(", ", ""))
    return rest is not None and int(rest["more"] or 0) < len(group)


def parted(findings: Iterable[Finding], sources: Iterable[Source]) -> tuple[list[Finding], list[Finding]]:
    """The findings that stand, and apart from them those that only retracted works make."""
    retracted = {source.id for source in sources if source.metadata.get("retracted")}
    sound: list[Finding] = []
    withdrawn: list[Finding] = []
    for finding in findings:
        is_withdrawn = bool(finding.source_ids) and retracted.issuperset(finding.source_ids)
        (withdrawn if is_withdrawn else sound).append(finding)
    return sound, withdrawn


def caution(findings: Iterable[Finding], sources: Sequence[Source]) -> str:
    """The sentence for a report that cites these findings, out of the ``sources`` of its run; empty where they are
    enough: three findings, two voices or one of high quality or the user's own, and a source of more than low
    quality."""
    cited = list(findings)
    quotes = [quote for finding in cited for quote in finding.quotes]
    ids = {quote.source_id for quote in quotes}
    held = [source for source in sources if source.id in ids]
    told = [_NUMBERS[len(cited)]] if len(cited) < ENOUGH_FINDINGS else []
    if len(voices(held, quotes)) == 1 and not all(map(_stands_alone, held)):
        told.append("one source alone" if len(held) == 1 else "sources that speak with one voice")
    qualities = {source.quality for source in held}
    if SourceQuality.LOW in qualities and qualities <= {SourceQuality.LOW, SourceQuality.UNKNOWN}:
        told.append("no source of more than low quality")
    return f"{OPENING} {_listed(told)}." if told else ""


def _stands_alone(source: Source) -> bool:
    """Whether nobody asks for a second source beside this one."""
    return source.quality is SourceQuality.HIGH or source.kind is SourceKind.DOCUMENT


def _listed(told: Sequence[str]) -> str:
    *before, last = told
    return f"{', on '.join(before)}, and on {last}" if before else last
