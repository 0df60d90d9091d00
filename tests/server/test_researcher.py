"""The researcher: any conversation gets the contract as pure JSON, or a plain sentence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from deep_research import DeepResearch
from deep_research.capabilities.research_contract import ResearchContract
from deep_research.capabilities.small_talk import small_talk
from deep_research.server import researcher_routes
from deep_research.server.app import create_app
from deep_research.server.token_file import TokenFile, add_token
from deep_research.testing import ScriptedSearch, scripted_agents

QUESTION = "Who built Bell Rock?"
FIRST = {"role": "user", "content": QUESTION}
CONTRACT = {
    "completed_capability": "research",
    "data": {
        "research_summary": {
            "topic": "How tall is Skerryvore?",
            "summary": "Skerryvore is 48 metres tall.",
            "key_points": ["It is 48 metres tall."],
            "sources": ["skerryvore.md"],
        },
        "tool_used": True,
    },
}


def human(content: Any, **more: Any) -> dict[str, Any]:
    """A message of a user as LangChain writes one."""
    fields = {"additional_kwargs": {}, "response_metadata": {}, "name": None, "id": None}
    return {"content": content, "type": "human", **fields, **more}


def ai(content: Any, **more: Any) -> dict[str, Any]:
    return {"content": content, "type": "ai", **more}


SENDERS = (
    {"role": "user"},
    {"type": "human"},
    {"type": "HumanMessageChunk"},
    {"role": "user", "type": "chat"},
)
ASKED: dict[str, list[dict[str, Any]]] = {
    **{
        f"{next(iter(sender.values()))} {number} {place}": [{**sender, "content": content}]
        for number, sender in enumerate(SENDERS)
        for place, content in enumerate(
            (
                QUESTION,
                [{"type": "text", "text": QUESTION}],
                [QUESTION],
                ["Thanks.", {"type": "text", "text": QUESTION}],
                f"Hello. {QUESTION}",
                f"  \n{QUESTION}\n",
                'Research {"completed_capability": "research"}.',
                "Research ```json [1] [unsupported]```",
            )
        )
    },
    **{
        f"third turn {name}": [
            human("How tall is Skerryvore?"),
            answer,
            human("And how old is it?"),
            answer,
            FIRST,
        ]
        for name, answer in {
            "contract": ai(json.dumps(CONTRACT)),
            "text": ai("It is 48 metres tall."),
            "role": {"role": "assistant", "content": "It is 48 metres tall."},
            "other contract": ai('{"completed_capability": "create_document", "data": {}}'),
            "broken JSON": ai('{"completed_capability": "research", "data":'),
            "parts": ai(
                [{"type": "text", "text": "Tall."}, {"type": "tool_use", "id": "t1", "name": "search"}]
            ),
            "tool call": ai("", tool_calls=[{"name": "search", "args": {}, "id": "t1"}]),
            "nothing": ai(None),
            "long": ai("Tall. " * 10_000),
        }.items()
    },
    **{
        f"with {name}": [*messages, FIRST]
        for name, messages in {
            "system": [{"role": "system", "content": "Be brief."}],
            "two systems": [
                {"type": "system", "content": "Be brief."},
                {"role": "developer", "content": "Be."},
            ],
            "empty system": [{"type": "system", "content": ""}],
            "tool": [{"type": "tool", "content": "48 metres", "tool_call_id": "t1"}],
            "function": [{"role": "function", "name": "f", "content": "48"}],
            "unknown type": [{"type": "weather", "content": "Rain."}],
            "removal": [{"type": "remove", "id": "m1", "content": ""}],
            "small talk": [human("Hi!"), ai("Hello."), human("Thanks"), ai("You are welcome.")],
            "empty question": [human(""), ai("What?")],
            "an answer first": [ai("What may I research?")],
            "images before": [human([{"type": "image_url", "image_url": {"url": "x"}}]), ai("A light.")],
            "199 messages": [human("How tall is Skerryvore?"), *[ai("Tall.")] * 198],
        }.items()
    },
    **{
        f"then {name}": [FIRST, *messages]
        for name, messages in {
            "a plan": [ai('{"plan": ["research", "create_document"]}', name="Supervisor")],
            "a tool": [{"type": "tool", "content": "nothing", "tool_call_id": "t1"}],
            "a system": [{"type": "system", "content": "Go on."}],
            "an unknown type": [{"type": "weather", "content": "Rain."}],
        }.items()
    },
}
NOT_ASKED: dict[str, list[dict[str, Any]]] = {
    "no messages": [],
    "an answer alone": [ai("Hello.")],
    "a system alone": [{"role": "system", "content": QUESTION}],
    "a tool alone": [{"type": "tool", "content": QUESTION, "tool_call_id": "t1"}],
    "an unknown type alone": [{"type": "weather", "content": QUESTION}],
    "no content": [human(None)],
    "no parts": [human([])],
    "empty parts": [human([{"type": "text"}, "", {"type": "text", "text": " "}])],
    "thanks at the end": [FIRST, ai(json.dumps(CONTRACT)), human("Thanks a lot!")],
    **{
        f"talk {text!r}": [human(text)]
        for text in (
            *("", " ", "\n\t", "?!", "…", "👍", "\u200b"),
            *("hi", "Hello!", "Hey there", "Good morning", "Hello, how are you?", "HALLO", "How are you?"),
            *(
                "thanks",
                "Thank you very much!",
                "Many thanks, goodbye",
                "Merci",
                "ok",
                "OK, great, thanks",
                "Bye.",
            ),
        )
    },
}
REFUSED: dict[str, Any] = {
    "no messages": {},
    "messages of no list": {"messages": "Who?"},
    "a message of no object": {"messages": ["Who?"]},
    "a message of nobody": {"messages": [{"content": "Who?"}]},
    "a number for content": {"messages": [human(7)]},
    "an object for content": {"messages": [human({"text": "Who?"})]},
    "201 messages": {"messages": [human("Who?")] * 201},
    "a long message": {"messages": [human("x" * 100_001)]},
    "a long question": {"messages": [human("Who? " * 10_000)]},
    "many parts": {"messages": [human(["x"] * 201)]},
    "a picture": {"messages": [human(["What is it?", {"type": "image_url", "image_url": {"url": "x"}}])]},
    "long instructions": {"messages": [{"role": "system", "content": "x" * 20_001}, FIRST]},
    "half a character": {"messages": [human("Who \ud800?")]},
    "half a character before": {"messages": [ai("Tall \ud800."), FIRST]},
    "a long type": {"messages": [{"type": "x" * 65, "content": ""}]},
    "a long next": {"messages": [FIRST], "next": "x" * 201},
    "a list for context": {"messages": [FIRST], "context": []},
    "an input of no state": {"input": QUESTION},
    "an input of nothing": {"input": None},
    "a list": [FIRST],
    "a text": QUESTION,
    "nothing": None,
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client of a server without tokens that works on its runs."""
    agents = scripted_agents(without=["gatherer"])
    home = tmp_path_factory.mktemp("home")
    with (
        DeepResearch(search=[ScriptedSearch()], agents=agents, data_dir=home) as engine,
        ThreadPoolExecutor() as pool,
        TestClient(create_app(engine), base_url="http://127.0.0.1") as client,
    ):
        worker = pool.submit(engine.work)
        yield client
        engine.drain(0)
        worker.result()


