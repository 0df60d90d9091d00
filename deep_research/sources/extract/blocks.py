"""Writer of the light structure that readers of markup produce: headings, paragraphs, items, rows and code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from deep_research.patterns import regex
from deep_research.sources.extract.tables import in_one, line
from deep_research.text.rows import NO_HEADER

_MAX_LEVEL = 6
_INDENT = "  "
_WIDEST_CHARS = 4  # characters that the later lines of an item are set in
_RUN = regex(r"`{3,}")


@dataclass(slots=True)
class _Item:
    mark: str
    is_begun: bool = False


class Blocks:
    """The blocks of a text in order. A paragraph that is written while an item is open is in that item."""

    def __init__(self) -> None:
        self._words: list[str] = []  # of each block, without marks
        self._pieces: list[str] = []
        self._items: list[_Item] = []
        # The kind of the last block: items, rows and fields follow their like without a blank line.
        self._last = ""

    def __str__(self) -> str:
        return "".join(self._pieces).strip()

    def in_one(self) -> str:
        """All words in a line, as a cell has them."""
        return in_one(self._words)

    def heading(self, level: int, words: str) -> None:
        if words := " ".join(words.split()):
            self._write("", words, f"{'#' * min(level, _MAX_LEVEL)} {words}")

    def paragraph(self, words: str) -> None:
        """Its line ends stay: they are where its author broke a line."""
        lines = [each for each in (" ".join(each.split()) for each in words.split("\n")) if each]
        if not lines:
            return
        if not self._items:
            self._write("", "\n".join(lines), "\n".join(lines))
            return
        item, depth = self._items[-1], len(self._items) - 1
        margin = _INDENT * depth + " " * min(len(item.mark) + 1, _WIDEST_CHARS)
        first = margin if item.is_begun else f"{_INDENT * depth}{item.mark} "
        kind = "" if item.is_begun else "item"
        for each in self._items:
            each.is_begun = True
        numbered = f"{item.mark} " if kind and item.mark != "-" else ""
        self._write(kind, numbered + "\n".join(lines), first + f"\n{margin}".join(lines))

    def field(self, words: str) -> None:
        """A line of its own, such as one of several that say who wrote a text and when."""
        if words := " ".join(words.split()):
            self._write("field", words, words)

    def open_list(self) -> None:
        if not self._items:
            self._last = ""

    def open_item(self, mark: str) -> None:
        """``mark`` stands before its first paragraph."""
        self._items.append(_Item(mark))

    def close_item(self) -> None:
        if self._items:
            self._items.pop()

    def rows(self, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """A table. Without a ``header``, an empty row stands first: no fact is then the name of a column."""
        lines = [line(list(row)) for row in rows if any(map(str.strip, row))]
        if not lines and not any(header):
            return
        header_line = line(list(header)) if any(header) else NO_HEADER
        self._write("", " ".join((*header, *lines)), "\n".join((header_line, *lines)))

    def code(self, code: str, info: str = "") -> None:
        code = code.strip("\n").rstrip()
        if code.strip():
            # Longer than any row of marks in it, so that none of them ends it.
            fence = "`" * max(3, 1 + max(map(len, _RUN.findall(code)), default=0))
            self._write("", code, f"{fence}{info}\n{code}\n{fence}")

    def verbatim(self, text: str) -> None:
        """Blocks that another reader wrote."""
        if text.strip():
            self._write("", text, text)

    def _write(self, kind: str, words: str, block: str) -> None:
        self._words.append(words)
        self._pieces.append(("\n" if kind and kind == self._last else "\n\n") + block)
        self._last = kind
