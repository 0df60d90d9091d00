"""What of a web page is there to be pressed or filled in: no words of its text, whatever they look like."""

from __future__ import annotations

import re
from itertools import islice
from math import inf

from lxml.html import HtmlElement

from deep_research.sources.extract.plaintext import words

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_MAIL = re.compile(r"e-?mail", re.IGNORECASE)
_SAYS = ("name", "id", "placeholder", "autocomplete")  # attributes of a field that say what is asked for
_WORDS_AROUND = 200  # characters of a box around a form, its own aside
_SHARE_AROUND = 0.2  # of the page's text; of a page that is little else, a form may be what it is about
_LONGEST_FORM = 6_000  # characters, those of lists to choose from included; of some pages all is in one form
_MOST_FORMS = 20
_LEVELS = 8  # of boxes in boxes
_WHOLE = words("html body main article table tbody tr pre")
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
# What is pressed, drawn or said for a moment, by what it says of itself to those who cannot see it.
_PRESSED = words(
    "button combobox listbox menuitem menuitemcheckbox menuitemradio option progressbar scrollbar searchbox slider "
    "spinbutton switch toolbar tooltip"
)
_NAME = 80  # characters of what a button says
_ASKS = ("?", "？", "؟")
_INLINE = words(
    "a abbr b bdi bdo cite code em font i kbd label mark q s samp small span strong sub sup u var wbr"
)
_UNFOLDS = re.compile(r"accordion|collaps|expand|toggle|fold|disclosure|faq", re.IGNORECASE)


def drop_calls(body: HtmlElement) -> None:
    """Takes out the headings that are nothing but buttons, or links that are made to look like some."""
    for heading in list(body.iter(*HEADINGS[1:])):
        words = _words(heading)
        calls = [each for each in heading.iter("a", "button") if _is_call(each, heading)] if words else []
        if calls and "".join(map(_words, calls)) == words:
            _drop(heading)


def _is_call(element: HtmlElement, heading: HtmlElement) -> bool:
    """Whether what stands in a heading is there to be pressed. What unfolds a part of the text, or leads to it, is the
    name of that part."""
    if element.tag == "a":
        looks = (element.get("role") or "").lower() == "button" or _BUTTON.search(_class(element))
        if not looks or (element.get("href") or "#").startswith("#"):
            return False
    names = (_class(each) for each in (element, heading, heading.getparent()))
    return not (any(element.get(name) is not None for name in _UNFOLDING) or any(map(_UNFOLDS.search, names)))


def drop_widgets(body: HtmlElement) -> None:
    """Takes out what is there to be pressed and says so, where it is no word of a sentence and no name of a part of the
    text. A question that unfolds its answer is text."""
    for element in [each for each in body.iter() if isinstance(each.tag, str) and _is_pressed(each)]:
        if element is not body and _stands_alone(element) and not _names_a_part(element):
            _drop(element)
    for button in list(body.iter("button")):
        if _words(button).endswith(_ASKS) and _stands_alone(button) and _names_a_part(button):
            button.tag = "p"  # the others are mostly menus


def drop_empty_folds(body: HtmlElement) -> None:
    """Takes out the parts that unfold, but hold no text once what belongs to the site is gone."""
    for element in list(body.iter("details")):
        summary = element.find("summary")
        if summary is not None and _length(element, _NAME) <= _NAME and _words(summary) == _words(element):
            _drop(element)


def _is_pressed(element: HtmlElement) -> bool:
    """By what it says of itself. A few words are; what leads to another part of the page is a link."""
    role, leads = (element.get("role") or "").strip().lower(), (element.get("href") or "").strip()
    if (
        role not in _PRESSED
        or (leads.startswith("#") and leads != "#")
        or element.tag in HEADINGS
        or _length(element, _NAME) > _NAME
    ):
        return False
    return role == "tooltip" or next(element.iter("p", *HEADINGS), None) is None


def _stands_alone(element: HtmlElement) -> bool:
    """Whether no words stand beside it in its line; those of a heading or a piece of code stay what they are."""
    if any(True for _ in element.iterancestors("pre", "code", *HEADINGS)):
        return False
    for _ in range(_LEVELS):
        before, above = element.getprevious(), element.getparent()
        if above is None:
            return False
        beside = (above.text if before is None else before.tail, element.tail)
        if any(text and text.strip() for text in beside) or any(
            map(_is_in_the_line, (before, element.getnext()))
        ):
            return False
        if above.tag not in _INLINE:
            return True
        element = above
    return False


def _is_in_the_line(element: HtmlElement | None) -> bool:
    """Whether it is words of a line that are not pressed."""
    is_inline = element is not None and element.tag in _INLINE
    return is_inline and _has_words(element) and not _is_pressed(element)


def _names_a_part(element: HtmlElement) -> bool:
    """Whether it may unfold the text that stands behind it."""
    names = (_class(each) for each in (element, element.getparent()))
    if not (any(element.get(name) is not None for name in _UNFOLDING) or any(map(_UNFOLDS.search, names))):
        return False
    for _ in range(_LEVELS):
        part, above = element.getnext(), element.getparent()
        if part is not None or above is None:
            break
        element = above
    return part is not None and _length(part, _NAME) > _NAME


def _drop(element: HtmlElement) -> None:
    element.tail = f" {element.tail or ''}"
    element.drop_tree()


def _has_words(element: HtmlElement) -> bool:
    """As soon as one is there: it may be asked of the same element for thousands beside it."""
    return any(text.strip() for text in element.itertext())


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
            _drop(box)


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
