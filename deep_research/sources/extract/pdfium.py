"""PDFium, which opens PDF files: https://pdfium.googlesource.com. Native code, so it runs in a child process alone.

No two threads may be in it at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import byref, c_ushort, memmove
from functools import cache
from math import inf
from typing import Any, NamedTuple

from deep_research.sources.extract.box_font import box_font
from deep_research.sources.extract.pictures import Box, has_picture, is_covered
from deep_research.sources.extract.plaintext import UnreadableError

_EAST_ASIAN = (128, 129, 134, 136)  # FXFONT_SHIFTJIS_CHARSET, _HANGUL_, _GB2312_, _CHINESEBIG5_
_LOCKED = (4, 5)  # FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY
_MOST_SAID = 2_000  # characters of a title or name


@cache
def library() -> Any:
    """The library, ready."""
    import pypdfium2_raw.bindings as found

    found.FPDF_InitLibraryWithConfig(byref(found.FPDF_LIBRARY_CONFIG(version=2)))
    found.FPDF_SetSystemFontInfo(byref(_fonts(found)))
    return found


@cache
def _fonts(found: Any) -> Any:
    """What PDFium gets that asks for a font of the machine: its own, or boxes. No file is opened for it."""
    font = box_font()

    def data(_this: Any, _font: Any, table: int, place: Any, size: int) -> int:
        if table == 0 and place and size >= len(font):
            memmove(place, font, len(font))
        return 0 if table else len(font)

    kinds: dict[str, Any] = dict(found.FPDF_SYSFONTINFO._fields_)
    answers = {
        "MapFont": lambda _this, _weight, _italic, charset, *_: 1 if charset in _EAST_ASIAN else None,
        "GetFontData": data,
        "GetFont": lambda *_: None,
        "GetFaceName": lambda *_: 0,
        "GetFontCharset": lambda *_: 0,
        "DeleteFont": lambda *_: None,
    }
    told = {name: kinds[name](answer) for name, answer in answers.items()}
    return found.FPDF_SYSFONTINFO(version=1, **told)


class Sheet(NamedTuple):
    """A page: PDFium's text of it, None where that cannot be read, and what of it is shown."""

    text: Any
    shown: Box
    page: Any

    def is_picture(self) -> bool:
        """Whether pictures cover it, as those of a scanned page do."""
        return bool(self.page) and is_covered(library(), self.page, self.shown)


class File:
    """An open PDF of ``count`` pages."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self.count: int = library().FPDF_GetPageCount(handle)

    def said(self, name: str) -> str:
        """What the file says of itself by this name, such as Title."""
        told = (c_ushort * _MOST_SAID)()
        size = library().FPDF_GetMetaText(self._handle, name.encode(), told, 2 * _MOST_SAID)
        if not 2 < size <= 2 * _MOST_SAID:
            return ""
        return bytes(told)[: size - 2].decode("utf-16-le", "replace")

    def sheets(self) -> Iterator[Sheet]:
        """The pages. Each holds until the next is asked for."""
        for number in range(self.count):
            with self._page(number) as page:
                text = page and library().FPDFText_LoadPage(page)
                try:
                    yield Sheet(text or None, _shown(page), page)
                finally:
                    if text:
                        library().FPDFText_ClosePage(text)

    def has_pictures(self, most: int) -> bool:
        """Whether there is a picture on one of the first ``most`` pages."""
        for number in range(min(self.count, most)):
            with self._page(number) as page:
                if not page or has_picture(library(), page):
                    return True
        return False

    @contextmanager
    def _page(self, number: int) -> Iterator[Any]:
        page = library().FPDF_LoadPage(self._handle, number)
        try:
            yield page or None
        finally:
            if page:
                library().FPDF_ClosePage(page)


@contextmanager
def opened(raw: bytes) -> Iterator[File]:
    """Raises `UnreadableError`."""
    handle = library().FPDF_LoadMemDocument64(raw, len(raw), None)
    if not handle:
        locked = library().FPDF_GetLastError() in _LOCKED
        raise UnreadableError("encrypted; save it without a password" if locked else "a damaged PDF")
    try:
        yield File(handle)
    finally:
        library().FPDF_CloseDocument(handle)


def _shown(page: Any) -> Box:
    found = library().FS_RECTF()
    if page and library().FPDF_GetPageBoundingBox(page, byref(found)):
        return Box(found.left, found.bottom, found.right, found.top)
    return Box(-inf, -inf, inf, inf)  # nobody knows
