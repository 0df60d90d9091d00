"""Candidates for quotes: sentences, list items, table rows and code, each with its place in the source.

Pure. A source is cut once, whatever is asked; only what a question needs of its words is read for a question. Offsets are
code points of the saved text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby, pairwise

from deep_research.patterns import regex
from deep_research.provenance.quotes import ANNOUNCING, LABELLED
from deep_research.text import unspaced
from deep_research.text.language import WORD
from deep_research.text.passages import Block, BlockKind, blocks
from deep_research.text.plain import lowered
from deep_research.text.rows import cell_spans, headers
from deep_research.text.sentences import ASKING_MARKS, CLOSING, at_marks, has_capitals, sentence_spans
from deep_research.text.words import identifiers

STEP = " › "  # between the headings that a candidate stands under
MAX_CANDIDATE_CHARS = 1_200  # characters of a candidate; what is longer is no sentence, and is cut
LABEL_CHARS = 80  # characters of a line that names what the item below it describes
PROSE_WORDS = 15  # words of a cell of a table, or of an answer, from which on it says something by itself
LINE = regex(r"[^\s\n][^\n]*")
_BEHIND_MARK = f"{CLOSING}*_)] \n\t"  # what may stand behind the mark of a question
UNEVEN_CHARS = 2  # characters by which an underline may be longer or shorter
# A line of text over a line of marks, which is how plain text writes a heading, or a number with up to three words on a
# line of their own above a text; not in fenced code.
_HEADING = regex(
    r"^[ \t]*```.*?^[ \t]*```"
    r"|^(?P<text>\S[^\n]{0,120})\n(?P<marks>={3,}|~{3,}|-{3,}|\^{3,}|\"{3,}|'{3,}|\+{3,})[ \t]*$"
    r"|^(?<![^\n]\n)(?P<title>(?:§ ?\d{1,3}[a-z]?[ \t]+[^\W\d_][^\n]{0,60}"
    r"|(?:\d{1,2}\.|\(\d{1,2}\)|[IVX]{1,5}\.)[ \t]+[^\W\d_]\S*(?:[ \t]+\S+){0,2})(?<=[^\s.,;:!?…]))"
    r"\n(?=(?![IVX]{1,5}\.)[^\W\d_a-zß-ÿ]|\d+\.\d|\")",
    re.MULTILINE | re.DOTALL,
)


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
    the header of its table stands. ``lead`` is the place of the candidate that leads to an item or a piece of code, as
    a list is announced: of an item that stands deeper the item above it. ``depth`` is how far its line is indented,
    ``mark`` that of an item. A ``is_named`` part is the cell of a table, whose last heading are its row and column."""

    first: int
    last: int
    heading: str
    header: tuple[int, int] | None = None
    lead: int | None = None
    depth: int = 0
    mark: str = ""
    is_named: bool = False


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
        return lowered(self.text)

    @cached_property
    def has_capitals(self) -> bool:
        """Whether names can be told by them."""
        return has_capitals(self.text)

    def announces(self, c: Candidate) -> bool:
        """Whether a candidate ends with a colon, and says what follows it."""
        return ANNOUNCING.search(self.text, c.start, c.end) is not None

    def is_of_list(self, block: int, other: int) -> bool:
        """Whether two blocks are items of one list, of which the second is one."""
        inside = 0 <= block < len(self.parts) and self.parts[block].mark != ""
        return inside and self.parts[block].lead == self.parts[other].lead

    @cached_property
    def identifiers(self) -> dict[str, str]:
        """Its words whose pieces begin with capitals, in lower case, each with its pieces told apart."""
        return identifiers(self.text)

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words in lower case, but for those of scripts without spaces."""
        low = self.lowered
        return frozenset(WORD.findall(unspaced.without(low) if unspaced.occur_in(low) else low))


def read_document(identity: str, title: str, text: str, *, whole_rows: bool = False) -> Document:
    """A source with its candidates, in their order. A row of a table with several cells of prose is cut into
    these, unless ``whole_rows`` are wanted."""
    document = Document(identity, title, text)
    above: tuple[int, int] | None = None  # the heading that a block stands right under
    placed = list(_placed(text))
    told = _told_apart((path for _, path in placed), title)
    for block, path in placed:
        if block.kind is BlockKind.HEADING:
            above = (block.end - len(text[block.start : block.end].lstrip("# \t")), block.end)
            continue
        if block.kind is BlockKind.TABLE:
            _read_table(document, block, told[path], whole_rows)
        else:
            _read_block(document, block, told[path], above)
        above = None
    return document


def _placed(text: str) -> Iterator[tuple[Block, tuple[str, ...]]]:
    """The blocks of a text, each with the headings over it, its own the last."""
    headings: dict[int, str] = {}
    path: tuple[str, ...] = ()
    for block in _structure(text):
        if block.kind is BlockKind.HEADING:
            headings = {level: one for level, one in headings.items() if level < block.level}
            headings[block.level] = text[block.start : block.end].strip("# \t¶").replace("›", ">")
            path = tuple(headings.values())
        yield block, path


def _told_apart(paths: Iterable[tuple[str, ...]], title: str) -> dict[tuple[str, ...], str]:
    """Each path of headings in one line. What its last heading is of is said with it where others have the same, as
    each film of a list has "People"; the ``title`` of the document goes without saying."""
    distinct = dict.fromkeys(paths)
    ends = Counter(path[place:] for path in distinct for place in range(len(path)))
    told: dict[tuple[str, ...], str] = {}
    for path in distinct:
        place = next((n for n in range(len(path) - 1, 0, -1) if ends[path[n:]] == 1), 0)
        *over, last = path[place:] or ("",)
        over = [each.rstrip(" .:?") for each in over if each != title]
        told[path] = STEP.join((*path[:place], ", ".join((*over, last))))
    return told


def _read_block(document: Document, block: Block, heading: str, above: tuple[int, int] | None) -> None:
    text, every = document.text, document.candidates
    spans = [_code(text, block)] if block.kind is BlockKind.CODE else list(block.sentences(text))
    if block.kind in (BlockKind.PARAGRAPH, BlockKind.ITEM) and not document.has_capitals:
        spans = [piece for span in spans for piece in at_marks(text, *span)]
    if block.kind is BlockKind.PARAGRAPH:
        spans = list(_lines_of_form(text, block.start, block.end)) or spans
    if block.kind is not BlockKind.CODE:
        spans = _with_answers(text, spans, above)
    part = Part(len(every), 0, heading, depth=block.start - text.rfind("\n", 0, block.start) - 1)
    if block.kind is BlockKind.ITEM:
        part.mark = "1" if text[block.start].isdigit() else "-"
    if block.kind in (BlockKind.CODE, BlockKind.ITEM) and every:
        part.lead = _lead(document, part)
    _add(document, part, block.kind, spans)


def _lines_of_form(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The lines of a paragraph that is none: of which each has a name and what it is ("Place: boathouse"), as of the
    head of a letter. What has no name goes on with the line above."""
    lines = list(LINE.finditer(text, start, end))
    named = [m.start() for m in lines if LABELLED.match(m.group())]
    if len(named) < 2 or named[0] != lines[0].start() or 2 * len(named) <= len(lines):
        return
    for low, high in pairwise([*named, end]):
        yield low, low + len(text[low:high].rstrip())


