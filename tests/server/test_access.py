"""Who may: every route of the application, for every role, host and origin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fastapi.testclient import TestClient

from deep_research import DeepResearch
from deep_research.research.operations import OPERATIONS, ROUTES
from deep_research.server.app import create_app
from deep_research.server.problems import OPENAI_PATHS

UNROUTED = {
    "run": "A request is answered at once: POST /v1/runs, and its events.",
    "start": "As run.",
    "work": "The process of the server works itself.",
    "wake": "The worker of the server wakes runs.",
    "drain": "The server drains when its process is asked to end.",
    "skipped": "It names files of the server's machine.",
}
RUN = "/v1/runs/{research_id}"
ENTRY = "/v1/memory/entries/{entry_id}"
CORPUS = "/v1/corpora/{name}"
RESPONSE = "/v1/responses/{response_id}"
THREAD = "/langgraph/threads/{thread_id}"
ROLES = ("none", "unknown", "reader", "other", "runner", "admin")
OPEN = (200,) * 6
READ = (401, 401, 200, 404, 200, 200)
OWN = (401, 401, 200, 200, 200, 200)  # a list of what is one's own
# Of a run of alice that is completed; a reader and a runner of hers, another runner, and an admin ask, in this order.
EXPECTED: dict[tuple[str, str], tuple[int, ...]] = {
    ("GET", "/healthz"): OPEN,
    ("GET", "/readyz"): OPEN,
    ("GET", "/openapi.json"): OPEN,
    ("GET", "/metrics"): (401, 401, 403, 403, 403, 200),
    ("GET", "/v1/runs"): OWN,
    ("GET", "/v1/waiting"): OWN,
    ("GET", "/v1/corpora"): OWN,
    ("GET", "/v1/sessions"): OWN,
    ("GET", "/v1/sessions/turns"): READ,
    ("PUT", "/v1/sessions/title"): (401, 401, 403, 404, 204, 204),
    ("DELETE", "/v1/sessions"): (401, 401, 403, 404, 204, 404),
    ("PUT", CORPUS): (401, 401, 403, 403, 403, 200),
    ("DELETE", CORPUS): (401, 401, 403, 403, 403, 404),
    ("POST", "/v1/runs"): (401, 401, 403, 202, 202, 202),
    ("POST", "/v1/estimate"): (401, 401, 403, 200, 200, 200),
    ("GET", RUN): READ,
    ("GET", f"{RUN}/result"): READ,
    ("GET", f"{RUN}/report"): READ,
    ("GET", f"{RUN}/events"): READ,
    ("GET", f"{RUN}/claims"): READ,
    ("GET", f"{RUN}/sources"): READ,
    ("GET", f"{RUN}/sources/{{source_id}}/text"): READ,
    ("GET", f"{RUN}/pack"): READ,
    ("GET", f"{RUN}/verification"): READ,
    ("POST", f"{RUN}/cancel"): (401, 401, 403, 404, 202, 202),
    ("POST", f"{RUN}/pause"): (401, 401, 403, 404, 409, 409),
    ("POST", f"{RUN}/resume"): (401, 401, 403, 404, 202, 202),
    ("POST", f"{RUN}/steer"): (401, 401, 403, 404, 409, 409),
    ("POST", f"{RUN}/answer"): (401, 401, 403, 404, 409, 409),
    # An entry of alice's memory: an admin's token sees the admin's own alone.
    ("GET", "/v1/memory"): OWN,
    ("POST", "/v1/memory"): (401, 401, 403, 201, 201, 201),
    ("GET", "/v1/memory/export"): OWN,
    ("POST", "/v1/memory/forget"): (401, 401, 403, 200, 200, 200),
    ("GET", ENTRY): (401, 401, 200, 404, 200, 404),
    ("PATCH", ENTRY): (401, 401, 403, 404, 200, 404),
    ("GET", "/v1/models"): OWN,
    ("GET", "/v1/models/{model}"): OWN,
    ("POST", "/v1/responses"): (401, 401, 403, 200, 200, 200),
    ("POST", "/v1/chat/completions"): (401, 401, 403, 200, 200, 200),
    ("GET", RESPONSE): READ,
    ("POST", f"{RESPONSE}/cancel"): (401, 401, 403, 404, 200, 200),
    ("DELETE", RESPONSE): (401, 401, 403, 404, 200, 404),
    ("POST", "/mcp"): OWN,  # what a tool may do, tests/mcp_server/test_mcp_http.py has
    ("GET", "/capabilities"): OWN,
    ("POST", "/langgraph/runs/stream"): (401, 401, 403, 200, 200, 200),
    ("POST", "/langgraph/runs/wait"): (401, 401, 403, 200, 200, 200),
    ("POST", "/langgraph/threads"): (401, 401, 403, 200, 200, 200),
    ("GET", f"{THREAD}/state"): OWN,
    ("POST", f"{THREAD}/state/checkpoint"): OWN,
    ("POST", f"{THREAD}/runs"): (401, 401, 403, 200, 200, 200),
    ("POST", f"{THREAD}/runs/stream"): (401, 401, 403, 200, 200, 200),
    ("POST", f"{THREAD}/runs/wait"): (401, 401, 403, 200, 200, 200),
    ("GET", f"{THREAD}/runs/{{run_id}}"): READ,
    ("GET", f"{THREAD}/runs/{{run_id}}/stream"): READ,
    ("GET", f"{THREAD}/runs/{{run_id}}/join"): READ,
    ("POST", f"{THREAD}/runs/{{run_id}}/cancel"): (401, 401, 403, 404, 200, 200),
    ("POST", "/graph/invoke"): (401, 401, 403, 200, 200, 200),
    ("POST", "/graph/stream"): (401, 401, 403, 200, 200, 200),
    ("POST", "/graph/batch"): (401, 401, 403, 200, 200, 200),
    ("GET", "/graph/runs/{research_id}"): READ,
    ("DELETE", RUN): (401, 401, 403, 404, 204, 404),  # the admin comes when it is gone
}
SESSION = {"session_id": "lights", "user_id": "alice"}
STATE = {"messages": [{"role": "user", "content": "Who built Skerryvore?"}]}
UPLOAD = {"files": ("lights.md", b"# Lights")}
BODIES: dict[str, Any] = {
    "/v1/runs": {"query": "Who built Skerryvore?"},
    "/v1/estimate": {"query": "Who built Skerryvore?"},
    "/v1/responses": {"input": "Who built Skerryvore?", "background": True},
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "Who built Skerryvore?"}]},
    "/mcp": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    "/graph/invoke": STATE,
    **{f"/langgraph/runs/{view}": {"input": STATE} for view in ("stream", "wait")},
    **{f"{THREAD}/runs{view}": {"input": STATE} for view in ("", "/stream", "/wait")},
    "/langgraph/threads": {},
    f"{THREAD}/state/checkpoint": {"checkpoint": {"thread_id": "lights"}},
    "/graph/stream": STATE,
    "/graph/batch": {"inputs": [STATE]},
    "/v1/sessions/title": {"session_id": "lights", "user_id": "alice", "title": "Lights"},
    "/v1/memory": {"kind": "profile", "text": "Keeper of a lighthouse."},
    "/v1/memory/forget": {"kinds": ["episodes"]},
    ENTRY: {"text": "Was a keeper."},
    f"{RUN}/steer": {"text": "Mind the keepers."},
    f"{RUN}/answer": {"value": "The one in Scotland."},
}


def routes_of(routes: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """Method and path of every route of an application, those too that its document does not name."""
    for route in routes:
        if hasattr(route, "original_router"):  # that an application includes
            yield from routes_of(route.original_router.routes)
        else:
            yield from ((method, route.path) for method in route.methods - {"HEAD"})


@pytest.fixture
def working(engine: DeepResearch) -> Iterator[DeepResearch]:
    """The engine, with a worker."""
    with ThreadPoolExecutor() as pool:
        worker = pool.submit(engine.work)
        yield engine
        engine.drain(0)
        worker.result()


def test_every_verb_has_a_route_or_a_reason_for_none() -> None:
    assert set(ROUTES) | set(UNROUTED) == set(OPERATIONS)
    assert not set(ROUTES) & set(UNROUTED)


def test_every_route_is_expected_and_every_expectation_a_route(engine: DeepResearch) -> None:
    app = create_app(engine)
    assert set(routes_of(app.routes)) == set(EXPECTED)
    documented = {(name.upper(), path) for path, item in app.openapi()["paths"].items() for name in item}
    assert documented == set(EXPECTED) - {("GET", "/openapi.json")}
    of_verbs = {(route.method, route.path) for route in ROUTES.values()}
    assert of_verbs <= set(EXPECTED)


@pytest.mark.parametrize(("method", "path"), EXPECTED, ids=[" ".join(each) for each in EXPECTED])
def test_a_route_answers_each_role_as_the_table_says(
    guarded: TestClient, working: DeepResearch, tokens: dict[str, str], method: str, path: str
) -> None:
    engine = working
    run_id = engine.run("Who built Bell Rock?", user_id="alice", session_id="lights").research_id
    source_id = engine.result(run_id).sources[0].id
    url = path.format(
        research_id=run_id,
        source_id=source_id,
        entry_id=engine.memory_add("profile", "Keeper of a lighthouse.", user_id="alice").id,
        response_id=run_id.replace("deepres-", "resp_"),
        model="deep-research",
        name="lights",
        thread_id="lights",
        run_id=run_id,
    )
    answers: dict[str, int] = {}
    for role in ROLES:
        token = {"none": None, "unknown": "dr_" + "x" * 43}.get(role, tokens.get(role))
        for header in ("authorization", "x-api-key"):
            sent: dict[str, str] = {}
            if token is not None:
                sent[header] = f"Bearer {token}" if header == "authorization" else token
            body = {"files": UPLOAD} if path == CORPUS and method == "PUT" else {"json": BODIES.get(path)}
            named = (
                SESSION if path.endswith("/turns") or (method, path) == ("DELETE", "/v1/sessions") else None
            )
            answer = guarded.request(method, url, headers=sent, params=named, **body)
            if method != "DELETE":
                assert answers.setdefault(role, answer.status_code) == answer.status_code, header
            answers.setdefault(role, answer.status_code)
        if answer.status_code == 401:
            assert "Bearer" in answer.headers["www-authenticate"]
        if answer.status_code >= 400:
            of_openai = path.startswith(OPENAI_PATHS)
            kind = "application/json" if of_openai else "application/problem+json"
            assert answer.headers["content-type"] == kind
            problem = answer.json()["error"] if of_openai else answer.json()
            assert problem["code"]
            assert problem["message" if of_openai else "detail"]
    assert tuple(answers[role] for role in ROLES) == EXPECTED[method, path]


def test_a_user_sees_and_lists_his_own_runs_alone(
    guarded: TestClient, engine: DeepResearch, tokens: dict[str, str]
) -> None:
    for user in ("alice", "bob", "alice"):
        engine.run("Who built Bell Rock?", user_id=user)

    def listed(role: str, query: str = "") -> list[str]:
        answer = guarded.get(f"/v1/runs{query}", headers={"x-api-key": tokens[role]})
        return [run["user_id"] for run in answer.json()["data"]]

    assert listed("runner") == ["alice", "alice"]
    assert listed("other") == ["bob"]
    assert listed("other", "?user=alice") == []
    assert listed("admin") == ["alice", "bob", "alice"]
    assert listed("admin", "?user=bob") == ["bob"]
    foreign = engine.list(user="alice")[0].research_id
    headers = {"x-api-key": tokens["other"]}
    assert guarded.get("/v1/runs", params={"after": foreign}, headers=headers).status_code == 404


def test_a_token_sees_changes_and_forgets_the_memory_of_its_own_user_alone(
    guarded: TestClient, engine: DeepResearch, tokens: dict[str, str]
) -> None:
    entries = {
        user: engine.memory_add("preferences", f"Of {user}.", user_id=user)
        for user in ("alice", "bob", "root", None)
    }

    def ask(role: str, method: str, path: str, **body: Any) -> Any:
        return guarded.request(method, f"/v1/memory{path}", headers={"x-api-key": tokens[role]}, **body)

    for role, user in (("runner", "alice"), ("reader", "alice"), ("other", "bob"), ("admin", "root")):
        own = entries[user].id
        assert [entry["id"] for entry in ask(role, "GET", "").json()["data"]] == [own]
        assert [entry["id"] for entry in ask(role, "GET", "/export").json()["entries"]] == [own]
        assert ask(role, "GET", "?user_id=alice").status_code == 422
        for other in {entry.id for entry in entries.values()} - {own}:
            assert ask(role, "GET", f"/entries/{other}").status_code == 404
            assert ask(role, "GET", f"?after={other}").status_code == 404
            if role != "reader":
                assert ask(role, "PATCH", f"/entries/{other}", json={"text": "Mine."}).status_code == 404
                assert ask(role, "POST", "/forget", json={"ids": [other]}).status_code == 404
                assert ask(role, "POST", "/forget", json={"ids": [own], "user_id": "bob"}).status_code == 422
    assert ask("other", "POST", "/forget", json={"everything": True}).json() == {"forgotten": 1}
    left = [entry.text for user in entries for entry in engine.memory_list(user_id=user)]
    assert left == ["Of alice.", "Of root.", "Of None."]


def test_the_memory_is_listed_by_pages_that_join(client: TestClient, engine: DeepResearch) -> None:
    ids = [engine.memory_add("profile", f"Number {number}.", user_id="ann").id for number in range(5)][::-1]
    found: list[str] = []
    after: str | None = None
    while True:
        params = {"limit": 2, "user_id": "ann", **({"after": after} if after else {})}
        page = client.get("/v1/memory", params=params).json()
        found += [entry["id"] for entry in page["data"]]
        engine.memory_forget(found[-1], user_id="ann")  # a page goes on where its last entry was
        if (after := page["next"]) is None:
            break
    assert found == ids
    assert client.get("/v1/memory", params={"user_id": "ann", "kinds": ["episodes"]}).json()["data"] == []
    assert client.get("/v1/memory").json()["data"] == []


def test_a_run_belongs_to_the_user_of_the_token_that_started_it(
    guarded: TestClient, tokens: dict[str, str]
) -> None:
    headers = {"x-api-key": tokens["runner"]}
    assert guarded.post("/v1/runs", json={"query": "Who?"}, headers=headers).json()["user_id"] == "alice"
    refused = guarded.post("/v1/runs", json={"query": "Who?", "user_id": "bob"}, headers=headers)
    assert refused.status_code == 422


def test_the_text_of_a_source_is_given_for_its_own_run_alone(
    guarded: TestClient, engine: DeepResearch, tokens: dict[str, str]
) -> None:
    mine = engine.run("Who built Bell Rock?", user_id="bob")
    theirs = engine.run("Who built Skerryvore?", user_id="alice")
    foreign = next(s for s in theirs.sources if s.id not in {each.id for each in mine.sources})
    headers = {"x-api-key": tokens["other"]}
    for source_id in (foreign.id, foreign.content_hash, "../x", "src-000000000000"):
        url = f"/v1/runs/{mine.research_id}/sources/{source_id}/text"
        assert guarded.get(url, headers=headers).status_code == 404, source_id
