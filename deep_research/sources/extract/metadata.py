"""Metadata in the head of a web page: title, author, day, and the manual that it belongs to. Nothing is guessed from
the text. And which manual it is part of, by its links to the next and previous page and to the index."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from datetime import date
from itertools import chain, islice
from pathlib import Path
from posixpath import dirname, normpath
from typing import Any

from lxml import etree
from lxml.html import HtmlElement

from deep_research.patterns import regex
from deep_research.sources.extract.plaintext import parse_date, words

_MAX_JSON_CHARS = 200_000
_MAX_OBJECTS = 500
_SAID = tomllib.loads(Path(__file__).with_name("metadata.toml").read_text(encoding="utf-8"))
_ADDRESS = regex(r"https?://|www\.|@", re.IGNORECASE)
_WRAPPED = regex(
    r"\A\s*+(?:(?://|/\*)\s*+)?<!\[CDATA\[(?:\s*\*/)?|(?:(?://|/\*)\s*+|(?<!\s)\s*+)\]\]>(?:\s*\*/)?\s*\Z"
)
_BY = regex(rf"^\s*(?:{'|'.join(_SAID['by'])})\s+", re.IGNORECASE)
_AFTER_NAME = regex(
    r"(?<!\s)\s*(?:[,|•·]|\s[–—-]\s|\n|\s\d|updated\b|published\b).*", re.IGNORECASE | re.DOTALL
)
_MAX_TAGS = 3_000  # of a page that are looked at
_MAX_FOLDER_CHARS = 200  # characters of a folder
_TAG = regex(r"<(link|a)\s([^<>]{1,600})>(?:\s{0,20}([^<>]{1,30})</a)?", re.IGNORECASE)
_REL = regex(r"\brel\s{0,3}=\s{0,3}[\"']?([\w -]{1,60})", re.IGNORECASE)
_HREF = regex(r"\bhref\s{0,3}=\s{0,3}[\"']?([^\"'\s>]{1,300})", re.IGNORECASE)
_NEXT = words("next prev previous forward back weiter zurück suivant précédent siguiente anterior")
_TOP = words("index contents start home toc top up inhalt inhaltsverzeichnis sommaire índice")
_DATE_NAMES = (  # of the meta elements that may give the day of publication
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
_MAX_HEADINGS = 40  # headings that are looked at
_MAX_TITLE_CHARS = 500  # characters of a title
_APART = " —–|·»:-"  # what stands between a title and the name of the site


@dataclass(frozen=True, slots=True)
class About:
    title: str = ""  # for those who link to it
    site: str = ""
    author: str = ""
    published: date | None = None


def about(tree: HtmlElement, *, is_searched: bool = True) -> About:
    """``tree`` is the page without what is hidden. Unless it ``is_searched``, its day is one that is marked as such."""
    metas: dict[str, list[str]] = {}
    for meta in tree.iter("meta"):
        content = (meta.get("content") or "")[:1000]
        is_of_another = any(OTHER_THINGS.search(each.get("itemtype") or "") for each in meta.iterancestors())
        for name in ("property", "name", *(() if is_of_another else ("itemprop",))):
            value = (meta.get(name) or "").lower().strip()
            for key in [value] if name == "name" else value.split()[:10]:  # the others are lists
                metas.setdefault(key, []).append(content)
    objects = list(_objects(tree))
    return About(
        title=_first(metas, ("og:title", "citation_title", "dc.title", "twitter:title")),
        site=_first(metas, ("og:site_name", "application-name")),
        author=_author(objects, metas, tree),
        published=published(objects, metas, tree, is_searched=is_searched),
    )


def _first(metas: dict[str, list[str]], names: tuple[str, ...]) -> str:
    values = (" ".join(value.split()) for name in names for value in metas.get(name, ()))
    return next(filter(None, values), "")


def _author(objects: list[dict[str, Any]], metas: dict[str, list[str]], tree: HtmlElement) -> str:
    for each in objects:
        if names := ", ".join(dict.fromkeys(_names(each.get("author")))):
            return names
    for name in _SAID["author"]:
        values = [value for value in metas.get(name, ()) if value.strip() and not _ADDRESS.search(value)]
        if values:
            return ", ".join(dict.fromkeys(" ".join(value.split()) for value in values[:10]))
    xpath = "//*[@rel='author' or @itemprop='author' or contains(concat(' ', @class, ' '), ' byline ')]"
    for element in tree.xpath(xpath)[:3]:
        name_element = next((name for name in element.iter() if name.get("itemprop") == "name"), element)
        author = _AFTER_NAME.sub("", _BY.sub("", " ".join(name_element.itertext())[:300].strip()), count=1)
        is_name = 1 < len(author) < 80 and not author[0].isdigit()  # as a day in whatever language
        if is_name and not _ADDRESS.search(author):
            return " ".join(author.split())
    return ""


def _names(author: Any) -> Iterator[str]:
    if isinstance(author, str) and not _ADDRESS.search(author):
        yield " ".join(author.split())
    elif isinstance(author, dict):
        yield from _names(author.get("name"))
    elif isinstance(author, list):
        for each in author[:10]:
            yield from _names(each)


def _objects(tree: HtmlElement) -> Iterator[dict[str, Any]]:
    """The things that the page describes in JSON-LD, those that it is about before those that they are part of."""
    count = 0
    for script in tree.iter("script"):
        text = script.text or ""
        if "ld+json" not in (script.get("type") or "") or len(text) > _MAX_JSON_CHARS:
            continue
        try:
            waiting = [json.loads(_WRAPPED.sub("", text), strict=False)]
        except (ValueError, RecursionError):
            continue
        while waiting and count < _MAX_OBJECTS:
            value = waiting.pop(0)
            if isinstance(value, list):
                waiting += value[:50]
            elif isinstance(value, dict):
                count += 1
                yield value
                waiting += [
                    value[key] for key in ("@graph", "mainEntity", "mainEntityOfPage") if key in value
                ]


def folder_of(page: str) -> str:
    """The folder of the manual that a page of HTML is one of, as seen from its own: ``.``, ``..``; "" where it does not
    say. A page of a manual leads to a next or previous one; its index or beginning, where it leads to one, is in the
    folder of the manual. Takes linear time.

    >>> folder_of('<link rel="prev" href="a.html"><link rel="index" href="../index.html">')
    '..'
    """
    follows, top = False, ""
    for number, match in enumerate(_TAG.finditer(page)):
        if number >= _MAX_TAGS:
            break
        href = _HREF.search(match[2])
        if href is None or not _is_near(href[1]):
            continue
        rel = _REL.search(match[2])
        labels = {word.casefold() for word in (rel[1].split() if rel else [])}
        if not labels and match[3]:
            labels = {match[3].strip(" \t\n«»<>←→").casefold()}
        follows = follows or bool(labels & _NEXT)
        if not top and labels & _TOP:
            top = normpath(dirname(href[1].partition("#")[0]) or ".")
    folder = (top or ".") if follows else ""
    return folder if len(folder) <= _MAX_FOLDER_CHARS else ""


def _is_near(address: str) -> bool:
    """Whether it leads to another page beside this one, and not to another site or within the page."""
    path = address.partition("#")[0].partition("?")[0].casefold()
    return path.endswith((".html", ".htm", ".xhtml")) and ":" not in path and not path.startswith("/")


def published(
    objects: list[dict[str, Any]], metas: dict[str, list[str]], tree: HtmlElement, *, is_searched: bool
) -> date | None:
    """``objects`` is what the page describes in JSON-LD, ``metas`` what stands in its head, by name in small letters.
    htmldate takes long to load: of a page that is not ``is_searched`` only what is marked counts."""
    if _is_wiki(metas, tree):  # its text is that of its last change, and its first day misleads
        return _first_day(_values(objects, "dateModified"))
    main = [each for each in objects if not OTHER_THINGS.search(_type(each))]
    others = [each for each in objects if _MAY_BE_ALL.search(_type(each))]
    candidates = [
        *_values(main, "datePublished"),
        *chain.from_iterable(metas.get(name, ()) for name in _DATE_NAMES),
    ]
    created = [
        *_values(others, "datePublished", "uploadDate"),
        *_values([*main, *others], "dateCreated"),
    ]
    is_looked_at = is_searched and _is_one_text(tree, objects, metas)
    return _first_day(candidates) or (_visible_day(tree) if is_looked_at else None) or _first_day(created)


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


def _first_day(values: Iterable[str]) -> date | None:
    return next(filter(None, map(day_of, values)), None)


def _is_wiki(metas: dict[str, list[str]], tree: HtmlElement) -> bool:
    if any(value.startswith("MediaWiki") for value in metas.get("generator", ())):
        return True
    body = tree.find("body")
    return body is not None and "mediawiki" in (body.get("class") or "").split()


def title_of_head(tree: HtmlElement) -> str:
    """The document's title. A parser lets go of a head that stands behind text, and leaves its elements there."""
    for title in tree.iter("title"):
        if next(title.iterancestors("svg"), None) is None:
            return " ".join(title.text_content().split())
    return ""


