"""What of a web page only counts: votes, comments, the standing of those who write, pictures to look through, minutes to
read. By what it says of itself, and only where nothing else is said: figures that are named otherwise may be what a page
is about."""

from __future__ import annotations

import re
from itertools import islice

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
# The same of one of several that are looked through, and of how long a text takes to read.
_PLACE = re.compile(
    r"(?:bild|foto|photo|image|imagen|immagine|picture|slide|folie)\s\d{1,3}\s(?:von|of|de|di|/)\s\d{1,3}|"
    r"(?:estimated |ca\. )?(?:reading time|read time|lesezeit|lesedauer|tiempo de lectura|temps de lecture|leestijd)"
    r"\s?:?\s(?:von |ca\. |etwa |about )?\d{1,3}\s(?:min(?:utes?|uten?|utos?|uti|uut|\.)?)|"
    r"\W?\s?\d{1,3}\s?min(?:ute|uten|\.)?\s(?:read|lesezeit|lesedauer|de lectura|de lecture)",
    re.IGNORECASE,
)
_LINES = ("p", "div", "span", "small", "li", "figcaption", "em", "time")
_LONGEST = 80  # characters
_MOST_WITHIN = 5  # elements in such a line
_JOINTS = re.compile(r"[\s|/•·,–—-]{0,40}")
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
    if element.tag in _LINES and _is_brief(element) and _PLACE.fullmatch(_said(element)) is not None:
        return _stands_alone(element)
    if element.tag == "figcaption":
        return _PICTURES.fullmatch(_said(element)) is not None
    return _STANDING.search(named[:300]) is not None and _NUMBER.fullmatch(_said(element)) is not None


def _is_brief(element: HtmlElement) -> bool:
    """Whether it can be a line of such words: else all words of a page would be read once for each box around them."""
    return next(islice(element.iterdescendants(), _MOST_WITHIN, None), None) is None


def _stands_alone(element: HtmlElement) -> bool:
    """Whether no words stand beside it, with which it may be a sentence."""
    before, above = element.getprevious(), element.getparent()
    beside = (above.text if before is None else before.tail, element.tail) if above is not None else ("x",)
    return all(_JOINTS.fullmatch(text or "") is not None for text in beside)


def _said(element: HtmlElement) -> str:
    """Its words, of more than a few the beginning."""
    told = ""
    for text in element.itertext():
        told += text[: 4 * _LONGEST]
        if len(told) > 8 * _LONGEST:
            break
    return " ".join(told.split())
