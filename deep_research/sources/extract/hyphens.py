"""Words that a typewriter or a printer broke at the end of a line, made whole again. Pure, in linear time."""

from __future__ import annotations

import re
from collections import Counter

from deep_research.patterns import regex
from deep_research.sources.extract.plaintext import words

_LETTERS = r"[^\W\d_]{1,40}"
# The two halves, the margin of the second, and what stands behind it up to the next space.
_BROKEN = regex(
    rf"(?<![^\W\d_])({_LETTERS})[-‐][ \t]{{0,5}}\n([ \t]{{0,80}})({_LETTERS})(?![^\W\d_])(\S{{0,80}})([ \t]{{0,80}})"
)
_AT_LINE_END = regex(r"[-‐][ \t]{0,5}\n")
_WORD = regex(r"[^\W\d_]+(?:[-‐][^\W\d_]+)*")
# A hyphen before these stands for the rest of a word: "short- and long-term", "Haupt- und Nebeneingang".
_AND = words("and or nor to und oder bis bzw sowie et ou à y o e en of och og eller")


def join_broken_words(text: str) -> str:
    """``text`` with its broken words joined: as it has them elsewhere, else without the hyphen, where the second half
    begins with a small letter. The rest of the second line stays a line.

    Example:
        join_broken_words("The break-\\nwater of Brenn")  # "The breakwater\\nof Brenn"
    """
    if not any(hyphen in text for hyphen in "-‐") or not _AT_LINE_END.search(text):
        return text
    known = Counter(word.casefold().replace("‐", "-") for word in _WORD.findall(_BROKEN.sub(" ", text)))
    openings = {part for word in known for part in word.split("-")[:-1]}  # of compounds

    def whole(match: re.Match[str]) -> str:
        first, margin, second, behind, space = match.groups()
        plain, parted = f"{first}{second}".casefold(), f"{first}-{second}".casefold()
        if second.casefold() in _AND and not known[plain]:
            return match[0]
        is_word = known[plain] >= known[parted]
        if not known[plain] and not known[parted]:
            goes_on = second[0].islower() or (first.isupper() and second.isupper())
            is_of_more = behind.startswith(("-", "‐")) or text[max(0, match.start() - 1) : match.start()] in (
                "-",
                "‐",
            )
            is_compound = first.casefold() in openings and known[second.casefold()] > 0
            is_word = goes_on and not is_of_more and not is_compound
        line = f"{first}{'' if is_word else '-'}{second}{behind}"
        return f"{line}\n{margin}" if space else line

    return _BROKEN.sub(whole, text)
