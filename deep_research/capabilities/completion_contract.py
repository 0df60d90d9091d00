"""The completion contract: a message that is a JSON object with ``completed_capability``."""

from __future__ import annotations

import json
from typing import Any

MAX_CONTENT_CHARS = 4_000_000


def completed_capability(content: str) -> str | None:
    """The capability that a message says is completed; None for everything that is not the JSON object alone, such as
    prose around it, a code block, a nested object, or a value that is no text.

    Example:
        completed_capability('{"completed_capability": "research", "data": {}}')  # "research"
        completed_capability('Done: {"completed_capability": "research"}')  # None
    """
    fields = contract_fields(content)
    name = fields.get("completed_capability")
    return name if isinstance(name, str) and name else None


def contract_fields(content: str) -> dict[str, Any]:
    """The fields of a message that is one JSON object; empty for any other. A key that comes twice makes it none: readers
    of JSON differ in which one they take."""
    text = content.strip()
    if len(text) > MAX_CONTENT_CHARS or not (text.startswith("{") and text.endswith("}")):
        return {}
    try:
        fields = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a key comes twice")
    return fields


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")
