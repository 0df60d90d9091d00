"""Raised and lowered figures as characters that say so: ``10⁶`` and ``m²``, where ``106`` is another number. Pure."""

from __future__ import annotations

from deep_research.patterns import regex

LOOK_BACK = 50  # characters, in which it is looked for what is raised
_FIGURES = "0123456789+-−–n"
_FORMS = {"sup": ("^", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻ⁿ"), "sub": ("_", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋ₙ")}
_NUMBER = regex(r"[+\-−–]?\d{1,3}(?:[.,]\d{1,3})?[+\-−–]?|n")
# What may be raised to a power: a letter, a length or a sum in brackets; to one with a sign any unit.
_BASE = regex(r"(?:(?<![^\W\d_])(?:[^\W\d_]|[cdkmnµμ]m|ft|yd|mi)|\((?:(?![^\W\d_]{3})[^()]){1,40}\))\Z")
_UNIT = regex(r"(?<![^\W\d_])[^\W\d_]{1,3}\Z")


def exponent(before: str, said: str, kind: str) -> str:
    """What is raised (``sup``) or lowered (``sub``) behind a text; nothing where it is no number that belongs to it, as
    that of a note behind a word.

    Example:
        exponent("5 × 10", "6", "sup")  # "⁶"
    """
    said = said.strip()
    base = _BASE if said.isalnum() else _UNIT
    is_power = kind == "sup" and said != "1" and base.search(before[-LOOK_BACK:]) is not None
    if not _NUMBER.fullmatch(said) or not (before[-1:].isdigit() or is_power):
        return ""
    mark, forms = _FORMS[kind]
    if "." in said or "," in said:  # of which there is no raised form
        return f"{mark}{said}"
    return said.translate(str.maketrans(_FIGURES, forms))
