"""Answers to what a parked run asks: whether they are of the form that was asked for, and how they are told. Pure."""

from __future__ import annotations

import json
from typing import Any

from deep_research.state.parking import Parking

LONGEST = 100_000  # characters of an answer as JSON
LONGEST_REASON = 500  # characters of what is wrong with one


def misfit(parking: Parking, value: Any) -> str:
    """Why a value is no answer to what a run is parked for, in one line; empty where it is one.

    Example:
        misfit(Parking(waiting_for="the year", pause_id="p", answer_schema={"type": "integer"}), "1874")
        # "'1874' is not of type 'integer'"
    """
    try:
        told = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return "it is no JSON value"
    if len(told) > LONGEST:
        return f"it is longer than {LONGEST:,} characters"
    if "\\u0000" in told or any(0xD800 <= ord(c) <= 0xDFFF for c in told):
        return "it holds characters that are not text"
    if parking.answer_schema is None:
        return "" if isinstance(value, str) else "a text is wanted"
    return _against(parking.answer_schema, value)


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
    told = f"{place}: {error.message}" if place else str(error.message)
    return " ".join(told.split())[:LONGEST_REASON]
