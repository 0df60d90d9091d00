"""Finding the object in what a model wrote. Pure, and total: whatever the text, there is a value or `Unreadable`.

Models think aloud in tags, put JSON into fences, and talk before and after it. What is found must fit the type as it
is: names are never guessed, cut objects never completed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

_T = TypeVar("_T", bound=BaseModel)

LONGEST = 2_000_000  # characters of an answer that are looked at
STARTS = 400  # brackets at which a value may begin, that are tried
CANDIDATES = 40  # values that are held against the type
LONGEST_PROBLEM = 600  # characters of what was wrong

_TAG = re.compile(
    r"<(/?)(?:think|thinking|thought|thoughts|reasoning|reflection|scratchpad)\b[^<>]{0,200}>", re.IGNORECASE
)
_OPENS = re.compile(r"[{\[]")
_DECODER = json.JSONDecoder(strict=False)  # a line break inside a string is what models write most often


class Unreadable(ValueError):  # noqa: N818 - said of a text, caught one step above
    """Why a text is no such object, in words that a model can act on."""

    def __init__(self, problem: str) -> None:
        line = " ".join(problem.split())
        super().__init__(line if len(line) <= LONGEST_PROBLEM else f"{line[:LONGEST_PROBLEM]}…")


def without_thoughts(text: str) -> str:
    """The text without what stands in reasoning tags, also where one of the two tags is missing."""
    kept: list[str] = []
    place = 0
    opened: int | None = None
    for tag in _TAG.finditer(text):
        if not tag.group(1):
            opened = tag.start() if opened is None else opened
            continue
        # A closing tag that nothing opened ends thoughts that began with the answer.
        kept = [] if opened is None else [*kept, text[place:opened]]
        place, opened = tag.end(), None
    if opened is not None and not "".join(kept).strip() and not text[place:opened].strip():
        return ""
    return "".join([*kept, text[place:]]).strip()


def read_json(text: str, answer: type[_T]) -> _T:
    """The last value in the text that fits ``answer``: what a model writes last is what it means. Raises
    `Unreadable`."""
    text = text[:LONGEST].strip().removeprefix("\ufeff")
    plain = without_thoughts(text)
    if not plain and not text.startswith("{"):
        raise Unreadable("it is empty.")
    problem: Unreadable | None = None
    fitting: _T | None = None
    # An object that is the whole answer may hold such tags in its texts.
    whole = _decoded(text, 0) if plain != text else None
    for value in [whole[0]] if whole and whole[1] == len(text) else _values(plain):
        try:
            fitting = validated(value, answer)
        except Unreadable as error:
            # The first complaint about an object tells most: it is about the one that was meant.
            problem = problem or (error if isinstance(value, dict) else None)
    if fitting is not None:
        return fitting
    raise problem or Unreadable(_no_object(plain))


def validated(value: Any, answer: type[_T]) -> _T:
    """Raises `Unreadable` with the places that do not fit."""
    try:
        return answer.model_validate(value)
    except ValidationError as error:
        raise Unreadable(_complaint(error)) from None
    except (RecursionError, ArithmeticError, ValueError, TypeError) as error:
        raise Unreadable(f"it does not fit: {type(error).__name__}.") from None


def _values(text: str) -> Iterator[Any]:
    """The JSON objects and lists in a text, in order; what lies inside another is not one by itself."""
    whole = _decoded(text, 0)
    if whole is not None and not text[whole[1] :].strip():
        yield whole[0]
        return
    place = given = 0
    for _ in range(STARTS):
        opening = _OPENS.search(text, place)
        if opening is None or given == CANDIDATES:
            return
        found = _decoded(text, opening.start())
        if found is None:
            place = opening.start() + 1
            continue
        value, place = found
        if isinstance(value, dict | list):
            given += 1
            yield value


def _decoded(text: str, place: int) -> tuple[Any, int] | None:
    try:
        return _DECODER.raw_decode(text, place)
    except (ValueError, RecursionError):
        return None


def _no_object(text: str) -> str:
    opening = _OPENS.search(text)
    if opening is None:
        return "there is no JSON object in it."
    try:
        _DECODER.raw_decode(text, opening.start())
    except ValueError as error:
        return f"its JSON is broken or cut: {error}."
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
