"""The sections of a text, and which of them a reference means. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from deep_research.patterns import regex
from deep_research.provenance.quotes import UNIT
from deep_research.text.passages import BlockKind, blocks

MAX_SECTIONS = 5_000  # of one text
NEAR_SHARE = 0.5  # of the words of a reference, in a title that is near to it
_NUMBER = r"(?:[A-Z]\.?)?\d{1,5}(?:\.\d{1,5})*[a-z]?|[A-Z](?:\.\d{1,5})+|(?:[A-Z]|[IVXLC]{2,6})(?=[.:]\s)"
_NUMBERED = regex(
    rf"(?:(?P<unit>(?i:{UNIT}))[ \t]*)?(?P<number>{_NUMBER}|(?(unit)(?:[A-Z]|[IVXLC]{{2,6}})\b|(?!)))[.:)]?"
    r"(?:\s+(?P<title>.*)|$)",
)
_OPENING = regex(rf"(?:see(?:\s+also)?|{UNIT})[\s:“\"'(]+", re.IGNORECASE)
_WORD = regex(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Section:
    """``text[start:end]``, from its heading to the next one of its level or above, in code points. ``number`` is that
    of the heading, such as ``20.4.4``, "" where it has none; ``level`` 1 is the highest."""

    number: str
    title: str
    level: int
    start: int
    end: int

    @property
    def name(self) -> str:
        return f"{self.number} {self.title}".strip()


class Likeness(IntEnum):
    """How well a section fits a reference. ``EXACT``: its number, or its whole title; ``WORDS``: its title has all words
    of the reference; ``NEAR``: half of them, or it is what a section of that number would stand in."""

    NONE = 0
    NEAR = 1
    WORDS = 2
    EXACT = 3


@dataclass(frozen=True, slots=True)
class SectionName:
    """What a reference names: ``Section 20.4.4``, ``20.10. Automatic Vacuuming``, ``“Automatic Vacuuming”``."""

    number: str
    words: tuple[str, ...]

    @classmethod
    def read(cls, reference: str) -> SectionName:
        """Of a reference that names nothing both are empty."""
        text = " ".join(reference.split())
        while opening := _OPENING.match(text):
            rest = text[opening.end() :]
            if not rest or not any(map(str.isalnum, rest)):
                break
            text = rest
        text = text.strip(" .,;:§“”\"'‘’()")
        number, title = _parted(text) or ("", text)
        if not number and text.isupper() and len(text) < 3:  # Appendix A, Part II
            number, title = text, ""
        return cls(number, _words(title))

    def likeness(self, section: Section) -> Likeness:
        """How well a section fits.

        Example:
            SectionName.read("see Section 20.4").likeness(section)  # Likeness.EXACT of “20.4. Resources”
        """
        title = _words(section.title)
        if self.number:
            if section.number == self.number:
                return Likeness.EXACT
            inside = section.number and self.number.startswith(f"{section.number}.")
            if not self.words:
                return Likeness.NEAR if inside else Likeness.NONE
        if not self.words:
            return Likeness.NONE
        if self.words == title:
            return Likeness.EXACT if not self.number else Likeness.WORDS
        shared = sum(word in title for word in set(self.words)) / len(set(self.words))
        if shared == 1:
            return Likeness.WORDS
        return Likeness.NEAR if shared >= NEAR_SHARE else Likeness.NONE


def sections_of(text: str, title: str = "") -> list[Section]:
    """The sections of a text in order, those within others too; at most `MAX_SECTIONS`. Under a ``title`` that is no
    heading of it the text as a whole is the first one, of level 0."""
    found: list[Section] = []
    open_ones: list[int] = []
    number, words = _parted(title) or ("", title.strip())
    if words or number:
        found.append(Section(number, words, 0, 0, len(text)))
    for start, level, heading in _headings(text):
        if len(found) == MAX_SECTIONS:
            break
        while open_ones and found[open_ones[-1]].level >= level:
            place = open_ones.pop()
            found[place] = replace(found[place], end=start)
        number, words = _parted(heading) or ("", heading)
        open_ones.append(len(found))
        found.append(Section(number, words, level, start, len(text)))
    is_repeated = (
        len(found) > 1 and found[0].level == 0 and found[1].name.casefold() == found[0].name.casefold()
    )
    return found[1:] if is_repeated else found


def best_section(name: SectionName, sections: Sequence[Section]) -> tuple[int, Likeness] | None:
    """The place of the section that fits best, and how well; of equal ones that with the shortest title, then the first.
    None where none fits."""
    ranked = [(name.likeness(section), place) for place, section in enumerate(sections)]
    ranked = [each for each in ranked if each[0] is not Likeness.NONE]
    if not ranked:
        return None
    best = max(likeness for likeness, _ in ranked)

    def order(place: int) -> tuple[int, int, int]:
        section = sections[place]
        # Of what a missing section would stand in the innermost is the nearest.
        return (-len(section.number) if best is Likeness.NEAR else 0, len(section.title), place)

    return min((place for likeness, place in ranked if likeness is best), key=order), best


def neighbours(sections: Sequence[Section], place: int) -> dict[str, Section]:
    """The sections around one, by where they are: ``in``, ``before``, ``after``, as far as there are any."""
    section = sections[place]
    above = next((s for s in reversed(sections[:place]) if s.level < section.level), None)
    before = next(
        (s for s in reversed(sections[:place]) if s.level <= section.level and s is not above), None
    )
    after = next((s for s in sections[place + 1 :] if s.level <= section.level), None)
    found = {"in": above, "before": before, "after": after}
    return {where: section for where, section in found.items() if section is not None}


def _headings(text: str) -> Iterator[tuple[int, int, str]]:
    """Where each heading begins, its level and its words."""
    for block in blocks(text):
        if block.kind is BlockKind.HEADING:
            yield block.start, block.level, " ".join(text[block.start : block.end].strip("# \t").split())


def _parted(heading: str) -> tuple[str, str] | None:
    """The number and the title of a heading; None for one without a number."""
    match = _NUMBERED.match(heading.replace("\\.", "."))
    if match is None:
        return None
    return match["number"].rstrip("."), (match["title"] or "").strip()


def _words(title: str) -> tuple[str, ...]:
    return tuple(word.casefold() for word in _WORD.findall(title))
