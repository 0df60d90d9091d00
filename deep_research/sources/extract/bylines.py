"""The line below a page's title that says who wrote it and on which day, where nothing marks it as such.

Only a line that says nothing else, and that it is of the text: "Posted by Ann Kent on 2019-02-15", "By Ann Kent, 15
February 2019". The day of a change is none, nor that of a comment, of another story or of what the text tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from lxml import etree
from lxml.html import HtmlElement

from deep_research.patterns import regex
from deep_research.sources.extract.hiding import is_hidden
from deep_research.sources.extract.titles import is_title, title_of_head

_BELOW = 4  # lines below the title, in which it may stand
_LONGEST = 160  # characters of such a line; what is longer is text
_TITLES = ("h1", "h2", "h3")
_TITLE = 500  # characters of a title that are looked at
_BLOCKS = (
    "p",
    "div",
    "section",
    "article",
    "header",
    "ul",
    "ol",
    "dl",
    "table",
    "h1",
    "h2",
    "h3",
    "h4",
    "form",
)
_LINES = ("p", "div", "span", "small", "em", "i", "address", "time")
_OF_OTHERS = ("a", "li", "figcaption", "aside", "nav", "blockquote", "table", "footer")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_WEEKDAY = r"(?:(?:mon|tue(?:s)?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s+)"
_NUMBER = r"\d{1,2}(?:st|nd|rd|th)?"
_DAY = (
    rf"(?P<day>\d{{4}}(?P<mark>[-/.])\d{{1,2}}(?P=mark)\d{{1,2}}(?!\d)|{_MONTH}\s+{_NUMBER},?\s+\d{{4}}\b"
    rf"|{_NUMBER}\.?\s+(?:of\s+)?{_MONTH},?\s+\d{{4}}\b)"
)
_NAME = rf"(?!{_WEEKDAY}|{_MONTH}\s)(?P<by>[^\W\d_][^\d:;!?()|·•]{{1,80}}?)"
_APART = r"\s*(?:[,|·•/–—-]|\s)\s*"
_ON = rf"(?:on\s+|:\s*|at\s+)?{_WEEKDAY}?"
_SAID = r"(?:first\s+)?(?:posted|published|written|submitted)"
# Behind the day stands its hour, how long it takes to read, or a link.
_REST = r"(?:\s*\Z|\s*(?:[,|·•–—(\[-]|at\b|@|by\b|in\b|under\b|\d{1,2}:\d\d|updated\b)(?P<rest>.{0,80})\Z)"
_FORMS = tuple(
    regex(form, re.IGNORECASE)
    for form in (
        rf"{_SAID}(?:\s+by:?\s+{_NAME})?(?:{_APART}|:\s*){_ON}{_DAY}{_REST}",
        rf"by:?\s+{_NAME}{_APART}(?:{_SAID}\s*)?{_ON}{_DAY}{_REST}",
        rf"{_WEEKDAY}?{_DAY}(?:{_APART}|\s+)(?:{_SAID}\s+)?by:?\s+{_NAME}\s*\Z",
    )
)
_HOUR = r"(?:at\s+)?\d{1,2}[:.]\d\d\s*(?:[ap]\.?m\.?)?"
_AFTER = regex(rf"[\s,]*(?:{_HOUR}\s+)?by:?\s+{_NAME}\Z", re.IGNORECASE)
_BETWEEN = regex(r"\s+of\s+|,\s*", re.IGNORECASE)
_CHANGE = regex(r"updat|modif|edited|revis|review|changed|last\b", re.IGNORECASE)
_NAMES = 8  # words of a name, or of several
_YEAR = regex(r"\d{4}")
_WEB = 1993  # before it nothing was published as a page


class Byline(NamedTuple):
    """The day nearly as it is written, and who wrote the text, where that is said."""

    day: str
    by: str


def byline(tree: HtmlElement) -> Byline | None:
    for line in _below_title(tree):
        found = next(filter(None, (form.match(line) for form in _FORMS)), None)
        if found and not _CHANGE.search(line[: found.start("day")]) and _is_of_the_web(found["day"]):
            after = _AFTER.match(line[found.end("day") :].rstrip(" ."))
            by = found["by"] or (after["by"] if after else "")
            return Byline(
                _BETWEEN.sub(" ", found["day"]), by.strip(" ,") if len(by.split()) <= _NAMES else ""
            )
    return None


def _is_of_the_web(day: str) -> bool:
    return any(int(year) >= _WEB for year in _YEAR.findall(day))


def _below_title(tree: HtmlElement) -> Iterator[str]:
    """The lines that stand right below a title of the page, up to its text."""
    head = title_of_head(tree)[:_TITLE]
    left = 0
    walk: Any = etree.iterwalk(tree, events=("start",), tag=(*_TITLES, *_LINES))
    for _, element in walk:
        if element.tag in _TITLES:
            left = _BELOW if element.tag == "h1" or is_title(element, head) else 0
        elif left and next(element.iterdescendants(*_BLOCKS), None) is None:
            walk.skip_subtree()
            line = " ".join(" ".join(element.itertext()).split()).replace(" ,", ",")
            if len(line) > _LONGEST:
                left = 0
            elif line:
                left -= 1
                if not is_hidden(element) and next(element.iterancestors(*_OF_OTHERS), None) is None:
                    yield line