def _with_answers(
    text: str, spans: Sequence[tuple[int, int]], above: tuple[int, int] | None
) -> list[tuple[int, int]]:
    """Each question together with the sentence that answers it; a short one that stands right under a question with that
    heading."""
    if (
        above is not None
        and spans
        and asks(text, *above)
        and unspaced.size(text[slice(*spans[0])]) < PROSE_WORDS
    ):
        spans = [above, *spans]
    joined: list[tuple[int, int]] = []
    is_open = False
    for start, end in spans:
        is_asked = asks(text, start, end)
        joined[-1:] = [(joined[-1][0], end)] if is_open and not is_asked else [*joined[-1:], (start, end)]
        is_open = is_asked
    return joined


def _lead(document: Document, part: Part) -> int | None:
    """The place of what leads to a part: to code what stands before it, to an item what its list was announced by, or
    the item under which it stands. What stands deeper, as the rest of the item before, leads to no other one."""
    before = (each for each in reversed(document.parts) if not (part.mark and each.depth > part.depth))
    above = next(before, None)
    if above is None or above.heading != part.heading or above.first == above.last:
        return None
    if part.mark and above.mark and above.depth == part.depth:
        return above.lead if above.mark == part.mark else None  # another kind of marks, another list
    return above.last - 1


def _read_table(document: Document, block: Block, heading: str, whole_rows: bool) -> None:
    """Rows as they stand, of which ``whole_rows`` are wanted; else those with several cells of prose in pieces."""
    text, rows = document.text, list(block.sentences(document.text))
    header = None
    if len(rows) > 1 and headers(text, *rows[1]):
        header, *rows = rows  # names what stands in the others

    def is_cut(row: tuple[int, int]) -> bool:
        (start, end), *others = cell_spans(text, *row) or [(0, 0)]
        prose = sum(unspaced.size(text[slice(*cell)]) >= PROSE_WORDS for cell in others)
        return not whole_rows and 0 < end - start <= LABEL_CHARS and prose > 1

    for cut, run in groupby(rows, is_cut):
        if cut:
            for row in run:
                _read_cells(document, row, heading)
        else:
            part = Part(len(document.candidates), 0, heading, header)
            _add(document, part, BlockKind.TABLE, list(run))


