"""The pictures on a page of a PDF, and whether they cover it, as those of scanned pages do."""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import byref
from math import isfinite
from typing import Any, NamedTuple

_DEEP = 4  # drawings within drawings that are searched for pictures
_MOST_LOOKED_AT = 2_000  # pieces of a page; scans come in strips, hundreds of them at most
_STEPS = 16  # the page is looked at as so many rows and columns of fields
_COVERED = 0.6  # of the fields
_WHOLE = (1 << _STEPS * _STEPS) - 1
_COLUMN = _WHOLE // ((1 << _STEPS) - 1)  # the first field of each row


class Box(NamedTuple):
    """A part of a page, in points."""

    left: float
    bottom: float
    right: float
    top: float


class _Matrix(NamedTuple):
    """How what is drawn lies on what it is drawn on."""

    a: float = 1.0
    b: float = 0.0
    c: float = 0.0
    d: float = 1.0
    e: float = 0.0
    f: float = 0.0

    def on(self, other: _Matrix) -> _Matrix:
        return _Matrix(
            self.a * other.a + self.b * other.c,
            self.a * other.b + self.b * other.d,
            self.c * other.a + self.d * other.c,
            self.c * other.b + self.d * other.d,
            self.e * other.a + self.f * other.c + other.e,
            self.e * other.b + self.f * other.d + other.f,
        )

    def square(self) -> Box:
        """Where a square of 1 lies, as which each picture is drawn."""
        across, up = (min(self.a, 0.0), max(self.a, 0.0)), (min(self.b, 0.0), max(self.b, 0.0))
        return Box(
            self.e + across[0] + min(self.c, 0.0),
            self.f + up[0] + min(self.d, 0.0),
            self.e + across[1] + max(self.c, 0.0),
            self.f + up[1] + max(self.d, 0.0),
        )


def has_picture(pdfium: Any, page: Any) -> bool:
    return any(True for _ in _pictures(pdfium, page))


def is_covered(pdfium: Any, page: Any, shown: Box) -> bool:
    """Whether pictures cover the most of what is shown of a page, one or many beside each other."""
    fields = 0
    for box in _pictures(pdfium, page):
        fields |= _fields(box, shown)
        if fields.bit_count() >= _COVERED * _STEPS * _STEPS:
            return True
    return False


def _fields(box: Box, shown: Box) -> int:
    """The fields of the page whose middle a picture covers, each a bit."""
    columns = _covered(box.left, box.right, shown.left, shown.right)
    rows = _covered(box.bottom, box.top, shown.bottom, shown.top)
    return (_COLUMN * ((1 << columns.stop) - (1 << columns.start))) & (
        (1 << _STEPS * rows.stop) - (1 << _STEPS * rows.start)
    )


def _covered(start: float, end: float, first: float, last: float) -> range:
    step = (last - first) / _STEPS
    if not (isfinite(step) and step > 0.0 and isfinite(start) and isfinite(end)):
        return range(0)
    told = (min(max(round((place - first) / step), 0), _STEPS) for place in (start, end))
    return range(*told)


def _pictures(pdfium: Any, page: Any) -> Iterator[Box]:
    """Those of drawings on the page too; of one without end, the first."""
    inner = pdfium.FPDFFormObj_CountObjects, pdfium.FPDFFormObj_GetObject
    holders = [(page, (pdfium.FPDFPage_CountObjects, pdfium.FPDFPage_GetObject), _Matrix(), _DEEP)]
    left = _MOST_LOOKED_AT
    while holders and left > 0:
        holder, (count, get), place, deep = holders.pop()
        several = min(count(holder), left)
        left -= several
        for at in range(several):
            piece = get(holder, at)
            kind = pdfium.FPDFPageObj_GetType(piece)
            if kind == pdfium.FPDF_PAGEOBJ_IMAGE:
                yield _place(pdfium, piece).on(place).square()
            elif kind == pdfium.FPDF_PAGEOBJ_FORM and deep:
                holders.append((piece, inner, _place(pdfium, piece).on(place), deep - 1))


def _place(pdfium: Any, piece: Any) -> _Matrix:
    matrix = pdfium.FS_MATRIX()
    if not pdfium.FPDFPageObj_GetMatrix(piece, byref(matrix)):
        return _Matrix()
    return _Matrix(matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f)
