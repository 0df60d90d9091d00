"""The numbers that Word puts before items and headings: they follow from a part of their own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from deep_research.patterns import regex
from deep_research.sources.extract.docx_parts import W, value
from deep_research.sources.extract.plaintext import whole_number

NO_LIST = "0"  # the name by which a paragraph is taken out of the list of its style
_PLACE = regex(r"%([1-9])")
_ROMAN = (("m", 1000), ("cm", 900), ("d", 500), ("cd", 400), ("c", 100), ("xc", 90), ("l", 50), ("xl", 40), ("x", 10),
          ("ix", 9), ("v", 5), ("iv", 4), ("i", 1))  # fmt: skip
_SILENT = ("none", "bullet")  # of a level that has no number of its own
_MAX_LEVELS = 9  # that a list may have
_MAX_LABEL_CHARS = 60  # characters of what stands before a paragraph
_MAX_STYLES = 10  # of which each is based on the next


@dataclass(frozen=True, slots=True)
class _Level:
    """How a level is counted and drawn. ``text`` has ``%2`` for the number of the second level; ``after`` is the first
    level over whose items it goes on counting, ``style`` that of the paragraphs that are of this level."""

    start: int = 1
    format: str = ""
    text: str = ""
    after: int = 0
    is_decimal: bool = False
    style: str = ""


@dataclass(slots=True)
class _List:
    """The levels of a list, those that were told to begin anew from where, and how far each has come."""

    levels: dict[int, _Level] = field(default_factory=dict)
    anew: dict[int, int] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)

    def count(self, level: int) -> int:
        """Word counts a level above that was left out as if it had been there."""
        self.counts = {
            at: count for at, count in self.counts.items() if at <= level or level >= self._level(at).after
        }
        for at in range(level):
            self.counts.setdefault(at, self._start(at))
        self.counts[level] = self.counts.get(level, self._start(level) - 1) + 1
        return self.counts[level]

    def begin_anew(self, starts: dict[int, int]) -> None:
        self.anew |= starts
        self.counts = {at: count for at, count in self.counts.items() if at not in starts}

    def _start(self, at: int) -> int:
        return self.anew.get(at, self._level(at).start)

    def _level(self, at: int) -> _Level:
        return self.levels.get(at) or _Level(after=at)


@dataclass(frozen=True, slots=True)
class _Use:
    """A list by one of its names: as which it ``counts``, from where it begins ``anew``, and the levels that are drawn in
    a way of their own."""

    counts: str
    anew: dict[int, int]
    own: dict[int, _Level]


class Numbers:
    """Counts the paragraphs of a document that have numbers, which are asked for in their order."""

    def __init__(self, document: Any) -> None:
        self._lists: dict[str, _List] = {}
        self._uses: dict[str, _Use] = {}
        self._made_by: dict[str, str] = {}  # of each style of lists, the list that it makes
        self._made_as: dict[str, str] = {}  # of a list without levels, the style by which it is made
        self._started_names: set[str] = set()
        for relation in document.part.rels.values():
            if relation.reltype.endswith("/numbering") and not relation.is_external:
                self._learn(relation.target_part.blob)
        self._styles = {
            each.get(f"{W}styleId", ""): (value(each, "basedOn"), numbering(each))
            for each in document.styles.element.findall(f"{W}style")
        }
        self._places: dict[str, tuple[str, int | None]] = {}  # of styles

    def before(self, paragraph: Any) -> str:
        """What Word draws before the next paragraph: a number or letter with what stands around it; empty where that is
        a bullet, or nothing. Of paragraphs that are told to be of no list the same."""
        name, level = self._place(paragraph)
        return self._number_label(name, level) if name else ""

    def bullet(self, paragraph: Any) -> int | None:
        """The level of a paragraph before which a bullet is drawn; None of all others."""
        name, level = self._place(paragraph)
        definition = self._levels(name).get(level) if name else None
        return level if definition is not None and definition.format == "bullet" else None

    def _place(self, paragraph: Any) -> tuple[str, int]:
        """The list and the level of a paragraph, by what it says itself or else its style; no list has no name."""
        own = numbering(paragraph)
        style = value(paragraph, "pPr/pStyle")
        name, level = self._of_style(style)
        if own is not None:
            name = own[0] or name
            levels = (own[1], self._level_of(name, style), level)
            level = next((level for level in levels if level is not None), None)
        return name, level or 0

    def _of_style(self, style: str) -> tuple[str, int | None]:
        """The list and the level of a style's paragraphs, by itself or else by those on which it is based."""
        if style not in self._places:
            of_style, at = [], style
            for _ in range(_MAX_STYLES):
                based_on, place = self._styles.get(at, ("", None))
                of_style += [place] if place else []
                at = based_on
            name = next((name for name, _ in of_style if name), "")
            levels = (self._level_of(name, style), *(level for _, level in of_style))
            self._places[style] = name, next((level for level in levels if level is not None), None)
        return self._places[style]

    def _number_label(self, name: str, level: int) -> str:
        counter = self._list(name, level)
        if counter is None:
            return ""
        counter.count(level)
        levels = self._levels(name)
        definition = levels.get(level)
        if definition is None or definition.format == "bullet":
            return ""

        def number(place: re.Match[str]) -> str:
            at = int(place[1]) - 1
            other = levels.get(at)
            if other is None or other.format in _SILENT or at > level:
                return ""
            return _number_text(counter.counts[at], "decimal" if definition.is_decimal else other.format)

        return " ".join(_PLACE.sub(number, definition.text).split())[:_MAX_LABEL_CHARS]

    def _level_of(self, name: str, style: str) -> int | None:
        """The level of a list that is that of all paragraphs of a style, if one is."""
        levels = self._levels(name).items() if style else ()
        return next((at for at, level in levels if level.style == style), None)

    def _levels(self, name: str) -> dict[int, _Level]:
        use = self._uses.get(name)
        counter = self._counting(use)
        return {**counter.levels, **use.own} if use and counter else {}

    def _counting(self, use: _Use | None) -> _List | None:
        """The list that counts: one that is made by a style of lists has its levels and counts where that says."""
        counts = use.counts if use else ""
        return self._lists.get(self._made_by.get(self._made_as.get(counts, ""), counts))

    def _list(self, name: str, level: int) -> _List | None:
        """The list that counts for one of this name, begun anew where that is said; None where it has no such level."""
        if name not in self._uses or not 0 <= level < _MAX_LEVELS:
            return None
        use = self._uses[name]
        counter = self._counting(use)
        if counter is not None and name not in self._started_names:
            self._started_names.add(name)
            counter.begin_anew(use.anew)
        return counter

    def _learn(self, raw: bytes) -> None:
        from docx.oxml import parse_xml

        for element in parse_xml(raw):
            if element.tag == f"{W}abstractNum":
                name = element.get(f"{W}abstractNumId", "")
                self._lists[name] = _List(_told_levels(element.findall(f"{W}lvl")))
                if style := value(element, "styleLink"):
                    self._made_by[style] = name
                if style := value(element, "numStyleLink"):
                    self._made_as[name] = style
            elif element.tag == f"{W}num":
                anew = {
                    whole_number(each.get(f"{W}ilvl")): whole_number(value(each, "startOverride"))
                    for each in element.findall(f"{W}lvlOverride")
                    if each.find(f"{W}startOverride") is not None
                }
                own = _told_levels(element.findall(f"{W}lvlOverride/{W}lvl"))
                self._uses[element.get(f"{W}numId", "")] = _Use(value(element, "abstractNumId"), anew, own)


