"""The smallest thing that a JSON schema allows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from deep_research.patterns import regex

_DEEPEST = 40
_FORMATS = {"date-time": "2000-01-01T00:00:00Z", "date": "2000-01-01"}
_HINTS = regex(r"\{[^{}]*\}$")
_HINT = regex(r"(\w+): (-?\d+(?:\.\d+)?)(?=[,}])")


def instance(schema: Mapping[str, Any]) -> Any:
    """Valid for schemas made of objects, arrays, strings, numbers, booleans, null, enum, const, anyOf, allOf, $ref."""
    return _made(schema, schema, 0)


def _made(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Any:
    if depth > _DEEPEST:
        raise ValueError("a schema without a smallest instance: it needs itself")
    if "$ref" in schema:
        return _made(_target(schema["$ref"], root), root, depth + 1)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return _made(min(choices, key=_weight), root, depth + 1)
    if parts := schema.get("allOf"):
        return _made({**_merged(parts, root), **_without(schema, "allOf")}, root, depth + 1)
    return _of_type(schema, root, depth)


def _of_type(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Any:
    schema = {**_hints(schema.get("description", "")), **schema}
    kind = schema.get("type", "object" if "properties" in schema else "null")
    if isinstance(kind, list):
        kind = "null" if "null" in kind else kind[0]
    match kind:
        case "object":
            properties = schema.get("properties", {})
            return {
                name: _made(properties.get(name, {}), root, depth + 1) for name in schema.get("required", ())
            }
        case "array":
            return [_made(schema.get("items", {}), root, depth + 1) for _ in range(schema.get("minItems", 0))]
        case "string":
            return _FORMATS.get(schema.get("format", "")) or _word(
                schema.get("minLength", 1), schema.get("maxLength")
            )
        case "integer" | "number":
            return _number(schema, kind)
        case "boolean":
            return False
    return None


def _hints(description: str) -> dict[str, float]:
    """The bounds in «A name {minLength: 3}»: the Anthropic SDK moves there what the service's schemas do not allow."""
    hints = _HINTS.search(description)
    return {name: json.loads(number) for name, number in _HINT.findall(hints[0])} if hints else {}


def _word(shortest: int, longest: int | None) -> str:
    word = "word"[: longest if longest is not None else 4]
    return (word * (shortest // max(1, len(word)) + 1))[: max(shortest, len(word))]


def _number(schema: Mapping[str, Any], kind: str) -> int | float:
    """Zero if it may be, else a bound, else what lies next to or between the bounds."""
    low, high = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    candidates = [0, schema.get("minimum"), schema.get("maximum")]
    candidates += [low + 1] if low is not None else []
    candidates += [high - 1] if high is not None else []
    candidates += [(low + high) / 2] if low is not None and high is not None else []
    allowed = (number for number in candidates if number is not None and _within(number, schema))
    number: float = next(allowed)
    return int(number) if kind == "integer" else number


def _within(number: float, schema: Mapping[str, Any]) -> bool:
    inside = schema.get("minimum", number) <= number <= schema.get("maximum", number)
    above = number > schema.get("exclusiveMinimum", number - 1)
    return bool(inside and above and number < schema.get("exclusiveMaximum", number + 1))


def _target(ref: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Any = root
    for name in ref.removeprefix("#").strip("/").split("/"):
        found = found[name] if name else found
    return found  # type: ignore[no-any-return]


def _merged(parts: list[Mapping[str, Any]], root: Mapping[str, Any]) -> dict[str, Any]:
    merged: dict[str, Any] = {"properties": {}, "required": []}
    for part in parts:
        whole = _target(part["$ref"], root) if "$ref" in part else part
        merged["properties"] |= whole.get("properties", {})
        merged["required"] += whole.get("required", [])
        merged |= _without(whole, "properties", "required")
    return merged if merged["properties"] else _without(merged, "properties", "required")


def _without(schema: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name not in names}


def _weight(choice: Mapping[str, Any]) -> int:
    """Null before what is flat, what is flat before what could be recursive."""
    if choice.get("type") == "null":
        return 0
    return 2 if "$ref" in choice or choice.get("type") in ("object", "array") else 1
