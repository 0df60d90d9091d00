"""Cutting a text into passages, and a passage into sentences, by exact code-point offsets.

Both read the same light structure that the document readers write: ``# `` headings, ``- `` and ``1. `` list
items, rows with ``|``, fenced code, and paragraphs between blank lines (wrapped over lines or not). Nothing
is copied or changed: ``text[start:end]`` is the passage. All of it takes linear time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from deep_research.patterns import regex
from deep_research.state import Span
from deep_research.text.sentences import after_space, last_sentence_end, sentence_spans

TARGET_CHARS = 1200  # characters a passage is filled to
SMALL_PASSAGE_CHARS = 200  # a shorter rest joins the passage before it
SECTION_CHARS = 300  # a passage of this length ends where a new section begins; a shorter one takes it in
KEPT_WHOLE = 2 * TARGET_CHARS  # a table or a piece of code up to here is not cut
_STRETCH_CHARS = 65_536  # characters that are cut into lines at once
MAX_HEADING_CHARS = 200  # a longer line is a paragraph, whatever it begins with

_ITEM = regex(r"[ \t]*+(?:[-*+•]|\d{1,3}[.)])[ \t]++(?=\S)")  # a line that begins with "1911." is prose
_HEADING = regex(r"(#{1,6})[ \t]++(?=\S)")
_FENCE = regex(r"`{3,}|~{3,}")
_OPENERS = frozenset("#`~-*+•|0123456789")


class BlockKind(Enum):
    """What a block of a text is."""

    PARAGRAPH = auto()
    HEADING = auto()
    ITEM = auto()
    TABLE = auto()
    CODE = auto()


@dataclass(slots=True)
class Block:
    """``text[start:end]`` of one kind; ``level`` is that of a heading, 1 the highest."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0

    def sentences(self, text: str) -> Iterator[tuple[int, int]]:
        """Where its sentences begin and end, as `sentences` has them."""
        if self.kind is BlockKind.HEADING:
            return iter(((self.start, self.end),))
        if self.kind in (BlockKind.TABLE, BlockKind.CODE):
            return _lines(text, self.start, self.end)
        mark = _ITEM.match(text, self.start, self.end) if self.kind is BlockKind.ITEM else None
        return sentence_spans(text, mark.end() if mark else self.start, self.end)


@dataclass(frozen=True, slots=True)
class Passage:
    """``text[start:end]``, in code points, and the headings it stands under, outermost first, joined by `` /
    ``."""

    start: int
    end: int
    heading: str = ""

    @property
    def span(self) -> Span:
        return Span(start=self.start, end=self.end)


def passages(text: str) -> list[Passage]:
    """The passages of ``text`` in order, most of them of 600 to 1200 characters.

    Every non-blank character is in exactly one of them; none begins or ends with white space. Headings belong
    to what follows them. Paragraphs over the target are cut at sentence ends, long tables and code at line
    ends.
    """
    packer = _Packer()
    headings: dict[int, str] = {}
    for block in blocks(text):
        if block.kind is BlockKind.HEADING:
            headings = {level: title for level, title in headings.items() if level < block.level}
            headings[block.level] = text[block.start : block.end].strip("# \t")
            packer.open_section(block, " / ".join(headings[level] for level in sorted(headings)))
            continue
        for start, end in _pieces(text, block):
            packer.add(start, end)
    return packer.close()


def sentences(text: str, start: int = 0, end: int | None = None) -> list[Span]:
    """The sentences of ``text[start:end]`` in order, without the white space around them.

    A heading is one unit and keeps its ``#``, which tells it from a sentence; a list item loses its mark and
    is cut like a paragraph; a row of a table or a line of code is one unit; marks of fences are left out.
    """
    return [Span(start=a, end=b) for block in blocks(text, start, end) for a, b in block.sentences(text)]


class _Packer:
    """Joins blocks to passages: fills one up to the target, then begins the next."""

    def __init__(self) -> None:
        self._done: list[Passage] = []
        self._start = self._end = -1
        self._heading = ""  # of the passage being filled
        self._section = ""  # of what comes next
        self._has_body = False

    def open_section(self, block: Block, heading: str) -> None:
        too_long = self._start >= 0 and block.end - self._start > TARGET_CHARS
        if too_long or (self._has_body and self._end - self._start >= SECTION_CHARS):
            self._flush()
        self._section = heading
        self._take(block.start, block.end)

    def add(self, start: int, end: int) -> None:
        if self._has_body and end - self._start > TARGET_CHARS:
            self._flush()
        self._take(start, end)
        self._has_body = True

    def close(self) -> list[Passage]:
        self._flush()
        return self._done

    def _take(self, start: int, end: int) -> None:
        if self._start < 0:
            self._start, self._heading = start, self._section
        elif not self._has_body:
            self._heading = self._section
        self._end = end

    def _flush(self) -> None:
        if self._start < 0:
            return
        start, end = self._start, self._end
        before = self._done[-1] if self._done else None
        if (
            before
            and end - start < SMALL_PASSAGE_CHARS
            and before.heading == self._heading
            and end - before.start <= KEPT_WHOLE
        ):
            self._done[-1] = Passage(before.start, end, before.heading)
        else:
            self._done.append(Passage(start, end, self._heading))
        self._start, self._has_body = -1, False


