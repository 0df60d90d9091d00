"""What can be quoted of the sources: sentences, list items, rows of tables and pieces of code, each with where it stands.

Pure. A source is cut once, whatever is asked; only what a question needs of its words is read for a question. Offsets are
code points of the saved text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from deep_research.evidence import unspaced
from deep_research.evidence.passages import Block, BlockKind, blocks
from deep_research.evidence.rows import headers
from deep_research.evidence.sentences import at_marks, has_capitals
from deep_research.evidence.vocabulary import WORD
from deep_research.patterns import regex

STEP = " › "  # between the headings that a candidate stands under
LONGEST = 1_200  # characters of a candidate; what is longer is no sentence, and is cut
LABEL = 80  # characters of a line that names what the item below it describes
UNEVEN = 2  # characters by which an underline may be longer or shorter
# A line of text over a line of marks, which is how plain text writes a heading; not in fenced code.
_UNDERLINED = regex(
    r"^[ \t]*```.*?^[ \t]*```|^(?P<text>\S[^\n]{0,120})\n(?P<marks>={3,}|~{3,}|-{3,}|\^{3,}|\"{3,}|'{3,}|\+{3,})[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
_UNFINISHED = regex(r"[^.!?:;,\s]\s*\Z")


@dataclass(slots=True, eq=False)
class Candidate:
    """``text[start:end]`` of the document named ``document``, whose candidates it is the ``place``-th of, in its
    ``block``-th block; both count from 0."""

    document: str
    place: int
    block: int
    start: int
    end: int
    kind: BlockKind
    heading: str


@dataclass(slots=True)
class Part:
    """A block as it was cut: the places of its candidates, ``first`` to before ``last``, the headings over it, and where
    the header of its table stands. ``announced`` by the candidate before it is an item or a piece of code."""

    first: int
    last: int
    heading: str
    header: tuple[int, int] | None = None
    announced: bool = False


@dataclass
class Document:
    """A source as it was cut."""

    id: str
    title: str
    text: str
    candidates: list[Candidate] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)

    @cached_property
    def lowered(self) -> str:
        """The text in lower case with the same offsets."""
        low = self.text.lower()
        return (
            low
            if len(low) == len(self.text)
            else "".join(c if len(c.lower()) > 1 else c.lower() for c in self.text)
        )

    @cached_property
    def has_capitals(self) -> bool:
        """Whether names can be told by them."""
        return has_capitals(self.text)

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words in lower case, but for those of scripts without spaces."""
        low = self.lowered
        return frozenset(WORD.findall(unspaced.without(low) if unspaced.occur_in(low) else low))


def read_document(identity: str, title: str, text: str) -> Document:
    """A source with its candidates, in their order."""
    document = Document(identity, title, text)
    headings: dict[int, str] = {}
    for block in _structure(text):
        if block.kind is BlockKind.HEADING:
            headings = {level: one for level, one in headings.items() if level < block.level}
            headings[block.level] = text[block.start : block.end].strip("# \t¶").replace("›", ">")
        else:
            _read_block(document, block, STEP.join(headings[level] for level in sorted(headings)))
    return document


def _read_block(document: Document, block: Block, heading: str) -> None:
    text, every = document.text, document.candidates
    spans = [_code(text, block)] if block.kind is BlockKind.CODE else list(block.sentences(text))
    if block.kind in (BlockKind.PARAGRAPH, BlockKind.ITEM) and not document.has_capitals:
        spans = [piece for span in spans for piece in at_marks(text, *span)]
    header = None
    if block.kind is BlockKind.TABLE and len(spans) > 1 and headers(text, *spans[1]):
        header, *spans = spans  # names what stands in the others
    part = Part(len(every), 0, heading, header)
    if block.kind in (BlockKind.CODE, BlockKind.ITEM) and every:
        if block.kind is BlockKind.ITEM and spans and (label := _label(document, heading)) is not None:
            spans[0] = (label, spans[0][1])  # the term with its description
            part.first = len(every)
        part.announced = bool(every)
    number = len(document.parts)
    for start, end in (piece for span in spans for piece in _cut(*span)):
        every.append(Candidate(document.id, len(every), number, start, end, block.kind, heading))
    part.last = len(every)
    document.parts.append(part)


def _label(document: Document, heading: str) -> int | None:
    """Where the line begins that names what the next item describes; it is then no candidate of its own."""
    start = None
    while document.parts:
        part = document.parts[-1]
        c = document.candidates[-1] if part.last - part.first == 1 else None
        if (
            c is None
            or c.kind is not BlockKind.PARAGRAPH
            or part.heading != heading
            or c.end - c.start > LABEL
            or not _UNFINISHED.search(document.text, c.start, c.end)
        ):
            break
        start = c.start
        document.candidates.pop()
        document.parts.pop()
    return start


def _structure(text: str) -> Iterator[Block]:
    """The blocks of a text, whose headings may be underlined."""
    here = 0
    levels: dict[str, int] = {}
    for match in _UNDERLINED.finditer(text):
        title, marks = match["text"], match["marks"]
        if title and abs(len(title) - len(marks)) <= UNEVEN and any(map(str.isalnum, title)):
            yield from blocks(text, here, match.start())
            level = levels.setdefault(marks[0], len(levels) + 1)
            yield Block(BlockKind.HEADING, match.start("text"), match.end("text"), level)
            here = match.end()
    yield from blocks(text, here)


def _code(text: str, block: Block) -> tuple[int, int]:
    """All of a piece of code, or as many of its lines as are not too long."""
    if block.end - block.start <= LONGEST:
        return block.start, block.end
    end = text.rfind("\n", block.start, block.start + LONGEST)
    return block.start, end if end > block.start else block.start + LONGEST


def _cut(start: int, end: int) -> Iterable[tuple[int, int]]:
    for low in range(start, end, LONGEST):
        yield low, min(end, low + LONGEST)


class Pool:
    """The documents of a question together, in the order of their rank."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = documents
        self.named = {document.id: document for document in documents}
        self.places = {document.id: place for place, document in enumerate(documents)}
