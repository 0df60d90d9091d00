"""Text for terminals: cut, padded or folded to their columns, and in tables."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence
from typing import TextIO

COLUMNS, LINES = 80, 24


def width(text: str) -> int:
    """The columns that a clean text takes."""
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def clip(text: str, columns: int) -> str:
    """The text in at most so many columns, with … where it was cut."""
    if width(text) <= columns:
        return text
    characters, total = [], 0
    for character in text:
        total += _columns(character)
        if total >= columns:
            break
        characters.append(character)
    return f"{''.join(characters).rstrip()}…" if columns > 0 else ""


def pad(text: str, columns: int) -> str:
    """Exactly so many columns."""
    text = clip(text, columns)
    return text + " " * (columns - width(text))


def fold(text: str, columns: int, indent: str = "") -> list[str]:
    """One line folded at its spaces, further lines indented; a word that is too long for a line stays whole."""
    first, *words = text.split() or [""]
    lines = [text[: len(text) - len(text.lstrip())] + first]
    for word in words:
        if width(lines[-1]) + 1 + width(word) <= columns:
            lines[-1] += f" {word}"
        else:
            lines.append(indent + word)
    return lines


def table(rows: Sequence[Sequence[str]], columns: int) -> list[str]:
    """Rows in columns; the last one takes what is left and is cut there."""
    widths = [max(map(width, cells)) for cells in zip(*rows, strict=True)][:-1]
    lines = []
    for row in rows:
        lead = "".join(f"{pad(cell, size)}  " for cell, size in zip(row, widths, strict=False))
        lines.append((lead + clip(row[-1], max(8, columns - width(lead)))).rstrip())
    return lines


def figures(rows: Sequence[Sequence[str]], columns: int, *, names: int = 1) -> list[str]:
    """Rows of names, which stand at the left of their columns, and of figures, which stand at the right. The first
    column is cut where a line would be too long."""
    widths = [max(map(width, cells)) for cells in zip(*rows, strict=True)]
    widths[0] = min(widths[0], max(8, columns - sum(widths[1:]) - 2 * (len(widths) - 1)))
    return [
        "  ".join(
            pad(cell, size) if place < names else f"{' ' * (size - width(cell))}{cell}"
            for place, (cell, size) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def size(stream: TextIO) -> os.terminal_size:
    """Columns and lines of the terminal that a stream writes to; 80 by 24 when it is none.

    COLUMNS and LINES win, as they do for other programs.
    """
    try:
        real = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError, AttributeError):
        real = os.terminal_size((0, 0))
    return os.terminal_size(
        (_number("COLUMNS") or real.columns or COLUMNS, _number("LINES") or real.lines or LINES)
    )


def _number(variable: str) -> int:
    value = os.environ.get(variable, "")
    return int(value) if value.isdecimal() else 0
