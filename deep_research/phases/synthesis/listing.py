"""What is told of one thing after another, a line for each. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from deep_research.evidence.dates import opens_with_date
from deep_research.evidence.listing import COLLECTED, ENTERED
from deep_research.evidence.names import key
from deep_research.phases.synthesis.statements import Statement
from deep_research.report.markup import escaped

# What a title is the title of: the first capitals in it.
_NAME = re.compile(r"(?!(?:The|An?)\b)[^\W\d_a-z][\w'’-]*(?: (?:of |the |de |la )*[^\W\d_a-z][\w'’-]*)*")


def one_by_one(told: Sequence[Statement], titles: Mapping[str, str]) -> tuple[list[str], list[Statement]]:
    """The lines, each after its source's title where it does not name what that is of, and the statements in them."""
    items = [statement for statement in told if statement.finding.category in (COLLECTED, ENTERED)]
    lines = [f"- {_named(item, titles)}{item.text} [{', '.join(dict.fromkeys(item.ids))}]" for item in items]
    return (["\n".join(lines)] if lines else []), items


def _named(item: Statement, titles: Mapping[str, str]) -> str:
    title = titles.get(item.source, "")
    name = _NAME.search(title)
    said = f" {key(item.finding.content)} "
    if (
        not title
        or item.finding.category == ENTERED
        or opens_with_date(item.finding.content)
        or (name and f" {key(name.group())} " in said)
    ):
        return ""
    return f"*{escaped(title)}*: "
