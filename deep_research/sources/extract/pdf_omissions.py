"""Lines of a page that are in none of its blocks, put back where they stand. Pure.

LiteParse loses lines around links, of the names of columns all but the first, and columns of ruled tables. What stands
above or below all blocks it leaves out on purpose: a running head, or the number of the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from deep_research.evidence.plain import clean
from deep_research.evidence.sentences import END_MARKS
from deep_research.patterns import regex

if TYPE_CHECKING:
    from liteparse.types import AnnotationRect, LayoutBlock, LayoutCell, ParsedPage, TextItem

_BROKEN = regex(r"[^\W\d_]{2}[-\u2010\u00ad]\Z")
_SLACK = 1.0  # points by which letters reach out of their block
_MOST = 50_000  # pieces of text on a page times its blocks: of a thousand pages none had a tenth of it


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
    told = (item.text.strip() for item in items if cell.bbox and _is_within(item, cell.bbox))
    return cell if cell.text.strip() else replace(cell, text=" ".join(told))


def _letters(text: str) -> str:
    """What stays the same where lines are joined and words that were broken made whole."""
    return "".join(filter(str.isalnum, clean(text)))


def _left_out(page: ParsedPage, known: str) -> Iterator[list[TextItem]]:
    """What each line has outside of all blocks, where some of it has letters that they lack."""
    boxes = [block.bbox for block in page.blocks or () if block.bbox and block.kind != "rule"]
    if len(_letters(page.text)) <= len(known) or not boxes or len(boxes) * len(page.text_items) > _MOST:
        return
    top, bottom = min(box.y for box in boxes), max(map(_bottom, boxes))
    items = (item for item in page.text_items if item.text.strip() and top <= _middle(item) <= bottom)
    for _, line in groupby(items, key=lambda item: round(_middle(item))):
        outside = [item for item in line if not any(_is_within(item, box) for box in boxes)]
        if any(_letters(item.text) not in known for item in outside):
            yield sorted(outside, key=lambda item: item.x)


def _put_in(blocks: list[LayoutBlock], line: Sequence[TextItem]) -> None:
    """Puts a line behind the last block above it, which goes on with it if it has no end yet. It is made one with what
    stands beside it. Pieces with room between them are cells, and the names of a table below that has as many."""
    first, end, some = line[0], line[-1].x + line[-1].width, next(block for block in blocks if block.bbox)
    place = some.bbox and replace(some.bbox, x=first.x, y=first.y, width=end - first.x, height=first.height)
    pieces: list[tuple[TextItem | AnnotationRect, str]] = [(item, item.text.strip()) for item in line]
    at = max((at for at, block in enumerate(blocks) if _is_near(block.bbox, line)), default=-1)
    box, said = (blocks[at].bbox, blocks[at].text) if at >= 0 else (None, None)
    if box and said and _is_beside(box, first):
        pieces = sorted([*pieces, (box, said)], key=lambda piece: piece[0].x)
        del blocks[at]
        at, said = at - 1, None
    texts = [text for _, text in pieces]
    gaps = [after.x - before.x - before.width for (before, _), (after, _) in pairwise(pieces)]
    is_row = min(gaps, default=0) > first.height
    is_open = not is_row and said and blocks[at].kind != "heading" and said[-1] not in END_MARKS
    below = blocks[at + 1] if at + 1 < len(blocks) else some
    if is_row and not below.header and below.rows and len(below.rows[0]) == len(texts):
        names = [replace(cell, text=text) for cell, text in zip(below.rows[0], texts, strict=True)]
        blocks[at + 1] = replace(below, header=names)
    elif box and said and is_open and first.y - _bottom(box) < first.height:
        grown = replace(box, height=_bottom(first) - box.y)
        blocks[at] = replace(blocks[at], text=continued(said, " ".join(texts)), bbox=grown)
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
    return -_SLACK <= across <= box.width + _SLACK and -_SLACK <= down <= box.height + _SLACK


def _middle(box: TextItem | AnnotationRect) -> float:
    return box.y + box.height / 2


def _bottom(box: TextItem | AnnotationRect) -> float:
    return box.y + box.height
