"""Lies that keep nearly all words of a true sentence and change what it says: of how many, why, when, in whose view. By
rule where a rule cannot hit the truth, else by hand. Each gives nothing where the sentence has no room for it."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from itertools import combinations

from honest_wordings import JOINED, by_hand, clause, named, stands_alone
from lie_folder import BODIES, PERSONS, PLACES, Document
from lies import Change, is_quantity, is_within_name, numbers, years

_FRAMES = (
    "It is not true that {inner}.",
    "Nobody believes that {inner}.",
    "Critics claim that {inner}.",
    "It is doubtful whether {inner}.",
    "{outer}, or so critics claim.",
)
_MOST_WORDS = 36  # of two sentences in one
# Between two figures or names of a list: in another order it says the same.
_LIST = re.compile(r"(?:[ ,\d]|\b(?:percent|to|and|or|until|again|in|at)\b)+")
_YEARS = re.compile(r"\b1\d{3}\b|\b20[012]\d\b")


def framed(sentence: str, document: Document, draw: random.Random) -> str:
    """What its document says, put as what is not so or what somebody claims."""
    inner = clause(sentence, document)
    stop = sentence.rstrip(".")
    return draw.choice(_FRAMES).format(inner=inner.rstrip("."), outer=stop) if inner else ""


def caused(sentence: str, document: Document, draw: random.Random) -> str:
    """Two things of one document as cause and effect, of which the cause is the later one."""
    year = max(map(int, _YEARS.findall(sentence)), default=0)
    if not year or JOINED.search(sentence):
        return ""
    later = [
        inner
        for other in document.sentences
        if stands_alone(other) and not JOINED.search(other)
        if min(map(int, _YEARS.findall(other)), default=0) > year
        if (inner := clause(named(other, document), document))
    ]
    fit = [one for one in later if len(f"{sentence} {one}".split()) <= _MOST_WORDS]
    return f"{sentence.rstrip('.')} because {draw.choice(fit)}" if fit else ""


def exchanged_figures(sentence: str, document: Document, draw: random.Random) -> str:
    """Two figures of one sort in each other's place."""
    pairs = [
        (one, other)
        for found in (
            [match for match in numbers(sentence) if is_quantity(sentence, match)],
            years(sentence),
        )
        for one, other in combinations(found, 2)
        if one.group() != other.group()
        and ("." in one.group()) == ("." in other.group())
        and not _LIST.fullmatch(sentence[one.end() : other.start()])
    ]
    return _exchanged(sentence, *draw.choice(pairs)) if pairs else ""


def exchanged_names(sentence: str, document: Document, draw: random.Random) -> str:
    """Two persons, places or organisations in each other's place."""
    pairs = []
    for names in (PERSONS, PLACES, BODIES):
        whole = [
            match
            for name in names
            for match in re.finditer(rf"(?<![\w-]){re.escape(name)}(?![\w-])(?! [A-Z])", sentence)
            if name not in document.subject and not is_within_name(sentence, name)
        ]
        pairs += [
            (one, other)
            for one, other in combinations(sorted(whole, key=lambda match: match.start()), 2)
            if not _LIST.fullmatch(sentence[one.end() : other.start()])
        ]
    return _exchanged(sentence, *draw.choice(pairs)) if pairs else ""


def _exchanged(sentence: str, one: re.Match[str], other: re.Match[str]) -> str:
    return "".join(
        (
            sentence[: one.start()],
            other.group(),
            sentence[one.end() : other.start()],
            one.group(),
            sentence[other.end() :],
        )
    )


def _by_hand(kind: str) -> Change:
    table = by_hand("lies", kind)
    return lambda sentence, document, draw: table.get(sentence, "")


# What is changed in a sentence for a kind of lie; one of several is drawn.
DISTORTIONS: Mapping[str, tuple[Change, ...]] = {
    "scope": (_by_hand("scope"),),
    "cause": (caused, _by_hand("cause")),
    "subset": (_by_hand("subset"),),
    "frame": (framed, _by_hand("frame")),
    "opposite verb": (_by_hand("opposite verb"),),
    "prefix": (_by_hand("prefix"),),
    "number word": (_by_hand("number word"),),
    "exchanged figures": (exchanged_figures,),
    "exchanged names": (exchanged_names, _by_hand("exchanged names")),
    "dropped may": (_by_hand("dropped may"),),
    "superlative": (_by_hand("superlative"),),
    "before and after": (_by_hand("before and after"),),
}
