"""How a text sets two things apart, or beside each other. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

_APART = (
    r"\b(?:than|unlike|whereas|while|instead|both|differs?|differed|differences?|differently|different from|distinct"
    r"|similar|similarly|rather|same|but|contrast)\b"
)
# What says outright how one is to the other, and not only something else in which both occur.
_OUTRIGHT = (
    r"\b(?:differs? from|differences? between|different from|unlike|whereas|in contrast|similar(?:ly)? to|the same as"
    r"|(?:is|are|was|were) not (?:\w+ ){0,2}?(?:an?|the)|(?:more|less|\w+er) than|compared (?:to|with)|instead of)\b"
)


def setting_apart(sides: Sequence[str]) -> re.Pattern[str]:
    """A text that has a word for it and both sides."""
    return re.compile(rf"(?is)\A(?=.*{_APART})" + _named(sides))


def outright(sides: Sequence[str]) -> re.Pattern[str]:
    """A sentence that opens with one of the sides and says outright how it is to the other."""
    opens = "|".join(re.escape(_root(side)) for side in sides)
    return re.compile(
        rf"(?is)\A(?=\W{{0,3}}(?:unlike |whereas |while )?(?:an? |the |every |each )?(?:{opens}))"
        rf"{_named(sides)}(?=.*{_OUTRIGHT})"
    )


def telling(thing: str) -> re.Pattern[str]:
    """A sentence that says what a thing does, or what it is used for: "To light the lamp, use the lighter"."""
    name = re.escape(thing.removesuffix("s"))
    return re.compile(
        rf"(?i)\W{{0,3}}(?:(?:the |an? |any |all |each |every )?{name}s?(?:\(\))?(?: \w+){{0,2}}?"
        rf" (?:is|are|can|may|will|must|does|do|\w+(?<!s)s)\b"
        rf"|to [^.;:]{{3,100}}, (?:you (?:can |must )?)?(?:use|call) (?:the )?{name}s?\b)"
    )


def _named(sides: Sequence[str]) -> str:
    return "".join(rf"(?=.*\b{re.escape(_root(side))})" for side in sides)


def _root(side: str) -> str:
    """How all forms of a name in lower case begin."""
    return side if side[:1].isupper() else side.removesuffix("s")
