"""The blocks that LiteParse finds on the pages of a PDF, as paragraphs of a text, and which title and author a document's
fields and its first page name: programs fill in names of files, of machines and of themselves. Pure.

LiteParse loses lines around links, of the names of columns all but the first, and columns of ruled tables: they are put
back where they stand. What stands above or below all blocks it leaves out on purpose: a running head, or the number of
the page.
"""

from __future__ import annotations

import html
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate, groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from deep_research.patterns import regex
from deep_research.sources.extract.tables import table_lines
from deep_research.text.plain import clean
from deep_research.text.rows import NO_HEADER
from deep_research.text.sentences import END_MARKS, is_prose

if TYPE_CHECKING:
    from liteparse.types import AnnotationRect, LayoutBlock, LayoutCell, ParsedPage, TextItem

_BROKEN = regex(r"[^\W\d_]{2}[-\u2010\u00ad]\Z")
_SLACK_SIZE = 1.0  # points by which letters reach out of their block
_MAX_PIECES = 50_000  # pieces of text on a page times its blocks: of a thousand pages none had a tenth of it
_ESCAPED = regex(r"\\([\\*_])|~~")  # in paragraphs and items, as for Markdown
_WHITE = regex(r"\s{2,}|\t")  # between the cells of what is set as a grid
_MAX_DEPTH = 5
_TURNED_CHARS = 100  # characters: longer than headings
_FENCES = ("```", "~~~")
_FILE = Path(__file__).with_name("titling.toml")
_ENTRY = (
    "<(?:dc:{name})\\b[^>]{{0,200}}>(.{{0,4000}}?)</dc:{name}>"  # of the packet of metadata of a PDF (XMP)
)
_TAG = regex(r"<[^<>]{0,400}>")
_LOGIN = regex(r"(?<![^\W\d_])[^\W\d_]++\d{2,}")
_MIN_TITLE_CHARS, _MAX_TITLE_CHARS = 4, 300  # characters of a title
_MAX_LINE_CHARS = 150
_MAX_TOP_PARAGRAPHS = 8  # paragraphs of a page, among which its title stands
_COLUMNS = regex(r"\S\s{3,}\S")


def completed(page: ParsedPage, text: str) -> list[LayoutBlock]:
    """The blocks of a page, which say ``text``, and among them what they lack."""
    blocks = list(page.blocks or ())
    for table in [block for block in blocks if block.bbox and block.rows and not block.header]:
        _fill(table, blocks, page.text_items)
    for line in list(_left_out(page, _letters(text))):
        _put_in(blocks, line)
    return blocks


def continued(text: str, line: str) -> str:
    """A text and its next line: a word that was broken at the end is one again."""
    if _BROKEN.search(text) and line[:1].islower():
        return text[:-1] + line
    return f"{text} {line}".strip()


def _fill(table: LayoutBlock, blocks: list[LayoutBlock], items: Sequence[TextItem]) -> None:
    """Puts a paragraph that stands within a table into the empty cells that its pieces stand in."""
    for block in list(blocks):
        if block.kind == "paragraph" and block.bbox and table.bbox and _is_within(block.bbox, table.bbox):
            inside = [item for item in items if _is_within(item, block.bbox)]
            rows = [[_filled(cell, inside) for cell in row] for row in table.rows or ()]
            if _size(rows) - _size(table.rows or ()) == len(_letters(block.text or "")):
                blocks.remove(block)
                blocks[blocks.index(table)] = table = replace(table, rows=rows)


def _size(rows: Sequence[Sequence[LayoutCell]]) -> int:
    return len(_letters("".join(cell.text for row in rows for cell in row)))


def _filled(cell: LayoutCell, items: Sequence[TextItem]) -> LayoutCell:
    texts = (item.text.strip() for item in items if cell.bbox and _is_within(item, cell.bbox))
    return cell if cell.text.strip() else replace(cell, text=" ".join(texts))


def _letters(text: str) -> str:
    """What stays the same where lines are joined and words that were broken made whole."""
    return "".join(filter(str.isalnum, clean(text)))


def _left_out(page: ParsedPage, known_letters: str) -> Iterator[list[TextItem]]:
    """What each line has outside of all blocks, where some of it has letters that they lack."""
    boxes = [block.bbox for block in page.blocks or () if block.bbox and block.kind != "rule"]
    if (
        len(_letters(page.text)) <= len(known_letters)
        or not boxes
        or len(boxes) * len(page.text_items) > _MAX_PIECES
    ):
        return
    top, bottom = min(box.y for box in boxes), max(map(_bottom, boxes))
    items = (item for item in page.text_items if item.text.strip() and top <= _middle(item) <= bottom)
    for _, line in groupby(items, key=lambda item: round(_middle(item))):
        outside = [item for item in line if not any(_is_within(item, box) for box in boxes)]
        if any(_letters(item.text) not in known_letters for item in outside):
            yield sorted(outside, key=lambda item: item.x)


