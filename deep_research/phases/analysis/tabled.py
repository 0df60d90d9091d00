"""Findings from tables: the rows that set side by side what is compared, and whole tables of what is asked. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set

from deep_research.evidence.expecting import EXPLAINED, HOW_IT_WORKS, WORKING, expected_answer, wanted
from deep_research.evidence.names import key
from deep_research.evidence.question import COMPARING, QuestionKind, compared, kind_of
from deep_research.evidence.ranking import stems_of
from deep_research.evidence.rows import beside, split_cells, tables
from deep_research.evidence.text import (
    ASKING_WORDS,
    NAME_WEIGHT,
    content_words,
    coverage,
    question_terms,
    stem,
)
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzerInput, SourceText
from deep_research.phases.analysis.spans import finding_at

BESIDE = 0.7  # relevance of a row that a table has for each of the things that are compared
LISTED = 0.8  # the same of a table whose columns are what is asked
ALL_ASKED = 0.8  # of what is asked, that such columns name, with the title
MOST_ASKED = 0.6  # of it, that a table says whose rows are of the kind that is asked for
HALF = 0.5  # of it but for the names and the kind: else the table is of these and of something else
MOST_ROWS = 8
MOST_LISTED = 24  # rows of such a table
ABOVE = 400  # characters before the rows of a table, that say what it is of
# "What fuel did …", "List the orders that …": what is asked for is called by one word.
_ASKED_KIND = re.compile(
    r"\s*(?:(?:what|which) (?P<kind>[a-z-]{3,30}) (?:did|do|does|was|were|is|are|has|have|had|can|could|may)\b"
    r"|(?:please )?(?:list|name|enumerate) (?:all )?(?:the )?(?P<kinds>[a-z-]{3,30}s)\b)",
    re.IGNORECASE,
)
_SILENT = COMPARING | ASKING_WORDS | {"list", "table"}  # words that ask for it


def with_rows(handoff: AnalyzerInput, findings: Sequence[AnalyzedFinding]) -> list[AnalyzedFinding]:
    """The findings, and where two things are compared, the rows of tables that have both; else the rows of tables with
    columns for what is asked, or of the table of which the best finding is one row among others that say the same. A
    row that was found already is the row of its table."""
    rows = list(_rows(handoff)) or list(_of_one_table(handoff, findings))
    contents = {row.content for row in rows}
    return [*(finding for finding in findings if finding.content not in contents), *rows]


def _rows(handoff: AnalyzerInput) -> Iterator[AnalyzedFinding]:
    names = [key(side) for side in compared(handoff.original_query)]
    for source in handoff.sources:
        spans = (
            beside(source.content, names)[:MOST_ROWS] if names else _listed(handoff.original_query, source)
        )
        for start, end in spans:
            yield finding_at(handoff, source, start, end, BESIDE if names else LISTED)


def looked_up(handoff: AnalyzerInput) -> list[AnalyzedFinding]:
    """The rows that are the answer by themselves: with the number that is asked for, or of the table of the kind of thing
    that is."""
    question = handoff.original_query
    terms = question_terms(question)
    names = {term for term, weight in terms.items() if weight >= NAME_WEIGHT}
    counted = {term for term, weight in terms.items() if 1.0 <= weight < NAME_WEIGHT}
    asked = _ASKED_KIND.match(question)
    found: list[AnalyzedFinding] = []
    for source in handoff.sources:
        title = stems_of(source.title)
        for header, rows in tables(source.content):
            told: list[tuple[int, int]] = []
            if wanted(question) == "number":
                told = [
                    row
                    for row in rows
                    if _tells_number(header, source.content[slice(*row)], names - title, counted)
                ]
            elif asked and len(rows) > 1 and stems_of(header[0]) == {stem(asked["kind"] or asked["kinds"])}:
                about = title | stems_of(source.content[max(0, rows[0][0] - ABOVE) : rows[0][0]])
                besides = {term: terms[term] for term in counted - stems_of(header[0])}
                is_told = coverage(terms, about) >= MOST_ASKED and coverage(besides, about) >= HALF
                told = rows if is_told else []
            found += [finding_at(handoff, source, *row, LISTED) for row in told]
    return found if len(found) <= MOST_ROWS else []


def _tells_number(header: Sequence[str], row: str, names: Set[str], counted: Set[str]) -> bool:
    """Whether a row has what is counted, behind the names that it is of."""
    before: set[str] = set()
    for name, cell in zip(header, split_cells(row), strict=True):
        if (
            names
            and names <= before
            and not counted.isdisjoint(stems_of(name))
            and any(map(str.isdigit, cell))
        ):
            return True
        before |= stems_of(cell)
    return False


def _of_one_table(handoff: AnalyzerInput, findings: Sequence[AnalyzedFinding]) -> Iterator[AnalyzedFinding]:
    """The rows of the table that the best finding is a row of, where most of them say of the question what it says."""
    best = findings[0] if findings else None
    source = next((s for s in handoff.sources if best and s.id in best.source_ids), None)
    if best is None or source is None or " | " not in best.quotes[0].quote:
        return
    start, end = best.quotes[0].start, best.quotes[0].start + len(best.quotes[0].quote)
    asked = question_terms(handoff.original_query).keys() - stems_of(source.title)
    said = asked & stems_of(source.content[start:end])
    for _, rows in tables(source.content):
        if said and any(first < end and start < last for first, last in rows) and len(rows) <= MOST_ROWS:
            same = [row for row in rows if said <= stems_of(source.content[slice(*row)])]
            if len(same) > 1 and 2 * len(same) > len(rows):
                yield from (finding_at(handoff, source, *row, LISTED) for row in rows)
            return


def _listed(question: str, source: SourceText) -> list[tuple[int, int]]:
    """The rows of the first table of which two columns or more are named in the question, and which has with its title
    nearly all that is asked: a list of heights for the heights of towers. For how a thing works it is a table about it
    with a column for that. A question for something by its name asks for no list."""
    telling = {stem(word) for word in content_words(question) if word.casefold() not in _SILENT}
    terms = {term: weight for term, weight in question_terms(question).items() if term in telling}
    title = stems_of(source.title)
    if (
        expected_answer(question) is EXPLAINED
        and coverage({t: w for t, w in terms.items() if t not in WORKING}, title) >= ALL_ASKED
    ):
        for header, rows in tables(source.content):
            if any(HOW_IT_WORKS.search(name) for name in header):
                return rows[:MOST_LISTED]
    if kind_of(question) in (QuestionKind.HOW_TO, QuestionKind.CAUSE, QuestionKind.SURVEY) or any(
        weight >= NAME_WEIGHT and term not in title for term, weight in terms.items()
    ):
        return []
    for header, rows in tables(source.content):
        columns = [stems_of(name) & terms.keys() for name in header]
        named = set().union(*columns)
        if len(named) > 1 and sum(map(bool, columns)) > 1 and coverage(terms, named | title) >= ALL_ASKED:
            return rows[:MOST_LISTED]
    return []
