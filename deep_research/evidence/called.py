"""What programs call something, and what its parts say: ``asyncio.run``, ``SECRET_KEY``, version 1.0. Pure."""

from __future__ import annotations

import re

from deep_research.evidence.text import IDENTIFIER, stem, words

_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")  # of a name such as "parse_args" or "DictReader"


def identifiers(question: str) -> tuple[str, ...]:
    """What a question calls as programs do, without closing brackets: ``asyncio.run``, ``int(``."""
    return tuple(match.group().removesuffix(")") for match in IDENTIFIER.finditer(question))


def parts_of(identifier: str) -> frozenset[str]:
    """The stems of the words that what programs call something is made of."""
    return frozenset(map(stem, _PART.findall(identifier)))


def fractions(question: str, *, exact: bool) -> list[re.Pattern[str]]:
    """How the numbers with a point stand in a text that a question has, such as the version 1.0; if not ``exact``, or one
    of its own, such as 1.0.2."""
    end = r"(?:\.0)?(?![\w]|\.\d)" if exact else r"(?!\w)"
    return [
        re.compile(rf"(?<![\w.]){re.escape(number)}{end}")
        for number in re.findall(r"(?<![\w.])\d+(?:\.\d+)+(?!\w)", question)
    ]


def doings(text: str) -> set[str]:
    """The stems of a text's words, of the parts of what programs call something, and of what a doer does: a
    ``DictReader`` reads."""
    parts = [part for word in words(text) for part in (word, *_PART.findall(word))]
    doers = [part[:-2] for part in parts if part.endswith(("er", "or")) and len(part) > len("user")]
    return {stem(part) for part in (*parts, *doers)}
