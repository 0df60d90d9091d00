"""The words of a page made lines with cells. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import pairwise, product
from typing import NamedTuple

from deep_research.evidence.plain import clean
from deep_research.sources.extract.typeset import GAP, NEAR, Cell, Line, Room

_SAME_PLACE = 0.1  # of the size: so far apart at least a word may be drawn again, to look bolder or shaded
_TOUCHING = 0.15  # of the size: less than any space
_SAME_LINE = 0.8  # of the size: what is raised or lowered by less stands in the same line,
_SAME_BASE = 0.2  # or by so little where PDFium says that another line begins, but for marks in smaller type
_SMALLER = 0.85  # times the type beside it
_NO_MARK = 4  # letters
_MIDDLE = 0.35  # of the size: how high the middle of small letters is
_DEEP = 0.25  # of the size: how far large letters go down
_BACK = 0.4  # of the size, by which what is drawn left of the word before may reach into it
_SPACES = 3  # of a line, to know how wide they are
_WIDER = 1.7  # times a space of the line
_ROOM = 1.3  # times a space, from which on it is more than one
_SPACE = 0.3  # of the size: how wide a space is where the line does not say
_MOST_SPACES = 40  # in a row
_SPACE_OF_CODE, _JOINT = 0.7, 0.3  # of a letter of one width: what is a space, and what is none
_EQUAL = 0.06  # of a gap, by which others may be wider
_MOST_NAMES = 30  # words in the names of the columns of a table
_GOES_ON = 1.4  # times the words that begin in small letters, a line has at least that may be names
_MONO_SHARE = 0.9  # of a line's characters: words of code stand in lines of prose
RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_FRACTION = re.compile(r"(?<=\d) ?⁄ ?(?=\d)")  # raised and lowered figures are words of their own
_NO_LETTER = " \ufffd"


class Type(NamedTuple):
    """How a text is set that is drawn at one go: the ``size`` of its letters in points, the direction of its line,
    ``across`` and ``up`` of a step of 1, how far its ``base`` is from the corner of the page, and its font."""

    size: float
    across: float
    up: float
    base: float
    font: bytes


class Word(NamedTuple):
    text: str
    start: float
    end: float
    type_: Type
    ends_line: bool  # by what PDFium says
    goes_on: bool  # whether no space is drawn before it


def lines_of(words: Iterable[Word], mono: Container[bytes]) -> list[Line]:
    """The lines in the order of the file; ``mono`` are the fonts whose letters are of one width."""
    lines = (_line(_with_bullet(line), mono) for line in _in_lines(_whole(words)))
    return [line for line in lines if line.text.strip(_NO_LETTER)]


def _with_bullet(words: list[Word]) -> list[Word]:
    """A sign without a letter that begins a line by itself is mostly a bullet."""
    if len(words) > 1 and words[0].text == "\ufffd":
        return [words[0]._replace(text="•"), *words[1:]]
    return words


def once(words: Iterable[Word]) -> Iterator[Word]:
    """The words without those that have been drawn at the same place before."""
    seen: dict[str, set[tuple[int, int]]] = {}
    for word in words:
        step = _SAME_PLACE * word.type_.size or 1.0
        x, y = int(word.start // step), int(word.type_.base // step)
        places = seen.setdefault(word.text, set())
        if not places or places.isdisjoint(product((x - 1, x, x + 1), (y - 1, y, y + 1))):
            yield word
        places.add((x, y))


def _whole(words: Iterable[Word]) -> Iterator[Word]:
    """The words, those whole whose letters are spread out."""
    last: Word | None = None
    for word in words:
        if last and _touches(last, word):
            last = word._replace(text=last.text + word.text, start=last.start, type_=last.type_)
            continue
        if last:
            yield last
        last = word
    if last:
        yield last


def _touches(before: Word, word: Word) -> bool:
    """Whether they may be one word in capitals that are spread out."""
    return (
        word.goes_on
        and min(len(before.text), len(word.text)) == 1
        and (before.text + word.text).isupper()
        and not before.ends_line
        and before.type_.base == word.type_.base
        and abs(word.start - before.end) < _TOUCHING * min(before.type_.size, word.type_.size)
    )


def _in_lines(words: Iterable[Word]) -> Iterator[list[Word]]:
    line: list[Word] = []
    for word in words:
        if line and not _is_same_line(line[-1], word):
            yield line
            line = []
        line.append(word)
    if line:
        yield line


def _is_same_line(before: Word, word: Word) -> bool:
    above, type_ = before.type_, word.type_
    if above is type_:
        return True
    small, large = sorted((above.size, type_.size))
    is_mark = small <= _SMALLER * large and word.start >= before.end - _BACK * large
    may_rise = _SAME_LINE if is_mark or not before.ends_line else _SAME_BASE
    return (
        abs(above.base - type_.base) <= may_rise * large
        and above.across == type_.across
        and above.up == type_.up
        and not _is_below(*sorted((before, word), key=lambda each: each.type_.size))
    )


def _is_below(small: Word, large: Word) -> bool:
    """Whether a word stands below another in larger type, such as a title over the names of columns. What is short may
    be a mark or what a fraction is divided by."""
    middle = small.type_.base + _MIDDLE * small.type_.size
    return (
        len(small.text) >= _NO_MARK
        and small.type_.size <= _SMALLER * large.type_.size
        and middle < large.type_.base - _DEEP * large.type_.size
    )


def _line(words: Sequence[Word], mono: Container[bytes]) -> Line:
    sizes: Counter[float] = Counter()
    for word in words:
        sizes[word.type_.size] += len(word.text)
    size = max(sizes, key=sizes.__getitem__)
    base = next(word.type_.base for word in words if word.type_.size == size)
    is_mono = sum(len(word.text) for word in words if word.type_.font in mono) >= _MONO_SHARE * sizes.total()
    is_turned = any(RIGHT_TO_LEFT.search(word.text) for word in words)
    usual = _usual_space(words, size)
    near = min(GAP * size, max(NEAR * size, _WIDER * usual))
    room = GAP * size if is_mono or is_turned else _ROOM * (usual or _SPACE * size)
    cells = _cells(_runs(words, size, GAP * size if is_mono else near, is_turned), room)
    if is_mono:
        text = _set(words)
    elif is_turned or not cells:
        text = _plain(words)
    else:
        text = " ".join(cell.text for cell in cells)
    left, right = min(word.start for word in words), max(word.end for word in words)
    spaces = () if is_mono or is_turned else _spaces(words)
    way = (words[0].type_.across, words[0].type_.up)
    return Line(text, size, left, base, is_mono, right, cells, spaces=spaces, way=way)


def _spaces(words: Sequence[Word]) -> tuple[Room, ...]:
    """Those between the words of a line that may be names of columns, of which some begin in capitals."""
    few = 1 < len(words) <= _MOST_NAMES
    if not few or _GOES_ON * sum(word.text[0].islower() for word in words) > len(words):
        return ()
    spaces = tuple(Room(at, a.end, b.start) for at, (a, b) in enumerate(pairwise(words), 1))
    return spaces if all(space.start < space.end for space in spaces) else ()


def _usual_space(words: Sequence[Word], size: float) -> float:
    """How wide a space of the line is; 0 where there are too few to know."""
    gaps = [word.start - before.end for before, word in pairwise(words)]
    spaces = sorted(gap for gap in gaps if 0.0 < gap <= GAP * size)
    return spaces[len(spaces) // 2] if len(spaces) >= _SPACES else 0.0


def _runs(words: Sequence[Word], size: float, gap: float, is_turned: bool) -> list[list[Word]]:
    """The words in pieces that are farther apart than ``gap``."""
    runs = [[words[0]]]
    end = words[0].end
    for before, word in pairwise(words):
        if is_turned:
            is_apart = max(word.start - before.end, before.start - word.end) > gap
        else:
            is_apart = word.start - end > gap or word.end < before.start + _BACK * size
        if is_apart:
            runs.append([])
            end = word.end
        runs[-1].append(word)
        end = max(end, word.end)
    return runs


def _cells(runs: Sequence[Sequence[Word]], room: float) -> tuple[Cell, ...]:
    """The cells of a line from left to right, in whatever order they were drawn; none where it has but one. What is
    wider than ``room`` within them is told."""
    if len(runs) < 2:
        return ()
    cells = [
        Cell(
            _plain(run),
            min(word.start for word in run),
            max(word.end for word in run),
            tuple(
                Room(number, before.end, word.start)
                for number, (before, word) in enumerate(pairwise(run), 1)
                if word.start - before.end > room
            ),
        )
        for run in runs
    ]
    if _is_stretched(cells):
        return ()
    return tuple(sorted(cells, key=lambda cell: cell.start))


def _is_stretched(cells: Sequence[Cell]) -> bool:
    """Whether it is a line of prose that was made as wide as the others, whose words are equally far apart."""
    gaps = [after.start - before.end for before, after in pairwise(cells)]
    told = sum(cell.text.islower() for cell in cells)
    return len(gaps) > 1 and max(gaps) - min(gaps) <= _EQUAL * min(map(abs, gaps)) and 3 * told >= len(cells)


def _plain(words: Iterable[Word]) -> str:
    return _FRACTION.sub("⁄", clean(" ".join(word.text for word in words)))


def _set(words: Sequence[Word]) -> str:
    """The words of a line in letters of one width, with as many spaces between them as there is room for. Where some
    have room for a space, what has none is one word: PDFium takes the room beside narrow signs for a space."""
    longest = max(words, key=lambda word: len(word.text))
    letter = (longest.end - longest.start) / len(longest.text) or 1.0
    rooms = [(word.start - before.end) / letter for before, word in pairwise(words)]
    has_spaces = max(rooms, default=0.0) > _SPACE_OF_CODE
    text = words[0].text
    for word, room in zip(words[1:], rooms, strict=True):
        least = 0 if has_spaces and room < _JOINT else 1
        text += " " * max(least, min(_MOST_SPACES, round(room))) + word.text
    return clean(text)
