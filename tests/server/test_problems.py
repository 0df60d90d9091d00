"""Errors as HTTP answers: a status and a code for each class, and nothing of the server's inside."""

from __future__ import annotations

import errno
import sqlite3
from typing import Any

import pytest
from fastapi.testclient import TestClient

from deep_research import DeepResearch
from deep_research import errors as tree
from deep_research.errors import (
    ConfigurationError,
    ContentMissingError,
    CorpusError,
    DeepResearchError,
    InvalidQuestionError,
    LogDamagedError,
    ModelError,
    PackError,
    QuotaError,
    RepeatedKeyError,
    RightError,
    RunBusyError,
    RunNotFoundError,
    RunStateError,
    SettingsError,
    SetUpError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StoreLockedError,
    StoreReadOnlyError,
    TokenError,
    UsageError,
)
from deep_research.logs import register_secret
from deep_research.server.app import create_app
from deep_research.server.problems import error_response, problem_of
from deep_research.server.request_gate import DEFAULT_HEADERS

STATUSES: dict[type[Exception], int] = {
    UsageError: 422,
    InvalidQuestionError: 422,
    SetUpError: 422,
    PackError: 422,
    ConfigurationError: 422,
    SettingsError: 422,
    CorpusError: 422,
    RunNotFoundError: 404,
    ContentMissingError: 404,
    RepeatedKeyError: 409,
    RunBusyError: 409,
    RunStateError: 409,
    TokenError: 401,
    RightError: 403,
    QuotaError: 429,
    StoreFullError: 507,
    StoreReadOnlyError: 503,
    StoreLockedError: 503,
    StoreError: 500,
    StoreDamagedError: 500,
    LogDamagedError: 500,
    ModelError: 500,
    RuntimeError: 500,
    sqlite3.OperationalError: 500,
}
SECRET = "sk-canary-0123456789abcdef"
INSIDE = f"/root/data/state.db holds {SECRET}"


@pytest.mark.parametrize("kind", STATUSES, ids=lambda kind: kind.__name__)
def test_an_error_has_a_status_and_a_problem(kind: type[Exception]) -> None:
    register_secret(SECRET)
    error = kind(INSIDE)
    problem, _ = problem_of(error)
    assert problem.status == STATUSES[kind]
    assert problem.code == getattr(error, "code", "unexpected")
    body = problem.model_dump_json()
    assert "canary" not in body
    if problem.status >= 500:
        assert "state.db" not in body
    openai = error_response({"path": "/v1/chat/completions"}, error)
    assert (openai.status_code, openai.media_type) == (problem.status, "application/json")
    assert b'"error":{"message":' in bytes(openai.body)
    ours = error_response({"path": "/v1/runs"}, error)
    assert ours.media_type == "application/problem+json"


def test_every_error_of_the_tree_has_an_answer() -> None:
    kinds = [
        each for each in vars(tree).values() if isinstance(each, type) and issubclass(each, DeepResearchError)
    ]
    assert len(kinds) > 30
    for kind in kinds:
        assert 400 <= problem_of(kind("It failed."))[0].status <= 599


def test_headers_of_errors_are_sent(client: TestClient) -> None:
    answer = client.put("/v1/runs", json={})
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
    assert answer.headers["allow"] == "GET, POST"
    assert client.put("/v1/runs/deepres-0123456789ab").headers["allow"] == "DELETE, GET"
    assert client.post("/openapi.json").headers["allow"] == "GET, HEAD"
    for name, value in DEFAULT_HEADERS.items():
        assert answer.headers[name] == value


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("{", ["body", "1"]),
        ("[]", ["body"]),
        ("null", ["body"]),
        ("{}", ["body", "query"]),
        ('{"query": 7}', ["body", "query"]),
        ('{"query": "Who?", "nope": 1}', ["body", "nope"]),
        ('{"query": "Who?", "budget": {"max_usd": "2"}}', ["body", "budget", "max_usd"]),
        ('{"query": "Who?", "max_iterations": "2"}', ["body", "max_iterations"]),
        ('{"query": "Who?", "approve_plan": 1}', ["body", "approve_plan"]),
        ('{"query": "Who?", "max_iterations": 99}', ["body", "max_iterations"]),
        ('{"query": "Who?", "min_supported": NaN}', ["body", "min_supported"]),
    ],
)
def test_a_body_that_does_not_fit_is_422_and_names_the_place(
    client: TestClient, body: str, place: list[str]
) -> None:
    answer = client.post("/v1/runs", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["faults"][0]["place"] == place


@pytest.mark.parametrize(
    "body",
    [
        "[" * 100_000,
        '{"query": "\\ud800"}',
        '{"query": "Who?", "system_prompt": "\\udfff"}',
        '{"query": "a\\u0000b"}',
        '{"query": "Who?", "\\ud800": 1}',
        '{"query": "Who?", "tasks": {"max_usd": 1e999}}',
        '{"query": "Who?", "priority": ' + "9" * 5_000 + "}",
        '{"query": "Who?", "not_before": "yesterday"}',
        '{"query": "Who?", "not_before": "9999-12-31T23:59:59+00:00"}',
        '{"query": "' + "x" * 200_000 + '"}',
        '{"query": "Who?", "since": "2020-13-45"}',
        '{"query": "Who?", "source_types": ["/etc/passwd"]}',
        '{"query": "Who?", "idempotency_key": ""}',
    ],
    ids=lambda body: body[:40],
)
def test_a_hostile_body_is_no_failure_of_the_server(client: TestClient, body: str) -> None:
    answer = client.post("/v1/runs", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (202, 400, 422), answer.text[:500]


def test_a_store_that_fails_is_an_error_of_the_server_and_not_ready(
    client: TestClient, engine: DeepResearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: Any, **more: Any) -> Any:
        raise StoreFullError(f"No space for {INSIDE}.", errno=errno.ENOSPC)

    monkeypatch.setattr(engine._parts.store, "runs", fails)
    assert client.get("/v1/runs").status_code == 507
    assert client.get("/readyz").json() == {"status": "store"}
    assert client.get("/healthz").status_code == 200


def test_what_nobody_expected_is_500_and_says_nothing(
    client_of: Any, engine: DeepResearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*args: Any, **more: Any) -> Any:
        raise ZeroDivisionError(INSIDE)

    monkeypatch.setattr(engine, "alist", fails)
    answer = client_of(create_app(engine), raise_server_exceptions=True).get("/v1/runs")
    assert (answer.status_code, answer.json()["code"]) == (500, "unexpected")
    assert "canary" not in answer.text
