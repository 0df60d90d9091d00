"""Finds elements that their own attributes or inline style hide, and removes them. In linear time.

Text that nobody sees is no evidence, and attackers put orders to programs there. The code looks only at the element
itself: it does not know what style sheets hide. It leaves what may be unfolded (``max-height: 0``) and white letters,
whose background a class may give: they are mostly text.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Protocol

from deep_research.patterns import regex

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_MAX_STYLE_CHARS = 2_000  # characters of a style that are looked at
_COMMENT = regex(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_IMPORTANT = regex(r"!\s*+important\Z")
_NUMBER = regex(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))\s*(%|[a-z]*)")
# Roughly.
_PIXELS_PER_UNIT = {"": 1.0, "px": 1.0, "pt": 1.3, "em": 16.0, "rem": 16.0, "ex": 8.0, "ch": 8.0, "%": 0.16, "cm": 38.0,
                    "mm": 3.8, "in": 96.0, "pc": 16.0, "vw": 10.0, "vh": 10.0}  # fmt: skip
_MAX_UNREADABLE_PIXELS = 2.0  # pixels of a letter
_FAINT_SHARE = 0.05
_OFF_SCREEN_PIXELS = -900.0
_COLORS = {"white": "ffffff", "black": "000000"}
_OFFSETS = ("left", "top", "right", "bottom", "text-indent", "margin-left", "margin-top")
_CLIPPED = regex(r"rect\((?:[01](?:px)?[\s,]*){4}\)|inset\((?:[5-9]\d|100)(?:\.\d+)?%|circle\(0")
_GONE = regex(r"scale(?:3d|[xy])?\(\s*0(?:\.0+)?\s*[,)]|opacity\(\s*0(?:\.0+)?%?\s*\)")
_MAIN_TEXT_SHARE = 0.6  # of a page's text: a script would show an element with more
_CLEAR = regex(
    r"transparent|(?:rgba|hsla)\([^()]*[,/]\s*0?(?:\.0+|0)%?\s*\)|#[0-9a-f]{3}0\Z|#[0-9a-f]{6}00\Z"
)


class _Attributes(Protocol):
    def get(self, name: str, /) -> str | None: ...


def is_hidden(element: _Attributes) -> bool:
    """Whether an element, or the attributes of one, say that nobody is to see its text."""
    if element.get("hidden") is not None or (element.get("aria-hidden") or "").strip().lower() == "true":
        return True
    style = element.get("style")
    return bool(style) and style_hides(style or "")


def is_folded(element: _Attributes) -> bool:
    """Whether an element is hidden, and in no other way than a script folds a part of a page away and opens it again."""
    style = _declarations(element.get("style") or "")
    rest = ";".join(
        f"{name}:{value}" for name, value in style.items() if name not in ("display", "visibility")
    )
    return is_hidden(element) and not style_hides(rest)


def show(element: HtmlElement) -> None:
    """Takes off what hides an element."""
    for name in ("hidden", "aria-hidden", "style"):
        element.attrib.pop(name, None)


def drop_hidden(tree: HtmlElement, *, keeps_main_text: bool = True) -> None:
    """Removes hidden elements. Shows `html` and `body` instead, and, if ``keeps_main_text``, an element with more than
    60 % of the text, which a script would show."""
    hidden = [element for element in tree.iter() if isinstance(element.tag, str) and is_hidden(element)]
    most = _MAIN_TEXT_SHARE * len(tree.text_content()) if hidden and keeps_main_text else math.inf
    for element in hidden:
        if element.tag in ("html", "body") or len(element.text_content()) > most:
            show(element)
        elif element.getparent() is not None:
            element.tail = f" {element.tail or ''}"
            element.drop_tree()


@lru_cache(maxsize=512)
def style_hides(style: str) -> bool:
    """Whether a ``style`` attribute keeps the text of its element from being seen: by what comes last, or by what is
    important. An important value that no browser knows does not show what a later one hides."""
    return any(map(_hide, (_declarations(style), _declarations(style, by_importance=False))))


def _hide(properties: dict[str, str]) -> bool:
    size = _pixels(properties.get("font-size", ""))
    return (
        properties.get("display") == "none"
        or properties.get("visibility") in ("hidden", "collapse")
        or properties.get("mso-hide") == "all"
        or properties.get("content-visibility") == "hidden"
        or (size is not None and size <= _MAX_UNREADABLE_PIXELS)
        or any(_is_faint(properties.get(name, "")) for name in ("opacity", "zoom"))
        or any((_pixels(properties.get(name, "")) or 0.0) <= _OFF_SCREEN_PIXELS for name in _OFFSETS)
        or any(_CLIPPED.search(properties.get(name, "")) for name in ("clip", "clip-path"))
        or any(_GONE.search(properties.get(name, "")) for name in ("transform", "filter"))
        or _is_a_dot(properties)
        or _is_unseen_by_color(properties)
    )


def _declarations(style: str, *, by_importance: bool = True) -> dict[str, str]:
    """The properties by name, with the size of a font and the color of a background by their own. Of several
    declarations of a property the last counts; ``by_importance``: the last important one, if there is any."""
    declarations: list[tuple[bool, str, str]] = []
    for declaration in _COMMENT.sub("", style[:_MAX_STYLE_CHARS].lower()).split(";"):
        name, colon, text = (part.strip() for part in declaration.partition(":"))
        value, marks = _IMPORTANT.subn("", text)
        if not colon or not value.strip():
            continue
        is_important, value = by_importance and bool(marks), " ".join(value.split())
        declarations.append((is_important, name, value))
        if name == "font":
            size = value.partition("/")[0].rpartition(" ")[2]
            declarations.append((is_important, "font-size", size))
        elif name == "background":
            declarations.append((is_important, "background-color", value))
    return {name: value for _, name, value in sorted(declarations, key=itemgetter(0))}


def _pixels(value: str) -> float | None:
    """A length; None for what is none, and for one in a unit that is not known."""
    match = _NUMBER.fullmatch(value)
    if match is None or match[2] not in _PIXELS_PER_UNIT:
        return None
    return float(match[1]) * _PIXELS_PER_UNIT[match[2]]


def _is_faint(value: str) -> bool:
    match = _NUMBER.fullmatch(value)
    if match is None:
        return False
    return float(match[1]) * (0.01 if match[2] == "%" else 1.0) <= _FAINT_SHARE


def _is_a_dot(properties: dict[str, str]) -> bool:
    sides = [_pixels(properties.get(name, "")) for name in ("width", "height")]
    return "hidden" in properties.get("overflow", "") and all(
        side is not None and side <= 1 for side in sides
    )


def _is_unseen_by_color(properties: dict[str, str]) -> bool:
    """Letters without a color, or in that of what is behind them. A background may also be cut to the letters."""
    if any(name.endswith("background-clip") for name in properties):
        return False
    color = properties.get("-webkit-text-fill-color") or properties.get("color", "")
    if not color:
        return False
    behind = properties.get("background-color", "")
    return _CLEAR.match(color) is not None or _plain(color) == _plain(behind)


def _plain(color: str) -> str:
    name = _COLORS.get(color, color.removeprefix("#"))
    return "".join(2 * digit for digit in name) if re.fullmatch("[0-9a-f]{3}", name) else name