def numbering(element: Any) -> tuple[str, int | None] | None:
    """The list, if it is named, and the level, if it is said, that a paragraph or style tells."""
    properties = element.find(f"{W}pPr/{W}numPr")
    if properties is None:
        return None
    level = value(properties, "ilvl")
    return value(properties, "numId"), whole_number(level) if level else None


def _told_levels(elements: Iterable[Any]) -> dict[int, _Level]:
    return {at: level for at, level in map(_level, elements) if 0 <= at < _MAX_LEVELS}


def _level(element: Any) -> tuple[int, _Level]:
    at = whole_number(element.get(f"{W}ilvl"))
    return at, _Level(
        start=whole_number(value(element, "start"), 1),
        format=value(element, "numFmt"),
        text=value(element, "lvlText"),
        after=whole_number(value(element, "lvlRestart"), at),
        is_decimal=element.find(f"{W}isLgl") is not None,
        style=value(element, "pStyle"),
    )


def _number_text(count: int, form: str) -> str:
    """A number as Word draws it; in a form that is not known here, as a figure."""
    if form in ("lowerRoman", "upperRoman") and 0 < count < 4000:
        text = _roman(count)
    elif form in ("lowerLetter", "upperLetter") and 0 < count <= 26 * 10:
        text = chr(ord("a") + (count - 1) % 26) * ((count - 1) // 26 + 1)
    elif form == "decimalZero":
        text = f"{count:02}"
    else:
        text = str(count)
    return text.upper() if form.startswith("upper") else text


def _roman(count: int) -> str:
    numeral = ""
    for letters, worth in _ROMAN:
        numeral += letters * (count // worth)
        count %= worth
    return numeral
