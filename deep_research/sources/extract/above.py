"""What stands above a page's title and is none of its text: the way that leads to the page, what the site says of itself
with an invitation to join it, notices. Told by a line that leaves no doubt; without one all of it stays, for there may
also be a standfirst, or the day and place of what the page announces. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

_FIRST = 14  # blocks, among which the title is
_SHARE = 0.2  # of the text, more than which is not only above it
_WAY = 8  # steps that lead to a page, at most
_INVITES = re.compile(r"\b(?:newsletters?|subscribe|sign up|cookies?|javascript|browser)\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")


def without_what_is_above(text: str, title: str) -> str:
    """``title`` is what the page is called in its head and in a heading of the first rank."""
    blocks = text.split("\n\n", _FIRST)
    heading = f"# {title}"
    if not title or heading not in blocks[1:_FIRST]:
        return text
    at = blocks.index(heading)
    above = blocks[:at]
    if sum(map(len, above)) > _SHARE * len(text):
        return text
    if any(map(_INVITES.search, above)) or _is_way(above[-1], title):
        return "\n\n".join(blocks[at:])
    return text


def _is_way(block: str, title: str) -> bool:
    """Whether it is a list of steps, the last of which is the page itself."""
    steps: Sequence[str] = block.split("\n")
    is_list = 1 < len(steps) <= _WAY and all(step.lstrip().startswith("- ") for step in steps)
    return is_list and _key(steps[-1]) == _key(title)


def _key(text: str) -> str:
    return "".join(_WORD.findall(text.lower()))
