"""Formulas of a Word document (Office Math) as they are written in a line: ``(a+b)/2``, ``x_1^2``, ``√(n)``. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deep_research.patterns import regex

M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
FORMULAS = frozenset((f"{M}oMath", f"{M}oMathPara"))
_TEXTS = (f"{M}t", f"{_W}t")
_RUNS = (f"{M}r", *_TEXTS)
_UNSAID = (f"{_W}del", f"{_W}moveFrom", f"{_W}instrText")
_ONE = regex(r"[-−+]?(?:[^\W_]+(?:[.,]\d+)?|[^\w\s])['′]*|\([^()]*\)")
_NO_MARK = "\u0302"  # the sign over a letter where none is said


def formula_text(element: Any) -> str:
    """What a formula or a piece of one says."""
    if element.tag in _TEXTS:
        return element.text or ""
    if not isinstance(element.tag, str) or element.tag.endswith("Pr") or element.tag in _UNSAID:
        return ""
    return _WRITTEN.get(element.tag.removeprefix(M), _inside)(element)


def _inside(element: Any) -> str:
    formula, last = "", ""
    for child in element:
        text = formula_text(child)
        # What stands behind a power or below a line would else be read as a part of it.
        is_apart = formula[-1:].isalnum() and text[:1].isalnum() and last not in _RUNS
        formula += f" {text}" if is_apart else text
        last = child.tag if text else last
    return formula


def _part(element: Any, name: str) -> str:
    part = element.find(f"{M}{name}")
    return "" if part is None else _inside(part).strip()


def _set(element: Any, name: str, usual: str) -> str:
    """What is set by this name, such as the sign of a sum."""
    setting = element.find(f"{element.tag}Pr/{M}{name}")
    return usual if setting is None else str(setting.get(f"{M}val", ""))


def _whole(text: str) -> str:
    """A piece as others can stand beside it: in brackets, if it is more than one letter or number."""
    return text if not text or _ONE.fullmatch(text) else f"({text})"


def _raised(element: Any) -> str:
    low, high = (_part(element, name) for name in ("sub", "sup"))
    return (f"_{_whole(low)}" if low else "") + (f"^{_whole(high)}" if high else "")


def _fraction(element: Any) -> str:
    above, below = _whole(_part(element, "num")), _whole(_part(element, "den"))
    # Without a bar it is no fraction: so many out of so many.
    return f"{above} over {below}" if _set(element, "type", "") == "noBar" else f"{above}/{below}"


def _root(element: Any) -> str:
    degree = _part(element, "deg")
    return f"√{f'[{degree}]' if degree else ''}({_part(element, 'e')})"


def _sum(element: Any) -> str:
    return f"{_set(element, 'chr', '∫')}{_raised(element)} {_part(element, 'e')}"


def _between(element: Any) -> str:
    inside = (_inside(part).strip() for part in element.findall(f"{M}e"))
    separator = _set(element, "sepChr", "|")
    return f"{_set(element, 'begChr', '(')}{separator.join(inside)}{_set(element, 'endChr', ')')}"


def _accent(element: Any) -> str:
    """A letter with a sign over it, which makes it another."""
    text, mark = _part(element, "e"), _set(element, "chr", _NO_MARK)
    return text + mark if len(text) == 1 else text


_WRITTEN: dict[str, Callable[[Any], str]] = {
    "f": _fraction,
    "sSup": lambda element: _whole(_part(element, "e")) + _raised(element),
    "sSub": lambda element: _whole(_part(element, "e")) + _raised(element),
    "sSubSup": lambda element: _whole(_part(element, "e")) + _raised(element),
    "rad": _root,
    "nary": _sum,
    "d": _between,
    "acc": _accent,
    "limLow": lambda element: f"{_part(element, 'e')}_{_whole(_part(element, 'lim'))}",
    "limUpp": lambda element: f"{_part(element, 'e')}^{_whole(_part(element, 'lim'))}",
    "oMathPara": lambda element: "\n".join(filter(None, (formula_text(each).strip() for each in element))),
}
