"""The lines of a page of a PDF with what their type says: how large it is, where it stands, and whether all its letters
are of one width."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import hypot, isfinite
from typing import Any, NamedTuple

from deep_research.evidence.plain import clean
from deep_research.sources.extract.gaps import Mark

_MONO_NAME = re.compile(
    r"mono(?!type)|nimbusmon|courier|consol|menlo|typewriter|inconsolata|[a-z]tt\d|txtt|(?<!uni)(?<!bar)code",
    re.IGNORECASE,
)
_FIXED_PITCH = 1  # of a font's flags
_WIDTHS = 15  # of a font, from which on it is no accident that all are the same, as those of figures are
_MONO_SHARE = 0.9  # of a line's characters: words of code stand in lines of prose
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_EQUAL = 0.06  # of a gap, by which others may be wider
_USUAL_SHARE = 0.4  # of all characters, below which no size is the usual one, as in scanned pages


class Cell(NamedTuple):
    """A piece of a line between gaps, and where it begins and ends, in points."""

    text: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Line:
    """``size`` is that of most of its characters; it and the places of the line's ends, from the left and the bottom,
    are in points. A ``size`` of 0 says that nothing is known of its type. ``cells`` are those of a line with gaps;
    ``row`` is how a line of a table is written."""

    text: str
    size: float = 0.0
    left: float = 0.0
    base: float = 0.0
    is_mono: bool = False
    right: float = 0.0
    cells: tuple[Cell, ...] = ()
    row: str = ""


class _Run(NamedTuple):
    """What is set in one type in one line."""

    text: str
    size: float
    left: float
    base: float
    is_mono: bool
    gap: tuple[float, float] | None = None  # what stands there instead of a text: from where to where


_NOTHING = _Run("", 0.0, 0.0, 0.0, False)
_LETTER = 0.5  # of the size: how wide letters mostly are


class Typesetting:
    """Takes what pypdf finds on a page, run by run, when handed to it as the visitor of its text."""

    def __init__(self) -> None:
        self._lines: list[list[_Run]] = [[]]
        self._told = 0  # the last line with a text
        self._ends: dict[int, float] = {}
        self._fonts: dict[int, tuple[Any, bool]] = {}  # the font is held, or another could come by its number

    def __call__(self, text: str, outer: Any, matrix: Any, font: Any, size: float) -> None:
        if not text:
            return
        a, b, c, d, e, f = outer
        x, y = matrix[4], matrix[5]
        left, base = x * a + y * c + e, x * b + y * d + f
        along = matrix[0] * a + matrix[1] * c, matrix[0] * b + matrix[1] * d
        if along[1] or along[0] < 0.0:  # a line that does not run from left to right
            scale = hypot(*along) or 1.0
            left, base = (
                (left * along[0] + base * along[1]) / scale,
                (base * along[0] - left * along[1]) / scale,
            )
        run = (
            _sane(size * hypot(matrix[2] * a + matrix[3] * c, matrix[2] * b + matrix[3] * d)),
            _sane(left),
            _sane(base),
            self._is_mono(font),
        )
        first, *rest = text.split("\n") if "\n" in text else (text,)
        self._lines[-1].append(_Run(first, *run))
        if not first.isspace():
            self._told = len(self._lines) - 1
        self._lines += [[_Run(piece, *run)] for piece in rest]

    def step(self, operator: bytes, operands: Any, outer: Any, matrix: Any) -> None:
        """Takes the marks of `gaps` when handed to pypdf as the visitor after each step."""
        if type(operands) is Mark:
            if not operands.is_gap:
                self._ends[self._told] = _sane(operands.end)
                return
            self._lines[-1].append(_NOTHING._replace(gap=(_sane(operands.end), _sane(operands.start))))
            if operands.line_end:
                self._ends[len(self._lines) - 1] = _sane(operands.line_end)

    def lines(self) -> list[Line]:
        return [line for at, runs in enumerate(self._lines) for line in _lines(runs, self._ends.get(at))]

    def _is_mono(self, font: Any) -> bool:
        known = self._fonts.get(id(font))
        if known is None:
            known = self._fonts[id(font)] = (font, _is_mono(font))
        return known[1]


def typed(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """The lines of all pages without what their type does not tell: letters of one width where most of the text is in
    such, and sizes where there is no usual one."""
    every = [line for page in pages for line in page]
    mono = sum(len(line.text) for line in every if line.is_mono)
    has_mono = 0 < mono < 0.5 * sum(len(line.text) for line in every)
    has_sizes = usual_size(every) > 0.0
    if has_mono and has_sizes:
        return [list(page) for page in pages]
    return [
        [replace(line, size=line.size * has_sizes, is_mono=line.is_mono and has_mono) for line in page]
        for page in pages
    ]


def usual_size(lines: Iterable[Line]) -> float:
    """The size that most of the text is set in; 0 when there is none."""
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[line.size] += len(line.text)
    size, count = max(sizes.items(), key=lambda item: item[1], default=(0.0, 0))
    return size if count >= _USUAL_SHARE * sizes.total() else 0.0


def squeezed(text: str) -> str:
    return "".join(text.split())


def _lines(runs: list[_Run], end: float | None) -> Iterable[Line]:
    told = [run for run in runs if run.text and not run.text.isspace()]
    main = told[0] if told else _NOTHING
    if len(told) > 1:
        weights: Counter[float] = Counter()
        for run in told:
            weights[run.size] += len(run.text)
        size = max(weights, key=weights.__getitem__)
        main = next(run for run in told if run.size == size)
        main = main._replace(is_mono=_share_of_mono(told) >= _MONO_SHARE)
    left = next((run.left for run in runs if run.text), 0.0)
    cells = _cells(runs, end, main.size) if any(run.gap for run in runs) else ()
    if cells:
        text = " ".join(cell.text for cell in cells)
        yield Line(text, main.size, cells[0].start, main.base, main.is_mono, cells[-1].end, cells)
        return
    text = _plain(runs)
    for piece in text.split("\n"):
        right = left + _LETTER * main.size * len(piece) if end is None else end
        yield Line(piece.rstrip(), main.size, left, main.base, main.is_mono, right)


def _share_of_mono(runs: Iterable[_Run]) -> float:
    """Of the letters and digits, if there are any: signs may come from a font of signs."""
    counts = [(sum(map(str.isalnum, run.text)), len(run.text), run.is_mono) for run in runs]
    of = 0 if any(count[0] for count in counts) else 1
    return sum(count[of] for count in counts if count[2]) / sum(count[of] for count in counts)


def _plain(runs: Iterable[_Run]) -> str:
    # Some programs draw their bullets with the character that means "deleted".
    return clean("".join([run.text for run in runs]).replace("\x7f", "•"))


def _cells(runs: Sequence[_Run], end: float | None, size: float) -> tuple[Cell, ...]:
    """The cells of a line from left to right, in whatever order they were drawn; none where it has but one, or is
    written from right to left."""
    cells: list[Cell] = []
    piece: list[_Run] = []
    start = next((run.left for run in runs if run.text and not run.text.isspace()), 0.0)
    for run in [*runs, _NOTHING._replace(gap=(0.0, 0.0))]:
        if run.gap is None:
            piece.append(run)
            continue
        if text := " ".join(_plain(piece).split()):
            cells.append(Cell(text, start, run.gap[0]))
        start, piece = run.gap[1], []
    if len(cells) < 2 or _is_stretched(cells) or any(_RIGHT_TO_LEFT.search(cell.text) for cell in cells):
        return ()
    last = cells[-1]
    cells[-1] = last._replace(end=last.start + _LETTER * size * len(last.text) if end is None else end)
    return tuple(sorted(cells, key=lambda cell: cell.start))


def _is_stretched(cells: Sequence[Cell]) -> bool:
    """Whether it is a line of prose that was made as wide as the others, whose words are equally far apart."""
    gaps = [after.start - before.end for before, after in pairwise(cells)]
    told = sum(cell.text.islower() for cell in cells)
    return len(gaps) > 1 and max(gaps) - min(gaps) <= _EQUAL * min(map(abs, gaps)) and 3 * told >= len(cells)


def _sane(value: float) -> float:
    return round(value, 1) if isfinite(value) and abs(value) < 1e6 else 0.0


def _is_mono(font: Any) -> bool:
    try:
        inner = font["/DescendantFonts"][0].get_object() if "/DescendantFonts" in font else font
        if _MONO_NAME.search(str(font.get("/BaseFont"))):
            return True
        widths = [width for width in inner.get("/Widths", ()) if width]
        if len(widths) >= _WIDTHS and min(widths) == max(widths):
            return True
        return bool(int(inner["/FontDescriptor"]["/Flags"]) & _FIXED_PITCH)
    except Exception:  # a font that is damaged says nothing
        return False
