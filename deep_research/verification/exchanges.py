"""Exchanges: a statement with two of its parts swapped back. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations, islice

from deep_research.state import Aspect, Discrepancy
from deep_research.text.statements import Kind, Statement, reader
from deep_research.verification.discrepancies import ASPECTS
from deep_research.verification.restatement import restatement

MAX_PARTS = 8  # figures and names of a statement, of which any two may have changed places


def exchanges(claim: Statement, language: str) -> Iterator[tuple[Discrepancy, str]]:
    """For each two figures or two names, and for a cause and its effect, what would be wrong, and the statement with both
    in each other's place. The figures or names of a list may stand in any order."""
    yield from _specifics(claim, language)
    yield from _causes(claim.text, language)


def _specifics(claim: Statement, language: str) -> Iterator[tuple[Discrepancy, str]]:
    kinds = {token.word: token.kind for token in claim.tokens if token.kind is not Kind.WORD}
    figure, name = (
        "|".join(re.escape(word) for word, kind in kinds.items() if (kind is Kind.NAME) is is_name)
        for is_name in (False, True)
    )
    pattern = "|".join(filter(None, (name and f"(?:{name})(?: (?:{name}))*", figure)))
    if not pattern:
        return
    reads = restatement(language).words
    written = re.finditer(rf"\b(?:{pattern})\b(?![.,]\d)", claim.text, re.IGNORECASE)
    for one, other in combinations(islice(written, MAX_PARTS), 2):
        between = claim.text[one.end() : other.start()]
        if one.group() != other.group() and not all(w.joins or w.word in kinds for w in reads(between)):
            aspect = ASPECTS[kinds.get(one.group(), Kind.NAME)]
            back = (claim.text[: one.start()], other.group(), between, one.group(), claim.text[other.end() :])
            yield Discrepancy(aspect=aspect, claimed=one.group(), in_source=other.group()), "".join(back)


def _causes(text: str, language: str) -> Iterator[tuple[Discrepancy, str]]:
    marks = reader(language).vocabulary.marks
    for word in sorted(marks.causing & marks.clauses):
        effect, joint, cause = text.partition(f" {word} ")
        if joint:
            yield Discrepancy(aspect=Aspect.CAUSE, claimed=word), f"{cause.rstrip('.')}{joint}{effect}"
