"""The day on which a web page says it was published. That of a change is none, nor any that merely stands there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from itertools import chain, islice
from typing import Any

from lxml.html import HtmlElement

from deep_research.patterns import regex
from deep_research.sources.extract.datelines import day_of, shown_days, values_of

_NAMES = (
    *("article:published_time", "og:article:published_time", "article:published", "article:publicationdate"),
    *("datepublished", "dc.date.issued", "dcterms.issued", "citation_publication_date", "citation_date"),
    *("citation_online_date", "publish-date", "publish_date", "publishdate", "published_at", "pubdate"),
    "parsely-pub-date",
)
_SIMPLY_DATES = ("date", "dc.date", "dcterms.date", "sailthru.date")
_CREATED = ("dcterms.created", "dc.date.created", "datecreated")
_IN_UTC = regex(r"\d[T ]\d\d:.*(?:Z|[+-]00:?00)\s*\Z")
_WITH_ZONE = regex(r"\d[T ]\d\d:.*[+-]\d\d:?\d\d\s*\Z")
_MOST = 40  # elements that are looked at
_OTHER_THINGS = regex(r"Video|Image|Audio|Comment|Event|Product|Person|Profile|Organization", re.IGNORECASE)
_SAID_OF_IT = ("review", "reviews", "comment")
_MAY_BE_ALL = regex(r"Video|Image|Audio", re.IGNORECASE)  # that a page is for
_ENTRY = frozenset(("hentry", "h-entry"))
_PUBLISHED = frozenset(("published", "dt-published"))
_SAME = timedelta(minutes=10)
_EARLIEST, _LATEST = 12, 14  # hours by which places are behind Greenwich and before it


def published(
    objects: list[dict[str, Any]],
    metas: dict[str, list[str]],
    tree: HtmlElement,
    line: str = "",
) -> date | None:
    """``objects`` is what the page describes in JSON-LD, ``metas`` what stands in its head, by name in small letters,
    ``line`` the day that its byline tells."""
    if _is_wiki(metas, tree):  # its text is that of its last change, and its first day misleads
        return _first(_told(objects, "dateModified"))
    entry = _of_entry(tree)
    main = [each for each in objects if not _OTHER_THINGS.search(_type(each))]
    others = [each for each in objects if _MAY_BE_ALL.search(_type(each))]
    said = [
        *_told(main, "datePublished"),
        *chain.from_iterable(metas.get(name, ()) for name in _NAMES),
        *_marked(tree),
        entry,
        *chain.from_iterable(metas.get(name, ()) for name in _SIMPLY_DATES),
    ]
    shown = [*shown_days(tree), *filter(None, [line, entry])]
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
    return next(filter(None, map(day_of, values)), None)


def _local(day: date, said: list[str], shown: list[str]) -> date:
    """The same moment by the clock of its place, where the page tells that beside the one of Greenwich."""
    first = next(value for value in said if day_of(value) is not None)
    moment = _moment(first) if _IN_UTC.search(first[:100]) else None
    if moment is None:
        return day
    for value in said:
        other = _moment(value) if _WITH_ZONE.search(value[:100]) and not _IN_UTC.search(value[:100]) else None
        if other is not None and abs(other - moment) <= _SAME:
            return other.date()
    places = {(moment + timedelta(hours=hours)).date() for hours in (-_EARLIEST, 0, _LATEST)}
    return next((seen for value in shown if (seen := day_of(value)) is not None and seen in places), day)


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
    """What is marked as the day of publication in the page itself: not that of a film or a comment in it, nor of what
    somebody says of the thing that it is about."""
    for element in tree.xpath("//*[@itemprop='datePublished' or @pubdate]")[:_MOST]:
        scope = next((each for each in element.iterancestors() if each.get("itemscope") is not None), None)
        is_of_another = scope is not None and (scope.get("itemprop") or "").lower() in _SAID_OF_IT
        if scope is None or not (is_of_another or _OTHER_THINGS.search(scope.get("itemtype") or "")):
            yield from values_of(element)


def _asked(tree: HtmlElement) -> Iterator[str]:
    """When the question was asked that a page is about."""
    for element in tree.xpath("//*[@itemprop='dateCreated']")[:_MOST]:
        scope = next((each for each in element.iterancestors() if each.get("itemscope") is not None), None)
        if scope is not None and (scope.get("itemtype") or "").endswith("/Question"):
            yield from values_of(element)


def _of_entry(tree: HtmlElement) -> str:
    """The day with which a page's only entry is marked as blogs mark theirs, mostly below its text."""
    entries = [each for each in tree.iter("article", "div", "main", "section") if _ENTRY & _kinds(each)]
    if len(entries) != 1:
        return ""
    times = islice((time for time in entries[0].iter("time", "abbr") if _PUBLISHED & _kinds(time)), _MOST)
    own = (time for time in times if not any(map(_is_comment, time.iterancestors())))
    return next((value for time in own for value in values_of(time) if day_of(value)), "")


def _kinds(element: HtmlElement) -> set[str]:
    return set((element.get("class") or "")[:300].split())


def _is_comment(element: HtmlElement) -> bool:
    return "comment" in (element.get("class") or "")[:300] or (element.get("id") or "").startswith("comment")
