"""Statements of no theme by their sources, and those of one source by its own sections. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from deep_research.evidence.sectioning import section_of
from deep_research.phases.synthesis.paragraphs import paragraphs
from deep_research.phases.synthesis.statements import Statement
from deep_research.report.markup import escaped
from deep_research.state import Source

MAX_HEADING = 80
SEVERAL = 2  # sections of a source, for their headings to stand above them
_NUMBER = re.compile(r"\A\d+(?:\.\d+)*\.?\s+(?=[^\W\d])")  # of a chapter, before its title


def by_title(sources: Sequence[Source], group: Sequence[Statement]) -> list[tuple[str, list[Statement]]]:
    """Statements under the titles of their sources; single ones together at the end without, and so are all where there
    is one source that has no sections."""
    titles = {s.id: _NUMBER.sub("", " ".join(s.title.split())) for s in sources}
    by_source: dict[str, list[Statement]] = {}
    for statement in group:
        by_source.setdefault(statement.source, []).append(statement)
    named = {
        source: own
        for source, own in by_source.items()
        if len(own) > 1
        and (len(by_source) > 1 or _has_sections(own))
        and 0 < len(titles.get(source, "")) < MAX_HEADING
    }
    single = [s for source, own in by_source.items() if source not in named for s in own]
    return [(titles[source], own) for source, own in named.items()] + ([("", single)] if single else [])


def in_sections(own: Sequence[Statement]) -> list[str]:
    """The paragraphs of what one source says, under the headings of its sections where it is told of several."""
    if not _has_sections(own):
        return paragraphs(own)
    blocks: list[str] = []
    in_order = sorted(
        own, key=lambda s: (bool(_section(s)), s.start)
    )  # what has no heading may stand below none
    for heading, told in groupby(in_order, key=_section):
        blocks += [*([f"### {escaped(heading)}"] if heading else []), *paragraphs(told)]
    return blocks


def _has_sections(own: Sequence[Statement]) -> bool:
    return len({s.source for s in own}) == 1 and len({*map(_section, own)} - {""}) >= SEVERAL


def _section(statement: Statement) -> str:
    return section_of(statement.finding.category)
