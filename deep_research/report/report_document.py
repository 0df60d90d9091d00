"""A report as blocks: headings, paragraphs, items, tables, code and notices. Pure.

Agents write Markdown that refers to findings as ``[find-…]``. `Document.read` cuts it into blocks, which joined are the
same Markdown. What the engine adds to a report or changes in it is a change of blocks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from itertools import accumulate, pairwise

from deep_research.patterns import regex
from deep_research.report.references import Bare
from deep_research.state import Span
from deep_research.text import passages

_EMPTY_ITEM = regex(r"[ \t]*(?:[-*+]|\d{1,9}[.)])?[ \t]*")


class BlockKind(StrEnum):
    """``NOTICE`` is a line that the engine says of the report or the run."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    TABLE = "table"
    CODE = "code"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True)
class Block:
    """``markdown`` of one kind, and the white space that parts it from the next block (``gap``). ``level`` is that of a
    heading, 1 the highest. ``claim_ids`` name the claims that stand in it, in a finished report.

    Example:
        Block.heading(2, "Answer")  # Block(kind=<BlockKind.HEADING: 'heading'>, markdown='## Answer', level=2, …)
    """

    kind: BlockKind
    markdown: str
    level: int = 0
    gap: str = "\n\n"
    claim_ids: tuple[str, ...] = ()

    @classmethod
    def heading(cls, level: int, words: str) -> Block:
        return cls(BlockKind.HEADING, f"{'#' * level} {words}", level)

    @classmethod
    def paragraph(cls, words: str, cites: Iterable[str] = ()) -> Block:
        """``cites`` are ids of findings."""
        mark = ", ".join(cites)
        return cls(BlockKind.PARAGRAPH, f"{words} [{mark}]" if mark else words)

    @classmethod
    def items(cls, lines: Sequence[str]) -> Iterator[Block]:
        """A list."""
        for number, line in enumerate(lines, start=1):
            yield cls(BlockKind.ITEM, f"- {line}", gap="\n" if number < len(lines) else "\n\n")

    @classmethod
    def table(cls, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Block:
        """Rows of cells; a bar in a cell is escaped already."""
        lines = [columns, ["---"] * len(columns), *rows]
        return cls(BlockKind.TABLE, "\n".join(f"| {' | '.join(line)} |" for line in lines))

    @classmethod
    def notice(cls, words: str) -> Block:
        return cls(BlockKind.NOTICE, f"*{words}*")

    @property
    def title(self) -> str:
        """The words of a heading."""
        return self.markdown.strip("# \t")


@dataclass(frozen=True)
class Section:
    """The blocks from a heading of the second level to the next one. The first section of a report has no heading of that
    level; the report's title is in it."""

    blocks: tuple[Block, ...]

    @property
    def heading(self) -> str:
        first = self.blocks[0] if self.blocks else None
        return first.title if first and first.kind is BlockKind.HEADING and first.level == 2 else ""

    @property
    def markdown(self) -> str:
        return Document(self.blocks).markdown

    @property
    def body(self) -> str:
        """Its Markdown without its heading."""
        return Document(self.blocks[1:] if self.heading else self.blocks).markdown


@dataclass(frozen=True)
class Document:
    """The blocks of a report, in their order. ``before`` is the white space before the first one.

    Example:
        Document.read("# Towers\\n\\nThey are white.\\n").blocks[1].kind  # BlockKind.PARAGRAPH
    """

    blocks: tuple[Block, ...]
    before: str = field(default="", kw_only=True)

    @classmethod
    def read(cls, markdown: str) -> Document:
        """The document whose Markdown this is. References that stand alone on a line belong to the block above."""
        bare = Bare(markdown)
        first = len(markdown) - len(markdown.lstrip())
        read = list(passages.blocks(bare.text))
        starts = [first, *(bare.line_start(block.start) for block in read[1:])]
        kinds = [(_KINDS[block.kind], block.level) for block in read] or [(BlockKind.PARAGRAPH, 0)]
        pieces = (markdown[start:end] for start, end in pairwise([*starts, len(markdown)]))
        made = (
            Block(kind, piece.rstrip(), level, gap=piece[len(piece.rstrip()) :])
            for piece, (kind, level) in zip(pieces, kinds, strict=True)
        )
        return cls(tuple(made) if first < len(markdown) else (), before=markdown[:first])

    @classmethod
    def of(cls, blocks: Iterable[Block]) -> Document:
        """A document that ends with its last block."""
        every = list(blocks)
        every[-1:] = [replace(block, gap="") for block in every[-1:]]
        return cls(tuple(every))

    @cached_property
    def markdown(self) -> str:
        return self.before + "".join(f"{block.markdown}{block.gap}" for block in self.blocks)

    @property
    def headings(self) -> list[str]:
        """Those below the title."""
        return [each.title for each in self.blocks if each.kind is BlockKind.HEADING and each.level > 1]

    @property
    def sections(self) -> list[Section]:
        """Joined they are the document."""
        made: list[list[Block]] = [[]]
        for block in self.blocks:
            if block.kind is BlockKind.HEADING and block.level == 2:
                made.append([])
            made[-1].append(block)
        return [Section(tuple(each)) for each in made if each]

    def block_at(self, place: int) -> int:
        """The number of the block in which something stands, by its offset in the Markdown."""
        return max(0, bisect_right(self._starts, place) - 1)

    @cached_property
    def _starts(self) -> list[int]:
        sizes = (len(block.markdown) + len(block.gap) for block in self.blocks[:-1])
        return list(accumulate(sizes, initial=len(self.before)))

    def with_blocks(self, blocks: Iterable[Block]) -> Document:
        """The document with further blocks at its end."""
        more = tuple(blocks)
        if not (more and self.blocks):
            return replace(self, blocks=(*self.blocks, *more))
        *before, last = self.blocks
        return Document.of([*before, replace(last, gap="\n\n"), *more])

    def after_title(self, block: Block) -> Document:
        """The document with a further block behind its title, once."""
        if not self.blocks or any(block.markdown in each.markdown for each in self.blocks):
            return self
        first = self.blocks[0]
        place = int(first.kind is BlockKind.HEADING and first.level == 1)
        title = [replace(each, gap="\n\n") for each in self.blocks[:place]]
        return replace(self, blocks=(*title, block, *self.blocks[place:]))

    def rewritten(self, changes: Mapping[Span, str]) -> Document:
        """The document with other words in some places of its Markdown. Blocks of which nothing is left go, and so do
        headings that nothing stands under any more."""
        of_block: dict[int, list[Span]] = {}
        for place in sorted(changes, key=lambda place: place.start):
            of_block.setdefault(self.block_at(place.start), []).append(place)
        made: list[Block] = []
        for number, block in enumerate(self.blocks):
            if number not in of_block:
                made.append(block)
                continue
            at = self._starts[number]
            words = [(place.start - at, place.end - at, changes[place]) for place in of_block[number]]
            block = replace(block, markdown=_changed(block.markdown, words))
            if _EMPTY_ITEM.fullmatch(block.markdown) is None:
                made.append(block)
            elif made:
                made[-1] = replace(
                    made[-1], gap=max(made[-1].gap, block.gap, key=lambda gap: gap.count("\n"))
                )
        whole = replace(self, blocks=tuple(made))
        return whole._without_empty_headings() if "" in changes.values() else whole

    def _without_empty_headings(self) -> Document:
        kept: list[Block] = []  # from the last one on
        for block in reversed(self.blocks):
            is_heading = block.kind is BlockKind.HEADING and block.level > 1
            after = kept[-1] if kept else None
            follows = after is None or (after.kind is BlockKind.HEADING and after.level <= block.level)
            if not (is_heading and follows):
                kept.append(block)
        if kept and len(kept) < len(self.blocks):
            kept[0] = replace(kept[0], gap="")
        return replace(self, blocks=tuple(reversed(kept)))


_KINDS = {kind: BlockKind[kind.name] for kind in passages.BlockKind}


def _changed(markdown: str, changes: Iterable[tuple[int, int, str]]) -> str:
    """The text with other words from one place to another. With words that go, so does the space after them."""
    pieces, here = [], 0
    for start, end, words in changes:
        pieces += [markdown[here:start], words]
        here = end
        while not words and markdown[here : here + 1] in (" ", "\t"):
            here += 1
    return "".join((*pieces, markdown[here:]))
