"""What stands in a text but says nothing: markup that nobody read as such, and addresses. Pure."""

from __future__ import annotations

import re

from deep_research.patterns import regex

_MARKUP = regex(
    r">>> |\\(?:href|cite|ref|url|text\w*)\s*\{|\{\{[^{}]{0,80}(?:\||\}\}\Z)|!\[|&\w{2,8};"
    r"|</?(?:a|abbr|b|blockquote|br|code|div|em|h[1-6]|hr|i|img|li|nav|ol|p|pre|ref|script|span|strong|style|su[bp]|"
    r"table|t[dhr]|tbody|thead|ul)\b[^>]{0,300}>",
    re.IGNORECASE,
)
_ADDRESS = regex(r"(?:\bhttps?://|\bwww\.)\S*")
_BESIDE_ADDRESS = 5  # words that a sentence needs besides an address, to say something


def is_debris(text: str) -> bool:
    """Whether a sentence has nothing to say to a reader."""
    if _MARKUP.search(text):
        return True
    return has_address(text) and len(_ADDRESS.sub(" ", text).split()) < _BESIDE_ADDRESS


def has_address(text: str) -> bool:
    """Whether a web address stands in it, which few readers want in a summary of many texts."""
    return _ADDRESS.search(text) is not None
