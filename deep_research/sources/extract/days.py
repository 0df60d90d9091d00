"""The day on which a web page says it was published. That of a change is none, nor any that merely stands there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from itertools import chain, islice
from typing import Any

from lxml.html import HtmlElement

from deep_research.sources.extract.texts import parse_date

_NAMES = (
    *("article:published_time", "og:article:published_time", "article:published", "article:publicationdate"),
    *("datepublished", "dc.date.issued", "dcterms.issued", "citation_publication_date", "citation_date"),
    *("citation_online_date", "publish-date", "publish_date", "publishdate", "published_at", "pubdate"),
    "parsely-pub-date",
)
_SIMPLY_DATES = ("date", "dc.date", "dcterms.date", "sailthru.date")
_CREATED = ("dcterms.created", "dc.date.created", "datecreated")
_IN_UTC = re.compile(r"\d[T ]\d\d:.*(?:Z|[+-]00:?00)\s*\Z")
_WITH_ZONE = re.compile(r"\d[T ]\d\d:.*[+-]\d\d:?\d\d\s*\Z")
_AS_UNIX = re.compile(r"\b([A-Z][a-z]{2}) +(\d{1,2}) \d\d:\d\d:\d\d [A-Z]{2,5} (\d{4})\b")
_SLASHED = re.compile(r"\A\s*(\d\d?)/(\d\d?)/(\d{4})\b")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_DATELINE = re.compile(
    rf"(?:(?:first )?(?:published|posted)(?: on)?:? )?(?:{_MONTH} \d{{1,2}}, \d{{4}}|\d{{1,2}} {_MONTH} \d{{4}})",
    re.IGNORECASE,
)
_MOST = 40  # elements that are looked at
_LONGEST = 50  # characters of a dateline
_BELOW = 3  # blocks below the title, in which a day may stand by itself
_WEB = 1993  # before it nothing was published as a page
_PROSE = 120  # characters; behind a paragraph of so many stands no dateline
_SAYS_SO = re.compile(
    r"(?:^|[\s_-])(?:author\w{0,20}|byline|dateline|date|meta|posted|published|publication|pub|pubdate|timestamp)(?=$|[\s_-])",
    re.IGNORECASE,
)
_CHANGE = re.compile(r"updat|modif|edit|changed", re.IGNORECASE)
_OF_OTHERS = ("a", "li", "figcaption", "aside", "nav")  # teasers, mostly
_OTHER_THINGS = re.compile(
    r"Video|Image|Audio|Comment|Event|Product|Person|Profile|Organization", re.IGNORECASE
)
_MAY_BE_ALL = re.compile(r"Video|Image|Audio", re.IGNORECASE)  # that a page is for
_ENTRY = frozenset(("hentry", "h-entry"))
_PUBLISHED = frozenset(("published", "dt-published"))
_SAME = timedelta(minutes=10)
_EARLIEST, _LATEST = 12, 14  # hours by which places are behind Greenwich and before it


def published(
    objects: list[dict[str, Any]],
    metas: dict[str, list[str]],
    tree: HtmlElement,
    line: str = "",
    entry: str = "",
) -> date | None:
    """``objects`` is what the page describes in JSON-LD, ``metas`` what stands in its head, by name in small letters,
    ``line`` the day that its byline tells, ``entry`` that of its entry."""
    if _is_wiki(metas, tree):  # its text is that of its last change, and its first day misleads
        return _first(_told(objects, "dateModified"))
    main = [each for each in objects if not _OTHER_THINGS.search(_type(each))]
    others = [each for each in objects if _MAY_BE_ALL.search(_type(each))]
    said = [
        *_told(main, "datePublished"),
        *chain.from_iterable(metas.get(name, ()) for name in _NAMES),
        *_marked(tree),
        entry,
        *chain.from_iterable(metas.get(name, ()) for name in _SIMPLY_DATES),
    ]
    shown = [*_shown(tree), *filter(None, [line])]
    if (day := _first(said)) is not None:
        return _local(day, said, shown)
    created = [
        *_told(others, "datePublished", "uploadDate"),
        *_told([*main, *others], "dateCreated"),
        *chain.from_iterable(metas.get(n, ()) for n in _CREATED),
        *_asked(tree),
    ]
    return _first(shown) or _first(created)


def _told(objects: list[dict[str, Any]], *names: str) -> Iterator[str]:
    for name in names:
        yield from (each[name] for each in objects if isinstance(each.get(name), str))


def _type(described: dict[str, Any]) -> str:
    return str(described.get("@type"))[:100]


def _first(values: Iterable[str]) -> date | None:
    return next(filter(None, map(_day, values)), None)


def _day(value: str) -> date | None:
    if found := _AS_UNIX.search(value[:100]):
        value = f"{found[1]} {found[2]}, {found[3]}"
    elif found := _SLASHED.match(value):
        value = _ordered(int(found[1]), int(found[2]), found[3])
    day = parse_date(value)
    return day if day and 1000 < day.year < 2100 else None


def _ordered(one: int, other: int, year: str) -> str:
    """A day with its month first or second, where only one can be meant."""
    if one > 12 or one == other:
        return f"{year}-{other}-{one}"
    return f"{year}-{one}-{other}" if other > 12 else ""


def _local(day: date, said: list[str], shown: list[str]) -> date:
    """The same moment by the clock of its place, where the page tells that beside the one of Greenwich."""
    first = next(value for value in said if _day(value) is not None)
    moment = _moment(first) if _IN_UTC.search(first[:100]) else None
    if moment is None:
        return day
    for value in said:
        other = _moment(value) if _WITH_ZONE.search(value[:100]) and not _IN_UTC.search(value[:100]) else None
        if other is not None and abs(other - moment) <= _SAME:
            return other.date()
    places = {(moment + timedelta(hours=hours)).date() for hours in (-_EARLIEST, 0, _LATEST)}
    return next((seen for value in shown if (seen := _day(value)) is not None and seen in places), day)


def _moment(value: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(value.strip()[:40])
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def _is_wiki(metas: dict[str, list[str]], tree: HtmlElement) -> bool:
    if any(value.startswith("MediaWiki") for value in metas.get("generator", ())):
        return True
    body = tree.find("body")
    return body is not None and "mediawiki" in (body.get("class") or "").split()


def _marked(tree: HtmlElement) -> Iterator[str]:
    """What is marked as the day of publication in the page itself: not that of a film or a comment in it."""
    for element in tree.xpath("//*[@itemprop='datePublished' or @pubdate]")[:_MOST]:
        scope = next((each for each in element.iterancestors() if each.get("itemscope") is not None), None)
        if scope is None or not _OTHER_THINGS.search(scope.get("itemtype") or ""):
            yield from _values(element)


def _asked(tree: HtmlElement) -> Iterator[str]:
    """When the question was asked that a page is about."""
    for element in tree.xpath("//*[@itemprop='dateCreated']")[:_MOST]:
        scope = next((each for each in element.iterancestors() if each.get("itemscope") is not None), None)
        if scope is not None and (scope.get("itemtype") or "").endswith("/Question"):
            yield from _values(element)


def of_entry(tree: HtmlElement) -> str:
    """The day with which a page's only entry is marked as blogs mark theirs, mostly below its text: to be asked for
    before that goes."""
    entries = [each for each in tree.iter("article", "div", "main", "section") if _ENTRY & _kinds(each)]
    if len(entries) != 1:
        return ""
    times = islice((time for time in entries[0].iter("time", "abbr") if _PUBLISHED & _kinds(time)), _MOST)
    own = (time for time in times if not any(map(_is_comment, time.iterancestors())))
    return next((value for time in own for value in _values(time) if _day(value)), "")


def _kinds(element: HtmlElement) -> set[str]:
    return set((element.get("class") or "")[:300].split())


def _is_comment(element: HtmlElement) -> bool:
    return "comment" in (element.get("class") or "")[:300] or (element.get("id") or "").startswith("comment")


def _values(element: HtmlElement) -> Iterator[str]:
    """The day as it is shown goes first, as that of the place; unless it is quite another."""
    exact = element.get("content") or element.get("datetime") or element.get("title") or ""
    text = " ".join(element.text_content()[:200].split())
    seen, meant = parse_date(text), _day(exact)
    if seen and (meant is None or abs((seen - meant).days) <= 1):
        yield text
    yield exact


def _shown(tree: HtmlElement) -> Iterator[str]:
    """Days at the head of the text: marked as times and said to be of the page, or alone below its title."""
    headers = {each for title in tree.iter("h1") for each in title.iterancestors("header")}
    below = times = blocks = 0
    for element in tree.iter("h1", "h2", "h3", "p", "div", "span", "em", "time"):
        if element.tag in ("h1", "h2", "h3"):
            below, blocks = (_MOST, 0) if element.tag == "h1" else (0, 0)
        elif element.tag == "time":
            in_header = not headers.isdisjoint(element.iterancestors("header"))
            if (below or in_header) and _is_of_the_page(element, in_header):
                yield from _values(element)
            times += 1
            if times == _MOST:
                return
        elif below:
            said = element.text_content() if element.tag == "p" else element.text or ""
            text = " ".join(said[:1000].split())
            below = 0 if len(text) > _PROSE else below - 1
            blocks += bool(text) and not _is_in_a_paragraph(element)
            is_near = blocks <= _BELOW and len(element) == 0 and len(text) < _LONGEST
            if is_near and _is_dateline(element, text) and (day := _day(text)) and day.year >= _WEB:
                yield text


def _is_in_a_paragraph(element: HtmlElement) -> bool:
    parent = element.getparent()
    return parent is not None and parent.tag == "p"


def _is_dateline(element: HtmlElement, text: str) -> bool:
    if not _DATELINE.fullmatch(text):
        return False
    parent, kind = element.getparent(), (element.get("class") or "")[:300]
    alone = element.tag in ("p", "div") or (len(parent) == 1 and not (parent.text or "").strip())
    alone = alone or (_SAYS_SO.search(kind) is not None and not _CHANGE.search(kind))
    return alone and next(element.iterancestors(*_OF_OTHERS), None) is None


def _is_of_the_page(time: HtmlElement, in_header: bool) -> bool:
    around = [time, *list(time.iterancestors())[:3]]
    names = " ".join(f"{each.get('class') or ''} {each.get('id') or ''}"[:300] for each in around)
    if _CHANGE.search(f"{names} {time.get('itemprop') or ''} {time.text_content()[:50]}"):
        return False
    if in_header:
        return True
    return _SAYS_SO.search(names) is not None and next(time.iterancestors(*_OF_OTHERS), None) is None
