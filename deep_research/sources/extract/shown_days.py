"""Days that stand at the head of a web page's text, for its readers: marked as times and said to be of the page, or a
line of their own right below its title, or right above it, or the only one that says in words that it is the day of
publication. The day of a site's head, of another story or of what the text tells is none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from lxml.html import HtmlElement

from deep_research.sources.extract.datelines import dateline, is_label, says_published
from deep_research.sources.extract.day_values import values_of
from deep_research.sources.extract.hiding import is_hidden
from deep_research.sources.extract.html_text import without_site
from deep_research.sources.extract.titles import title_of_head

_MOST = 40  # elements that are looked at
_LONGEST = 80  # characters of a dateline
_BELOW = 3  # blocks below the title, in which a day may stand by itself
_ABOVE = 3  # the same above it
_NEAR = 4  # levels from a title up to what holds the day above it too
_WEB = 1993  # before it nothing was published as a page
_PROSE = 120  # characters; behind a paragraph of so many stands no dateline
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_CELLS = ("li", "dd")  # which tell of many things: a day in them has to say what it is
_ICONS = ("i", "span", "img", "br")
_MOST_ICONS = 3
_SHORT_TITLE = 8  # characters; a lower heading with fewer is no title by being in that of the page
_SAYS_SO = re.compile(
    r"(?:^|[\s_-])(?:author\w{0,20}|byline|dateline|date|meta|posted|published|publication|pub|pubdate|timestamp)(?=$|[\s_-])",
    re.IGNORECASE,
)
_CHANGE = re.compile(r"updat|modif|edit|changed", re.IGNORECASE)
_OF_OTHERS = ("a", "li", "figcaption", "aside", "nav")  # teasers, mostly


def shown_days(tree: HtmlElement) -> Iterator[str]:
    titles = _titles(tree)
    headers = {each for title in titles for each in title.iterancestors("header")}
    below = times = blocks = passed = 0
    above: tuple[HtmlElement, str] | None = None
    over: list[str] = []
    spoken: set[str] = set()
    for element in tree.iter(*_HEADINGS, *_CELLS, "p", "div", "span", "em", "time"):
        if element in titles:
            if above is not None and passed <= _ABOVE and _are_near(above[0], element):
                over.append(above[1])
            below, blocks = _MOST, 0
            continue
        if element.tag == "time":
            in_header = not headers.isdisjoint(element.iterancestors("header"))
            if (below or in_header) and _is_of_the_page(element, in_header, below > 0 and blocks < _BELOW):
                yield from values_of(element)
            times += 1
            if times == _MOST:
                break
        line = _line(element)
        day = dateline(line)
        is_day = day is not None and day.year >= _WEB and _is_of_no_other(element, line)
        if day is not None and is_day:
            above, passed = (element, day.isoformat()), 0
            if says_published(line):
                spoken.add(day.isoformat())
        elif line:
            passed += 1
        if element.tag in ("h1", "h2", "h3"):
            below = below if is_day else 0
        elif below and element.tag not in (*_CELLS, "time"):
            said = element.text_content() if element.tag == "p" else element.text or ""
            text = " ".join(said[:1000].split())
            below = 0 if len(text) > _PROSE else below - 1
            blocks += bool(text) and not _is_in_a_paragraph(element)
        is_near = blocks <= _BELOW or _is_labelled(element.getprevious())
        if below and is_near and is_day and day is not None and element.tag != "time":
            yield day.isoformat()
    yield from over
    if len(spoken) == 1:
        yield from spoken


def _titles(tree: HtmlElement) -> set[HtmlElement]:
    """The headings of the first rank, and lower ones that are the page's title."""
    head = title_of_head(tree)[: 4 * _PROSE]
    lower = (each for each in islice(tree.iter("h2", "h3"), _MOST) if _is_title(each, head))
    first = (each for each in islice(tree.iter("h1"), _MOST) if each.text_content().strip())
    return {*first, *lower}


def _is_title(heading: HtmlElement, head: str) -> bool:
    text = " ".join(heading.text_content().split())
    return len(text) >= _SHORT_TITLE and without_site(head, text) == text


def _line(element: HtmlElement) -> str:
    """Its words, where all of them are its own: beside them may stand icons. A cell may begin with another's words."""
    few = list(islice(element, _MOST_ICONS + 1))
    if len(few) > _MOST_ICONS:
        return ""
    told = element.text or ""
    for inner in few:
        is_label_of_cell = element.tag in _CELLS and is_label(_words(inner))
        if inner.tag not in _ICONS or len(inner) or ((inner.text or "").strip() and not is_label_of_cell):
            return ""
        told += f" {inner.text or ''} {inner.tail or ''}"
        if len(told) > 4 * _LONGEST:
            break
    return " ".join(told[: 4 * _LONGEST].split())[: _LONGEST + 1]


def _words(element: HtmlElement) -> str:
    return " ".join(" ".join(islice(element.itertext(), _MOST)).split())


def _is_in_a_paragraph(element: HtmlElement) -> bool:
    parent = element.getparent()
    return parent is not None and parent.tag == "p"


def _is_of_no_other(element: HtmlElement, line: str) -> bool:
    """Whether a day stands by itself, or is said to be that of the page: by its class, or by the word before it."""
    parent, before, kind = element.getparent(), element.getprevious(), (element.get("class") or "")[:300]
    if parent is None or is_hidden(element):
        return False
    if element.tag in _CELLS:
        return is_label(line.partition(":")[0]) or _is_labelled(before)
    alone = element.tag in ("p", "div", *_HEADINGS) or (len(parent) == 1 and not (parent.text or "").strip())
    alone = alone or (_SAYS_SO.search(kind) is not None and not _CHANGE.search(kind))
    alone = alone or _is_labelled(before)
    return alone and next(element.iterancestors(*_OF_OTHERS), None) is None


def _is_labelled(before: HtmlElement | None) -> bool:
    return before is not None and not (before.tail or "").strip() and is_label(_words(before))


def _is_of_the_page(time: HtmlElement, in_header: bool, is_near: bool) -> bool:
    """Whether a time is that of the page: by what it is called, by its place, or as a line of its own."""
    around = [time, *list(time.iterancestors())[:3]]
    names = " ".join(f"{each.get('class') or ''} {each.get('id') or ''}"[:300] for each in around)
    if _CHANGE.search(f"{names} {time.get('itemprop') or ''} {time.text_content()[:50]}"):
        return False
    if in_header:
        return True
    is_line = is_near and dateline(time.text_content()[: 2 * _LONGEST]) is not None
    says_so = _SAYS_SO.search(names) is not None or (is_line and _stands_alone(time))
    return says_so and next(time.iterancestors(*_OF_OTHERS), None) is None


def _stands_alone(time: HtmlElement) -> bool:
    parent, before = time.getparent(), time.getprevious()
    said = parent.text if before is None else before.tail
    return not ((said or "") + (time.tail or "")).strip()


def _are_near(day: HtmlElement, title: HtmlElement) -> bool:
    """Whether the same part of the page holds both, and little else."""
    around = set(islice(title.iterancestors(), _NEAR))
    return (
        any(each in around for each in islice(day.iterancestors(), _NEAR)) and title.getparent() is not None
    )
