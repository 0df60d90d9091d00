"""Running headers, footers and page numbers of paged texts, told by that they come back. Pure."""

from __future__ import annotations

import re
from collections import Counter

from deep_research.sources.extract.edges import edges
from deep_research.sources.extract.typeset import Line

_TELLING = 8  # characters: shorter lines are numbers and the like
_EDGE = 3  # lines at each end of a page in which they may stand
_PAGE_NUMBER = re.compile(
    r"\W*(?:page|seite|p\.)?\s*(?:\d{1,4}|[ivxlc]{1,7})\s*(?:(?:of|/|von|de)\s*\d{1,4})?\W*\Z", re.IGNORECASE
)
_SAYS_PAGE = re.compile(r"\W*(?:page|seite)\s+\d{1,4}(?:\s*(?:of|/|von)\s*\d{1,4})?\W*\Z", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_ROMAN = re.compile(r"\b[ivxlc]+\b")


def without_margins(pages: list[list[Line]]) -> list[list[Line]]:
    """The lines of each page without those that stand at the same end of many others, numbers aside, and without
    page numbers that stand alone."""
    filled = [[line for line in page if line.text.strip()] for page in pages]
    count = len([page for page in filled if page])
    several = max(3 if count > 2 else 2, count // 4)
    tops = Counter(key for page in filled for key in {_key(line.text) for line in page[:_EDGE]})
    bottoms = Counter(key for page in filled for key in {_key(line.text) for line in page[-_EDGE:]})
    within = Counter(key for page in filled for key in {_key(line.text) for line in page[_EDGE:-_EDGE]})
    for counted in (
        tops,
        bottoms,
    ):  # what comes back within pages as often is of the text, as in lists of questions
        for key in [key for key in counted if len(key) > _TELLING and within[key] >= counted[key]]:
            del counted[key]
    # What runs over all pages is on the first one what the text is called.
    return [
        _page(page, tops if number else Counter(), bottoms, several)
        for number, page in enumerate(pages)
    ]


def _page(page: list[Line], tops: Counter[str], bottoms: Counter[str], several: int) -> list[Line]:
    apart = edges(page)
    lines = [Line("") if place in apart else line for place, line in enumerate(page)]
    places = [place for place, line in enumerate(page) if line.text.strip()]
    for counted, ends in ((tops, places[:_EDGE]), (bottoms, places[::-1][:_EDGE])):
        for turn, place in enumerate(ends):
            line = page[place]
            comes_back = counted[_key(line.text)] >= several and len(line.text.strip()) < 150
            if comes_back or (turn == 0 and _PAGE_NUMBER.match(line.text)) or _SAYS_PAGE.match(line.text):
                lines[place] = Line("")
            elif turn and place not in apart:
                break
    while lines and not lines[0].text.strip():
        lines.pop(0)
    while lines and not lines[-1].text.strip():
        lines.pop()
    return lines


def _key(line: str) -> str:
    """The line with its numbers alike, so that a header with the page's number in it is known again."""
    plain = " ".join(_DIGITS.sub("0", line).lower().split())
    return plain if len(plain) > _TELLING else _ROMAN.sub("0", plain)