def _read_cells(document: Document, row: tuple[int, int], heading: str) -> None:
    """The cells of a row as short sections, under the name of the row and that of their column."""
    text, (label, *cells) = document.text, cell_spans(document.text, *row)
    first = 1 + text.startswith("|", row[0])
    names = headers(text, *row)[first : first + len(cells)] or [""] * len(cells)
    for (start, end), name in zip(cells, names, strict=True):
        named = ", ".join(filter(None, (text[slice(*label)], name))).replace("›", ">")
        part = Part(len(document.candidates), 0, STEP.join(filter(None, (heading, named))), is_named=True)
        if start < end:
            _add(document, part, BlockKind.ITEM, sentence_spans(text, start, end))


def _add(document: Document, part: Part, kind: BlockKind, spans: Iterable[tuple[int, int]]) -> None:
    """A part with its candidates."""
    every, number = document.candidates, len(document.parts)
    for start, end in (piece for span in spans for piece in _cut(*span)):
        every.append(Candidate(document.id, len(every), number, start, end, kind, part.heading))
    part.last = len(every)
    document.parts.append(part)


def asks(text: str, start: int, end: int) -> bool:
    """Whether a sentence is a question."""
    return text[start:end].rstrip(_BEHIND_MARK)[-1:] in set(ASKING_MARKS)


def _structure(text: str) -> Iterator[Block]:
    """The blocks of a text, whose headings may be underlined or numbered."""
    here = 0
    levels: dict[str, int] = {}
    for match in _HEADING.finditer(text):
        underlined, marks = match["text"], match["marks"]
        is_even = underlined and abs(len(underlined) - len(marks)) <= UNEVEN_CHARS
        if match["title"] or (is_even and any(map(str.isalnum, underlined))):
            name = "title" if match["title"] else "text"
            yield from blocks(text, here, match.start())
            level = levels.setdefault(marks[0] if marks else name, len(levels) + 1)
            yield Block(BlockKind.HEADING, match.start(name), match.end(name), level)
            here = match.end()
    yield from blocks(text, here)


def _code(text: str, block: Block) -> tuple[int, int]:
    """All of a piece of code, or as many of its lines as are not too long."""
    if block.end - block.start <= MAX_CANDIDATE_CHARS:
        return block.start, block.end
    end = text.rfind("\n", block.start, block.start + MAX_CANDIDATE_CHARS)
    return block.start, end if end > block.start else block.start + MAX_CANDIDATE_CHARS


def _cut(start: int, end: int) -> Iterable[tuple[int, int]]:
    for low in range(start, end, MAX_CANDIDATE_CHARS):
        yield low, min(end, low + MAX_CANDIDATE_CHARS)


class Pool:
    """The documents of a question together, in the order of their rank."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = documents
        self.named = {document.id: document for document in documents}
        self.places = {document.id: place for place, document in enumerate(documents)}
