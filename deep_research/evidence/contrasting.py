"""How a text sets two things apart, or beside each other. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

_APART = (
    r"\b(?:than|unlike|whereas|while|instead|both|differs?|differed|differences?|differently|different from|distinct"
    r"|similar|similarly|rather|same|but|contrast)\b"
)
_KIND = (
    r"(?:function|method|hook|decorator|option|setting|command|parameter|argument|attribute|signal|callback|call|value"
    r"|name|object|handler|key)"
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


def says_what_it_does(thing: str) -> re.Pattern[str]:
    """A sentence that says what something does that programs call so, or what it is used for: "To light the lamp, use
    the lighter"."""
    name = re.escape(thing.removesuffix("()"))
    return re.compile(
        rf"(?i)\W{{0,3}}(?:(?:the |an? |any |all |each |every )?{name}(?:\(\))?"
        rf"(?:(?: \w+){{0,2}}? (?:is|are|can|may|will|must|does|do)\b|(?: {_KIND})? (?!{_KIND}s\b)\w+(?<!s)s\b)"
        rf"|to [^.;:]{{3,100}}, (?:you (?:can |must )?)?(?:use|call) (?:the )?{name}(?!\w))"
    )


def _named(sides: Sequence[str]) -> str:
    return "".join(rf"(?=.*\b{re.escape(_root(side))})" for side in sides)


def _root(side: str) -> str:
    """How all forms of a name in lower case begin."""
    return side if side[:1].isupper() else side.removesuffix("s")