def _put_in(blocks: list[LayoutBlock], line: Sequence[TextItem]) -> None:
    """Puts a line behind the last block above it, which goes on with it if it has no end yet. It is made one with what
    stands beside it. Pieces with room between them are cells, and the names of a table below that has as many."""
    first, end, some = line[0], line[-1].x + line[-1].width, next(block for block in blocks if block.bbox)
    place = some.bbox and replace(some.bbox, x=first.x, y=first.y, width=end - first.x, height=first.height)
    pieces: list[tuple[TextItem | AnnotationRect, str]] = [(item, item.text.strip()) for item in line]
    at = max((at for at, block in enumerate(blocks) if _is_near(block.bbox, line)), default=-1)
    box, text_above = (blocks[at].bbox, blocks[at].text) if at >= 0 else (None, None)
    if box and text_above and _is_beside(box, first):
        pieces = sorted([*pieces, (box, text_above)], key=lambda piece: piece[0].x)
        del blocks[at]
        at, text_above = at - 1, None
    texts = [text for _, text in pieces]
    gaps = [after.x - before.x - before.width for (before, _), (after, _) in pairwise(pieces)]
    is_row = min(gaps, default=0) > first.height
    is_open = not is_row and text_above and blocks[at].kind != "heading" and text_above[-1] not in END_MARKS
    below = blocks[at + 1] if at + 1 < len(blocks) else some
    if is_row and not below.header and below.rows and len(below.rows[0]) == len(texts):
        names = [replace(cell, text=text) for cell, text in zip(below.rows[0], texts, strict=True)]
        blocks[at + 1] = replace(below, header=names)
    elif box and text_above and is_open and first.y - _bottom(box) < first.height:
        grown = replace(box, height=_bottom(first) - box.y)
        blocks[at] = replace(blocks[at], text=continued(text_above, " ".join(texts)), bbox=grown)
    else:
        block = replace(some, kind="grid_fallback" if is_row else "paragraph", lines=["\t".join(texts)])
        blocks.insert(at + 1, replace(block, text=" ".join(texts), bbox=place))


def _is_near(box: AnnotationRect | None, line: Sequence[TextItem]) -> bool:
    """Whether a block begins above a line, in its column, or beside it."""
    if box is None or box.y > _middle(line[0]):
        return False
    return _is_beside(box, line[0]) or (box.x < line[-1].x + line[-1].width and line[0].x < box.x + box.width)


def _is_beside(box: AnnotationRect, item: TextItem) -> bool:
    """Whether a block is a single line at the height of another piece of it."""
    return box.y <= _middle(item) <= _bottom(box) and box.height < 2 * item.height


def _is_within(item: TextItem | AnnotationRect, box: AnnotationRect) -> bool:
    across, down = item.x + item.width / 2 - box.x, _middle(item) - box.y
    return (
        -_SLACK_SIZE <= across <= box.width + _SLACK_SIZE and -_SLACK_SIZE <= down <= box.height + _SLACK_SIZE
    )


def _middle(box: TextItem | AnnotationRect) -> float:
    return box.y + box.height / 2


def _bottom(box: TextItem | AnnotationRect) -> float:
    return box.y + box.height


class Paragraph(NamedTuple):
    """A piece of a text and what it is: "heading", "item", "code", "table", or "" for prose."""

    text: str
    kind: str = ""


def paragraphs(page: ParsedPage) -> list[Paragraph]:
    text = "".join(each.text for each in _paragraphs(page.blocks or ()))
    return _paragraphs(completed(page, text))


def _paragraphs(blocks: Sequence[LayoutBlock]) -> list[Paragraph]:
    paragraphs: list[Paragraph] = []
    for block in blocks:
        for text, kind in _read(block):
            text = clean(text).strip("\n")
            if paragraphs and kind == "heading" and _is_last_line(text.lstrip("# "), paragraphs[-1]):
                paragraphs[-1] = Paragraph(continued(paragraphs[-1].text, text.lstrip("# ")))
            elif any(map(str.isalnum, text)):
                paragraphs.append(Paragraph(text, kind))
    return paragraphs


def _is_last_line(heading: str, before: Paragraph) -> bool:
    """Whether what looks like a heading is what a paragraph that has no end yet ends in."""
    is_open = not before.kind and is_prose(before.text) and before.text[-1] not in f"{END_MARKS}:"
    return is_open and heading.endswith(".") and not heading[:1].isupper()


def _read(block: LayoutBlock) -> Iterator[tuple[str, str]]:
    text, depth = block.text or "", min(block.level or 0, _MAX_DEPTH)
    if block.kind == "heading" and not is_prose(text):  # all text is larger than the small print of tables
        yield f"{'#' * max(1, depth)} {' '.join(text.split())}", "heading"
    elif block.kind == "list_item":
        mark = block.marker if block.ordered and block.marker else "-"
        yield f"{'  ' * depth}{mark} {_prose(text)}", "item"
    elif block.kind in ("heading", "paragraph"):
        yield _prose(text), ""
    elif block.kind == "code":
        listing = "\n".join(block.lines or ())
        fence = _FENCES[_FENCES[0] in listing]
        yield f"{fence}\n{listing}\n{fence}", "code"
    elif block.kind == "grid_fallback":
        yield _table([_WHITE.split(line.strip()) for line in block.lines or ()]), "table"
    elif block.kind == "table":
        rows = [block.header, *(block.rows or ())] if block.header else block.rows or ()
        yield _table([[cell.text for cell in row] for row in rows], are_named=bool(block.header)), "table"