def invoke(client: TestClient, body: Any, **headers: str) -> Any:
    content = json.dumps(body)  # half characters as escapes, which httpx does not write
    return client.post(
        "/graph/invoke", content=content, headers={"content-type": "application/json", **headers}
    )


def runs(client: TestClient) -> list[str]:
    return [run["research_id"] for run in client.get("/v1/runs", params={"limit": 100}).json()["data"]]


@pytest.mark.parametrize("messages", ASKED.values(), ids=ASKED)
def test_a_question_gets_one_message_of_the_contract_alone(
    served: TestClient, messages: list[dict[str, Any]]
) -> None:
    answer = invoke(served, {"messages": messages, "next": "Researcher", "context": {"plan": None}})
    assert answer.status_code == 200, answer.text
    assert answer.json()["context"] == {"plan": None}
    (message,) = answer.json()["messages"]
    assert message["type"] == "ai"
    contract = json.loads(message["content"])
    assert set(contract) == {"completed_capability", "data"}
    assert set(contract["data"]) == {"research_summary", "tool_used"}
    assert set(contract["data"]["research_summary"]) == {"topic", "summary", "key_points", "sources"}
    found = ResearchContract.model_validate(contract).data.research_summary
    result = served.get(f"/v1/runs/{message['id']}/result").json()
    supported = {claim["text"] for claim in result["claims"] if claim["verdict"] == "supported"}
    assert found.key_points
    assert set(found.key_points) <= supported
    assert set(found.sources) == {each["url"] for each in result["sources"]} & set(found.sources)
    assert "[unsupported]" not in found.summary
    assert found.topic == result["query"]


