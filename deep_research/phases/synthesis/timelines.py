"""What happened when, in order of time. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from deep_research.evidence.dates import date_of
from deep_research.phases.synthesis.paragraphs import paragraphs
from deep_research.phases.synthesis.statements import Statement

LEAST = 3  # dated statements, for a timeline
TITLE = "Timeline"


def timeline(kept: Sequence[Statement]) -> tuple[list[str], list[str]] | None:
    """The paragraphs of a summary and the section with the dates, or None where there are too few. The statements
    without a date introduce it; where all have one, the nearest does."""
    dated = [(when, s) for s in kept if (when := date_of(s.finding.content)) is not None]
    undated = [s for s in kept if not any(s is other for _, other in dated)]
    if len(dated) < LEAST:
        return None
    lead = undated or [dated.pop(0)[1]]
    lines = [
        f"- {statement.text} [{', '.join(dict.fromkeys(statement.ids))}]"
        for _, statement in sorted(dated, key=lambda pair: (pair[0], pair[1].finding.id))
    ]
    return paragraphs(lead), [f"## {TITLE}", "\n".join(lines)]
