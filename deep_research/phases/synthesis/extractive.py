"""A synthesizer without a model: findings in the sources' own words, put in order.

The summary answers first: the statement nearest to the question, then the best of each of its parts. Sections hold
the rest by theme. Numbers that are compared stand in a table, conflicts side by side. Nothing stands twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from deep_research.evidence.chains import LED
from deep_research.evidence.examples import is_example
from deep_research.evidence.expecting import YES_OR_NO, defined, expected_answer, fits, wanted
from deep_research.evidence.question import (
    chooses,
    compared,
    is_broad,
    is_survey,
    wants_order_of_time,
)
from deep_research.evidence.rows import cells, unlabelled
from deep_research.evidence.tables import table
from deep_research.evidence.text import content_stems
from deep_research.evidence.themes import Theme, heading, themes
from deep_research.phases.base import off_loop
from deep_research.phases.synthesis.comparing import (
    BOTH,
    by_side,
    introduction,
    measure,
    measures,
    own_first,
    side_by_side,
)
from deep_research.phases.synthesis.conflicts import conflicts
from deep_research.phases.synthesis.grouping import by_title, in_sections
from deep_research.phases.synthesis.handoff import SynthesizerInput, SynthesizerOutput
from deep_research.phases.synthesis.headings import is_heading, under_their_headings
from deep_research.phases.synthesis.listing import one_by_one
from deep_research.phases.synthesis.notices import decides, missing, no_total
from deep_research.phases.synthesis.paragraphs import paragraphs
from deep_research.phases.synthesis.statements import Statement, says_nothing, statements, within
from deep_research.phases.synthesis.tabling import retabled
from deep_research.phases.synthesis.timelines import timeline
from deep_research.report.markup import escaped
from deep_research.state import Finding, Source

SUMMARY_STATEMENTS = 4
FAR = 0.7  # of the best statement's relevance, below which one is about something else
FAR_ANSWER = 0.5  # the same where it holds what an answer would
SUMMARY_SOURCES = 3  # whose beginnings introduce an overview
THEMED = 6  # statements beside the summary, to be parted by themes
SUMMARY_SHARE = 0.3  # of the wanted length
NEAR = 0.8  # of the best statement's relevance, for another in the summary that answers no part of its own
NEAREST = 3  # statements that a report has of which none is what was asked for
MAX_TITLE = 200
MAX_GAP_WORDS = 36
MORE = "Further findings"
WITHDRAWN = "From works that were retracted"
ALL_WITHDRAWN = "All that was found stands in works that were retracted. It should not be relied on."
SINGLE = "- Each statement rests on one source; no other was found to say the same."
_OF_STEPS = ("gate:planning", "gate:analysis")  # what the supervisor is advised of, in terms of the engine
FITTINGS = 3  # times that a report which came out too long is made shorter
_MARKS = re.compile(r" \[[^\[\]\\]*\]")
_TABLES = {"": "Side by side", "Year": "Over the years", "Source": "Published figures"}


class ExtractiveSynthesizer:
    deterministic = True
    name = "extractive synthesizer"

    async def __call__(self, handoff: SynthesizerInput) -> SynthesizerOutput:
        return SynthesizerOutput(report=await off_loop(len(handoff.findings), draft, handoff))


def draft(handoff: SynthesizerInput, *, notice: str = "") -> str:
    """The report's text with ids for references; ``notice`` is a line to stand on top of it. The wanted length is
    that of what it says: title, limits and references come on top."""
    every = statements(handoff.findings, handoff.sources, compared(handoff.original_query))
    tables, shown = side_by_side(compared(handoff.original_query), _sound(every, handoff.sources)[0])
    left = [s for s in every if not any(s is other for other in shown)]
    told, withdrawn = _sound(left or every, handoff.sources)
    if told is not withdrawn:
        told = _near(handoff, told)
    if tables and not left and told is not withdrawn:
        told, tables = [], tables[1:]  # they say it all, and need no heading besides
    titles = {source.id: source.title for source in handoff.sources}
    lines, items = one_by_one(told, titles)
    if items:
        told, shown = [s for s in told if not any(s is item for item in items)], [*shown, *items]
    whole, rows = retabled(told, titles)
    if 0 < len(rows) < len(told):
        told = [s for s in told if not any(s is row for row in rows)]
        tables, shown = [*tables, *whole], [*shown, *rows]
    elif sum(map(is_heading, whole)) == 1 and told is not withdrawn and not tables:
        told, tables, shown = [], whole[1:], rows  # one source says it all, and needs no heading besides
    unanswered = missing(handoff, [*told, *shown])
    if unanswered and told is not withdrawn and not compared(handoff.original_query):
        told = (_by_itself(handoff.original_query, told) or told)[:NEAREST]
    beside = (tables or _table(handoff, told)) + conflicts(
        handoff.contradictions, handoff.findings, handoff.sources
    )
    room = handoff.words - _words(beside)
    kept = within(room, told)
    summary, sections = _told(handoff, kept)
    for _ in range(FITTINGS):  # a source that is heard in several places has a reference in each
        over = _words([*summary, *sections]) - room
        if over <= 0 or len(kept) < 2:
            break
        kept = within(sum(s.length for s in kept) + len({s.source for s in kept}) - over, told)
        summary, sections = _told(handoff, kept)
    blocks = [f"# {escaped(_shortened(handoff.original_query, MAX_TITLE))}"]
    if notice:
        blocks.append(f"*{notice}*")
    blocks += [
        *([f"*{ALL_WITHDRAWN}*"] if told and withdrawn is told else []),
        "## Summary",
        *unanswered,
        *no_total(handoff, rows),
        *lines,
        *summary,
        *under_their_headings(beside, sections),
    ]
    if withdrawn and withdrawn is not told:
        blocks += [f"## {WITHDRAWN}", *paragraphs(within(max(0, handoff.words // 4), withdrawn))]
    beside_it = {"left_out": len(told) - len(kept), "debris": sum(map(says_nothing, handoff.findings))}
    return "\n\n".join([*blocks, *_limits(handoff, **beside_it)])


def _by_itself(question: str, told: Sequence[Statement]) -> list[Statement]:
    """What is near to a question that nothing answers: what other sources lead to is near to those alone, and a row of a
    table to who asks for a number or a date."""
    values = bool(wanted(question))
    return [s for s in told if s.finding.category != LED and (values or not cells(s.finding.content))]


def _sound(told: list[Statement], sources: Sequence[Source]) -> tuple[list[Statement], list[Statement]]:
    """The statements, and apart from them those that only retracted works make; where there are no others, they are
    both."""
    retracted = {s.id for s in sources if s.metadata.get("retracted")}
    withdrawn = [s for s in told if retracted and retracted.issuperset(s.sources)]
    if len(withdrawn) == len(told):
        return told, told if withdrawn else []
    return [s for s in told if not any(s is other for other in withdrawn)], withdrawn


def _near(handoff: SynthesizerInput, told: list[Statement]) -> list[Statement]:
    """Without what is much farther from the question than the best: the best for the same part of the question, or of
    all for what was found by following up. What holds the kind of answer that is wanted may be farther, unless
    that is a date or figure, and the best has one. What covers a broad request belongs to no part of it, and what leads
    from source to source stands together."""
    planned = {s.id for s in handoff.sub_queries if s.iteration == 1}
    expected = expected_answer(handoff.original_query)
    best: dict[str, Finding] = {}
    for finding in (s.finding for s in told if s.finding.category != LED):
        part = finding.sub_query_id or ""
        if part not in best or finding.relevance > best[part].relevance:
            best[part] = finding
    valued = bool(wanted(handoff.original_query))
    of_all = max(best.values(), key=lambda finding: finding.relevance, default=None)

    def is_near(finding: Finding) -> bool:
        part = finding.sub_query_id
        if not part or finding.category == LED or of_all is None:
            return True
        nearest = best[part] if part in planned else of_all
        further = fits(expected, finding.content) and not (valued and fits(expected, nearest.content))
        return finding.relevance >= (FAR_ANSWER if further else FAR) * nearest.relevance

    return [s for s in told if is_near(s.finding)]


def _told(handoff: SynthesizerInput, kept: Sequence[Statement]) -> tuple[list[str], list[str]]:
    """The paragraphs of the summary, and the sections with what it does not say."""
    if wants_order_of_time(handoff.original_query) and (made := timeline(kept)):
        return made
    summary = _summary(handoff, kept)
    rest = [s for s in kept if not any(s is other for other in summary)]
    return paragraphs(summary, best_first=True), _sections(handoff, rest)


def _words(blocks: Iterable[str]) -> int:
    """A reference counts as one, to however many findings; code is not read as words are."""
    return sum(
        len(_MARKS.sub(" []", block).split())
        for block in blocks
        if not (block.startswith("#") or is_example(block))
    )


def _shortened(text: str, most: int) -> str:
    """One line, cut between words."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most].rsplit(' ', 1)[0]} …"


