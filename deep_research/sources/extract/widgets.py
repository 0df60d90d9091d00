"""What of a web page is there to be pressed or filled in: no words of its text, whatever they look like."""

from __future__ import annotations

import re
from itertools import islice
from math import inf

from lxml.html import HtmlElement

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_MAIL = re.compile(r"e-?mail", re.IGNORECASE)
_SAYS = ("name", "id", "placeholder", "autocomplete")  # attributes of a field that say what is asked for
_WORDS_AROUND = 200  # characters of a box around a form, its own aside
_SHARE_AROUND = 0.2  # of the page's text; of a page that is little else, a form may be what it is about
_LONGEST_FORM = 6_000  # characters, those of lists to choose from included; of some pages all is in one form
_MOST_FORMS = 20
_LEVELS = 8  # of boxes in boxes
_WHOLE = frozenset(("html", "body", "main", "article", "table", "tbody", "tr", "pre"))
_BUTTON = re.compile(r"(?:^|[\s_-])(?:btn|button|cta)(?=$|[\s_-])", re.IGNORECASE)
# What unfolds the part below it says so to those who cannot see it, or by its name.
_UNFOLDING = (
    "aria-expanded",
    "aria-controls",
    "data-toggle",
    "data-bs-toggle",
    "data-target",
    "data-bs-target",
)
_UNFOLDS = re.compile(r"accordion|collaps|expand|toggle|fold|disclosure|faq", re.IGNORECASE)


def drop_calls(body: HtmlElement) -> None:
    """Takes out the headings that are nothing but buttons, or links that are made to look like some."""
    for heading in list(body.iter(*HEADINGS[1:])):
        words = _words(heading)
        calls = [each for each in heading.iter("a", "button") if _is_call(each, heading)] if words else []
        if calls and "".join(map(_words, calls)) == words:
            heading.tail = f" {heading.tail or ''}"
            heading.drop_tree()


def _is_call(element: HtmlElement, heading: HtmlElement) -> bool:
    """Whether what stands in a heading is there to be pressed. What unfolds a part of the text, or leads to it, is the
    name of that part."""
    if element.tag == "a":
        looks = (element.get("role") or "").lower() == "button" or _BUTTON.search(_class(element))
        if not looks or (element.get("href") or "#").startswith("#"):
            return False
    names = (_class(each) for each in (element, heading, heading.getparent()))
    return not (any(element.get(name) is not None for name in _UNFOLDING) or any(map(_UNFOLDS.search, names)))


def _words(element: HtmlElement) -> str:
    return "".join(element.text_content().split())


def _class(element: HtmlElement) -> str:
    return (element.get("class") or "")[:300]


def drop_sign_ups(body: HtmlElement) -> None:
    """Takes out the boxes in which one is asked for an address to write to: the form with the few words around it, and
    the heading right before it."""
    fields = list(islice(filter(_asks_for_mail, body.iter("input")), _MOST_FORMS))
    whole = _length(body) if fields else 0
    most = min(_WORDS_AROUND, int(whole * _SHARE_AROUND))
    for field in fields:
        if body not in field.iterancestors():
            continue  # it went with another
        form = next(field.iterancestors("form"), field)
        start = form if _length(form, _LONGEST_FORM) <= min(_LONGEST_FORM, whole / 2) else field
        own = _length(start)
        box = start
        for above in islice(start.iterancestors(), _LEVELS):
            around = _length(above, own + most) - own
            if above.tag in _WHOLE or around > most or above.find(".//h1") is not None:
                break
            box = above
        before = box.getprevious()
        if before is not None and before.tag in HEADINGS[1:] and not (before.tail or "").strip():
            before.drop_tree()
        if box is not start:
            box.tail = f" {box.tail or ''}"
            box.drop_tree()


def _length(element: HtmlElement, most: float = inf) -> int:
    """The length of its text without the space in which it is laid out; of more than ``most`` that it is more."""
    length = 0
    for text in element.itertext():
        length += sum(len(word) + 1 for word in text.split())
        if length > most:
            break
    return length


def _asks_for_mail(field: HtmlElement) -> bool:
    kind = (field.get("type") or "text").lower()
    return kind == "email" or (
        kind == "text" and any(_MAIL.search((field.get(name) or "")[:200]) for name in _SAYS)
    )
