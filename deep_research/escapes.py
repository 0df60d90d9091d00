"""Escape sequences of terminals, which text from outside may have."""

from __future__ import annotations

from deep_research.patterns import regex

_ESCAPES = regex(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor movement
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # titles, links, device strings
    r"|\x1b[ -/]*[0-~]"
)


def without_escapes(text: str) -> str:
    """The text without them."""
    return _ESCAPES.sub("", text)