def _prose(text: str) -> str:
    return " ".join(_ESCAPED.sub(lambda match: match[1] or "", text).split())


def _table(rows: Sequence[list[str]], *, are_named: bool = False) -> str:
    """The rows without what is empty: rows, and columns of white between those that have cells."""
    rows = [row for row in rows if any(map(str.strip, row))]
    widest = max(map(len, rows), default=0)
    columns = [at for at in range(widest) if any(at < len(row) and row[at].strip() for row in rows)]
    cells = [[row[at] if at < len(row) else "" for at in columns] for row in rows]
    return "\n".join(table_lines(cells, are_named=are_named))


def one_text(pages: Sequence[Sequence[Paragraph]]) -> tuple[str, tuple[int, ...]]:
    """The text, and where in it each page begins: an empty one where the next does. A sentence or table that the end
    of a page breaks off goes on."""
    text: list[Paragraph] = []
    places: list[tuple[int, int]] = []  # a paragraph, and a place in it
    for page in pages:
        rest = list(page)
        place = (len(text), 0)
        if text and rest and (whole := _join_across_pages(text[-1], rest[0])):
            place = (len(text) - 1, len(whole) - len(rest[0].text))
            text[-1] = text[-1]._replace(text=whole)
            del rest[0]
        places.append(place)
        text += rest
    gaps = ["", *(_gap(before, after) for before, after in pairwise(text))]
    pieces = [gap + each.text for gap, each in zip(gaps, text, strict=False)]
    ends = [0, *accumulate(map(len, pieces))]
    starts = [
        min(ends[-1], ends[at] + (len(gaps[at]) if at < len(text) else 0) + within) for at, within in places
    ]
    return "".join(pieces), tuple(starts)


def _join_across_pages(before: Paragraph, after: Paragraph) -> str:
    """Both in one, where a page's end stands between them; else nothing."""
    if before.kind == after.kind == "table" and after.text.startswith(NO_HEADER):
        return f"{before.text}\n{after.text[len(NO_HEADER) + 1 :]}"
    is_prose = before.kind in ("", "item") and not after.kind
    is_open = before.text[-1] not in ".!?:;" and (
        after.text[0].islower() or len(before.text) >= _TURNED_CHARS
    )
    if not is_prose or not is_open or not after.text[0].isalpha():
        return ""
    return continued(before.text, after.text)


def _gap(before: Paragraph, after: Paragraph) -> str:
    return "\n" if before.kind == after.kind == "item" else "\n\n"


@cache
def _none(what: str) -> re.Pattern[str]:
    return regex("|".join(tomllib.loads(_FILE.read_text(encoding="utf-8"))[what]), re.IGNORECASE)


def xmp_entry(xmp: str, name: str) -> str:
    entry = re.search(_ENTRY.format(name=name), xmp, re.DOTALL)
    values = (_TAG.sub("", value) for value in entry[1].split("</rdf:li>")) if entry else ()
    return "; ".join(html.unescape(" ".join(value.split())) for value in values if value.strip())


def sane_title(title: str) -> str:
    title = " ".join(title.split())
    is_none = (
        any(_none(what).search(title) for what in ("no_title", "part"))
        or not _MIN_TITLE_CHARS <= len(title) < _MAX_TITLE_CHARS
    )
    return "" if is_none else title


def sane_author(author: str) -> str:
    author = " ".join(author.split())
    is_login = " " not in author and (author[:1].islower() or _LOGIN.search(author))
    return "" if is_login or _none("no_author").search(author) else author


def title_of(paragraphs: Sequence[Paragraph], lines: Sequence[str]) -> str:
    """The title on the first page of a text: the first of its highest headings, if it stands near the top, else the
    first of the ``lines`` drawn there, if that may be one. What comes back there is a heading of its parts."""
    top = [each.text for each in paragraphs[:_MAX_TOP_PARAGRAPHS] if each.kind == "heading"]
    highest = min(top, key=lambda text: len(text) - len(text.lstrip("#")), default="")
    return sane_title(highest.lstrip("# ")) or _first(paragraphs, lines)


def _first(paragraphs: Sequence[Paragraph], lines: Sequence[str]) -> str:
    first = lines[0] if lines else ""
    whole = next((each.text for each in paragraphs if each.text.startswith(first)), first)
    is_broken = is_prose(whole) and whole[len(first) :].lstrip()[:1].islower()
    is_row = _COLUMNS.search(first) is not None
    is_text = is_row or is_broken or is_prose(first) or lines.count(first) > 1
    return "" if is_text or len(first) > _MAX_LINE_CHARS else sane_title(first)
