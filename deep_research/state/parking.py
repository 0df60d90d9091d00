"""Parking of a run as data: the question, the form of an answer, and the default."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from pydantic import Field

from deep_research.state.phases import ParkedKind, WhenDue
from deep_research.state.records import Record

ANSWERED = (ParkedKind.QUESTION, ParkedKind.PLAN, ParkedKind.BUDGET)

MAX_ANSWER_CHARS = 100_000  # characters of an answer as JSON
MAX_REASON_CHARS = 500  # characters of what is wrong with one


class Parking(Record):
    """``waiting_for`` says in words what is asked or waited for; ``until`` is when it is over, None: when it is answered,
    and ``then`` what happens at that time. ``pause_id`` is the pause that an answer is for, None where none is waited
    for. ``answer_schema`` is the JSON schema of the answer, None: a text; ``default`` an answer that will do. ``about``
    is what has to be seen to answer, such as a plan."""

    waiting_for: str
    until: datetime | None = None
    pause_id: str | None = None
    kind: ParkedKind = ParkedKind.QUESTION
    answer_schema: dict[str, Any] | None = None
    default: Any = None
    then: WhenDue = WhenDue.DEFAULT
    about: dict[str, Any] = Field(default_factory=dict)

    @property
    def asks(self) -> bool:
        """Whether an answer is waited for."""
        return self.pause_id is not None and self.kind in ANSWERED


def misfit(parking: Parking, value: Any) -> str:
    """Why a value is no answer to what a run is parked for, in one line; empty where it is one.

    Example:
        misfit(Parking(waiting_for="the year", pause_id="p", answer_schema={"type": "integer"}), "1874")
        # "'1874' is not of type 'integer'"
    """
    try:
        json_text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return "it is no JSON value"
    if len(json_text) > MAX_ANSWER_CHARS:
        return f"it is longer than {MAX_ANSWER_CHARS:,} characters"
    if "\\u0000" in json_text or any(0xD800 <= ord(c) <= 0xDFFF for c in json_text):
        return "it holds characters that are not text"
    if parking.answer_schema is None:
        return "" if isinstance(value, str) else "a text is wanted"
    return _against(parking.answer_schema, value)


def value_of(words: str, question: Parking) -> Any:
    """What is typed as the value that is asked for. An object or a list of JSON is one, and no sentence; of the rest
    JSON is what fits only so."""
    if question.answer_schema is None:
        return words
    try:
        value = json.loads(words)
    except ValueError:
        return words
    if isinstance(value, dict | list):
        return value
    return words if misfit(question, value) and not misfit(question, words) else value


def as_advice(value: Any) -> str:
    """An answer as the words of who gave it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _against(schema: dict[str, Any], value: Any) -> str:
    from jsonschema import Draft202012Validator  # loaded when something is answered
    from jsonschema.exceptions import best_match

    error = best_match(Draft202012Validator(schema).iter_errors(value))
    if error is None:
        return ""
    place = ".".join(map(str, error.absolute_path))
    problem = f"{place}: {error.message}" if place else str(error.message)
    return " ".join(problem.split())[:MAX_REASON_CHARS]
