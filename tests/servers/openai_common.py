"""What both OpenAI formats share: errors, and functions as tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from servers.strictness import openai_objection

CREATED = 1_767_225_600
REFUSAL = "I'm sorry, but I can't help with that."

_ERRORS = {
    400: ("invalid_request_error", None, "Invalid request."),
    401: ("invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    402: ("billing_error", None, "Insufficient credits. Add more to continue."),
    404: ("invalid_request_error", "not_found", "Not found."),
    408: ("timeout", None, "Request timed out."),
    413: ("invalid_request_error", None, "Request body too large."),
    429: ("requests", "rate_limit_exceeded", "Rate limit reached for requests."),
    500: ("server_error", None, "The server had an error while processing your request."),
    503: ("server_error", None, "The engine is currently overloaded, please try again later."),
    529: ("overloaded_error", None, "Overloaded"),
}


def error_body(status: int, message: str | None, code: str | None) -> dict[str, Any]:
    kind, usual, words = _ERRORS.get(status, ("server_error", None, "Something went wrong."))
    kind = code if code == "insufficient_quota" else kind
    return {"error": {"message": message or words, "type": kind, "param": None, "code": code or usual}}


def unsupported(ability: str, format_field: str) -> str:
    fields = {"schema": (format_field, "json_schema"), "json": (format_field, "json_object")}
    if ability in fields:
        field, kind = fields[ability]
        return f"Invalid parameter: '{field}' of type '{kind}' is not supported with this model."
    return f"Unsupported parameter: '{ability}' is not supported with this model."


def objection(named: Iterable[Mapping[str, Any]], field: str) -> str | None:
    """What is wrong with the first of these schemas and functions that asks to be taken strictly."""
    for item in named:
        found = (
            openai_objection(item.get("schema") or item.get("parameters") or {})
            if item.get("strict")
            else None
        )
        if found:
            return f"Invalid schema for {field} '{item['name']}': In context=(), {found}"
    return None


def forced(choice: Any, tools: Mapping[str, Any]) -> str | None:
    """The tool that ``tool_choice`` forces. ``required`` means the first."""
    if choice == "required":
        return next(iter(tools), None)
    if isinstance(choice, Mapping) and choice.get("type") == "function":
        name: str = choice.get("name") or choice["function"]["name"]
        return name
    return None
