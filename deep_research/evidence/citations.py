"""Finding a quote in its text: exactly, or exactly but for white space, typographic marks and joiners. Pure."""

from __future__ import annotations

import re

from deep_research.evidence.plain import has_joiners, unjoined
from deep_research.patterns import regex
from deep_research.state import Quote

_MARKS = {"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‐": "-", "…": "..."}
_CLASSES = {
    "'": "['‘’]",
    '"': '["“”]',
    "-": "[-‐–—]",
}


def locate(quote: str, text: str, *, source_id: str, content_hash: str, hint: int = 0) -> Quote | None:
    """The passage of ``text`` that ``quote`` is, or None. The place nearest after ``hint`` is preferred.

    What is returned always holds ``text[start:end] == quote``: when the match was tolerant, its ``quote`` is the
    text's own wording.
    """
    wanted = quote.strip()
    if not unjoined(wanted):
        return None
    start = text.find(wanted, hint)
    if start < 0:
        start = text.find(wanted)
    if start >= 0:
        end = start + len(wanted)
    else:
        match = _tolerant(unjoined(wanted), "[\u200c\u200d]?" if has_joiners(text) else "").search(text)
        if match is None:
            return None
        start, end = match.span()
    return Quote(source_id=source_id, quote=text[start:end], start=start, end=end, content_hash=content_hash)


def _tolerant(quote: str, between: str) -> re.Pattern[str]:
    """``between`` is what may stand between two characters of a word."""
    plain = "".join(_MARKS.get(c, c) for c in quote)
    parts = (between.join(_CLASSES.get(c, re.escape(c)) for c in word) for word in plain.split())
    return regex(r"\s+".join(parts))
