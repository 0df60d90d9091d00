"""A PDF as text with the places where its pages begin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from deep_research.evidence.plain import clean
from deep_research.sources.extract.beside import as_blocks_lie
from deep_research.sources.extract.boxed import with_frame_in_place
from deep_research.sources.extract.columns import in_columns
from deep_research.sources.extract.compounds import with_compounds
from deep_research.sources.extract.contents import without_contents
from deep_research.sources.extract.document import Document
from deep_research.sources.extract.finishing import TooLongError, finished
from deep_research.sources.extract.footnotes import without_footnotes
from deep_research.sources.extract.formats import Asked
from deep_research.sources.extract.glyphs import Glyphs
from deep_research.sources.extract.headers import with_names
from deep_research.sources.extract.heads import with_heads_first
from deep_research.sources.extract.layout import has_columns, is_shattered, with_near_cells
from deep_research.sources.extract.listings import listing, parted
from deep_research.sources.extract.margins import without_margins
from deep_research.sources.extract.paging import Page, one_text
from deep_research.sources.extract.paragraphs import flowing, setting_of
from deep_research.sources.extract.pdfium import File, opened
from deep_research.sources.extract.plaintext import UnreadableError
from deep_research.sources.extract.stamps import without_stamps
from deep_research.sources.extract.tabular import with_rows
from deep_research.sources.extract.titling import sane_author, sane_title, title_of
from deep_research.sources.extract.typeset import Line, as_prose, sizes_tell, typed, usual_size
from deep_research.sources.extract.unread import unread_pages

MAX_BYTES = 50_000_000
MAX_PAGES = 500
_TOO_LITTLE = 20  # characters a page, below which it is a picture of a page with a stamp on it
_FEW = 200  # the same with what stands at its edges, as on the pages around it
_TITLE = 1.3  # times the usual size: above a picture of its own, what parts are called
_NO_TEXT = "no text layer: its pages are pictures; run it through text recognition"
_NO_MAP = "its fonts do not say which letters they show; run it through text recognition"
_PICTURES = "pictures without a text layer; run it through text recognition"
_EITHER = f"pictures without a text layer, or {_NO_MAP}"
_MOST = 2  # characters for each byte of text there may be, as of drawn spaces and margins nothing stays


class _Drawn(NamedTuple):
    """A page: its lines, how many letters there nobody can read, and whether it may be the picture of one."""

    lines: list[Line]
    unreadable: int
    is_picture: bool


def read(raw: bytes, asked: Asked) -> Document:
    """Raises `UnreadableError`."""
    if len(raw) > MAX_BYTES:
        raise UnreadableError(f"a PDF of more than {MAX_BYTES:,} bytes", limit="size")
    with opened(raw) as file:
        if file.count > MAX_PAGES:
            raise UnreadableError(f"a PDF of more than {MAX_PAGES} pages", limit="size")
        drawn = list(_pages(file, asked.max_text_bytes))
        pages = [page.lines for page in drawn]
        # The day it says is that on which the file was made, which of an old report says nothing.
        title, author = sane_title(file.said("Title")), sane_author(file.said("Author"))
        read_, lost = sum(map(_letters, pages)), list(map(_is_lost, drawn))
        # A short text may still be the whole of it.
        if read_ < _TOO_LITTLE * min(file.count, 3) and (not read_ or file.has_pictures(3)):
            raise UnreadableError(_NO_MAP if any(lost) else _NO_TEXT)
    if sum(map(_marks, pages)) > read_:
        raise UnreadableError(_NO_MAP)
    pages = without_margins([[] if _marks(page) > _letters(page) else page for page in pages])
    scanned = _scanned(drawn, pages)
    if all(scanned) and not any(pages):
        raise UnreadableError(_NO_TEXT)
    pages = with_compounds(list(map(without_contents, typed(pages))))
    every = [line for page in pages for line in page]
    usual, tell = usual_size(every), sizes_tell(every)
    text, starts = one_text([_page(page, usual, tell) for page in pages])
    return finished(
        raw,
        asked.name,
        title=title or title_of(pages, usual, tell, text),
        text=text,
        author=author,
        pages=starts,
        unread=_unread(lost, scanned),
        max_text_bytes=asked.max_text_bytes,
    )


def _pages(file: File, max_text_bytes: int) -> Iterator[_Drawn]:
    """The pages, their lines in the order of the file. Where that gives each cell of a table and each number of a list a
    line of its own, the lines are as they lie on the page."""
    left = _MOST * max_text_bytes
    for sheet in file.sheets():
        glyphs = Glyphs(sheet.text, sheet.shown)
        left -= len(glyphs)
        if left < 0:
            raise TooLongError(f"more than {max_text_bytes:,} bytes of text")
        lines = glyphs.lines()
        yield _Drawn(
            with_names(_in_order(lines)), glyphs.unreadable, _letters(lines) < _FEW and sheet.is_picture()
        )


def _letters(page: list[Line]) -> int:
    return sum(sum(map(str.isalnum, line.text)) for line in page)


def _marks(page: list[Line]) -> int:
    """How many letters in the lines of a page nobody can read, as the font does not say which they are."""
    return sum(line.text.count("\ufffd") for line in page)


def _is_lost(page: _Drawn) -> bool:
    """Whether nobody can read the most of a page. Lines without a letter are none; a few such signs are ornaments."""
    return page.unreadable >= _TOO_LITTLE and page.unreadable > _letters(page.lines)


def _scanned(drawn: Sequence[_Drawn], pages: Sequence[list[Line]]) -> list[bool]:
    """Of each page whether its text is a picture. ``pages`` are their lines without the margins."""
    usual = usual_size(line for page in pages for line in page)
    return [
        page.is_picture
        and _letters(lines) < _TOO_LITTLE
        and not any(line.size > _TITLE * usual > 0.0 for line in lines)
        for page, lines in zip(drawn, pages, strict=True)
    ]


def _unread(lost: Sequence[bool], scanned: Sequence[bool]) -> str:
    numbers = [number for number, page in enumerate(zip(lost, scanned, strict=True), 1) if any(page)]
    if not numbers:
        return ""
    why = _PICTURES if not any(lost) else _EITHER if any(scanned) else _NO_MAP
    return f"{unread_pages(numbers, len(lost))}: {why}"


def _in_order(lines: list[Line]) -> list[Line]:
    if has_columns(lines):
        return [line for block in in_columns(lines) for line in with_near_cells(block)]
    if is_shattered([line.text for line in lines if not line.is_mono]):
        laid_out = with_near_cells(as_blocks_lie(lines))
        if not has_columns(laid_out):
            return laid_out
    return with_near_cells(with_heads_first(with_frame_in_place(lines)))


def _page(lines: list[Line], usual: float, sizes_tell: bool) -> Page:
    upright, stamps = without_stamps(lines)
    body, notes = without_footnotes(upright, usual)
    told = with_rows(body)
    if not sizes_tell:
        body, told = [[replace(line, size=0.0) for line in each] for each in (body, told)]
    setting = setting_of(body)
    paragraphs: list[str] = []
    for is_code, run in parted(told, setting.step):
        paragraphs += [listing(run)] if is_code else flowing(list(map(as_prose, run)), setting)
    return Page(tuple(map(clean, paragraphs)), tuple(map(clean, [*notes, *stamps])))
