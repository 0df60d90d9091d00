"""A key of the engine's that a tool or a private source gives away: it is in nothing that is kept or sent."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

sys.path.insert(0, str(Path(__file__).parents[1] / "tasks"))

from task_runs import DONE, FOUND, QUESTION, SEARCH, TEXT, TaskModel, engine, orm

from deep_research import SearchResult, Tool, ToolResult
from deep_research.errors import ToolError
from deep_research.logs import register_secret
from deep_research.phases.gathering.handoff import GatheredSource, Unread
from deep_research.phases.gathering.tasks.tool import Link
from deep_research.testing import ScriptedSearch


@pytest.fixture
def key() -> str:
    made = f"sk-{secrets.token_hex(12)}"
    register_secret(made)
    return made


class Word(BaseModel):
    word: str


class Telling(Tool):
    name = "telling"
    description = "Tells too much."
    arguments = Word

    def __init__(self, result: ToolResult | Exception) -> None:
        self.result = result

    async def __call__(self, arguments: Word, view: Any) -> ToolResult:
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


GIVEN = {
    "its text": lambda key: ToolResult(text=f"Asked with {key}."),
    "a source": lambda key: ToolResult(sources=(GatheredSource(title=f"T {key}", content=f"{TEXT} {key}"),)),
    "a title and snippet": lambda key: ToolResult(
        links=(Link(address="https://ok.example/x", title=f"T {key}", snippet=f"S {key}"),)
    ),
    "an address": lambda key: ToolResult(links=(Link(address=f"https://ok.example/?key={key}", title="T"),)),
    "where its text is": lambda key: ToolResult(
        links=(Link(address="https://ok.example/y", text_at=f"https://ok.example/?key={key}", title="T"),)
    ),
    "what is unread": lambda key: ToolResult(unread=(Unread(url=f"https://ok.example/?k={key}", why=key),)),
    "a note": lambda key: ToolResult(notes=(f"It was asked with {key}.",)),
    "a tool error": lambda key: ToolError(f"The ledger refused {key}."),
    "another error": lambda key: RuntimeError(f"401 for {key}"),
}


@pytest.mark.parametrize("given", GIVEN)
def test_what_a_tool_gives_away_is_neither_kept_nor_sent(key: str, given: str, tmp_path: Path) -> None:
    uses = [
        {"actions": [{"tool": "telling", "word": f"of {key}"}]},
        {"actions": [{"tool": "fetch", "link": "L1"}]},
    ]
    model = TaskModel((SEARCH, *uses, FOUND))
    tool = Telling(GIVEN[given](key))
    more = {"store": "sqlite", "data_dir": tmp_path, "search": [orm()]}
    with engine(model, tools=[tool], tasks={"max_retries": 0}, **more) as research:
        result = research.run(QUESTION)
    assert result.status == "completed"
    assert key not in "\n".join(message.content for call in model.calls for message in call.messages)
    assert [
        path.name for path in tmp_path.rglob("*") if path.is_file() and key.encode() in path.read_bytes()
    ] == []


@pytest.mark.parametrize("by_model", [False, True])
def test_what_a_private_source_gives_away_is_neither_kept_nor_sent(
    key: str, by_model: bool, tmp_path: Path
) -> None:
    found = [
        SearchResult(address=f"https://ok.example/1?token={key}", title=f"A {key}", snippet=f"S {key}"),
        SearchResult(address="https://ok.example/2", title="B", text=f"{TEXT} {key}"),
    ]
    own = ScriptedSearch(lambda request: found, name="company")
    model = TaskModel((SEARCH, {"actions": [DONE]})) if by_model else None
    more = {"store": "sqlite", "data_dir": tmp_path, "data_sources": {"company_db": own}}
    with engine(model, tasks={"max_retries": 0}, **more) as research:
        research.run(QUESTION)
    assert own.requests
    said = [] if model is None else [m.content for call in model.calls for m in call.messages]
    assert key not in "\n".join(said)
    assert [
        path.name for path in tmp_path.rglob("*") if path.is_file() and key.encode() in path.read_bytes()
    ] == []
