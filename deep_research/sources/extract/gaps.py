"""The gaps between the pieces of text on a page of a PDF, marked in its drawing before pypdf reads it: pypdf writes a
step to the next cell of a table as a space, if at all."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from math import hypot
from typing import Any

GAP = 0.9  # of the size: more than justified lines and the ends of sentences have
_SAME_LINE = 0.8  # of the size: what is raised or lowered by less stands in the same line, as for pypdf
_BACK = 0.4  # of the size, by which what is drawn left of the piece before may reach into it
_SHORT = 25  # times the size; where longer lines end is of no interest, as they are prose
_WIDE_STEP = -500.0  # thousandths of the size, back; steps that are less wide stay in the word or between two
_MANY_SHORT = 0.25  # of the lines of a page, from which on they may be cells
_CODES = 65_536
_USUAL_WIDTH = 500.0  # thousandths of the size
_AFTER_SPACE = re.compile(rb"(?<= )(?=[^ ])")
_STILL = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)

Matrix = tuple[float, float, float, float, float, float]
Operation = tuple[Any, bytes]


class Mark(list[float]):
    """A step that goes nowhere, at which pypdf hands out the text before it. ``end`` says where that ends and ``start``
    where what follows begins, in points along the line; ``is_gap`` whether both are of one line; ``line_end`` where the
    line of its last gap ends."""

    def __init__(self, end: float, start: float, is_gap: bool) -> None:
        super().__init__(_STILL)
        self.end, self.start, self.is_gap = end, start, is_gap
        self.line_end = 0.0


@contextmanager
def marked_gaps(page: Any, content: Any, widths: dict[int, tuple[Any, Widths]]) -> Iterator[None]:
    """Puts marks into the ``content`` of a page for as long as it is read. ``widths`` are those of the fonts that were
    met before."""
    from pypdf.generic import NameObject

    content.operations = _Pen(_fonts(page), widths).marked(content.operations)
    name = NameObject("/Contents")
    own = page.raw_get(name)
    page[name] = content
    try:
        yield
    finally:
        page[name] = own


class _Wide(dict[int, float]):
    default = _USUAL_WIDTH

    def __missing__(self, code: int) -> float:
        return self.default


class Widths:
    """How wide the letters of a font are, in thousandths of its size."""

    def __init__(self, font: Any) -> None:
        self._wide = _Wide()
        self.is_composite = False
        self._one = [_USUAL_WIDTH] * 256
        with suppress(Exception):  # a damaged font keeps the usual widths
            self._read(font)

    def of(self, text: bytes) -> float:
        if not self.is_composite:
            return sum(map(self._one.__getitem__, text))
        codes = struct.unpack(f">{len(text) // 2}H", text[: len(text) // 2 * 2])
        return sum(map(self._wide.__getitem__, codes))

    def _read(self, font: Any) -> None:
        if "/DescendantFonts" in font:
            self.is_composite = True
            inner = font["/DescendantFonts"][0].get_object()
            self._wide.default = float(inner.get("/DW", 1000))
            self._read_composite([value.get_object() for value in inner.get("/W", ())])
        elif "/Widths" in font:
            first = int(font.get("/FirstChar", 0))
            scale = 1000 * float(font["/FontMatrix"][0]) if "/FontMatrix" in font else 1.0
            for code, width in enumerate(font["/Widths"], first):
                if 0 <= code < 256:
                    self._one[code] = float(width.get_object()) * scale
        else:  # one of those that every program knows
            encoding = font.get("/Encoding", "")
            self._one = _known_widths(str(font["/BaseFont"]), encoding if isinstance(encoding, str) else "")

    def _read_composite(self, said: Sequence[Any]) -> None:
        at = 0
        while at + 1 < len(said):
            first, following = int(said[at]), said[at + 1]
            if isinstance(following, list):
                for code, width in enumerate(following, first):
                    self._wide[code] = float(width.get_object())
                at += 2
            else:
                for code in range(first, min(int(following) + 1, _CODES)):
                    self._wide[code] = float(said[at + 2])
                at += 3


_UNKNOWN = Widths({})


@lru_cache(maxsize=64)
def _known_widths(name: str, encoding: str) -> list[float]:
    from pypdf.generic import DictionaryObject, NameObject
    from pypdf.generic._font import Font

    said = {"/Subtype": "/Type1", "/BaseFont": name, "/Encoding": encoding or "/WinAnsiEncoding"}
    font = DictionaryObject({NameObject(key): NameObject(value) for key, value in said.items()})
    known = Font.from_font_resource(font).character_widths
    return [float(known.get(chr(code), _USUAL_WIDTH)) for code in range(256)]


class _Pen:
    """Goes over a page as a program that draws it would, as far as that tells where text stands."""

    def __init__(self, fonts: Any, widths: dict[int, tuple[Any, Widths]]) -> None:
        self._fonts = fonts
        self._known = widths
        self._outer: Matrix = _STILL
        self._kept: list[tuple[Matrix, Widths, float, float, float, float, float]] = []
        self._line: Matrix = _STILL
        self._along = 0.0  # from the beginning of the line, in its own measure
        self._leading = 0.0
        self._widths = _UNKNOWN
        self._size, self._between, self._words, self._stretch = 1.0, 0.0, 0.0, 1.0
        self._found: list[Operation] = []
        self._has_gaps = False
        self._lines = self._short = 0
        self._begun = 0.0  # where the line began
        self._gap: Mark | None = None  # the last one of the line
        # Where the piece before stands: start, end, base.
        self._last: tuple[float, float, float] | None = None
        self._does = {
            b"BT": self._begin,
            b"Tf": self._font,
            b"Td": self._move,
            b"TD": self._move_and_lead,
            b"Tm": self._place,
            b"T*": self._next_line,
            b"TL": self._lead,
            b"Tc": self._spread,
            b"Tw": self._spread_words,
            b"Tz": self._stretched,
            b"cm": self._turn,
            b"q": self._keep,
            b"Q": self._give_back,
        }

    def marked(self, operations: Sequence[Operation]) -> list[Operation]:
        for operation in operations:
            count = len(self._found)
            try:
                self._go_on(operation)
            except (
                TypeError,
                ValueError,
                IndexError,
                KeyError,
                ArithmeticError,
            ):  # a damaged step is passed over
                self._found[count:] = [operation]
        if self._has_gaps or self._short > _MANY_SHORT * self._lines:
            return self._found
        return [
            operation for operation in self._found if type(operation[0]) is not Mark
        ]  # each costs pypdf a step

    def _go_on(self, operation: Operation) -> None:
        operands, operator = operation
        if operator == b"TJ":
            self._show_pieces(operation)
            return
        if operator in (b"Tj", b"'", b'"'):
            if operator != b"Tj":
                self._next_line(operands)
            text = operands[-1]
            if isinstance(text, bytes):
                if operator == b"Tj" and self._parts(text):
                    self._show_pieces(([[text]], b"TJ"))
                    return
                if mark := self._mark(text):
                    self._found.append((mark, b"cm"))
        elif do := self._does.get(operator):
            do(operands)
        self._found.append(operation)

    def _show_pieces(self, operation: Operation) -> None:
        """A text in pieces with steps between them, parted where a step is wide."""
        operands, found = operation[0], self._found
        pieces = operands[0]
        texts: list[bytes] = []
        steps: list[float] = []
        for piece in pieces:
            (texts if isinstance(piece, bytes) else steps).append(
                piece
            )  # what is neither stops the sum below
        if self._words > GAP * self._size and any(map(self._parts, texts)):
            pieces = [part for piece in pieces for part in self._parts(piece) or (piece,)]
        elif texts and min(steps, default=0) > _WIDE_STEP:
            if mark := self._mark(b"".join(texts), sum(steps)):
                found.append((mark, b"cm"))
            found.append(operation)
            return
        begun = 0
        for at, piece in enumerate(pieces):
            if isinstance(piece, bytes):
                if mark := self._mark(piece):
                    if at > begun:
                        found.append(([_array(pieces[begun:at])], b"TJ"))
                    found.append((mark, b"cm"))
                    begun = at
            elif isinstance(piece, (int, float)):
                self._along -= piece / 1000 * self._size * self._stretch
        found.append(([_array(pieces[begun:])], b"TJ"))

    def _parts(self, piece: Any) -> list[Any]:
        """The words of a piece where each space between them is as wide as a gap; else none."""
        if self._words <= GAP * self._size or not isinstance(piece, bytes) or b" " not in piece.strip(b" "):
            return []
        return [_bytes(part) for part in _AFTER_SPACE.split(piece)]

    def _mark(self, text: bytes, back: float = 0.0) -> Mark | None:
        """The mark before a piece, if there is one; then the pen stands behind it. ``back`` are the thousandths of the
        size by which its letters are nearer to each other than usual."""
        size = self._size * self._stretch / 1000
        width = (self._widths.of(text) - back) * size + self._between * len(text) * self._stretch
        before = after = 0
        if b" " in text and not self._widths.is_composite:
            width += self._words * text.count(b" ") * self._stretch
            before, after = len(text) - len(text.lstrip(b" ")), len(text) - len(text.rstrip(b" "))
        begun, self._along = self._along, self._along + width
        if before == len(text):
            return None  # nothing but spaces
        if before or after:
            space = self._widths.of(b" ") * size + (self._between + self._words) * self._stretch
            begun += before * space
            width -= (before + after) * space
        start, base, scale = self._at(begun)
        return self._step(start, start + width * scale, base, self._size * scale)

    def _step(self, start: float, end: float, base: float, em: float) -> Mark | None:
        """The mark before what stands from ``start`` to ``end``, if it does not go on with what stands before."""
        last = self._last
        if last is None:
            self._last, self._begun = (start, end, base), start
            return None
        if abs(base - last[2]) > _SAME_LINE * em:
            short = last[1] - self._begun < _SHORT * em
            mark = Mark(last[1], start, False) if short else None
            self._lines += 1
            self._short += short
            if self._gap is not None:
                self._gap.line_end = last[1]
            self._last, self._begun, self._gap = (start, end, base), start, None
            return mark
        if start - last[1] > GAP * em or end < last[0] + _BACK * em:
            self._last = (start, end, base)
            self._gap = Mark(last[1], start, True)
            self._has_gaps = True
            return self._gap
        self._last = (min(last[0], start), max(last[1], end), last[2])
        return None

    def _at(self, along: float) -> tuple[float, float, float]:
        """A place in the line: along it and across it in points of the page, and how many of those its measure has."""
        a, b, _, _, e, f = _times(self._line, self._outer)
        scale = hypot(a, b)
        if b == 0.0 and a > 0.0:
            return e + along * a, f, a
        if scale == 0.0:
            return e, f, 1.0
        return (e * a + f * b) / scale + along * scale, (f * a - e * b) / scale, scale

    def _begin(self, _: Any) -> None:
        self._line, self._along = _STILL, 0.0

    def _font(self, operands: Any) -> None:
        font = self._fonts.get(operands[0]) if self._fonts is not None else None
        font = font.get_object() if font is not None else None
        known = self._known.get(id(font))
        if known is None:
            known = self._known[id(font)] = (font, _UNKNOWN if font is None else Widths(font))
        self._widths = known[1]
        self._size = abs(float(operands[1]))

    def _move(self, operands: Any) -> None:
        a, b, c, d, e, f = self._line
        x, y = operands[0], operands[1]
        self._line = (a, b, c, d, x * a + y * c + e, x * b + y * d + f)
        self._along = 0.0

    def _move_and_lead(self, operands: Any) -> None:
        self._leading = -operands[1]
        self._move(operands)

    def _place(self, operands: Any) -> None:
        a, b, c, d, e, f = operands
        self._line, self._along = (a, b, c, d, e, f), 0.0

    def _next_line(self, _: Any) -> None:
        self._move((0.0, -self._leading))

    def _lead(self, operands: Any) -> None:
        self._leading = float(operands[0])

    def _spread(self, operands: Any) -> None:
        self._between = float(operands[0])

    def _spread_words(self, operands: Any) -> None:
        self._words = float(operands[0])

    def _stretched(self, operands: Any) -> None:
        self._stretch = float(operands[0]) / 100

    def _turn(self, operands: Any) -> None:
        a, b, c, d, e, f = operands
        self._outer = _times((a, b, c, d, e, f), self._outer)

    def _keep(self, _: Any) -> None:
        self._kept.append((self._outer, self._widths, self._size, self._between, self._words, self._stretch,
                           self._leading))  # fmt: skip

    def _give_back(self, _: Any) -> None:
        (self._outer, self._widths, self._size, self._between, self._words, self._stretch,
         self._leading) = self._kept.pop()  # fmt: skip


def _times(m: Matrix, n: Matrix) -> Matrix:
    if n is _STILL:
        return m
    a, b, c, d, e, f = m
    g, h, i, j, k, o = n
    return a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + o


def _array(pieces: list[Any]) -> Any:
    from pypdf.generic import ArrayObject

    return ArrayObject(pieces)


def _bytes(text: bytes) -> Any:
    from pypdf.generic import ByteStringObject

    return ByteStringObject(text)


def _fonts(page: Any) -> Any:
    try:
        return page["/Resources"]["/Font"].get_object()
    except (KeyError, TypeError):
        return None