def _summary(handoff: SynthesizerInput, kept: Sequence[Statement]) -> list[Statement]:
    """The best statement, the best of each part of the question, and then what is nearly as near."""
    if not kept:
        return []
    if _is_overview(handoff):
        first = {s.source: s for s in reversed(kept)}
        return [s for s in kept if first[s.source] is s][:SUMMARY_SOURCES]
    question = handoff.original_query
    if things := compared(question):
        titles = {source.id: source.title for source in handoff.sources}
        groups, _ = by_side(things, kept, titles)
        if len(groups) > 1:
            on_both = groups.pop(BOTH, [])
            if on_both and (len(groups) < len(things) or _sets_apart(question, on_both)):
                return on_both[:2]
            return [
                measure(question, own)
                if chooses(question) or measures(question)
                else introduction(thing, own, titles)
                for thing, own in groups.items()
            ]
    parts = _parts(handoff)
    first_of: dict[str, Statement] = {}
    for statement in kept:
        if (part := statement.finding.sub_query_id or "") in parts:
            first_of.setdefault(part, statement)
    # Findings that belong to no sub-query together cover a broad request: the first of them say most.
    least = NEAR * kept[0].finding.relevance if kept[0].finding.sub_query_id else 0.0
    near = [s for s in kept if s.finding.relevance >= least]
    room = handoff.words * SUMMARY_SHARE
    chosen: list[Statement] = []
    asked_for = [_answering(wording, first_of[p], kept) for p, wording in parts.items() if p in first_of]
    for statement in (
        *_leading(handoff.original_query, kept, asked_for),
        *asked_for,
        *(near if len(first_of) < 2 else ()),
    ):
        if any(statement is other for other in chosen):
            continue
        if chosen and (len(chosen) == SUMMARY_STATEMENTS or statement.length > room):
            break
        chosen.append(statement)
        room -= statement.length
    return chosen


