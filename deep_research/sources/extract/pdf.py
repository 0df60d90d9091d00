"""A PDF as text with the places where its pages begin."""

from __future__ import annotations

import io
import re
from typing import Any

from deep_research.evidence.plain import clean
from deep_research.sources.extract.document import Document
from deep_research.sources.extract.drawings import contents_of, shows_text, take_away_drawings
from deep_research.sources.extract.finishing import finished
from deep_research.sources.extract.footnotes import without_footnotes
from deep_research.sources.extract.formats import Asked
from deep_research.sources.extract.gaps import Widths, marked_gaps
from deep_research.sources.extract.layout import as_they_lie, has_columns, is_shattered
from deep_research.sources.extract.listings import listing, parted
from deep_research.sources.extract.margins import without_margins
from deep_research.sources.extract.paging import Page, one_text
from deep_research.sources.extract.paragraphs import flowing, setting_of
from deep_research.sources.extract.plaintext import UnreadableError
from deep_research.sources.extract.tabular import with_rows
from deep_research.sources.extract.typeset import Line, Typesetting, typed, usual_size

MAX_BYTES = 50_000_000
MAX_PAGES = 500
_TOO_LITTLE = 20  # characters a page, below which it is a picture of a page with a stamp on it
_NAMELESS = r"^\(?(?:anonymous|unspecified|none)\)?$"
_NOT_A_TITLE = re.compile(
    rf"{_NAMELESS}|untitled|microsoft word|powerpoint"
    r"|\.(?:docx?|indd|tex|pdf|qx[dp]|pptx?|dvi|exe|wpd|rtf|xlsx?|p65|ps|txt|html?)\b|^\W*$"
    r"|^(?:title|document\d*|slide \d+)$|https?://",
    re.IGNORECASE,
)
_NOT_AN_AUTHOR = re.compile(
    rf"{_NAMELESS}|^(?:user|admin\w*|author|unknown|owner|root|\W*)$|\\|@|https?://", re.IGNORECASE
)


def read(raw: bytes, asked: Asked) -> Document:
    """Raises `UnreadableError`, and what pypdf raises of a damaged file."""
    import pypdf
    from pypdf.errors import LimitReachedError, PdfReadError

    if len(raw) > MAX_BYTES:
        raise UnreadableError(f"a PDF of more than {MAX_BYTES:,} bytes", limit="size")
    try:
        reader = pypdf.PdfReader(io.BytesIO(raw), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadableError("encrypted; save it without a password")
        count = len(reader.pages)
        if count > MAX_PAGES:
            raise UnreadableError(f"a PDF of more than {MAX_PAGES} pages", limit="size")
        widths: dict[int, tuple[Any, Widths]] = {}
        pages = [_lines(page, widths) for page in reader.pages]
        about = _metadata(reader)
    except LimitReachedError as error:
        raise UnreadableError("a PDF that unpacks to too much", limit="size") from error
    except pypdf.errors.DependencyError as error:
        raise UnreadableError("encrypted; save it without a password") from error
    except (PdfReadError, KeyError, ValueError, TypeError, AttributeError, IndexError, OSError) as error:
        raise UnreadableError("a damaged PDF") from error
    read_ = sum(sum(map(str.isalnum, line.text)) for page in pages for line in page)
    if not count or read_ < _TOO_LITTLE * min(count, 3):
        if read_ and not any(_has_images(page) for page in list(reader.pages)[:3]):
            pass  # a short text, but the whole of it
        else:
            raise UnreadableError("no text layer: its pages are pictures; run it through text recognition")
    pages = typed(without_margins(pages))
    usual = usual_size(line for page in pages for line in page)
    text, starts = one_text([_page(page, usual) for page in pages])
    title, author = about
    return finished(
        raw,
        asked.name,
        title=title or _first_line(text),
        text=text,
        author=author,
        pages=starts,
        max_text_bytes=asked.max_text_bytes,
    )


def _lines(page: Any, widths: dict[int, tuple[Any, Widths]]) -> list[Line]:
    """The lines of a page in the order of the file. Where that gives each cell of a table and each number of a list a
    line of its own, as they lie on the page."""
    contents = contents_of(page)
    if contents is None or not shows_text(contents):
        return []
    take_away_drawings(page)
    type_ = Typesetting()
    with marked_gaps(page, contents, widths):
        page.extract_text(visitor_text=type_, visitor_operand_after=type_.step)
    lines = type_.lines()
    if is_shattered([line.text for line in lines if not line.is_mono]):
        laid_out = as_they_lie(lines)
        if not has_columns(laid_out):
            return laid_out
    return lines


def _page(lines: list[Line], usual: float) -> Page:
    body, notes = without_footnotes(lines, usual)
    setting = setting_of(body)
    paragraphs: list[str] = []
    for is_code, run in parted(with_rows(body), setting.step):
        paragraphs += [listing(run)] if is_code else flowing(run, setting)
    return Page(tuple(map(clean, paragraphs)), tuple(map(clean, notes)))


def _has_images(page: Any) -> bool:
    try:
        return bool(page.images)
    except Exception:
        return True


def _metadata(reader: Any) -> tuple[str, str]:
    """The title and author that the file says, where they are sane: programs fill them with names of files and of
    themselves. The day it says is that on which the file was made, which of an old report says nothing."""
    try:
        said = reader.metadata
        if said is None:
            return "", ""
        title = " ".join(str(said.title or "").split())
        author = " ".join(str(said.author or "").split())
    except Exception:
        return "", ""
    if _NOT_A_TITLE.search(title) or not 3 < len(title) < 300:
        title = ""
    return title, "" if _NOT_AN_AUTHOR.search(author) else author


def _first_line(text: str) -> str:
    first = text.lstrip().partition("\n")[0].strip("# ")
    return first if 3 < len(first) <= 150 else ""
