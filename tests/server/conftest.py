from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

sys.path.insert(0, str(Path(__file__).parent))  # test files are imported by path and find no neighbours

from deep_research import DeepResearch
from deep_research.server.app import create_app
from deep_research.server.token_file import TokenFile, add_token
from deep_research.testing import ScriptedSearch, scripted_agents

Client = Callable[..., TestClient]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[DeepResearch]:
    with DeepResearch(
        search=[ScriptedSearch()], agents=scripted_agents(without=["gatherer"]), data_dir=tmp_path / "home"
    ) as made:
        yield made


@pytest.fixture
def client_of() -> Iterator[Client]:
    """``client_of(app)``: a client of an application, with a loop that lasts."""
    with ExitStack() as stack:

        def made(app: Any, **options: Any) -> TestClient:
            options = {"base_url": "http://127.0.0.1", "raise_server_exceptions": False, **options}
            return stack.enter_context(TestClient(app, **options))

        yield made


@pytest.fixture
def client(engine: DeepResearch, client_of: Client) -> TestClient:
    """A client of a server without tokens."""
    return client_of(create_app(engine))


USERS = {
    "reader": {"role": "reader", "user": "alice"},
    "runner": {"role": "runner", "user": "alice"},
    "other": {"role": "runner", "user": "bob"},
    "admin": {"role": "admin", "user": "root"},
}


@pytest.fixture
def tokens(tmp_path: Path) -> dict[str, str]:
    """A token of each of the `USERS`; those of alice share her runs."""
    path = tmp_path / "tokens.jsonl"
    return {name: add_token(path, name, **fields) for name, fields in USERS.items()}


@pytest.fixture
def guarded(engine: DeepResearch, tokens: dict[str, str], tmp_path: Path, client_of: Client) -> TestClient:
    """A client of a server with tokens."""
    return client_of(create_app(engine, TokenFile(tmp_path / "tokens.jsonl")))
