"""Formulas of a web page as words: in TeX, where the page says it, else as their signs, in a line.

They stand there as MathML, or as pictures whose other text is TeX. What of it is hidden is not read.
"""

from __future__ import annotations

import re

from lxml.html import HtmlElement

from deep_research.patterns import regex
from deep_research.sources.extract.hiding import is_hidden
from deep_research.sources.extract.plaintext import words

_PICTURE = regex(r"(?:^|[\s_-])(?:mwe-math|tex|latex|math|formula|equation)(?=$|[\s_-])", re.IGNORECASE)
_STYLE = regex(r"\A\{?\\(?:displaystyle|textstyle|scriptstyle)(?![a-zA-Z])\s*(.*?)\}?\Z", re.DOTALL)
_TEX = regex(r"[\\^_={}+<>|/()\d-]")
_PROSE = regex(r"(?:(?<![\\a-zA-Z])[A-Za-z]{3,}[\s,]+){4}")  # nobody sees what stands there: orders might
_MAX_FORMULA_CHARS = 2_000  # characters
_MAX_WORD_CHARS = 2  # letters of a formula that has no sign of one
_DEPTH = 40  # elements around a formula that may hide it
_SILENT = words("annotation annotation-xml mphantom maligngroup malignmark none mprescripts")
_BETWEEN = {"msup": "^", "msub": "_", "munder": "_", "mfrac": "/"}  # the two parts of such an element
_PARTING = {"mtable": "; ", "mtr": " "}


def tell_formulas(body: HtmlElement) -> None:
    """Puts words in the place of the formulas."""
    for math in list(body.iter("math")):
        if math.getparent() is not None and not any(
            map(is_hidden, [math, *list(math.iterancestors())[:_DEPTH]])
        ):
            _put(math, _tex(math) or _read(math))
    for picture in list(body.iter("img")):
        alt = _plain(picture.get("alt") or "")
        if _PICTURE.search((picture.get("class") or "")[:300]) and _is_formula(alt):
            _put(picture, alt)


def _put(element: HtmlElement, text: str) -> None:
    tail = element.tail
    element.clear()
    element.tag, element.text, element.tail = "span", text[:_MAX_FORMULA_CHARS], tail


def _is_formula(tex: str) -> bool:
    is_short = 0 < len(tex) <= _MAX_WORD_CHARS
    return is_short or (_TEX.search(tex) is not None and _PROSE.search(tex) is None)


def _tex(math: HtmlElement) -> str:
    """The TeX that stands beside the signs."""
    notes = (
        note.text or "" for note in math.iter("annotation") if "tex" in (note.get("encoding") or "").lower()
    )
    tex = _plain(next(notes, "") or math.get("alttext") or "")
    return tex if _is_formula(tex) else ""


def _plain(tex: str) -> str:
    """TeX in a line, without how large it is set."""
    line = " ".join(tex[: 2 * _MAX_FORMULA_CHARS].split())
    match = _STYLE.match(line)
    return match[1].strip() if match and line.startswith("{") == line.endswith("}") else line


def _read(element: HtmlElement) -> str:
    """The signs. A power or fraction whose parts ran together would be another number."""
    name = str(element.tag).rpartition(":")[2]
    if name in _SILENT:
        return ""
    if name in ("mspace", "mtext"):
        return f" {' '.join((element.text or '').split())} "
    parts = [_read(part) for part in element if isinstance(part.tag, str) and not is_hidden(part)]
    if name == "mfrac" and (element.get("linethickness") or "").startswith("0"):
        return " over ".join(parts)  # no line between them
    if name in _BETWEEN and len(parts) == 2:
        return _BETWEEN[name].join(map(_grouped, parts))
    if name == "mroot" and len(parts) == 2:
        return f"{_grouped(parts[0])}^(1/{parts[1]})"
    if name in ("msubsup", "munderover") and len(parts) == 3:
        return f"{parts[0]}_{_grouped(parts[1])}^{_grouped(parts[2])}"
    body = _PARTING.get(name, "").join(parts)
    body = f"√{_grouped(body)}" if name == "msqrt" else body
    return " ".join(f"{element.text or ''}{body}".split())


def _grouped(part: str) -> str:
    part = part.strip()
    return part if len(part) < 2 or part.isalnum() else f"({part})"
