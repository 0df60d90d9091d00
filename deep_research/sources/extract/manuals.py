"""Which manual a page is part of: what its links to the next and previous page, and to the index, tell. Pure."""

from __future__ import annotations

import re
from posixpath import dirname, normpath

from deep_research.patterns import regex
from deep_research.sources.extract.plaintext import words

_MOST_TAGS = 3_000  # of a page that are looked at
_LONGEST = 200  # characters of a folder
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
        if number >= _MOST_TAGS:
            break
        href = _HREF.search(match[2])
        if href is None or not _is_near(href[1]):
            continue
        rel = _REL.search(match[2])
        said = {word.casefold() for word in (rel[1].split() if rel else [])}
        if not said and match[3]:
            said = {match[3].strip(" \t\n«»<>←→").casefold()}
        follows = follows or bool(said & _NEXT)
        if not top and said & _TOP:
            top = normpath(dirname(href[1].partition("#")[0]) or ".")
    folder = (top or ".") if follows else ""
    return folder if len(folder) <= _LONGEST else ""


def _is_near(address: str) -> bool:
    """Whether it leads to another page beside this one, and not to another site or within the page."""
    path = address.partition("#")[0].partition("?")[0].casefold()
    return path.endswith((".html", ".htm", ".xhtml")) and ":" not in path and not path.startswith("/")