def _sets_apart(question: str, on_both: Sequence[Statement]) -> bool:
    expected = expected_answer(question)
    return any(fits(expected, statement.finding.content) for statement in on_both[:2])


def _leading(
    question: str, kept: Sequence[Statement], asked_for: Sequence[Statement]
) -> tuple[Statement, ...]:
    """What the summary begins with, before what its parts ask for: nothing where the question has several parts of
    which each is answered; else the best statement, or one nearly as near that alone holds the answer."""
    if len(asked_for) > 1:
        return ()
    best = kept[0]
    near = [s for s in kept if s.finding.relevance >= NEAR * best.finding.relevance]
    expected = expected_answer(question)
    if expected is YES_OR_NO:
        return (next((s for s in near if decides(question, s)), best),)
    if not wanted(question) and not defined(question):
        return (best,)
    return (next((s for s in near if fits(expected, s.finding.content)), best),)


def _answering(part: str, first: Statement, kept: Sequence[Statement]) -> Statement:
    """What answers a part of a question: its first statement, unless another one holds the date or the measure that
    this part asks for, and that one does not."""
    expected = expected_answer(part)
    if not wanted(part) or fits(expected, first.finding.content):
        return first
    return next((s for s in kept if fits(expected, s.finding.content)), first)


def _is_overview(handoff: SynthesizerInput) -> bool:
    """Whether the findings are excerpts of documents about a subject, each of which is a theme."""
    return is_survey(handoff.original_query) and not is_broad(handoff.original_query)


