"""Signs that Word documents draw in a font of signs or as a box that is ticked, as characters that all can read."""

from __future__ import annotations

from typing import Any

from deep_research.patterns import regex

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PRIVATE = 0xF000  # from which on many programs number the signs of such a font
_CODE = regex(r"[0-9A-Fa-f]{1,4}\Z")
_TICKED, _EMPTY = "☒", "☐"  # as Word itself writes those of its newer forms
_WINGDINGS = {
    0x6C: "●", 0x6E: "■", 0x6F: "□", 0x71: "❑", 0x72: "❒", 0x78: "☒", 0xA7: "▪", 0xA8: "☐", 0xDF: "←", 0xE0: "→",
    0xE8: "→", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑",
}  # fmt: skip
_WINGDINGS_2 = {0x4F: "✗", 0x50: "✓", 0x51: "☒", 0x52: "☑", 0x53: "☒", 0x54: "☒", 0x97: "●", 0xA3: "☐"}
_SYMBOL = {
    **{0x41 + at: sign for at, sign in enumerate("ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ")},
    **{0x61 + at: sign for at, sign in enumerate("αβχδεφγηιϕκλμνοπθρστυϖωξψζ")},
    **{0xA1 + at: sign for at, sign in enumerate("ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…")},
    0x22: "∀", 0x24: "∃", 0x2D: "−", 0x40: "≅", 0x5C: "∴", 0x5E: "⊥", 0x7E: "∼", 0xC4: "⊗", 0xC5: "⊕", 0xC6: "∅",
    0xC7: "∩", 0xC8: "∪", 0xC9: "⊃", 0xCA: "⊇", 0xCC: "⊂", 0xCD: "⊆", 0xCE: "∈", 0xCF: "∉", 0xD0: "∠", 0xD1: "∇",
    0xD2: "®", 0xD3: "©", 0xD4: "™", 0xD5: "∏", 0xD6: "√", 0xD7: "⋅", 0xD8: "¬", 0xD9: "∧", 0xDA: "∨", 0xDB: "⇔",
    0xDC: "⇐", 0xDD: "⇑", 0xDE: "⇒", 0xDF: "⇓", 0xE5: "∑", 0xF2: "∫",
}  # fmt: skip
_FONTS = {"wingdings": _WINGDINGS, "wingdings 2": _WINGDINGS_2, "symbol": _SYMBOL}


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


def ticked(box: Any) -> str:
    """A box of a form, as it was left, else as it was to begin with."""
    for name in ("checked", "default"):
        said = box.find(f"{W}{name}")
        if said is not None:
            return _TICKED if said.get(f"{W}val", "1") not in ("0", "false", "off") else _EMPTY
    return _EMPTY
