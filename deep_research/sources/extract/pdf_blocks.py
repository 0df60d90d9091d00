"""The blocks that LiteParse finds on the pages of a PDF, as paragraphs of a text. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from deep_research.evidence.plain import clean
from deep_research.sources.extract.pdf_tables import Piece, continued, gutter, lines_of, pieces_of, tables_of
from deep_research.sources.extract.tables import NO_HEADER, written

if TYPE_CHECKING:
    from liteparse.types import LayoutBlock, ParsedPage

_ESCAPED = re.compile(r"\\([\\*_])|~~")  # in paragraphs and items, as for Markdown
_WHITE = re.compile(r"\s{2,}|\t")  # between the cells of what is set as a grid
_KINDS = ("heading", "paragraph", "list_item", "code", "table", "grid_fallback")
_TABLES = ("table", "grid_fallback")
_MOST_PAIRS = 2_000_000  # of pieces and blocks of a page that are compared
_MOST_DEPTH = 5
_MOST_INDENT = 80  # letters
_TURNED = 100  # characters: longer than headings
_APART = 0.3  # times its height: by how much more room a paragraph begins
_FENCES = ("```", "~~~")


class Paragraph(NamedTuple):
    """A piece of a text and what it is: "heading", "item", "code", "table", or "" for prose."""

    text: str
    kind: str = ""


def paragraphs(page: ParsedPage) -> list[Paragraph]:
    found = (Paragraph(clean(text).strip("\n"), kind) for text, kind in _arranged(page))
    return [each for each in found if any(map(str.isalnum, each.text))]


def _arranged(page: ParsedPage) -> Iterator[tuple[str, str]]:
    """The blocks in order; on a page with tables, each column of the page with its tables as they lie there."""
    blocks = [block for block in page.blocks or () if block.kind in _KINDS]
    pieces = [
        piece
        for item in page.text_items
        if not item.rotation and item.height > 0
        for piece in pieces_of(
            [
                Piece(word.x, word.y, word.x + word.width, word.y + word.height, word.text)
                for word in item.words
            ]
        )
    ]
    if len(pieces) * len(blocks) > _MOST_PAIRS:
        pieces = []
    if not pieces or not any(block.kind in _TABLES for block in blocks):
        for block in blocks:
            yield from _read(block, pieces)
    elif white := gutter(pieces):
        above, before, behind = _parted(blocks, white)
        for block in above:
            yield from _read(block, pieces)
        yield from _with_tables(before, [piece for piece in pieces if piece.left < white])
        yield from _with_tables(behind, [piece for piece in pieces if piece.left >= white])
    else:
        yield from _with_tables(blocks, pieces)


def _parted(
    blocks: Sequence[LayoutBlock], white: float
) -> tuple[list[LayoutBlock], list[LayoutBlock], list[LayoutBlock]]:
    """The blocks that reach over the white between two columns, those before and those behind it. A table that does
    is in both."""
    above: list[LayoutBlock] = []
    before: list[LayoutBlock] = []
    behind: list[LayoutBlock] = []
    for block in blocks:
        box = block.bbox
        begins = box is None or box.x < white
        ends = box is not None and box.x + box.width > white
        if begins and ends and block.kind not in _TABLES:
            above.append(block)
            continue
        if begins:
            before.append(block)
        if ends:
            behind.append(block)
    return above, before, behind


def _with_tables(blocks: Sequence[LayoutBlock], pieces: Sequence[Piece]) -> Iterator[tuple[str, str]]:
    """The blocks of a column from its top, but tables by how their pieces lie, and so what is woven into them."""
    inside = [
        piece for piece in pieces if any(_is_within(piece, block) for block in blocks if block.kind != "code")
    ]
    lines = lines_of(inside)
    tables = tables_of(lines)
    taken = {piece for table in tables for line in table.lines for piece in line}
    kept = [
        block
        for block in blocks
        if block.kind not in _TABLES and not any(_is_within(piece, block) for piece in taken)
    ]
    placed: list[tuple[float, list[tuple[str, str]]]] = [
        (block.bbox.y if block.bbox else 0.0, list(_read(block, pieces))) for block in kept
    ]
    placed += [(table.lines[0][0].top, [(_table(table.rows), "table")]) for table in tables]
    rest = [
        line
        for line in lines
        if not taken.intersection(line) and not any(_is_within(line[0], block) for block in kept)
    ]
    placed += [(top, [(text, "")]) for top, text in _flowing(rest)]
    for _, each in sorted(placed, key=lambda pair: pair[0]):
        yield from each


def _flowing(lines: Sequence[list[Piece]]) -> Iterator[tuple[float, str]]:
    """Paragraphs of lines, each with where it begins: farther below the line before than lines mostly are."""
    gaps = [below[0].top - above[0].bottom for above, below in pairwise(lines)]
    usual = sorted(gaps)[len(gaps) // 2] if gaps else 0.0
    begun = 0
    for at in range(1, len(lines) + 1):
        if at == len(lines) or gaps[at - 1] > usual + _APART * lines[at][0].height:
            text = ""
            for piece in (piece for line in lines[begun:at] for piece in line):
                text = continued(text, piece.text)
            yield lines[begun][0].top, text
            begun = at


def _is_within(piece: Piece, block: LayoutBlock) -> bool:
    box = block.bbox
    if box is None:
        return False
    x, y = (piece.left + piece.right) / 2, (piece.top + piece.bottom) / 2
    return box.x <= x <= box.x + box.width and box.y <= y <= box.y + box.height


def _read(block: LayoutBlock, pieces: Sequence[Piece]) -> Iterator[tuple[str, str]]:
    text, depth = block.text or "", min(block.level or 0, _MOST_DEPTH)
    if block.kind == "heading":
        yield f"{'#' * max(1, depth)} {' '.join(text.split())}", "heading"
    elif block.kind == "list_item":
        mark = block.marker if block.ordered and block.marker else "-"
        yield f"{'  ' * depth}{mark} {_prose(text)}", "item"
    elif block.kind == "paragraph":
        for part in _parts(_prose(text), _lines(block, pieces)):
            yield part, ""
    elif block.kind == "code":
        listing = "\n".join(_indented(block.lines or (), _lines(block, pieces)))
        fence = _FENCES[_FENCES[0] in listing]
        yield f"{fence}\n{listing}\n{fence}", "code"
    elif block.kind == "grid_fallback":
        yield _table([_WHITE.split(line.strip()) for line in block.lines or ()]), "table"
    elif block.kind == "table":
        rows = [block.header, *(block.rows or ())] if block.header else block.rows or ()
        yield _table([[cell.text for cell in row] for row in rows]), "table"


def _lines(block: LayoutBlock, pieces: Sequence[Piece]) -> list[list[Piece]]:
    return lines_of([piece for piece in pieces if _is_within(piece, block)])


def _parts(text: str, lines: Sequence[list[Piece]]) -> list[str]:
    """The paragraphs that LiteParse reads as one ``text``; itself where the lines are not those of the text, as where
    it goes on in the next column."""
    parts = [part for _, part in _flowing(lines)]
    return parts if len(parts) > 1 and _letters("".join(parts)) == _letters(text) else [text]


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def _indented(listing: Sequence[str], lines: Sequence[list[Piece]]) -> list[str]:
    """Lines of code as far in as they are drawn, which is not told with them."""
    if len(lines) != len(listing):
        return list(listing)
    edge = min(line[0].left for line in lines)
    widths = [(line[0].right - line[0].left) / len(line[0].text) for line in lines]
    return [
        " " * min(_MOST_INDENT, round((line[0].left - edge) / max(width, 1.0))) + text.strip()
        for text, line, width in zip(listing, lines, widths, strict=True)
    ]


def _prose(text: str) -> str:
    return " ".join(_ESCAPED.sub(lambda found: found[1] or "", text).split())


def _table(rows: Sequence[list[str]]) -> str:
    """The rows without what is empty: rows, and columns of white between those that have cells."""
    rows = [row for row in rows if any(map(str.strip, row))]
    widest = max(map(len, rows), default=0)
    kept = [at for at in range(widest) if any(at < len(row) and row[at].strip() for row in rows)]
    return "\n".join(written([[row[at] if at < len(row) else "" for at in kept] for row in rows]))


def one_text(pages: Sequence[Sequence[Paragraph]]) -> tuple[str, tuple[int, ...]]:
    """The text, and where in it each page begins: an empty one where the next does. A sentence or table that the end
    of a page breaks off goes on."""
    text: list[Paragraph] = []
    places: list[tuple[int, int]] = []  # a paragraph, and a place in it
    for page in pages:
        rest = list(page)
        place = (len(text), 0)
        if text and rest and (joined := _joined(text[-1], rest[0])):
            place = (len(text) - 1, len(joined) - len(rest[0].text))
            text[-1] = text[-1]._replace(text=joined)
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


def _joined(before: Paragraph, after: Paragraph) -> str:
    """Both in one, where a page's end stands between them; else nothing."""
    if before.kind == after.kind == "table" and after.text.startswith(NO_HEADER):
        return f"{before.text}\n{after.text[len(NO_HEADER) + 1 :]}"
    is_prose = before.kind in ("", "item") and not after.kind
    is_open = before.text[-1] not in ".!?:;" and (after.text[0].islower() or len(before.text) >= _TURNED)
    if not is_prose or not is_open or not after.text[0].isalpha():
        return ""
    return continued(before.text, after.text)


def _gap(before: Paragraph, after: Paragraph) -> str:
    return "\n" if before.kind == after.kind == "item" else "\n\n"
