"""Contradictions in a report: one table of who says what, and of each which value is better supported. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from deep_research.patterns import regex
from deep_research.phases.prompting import one_line
from deep_research.phases.synthesis.handoff import SynthesizerInput
from deep_research.report.markup import escaped
from deep_research.report.references import ids_in
from deep_research.report.report_document import Block, Document
from deep_research.report.report_notices import DIFFER, better_borne_out, capital, subject_of
from deep_research.state import Contradiction, ContradictionSide, Finding, Source
from deep_research.verification.comparison import Figure, compared

MAX_CONFLICTS = 8
HEADING = "Conflicting information"
ANOTHER = "another source"
_COLUMNS = ("What", "Source", "Date", "Says")
_FIGURE = regex(r"\d+(?:[.,]\d+)*")


def conflicts(
    contradictions: Iterable[Contradiction], findings: Iterable[Finding], sources: Iterable[Source]
) -> list[Block]:
    """The section on what is told differently: a table, below it what is better supported. One without sides, of an old
    log, is a line as it was then."""
    by_id = {f.id: f for f in findings}
    named = {s.id: s for s in sources}
    every = list(contradictions)
    tabled = [c for c in every if c.sides][:MAX_CONFLICTS]
    lines = _lines((c for c in every if not c.sides), by_id, named)
    rows = [row for c in tabled for row in _rows(c, by_id, named)]
    blocks = [_table(rows)] if rows else []
    better = ((c, better_borne_out(c, escaped)) for c in tabled)
    if preferred := [f"{escaped(subject_of(c))}: {preference}" for c, preference in better if preference]:
        blocks.append(Block.notice(" ".join(preferred)))
    blocks += Block.items(lines[:MAX_CONFLICTS])
    return [Block.heading(2, HEADING), *blocks] if blocks else []


def published(
    figures: Sequence[Figure],
    contradictions: Iterable[Contradiction],
    findings: Iterable[Finding],
    sources: Iterable[Source],
) -> tuple[list[Block], list[Contradiction]]:
    """The section on the figures that sources give, with all sides of the contradictions that one of them is in, and
    those that it does not tell."""
    by_id = {f.id: f for f in findings}
    named = {s.id: s for s in sources}
    every = list(contradictions)
    if not figures:
        return [], every
    own = {(figure.finding, figure.text) for figure in figures}
    inside = [c for c in every if any((s.finding_id, s.wording) in own for s in c.sides)]
    rows = [(_title(named.get(f.source)), _date(named.get(f.source)), f.text, f.finding) for f in figures]
    for conflict in inside:
        row_keys = {(finding, text) for _, _, text, finding in rows}
        rows += [row for row in _says(conflict, by_id, named) if (row[3], row[2]) not in row_keys]
    cells = [("", title, date, f"{_cell(text)} [{mark}]") for title, date, text, mark in rows]
    better = [f"They differ. {capital(line)}" for c in inside if (line := better_borne_out(c, escaped))]
    below = " ".join(better) or DIFFER
    columns = ("What", "Source", "Date", "Figure")
    section = [Block.heading(2, "Published figures"), _table(cells, columns), Block.notice(below)]
    return section, [c for c in every if c not in inside]


def conflict_line(conflict: Contradiction, names: Mapping[str, str], sources: Mapping[str, Source]) -> str:
    """What a model is told of a contradiction, findings by their ``names``: empty where it was given none of them."""
    labels = [names[i] for i in conflict.finding_ids if i in names]
    if not conflict.sides:
        return f"{', '.join(labels)}: {one_line(conflict.description)}" if len(labels) > 1 else ""
    if not labels:
        return ""
    stances = []
    for side in conflict.sides:
        title = one_line(_title(sources.get(side.source_id)))
        of = ", ".join(filter(None, (title, _day(side), f"voice {side.voice + 1}")))
        stances.append(f"{names.get(side.finding_id, ANOTHER)} says {one_line(side.wording)} ({of})")
    better = capital(better_borne_out(conflict, one_line))
    return " ".join(
        [f"{', '.join(labels)}: {one_line(conflict.description)}", f"{'; '.join(stances)}.", better]
    ).strip()


def with_conflicts(draft: str, handoff: SynthesizerInput) -> str:
    """The draft, and after it the contradictions that concern findings which it cites and that it does not tell: of
    which it has no two sides, each with its reference and figure."""
    cited_ids = set(ids_in(draft))
    figures = {_plain(figure) for figure in _FIGURE.findall(draft)}
    left = [
        conflict
        for conflict in handoff.contradictions
        if any(side.finding_id in cited_ids for side in conflict.sides)
        and len({s.wording for s in conflict.sides if s.finding_id in cited_ids and _is_in(s, figures)}) < 2
    ]
    section = conflicts(left, handoff.findings, handoff.sources)
    return f"{Document.read(draft.rstrip()).with_blocks(section).markdown}\n" if section else draft


def _is_in(side: ContradictionSide, figures: set[str]) -> bool:
    """Whether a text with these figures has those of a side; a sentence without any is told by its reference."""
    if side.wording.startswith("“"):
        return True
    return figures.issuperset(_plain(figure) for figure in _FIGURE.findall(side.wording))


def _plain(figure: str) -> str:
    return figure.replace(",", "")


def _rows(
    conflict: Contradiction, findings: Mapping[str, Finding], sources: Mapping[str, Source]
) -> list[tuple[str, ...]]:
    """What a contradiction is about stands in its first row."""
    statements = _says(conflict, findings, sources)
    abouts = [subject_of(conflict), *[""] * (len(statements) - 1)]
    return [
        (about, title, date, f"{_cell(text)} [{mark}]")
        for about, (title, date, text, mark) in zip(abouts, statements, strict=True)
    ]


def _says(
    conflict: Contradiction, findings: Mapping[str, Finding], sources: Mapping[str, Source]
) -> list[tuple[str, str, str, str]]:
    """The title, date, words and reference of each side. Where a finding is on two sides, the reference is its source."""
    stances = {(side.finding_id, side.wording) for side in conflict.sides}
    both = {finding for finding, text in stances if any(f == finding and t != text for f, t in stances)}
    rows: dict[tuple[str, str, str, str], None] = {}
    for side in conflict.sides:
        held = findings.get(side.finding_id)
        if held is None:
            continue
        mark = side.source_id if side.finding_id in both else side.finding_id
        source = sources.get(side.source_id)
        rows[_title(source), _day(side) or _date(source), side.wording, mark] = None
    return list(rows)


def _title(source: Source | None) -> str:
    return source.title if source else ANOTHER


def _date(source: Source | None) -> str:
    return source.published.isoformat() if source and source.published else ""


def _day(side: ContradictionSide) -> str:
    return side.published.isoformat() if side.published else ""


def _table(rows: Sequence[Sequence[str]], columns: Sequence[str] = _COLUMNS) -> Block:
    """Columns without any entry are left out. The last one is marked up already."""
    filled_columns = [n for n in range(len(columns)) if any(row[n] for row in rows)]
    last = len(columns) - 1
    body = [[row[n] if n == last else _cell(row[n]) for n in filled_columns] for row in rows]
    return Block.table([columns[n] for n in filled_columns], body)


def _cell(text: str) -> str:
    return escaped(text).replace("|", "\\|")


def _lines(
    contradictions: Iterable[Contradiction], findings: Mapping[str, Finding], sources: Mapping[str, Source]
) -> list[str]:
    """One line for each thing that is told differently: all that tell it, with their own words and references."""
    lines: dict[str, dict[str, None]] = {}
    for conflict in contradictions:
        pair = [findings[i] for i in conflict.finding_ids if i in findings]
        if len(pair) < 2:
            continue
        comparison = compared(pair[0].content, pair[1].content)
        if comparison is None or not all(side.source_ids for side in pair):
            lines[f"{escaped(conflict.description)} [{', '.join(s.id for s in pair)}]"] = {}
            continue
        of = f" for {escaped(comparison.of)}" if comparison.of else ""
        every = lines.setdefault(f"Different {comparison.about}{of}: ", {})
        every[_line_side(pair[0], comparison.one, sources)] = every[
            _line_side(pair[1], comparison.other, sources)
        ] = None
    return [f"{about}{'; '.join(every)}" for about, every in lines.items()]


def _line_side(finding: Finding, words: str, sources: Mapping[str, Source]) -> str:
    source = sources.get(finding.source_ids[0])
    year = f" ({source.published.year})" if source and source.published else ""
    return f"{escaped(_title(source))}{year}: {escaped(words)} [{finding.id}]"
