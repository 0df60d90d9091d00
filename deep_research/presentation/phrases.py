"""Numbers, sums and outside text in words, and texts cut, padded or folded to columns and set in tables."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from deep_research.escapes import without_escapes

COLUMNS, LINES = 80, 24  # of a terminal that nobody knows
_JOINERS = "\u200c\u200d"  # several scripts cannot be written without them


def clean(text: str) -> str:
    """Without escape sequences, control, bidirectional and invisible characters; lines and tabs stay."""
    text = without_escapes(text.replace("\r\n", "\n"))
    return "".join(c for c in text if c in "\n\t" or c in _JOINERS or not _acts(c))


def line(text: str) -> str:
    """Outside text as one clean line."""
    return " ".join(clean(text).split())


def _acts(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def in_bytes(number: int) -> str:
    """Bytes in the unit that reads best."""
    for unit, of in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= of:
            return f"{number / of:,.1f} {unit}"
    return f"{number} B"


def short_hash(content_hash: str) -> str:
    """As much of a hash as tells texts apart."""
    return content_hash.rpartition(":")[2][:12]


def dollars(amount: float | None) -> str:
    """Small sums to a hundredth of a cent."""
    if amount is None:
        return "unknown"
    fine = f"{amount:,.4f}"
    return f"${amount:,.2f}" if amount >= 10 or fine.endswith("00") else f"${fine}"


def with_full_stop(text: str) -> str:
    """With a full stop at its end, unless it has a mark there."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def moment(at: datetime) -> str:
    """A time to the minute, where the reader is."""
    return f"{at.astimezone():%Y-%m-%d %H:%M}"


# Columns


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


def table_with_texts(
    rows: Sequence[Sequence[str]], texts: Iterable[Iterable[str]], columns: int, indent: str = " " * 4
) -> Iterator[str]:
    """A table whose rows, but for the head, have ``texts`` below them, each on a line; nothing without rows."""
    head, *lines = table(rows, columns)
    if lines:
        yield head
    for line, below in zip(lines, texts, strict=True):
        yield line
        yield from (clip(f"{indent}{words}", columns) for words in below if words)


def beside(name: str, lines: Iterable[str]) -> Iterator[str]:
    """Lines beside a padded name, which stands at the first of them."""
    for place, line in enumerate(lines):
        yield f"{' ' * width(name) if place else name}{line}".rstrip()
