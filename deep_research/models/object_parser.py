"""Finding the object in what a model wrote. Pure, and total: whatever the text, there is a value or `Unreadable`.

Models think aloud in tags, put JSON into fences, and talk before and after it. What is found must fit the type as it
is, or with its values `coerced`: names are never guessed, cut objects never completed. What fits in part is a
`PartialObject`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, RootModel, ValidationError

from deep_research.logs import cut
from deep_research.models.characters import in_all_texts, whole, whole_characters
from deep_research.models.coercion import coerced
from deep_research.models.lenient_json import Lenient, lenient
from deep_research.models.thoughts import TAG
from deep_research.patterns import regex

_T = TypeVar("_T", bound=BaseModel)

MAX_ANSWER_CHARS = 2_000_000  # characters of an answer that are looked at
WORK = 20_000_000  # characters that may be looked at in vain, at brackets that begin no value
CANDIDATES = 40  # values, the last ones, that are held against the type
MAX_FIELD_CHARS = 20_000  # of one text in an object
MAX_PROBLEM_CHARS = 600  # characters of what was wrong
OPENINGS = 20  # places at which an object may begin that is looked at leniently

_OPENS = regex(r"[{\[]")
_BEGINS = regex(r'\{(?=\s*(?:["}]|\Z))|\[(?=\s*[\[{"\]tfn\d-])')  # where a value may begin
_FENCE = regex(r"```\w{0,20}")
_START_COST = 50
_DEEP_COST = 20_000
_LINES_A_STEP = 50


class Unreadable(ValueError):  # noqa: N818 - said of a text, caught one step above
    """Why a text is no such object, in words that a model can act on."""

    def __init__(self, problem: str) -> None:
        line = " ".join(problem.split())
        super().__init__(line if len(line) <= MAX_PROBLEM_CHARS else f"{line[:MAX_PROBLEM_CHARS]}…")


def without_thoughts(text: str) -> str:
    """The text without what stands in the tags of thoughts, also where one of the two tags is missing."""
    kept, place = [], 0
    for start, end in _thoughts(text, ()):
        kept.append(text[place:start])
        place = end
    return "".join([*kept, text[place:]]).strip()


def read_json(text: str, answer: type[_T], *, cut: bool = False) -> _T:
    """The last value in the text that fits ``answer``: what a model writes last is what it means. Of a text that was
    ``cut`` only one that is nothing but that value is taken: another may have been meant to follow. Raises
    `Unreadable`."""
    cut = cut or len(text) > MAX_ANSWER_CHARS
    text = text[:MAX_ANSWER_CHARS].strip().removeprefix("\ufeff").strip()
    found = _scanned(text)
    thoughts = _thoughts(text, found.values)
    said = [value for value in found.values if not _within(value.start, thoughts)]
    if cut and not (len(said) == 1 and _is_all(text, said[0], thoughts)):
        raise Unreadable("it was cut off.")
    if found.cut_at is not None and not _within(found.cut_at, thoughts):
        read = _leniently(text, answer, found.cut_at, thoughts)
        if read is None or read.cut is not None:
            raise Unreadable(_no_object(text, found.cut_at))
        return validated(read.value, answer)
    candidates = [value.value for value in said if _could_be(value.value, answer)][-CANDIDATES:]
    for value in reversed(candidates):
        try:
            return validated(value, answer)
        except Unreadable:
            continue
    read = _leniently(text, answer, 0, thoughts)
    if read is not None and read.cut is None:
        return validated(read.value, answer)
    if candidates:
        # The first complaint tells most: it is about the one that was meant.
        return validated(candidates[0], answer)
    plain = without_thoughts(text)
    raise Unreadable(_no_object(plain, 0) if plain else "it is empty.")


@dataclass(frozen=True, slots=True)
class PartialObject:
    """An object with some fields of a type, which does not fit it yet. ``cut`` as in `Lenient`."""

    value: dict[str, Any]
    cut: str | None = None


def read_draft(text: str, answer: type[BaseModel], *, cut: bool = False) -> PartialObject | None:
    """The object in the text that has fields of ``answer``, if there is one. Of a text that was ``cut`` only one that
    stops with it: of another nobody knows what it was for."""
    text = text[:MAX_ANSWER_CHARS].strip().removeprefix("\ufeff").strip()
    found = _scanned(text)
    thoughts = _thoughts(text, found.values)
    read = _leniently(text, answer, found.cut_at or 0, thoughts)
    if read is None or (cut and read.cut is None):
        return None
    return PartialObject(coerced(whole(read.value), answer), read.cut)


def read_objects(text: str) -> list[dict[str, Any]]:
    """The objects in the text, thoughts aside, or the first one that is read leniently."""
    text = without_thoughts(text[:MAX_ANSWER_CHARS])
    found = [value.value for value in _scanned(text).values if isinstance(value.value, dict)]
    if not found and (start := text.find("{")) >= 0:
        read = lenient(text, start)
        found = [read.value] if read is not None and read.cut is None else []
    return found


def _leniently(
    text: str, answer: type[BaseModel], start: int, thoughts: Sequence[tuple[int, int]]
) -> Lenient | None:
    """The first object from ``start`` on that has fields of the type."""
    place = start
    for _ in range(OPENINGS):
        place = text.find("{", place)
        if place < 0:
            return None
        read = None if _within(place, thoughts) else lenient(text, place)
        if read is not None and _has_fields(read.value, answer):
            return read
        place += 1
    return None


def _has_fields(value: Any, answer: type[BaseModel]) -> bool:
    return isinstance(value, dict) and not answer.model_fields.keys().isdisjoint(value)


def validated(value: Any, answer: type[_T]) -> _T:
    """The value as the type has it, or as it is once `coerced`. Raises `Unreadable` with the places that do not fit. JSON
    can name half a character, so texts are made `whole`; they are cut at 20,000 characters."""
    try:
        return _validated(value, answer)
    except Unreadable:
        return _validated(coerced(value, answer), answer)


def _validated(value: Any, answer: type[_T]) -> _T:
    try:
        return answer.model_validate(in_all_texts(value, _bounded))
    except ValidationError as error:
        problem = _complaint(error)
    except Exception as error:  # a type's own validators may stumble over anything
        problem = f"it does not fit: {type(error).__name__}."
    raise Unreadable(problem)


@dataclass(frozen=True, slots=True)
class _Value:
    """A JSON object or list, and where it stands."""

    start: int
    end: int
    value: Any


@dataclass(frozen=True, slots=True)
class _Scan:
    """The values of a text in order, and where one begins that does not end."""

    values: list[_Value]
    cut_at: int | None = None


def _scanned(text: str) -> _Scan:
    """What lies inside another value is not one by itself, even where the other is cut."""
    values: list[_Value] = []
    place, work = 0, WORK
    while work > 0 and (opening := _BEGINS.search(text, place)) is not None:
        start = opening.start()
        try:
            value, place = _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            if text[start] == "{" and (error.pos >= len(text) or error.msg.startswith("Unterminated")):
                return _Scan(values, start)
            # The error counts the lines before it, whatever it is about.
            work -= _START_COST + error.pos - start + error.pos // _LINES_A_STEP
            work -= len(text) - error.pos if error.msg.startswith("Unterminated") else 0
            place = start + 1
        except (ValueError, RecursionError):
            work -= _DEEP_COST
            place = start + 1
        else:
            values.append(_Value(start, place, value))
    return _Scan(values, place if work <= 0 else None)


def _thoughts(text: str, values: Sequence[_Value]) -> list[tuple[int, int]]:
    """Where thoughts are; tags inside of ``values`` are part of what is said. A closing tag that nothing opened ends
    thoughts that began with the answer; an opening one that nothing closes begins some if nothing was said before."""
    found: list[tuple[int, int]] = []
    opened: int | None = None
    place = 0
    spans = [(value.start, value.end) for value in values]
    for tag in TAG.finditer(text):
        if _within(tag.start(), spans):
            continue
        if tag["open"] is not None:
            opened = tag.start() if opened is None else opened
            continue
        if opened is None:
            found = [(0, tag.end())]
        else:
            found.append((opened, tag.end()))
        place, opened = tag.end(), None
    if opened is not None:
        said = [text[a:b] for a, b in zip([0, *(e for _, e in found)], [s for s, _ in found], strict=False)]
        if not "".join([*said, text[place:opened]]).strip():
            found.append((opened, len(text)))
    return found


def _bounded(text: str) -> str:
    return whole_characters(cut(text, MAX_FIELD_CHARS))


def _within(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    low, high = 0, len(spans)
    while low < high:
        middle = (low + high) // 2
        if spans[middle][1] <= place:
            low = middle + 1
        else:
            high = middle
    return low < len(spans) and spans[low][0] <= place


def _is_all(text: str, value: _Value, thoughts: Sequence[tuple[int, int]]) -> bool:
    """Whether nothing but thoughts and fences is around a value."""
    begin = max((end for _, end in thoughts if end <= value.start), default=0)
    before, after = text[begin : value.start].strip(), text[value.end :].strip()
    return (not before or _FENCE.fullmatch(before) is not None) and not after.strip("`")


def _could_be(value: Any, answer: type[BaseModel]) -> bool:
    """Lists are all over prose, as references for example; they count only where one is wanted."""
    return isinstance(value, dict) or issubclass(answer, RootModel)


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError("not finite")
    return value


# A line break inside a string is what models write most often. What is no number in JSON is none here.
_DECODER = json.JSONDecoder(strict=False, parse_float=_finite, parse_constant=_finite)


def _no_object(text: str, place: int) -> str:
    opening = _OPENS.search(text, place)
    if opening is None:
        return "there is no JSON object in it."
    try:
        _DECODER.raw_decode(text, opening.start())
    except json.JSONDecodeError as error:
        return f"its JSON is broken or cut: {error}."
    except ValueError:
        return "its JSON holds a number that is none."
    except RecursionError:
        return "its JSON is nested too deeply."
    return "there is no JSON object of that shape in it."


def _complaint(error: ValidationError) -> str:
    """The first few places, each with what is wrong there; nothing of the values."""
    told = []
    for item in error.errors(include_url=False, include_input=False, include_context=False)[:5]:
        place = ".".join(str(part)[:60] for part in item["loc"]) or "the object"
        told.append(f"{place}: {item['msg']}")
    return "; ".join(told) + "."
