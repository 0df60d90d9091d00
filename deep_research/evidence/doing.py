"""What somebody wants to know how to do, how it is done, or when it was done. Pure."""

from __future__ import annotations

import re

from deep_research.evidence.text import STOP_WORDS, content_words, stem

HOW_TO = r"^\s*how (?:to|do (?:i|we|you)|can (?:i|we|you|one)|should (?:i|we|you|one))\b"
_DOING = re.compile(rf"{HOW_TO}(?: \w+ly)? (?P<what>\w+)", re.IGNORECASE)
_PARTICIPLE = (
    r"(?P<done>\w+ed|beaten|begun|broken|brought|built|burnt|cast|caught|chosen|cut|dealt|done|drawn|driven|felt|fought"
    r"|found|frozen|given|grown|held|hidden|hung|kept|known|laid|led|lit|lost|made|met|paid|put|read|ridden|said|seen|sent"
    r"|set|shot|shown|shut|sold|split|spread|struck|sunk|taken|taught|thought|thrown|told|won|worn|written)\b"
)
_DONE_WITH = re.compile(
    r"how (?:is|are) (?:an? |the )?(?:[\w-]+ ){1,3}"
    rf"{_PARTICIPLE}"
    r"(?: (?:in|by|with|on|for|from|to) [^?]{1,60})?\W*",
    re.IGNORECASE,
)
_HANDLED = frozenset(map(stem, ("handled", "managed", "dealt")))  # in whatever way
_WHEN_DONE = re.compile(
    rf"when (?:was|were) .{{1,80}}? (?:first )?{_PARTICIPLE}(?: (?:again|first))?"
    r"(?: (?:in|at|on|by|for|from|to|with) .{1,80})?\W*",
    re.IGNORECASE,
)
# What says little beside the thing that it is done to: a text may say "include a header" for "add a header".
_GENERAL = frozenset(map(stem, ("add", "set", "put", "include", "specify", "provide", "pass", "apply")))
_LIGHT = frozenset(("make", "take", "perform", "go"))  # verbs that say what is done with the noun behind them
_ADJUNCT = re.compile(
    r"\W+(?:with|without|of|in|into|from|for|by|to|on|at|when|until|that|while|using)\b|[?,;(]"
)


def action(question: str) -> str:
    """The stem of what somebody wants to know how to do; empty where a question asks something else. To "make a request"
    is to request: a verb that says little leaves it to its object."""
    match = _DOING.match(question)
    if match is None:
        return ""
    verb = match["what"]
    if verb.casefold() not in STOP_WORDS | _LIGHT:
        return stem(verb)
    thing = _ADJUNCT.split(question[match.end() :], maxsplit=1)[0]
    said = [word for word in content_words(thing) if word.islower()]
    return stem(said[-1]) if said else ""


def done_with(question: str) -> str:
    """The stem of what a question asks how it is done with something: "How are lamps lit?"; empty where it asks something
    else."""
    match = _DONE_WITH.fullmatch(" ".join(question.split()))
    return stem(match["done"]) if match else ""


def says_little(question: str) -> frozenset[str]:
    """The stem of what is done, if that says little beside the thing that it is done to: texts tell it otherwise."""
    return frozenset((action(question),)) & _GENERAL | frozenset((done_with(question),)) & _HANDLED


def done_once(question: str) -> str:
    """The stem of what a question asks when it was done: "When was the lamp lit?"; empty where it asks something else."""
    match = _WHEN_DONE.fullmatch(" ".join(question.split()))
    return stem(match["done"]) if match else ""