def blocks(text: str, start: int = 0, end: int | None = None) -> Iterator[Block]:
    """The blocks of ``text[start:end]``, in one pass over its lines."""
    block: Block | None = None
    fence = ""
    after = start
    for line in _split(text, start, end):
        offset, after = after, after + len(line) + 1
        body = line.strip()
        if fence and block:
            if body:
                block.end = offset + len(line.rstrip())
            if body.startswith(fence) and not body.strip(fence[0]):
                yield block
                block, fence = None, ""
            continue
        if not body:
            if block:
                yield block
            block = None
            continue
        first = offset + len(line) - len(line.lstrip())
        kind, level = _classify(line, body)
        joins = block is not None and (
            (kind is BlockKind.PARAGRAPH and block.kind in (BlockKind.PARAGRAPH, BlockKind.ITEM))
            or (kind is BlockKind.TABLE and block.kind is BlockKind.TABLE)
        )
        if block and joins:
            block.end = first + len(body)
            continue
        if block:
            yield block
        block = Block(kind, first, first + len(body), level)
        if kind is BlockKind.HEADING:
            yield block
            block = None
        elif kind is BlockKind.CODE:
            opening = _FENCE.match(body)
            fence = opening.group() if opening else ""
    if block:
        yield block


def _split(text: str, start: int, end: int | None) -> Iterator[str]:
    """The lines of ``text[start:end]``, a stretch of them at a time: all lines of a long text at once would take thirty
    times its memory where each is of a sign or two."""
    end = len(text) if end is None else end
    while end - start > _STRETCH_CHARS and (cut := text.find("\n", start + _STRETCH_CHARS, end)) >= 0:
        yield from text[start:cut].split("\n")
        start = cut + 1
    yield from text[start:end].split("\n")


def _classify(line: str, body: str) -> tuple[BlockKind, int]:
    """What a non-blank line begins, and the level of a heading."""
    if body[0] in _OPENERS:
        if body[0] == "#" and len(body) <= MAX_HEADING_CHARS and (heading := _HEADING.match(body)):
            return BlockKind.HEADING, len(heading.group(1))
        if body[0] in "`~" and _FENCE.match(body) and body[0] not in body.lstrip(body[0]):
            return BlockKind.CODE, 0
        if body[0] == "|" and len(body) > 1:
            return BlockKind.TABLE, 0
        if _ITEM.match(line):
            return BlockKind.ITEM, 0
    return (BlockKind.TABLE if " | " in body else BlockKind.PARAGRAPH), 0


def _pieces(text: str, block: Block) -> Iterator[tuple[int, int]]:
    """The block itself, or its cuts when it is too long to be one passage: at a sentence's end (in a table or
    code at a line's end), else at white space, else where it must."""
    rigid = block.kind in (BlockKind.TABLE, BlockKind.CODE)
    here, end = block.start, block.end
    longest = KEPT_WHOLE if rigid else TARGET_CHARS
    while end - here > longest:
        longest = TARGET_CHARS
        middle, stop = here + TARGET_CHARS // 2, here + TARGET_CHARS
        cut = text.rfind("\n", middle, stop) if rigid else last_sentence_end(text, middle, stop)
        if cut < 0:
            cut = max(text.rfind(" ", middle, stop), text.rfind("\n", middle, stop))
        piece = text[here : cut if cut > here else stop]
        yield here, here + len(piece.rstrip())
        here = after_space(text, here + len(piece), end)
    if here < end:
        yield here, end


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The lines that hold a letter or digit and are no mark of a fence."""
    after = start
    for line in text[start:end].split("\n"):
        offset, after = after, after + len(line) + 1
        body = line.strip()
        if any(map(str.isalnum, body)) and not _FENCE.match(body):
            lead = len(line) - len(line.lstrip())
            yield offset + lead, offset + lead + len(body)
