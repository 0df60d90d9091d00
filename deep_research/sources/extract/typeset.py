"""The lines of a page of a PDF with what their type says: how large it is, where it stands, and whether all its letters
are of one width."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import hypot, isfinite
from typing import Any, NamedTuple

from deep_research.evidence.plain import clean

_MONO_NAME = re.compile(
    r"mono(?!type)|nimbusmon|courier|consol|menlo|typewriter|inconsolata|[a-z]tt\d|txtt|(?<!uni)(?<!bar)code",
    re.IGNORECASE,
)
_FIXED_PITCH = 1  # of a font's flags
_WIDTHS = 15  # of a font, from which on it is no accident that all are the same, as those of figures are
_MONO_SHARE = 0.9  # of a line's characters: words of code stand in lines of prose
_USUAL_SHARE = 0.4  # of all characters, below which no size is the usual one, as in scanned pages


@dataclass(frozen=True, slots=True)
class Line:
    """``size`` is that of most of its characters; it and the place of the line's beginning, from the left and the
    bottom, are in points. A ``size`` of 0 says that nothing is known of its type."""

    text: str
    size: float = 0.0
    left: float = 0.0
    base: float = 0.0
    is_mono: bool = False


class _Run(NamedTuple):
    """What is set in one type in one line."""

    text: str
    size: float
    left: float
    base: float
    is_mono: bool


_NOTHING = _Run("", 0.0, 0.0, 0.0, False)


class Typesetting:
    """Takes what pypdf finds on a page, run by run, when handed to it as the visitor of its text."""

    def __init__(self) -> None:
        self._lines: list[list[_Run]] = [[]]
        self._fonts: dict[int, tuple[Any, bool]] = {}  # the font is held, or another could come by its number

    def __call__(self, text: str, outer: Any, matrix: Any, font: Any, size: float) -> None:
        if not text:
            return
        a, b, c, d, e, f = outer
        x, y = matrix[4], matrix[5]
        run = (
            _sane(size * hypot(matrix[2] * a + matrix[3] * c, matrix[2] * b + matrix[3] * d)),
            _sane(x * a + y * c + e),
            _sane(x * b + y * d + f),
            self._is_mono(font),
        )
        first, *rest = text.split("\n") if "\n" in text else (text,)
        self._lines[-1].append(_Run(first, *run))
        self._lines += [[_Run(piece, *run)] for piece in rest]

    def lines(self) -> list[Line]:
        return [line for runs in self._lines for line in _lines(runs)]

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


def _lines(runs: list[_Run]) -> Iterable[Line]:
    # Some programs draw their bullets with the character that means "deleted".
    text = clean("".join([run.text for run in runs]).replace("\x7f", "•"))
    told = [run for run in runs if run.text and not run.text.isspace()]
    main = told[0] if told else _NOTHING
    if len(told) > 1:
        weights: Counter[float] = Counter()
        for run in told:
            weights[run.size] += len(run.text)
        size = max(weights, key=weights.__getitem__)
        main = next(run for run in told if run.size == size)
        mono = sum(len(run.text) for run in told if run.is_mono)
        main = main._replace(is_mono=mono >= _MONO_SHARE * weights.total())
    left = next((run.left for run in runs if run.text), 0.0)
    for piece in text.split("\n"):
        yield Line(piece.rstrip(), main.size, left, main.base, main.is_mono)


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
