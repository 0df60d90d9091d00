"""Detection of pages that only ask something of their reader: to log in, to run scripts, to prove that they are
human. Pure.

Many an honest page has a notice of cookies, and many a text is about such pages. So a request counts that is made in a
sentence of its own, and against it what else is said. The wordings of each language are in `page_requests.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from deep_research.patterns import regex
from deep_research.text.sentences import sentence_spans
from deep_research.text.unspaced import size

FILE = Path(__file__).with_name("page_requests.toml")
_TEASER_WORDS = 60  # words beside a request that are no text yet
_MIN_SENTENCE_WORDS = 6  # words of a sentence; what is shorter is a label, unless it has figures
_MAX_SENTENCE_CHARS = 1_000  # characters of a sentence that are looked at; a request is short


class _Request(NamedTuple):
    """What is asked, with what sentences begin that ask it, and what those have that stand around them."""

    what: str
    asks: re.Pattern[str]
    around: re.Pattern[str]


def request(text: Iterable[str], beside: Iterable[str]) -> str:
    """What a page asks that says nothing else, empty for another. ``text`` are the lines of its text, ``beside`` those of
    all that is on it: they count where the text says nothing.

    Example:
        request(["Please log in to continue reading."], [])  # "it asks to log in or to subscribe first"
    """
    sentences = list(_sentences(text))
    told = sum(size(each) for each in sentences if _is_text(each))
    if told:
        return _request_in(sentences) if told < _TEASER_WORDS else ""
    sentences += _sentences(beside)
    return _request_in(sentences) or next(
        (each.what for each in _requests() if any(map(each.around.search, sentences))), ""
    )


def _request_in(sentences: Sequence[str]) -> str:
    return next((each.what for each in _requests() if any(map(each.asks.match, sentences))), "")


def _sentences(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        plain = line.strip(" \t#*|-").replace("’", "'")
        for start, end in sentence_spans(plain, 0, len(plain)):
            yield plain[start : min(end, start + _MAX_SENTENCE_CHARS)].lower()


def _is_text(sentence: str) -> bool:
    """Whether a sentence says something that is not said of or to who wants to read."""
    words = size(sentence)
    if words < 2 or (words < _MIN_SENTENCE_WORDS and not _has_figure(sentence)):
        return False
    return not any(each.asks.match(sentence) or each.around.search(sentence) for each in _requests())


def _has_figure(sentence: str) -> bool:
    """Whether a sentence has a digit and another letter or digit."""
    return any(map(str.isdecimal, sentence)) and sum(map(str.isalnum, sentence)) > 1


@cache
def _requests() -> tuple[_Request, ...]:
    whats, *languages = tomllib.loads(FILE.read_text(encoding="utf-8")).values()
    # Each once: of two that are the same there are two ways for each time that it stands there.
    leads = "|".join(dict.fromkeys(lead for language in languages for lead in language["lead"]))

    def wordings(form: str, name: str) -> str:
        return "|".join(each for language in languages for each in language[form].get(name, ()))

    return tuple(
        _Request(
            what,
            regex(rf"\W*(?:(?:{leads})\W*)*(?:{wordings('asks', name)})"),
            regex(wordings("around", name)),
        )
        for name, what in whats.items()
    )
