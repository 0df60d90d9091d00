"""A registered key is in nothing that is kept or sent, and what is kept stays whole: hashes, offsets, runs."""

from __future__ import annotations

import base64
import json
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from prompt_reading import ReadingModel

from deep_research import DeepResearch, RunStatus, SupervisorHooks
from deep_research.logs import blotted, blotted_bytes, holds_secret, masked, register_secret
from deep_research.sources.search import SearchResult
from deep_research.state import Limit, Notice
from deep_research.state.events import (
    AgentFellBack,
    Event,
    HookFailed,
    NoticeAdded,
    Progress,
    RunAborted,
    SubQueryFailed,
    Written,
    encode,
    storable,
    without_secrets,
)
from deep_research.state.identity import sha256_hex
from deep_research.supervisor.hooks import Park
from deep_research.testing import ScriptedSearch

QUESTION = "What is known of the lighthouse towers?"


@pytest.fixture
def key() -> str:
    made = f'sk-{secrets.token_hex(12)}/+"é'
    register_secret(made)
    return made


def forms(key: str) -> list[str]:
    raw = key.encode()
    encoded = [quote(key), quote(key, safe=""), raw.hex(), raw.hex().upper(), base64.b64encode(raw).decode()]
    return [key, key.lower(), key.upper(), json.dumps(key)[1:-1], *encoded]


def files(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in folder.rglob("*") if path.is_file()]


def test_all_forms_of_a_key_are_masked_and_places_stay(key: str) -> None:
    for form in forms(key):
        assert masked(f"a {form} b") == "a *** b"
        assert blotted(f"a {form} b") == f"a {'*' * len(form)} b"
        assert blotted_bytes(f"a {form} b".encode()) == b"a " + b"*" * len(form.encode()) + b" b"
        assert holds_secret(f"a {form} b".encode())
    assert not holds_secret(b"an ordinary text")


def test_what_may_be_a_word_is_hidden_in_logs_alone() -> None:
    register_secret("ollama")
    register_secret("placeholder")
    assert masked("ask ollama for a placeholder") == "ask ollama for a placeholder"


def test_an_event_without_a_key_is_the_very_same_and_one_with_it_can_be_read_back(key: str) -> None:
    clean = NoticeAdded(notice=Notice(name="sources", message="all is well"))
    assert storable(clean) == (clean, encode(clean))
    assert storable(clean)[0] is clean
    for form in forms(key):
        event, body = storable(
            NoticeAdded(notice=Notice(name="sources", message=f"\n{form}", skipped=(form,)))
        )
        assert event == NoticeAdded(notice=Notice(name="sources", message="\n***", skipped=("***",)))
        assert body == encode(event)


@pytest.mark.parametrize(
    "event",
    [
        HookFailed(hook="before_phase", error="No such file: '/usr/lib/me/x.cfg'"),
        SubQueryFailed(sub_query_id="subq-1", error="No such file: '/usr/lib/me/x.cfg'"),
        AgentFellBack(
            role="planner", error="no", limit=Limit(name="max_usd:planning", message="in '/usr/lib/me/x.cfg'")
        ),
        NoticeAdded(notice=Notice(name="sources", message="in '/usr/lib/me/x.cfg'", skipped=("x.cfg",))),
        RunAborted(reason="error", message="of '/usr/lib/me/x.cfg'", phase="planning", iteration=1),
    ],
    ids=lambda event: event.name,
)
def test_the_words_of_errors_are_stored_without_paths_of_the_machine(event: Event) -> None:
    kept, body = storable(event)
    assert body == encode(kept)
    assert b"/usr" not in body
    assert "…/x.cfg".encode() in body
    assert storable(kept)[0] is kept


def test_notes_to_watchers_have_no_key(key: str) -> None:
    note = without_secrets(Written(phase="synthesis", message=key, text=f"a {key}"))
    assert note == Written(phase="synthesis", message="***", text="a ***")
    assert without_secrets(Progress(phase="synthesis", message="b")).message == "b"


@pytest.mark.timed
def test_looking_for_keys_in_an_event_takes_no_time_that_could_be_measured(
    seconds: Any,
) -> None:
    for _ in range(5):
        register_secret(f"sk-{secrets.token_hex(20)}")
    event = NoticeAdded(notice=Notice(name="sources", message="The towers were built in 1874. " * 3_000))
    body = encode(event)
    bound = 0.5  # 5 ms for an event of 90 KB; it is a fifth of that
    assert seconds(bound, lambda: [holds_secret(body) for _ in range(100)]) < bound


def researched(folder: Path, key: str, **more: Any) -> tuple[DeepResearch, ScriptedSearch, ReadingModel]:
    (folder / "docs").mkdir()
    text = f"# Towers\n\nThe lighthouse towers of the {key} coast were built in 1850. They are white.\n"
    (folder / "docs" / "own.md").write_text(text)
    found = SearchResult(
        address=f"https://found.example/?key={quote(key, safe='')}",
        title=f"Towers {key}",
        snippet=f"The towers {key}",
        text=f"It is {key} that the lighthouse towers of the north are unmanned since 1988, says the board.",
    )
    search, model = ScriptedSearch([found]), ReadingModel()
    research = DeepResearch(
        corpus=folder / "docs", search=["corpus", search], model=model, data_dir=folder / "data", **more
    )
    return research, search, model


def test_a_key_in_the_question_the_instructions_and_the_texts_reaches_no_file_and_no_service(
    tmp_path: Path, key: str
) -> None:
    research, search, model = researched(tmp_path, key)
    with research:
        result = research.run(f"{QUESTION} {key}", system_prompt=f"Use {key}.", user_id=key, session_id=key)
        assert result.status is RunStatus.COMPLETED
        texts = {
            source.content_hash: research.text(source) for source in result.sources if source.content_hash
        }
        assert all(sha256_hex(text.encode()) == name for name, text in texts.items())
        assert any("*" * len(key) in text for text in texts.values())
        for each in [*result.citations, *(quote_ for f in result.findings for quote_ in f.quotes)]:
            assert texts[each.content_hash][each.start : each.end] == each.quote
        assert any(source.passages for source in result.sources)
        events = [repr(event) for event in research.events(result.research_id)]
        rows = [repr(row) for row in research.list()]
    sent = [call.model_dump_json() for call in model.calls] + [request.query for request in search.requests]
    for text in (*sent, *events, *rows, result.model_dump_json()):
        assert not [form for form in forms(key) if form in text]
    for body in files(tmp_path / "data"):
        assert not [form for form in forms(key) if form.encode() in body]


def test_a_run_whose_question_has_a_key_can_be_resumed(tmp_path: Path, key: str) -> None:
    def ask(state: Any, prompt: str) -> Park | None:
        return Park(f"the editor {key}") if state.phase == "planning" and not state.guidance else None

    research, _, _ = researched(tmp_path, key, hooks=SupervisorHooks(think_pause=ask))
    with research:
        parked = research.run(f"{QUESTION} {key}")
        assert (parked.status, parked.message) == (RunStatus.PARKED, "the editor ***")
        done = research.resume(parked.research_id, answer=f"Mind {key} and the keepers.")
        assert done.status is RunStatus.COMPLETED
        assert "Mind *** and the keepers." in [guidance.text for guidance in done.state.guidance]
        assert done.query.endswith("***")
    for body in files(tmp_path / "data"):
        assert not [form for form in forms(key) if form.encode() in body]
