"""Signs that Word documents draw in a font of signs or as a box that is ticked, as characters that all can read."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from deep_research.patterns import regex

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PRIVATE = 0xF000  # from which on many programs number the signs of such a font
_CODE = regex(r"[0-9A-Fa-f]{1,4}\Z")
OFF = ("0", "false", "off")
_TICKED, _EMPTY = "☒", "☐"  # as Word itself writes those of its newer forms
_FONTS = {  # by their names, the signs by their numbers
    font: {int(code, 16) + at: sign for code, signs in rows.items() for at, sign in enumerate(signs)}
    for font, rows in tomllib.loads(
        Path(__file__).with_name("docx_signs.toml").read_text(encoding="utf-8")
    ).items()
}


def sign(element: Any) -> str:
    """What a ``w:sym`` draws; nothing where it is not known."""
    font = _FONTS.get((element.get(f"{W}font") or "").lower(), {})
    code = element.get(f"{W}char") or ""
    return font.get(int(code, 16) % _PRIVATE, "") if _CODE.match(code) else ""


def in_font(run: Any, text: str) -> str:
    """The text of a run, whose letters may stand for the signs of its font. Those that are not known stay."""
    fonts = run.find(f"{W}rPr/{W}rFonts")
    font = _FONTS.get((fonts.get(f"{W}ascii") or "").lower()) if fonts is not None else None
    return "".join(font.get(ord(letter) % _PRIVATE, letter) for letter in text) if font else text


def value(element: Any, path: str, usual: str = "") -> str:
    """What an element below says, ``usual`` where it is there and says nothing: ``value(paragraph, "pPr/pStyle")``."""
    found = element.find("/".join(f"{W}{name}" for name in path.split("/")))
    return "" if found is None else str(found.get(f"{W}val", usual))


def ticked(box: Any) -> str:
    """A box of a form, as it was left, else as it was to begin with."""
    for name in ("checked", "default"):
        if said := value(box, name, "1"):
            return _EMPTY if said in OFF else _TICKED
    return _EMPTY
