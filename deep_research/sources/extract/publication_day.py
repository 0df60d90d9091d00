"""The day on which a web page was published: what it marks as such, else what htmldate finds at its text. The day of a
change is none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from copy import deepcopy
from datetime import date
from itertools import chain, islice
from typing import Any

from lxml.html import HtmlElement

from deep_research.patterns import regex
from deep_research.sources.extract.plaintext import parse_date

_NAMES = (
    *("article:published_time", "og:article:published_time", "article:published", "article:publicationdate"),
    *("datepublished", "dc.date.issued", "dcterms.issued", "citation_publication_date", "citation_date"),
    *("citation_online_date", "publish-date", "publish_date", "publishdate", "published_at", "pubdate"),
    *("parsely-pub-date", "date", "dc.date", "dcterms.date", "sailthru.date"),
)
_MAX_ELEMENTS = 40  # elements that are looked at
OTHER_THINGS = regex(r"Video|Image|Audio|Comment|Event|Product|Person|Profile|Organization", re.IGNORECASE)
_ARTICLE = regex(r"Article|Posting|Report|Blog", re.IGNORECASE)
_MAY_BE_ALL = regex(r"Video|Image|Audio", re.IGNORECASE)  # that a page is for
_LINE_CHARS = 100  # characters of a line that may tell a day
# Words of a change, and a day whose month may be either number: htmldate would take both for the day of publication.
_MISLEADING = regex(
    r"updat|modif|edited|changed|revis|review|\b(?:0?[1-9]|1[0-2])/(?:0?[1-9]|1[0-2])/\d{4}", re.IGNORECASE
)
_FAILURES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)  # of htmldate at odd pages
_NOT_ITS_TEXT = ("head", "script", "footer", "aside", "nav")


def published(
    objects: list[dict[str, Any]], metas: dict[str, list[str]], tree: HtmlElement, *, is_searched: bool
) -> date | None:
    """``objects`` is what the page describes in JSON-LD, ``metas`` what stands in its head, by name in small letters.
    htmldate takes long to load: of a page that is not ``is_searched`` only what is marked counts."""
    if _is_wiki(metas, tree):  # its text is that of its last change, and its first day misleads
        return _first(_values(objects, "dateModified"))
    main = [each for each in objects if not OTHER_THINGS.search(_type(each))]
    others = [each for each in objects if _MAY_BE_ALL.search(_type(each))]
    candidates = [
        *_values(main, "datePublished"),
        *chain.from_iterable(metas.get(name, ()) for name in _NAMES),
    ]
    created = [
        *_values(others, "datePublished", "uploadDate"),
        *_values([*main, *others], "dateCreated"),
    ]
    is_looked_at = is_searched and _is_one_text(tree, objects, metas)
    return _first(candidates) or (_visible_day(tree) if is_looked_at else None) or _first(created)


def _is_one_text(tree: HtmlElement, objects: list[dict[str, Any]], metas: dict[str, list[str]]) -> bool:
    """Whether a page is an article or has one text; of many the day of one would be taken for that of the page."""
    is_article = any(map(_ARTICLE.search, (*map(_type, objects), *metas.get("og:type", ()))))
    return is_article or (len(list(tree.iter("h1"))) == 1 and len(list(tree.iter("article"))) <= 1)


def day_of(value: str) -> date | None:
    """The day that a value says which is meant for programs."""
    day = parse_date(value)
    return day if day and 1000 < day.year < 2100 else None


def _visible_day(tree: HtmlElement) -> date | None:
    """The day that stands at the text for its readers, as htmldate tells it. Long paragraphs, and its search
    through the running text, are left out: what it finds there is mostly the day of something else."""
    from htmldate import find_date

    text = deepcopy(tree)
    for element in list(text.iter()):
        if element.getparent() is not None and _is_of_no_text(element):
            element.drop_tree()
    with suppress(*_FAILURES):
        return parse_date(find_date(text, extensive_search=False, original_date=True) or "")
    return None


def _is_of_no_text(element: HtmlElement) -> bool:
    """Whether it stands beside the text, or is a line that says, or is called, something else than the day of
    publication."""
    if element.tag in ("html", "body") or not isinstance(element.tag, str):
        return False
    kind, name = (element.get("class") or "")[:300], (element.get("id") or "")[:300]
    is_comment = element.tag != "article" and ("comment" in kind or name.startswith("comment"))
    if element.tag in _NOT_ITS_TEXT or is_comment:
        return True
    text = "".join(islice(element.itertext(), _MAX_ELEMENTS))
    if len(text) >= _LINE_CHARS:
        return element.tag == "p"  # prose, whose days are of what it tells
    called = f"{kind} {name} {element.get('itemprop') or ''}"
    return _MISLEADING.search(called) is not None or _MISLEADING.search(text) is not None


def _values(objects: list[dict[str, Any]], *names: str) -> Iterator[str]:
    for name in names:
        yield from (each[name] for each in objects if isinstance(each.get(name), str))


def _type(described: dict[str, Any]) -> str:
    return str(described.get("@type"))[:100]


def _first(values: Iterable[str]) -> date | None:
    return next(filter(None, map(day_of, values)), None)


def _is_wiki(metas: dict[str, list[str]], tree: HtmlElement) -> bool:
    if any(value.startswith("MediaWiki") for value in metas.get("generator", ())):
        return True
    body = tree.find("body")
    return body is not None and "mediawiki" in (body.get("class") or "").split()
