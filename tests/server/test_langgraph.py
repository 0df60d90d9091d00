"""The researcher as a remote graph: LangGraph's own client where it is installed, and the bytes that it reads."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from cutting_proxy import CuttingProxy
from fastapi.testclient import TestClient
from server_process import PATIENCE, ServerProcess, server

from deep_research import DeepResearch
from deep_research.server.app import create_app

pytestmark = pytest.mark.timed

CORPUS = Path(__file__).resolve().parents[2] / "docs" / "examples" / "corpus"
QUESTION = "How tall is the Cape Hatteras lighthouse?"
STATE = {"input": {"messages": [{"type": "human", "content": QUESTION}]}}
TALK = {"input": {"messages": [{"type": "human", "content": "Thanks!"}]}}


@pytest.fixture
def served(engine: DeepResearch) -> Iterator[TestClient]:
    with ThreadPoolExecutor() as pool, TestClient(create_app(engine), base_url="http://127.0.0.1") as client:
        worker = pool.submit(engine.work)
        yield client
        engine.drain(0)
        worker.result()


def events_of(text: str) -> list[tuple[str, str, Any]]:
    """Of each event the id, the name and the data."""
    frames = [
        dict(line.split(": ", 1) for line in frame.split("\n")) for frame in text.split("\n\n") if frame
    ]
    shown = [frame for frame in frames if "event" in frame]
    return [(frame.get("id", ""), frame["event"], json.loads(frame["data"])) for frame in shown]


def is_contract(state: Any) -> bool:
    (message,) = state["messages"]
    return bool(json.loads(message["content"])["completed_capability"] == "research")


def test_a_stream_is_taken_up_behind_an_event(served: TestClient) -> None:
    body = {**STATE, "stream_mode": ["values", "updates", "messages-tuple"], "stream_resumable": True}
    answer = served.post("/langgraph/threads/lights/runs/stream", json=body)
    events = events_of(answer.text)
    assert [name for _, name, _ in events] == ["metadata", "values", "updates", "messages", "end"]
    assert is_contract(events[1][2])
    assert is_contract(events[2][2]["researcher"])
    run_id = events[0][2]["run_id"]
    assert answer.headers["content-location"] == f"/threads/lights/runs/{run_id}"
    place = answer.headers["location"]
    assert place.startswith(f"/threads/lights/runs/{run_id}/stream?")
    for last in ("1", "2", "4"):
        again = served.get(f"/langgraph{place}", headers={"last-event-id": last})
        assert events_of(again.text) == events[int(last) :]
    bad = served.get(f"/langgraph{place}", headers={"last-event-id": "x"})
    assert bad.status_code == 422


def test_a_thread_is_a_session(served: TestClient) -> None:
    thread = served.post("/langgraph/threads", json={}).json()["thread_id"]
    path = f"/langgraph/threads/{thread}"
    assert served.get(f"{path}/state").json()["values"] == {"messages": []}
    first = served.post(f"{path}/runs", json=STATE)
    run = first.json()
    assert run["thread_id"] == thread
    assert is_contract(served.get(f"/langgraph{first.headers['location']}").json())
    assert served.get(f"{path}/runs/{run['run_id']}").json()["status"] == "success"
    follow_up = {"input": {"messages": [{"role": "user", "content": "And how old is it?"}]}}
    assert is_contract(served.post(f"{path}/runs/wait", json=follow_up).json())
    state = served.get(f"{path}/state").json()
    messages = state["values"]["messages"]
    assert [message["type"] for message in messages] == ["human", "ai"] * 2
    assert [message["content"] for message in messages][::2] == [QUESTION, "And how old is it?"]
    assert messages[1] == served.get(f"{path}/runs/{run['run_id']}/join").json()["messages"][0]
    for place, seen in ((run["run_id"], messages[:2]), (None, messages)):
        body = {"checkpoint": {"thread_id": thread, "checkpoint_id": place}, "subgraphs": False}
        assert served.post(f"{path}/state/checkpoint", json=body).json()["values"]["messages"] == seen
    lost = {"checkpoint": {"checkpoint_id": "deepres-000000000000"}}
    assert served.post(f"{path}/state/checkpoint", json=lost).status_code == 404
    (session,) = served.get("/v1/sessions").json()["data"]
    assert session["session_id"] == thread


def test_a_run_is_found_in_its_own_thread_alone(served: TestClient) -> None:
    events = events_of(served.post("/langgraph/runs/stream", json=STATE).text)
    run_id = events[0][2]["run_id"]
    assert served.get(f"/langgraph/threads/{run_id}/runs/{run_id}").status_code == 200
    for view in ("", "/stream", "/join"):
        assert served.get(f"/langgraph/threads/other/runs/{run_id}{view}").status_code == 404
    assert served.post(f"/langgraph/threads/other/runs/{run_id}/cancel").status_code == 404


def test_small_talk_starts_no_run(served: TestClient) -> None:
    events = events_of(served.post("/langgraph/runs/stream", json=TALK).text)
    assert [name for _, name, _ in events] == ["metadata", "values", "end"]
    assert events[0][2]["run_id"] is None
    assert served.post("/langgraph/runs/wait", json=TALK).json()["messages"][0]["content"].endswith(".")
    assert served.post("/langgraph/threads/lights/runs", json=TALK).status_code == 422
    assert served.get("/v1/runs").json()["data"] == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"input": None},
        {"input": {}},
        {"input": "Who?"},
        {**STATE, "command": {"resume": 1}},
        {**STATE, "webhook": "http://127.0.0.1/"},
        {**STATE, "after_seconds": 3},
        {**STATE, "stream_mode": ["values"] * 21},
        {**STATE, "stream_mode": "x" * 41},
    ],
)
def test_what_is_not_done_is_refused(served: TestClient, body: Any) -> None:
    for path in (
        "runs/stream",
        "runs/wait",
        "threads/t/runs",
        "threads/t/runs/stream",
        "threads/t/runs/wait",
    ):
        answer = served.post(f"/langgraph/{path}", json=body)
        assert answer.status_code == 422
        assert answer.headers["content-type"] == "application/problem+json"
    assert served.get("/v1/runs").json()["data"] == []


def test_a_run_that_is_cancelled_is_interrupted_with_a_reason(client: TestClient) -> None:
    """No worker takes it up."""
    run = client.post("/langgraph/threads/lights/runs", json=STATE).json()
    assert run["status"] == "pending"
    path = f"/langgraph/threads/lights/runs/{run['run_id']}"
    assert client.post(f"{path}/cancel?wait=0&action=interrupt").json()["status"] == "interrupted"
    (message,) = client.get(f"{path}/join").json()["messages"]
    assert message["content"].startswith("The research ended without an answer: ")


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    pytest.importorskip("langgraph.pregel.remote", reason="langgraph is in the extra dev")
    with server(tmp_path_factory.mktemp("home"), corpus=str(CORPUS)) as process:
        yield process


@pytest.fixture
def sdk(remote: ServerProcess) -> Iterator[Any]:
    from langgraph_sdk import get_sync_client

    with get_sync_client(url=f"{remote.address}/langgraph", api_key="none") as made:
        yield made


@pytest.fixture
def graph(sdk: Any) -> Any:
    from langgraph.pregel.remote import RemoteGraph

    return RemoteGraph("deep_research", sync_client=sdk)


def test_the_client_of_langgraph_invokes_and_streams(graph: Any) -> None:
    assert is_contract(graph.invoke(STATE["input"]))
    chunks = list(graph.stream(STATE["input"], stream_mode=["values", "updates"]))
    assert [chunk[0] for chunk in chunks] == ["values", "updates"]
    with pytest.raises(Exception, match="should be a valid list"):
        graph.invoke({"messages": "Who?"})


def test_a_thread_of_the_client_is_a_conversation(remote: ServerProcess, graph: Any) -> None:
    config = {"configurable": {"thread_id": "lights"}}
    graph.invoke(STATE["input"], config=config)
    graph.invoke({"messages": [{"role": "user", "content": "And how old is it?"}]}, config=config)
    with remote.client() as http:
        turns = http.get("/v1/sessions/turns", params={"session_id": "lights"}).json()["data"]
    assert [turn["question"] for turn in turns][1].startswith("How old is Cape Hatteras")
    messages = graph.get_state(config).values["messages"]
    assert [message["type"] for message in messages] == ["human", "ai"] * 2
    assert is_contract({"messages": messages[1:2]})


def test_a_local_graph_gets_one_message_from_it(graph: Any) -> None:
    from langgraph.graph import START, MessagesState, StateGraph

    builder = StateGraph(MessagesState)
    builder.add_node("Researcher", graph)
    builder.add_edge(START, "Researcher")
    messages = builder.compile().invoke(STATE["input"])["messages"]
    assert [message.type for message in messages] == ["human", "ai"]


def test_the_sdk_waits_and_joins(sdk: Any) -> None:
    assert is_contract(sdk.runs.wait(None, "deep_research", input=STATE["input"]))
    thread = sdk.threads.create()["thread_id"]
    run = sdk.runs.create(thread, "deep_research", input=STATE["input"])
    assert is_contract(sdk.runs.join(thread, run["run_id"]))
    assert sdk.runs.get(thread, run["run_id"])["status"] == "success"
    assert len(sdk.threads.get_state(thread)["values"]["messages"]) == 2


def through(proxy: CuttingProxy) -> Any:
    """The client behind a proxy, and as a graph."""
    from langgraph_sdk import get_sync_client

    return get_sync_client(url=f"{proxy.address}/langgraph", api_key="none")


def as_graph(sdk: Any) -> Any:
    from langgraph.pregel.remote import RemoteGraph

    return RemoteGraph("deep_research", sync_client=sdk)


@pytest.mark.parametrize(
    ("mark", "more", "reset", "last_id"),
    [
        (b'"attempt": 1}\n\n', 0, False, "1"),
        (b'"attempt": 1}\n\n', 0, True, "1"),
        (b"event: values", 60, False, "1"),
        (b"event: updates", 0, False, "2"),
        (b"event: end", 0, False, "3"),
    ],
    ids=["behind the run", "broken off", "in the values", "behind the values", "before the end"],
)
def test_the_client_goes_on_behind_a_cut(
    remote: ServerProcess, mark: bytes, more: int, reset: bool, last_id: str
) -> None:
    with CuttingProxy(remote.port, mark, more, reset=reset) as proxy, through(proxy) as sdk:
        assert is_contract(as_graph(sdk).invoke(STATE["input"]))
    assert proxy.cuts == 1
    posts, resumed = ([head for head in proxy.heads if head.startswith(way)] for way in ("POST", "GET"))
    assert len(posts) == 1
    (again,) = (head.lower() for head in resumed if "/stream?" in head)
    assert f"last-event-id: {last_id}" in again


@pytest.mark.filterwarnings("ignore:Request failed, attempting reconnect")
@pytest.mark.parametrize("waits", [False, True], ids=["streams", "waits"])
def test_the_client_goes_on_when_the_server_is_started_again(tmp_path: Path, waits: bool) -> None:
    with ExitStack() as stack:
        first = stack.enter_context(server(tmp_path, pause=1.0))
        proxy = stack.enter_context(CuttingProxy(first.port))
        sdk = stack.enter_context(through(proxy))
        pool = stack.enter_context(ThreadPoolExecutor())
        if waits:
            answer = pool.submit(sdk.runs.wait, None, "deep_research", input=STATE["input"])
        else:
            answer = pool.submit(as_graph(sdk).invoke, STATE["input"])
        first.wait_for_report()
        first.signal(signal.SIGTERM)
        assert first.wait()[0] == 0
        second = stack.enter_context(server(tmp_path, port=first.port, pause=0.1))
        state = answer.result(PATIENCE)
        assert is_contract(state)
        with second.client() as http:
            (run,) = http.get("/v1/runs").json()["data"]
        assert run["status"] == "completed"
        assert state == sdk.runs.join(run["research_id"], run["research_id"])


@pytest.mark.parametrize("view", ["stream", "wait"])
def test_an_answer_breaks_off_when_the_server_stops(tmp_path: Path, view: str) -> None:
    """Of one that only ended the client would ask how the run stands, and take one that has ended for answered."""
    with server(tmp_path, pause=1.0) as process, process.client() as http:
        with http.stream("POST", f"/langgraph/runs/{view}", json=STATE) as answer:
            process.wait_for_report()
            process.signal(signal.SIGTERM)
            with pytest.raises(httpx.RemoteProtocolError):
                answer.read()
        code, log = process.wait()
    assert code == 0
    assert "Traceback" not in log