def heading(tree: HtmlElement, head_titles: list[str]) -> HtmlElement | None:
    """The heading of the page: one with which one of the ``head_titles`` begins, else the first, rather in the main part
    than in what stands above it."""
    main_headings = list(islice(_within(tree, ("main", "article"), "h1"), _MAX_HEADINGS))
    every = list(islice(tree.iter("h1"), _MAX_HEADINGS))
    titles = [title[:_MAX_TITLE_CHARS].lower() for title in head_titles if title]
    for each in (*main_headings, *every):
        text = text_of(each)[:_MAX_TITLE_CHARS].lower()
        if text and any(title.startswith(text) for title in titles):
            return each
    return next(iter((*main_headings, *every)), None)


def _within(tree: HtmlElement, outer: tuple[str, ...], tag: str) -> Iterator[HtmlElement]:
    """The elements with a tag in the main part and in those with tags of ``outer``, each of which is gone through once:
    articles stand in articles, and from each of them down it would take quadratic time."""
    walk = etree.iterwalk(tree, events=("start",))
    for _, element in walk:
        if element.tag in outer or element.get("role") == "main":
            yield from element.iterdescendants(tag)
            walk.skip_subtree()


def text_of(element: HtmlElement | None) -> str:
    return "" if element is None else " ".join(element.text_content().split()).rstrip(" ¶#")


def title(head: str, shared: str, site: str, heading: str) -> str:
    """``head`` is the document's title, ``shared`` the one for those who link to it, ``site`` the name of the site.
    A heading that one of them begins with is the title, without the name of the site that many put behind it."""
    if not head or head == site:
        return heading or shared
    shared = "" if shared == site else shared
    if heading and heading != site and (shared.startswith(heading) or head.startswith(heading)):
        return heading
    page_title = shared or head
    if site and page_title.endswith(site):
        page_title = page_title.removesuffix(site).rstrip(_APART)
    return page_title or heading
