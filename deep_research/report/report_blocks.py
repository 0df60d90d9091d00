"""The blocks of a finished report, each with the claims that stand in it, and its answer. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import groupby

from deep_research.report.markup import plain
from deep_research.report.render import EXPLAINED, EXPLAINED_PARTLY, REFERENCES
from deep_research.report.report_document import Block, BlockKind, Document
from deep_research.report.report_notices import GAPS, LIMITS, OPENING, STOPPED
from deep_research.state import Claim, ClaimBasis, Span

_NO_ANSWER = (GAPS, LIMITS, REFERENCES)
_NOTICES = (OPENING, EXPLAINED.lstrip("*"), EXPLAINED_PARTLY.lstrip("*"), *STOPPED.values())
_WORDS = (BlockKind.PARAGRAPH, BlockKind.ITEM)


def report_blocks(report: str, claims: Iterable[Claim] = ()) -> tuple[Block, ...]:
    """The blocks of a report; joined they are its Markdown. A paragraph or item that the engine wrote is a notice."""
    of_block: dict[int, list[Claim]] = {}
    for claim in claims:
        if claim.block is not None:
            of_block.setdefault(claim.block, []).append(claim)
    made: list[Block] = []
    for number, block in enumerate(Document.read(report).blocks):
        held = of_block.get(number, [])
        # The items below a notice are part of it.
        goes_on = bool(made) and made[-1].kind is BlockKind.NOTICE and made[-1].gap == "\n"
        is_ours = (bool(held) and all(claim.basis is ClaimBasis.RUN for claim in held)) or _is_notice(block)
        is_notice = is_ours or (goes_on and block.kind is BlockKind.ITEM)
        kind = BlockKind.NOTICE if is_notice and block.kind in _WORDS else block.kind
        made.append(replace(block, kind=kind, claim_ids=tuple(claim.id for claim in held)))
    return tuple(made)


def _is_notice(block: Block) -> bool:
    return block.markdown.lstrip("*_").startswith(_NOTICES)


def blocks_of_claims(draft: str, report: str) -> Callable[[Span], int | None]:
    """Tells for a place in the draft the number of the block of the report that was made of it; None for all where a
    fence that no renderer reads alike parts the report otherwise than its draft."""
    read, made = Document.read(plain(draft).strip()), Document.read(report)
    place = next((n for n, block in enumerate(made.blocks[:2]) if _is_notice(block)), len(made.blocks))
    numbers = [n for n in range(len(made.blocks)) if n != place]
    kinds = [made.blocks[n].kind for n in numbers[: len(read.blocks)]]
    if kinds != [block.kind for block in read.blocks]:
        return lambda _: None
    lead = len(draft) - len(draft.lstrip())
    return lambda span: numbers[read.block_at(span.start - lead)]


def answer_of(report: str) -> str:
    """The text under the title, or where there is none that of the first section, in Markdown, with the numbers of its
    citations; empty for a report without either. What the engine says of the report is left out."""
    heading = ""
    for is_heading, blocks in groupby(report_blocks(report), _opens):
        if is_heading:
            *_, last = blocks
            heading = last.title
            continue
        kept = [block for block in blocks if block.kind is not BlockKind.NOTICE]
        if heading not in _NO_ANSWER and kept:
            return Document.of(kept).markdown
    return ""


def _opens(block: Block) -> bool:
    return block.kind is BlockKind.HEADING and block.level <= 2
