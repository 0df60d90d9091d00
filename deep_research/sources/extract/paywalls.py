"""Pages that have nothing to read: what stands there instead is told, so that nobody takes it for a source.

Many an honest page has a notice of cookies, and many a text is about such pages. So a request counts that the page makes
of its reader, in a sentence of its own, and against it what else the page says. The wordings are in `paywalls.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from deep_research.evidence.sentences import sentence_spans
from deep_research.evidence.unspaced import size
from deep_research.patterns import regex
from deep_research.sources.extract.plaintext import UnreadableError

FILE = Path(__file__).with_name("paywalls.toml")
_SHORT = 700  # characters; a longer text is worth reading, whatever else the page says
_TEASER = 60  # words beside a request that are no text yet
_LEAST = 6  # words of a sentence; what is shorter is a label, unless it has figures
_TAG = regex(r"<[^<>]{0,2000}>")
_APP = regex(r"\bid\s{0,3}=\s{0,3}[\"']?(?:root|app|__next|__nuxt|react-root)\b", re.IGNORECASE)
_FIGURE = regex(r"\w.*\d|\d.*\w")


class _Wall(NamedTuple):
    """Why there is nothing, and with what sentences begin that ask for it, and what those have that stand around them."""

    why: str
    asks: re.Pattern[str]
    around: re.Pattern[str]


def check(text: str, page: str) -> None:
    """``text`` is what was found of ``page``. Raises `UnreadableError` when it is none of what the page is for."""
    if len(text) >= _SHORT:
        return
    sentences = list(_sentences(text.splitlines()))
    told = sum(size(each) for each in sentences if _is_text(each))
    if told < _TEASER:
        _refuse(wall for wall in _walls() if any(map(wall.asks.match, sentences)))
    if not told:
        every = [*sentences, *_sentences(_TAG.sub("\n", page[:300_000]).splitlines())]
        _refuse(wall for wall in _walls() if any(map(wall.asks.match, every)))
        _refuse(wall for wall in _walls() if any(map(wall.around.search, every)))
    if not any(map(str.isalnum, text)) and _APP.search(page):
        raise UnreadableError("no readable text; it is built by scripts")


def _refuse(walls: Iterable[_Wall]) -> None:
    for wall in walls:
        raise UnreadableError(f"no readable text; {wall.why}")


def _sentences(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        plain = line.strip(" \t#*|-").replace("’", "'")
        for start, end in sentence_spans(plain, 0, len(plain)):
            yield plain[start:end].lower()


def _is_text(sentence: str) -> bool:
    """Whether a sentence says something that is not said of or to who wants to read."""
    words = size(sentence)
    if words < 2 or (words < _LEAST and not _FIGURE.search(sentence)):
        return False
    return not any(wall.asks.match(sentence) or wall.around.search(sentence) for wall in _walls())


@cache
def _walls() -> tuple[_Wall, ...]:
    reasons, *languages = tomllib.loads(FILE.read_text(encoding="utf-8")).values()
    leads = "|".join(lead for language in languages for lead in language["lead"])

    def wordings(form: str, reason: str) -> str:
        return "|".join(each for language in languages for each in language[form].get(reason, ()))

    return tuple(
        _Wall(
            why,
            regex(rf"\W*(?:(?:{leads})\W*)*(?:{wordings('asks', reason)})"),
            regex(wordings("around", reason)),
        )
        for reason, why in reasons.items()
    )
