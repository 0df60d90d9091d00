"""What the services refuse in a schema, so that a provider that sends it fails here and not with a real key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_NOT_AT_ANTHROPIC = (
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "maxItems",
)
_SUBSCHEMAS = ("properties", "$defs", "definitions")
_BRANCHES = ("anyOf", "oneOf", "allOf")


def anthropic_objection(schema: Mapping[str, Any]) -> str | None:
    for part in _parts(schema):
        kind = part.get("type")
        if kind == "object" and part.get("additionalProperties") is not False:
            return "For 'object' type, 'additionalProperties' must be explicitly set to false"
        if bad := [name for name in _NOT_AT_ANTHROPIC if name in part]:
            return f"For '{kind}' type, properties {', '.join(bad)} are not supported"
        if part.get("minItems", 0) > 1:
            return "For 'array' type, 'minItems' values other than 0 or 1 are not supported"
    return None


def openai_objection(schema: Mapping[str, Any]) -> str | None:
    """For schemas sent with ``strict``."""
    for part in _parts(schema):
        if part.get("type") != "object":
            continue
        if part.get("additionalProperties") is not False:
            return "'additionalProperties' is required to be supplied and to be false."
        if missing := set(part.get("properties", ())) - set(part.get("required", ())):
            return (
                "'required' is required to be supplied and to be an array including every key in properties. "
                f"Missing '{min(missing)}'."
            )
    return None


def _parts(schema: Any) -> Iterator[Mapping[str, Any]]:
    """The schema and all those within it."""
    if not isinstance(schema, Mapping):
        return
    yield schema
    for name in _SUBSCHEMAS:
        for part in schema.get(name, {}).values():
            yield from _parts(part)
    for name in _BRANCHES:
        for part in schema.get(name, ()):
            yield from _parts(part)
    yield from _parts(schema.get("items"))
