"""Findings and the sources behind them as a model is told of them, a line each.

The line of a source has who says it, when, and how good it is; findings refer to it by a short name, so that a title is
sent once. Copies of one text are one line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from deep_research.phases.prompting import one_line
from deep_research.provenance.independence import originals, superseded
from deep_research.provenance.sites import host_of
from deep_research.report.references import ids_in, marks_in
from deep_research.state import ConfidenceLevel, Finding, Source, SourceKind, SourceQuality

MAX_TITLE_CHARS = 120
MAX_AUTHOR_CHARS = 60


@dataclass(frozen=True, slots=True)
class SourceNames:
    """The ``names`` (S1, S2 …) of sources by their ids, those of copies the same; ``lines`` tell of each name."""

    names: Mapping[str, str]
    lines: Mapping[str, str]

    def of(self, finding: Finding) -> tuple[str, ...]:
        """The names of the sources of a finding, each once."""
        return tuple(dict.fromkeys(self.names[i] for i in finding.source_ids if i in self.names))

    def lines_of(self, findings: Iterable[Finding]) -> list[str]:
        """The lines of the sources of these findings, in the order of their names."""
        names = {name for finding in findings for name in self.of(finding)}
        return [f"{name}: {line}" for name, line in self.lines.items() if name in names]


NO_SOURCES = SourceNames({}, {})


def source_names(sources: Iterable[Source]) -> SourceNames:
    """Names for sources in their order."""
    every = list(sources)
    first = originals(every)
    names: dict[str, str] = {}
    lines: dict[str, str] = {}
    older = superseded(every)
    copies: dict[str, list[Source]] = {}
    for source in every:
        copies.setdefault(first[source.id], []).append(source)
    for number, (original, group) in enumerate(copies.items(), 1):
        name = f"S{number}"
        names |= {source.id: name for source in group}
        lines[name] = _line(next(source for source in group if source.id == original), group)
    for source_id, later in older.items():
        if (name := names[source_id]) != names[later]:
            lines[name] += f", an older version of {names[later]}"
    return SourceNames(names, lines)


def about_finding(finding: Finding, named: SourceNames, sources: Mapping[str, Source]) -> str:
    """What a finding rests on and what it is about, in brackets: ``(S1, S4; Costs)``. ``named`` are the sources that it
    may name."""
    many = len(finding.source_ids)
    about = ", ".join(named.of(finding) or (f"{many} source{'s' * (many != 1)}",))
    behind = [sources[name] for name in finding.source_ids if name in sources]
    if behind and all(source.metadata.get("retracted") for source in behind):
        about += ", from a work that was retracted"
    return f"({about}; {one_line(finding.category)})" if finding.category else f"({about})"


def levels(findings: Iterable[Finding], names: Mapping[str, str]) -> str:
    """How sure findings are, by their ``names``: ``high: F1, F4; low: F2``, the surest first."""
    by_level: dict[ConfidenceLevel, list[str]] = {level: [] for level in reversed(ConfidenceLevel)}
    for finding in findings:
        by_level[finding.confidence].append(names[finding.id])
    return "; ".join(f"{level.value}: {', '.join(each)}" for level, each in by_level.items() if each)


def with_short_names(draft: str, names: Mapping[str, str]) -> str:
    """Replace the ids in the references of a draft by the short names that the model knows. Drops references with
    unknown ids."""

    def replace_ids(match: re.Match[str]) -> str:
        labels = [names[each] for each in ids_in(match.group()) if each in names]
        return f" [{', '.join(labels)}]" if labels else ""

    pieces, here = [], 0
    for match in marks_in(draft):
        pieces += [draft[here : match.start()], replace_ids(match)]
        here = match.end()
    return "".join((*pieces, draft[here:]))


def _line(source: Source, group: list[Source]) -> str:
    attributes = [
        f"“{one_line(source.title)[:MAX_TITLE_CHARS]}”",
        one_line(source.metadata.get("author", ""))[:MAX_AUTHOR_CHARS],
        one_line(source.metadata.get("venue", ""))[:MAX_AUTHOR_CHARS] or _site(source),
        source.published.isoformat() if source.published else "no date",
        _manual(source),
        "document" if source.kind is SourceKind.DOCUMENT else "",
        f"{source.quality.value} quality" if source.quality is not SourceQuality.UNKNOWN else "",
        "primary" if source.metadata.get("primary") else "",
        "retracted" if source.metadata.get("retracted") else "",
    ]
    others = list(dict.fromkeys(filter(None, (_site(copy) for copy in group if copy is not source))))
    if len(group) > 1:
        attributes.append(
            f"copied {len(group) - 1} times" + (f" ({', '.join(others[:3])})" if others else "")
        )
    return ", ".join(filter(None, attributes))


def _manual(source: Source) -> str:
    """The manual that a page is of, where that is another file."""
    manual = one_line(source.metadata.get("manual", ""))[:MAX_TITLE_CHARS]
    return f"of the manual {manual}" if manual and manual != source.url else ""


def _site(source: Source) -> str:
    """The host of a page, or where a document lies."""
    address = source.url or ""
    return one_line(host_of(address).removeprefix("www.") or address)[:MAX_TITLE_CHARS]
