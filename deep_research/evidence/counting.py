"""How a text tells how many things there are: in digits or in words, and not how long or heavy they are. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

from deep_research.evidence.dates import MONTHS
from deep_research.evidence.rows import labels
from deep_research.evidence.text import stem

UNIT = (
    r"(?:square |cubic |nautical )?(?:metres?|meters?|km|kilomet\w+|feet|foot|ft|inch(?:es)?|yards?|miles?|tons?|tonnes?"
    r"|pounds?|litres?|gallons?|degrees?|knots?|watts?|volts?|(?:kilo|mega|giga)?bytes?|per ?cent"
    r"|m|cm|mm|kg|g|lbs?|centuries|decades?|years?|months?|weeks?|days?|hours?|minutes?|seconds?)\b"
)
_WORDS = (
    r"two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen"
    r"|(?:twen|thir|for|fif|six|seven|eigh|nine)ty(?:-\w+)?|hundreds?|thousands?|dozens?"
)
_NO_YEAR = r"(?!1\d{3}\b|20\d\d\b)"
_BEHIND = rf"(?![\w-]|\s?%|[\s-]{UNIT}|\s(?:{'|'.join(MONTHS)})\b)"
# In a table any number of its own cell counts, whatever a sentence would make of it.
COUNTED = (
    rf"(?i:(?<![\w.,£$€¥-])(?>{_NO_YEAR}\d[\d,]*(?:\.\d+)?(?: (?:hundred|thousand|million|billion))?|{_WORDS}){_BEHIND})"
    r"(?!\s[A-Z])"  # of a street, or a name
    r"|: \d[\d,.]*(?:;|\.?\Z)"
)

# "How many passengers did the Alma carry in 2021?", "How many passengers were carried by the Alma?"
_DONE_WITH = re.compile(
    r"\s*how many (?P<kind>[a-z]+(?: [a-z]+)?) (?:(?:did|do|does)\b.{1,120} (?P<verb>[a-z]{2,30})"
    r"|(?:were|are) (?P<done>[a-z]{1,30}ed))"
    r"(?: (?:in|on|at|by|during|between|from|per|each|every|until|since|before|after)\b[^?]{0,120})?\W{0,3}",
    re.IGNORECASE,
)


class Counted(NamedTuple):
    """What a question wants counted, and the stem of what was done with it."""

    kind: str
    doing: str

    def is_told(self, content: str) -> bool:
        """Whether a row has a column that is called just so, nothing else than this is counted in it; or a text tells the
        number of these."""
        if self.kind in map(str.casefold, labels(content)):
            return True
        number = rf"\bnumber of (?:[\w'’]+ ){{0,3}}{re.escape(self.kind)}\b[^.;]{{0,80}}\d"
        return re.search(number, content, re.IGNORECASE) is not None


def counted(question: str) -> Counted | None:
    """None where a question asks for something else."""
    match = _DONE_WITH.fullmatch(" ".join(question.split()))
    return Counted(match["kind"].casefold(), stem(match["verb"] or match["done"])) if match else None
