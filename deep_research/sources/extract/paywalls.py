"""Pages that have nothing to read: what they ask instead is told, so that nobody takes them for a source."""

from __future__ import annotations

import re

from deep_research.evidence.boilerplate import request
from deep_research.patterns import regex
from deep_research.sources.extract.plaintext import UnreadableError

_SHORT = 700  # characters; a longer text is worth reading, whatever else the page says
_TAG = regex(r"<[^<>]{0,2000}>")
_APP = regex(r"\bid\s{0,3}=\s{0,3}[\"']?(?:root|app|__next|__nuxt|react-root)\b", re.IGNORECASE)


def check(text: str, page: str) -> None:
    """``text`` is what was found of ``page``. Raises `UnreadableError` when it is none of what the page is for."""
    if len(text) >= _SHORT:
        return
    what = request(text.splitlines(), _TAG.sub("\n", page[:300_000]).splitlines())
    if not what and not any(map(str.isalnum, text)) and _APP.search(page):
        what = "it is built by scripts"
    if what:
        raise UnreadableError(f"no readable text; {what}")
