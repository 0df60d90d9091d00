"""The OpenAPI document holds for the server: no request made from it fails it, or has an answer that it does not name."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from server_process import server

from deep_research.server.token_file import add_token

pytestmark = pytest.mark.timed

# `ignored_auth` takes one of two tokens away, and is let in by the other: tests/server/test_access.py has that table.
# `positive_data_acceptance` takes every text for a cursor or a day.
WITHOUT = "ignored_auth,positive_data_acceptance"
# A request that does not fit may be refused for another reason first: it is too long, say.
REFUSED = [400, 401, 403, 404, 405, 409, 413, 414, 415, 422, 429, 431]
CONFIG = f"[checks]\nnegative_data_rejection.expected-statuses = {list(map(str, REFUSED))}\n"


def test_the_document_needs_no_token_and_names_no_path_of_this_machine(guarded: TestClient) -> None:
    answer = guarded.get("/openapi.json")
    assert answer.status_code == 200
    document = answer.json()
    assert document["components"]["schemas"]["Problem"]["properties"].keys() >= {"code", "hint", "status"}
    assert {"HTTPBearer", "APIKeyHeader"} == document["components"]["securitySchemes"].keys()
    assert "/root/" not in answer.text
    assert "user_id" not in document["components"]["schemas"]["SubmitRequest"]["properties"]
    for path in ("/docs", "/redoc"):
        assert guarded.get(path).status_code == 404


def fuzz(tmp_path: Path, *options: str) -> None:
    path = tmp_path / "tokens.jsonl"
    token = add_token(path, "root", role="admin")
    (tmp_path / "schemathesis.toml").write_text(CONFIG)
    limits = {"body_seconds": 5.0}
    with server(tmp_path / "home", tokens=str(path), limits=limits, wait=1.0) as process:
        with process.client(headers={"x-api-key": token}) as client:
            for query in ("Who built Bell Rock?", "Who built Skerryvore?"):
                assert client.post("/v1/runs", json={"query": query}).status_code == 202
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"{process.address}/openapi.json"]
        command += ["--seed", "1", "--request-timeout", "60", "--no-color", "--exclude-checks", WITHOUT]
        command += ["--header", f"authorization: Bearer {token}", *options]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
        process.signal(signal.SIGTERM)
        code, err = process.wait()
        assert (code, err) == (0, "")


def test_a_sample_of_requests_is_answered_as_documented(tmp_path: Path) -> None:
    fuzz(tmp_path, "--max-examples", "5", "--phases", "coverage,fuzzing")


@pytest.mark.sweep
@pytest.mark.timeout(7200)
def test_a_thousand_examples_a_route_are_answered_as_documented(tmp_path: Path) -> None:
    fuzz(tmp_path, "--max-examples", "1000")
