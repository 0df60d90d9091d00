"""Terms with a few words each, one after another, tell what a card tells: "Born: 1815; Died: 1842". Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from deep_research.evidence.passages import Block, BlockKind, blocks

LEAST = 2  # terms of a record
MAX_TERM_CHARS = 40
MAX_TOLD_CHARS = 160


@dataclass(frozen=True, slots=True)
class Card:
    """``text[start:end]`` under its ``heading``, and what it tells as one line."""

    heading: str
    start: int
    end: int
    told: str


def cards(text: str) -> Iterator[Card]:
    """The runs of terms with a short description each."""
    heading = ""
    run: list[tuple[Block, Block]] = []
    term: Block | None = None
    for block in blocks(text):
        if term is not None and block.kind is BlockKind.ITEM and block.end - block.start <= MAX_TOLD_CHARS:
            run.append((term, block))
            term = None
            continue
        term = block if _is_term(text, block) else None
        if term is None:
            yield from _card(text, heading, run)
            run = []
        if block.kind is BlockKind.HEADING:
            heading = text[block.start : block.end].strip("# ")
    yield from _card(text, heading, run)


def _card(text: str, heading: str, run: list[tuple[Block, Block]]) -> Iterator[Card]:
    if len(run) >= LEAST:
        told = "; ".join(
            f"{text[term.start : term.end]}: {' '.join(text[said.start : said.end].split()[1:])}"
            for term, said in run
        )
        yield Card(heading, run[0][0].start, run[-1][1].end, told)


def _is_term(text: str, block: Block) -> bool:
    line = text[block.start : block.end]
    short = len(line) <= MAX_TERM_CHARS and "\n" not in line and line[-1] not in ".!?:;,"
    return block.kind is BlockKind.PARAGRAPH and short
