"""Pages that have nothing to read: what stands there instead is told, so that nobody takes it for a source."""

from __future__ import annotations

import re

from deep_research.patterns import regex
from deep_research.sources.extract.plaintext import UnreadableError

_SHORT = 700  # characters; a longer text is worth reading, whatever else the page says
_VERY_SHORT = 200
_WALLS = (
    (
        regex(
            r"captcha|verify (?:that )?you(?:'re| are) (?:a )?(?:human|not a robot)|are you a robot|unusual traffic|"
            r"checking your browser|just a moment\.\.\.|attention required!|prove you(?:'re| are) human|"
            r"pardon our interruption|bot protection",
            re.IGNORECASE,
        ),
        "it asks whether a human is reading (a captcha)",
    ),
    (
        regex(
            r"(?:please |must |need to |to )?(?:enable|turn on|activate|requires?) (?:java\s?script|js)\b|"
            r"javascript (?:is|to be) (?:disabled|required|not enabled|enabled)|"
            r"(?:does(?:n't| not)|won't) work (?:properly )?without javascript",
            re.IGNORECASE,
        ),
        "it is built by scripts",
    ),
    (
        regex(
            r"before you continue to|we value your privacy|(?:accept|manage) (?:all )?cookies|"
            r"cookie (?:consent|preferences)|"
            r"we (?:and our partners )?use cookies",
            re.IGNORECASE,
        ),
        "it asks for consent to cookies first",
    ),
    (
        regex(
            r"(?:sign|log) ?in to (?:continue|view|read|see|access|your)|"
            # Who must log in to reply may read.
            r"(?:you must (?:be logged|log|sign) in|please (?:log|sign) ?in)"
            r"(?! to (?:add|answer|comment|edit|follow|join|leave|like|make|post|rate|reply|respond|vote|write)\b)|"
            r"login required|(?:this|the) (?:content|article|page) is (?:only )?for "
            r"(?:members|subscribers)|subscribe to (?:continue|read)|to continue reading",
            re.IGNORECASE,
        ),
        "it asks to log in or to subscribe first",
    ),
)
_TAG = regex(r"<[^<>]{0,2000}>")
_APP = regex(r"\bid\s{0,3}=\s{0,3}[\"']?(?:root|app|__next|__nuxt|react-root)\b", re.IGNORECASE)


def check(text: str, page: str) -> None:
    """``text`` is what was found of ``page``. Raises `UnreadableError` when it is none of what the page is for."""
    if len(text) >= _SHORT:
        return
    seen = text if len(text) >= _VERY_SHORT else f"{text}\n{_TAG.sub(' ', page[:300_000])}"
    for wall, why in _WALLS:
        if wall.search(seen):
            raise UnreadableError(f"no readable text; {why}")
    if not any(map(str.isalnum, text)) and _APP.search(page):
        raise UnreadableError("no readable text; it is built by scripts")
