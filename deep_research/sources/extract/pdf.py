"""A PDF as text with the places where its pages begin, read by LiteParse: https://github.com/run-llama/liteparse.

LiteParse holds PDFium, which is native code, so it runs in a child process alone. It is asked for blocks: headings,
paragraphs, items, code and tables in the order in which they are read, without running heads and page numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from deep_research.sources.extract.document import Document, TooLongError, finished
from deep_research.sources.extract.formats import ExtractionRequest
from deep_research.sources.extract.pdf_blocks import (
    Paragraph,
    one_text,
    paragraphs,
    sane_author,
    sane_title,
    title_of,
    xmp_entry,
)
from deep_research.sources.extract.plaintext import UnreadableError

if TYPE_CHECKING:
    from liteparse.types import ParseBatch, ParsedPage

MAX_BYTES = 50_000_000
MAX_PAGES = 500
NO_READER = (
    "LiteParse, which reads PDFs, is not installed or not made for this machine; "
    "Word, web pages, Markdown, text, tables and JSON are still read"
)
_FEW_CHARS = 20  # letters a page, below which it may be a picture with a stamp on it
_WORDS = 0.75  # of the signs of a page: as many letters and figures at least has one of words
_PAGES_PER_BATCH = 100  # pages, among which running heads are looked for
_COVERED_SHARE = 0.5  # of the page: what a picture of its text covers at least
_NO_TEXT = "no text layer: its pages are pictures; run it through text recognition"
_NO_MAP = "its fonts do not say which letters they show; run it through text recognition"
_PICTURES = "pictures without a text layer; run it through text recognition"
_EITHER = f"pictures without a text layer, or {_NO_MAP}"
_MAX_BYTES_PER_BYTE = (
    2  # bytes for each byte of text there may be, as of drawn spaces and margins nothing stays
)
_MAX_NAMED = 6  # pages


class _Page(NamedTuple):
    """What was read of a page, and why it may be nothing, empty where it is whole."""

    paragraphs: list[Paragraph]
    lines: list[str]
    why: str = ""


def read(raw: bytes, asked: ExtractionRequest) -> Document:
    """Raises `UnreadableError`."""
    if len(raw) > MAX_BYTES:
        raise UnreadableError(f"a PDF of more than {MAX_BYTES:,} bytes", limit="size")
    pages: list[_Page] = []
    xmp, left = "", _MAX_BYTES_PER_BYTE * asked.max_text_bytes
    for batch in _batches(raw):
        if batch.total_pages > MAX_PAGES:
            raise UnreadableError(f"a PDF of more than {MAX_PAGES} pages", limit="size")
        by_number = {page.page_num: page for page in batch.result.pages}
        left -= sum(len(page.text) for page in by_number.values())
        if left < 0:
            raise TooLongError(f"more than {asked.max_text_bytes:,} bytes of text")
        numbers = range(batch.start_page, batch.end_page + 1)
        pages += [_page(by_number[number]) if number in by_number else _Page([], []) for number in numbers]
        xmp = xmp or (batch.result.doc_meta and batch.result.doc_meta.xmp) or ""
    texts = [page.paragraphs for page in pages]
    if not any(texts) and any(page.why == _NO_MAP for page in pages):
        raise UnreadableError(_NO_MAP)
    if not any(texts):  # the whole of a short text may stand where running heads do
        texts = [[Paragraph(line) for line in page.lines] for page in pages]
    if not any(texts) or all(page.why == _PICTURES for page in pages):
        raise UnreadableError(_NO_TEXT)
    text, starts = one_text(texts)
    title, author = xmp_entry(xmp, "title"), xmp_entry(xmp, "creator")
    # The day that a file says is the one on which it was made, which of an old report says nothing.
    return finished(
        raw,
        asked.name,
        title=sane_title(title) or title_of(texts[0], pages[0].lines),
        text=text,
        author=sane_author(author),
        pages=starts,
        unread=_unread(pages),
        max_text_bytes=asked.max_text_bytes,
    )


def _batches(raw: bytes) -> Iterator[ParseBatch]:
    """The pages, so many at once that their memory is bounded."""
    try:
        from liteparse.parser import LiteParse
        from liteparse.types import ParseError
    except (ImportError, OSError) as error:
        raise UnreadableError(NO_READER) from error
    parser = LiteParse(
        ocr_enabled=False,
        num_workers=1,
        max_pages=MAX_PAGES,
        continue_on_page_error=True,
        quiet=True,
        image_mode="off",
        extract_links=False,
        extract_blocks=True,
        emit_word_boxes=True,
        extract_document_metadata=True,
        include_complexity=True,
    )
    try:
        yield from parser.parse_batches(raw[max(0, raw.find(b"%PDF-")) :], _PAGES_PER_BATCH)
    except ParseError as error:
        if isinstance(error.__cause__, MemoryError):
            raise error.__cause__ from error
        is_locked = "password" in str(error) or "security" in str(error)
        raise UnreadableError(
            "encrypted; save it without a password" if is_locked else "a damaged PDF"
        ) from error


def _page(page: ParsedPage) -> _Page:
    if _is_lost(page):
        return _Page([], [], _NO_MAP)
    lines = [line.strip() for line in page.text.splitlines() if line.strip()]
    return _Page(paragraphs(page), lines, _PICTURES if _is_picture(page) else "")


def _is_lost(page: ParsedPage) -> bool:
    """Whether nobody can read the letters of a page, as its fonts do not say which they are. LiteParse takes pages of
    codes and capitals for such; they are of letters and figures alone."""
    letters = _letters(page.text)
    is_garbled = page.complexity is not None and page.complexity.is_garbled
    unknown = page.text.count("\ufffd")
    signs = sum(map(len, page.text.split()))
    return (is_garbled and letters < _WORDS * signs) or (unknown >= _FEW_CHARS and unknown > letters)


def _is_picture(page: ParsedPage) -> bool:
    """Whether all that a page shows is a picture, as that of a scanned page is."""
    complexity = page.complexity
    if complexity is None or _letters("".join(block.text or "" for block in page.blocks or ())) >= _FEW_CHARS:
        return False
    return complexity.full_page_image or complexity.image_coverage >= _COVERED_SHARE


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))


def _unread(pages: Sequence[_Page]) -> str:
    whys = {number: page.why for number, page in enumerate(pages, 1) if page.why}
    why = _EITHER if len(set(whys.values())) > 1 else "".join(set(whys.values()))
    return f"{unread_pages([*whys], len(pages))}: {why}" if whys else ""


def unread_pages(numbers: Sequence[int], count: int) -> str:
    """The pages with these ``numbers``, counted from 1 and in order, of ``count``: ``page 3``, ``pages 3, 5 and 9``."""
    first, last = numbers[0], numbers[-1]
    if len(numbers) == 1:
        return f"page {first}"
    if last - first == len(numbers) - 1 > 1:
        return f"pages {first} to {last}"
    if len(numbers) > _MAX_NAMED:
        return f"{len(numbers)} of {count} pages"
    return f"pages {', '.join(map(str, numbers[:-1]))} and {last}"
