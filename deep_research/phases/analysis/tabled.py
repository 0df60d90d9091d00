"""Findings from tables: the rows that set side by side what is compared, and whole tables of what is asked. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deep_research.evidence.names import key
from deep_research.evidence.question import COMPARING, QuestionKind, compared, kind_of
from deep_research.evidence.ranking import stems_of
from deep_research.evidence.reading import readable
from deep_research.evidence.rows import beside, tables
from deep_research.evidence.text import (
    ASKING_WORDS,
    NAME_WEIGHT,
    content_words,
    coverage,
    question_terms,
    stem,
)
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzedQuote, AnalyzerInput, SourceText
from deep_research.state import ConfidenceLevel

BESIDE = 0.7  # relevance of a row that a table has for each of the things that are compared
LISTED = 0.8  # the same of a table whose columns are what is asked
ALL_ASKED = 0.8  # of what is asked, that such columns name, with the title
MOST_ROWS = 8
MOST_LISTED = 24  # rows of such a table
_SILENT = COMPARING | ASKING_WORDS | {"list", "table"}  # words that ask for it


def with_rows(handoff: AnalyzerInput, findings: Sequence[AnalyzedFinding]) -> list[AnalyzedFinding]:
    """The findings, and where two things are compared, the rows of tables that have both; else the rows of tables with
    columns for what is asked. A row that was found already is the row of its table."""
    rows = list(_rows(handoff))
    contents = {row.content for row in rows}
    return [*(finding for finding in findings if finding.content not in contents), *rows]


def _rows(handoff: AnalyzerInput) -> Iterator[AnalyzedFinding]:
    names = [key(side) for side in compared(handoff.original_query)]
    for source in handoff.sources:
        spans = (
            beside(source.content, names)[:MOST_ROWS] if names else _listed(handoff.original_query, source)
        )
        for start, end in spans:
            yield _finding(handoff, source, start, end, BESIDE if names else LISTED)


def _listed(question: str, source: SourceText) -> list[tuple[int, int]]:
    """The rows of the first table of which two columns or more are named in the question, and which has with its title
    nearly all that is asked: a list of heights for the heights of towers. A question for something by its name asks
    for no list."""
    telling = {stem(word) for word in content_words(question) if word.casefold() not in _SILENT}
    wanted = {term: weight for term, weight in question_terms(question).items() if term in telling}
    title = stems_of(source.title)
    if kind_of(question) in (QuestionKind.HOW_TO, QuestionKind.CAUSE, QuestionKind.SURVEY) or any(
        weight >= NAME_WEIGHT and term not in title for term, weight in wanted.items()
    ):
        return []
    for header, rows in tables(source.content):
        columns = [stems_of(name) & wanted.keys() for name in header]
        named = set().union(*columns)
        if len(named) > 1 and sum(map(bool, columns)) > 1 and coverage(wanted, named | title) >= ALL_ASKED:
            return rows[:MOST_LISTED]
    return []


def _finding(
    handoff: AnalyzerInput, source: SourceText, start: int, end: int, relevance: float
) -> AnalyzedFinding:
    return AnalyzedFinding(
        content=readable(source.content, start, end),
        confidence=ConfidenceLevel.LOW,
        source_ids=(source.id,),
        category=handoff.original_query,
        quotes=(AnalyzedQuote(source_id=source.id, quote=source.content[start:end], start=start),),
        sub_query_id=handoff.sub_queries[0].id if handoff.sub_queries else "",
        relevance=relevance,
    )
