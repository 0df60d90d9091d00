"""Lines as they stand on a page made into paragraphs: broken words and sentences joined. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from deep_research.sources.extract.entries import entries, margins_of
from deep_research.sources.extract.hanging import hanging
from deep_research.sources.extract.leaders import led
from deep_research.sources.extract.typeset import Line

_HYPHEN = re.compile(r"[^\W\d_]{2,}[-‐]\Z")
_CODED = r"-?\d{1,3}\s?=(?=\s+[^\W\d_]{2})"  # what a number stands for in data
_ITEM = re.compile(rf"\s*(?:[•◦▪‣●–—*-]|\(?\d{{1,2}}[.)]|\(?[a-z][.)]|{_CODED})\s+\S")
_BULLET = re.compile(r"\s*[•◦▪‣●]\s*")
_NUMBERED = re.compile(r"\d{1,2}(?:\.\d{1,2}){0,3}\.?\s+[A-Z]\S*(?:\s+\S+){0,9}\Z")
_COLUMNS = re.compile(r"\S(?:\s{3,}|\t)\S")
_JOINTS = ("-", "‐", "/", "–", "—")
_ENDS = (".", "!", "?", ":", ";", "”", '"', ")", "]")
_COMPOUND = frozenset(
    ("self", "well", "non", "cross", "long", "short", "high", "low", "half", "three", "four")
)


_LARGER = 1.08  # times the size of the line before: another kind of text
KEPT = "\u2011"  # a hyphen at the end of a line that belongs to the word
ALONG = "\n"  # between a row or item and its like
_DOTS = 8  # that lead to a number; a few may be words that are left out, and a note
_ROOM = 1.3  # times the usual step
_ENOUGH = 5  # steps, to know what is usual
_NEAR = 2.0  # times the size: a step up to which is one within a paragraph,
_NEAR_SHARE = 0.35  # where so many of the steps are; else the text is set wide
_TOLD = 20  # characters, from which on a line is no formula or mark in smaller type


@dataclass(frozen=True, slots=True)
class Setting:
    """How a page is set: ``width`` is how many characters a full line has, ``step`` how many points it is from a line
    to the next, 0 where that is not known; ``margins`` say how far lines of a size go to the right."""

    width: int
    step: float = 0.0
    margins: Mapping[float, float] = field(default_factory=dict)


def setting_of(lines: Sequence[Line]) -> Setting:
    told = [line for line in lines if line.text.strip()]
    widths = sorted(width for line in told if (width := len(line.text.strip())) > 10)
    return Setting(
        width=widths[len(widths) * 3 // 4] if widths else 60,
        step=_usual_step(told),
        margins=margins_of(told),
    )


def _usual_step(lines: Sequence[Line]) -> float:
    """The usual step from a line to the next. Where paragraphs are short, as many steps are those between them."""
    below = [
        (above.base - line.base, line.size)
        for above, line in pairwise(lines)
        if above.size == line.size > 0.0 and above.base > line.base
    ]
    near = [step for step, size in below if step <= _NEAR * size]
    is_near = len(near) >= max(_ENOUGH, _NEAR_SHARE * len(below))
    steps = sorted(near if is_near else [step for step, _ in below])
    return steps[len(steps) // 2] if len(steps) >= _ENOUGH else 0.0


def flowing(lines: Sequence[Line], setting: Setting) -> list[str]:
    """The paragraphs of the lines of a page."""
    usual = setting.width
    paragraphs: list[str] = []
    open_ = False
    last, above = "", Line("")
    begun = entries(lines, setting.margins) | hanging(lines, usual)
    for at, line in enumerate(lines):
        text = line.text.strip()
        if line.row:
            paragraphs.append(line.row)
        if line.row or not text:
            open_ = False
            last, above = "", Line("")
            continue
        text = _BULLET.sub("- ", text, count=1) if _BULLET.match(text) else text
        # What begins in capitals after a short line is seldom the same sentence.
        turned = (
            paragraphs and len(last) < usual * 0.7 and text[:1].isupper() and not last.endswith((",", "-"))
        )
        begins = (
            not open_
            or turned
            or at in begun
            or _ITEM.match(text)
            or _is_row(line.text)
            or _begins_alike(paragraphs[-1], text)
            or _is_heading(text, usual, last)
            or _is_other_type(above, line)
            or (_is_set_off(above, line, setting) and not text[:1].islower())
        )
        if begins:
            paragraphs.append(_row(line.text) if _is_row(line.text) else text)
        else:
            paragraphs[-1] = joined(paragraphs[-1], text)
        short = len(text) < usual * 0.75
        ended = text.endswith(_ENDS) and (short or bool(_ITEM.match(paragraphs[-1])))
        open_ = not (
            _is_row(line.text) or ended or _is_heading(text, usual, last) or (short and text[-1:].isdigit())
        )
        last, above = text, line
    return paragraphs


def joined(before: str, text: str) -> str:
    """What was broken at the end of a line."""
    if before.endswith(KEPT):
        return f"{before[:-1]}-{text}"
    if _HYPHEN.search(before) and text[:1].islower():
        start = before.rpartition(" ")[2].rstrip("-‐").lower()
        if start in _COMPOUND:
            return before + text
        return before[:-1] + text
    if before.endswith(_JOINTS) and not before[:-1].endswith(" "):
        return before + text
    return f"{before} {text}"


def _begins_alike(paragraph: str, text: str) -> bool:
    """Whether it is the next of several that begin with the same word in capitals, as those of resolutions do."""
    word = text.partition(" ")[0]
    return paragraph.endswith(";") and word.isupper() and len(word) > 3 and paragraph.startswith(f"{word} ")


def _is_heading(text: str, usual: int, last: str) -> bool:
    """A short line that is numbered as headings are, or in capitals."""
    if len(text) > 90 or text.endswith((".", ",", ";", "-")):
        return False
    letters = sum(map(str.isalpha, text))
    capitals = text.isupper() and letters > 5 and letters > len(text) / 2
    return bool(_NUMBERED.match(text) and len(text) < usual * 0.9 and not last.endswith(",")) or capitals


def _is_row(line: str) -> bool:
    """A line with wide gaps, as tables have, or with dots that lead to a number."""
    return bool(_COLUMNS.search(line.strip())) or _entry(line) is not None


def _entry(line: str) -> tuple[str, str] | None:
    found = led(line, _DOTS)
    return found if found and all(found) else None


def _row(line: str) -> str:
    if entry := _entry(line):
        return " | ".join(entry)
    return " | ".join(cell for cell in re.split(r"\s{3,}|\t", line.strip()) if cell)


def _is_other_type(above: Line, line: Line) -> bool:
    """Whether a line is so much larger or smaller than the one above it that they are a heading, note or caption and
    text."""
    if not above.size or not line.size:
        return False
    low, high = sorted((above, line), key=lambda each: each.size)
    return high.size > _LARGER * low.size and len(low.text) >= _TOLD and len(high.text.strip()) > 3


def _is_set_off(above: Line, line: Line, setting: Setting) -> bool:
    """Whether there is more room above a line than between the lines of a paragraph."""
    return 0.0 < _ROOM * setting.step < above.base - line.base and line.base > 0.0


def gap(before: str, text: str) -> str:
    """Rows and items follow their like without a blank line."""
    kind = _kind(text)
    return ALONG if kind and kind == _kind(before) else "\n\n"


def is_row(text: str) -> bool:
    return " | " in text or text.startswith("| ") or text.endswith(" |")


def _kind(text: str) -> str:
    return "row" if is_row(text) else "item" if _ITEM.match(text) else ""
