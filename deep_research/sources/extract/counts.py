"""What of a web page only counts: votes, comments, the standing of those who write, pictures to look through. By what
it says of itself, and only where nothing else is said: figures that are named otherwise may be what a page is about."""

from __future__ import annotations

import re

from lxml.html import HtmlElement

from deep_research.sources.extract.plaintext import words

_COUNTED = words("upvotecount downvotecount commentcount interactioncount userinteractioncount")
_STANDING = re.compile(r"(?:^|[\s_-])reputation(?=$|[\s_-])", re.IGNORECASE)
_UNSEEN = words("d-none hidden hide")  # classes of what is there for programs, as a name that is said again
_NUMBER = re.compile(r"[+-]?\d[\d.,]{0,11}\s?[kKmM]?")
_PICTURES = re.compile(
    r"(?:[^\W\d]+\s){0,3}\(?\s?\d{1,3}\s(?:images?|pictures?|photos?|slides?|bilder|fotos?|imágenes|immagini)\s?\)?",
    re.IGNORECASE,
)
_LONGEST = 80  # characters
_SET = ("table", "pre", "code", "h1", "h2", "h3", "h4", "h5", "h6")


def drop_counts(body: HtmlElement) -> None:
    for element in [each for each in body.iter() if isinstance(each.tag, str) and _only_counts(each)]:
        if next(element.iterancestors(*_SET), None) is None:
            element.tail = f" {element.tail or ''}"
            element.drop_tree()


def _only_counts(element: HtmlElement) -> bool:
    fact, named = element.get("itemprop") or "", element.get("class") or ""
    if fact.lower() == "name" and not _UNSEEN.isdisjoint(named.lower().split()):
        return len(_said(element)) <= _LONGEST
    if fact.lower() in _COUNTED:
        return _NUMBER.fullmatch(_said(element)) is not None
    if element.tag == "figcaption":
        return _PICTURES.fullmatch(_said(element)) is not None
    return _STANDING.search(named[:300]) is not None and _NUMBER.fullmatch(_said(element)) is not None


def _said(element: HtmlElement) -> str:
    """Its words, of more than a few the beginning."""
    told = ""
    for text in element.itertext():
        told += text[: 4 * _LONGEST]
        if len(told) > 8 * _LONGEST:
            break
    return " ".join(told.split())