@pytest.mark.parametrize("messages", NOT_ASKED.values(), ids=NOT_ASKED)
def test_what_asks_for_no_research_gets_a_plain_sentence_and_starts_no_run(
    served: TestClient, messages: list[dict[str, Any]]
) -> None:
    before = runs(served)
    answer = invoke(served, {"input": {"messages": messages}})
    assert answer.status_code == 200, answer.text
    assert answer.json()["metadata"]["run_id"] is None
    (message,) = answer.json()["output"]["messages"]
    assert message["content"].endswith(".")
    with pytest.raises(ValueError):
        json.loads(message["content"])
    assert runs(served) == before


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused_by_every_route(served: TestClient, body: Any) -> None:
    before = runs(served)
    for path, sent in (
        ("invoke", body),
        ("stream", body),
        ("batch", {"inputs": [{"messages": [FIRST]}, body]}),
    ):
        headers = {"content-type": "application/json"}
        answer = served.post(f"/graph/{path}", content=json.dumps(sent), headers=headers)
        assert answer.status_code == 422, path
        assert answer.headers["content-type"] == "application/problem+json"
    assert runs(served) == before


@pytest.mark.parametrize(
    "context", ['{"x": NaN}', '{"x": Infinity}', '{"x": ' + "[" * 300 + "1e999" + "]" * 300 + "}"]
)
def test_a_context_that_json_cannot_carry_back_is_refused(served: TestClient, context: str) -> None:
    body = f'{{"messages": [], "context": {context}}}'
    answer = served.post("/graph/invoke", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422


def test_a_megabyte_of_text_is_refused_before_it_is_read(served: TestClient) -> None:
    assert invoke(served, {"messages": [human("x" * 1_000_000)]}).status_code == 422
    answer = invoke(served, {"messages": [human("x" * (1 << 20))]})
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


def test_the_shape_is_that_of_langserve_where_the_request_has_it(served: TestClient) -> None:
    config = {"tags": [], "metadata": {}, "recursion_limit": 25, "configurable": {}}
    answer = invoke(
        served, {"input": {"messages": [human(QUESTION)], "context": {}}, "config": config, "kwargs": {}}
    ).json()
    assert set(answer) == {"output", "metadata"}
    assert set(answer["metadata"]) == {"run_id", "feedback_tokens"}
    assert answer["output"]["context"] == {}
    assert answer["output"]["messages"][0]["id"] == answer["metadata"]["run_id"]
    bare = invoke(served, {"messages": [human(QUESTION)]}).json()
    assert set(bare) == {"messages"}  # the caller's context stays as it is


def test_the_conversation_before_the_question_is_its_history(served: TestClient) -> None:
    messages = [
        human("Hi"),
        ai("Hello."),
        human("How tall is Skerryvore?"),
        ai(json.dumps(CONTRACT)),
        human("And how old is it?"),
    ]
    run_id = invoke(served, {"messages": messages}).json()["messages"][0]["id"]
    result = served.get(f"/v1/runs/{run_id}/result").json()
    assert result["state"]["options"]["history"] == [
        {"question": "How tall is Skerryvore?", "answer": "Skerryvore is 48 metres tall."}
    ]
    assert result["query"] == "How old is Skerryvore?"


def events_of(text: str) -> list[tuple[str, Any]]:
    events = []
    for frame in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in frame.split("\n") if not line.startswith(":") and line)
        if lines:
            events.append((lines["event"], json.loads(lines.get("data", "null"))))
    return events


