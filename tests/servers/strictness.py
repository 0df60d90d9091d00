"""What the services refuse in a schema and of an effort, so that a provider that sends it fails here and not with a real
key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
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
_EFFORTS_OF_ANTHROPIC = ("low", "medium", "high", "xhigh", "max")
_EFFORTS_OF_OPENAI = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_FIELDS_OF_THINKING: Mapping[Any, Sequence[str]] = MappingProxyType(
    {"enabled": ("budget_tokens", "display"), "adaptive": ("display",), "disabled": (), "between_tools": ()}
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


def thinking_objection(body: Mapping[str, Any]) -> str | None:
    """What Anthropic refuses of ``thinking`` and of the effort beside it."""
    thinking = body.get("thinking") or {}
    effort = (body.get("output_config") or {}).get("effort")
    if effort is not None and effort not in _EFFORTS_OF_ANTHROPIC:
        return f"output_config.effort: Input should be {_listed(_EFFORTS_OF_ANTHROPIC)}"
    if not thinking:
        return None
    fields = _FIELDS_OF_THINKING.get(thinking.get("type"))
    if fields is None:
        kinds = ", ".join(f"'{kind}'" for kind in _FIELDS_OF_THINKING)
        return (
            f"thinking: Input tag '{thinking.get('type')}' does not match any of the expected tags: {kinds}"
        )
    if extra := sorted(set(thinking) - {"type", *fields}):
        return f"thinking.{thinking['type']}.{extra[0]}: Extra inputs are not permitted"
    if thinking["type"] == "enabled":
        budget = thinking.get("budget_tokens")
        if not isinstance(budget, int) or budget < 1_024:
            return "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
        if budget >= body.get("max_tokens", 0):
            return "`max_tokens` must be greater than `thinking.budget_tokens`."
    if thinking["type"] != "disabled" and (body.get("tool_choice") or {}).get("type") in ("tool", "any"):
        return "Thinking may not be enabled when tool_choice forces tool use."
    if thinking["type"] != "disabled" and body.get("temperature") not in (None, 1):
        return "`temperature` may only be set to 1 when thinking is enabled."
    return None


def effort_objection(effort: Any, field: str) -> str | None:
    """What OpenAI refuses of an effort."""
    if effort is None or effort in _EFFORTS_OF_OPENAI:
        return None
    return f"Invalid value: '{effort}' of '{field}'. Supported values are: {_listed(_EFFORTS_OF_OPENAI)}."


def _listed(words: Sequence[str]) -> str:
    *first, last = (f"'{word}'" for word in words)
    return f"{', '.join(first)} or {last}"


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
