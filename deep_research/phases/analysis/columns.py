"""Tables with what is asked in a column: how it changed over the years, how many there are, which are so. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from deep_research.evidence.expecting import wanted
from deep_research.evidence.listing import THERE_ARE
from deep_research.evidence.ranking import stems_of
from deep_research.evidence.rows import split_cells, tables
from deep_research.evidence.tables import CHANGING, asks_over_time
from deep_research.evidence.text import ASKING_WEIGHT, NAME_WEIGHT, coverage, question_terms, stem
from deep_research.phases.analysis.aspects import decades
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzerInput, SourceText
from deep_research.phases.analysis.spans import finding_at

RELEVANCE = 0.85
ALL_ASKED = 0.8  # of what is asked, that the column and the title say
MOST_ROWS = 24
LEAST_ROWS = 2
_TIME = re.compile(r"\s*(?:years?|dates?|decades?|months?|seasons?|periods?|when)\s*", re.IGNORECASE)
_OF_KIND = re.compile(
    r"\s*(?:which|what) (?P<kind>(?:[a-z-]{2,30} )?[a-z-]{3,30}(?<!s)s) \w+ ", re.IGNORECASE
)
# What a table calls its first column that is of the things its title names.
_KINDS = re.compile(r"\s*(?:kinds?|types?|sorts?|names?)\s*", re.IGNORECASE)
_TOTAL = re.compile(
    r"\W*(?:grand total|totals?|sum|overall|all|in all|world|worldwide|global)\W*", re.IGNORECASE
)
_SILENT = CHANGING | set(map(stem, ("total", "altogether", "number")))


def columns(handoff: AnalyzerInput) -> list[AnalyzedFinding]:
    """The rows of the first table that answers so, or the one row with the total."""
    question = handoff.original_query
    over_time, counts = asks_over_time(question), wanted(question) == "number"
    for source in handoff.sources if over_time or counts else ():
        for header, rows in tables(source.content):
            place = _column(question, header, source)
            if place is None or len(rows) < LEAST_ROWS:
                continue
            if over_time and any(map(_TIME.fullmatch, header[:place])):
                return list(_found(handoff, source, rows[:MOST_ROWS]))
            if counts and all(_has_number(source, row, place) for row in rows):
                total = [row for row in rows if _TOTAL.fullmatch(split_cells(source.content[slice(*row)])[0])]
                return list(_found(handoff, source, total[:1] or (rows if len(rows) <= MOST_ROWS else [])))
    return []


def rows_of_kind(handoff: AnalyzerInput) -> list[AnalyzedFinding]:
    """The rows of a table of the things that are asked for, in which stands what is asked of them."""
    match = _OF_KIND.match(handoff.original_query)
    if match is None:
        return []
    kind = set(map(stem, match["kind"].split()))
    terms = (
        {t for t, weight in question_terms(handoff.original_query).items() if weight > ASKING_WEIGHT}
        - kind
        - {stem("first")}
    )
    for source in handoff.sources if terms else ():
        for header, rows in tables(source.content):
            if _KINDS.fullmatch(header[0]) and kind <= stems_of(source.title):
                if LEAST_ROWS <= len(rows) <= MOST_ROWS and terms <= _named_in(source, rows):
                    return list(_found(handoff, source, rows))
                continue
            if stems_of(header[0]) != kind:
                continue
            if LEAST_ROWS <= len(rows) <= MOST_ROWS and terms - THERE_ARE <= stems_of(source.title):
                return list(_found(handoff, source, rows))
            untold = terms - stems_of(" ".join(header))
            told = [row for row in rows if untold and untold <= _said_in(source.content[slice(*row)], untold)]
            if LEAST_ROWS <= len(told) <= MOST_ROWS:
                return list(_found(handoff, source, told))
    return []


def _said_in(row: str, wanted: set[str]) -> set[str]:
    """The stems of a row; a year in it tells of its decade."""
    return stems_of(row) | decades(wanted, row)


def _named_in(source: SourceText, rows: Iterable[tuple[int, int]]) -> set[str]:
    """The stems of what the rows are of."""
    return stems_of(" ".join(split_cells(source.content[slice(*row)])[0] for row in rows))


def beside(rows: Sequence[AnalyzedFinding], others: Iterable[AnalyzedFinding]) -> list[AnalyzedFinding]:
    """The rows that answer, and what is no other row of their source."""
    sources = {i for row in rows for i in row.source_ids}
    kept = (f for f in others if sources.isdisjoint(f.source_ids) or " | " not in f.quotes[0].quote)
    return [*kept, *rows]


def _column(question: str, header: Sequence[str], source: SourceText) -> int | None:
    """The column behind the first that says with the title what is asked; None where the table is of something else."""
    terms = {
        term: weight
        for term, weight in question_terms(question).items()
        if weight > ASKING_WEIGHT and term not in _SILENT
    }
    title = stems_of(source.title)
    asked = {term for term, weight in terms.items() if weight < NAME_WEIGHT}
    for place, name in enumerate(header):
        said = stems_of(name)
        if place and asked & said and coverage(terms, said | title) >= ALL_ASKED:
            return place
    return None


def _has_number(source: SourceText, row: tuple[int, int], place: int) -> bool:
    return any(map(str.isdigit, split_cells(source.content[slice(*row)])[place]))


def _found(
    handoff: AnalyzerInput, source: SourceText, rows: Sequence[tuple[int, int]]
) -> Iterator[AnalyzedFinding]:
    for start, end in rows:
        yield finding_at(handoff, source, start, end, RELEVANCE)