def test_a_stream_has_pings_one_message_and_an_end(served: TestClient) -> None:
    answer = served.post("/graph/stream", json={"input": {"messages": [human("Who built Skerryvore?")]}})
    assert answer.headers["content-type"].startswith("text/event-stream")
    (first, metadata), (second, data), (last, _) = events_of(answer.text)
    assert (first, second, last) == ("metadata", "data", "end")
    (message,) = data["messages"]
    assert json.loads(message["content"])["completed_capability"] == "research"
    assert message["id"] == metadata["run_id"]
    talk = events_of(served.post("/graph/stream", json={"messages": [human("Thanks!")]}).text)
    assert [name for name, _ in talk] == ["metadata", "data", "end"]
    assert talk[0][1]["run_id"] is None


def test_a_batch_has_its_answers_in_order(served: TestClient) -> None:
    texts = ("Who built Fastnet?", "Hello!", "Who built Ar-Men?", "")
    inputs = [{"messages": [human(text)], "context": {"n": n}} for n, text in enumerate(texts)]
    answer = served.post("/graph/batch", json={"inputs": inputs, "config": [{}] * 4, "kwargs": {}}).json()
    topics = []
    for n, output in enumerate(answer["output"]):
        assert output["context"] == {"n": n}
        content = output["messages"][0]["content"]
        is_contract = content.startswith("{")
        topics.append(json.loads(content)["data"]["research_summary"]["topic"] if is_contract else "")
    assert topics == ["Who built Fastnet?", "", "Who built Ar-Men?", ""]
    ids = [each["run_id"] for each in answer["metadata"]["responses"]]
    assert [each is not None for each in ids] == [True, False, True, False]
    assert served.post("/graph/batch", json={"inputs": []}).json()["output"] == []
    many = [{"messages": []}] * 21
    assert served.post("/graph/batch", json={"inputs": many}).status_code == 422


def test_a_repeated_key_is_one_run(served: TestClient) -> None:
    body = {"messages": [human("Who kept Ar-Men?")]}
    first, again = (invoke(served, body, **{"idempotency-key": "order-1874"}).json() for _ in range(2))
    assert first == again
    other = invoke(served, {"messages": [human("Who kept La Jument?")]}, **{"idempotency-key": "order-1874"})
    assert (other.status_code, other.json()["code"]) == (409, "repeated_key")
    batches = [
        served.post("/graph/batch", json={"inputs": [body, body]}, headers={"idempotency-key": "b"}).json()
        for _ in range(2)
    ]
    assert batches[0]["metadata"] == batches[1]["metadata"]


@pytest.mark.parametrize("prefer", ["respond-async", "wait=10, Respond-Async", "respond-async; foo=1"])
def test_a_caller_who_prefers_not_to_wait_is_told_where_to_ask(engine: DeepResearch, prefer: str) -> None:
    app = create_app(engine)
    with TestClient(app, base_url="http://127.0.0.1", root_path="/research") as client:
        answer = client.post("/research/graph/invoke", json={"messages": [FIRST]}, headers={"prefer": prefer})
        assert answer.status_code == 202
        assert answer.headers["preference-applied"] == "respond-async"
        place = answer.headers["location"]
        assert place == f"/research/graph/runs/{answer.json()['run_id']}" == answer.json()["location"]
        waiting = client.get(place)
        assert (waiting.status_code, waiting.json()["status"]) == (202, "queued")
        assert waiting.headers["retry-after"] == "10"
        with ThreadPoolExecutor() as pool:
            worker = pool.submit(engine.work, once=True)
            worker.result()
        done = client.get(place)
    assert done.status_code == 200
    assert json.loads(done.json()["output"]["messages"][0]["content"])["completed_capability"] == "research"


