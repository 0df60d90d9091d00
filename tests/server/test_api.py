"""What a client does with runs over HTTP: it submits, watches, steers, answers, reads and removes them."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from deep_research import Budget, DeepResearch, RunStatus, open_pack
from deep_research.server.app import create_app
from deep_research.server.token_file import TokenFile, add_token
from deep_research.testing import ScriptedSearch, scripted_agents

QUESTION = {"query": "Who built Bell Rock?"}


def submit(client: TestClient, **more: Any) -> str:
    answer = client.post("/v1/runs", json={**QUESTION, **more})
    assert answer.status_code == 202, answer.text
    run_id: str = answer.json()["research_id"]
    assert answer.headers["location"] == f"/v1/runs/{run_id}"
    return run_id


def frames(text: str) -> Iterator[dict[str, str]]:
    """The events of a stream, each with the fields that it has."""
    for block in text.split("\n\n"):
        fields = [line.partition(": ") for line in block.splitlines() if not line.startswith(":")]
        if fields:
            yield {name: value for name, _, value in fields}


def test_a_submitted_run_is_queued_worked_on_and_read(client: TestClient, engine: DeepResearch) -> None:
    run_id = submit(client, max_iterations=1, session_id="s1", budget={"max_searches": 9})
    place = f"/v1/runs/{run_id}"
    assert client.get(place).json()["status"] == "queued"
    assert client.get(f"{place}/report").json()["code"] == "run_state"
    assert engine.work(once=True) == 1

    status = client.get(place).json()
    assert (status["status"], status["session_id"]) == ("completed", "s1")
    result = client.get(f"{place}/result").json()
    assert result == json.loads(engine.result(run_id).model_dump_json())
    assert result["state"]["options"]["budget"]["max_searches"] == 9
    report = client.get(f"{place}/report")
    assert (report.headers["content-type"], report.text) == ("text/markdown; charset=utf-8", result["report"])
    assert client.get(f"{place}/report?format=json").json() == result
    assert client.get(f"{place}/claims").json()["data"] == result["claims"]
    assert client.get(f"{place}/sources").json()["data"] == result["sources"]
    assert client.get(f"{place}/verification").json()["failures"] == []
    assert client.delete(place).status_code == 204
    assert client.get(place).status_code == 404


def test_a_text_is_given_in_pieces(client: TestClient, engine: DeepResearch) -> None:
    run_id = engine.run("Who built Bell Rock?").research_id
    source = engine.result(run_id).sources[0]
    text = engine.text(source)
    place = f"/v1/runs/{run_id}/sources/{source.id}/text"
    whole = client.get(place).json()
    assert (whole["text"], whole["length"], whole["content_hash"]) == (text, len(text), source.content_hash)
    for start, end in ((0, 5), (3, 9), (7, 7), (9, 3), (len(text) - 1, 10**6), (10**6, 10**7)):
        piece = client.get(f"{place}?start={start}&end={end}").json()
        assert piece["text"] == text[piece["start"] : piece["end"]] == text[start:end]
    assert client.get(f"{place}?start=-1").status_code == 422


def test_a_pack_is_the_run_with_its_evidence(
    client: TestClient, engine: DeepResearch, tmp_path: Path
) -> None:
    run_id = engine.run("Who built Bell Rock?").research_id
    answer = client.get(f"/v1/runs/{run_id}/pack")
    assert answer.headers["content-type"] == "application/zip"
    assert int(answer.headers["content-length"]) == len(answer.content)
    file = tmp_path / "pack.zip"
    file.write_bytes(io.BytesIO(answer.content).getvalue())
    with open_pack(file) as packed:
        assert packed.verify().holds
        assert packed.result.report == engine.result(run_id).report


def test_a_stream_has_every_event_with_its_number_and_ends_with_the_run(
    client: TestClient, engine: DeepResearch
) -> None:
    run_id = engine.run("Who built Bell Rock?").research_id
    log = engine.events(run_id)
    place = f"/v1/runs/{run_id}/events"
    answer = client.get(place)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-cache"
    *events, end = frames(answer.text)
    assert [int(each["id"]) for each in events] == [event.seq for event in log]
    assert [each["event"] for each in events] == [event.name for event in log]
    assert json.loads(events[0]["data"])["query"] == "Who built Bell Rock?"
    assert (end["event"], json.loads(end["data"])) == ("end", {"status": "completed"})

    for headers, query in (
        ({"last-event-id": "9"}, ""),
        ({}, "?after=9"),
        ({"last-event-id": "9"}, "?after=2"),
    ):
        *rest, _ = frames(client.get(f"{place}{query}", headers=headers).text)
        assert [int(each["id"]) for each in rest] == [event.seq for event in log[9:]]
    assert client.get(place, headers={"last-event-id": str(log[-1].seq)}).status_code == 204
    for wrong in ("x", "-1", "1.5", "9" * 40, "٣"):
        assert client.get(place, params={"after": wrong}).status_code == 422
    assert client.get(place, headers={"last-event-id": "null"}).status_code == 422


def test_events_come_as_json_by_pages(client: TestClient, engine: DeepResearch) -> None:
    run_id = engine.run("Who built Bell Rock?").research_id
    seen: list[int] = []
    after: int | None = 0
    while after is not None:
        answer = client.get(
            f"/v1/runs/{run_id}/events",
            params={"after": after, "limit": 7},
            headers={"accept": "application/json"},
        ).json()
        seen += [event["seq"] for event in answer["data"]]
        assert len(answer["data"]) <= 7
        after = answer["next"]
    assert seen == [event.seq for event in engine.events(run_id)]


def test_lists_page_without_gap_or_repeat_while_runs_come_and_go(
    client: TestClient, engine: DeepResearch
) -> None:
    runs = [submit(client) for _ in range(7)]
    seen: list[str] = []
    cursor = None
    while True:
        params = {"limit": 2} | ({"after": cursor} if cursor else {})
        page = client.get("/v1/runs", params=params).json()
        seen += [run["research_id"] for run in page["data"]]
        submit(client)
        client.delete(f"/v1/runs/{seen[-1]}")
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == runs[::-1]
    left = client.get("/v1/runs", params={"limit": 2}).json()
    last = left["data"][-1]["research_id"]  # the id of a run is a place too, while there is one
    by_id, by_cursor = (
        client.get("/v1/runs", params={"after": after}).json() for after in (last, left["next"])
    )
    assert by_id == by_cursor
    assert client.get("/v1/runs", params={"after": "deepres-0123456789ab"}).status_code == 404
    for wrong in ("x", "eHh4", "%00", "🐦"):
        assert client.get("/v1/runs", params={"after": wrong}).status_code == 422, wrong
    for limit in ("0", "201", "x"):
        assert client.get("/v1/runs", params={"limit": limit}).status_code == 422
    assert client.get("/v1/runs?nope=1").status_code == 422
    found = client.get("/v1/runs", params={"status": "queued", "text": "bell", "limit": 200}).json()
    assert len(found["data"]) == 7  # four pages were read, each with a run that came and one that went


def test_the_pages_of_sessions_repeat_none_when_one_gets_a_new_turn(
    client: TestClient, engine: DeepResearch
) -> None:
    names = [*(f"session {number}" for number in range(3)), "session 3 " + 190 * "ö"]
    for name in names:
        submit(client, session_id=name)
    first = client.get("/v1/sessions", params={"limit": 2}).json()
    assert [session["session_id"] for session in first["data"]] == [names[3], names[2]]
    submit(client, session_id=names[3])
    second = client.get("/v1/sessions", params={"limit": 2, "after": first["next"]}).json()
    assert [session["session_id"] for session in second["data"]] == [names[1], names[0]]
    assert second["next"] is None
    newest = client.get("/v1/sessions", params={"limit": 1}).json()["data"]
    assert [(session["session_id"], session["turns"]) for session in newest] == [(names[3], 2)]
    for wrong in ("no-cursor", "bm90IGE", "MjAyNjAxMDE", first["next"][1:]):
        assert client.get("/v1/sessions", params={"after": wrong}).status_code == 422, wrong


def test_one_key_is_one_run_and_no_other_question(client: TestClient) -> None:
    first = submit(client, idempotency_key="k1")
    again = client.post("/v1/runs", json=QUESTION, headers={"idempotency-key": "k1"})
    assert again.json()["research_id"] == first
    other = client.post("/v1/runs", json={"query": "Who built Skerryvore?", "idempotency_key": "k1"})
    assert (other.status_code, other.json()["code"]) == (409, "repeated_key")
    two = client.post(
        "/v1/runs", json={**QUESTION, "idempotency_key": "k1"}, headers={"idempotency-key": "k2"}
    )
    assert two.status_code == 422
    assert len(client.get("/v1/runs").json()["data"]) == 1


def test_a_run_that_asks_for_its_plan_waits_is_answered_and_goes_on(
    client: TestClient, engine: DeepResearch
) -> None:
    run_id = submit(client, approve_plan=True)
    engine.work(once=True)
    (waiting,) = client.get("/v1/waiting").json()["data"]
    assert (waiting["research_id"], waiting["kind"], waiting["asks"]) == (run_id, "plan", True)
    wrong = client.post(f"/v1/runs/{run_id}/answer", json={"value": 7})
    assert wrong.status_code == 422
    answered = client.post(f"/v1/runs/{run_id}/answer", json={"value": waiting["default"] or "yes"})
    assert (answered.status_code, answered.json()["status"]) == (202, "parked")
    assert client.get("/v1/waiting").json()["data"][0]["has_answer"]
    engine.work(once=True)
    assert client.get(f"/v1/runs/{run_id}").json()["status"] == "completed"


def test_runs_that_wait_are_listed_by_pages(client: TestClient, engine: DeepResearch) -> None:
    runs = [submit(client, approve_plan=True) for _ in range(3)]
    engine.work(once=True)
    first = client.get("/v1/waiting?limit=2").json()
    second = client.get("/v1/waiting", params={"limit": 2, "after": first["next"]}).json()
    assert [each["research_id"] for each in first["data"] + second["data"]] == runs[::-1]
    assert second["next"] is None


def test_a_run_is_cancelled_and_resumed_in_the_background(client: TestClient, engine: DeepResearch) -> None:
    run_id = submit(client)
    place = f"/v1/runs/{run_id}"
    assert client.post(f"{place}/steer", json={"text": "Mind the keepers."}).status_code == 202
    cancelled = client.post(f"{place}/cancel").json()
    assert (cancelled["status"], cancelled["reason"]) == ("aborted", "cancelled")
    resumed = client.post(f"{place}/resume")
    assert resumed.status_code == 202, resumed.text
    *_, end = frames(client.get(f"{place}/events").text)
    assert json.loads(end["data"]) == {"status": "completed"}
    again = client.post(f"{place}/resume", json={"answer": "yes"})
    assert again.json()["code"] == "run_state"
    assert client.post(f"{place}/resume", json={"setup": "other"}).status_code == 422


@pytest.fixture
def capped(engine: DeepResearch, tmp_path: Path, client_of: Any) -> TestClient:
    """A client with a token that may have one run at once, for two dollars."""
    path = tmp_path / "tokens.jsonl"
    token = add_token(path, "carol", max_open_runs=1, max_usd=2.0)
    client: TestClient = client_of(create_app(engine, TokenFile(path)), headers={"x-api-key": token})
    return client


def test_a_token_caps_the_runs_and_the_dollars_of_its_user(capped: TestClient, engine: DeepResearch) -> None:
    run_id = submit(capped, idempotency_key="k", budget={"max_usd": 50.0, "max_searches": 4})
    assert engine.result(run_id).state.options.budget == Budget(max_usd=2.0, max_searches=4)
    refused = capped.post("/v1/runs", json=QUESTION)
    assert (refused.status_code, refused.json()["code"], refused.headers["retry-after"]) == (
        429,
        "quota",
        "10",
    )
    repeated = capped.post(
        "/v1/runs",
        json={**QUESTION, "budget": {"max_usd": 50.0, "max_searches": 4}},
        headers={"idempotency-key": "k"},
    )
    assert repeated.json()["research_id"] == run_id
    assert capped.post(f"/v1/runs/{run_id}/cancel").json()["status"] == "aborted"
    assert submit(capped) != run_id
    more = capped.post(f"/v1/runs/{run_id}/resume", json={"budget": {"max_usd": 3.0}})
    assert (more.status_code, more.json()["code"]) == (403, "right")
    assert capped.post(f"/v1/runs/{run_id}/resume").status_code == 429


def test_a_run_searches_a_corpus_by_its_name_and_no_path(tmp_path: Path, client_of: Any) -> None:
    for name in ("lights", "keepers"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(f"Robert Stevenson built the {name} of Bell Rock in 1810.")
    named = {name: tmp_path / name for name in ("lights", "keepers")}
    with DeepResearch(named_corpora=named, local_only=True, data_dir=tmp_path / "home") as engine:
        client = client_of(create_app(engine))
        assert client.get("/v1/corpora").json() == {"data": ["keepers", "lights"], "next": None}
        assert str(tmp_path) not in client.get("/v1/corpora").text
        run_id = submit(client, corpora=["lights"])
        engine.work(once=True)
        (source,) = client.get(f"/v1/runs/{run_id}/sources").json()["data"]
        assert "lights" in source["snippet"]
        for wrong in (["nope"], [str(tmp_path / "lights")], ["../lights"]):
            refused = client.post("/v1/runs", json={**QUESTION, "corpora": wrong})
            assert (refused.status_code, refused.json()["code"]) == (422, "unknown_name")


def test_no_answer_names_a_folder_of_the_servers_machine(tmp_path: Path, client_of: Any) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "a.md").write_text("Robert Stevenson built Bell Rock in 1810.")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 broken")
    with DeepResearch(corpus=folder, local_only=True, data_dir=tmp_path / "canary-home") as engine:
        client = client_of(create_app(engine))
        run_id = submit(client)
        engine.work(once=True)
        place = f"/v1/runs/{run_id}"
        parts = (
            "",
            "/result",
            "/report",
            "/report?format=json",
            "/events",
            "/claims",
            "/sources",
            "/verification",
        )
        answers = [client.get(f"{place}{part}") for part in parts]
        answers += [client.get(path) for path in ("/v1/runs", "/v1/waiting", "/v1/corpora", "/openapi.json")]
        answers.append(client.post("/v1/estimate", json=QUESTION))
        for answer in answers:
            assert answer.status_code == 200
            assert str(tmp_path) not in answer.text, answer.url
            assert "canary-home" not in answer.text, answer.url


def test_requests_at_once_do_not_all_find_room_for_one_run(capped: TestClient) -> None:
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda _: capped.post("/v1/runs", json=QUESTION).status_code, range(10)))
    assert sorted(answers) == [202, *[429] * 9]


def test_runs_that_are_resumed_at_once_do_not_all_find_room(tmp_path: Path, client_of: Any) -> None:
    async def hang(_: Any) -> None:
        await asyncio.Event().wait()

    path = tmp_path / "tokens.jsonl"
    token = add_token(path, "carol", max_open_runs=1)
    agents = scripted_agents(without=["gatherer"])
    with DeepResearch(
        search=[ScriptedSearch(before=hang)], agents=agents, data_dir=tmp_path / "home"
    ) as engine:
        client = client_of(create_app(engine, TokenFile(path)), headers={"x-api-key": token})
        runs = []
        for _ in range(4):
            runs.append(submit(client))
            assert client.post(f"/v1/runs/{runs[-1]}/cancel").json()["status"] == "aborted"
        with ThreadPoolExecutor(4) as pool:
            answers = list(
                pool.map(lambda run_id: client.post(f"/v1/runs/{run_id}/resume").status_code, runs)
            )
        assert sorted(answers) == [202, 429, 429, 429]
        (left,) = client.get("/v1/runs?status=running").json()["data"]
        assert client.post(f"/v1/runs/{left['research_id']}/cancel").json()["status"] == "aborted"


def test_an_estimate_starts_no_run(client: TestClient) -> None:
    assert client.post("/v1/estimate", json=QUESTION).json()["iterations"]["high"] >= 1
    assert client.get("/v1/runs").json() == {"data": [], "next": None}


def test_the_application_is_mounted_into_another(engine: DeepResearch, client_of: Any) -> None:
    parent = FastAPI()
    parent.mount("/research", create_app(engine))
    client = client_of(parent)
    answer = client.post("/research/v1/runs", json=QUESTION)
    assert answer.headers["location"] == f"/research/v1/runs/{answer.json()['research_id']}"
    assert client.get(answer.headers["location"]).json()["status"] == RunStatus.QUEUED
    missing = client.get("/research/v1/runs/deepres-000000000000")
    assert (missing.status_code, missing.json()["code"]) == (404, "run_not_found")
    assert client.get("/research/readyz").json() == {"status": "ok"}
    assert client.post("/research/v1/responses/x").json()["error"]["code"] == "method_not_allowed"
    assert client.get("/research/readyz", headers={"host": "evil.example"}).status_code == 400


def test_two_applications_in_one_process_share_nothing(tmp_path: Path, client_of: Any) -> None:
    engines = [
        DeepResearch(
            search=[ScriptedSearch()], agents=scripted_agents(without=["gatherer"]), data_dir=tmp_path / name
        )
        for name in ("a", "b")
    ]
    one, two = (client_of(create_app(engine)) for engine in engines)
    submit(one)
    assert len(one.get("/v1/runs").json()["data"]) == 1
    assert two.get("/v1/runs").json()["data"] == []
    for engine in engines:
        engine.close()
