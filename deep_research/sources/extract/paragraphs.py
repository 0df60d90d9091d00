"""Lines as they stand on a page made into paragraphs: broken words and sentences joined. Pure."""

from __future__ import annotations

import re

_HYPHEN = re.compile(r"[^\W\d_]{2,}[-‐]\Z")
_ITEM = re.compile(r"\s*(?:[•◦▪‣●–—*-]|\(?\d{1,2}[.)]|\(?[a-z][.)])\s+\S")
_BULLET = re.compile(r"\s*[•◦▪‣●]\s*")
_NUMBERED = re.compile(r"\d{1,2}(?:\.\d{1,2}){0,3}\.?\s+[A-Z]\S*(?:\s+\S+){0,9}\Z")
_COLUMNS = re.compile(r"\S(?:\s{3,}|\t)\S")
_ENDS = (".", "!", "?", ":", ";", "”", '"', ")", "]")
_COMPOUND = frozenset(
    ("self", "well", "non", "cross", "long", "short", "high", "low", "half", "three", "four")
)


def flowing(lines: list[str]) -> str:
    """The text of one page."""
    usual = _usual_width(lines)
    paragraphs: list[str] = []
    open_ = False
    last = ""
    for line in lines:
        text = line.strip()
        if not text:
            open_ = False
            continue
        text = _BULLET.sub("- ", text, count=1) if _BULLET.match(text) else text
        # What begins in capitals after a short line is seldom the same sentence.
        turned = (
            paragraphs and len(last) < usual * 0.7 and text[:1].isupper() and not last.endswith((",", "-"))
        )
        begins = not open_ or turned or _ITEM.match(text) or _is_row(line) or _is_heading(text, usual, last)
        if begins:
            paragraphs.append(_row(line) if _is_row(line) else text)
        else:
            paragraphs[-1] = _joined(paragraphs[-1], text)
        short = len(text) < usual * 0.75
        ended = text.endswith(_ENDS) and (short or bool(_ITEM.match(paragraphs[-1])))
        open_ = not (
            _is_row(line) or ended or _is_heading(text, usual, last) or (short and text[-1:].isdigit())
        )
        last = text
    return _spaced(paragraphs)


def _joined(before: str, text: str) -> str:
    if _HYPHEN.search(before) and text[:1].islower():
        start = before.rpartition(" ")[2].rstrip("-‐").lower()
        if start in _COMPOUND:
            return before + text
        return before[:-1] + text
    if before.endswith(("-", "‐", "/")) and not before.endswith((" -", " /")):
        return before + text
    return f"{before} {text}"


def _usual_width(lines: list[str]) -> int:
    widths = sorted(len(line.strip()) for line in lines if len(line.strip()) > 10)
    return widths[len(widths) * 3 // 4] if widths else 60


def _is_heading(text: str, usual: int, last: str) -> bool:
    """A short line that is numbered as headings are, or in capitals."""
    if len(text) > 90 or text.endswith((".", ",", ";", "-")):
        return False
    letters = sum(map(str.isalpha, text))
    capitals = text.isupper() and letters > 5 and letters > len(text) / 2
    return bool(_NUMBERED.match(text) and len(text) < usual * 0.9 and not last.endswith(",")) or capitals


def _is_row(line: str) -> bool:
    """A line with wide gaps, as tables have."""
    return bool(_COLUMNS.search(line.strip()))


def _row(line: str) -> str:
    return " | ".join(cell for cell in re.split(r"\s{3,}|\t", line.strip()) if cell)


def _spaced(paragraphs: list[str]) -> str:
    """Rows and items follow their like without a blank line."""
    parts: list[str] = []
    before = ""
    for text in paragraphs:
        kind = "row" if " | " in text else "item" if _ITEM.match(text) else ""
        if parts:
            parts.append("\n" if kind and kind == before else "\n\n")
        parts.append(text)
        before = kind
    return "".join(parts)