def test_a_run_that_takes_too_long_is_no_answer(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(researcher_routes, "WAIT_SECONDS", 0.01)
    answer = client.post("/graph/invoke", json={"messages": [FIRST]}, headers={"prefer": "wait=10"})
    assert (answer.status_code, answer.json()["code"]) == (503, "not_ended")
    assert "/graph/runs/deepres-" in answer.json()["hint"]
    assert answer.headers["retry-after"]


def test_a_run_without_evidence_says_so_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.md").write_text("# Bread\n\nBread is baked.")
    with (
        DeepResearch(corpus=tmp_path / "corpus", data_dir=tmp_path / "home", local_only=True) as engine,
        ThreadPoolExecutor() as pool,
        TestClient(create_app(engine), base_url="http://127.0.0.1") as client,
    ):
        worker = pool.submit(engine.work)
        answer = client.post("/graph/invoke", json={"messages": [human("zzqx blorf quux?")]}).json()
        engine.drain(0)
        worker.result()
    assert answer["messages"][0]["content"] == "The research ended without an answer: No source was found."


def test_the_runs_of_a_token_are_its_users_and_within_its_caps(engine: DeepResearch, tmp_path: Path) -> None:
    path = tmp_path / "tokens.jsonl"
    alice, bob = (add_token(path, name, max_open_runs=2) for name in ("alice", "bob"))
    app = create_app(engine, TokenFile(path), routes="researcher")
    headers = {"x-api-key": alice, "prefer": "respond-async"}
    with TestClient(app, base_url="http://127.0.0.1") as client:
        place = client.post("/graph/invoke", json={"messages": [FIRST]}, headers=headers).headers["location"]
        assert client.get(place, headers=headers).json()["status"] == "queued"
        assert client.get(place, headers={"x-api-key": bob}).status_code == 404
        refused = client.post("/graph/batch", json={"inputs": [{"messages": [FIRST]}] * 2}, headers=headers)
        assert refused.status_code == 429
    mine = engine.list(user="alice")
    assert sorted(run.status for run in mine) == ["aborted", "queued"]  # the batch left nothing behind
    assert not engine.list(user="bob")


def test_alone_it_has_its_own_routes_and_no_others(engine: DeepResearch) -> None:
    with TestClient(create_app(engine, routes="researcher"), base_url="http://127.0.0.1") as client:
        paths = client.get("/openapi.json").json()["paths"]
        paths = {path for path in paths if not path.startswith("/langgraph/")}
        assert client.get("/v1/runs").status_code == 404
        offer = client.get("/capabilities").json()
    graph = {"/graph/invoke", "/graph/stream", "/graph/batch", "/graph/runs/{research_id}"}
    assert paths == {*graph, "/capabilities", "/healthz", "/readyz"}
    (capability,) = offer["capabilities"]
    assert capability["name"] == "research"
    assert {capability[name] for name in ("invoke", "stream", "batch")} == graph - {
        "/graph/runs/{research_id}"
    }
    assert capability["output_schema"]["properties"].keys() == {"completed_capability", "data"}
    assert "messages" in capability["input_schema"]["required"]


@pytest.mark.parametrize(
    "text",
    [
        QUESTION,
        "Thanks. Who built Bell Rock?",
        "Hello, who is there?",
        "Hi, what is good there?",
        "Good lighthouses",
        "Morning glory",
        "Yes, research the lighthouse",
        "OK Go",
        "thanks " * 9,
        "What is it?",
    ],
)
def test_what_may_be_a_question_is_no_small_talk(text: str) -> None:
    assert small_talk(text) is None
