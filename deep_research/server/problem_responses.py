"""The errors of the routes in the OpenAPI document."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from deep_research.server.problems import Problem

_STATUSES = (400, 401, 403, 404, 408, 409, 413, 414, 415, 422, 429, 431, 500, 503, 507)
_SCHEMA = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"description": HTTPStatus(status).phrase, "content": _SCHEMA} for status in _STATUSES
}


def add_problem_schemas(document: dict[str, Any]) -> None:
    """Put `Problem` among the schemas of an OpenAPI document."""
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    schemas.update(schema.pop("$defs", {}))
    schemas["Problem"] = schema
