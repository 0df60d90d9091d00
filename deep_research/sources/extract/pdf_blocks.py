"""The blocks that LiteParse finds on the pages of a PDF, as paragraphs of a text. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from deep_research.evidence.plain import clean
from deep_research.evidence.rows import NO_HEADER
from deep_research.evidence.sentences import END_MARKS, is_prose
from deep_research.patterns import regex
from deep_research.sources.extract.pdf_omissions import completed, continued
from deep_research.sources.extract.tables import written

if TYPE_CHECKING:
    from liteparse.types import LayoutBlock, ParsedPage

_ESCAPED = regex(r"\\([\\*_])|~~")  # in paragraphs and items, as for Markdown
_WHITE = regex(r"\s{2,}|\t")  # between the cells of what is set as a grid
_MOST_DEPTH = 5
_TURNED = 100  # characters: longer than headings
_FENCES = ("```", "~~~")


class Paragraph(NamedTuple):
    """A piece of a text and what it is: "heading", "item", "code", "table", or "" for prose."""

    text: str
    kind: str = ""


def paragraphs(page: ParsedPage) -> list[Paragraph]:
    text = "".join(each.text for each in _paragraphs(page.blocks or ()))
    return _paragraphs(completed(page, text))


def _paragraphs(blocks: Sequence[LayoutBlock]) -> list[Paragraph]:
    found: list[Paragraph] = []
    for block in blocks:
        for text, kind in _read(block):
            text = clean(text).strip("\n")
            if found and kind == "heading" and _is_last_line(text.lstrip("# "), found[-1]):
                found[-1] = Paragraph(continued(found[-1].text, text.lstrip("# ")))
            elif any(map(str.isalnum, text)):
                found.append(Paragraph(text, kind))
    return found


def _is_last_line(heading: str, before: Paragraph) -> bool:
    """Whether what looks like a heading is what a paragraph that has no end yet ends in."""
    is_open = not before.kind and is_prose(before.text) and before.text[-1] not in f"{END_MARKS}:"
    return is_open and heading.endswith(".") and not heading[:1].isupper()


def _read(block: LayoutBlock) -> Iterator[tuple[str, str]]:
    text, depth = block.text or "", min(block.level or 0, _MOST_DEPTH)
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
    return " ".join(_ESCAPED.sub(lambda found: found[1] or "", text).split())


def _table(rows: Sequence[list[str]], *, are_named: bool = False) -> str:
    """The rows without what is empty: rows, and columns of white between those that have cells."""
    rows = [row for row in rows if any(map(str.strip, row))]
    widest = max(map(len, rows), default=0)
    kept = [at for at in range(widest) if any(at < len(row) and row[at].strip() for row in rows)]
    cells = [[row[at] if at < len(row) else "" for at in kept] for row in rows]
    return "\n".join(written(cells, are_named=are_named))


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
