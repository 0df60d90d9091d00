"""How a text tells how many things there are: in digits or in words, and not how long or heavy they are. Pure."""

from __future__ import annotations

from deep_research.evidence.dates import MONTHS

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
