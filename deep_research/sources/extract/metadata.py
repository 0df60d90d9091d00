"""Metadata in the head of a web page: title, author, day, and the manual that it belongs to. Nothing is guessed from
the text. And which manual it is part of, by its links to the next and previous page and to the index."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from posixpath import dirname, normpath
from typing import Any

from lxml.html import HtmlElement

from deep_research.patterns import regex
from deep_research.sources.extract.plaintext import words
from deep_research.sources.extract.publication_day import OTHER_THINGS, published

_MAX_JSON_CHARS = 200_000  # characters
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


_MAX_TAGS = 3_000  # of a page that are looked at
_MAX_FOLDER_CHARS = 200  # characters of a folder
_TAG = regex(r"<(link|a)\s([^<>]{1,600})>(?:\s{0,20}([^<>]{1,30})</a)?", re.IGNORECASE)
_REL = regex(r"\brel\s{0,3}=\s{0,3}[\"']?([\w -]{1,60})", re.IGNORECASE)
_HREF = regex(r"\bhref\s{0,3}=\s{0,3}[\"']?([^\"'\s>]{1,300})", re.IGNORECASE)
_NEXT = words("next prev previous forward back weiter zurück suivant précédent siguiente anterior")
_TOP = words("index contents start home toc top up inhalt inhaltsverzeichnis sommaire índice")


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