def _parts(handoff: SynthesizerInput) -> dict[str, str]:
    """The parts of the question by the ids of their sub-queries, as the question words them; a search by key words
    is none."""
    asked = " ".join(handoff.original_query.split())
    found: dict[str, str] = {}
    for sub_query in sorted(handoff.sub_queries, key=lambda s: s.index):
        part = _as_worded(sub_query.query, asked)
        if (
            part
            and not part.casefold().startswith("compare")
            and content_stems(sub_query.query) != content_stems(asked)
        ):
            found.setdefault(sub_query.id, part)
    return found


def _as_worded(query: str, asked: str) -> str:
    """The beginning of a sub-query that stands in the question, if that is a phrase of three words or more."""
    words = query.split()
    for count in range(len(words), 2, -1):
        beginning = " ".join(words[:count])
        if beginning.casefold() in asked.casefold():
            return beginning
    return ""


def _sections(handoff: SynthesizerInput, rest: Sequence[Statement]) -> list[str]:
    """First the parts of the question that have more to say, then the themes of what is left."""
    blocks: list[str] = []
    parts = _parts(handoff)
    left = list(rest)
    if len(parts) > 1 and len(parts) * 2 <= len(rest):
        for part, wording in parts.items():
            own = [s for s in left if s.finding.sub_query_id == part]
            if len(own) > 1:
                blocks += [f"## {escaped(heading(wording)).rstrip('?. ')}", *paragraphs(own)]
                left = [s for s in left if s.finding.sub_query_id != part]
    question = handoff.original_query
    if things := compared(question):
        titles = {source.id: source.title for source in handoff.sources}
        groups, left = by_side(things, left, titles)
        for thing, own in groups.items():
            blocks += [f"## {escaped(heading(thing))}", *paragraphs(own_first(thing, own, titles))]
    found: list[Theme] = []
    others = list(range(len(left)))
    if len(left) >= THEMED and not _is_overview(handoff):
        found, others = themes([unlabelled(s.finding.content) for s in left], handoff.original_query)
    for theme in found:
        blocks += [f"## {escaped(theme.heading)}", *paragraphs(left[place] for place in theme.places)]
    for title, group in by_title(handoff.sources, [left[place] for place in others]):
        name = title or (MORE if blocks else "Findings")
        blocks += [f"## {escaped(name)}", *in_sections(group)]
    return blocks


def _table(handoff: SynthesizerInput, told: Sequence[Statement]) -> list[str]:
    titles = {s.id: s.title for s in handoff.sources}
    made = table(
        handoff.original_query,
        [s.finding.content for s in told],
        [titles.get(s.source, "") for s in told],
    )
    if made is None:
        return []
    lines = [f"| {made.header[0]} | {made.header[1]} |", "| --- | --- |"]
    for name, values_of in made.rows:
        values = "; ".join(f"{_cell(cell.text)} [{told[cell.place].finding.id}]" for cell in values_of)
        lines.append(f"| {_cell(name)} | {values} |")
    return [f"## {_TABLES[made.header[0]]}", "\n".join(lines)]


def _cell(text: str) -> str:
    return escaped(text).replace("|", "\\|")


def _limits(handoff: SynthesizerInput, *, left_out: int, debris: int) -> list[str]:
    lines = [f"- {escaped(_gap(gap.description))}" for gap in handoff.gaps if not gap.addressed]
    lines += [f"- {escaped(limit.line)}" for limit in handoff.limits if limit.name not in _OF_STEPS]
    if handoff.findings and all(len(finding.source_ids) < 2 for finding in handoff.findings):
        lines.append(SINGLE)
    if left_out:
        lines.append(
            f"- {left_out} further findings are left out to keep the wanted length."
            if left_out > 1
            else "- A further finding is left out to keep the wanted length."
        )
    if debris:
        lines.append(f"- Findings left out because they are captions, notices or markup: {debris}.")
    lines.append(
        "- This report was put together without a language model, from statements that one drew from the sources."
        if handoff.read_by_model
        else "- This report was put together without a language model: its sentences are taken word for word"
        " from the sources, but for openings such as “However” or “In this paper”, the numbers of their"
        " references, and names of what they describe."
    )
    return ["## Gaps and limits", "\n".join(dict.fromkeys(lines))]


def _gap(description: str) -> str:
    words = description.split()
    return (
        " ".join(words) if len(words) <= MAX_GAP_WORDS else f"{' '.join(words[:MAX_GAP_WORDS]).rstrip(',')} …"
    )
