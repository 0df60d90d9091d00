"""What a setting is where nobody sets it, as documentation tells it: a term, its description, a line with the default.
Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from deep_research.evidence.called import doings
from deep_research.evidence.defining import called
from deep_research.evidence.passages import Block, BlockKind, blocks

MAX_TERM_CHARS = 120
_LINE = re.compile(r"\(?defaults?(?: value)?(?: is| to)?[: ]\s*\S", re.IGNORECASE)
_TERM = re.compile(r"[\w.\[\]'\"-]+(?:\([^)]*\))?\Z")


@dataclass(frozen=True, slots=True)
class Default:
    """``text[start:end]`` is the line with the default, ``described`` where the description of the ``term`` begins."""

    term: str
    described: int
    start: int
    end: int

    def says(self, text: str) -> set[str]:
        """The stems of the term, of its parts, and of its description."""
        return doings(
            f"{self.term} {self.term.casefold().replace('_', ' ')} {text[self.described : self.end]}"
        )


def defaults(text: str) -> Iterator[Default]:
    """The terms whose description has such a line."""
    term: Block | None = None
    for block in blocks(text):
        line = text[block.start : block.end]
        if block.kind is BlockKind.HEADING:
            term = None
        elif (
            block.kind is BlockKind.PARAGRAPH
            and len(line) <= MAX_TERM_CHARS
            and _TERM.match(line.rstrip("¶"))
        ):
            term = block
        elif term is not None and _LINE.match(line.removeprefix("- ")):
            yield Default(called(text[term.start : term.end]), term.start, block.start, block.end)
            term = None
