"""What can be quoted of the sources: sentences, list items, rows of tables and pieces of code, each with where it stands.

Pure. A source is read once, into candidates with their stems; offsets are code points of its saved text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import log

from deep_research.evidence.passages import Block, BlockKind, blocks
from deep_research.evidence.rows import headers
from deep_research.evidence.vocabulary import Vocabulary

LONGEST = 1_200  # characters of a candidate; what is longer is no sentence, and is cut


@dataclass(slots=True, eq=False)
class Candidate:
    """``text[start:end]`` of the document named ``document``, whose candidates it is the ``place``-th of. ``block`` and
    ``order`` (in its block) count from 0. ``near`` are the terms of its neighbours in the block, of what leads to it, of
    its heading and of the title."""

    document: str
    place: int
    block: int
    order: int
    start: int
    end: int
    kind: BlockKind
    heading: str
    terms: tuple[str, ...]
    own: frozenset[str]
    near: frozenset[str] = frozenset()


@dataclass(slots=True)
class Document:
    """A source as it was read. ``blocks`` counts, for each term, the blocks that have it."""

    id: str
    title: str
    text: str
    titled: frozenset[str] = frozenset()
    candidates: list[Candidate] = field(default_factory=list)
    blocks: Counter[str] = field(default_factory=Counter)
    count: int = 0


def read_document(identity: str, title: str, text: str, words: Vocabulary) -> Document:
    """A source with its candidates, in their order."""
    document = Document(identity, title, text, frozenset(words.terms(title)))
    headings: dict[int, str] = {}
    number = -1
    for block in blocks(text):
        if block.kind is BlockKind.HEADING:
            headings = {level: one for level, one in headings.items() if level < block.level}
            headings[block.level] = text[block.start : block.end].strip("# \t")
            continue
        number += 1
        heading = " / ".join(headings[level] for level in sorted(headings))
        _read_block(document, block, number, heading, words)
    document.count = number + 1
    return document


def _read_block(document: Document, block: Block, number: int, heading: str, words: Vocabulary) -> None:
    text = document.text
    spans = [(block.start, block.end)] if block.kind is BlockKind.CODE else list(block.sentences(text))
    around = frozenset(words.terms(heading)) | document.titled
    if block.kind is BlockKind.TABLE and len(spans) > 1 and headers(text, *spans[1]):
        (start, end), *spans = spans  # names what stands in the others
        around |= frozenset(words.terms(text[start:end]))
    spans = [piece for span in spans for piece in _cut(*span)]
    terms = [tuple(words.terms(text[start:end])) for start, end in spans]
    sets = [frozenset(one) for one in terms]
    if document.candidates and block.kind in (BlockKind.CODE, BlockKind.ITEM):
        around |= document.candidates[-1].own  # what announces it
    document.blocks.update(frozenset().union(*sets, around))
    for order, (start, end) in enumerate(spans):
        beside = sets[max(0, order - 1) : order] + sets[order + 1 : order + 2]
        document.candidates.append(
            Candidate(
                document.id,
                len(document.candidates),
                number,
                order,
                start,
                end,
                block.kind,
                heading,
                terms[order],
                sets[order],
                around.union(*beside),
            )
        )


def _cut(start: int, end: int) -> Iterable[tuple[int, int]]:
    for low in range(start, end, LONGEST):
        yield low, min(end, low + LONGEST)


class Pool:
    """The documents of a question together, with the weight of every term: rarer over their blocks is more."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = documents
        self.named = {document.id: document for document in documents}
        self._blocks = sum(document.count for document in documents) or 1
        self._weights: dict[str, float] = {}

    def weight(self, term: str) -> float:
        known = self._weights.get(term)
        if known is None:
            holding = sum(document.blocks[term] for document in self.documents)
            known = self._weights[term] = log(1 + (self._blocks - holding + 0.5) / (holding + 0.5))
        return known

    def candidates(self) -> Iterable[Candidate]:
        for document in self.documents:
            yield from document.candidates
