"""Whole runs over servers that do one thing in their own way: they end with the model's report and with true books, and
no cap is passed."""

import asyncio
import json
from pathlib import Path

import pytest
from prompt_reading import reading
from servers import DIALECTS, ModelServer
from servers.http import Reply

from deep_research import DeepResearch, RunStatus
from deep_research.state.events import Written

pytestmark = pytest.mark.timed

CORPUS = Path(__file__).parents[2] / "docs" / "examples" / "corpus"
QUESTION = "Who kept the light at Boston, and what became of him?"
CONTROL = ("<|", "|>", "[THINK]", "[/THINK]", "</s>", "think>", "We need")


def answered(served):
    """As a good model would, from what stands in the prompt; small questions of probes with the smallest answer."""
    if "sky" in served.text:
        return {"colour": "blue", "seen": ["the sun"]}
    said = served.messages[-1]["content"]
    told = said.partition("JSON schema:\n")[2]
    tools = served.body.get("tools")
    schema = tools[0]["function"]["parameters"] if tools else served.schema
    wanted = reading(said, schema or (json.loads(told) if told else None))
    return json.loads(wanted) if tools else wanted


def run(server, **options):
    with DeepResearch(
        model=f"openai-compatible:m@{server.base_url}/v1",
        corpus=CORPUS,
        store="memory",
        operation_timeout=300.0,
        **options,
    ) as research:
        return research.run(QUESTION)


def true_books(result, server):
    usage, bill = result.usage, server.billed
    assert usage.model_calls == len(server.log)
    assert usage.input_tokens >= bill.input
    assert usage.output_tokens >= bill.output
    if usage.tokens_known:
        assert (usage.input_tokens, usage.output_tokens) == (bill.input, bill.output)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_run_ends_with_the_models_report(dialect):
    with ModelServer(answered, dialect=dialect) as server:
        result = run(server)
    assert result.status is RunStatus.COMPLETED, result.message
    reports = [served for served in server.log if served.text.startswith("You write the report")]
    assert any(served.status == 200 and served.usage for served in reports)
    assert not any("The synthesizer could not do its work" in notice.message for notice in result.notices)
    assert not any(token in result.report for token in CONTROL)
    true_books(result, server)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_who_watches_is_told_the_text_and_no_control_token(dialect):
    async def watch(research):
        return [event async for event in research.stream(QUESTION)]

    with (
        ModelServer(answered, dialect=dialect) as server,
        DeepResearch(
            model=f"openai-compatible:m@{server.base_url}/v1", corpus=CORPUS, store="memory"
        ) as research,
    ):
        events = asyncio.run(watch(research))
    told = "".join(event.text for event in events if isinstance(event, Written) and event.text)
    assert told
    assert not any(token in told for token in CONTROL if token != "We need")
    assert any(event.type == "run.completed" for event in events)


@pytest.mark.parametrize("dialect", [name for name, made in DIALECTS.items() if made.window])
def test_a_window_that_an_error_names_is_kept_for_later_runs(dialect, tmp_path):
    with ModelServer(answered, dialect=dialect) as server:
        for expected in (1, 0):
            before = len(server.log)
            with DeepResearch(
                model=f"openai-compatible:m@{server.base_url}/v1", corpus=CORPUS, data_dir=tmp_path
            ) as research:
                result = research.run(QUESTION)
            assert result.status is RunStatus.COMPLETED
            assumed = [notice for notice in result.notices if "window.model_tokens" in notice.message]
            assert len(assumed) == expected
            refused = [served for served in server.log[before:] if served.usage is None]
            assert len(refused) <= 2 * expected
            assert expected == 0 or refused


@pytest.mark.parametrize(
    "dialect",
    [pytest.param(name, marks=pytest.mark.sweep if n % 4 else ()) for n, name in enumerate(DIALECTS)],
)
@pytest.mark.parametrize("cap", [4_000, 60_000])
def test_a_cap_holds(dialect, cap):
    with ModelServer(answered, dialect=dialect) as server:
        result = run(server, max_tokens=cap, on_outage="extractive")
    assert server.billed.input + server.billed.output <= cap
    true_books(result, server)


BODIES = [
    {"error": "TEXT"},
    {"detail": [{"loc": ["body", "model"], "msg": "TEXT", "type": "x", "input": "canary"}]},
    {"errors": [{"message": "TEXT"}]},
    [{"error": {"code": 400, "message": "TEXT"}}],
    {"Message": "TEXT"},
    {"error": {"message": {"en": "TEXT"}}},
    "TEXT",
    "<html><head><title>TEXT</title></head><body>canary</body></html>",
]


@pytest.mark.parametrize("body", BODIES, ids=str)
@pytest.mark.parametrize("service", ["openai-compatible", "openai", "anthropic", "ollama"])
def test_a_run_that_is_refused_says_why_in_the_servers_own_words(body, service, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key-0123456789")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-0123456789")
    words = "The key sk-proj-abcdefghijklmnop of this team may not use m."
    is_text = isinstance(body, str)
    sent = (body if is_text else json.dumps(body)).replace("TEXT", words)
    path = "" if service in ("anthropic", "ollama") else "/v1"
    with ModelServer() as server:
        server.canned = Reply(400, (sent.encode(),), "text/html" if is_text else "application/json")
        with DeepResearch(
            model=f"{service}:m@{server.base_url}{path}", corpus=CORPUS, store="memory"
        ) as research:
            result = research.run(QUESTION)
    assert result.status is not RunStatus.COMPLETED
    assert "of this team may not use m." in result.message
    assert "abcdefghijklmnop" not in result.message
    assert "canary" not in result.message
