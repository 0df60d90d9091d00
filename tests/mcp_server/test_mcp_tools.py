"""The tools and resources, as the client of the package ``mcp`` sees them over stdio."""

from __future__ import annotations

import asyncio
import json

import pytest
from mcp.shared.exceptions import MCPError
from mcp_server_process import TOWER, connected, data, keyless, refusal

pytestmark = pytest.mark.timed

NAMES = {
    *("research", "research_start", "research_status", "research_report", "research_answer"),
    *("research_steer", "research_cancel", "research_list", "source_text"),
}
MAX_TOOLS_CHARACTERS = 12_000  # of all descriptions together: a client puts them before its model


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_question_becomes_a_report_with_progress_in_both_eras_of_the_protocol(tmp_path, mode):
    async def journey() -> None:
        notes: list[tuple[float, str]] = []

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            notes.append((progress, message or ""))

        async with connected(keyless(tmp_path), mode) as client:
            result = await client.call_tool("research", {"question": TOWER}, progress_callback=on_progress)
            found = result.structured_content
            assert found["status"] == "completed"
            assert "198.49 feet" in found["report"]["text"]
            assert found["report"]["text"] in result.content[0].text
            assert notes[0] == (1, f"Run {found['research_id']}")
            assert [number for number, _ in notes] == sorted({number for number, _ in notes})

    asyncio.run(journey())


def test_the_tools_are_listed_with_closed_schemas_and_say_what_they_change(tmp_path):
    async def journey() -> None:
        async with connected(keyless(tmp_path)) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert tools.keys() == NAMES
            assert all(tool.input_schema["additionalProperties"] is False for tool in tools.values())
            reading = {name for name, tool in tools.items() if tool.annotations.read_only_hint}
            assert reading == {"research_status", "research_report", "research_list", "source_text"}
            described = [tool.model_dump_json(by_alias=True, exclude_none=True) for tool in tools.values()]
            assert sum(map(len, described)) < MAX_TOOLS_CHARACTERS

    asyncio.run(journey())


def test_a_run_is_started_waited_for_and_its_report_is_read_by_pieces(tmp_path):
    async def journey() -> None:
        async with connected(keyless(tmp_path)) as client:
            run_id = (await data(client, "research_start", question=TOWER))["research_id"]
            status = {"status": "running"}
            while status["status"] in ("pending", "running"):
                status = await data(client, "research_status", research_id=run_id, wait_seconds=60)
            assert status["status"] == "completed"
            assert status["answers"]
            whole = (await data(client, "research_report", research_id=run_id))["report"]
            text, start = "", 0
            while start < whole["length"]:
                piece = await data(
                    client, "research_report", research_id=run_id, start=start, end=start + 500
                )
                text += piece["report"]["text"]
                assert len(piece["report"]["text"]) <= 500
                start = piece["report"]["end"]
            assert text == whole["text"]
            (listed,) = (await data(client, "research_list"))["runs"]
            assert (listed["research_id"], listed["question"]) == (run_id, TOWER)

    asyncio.run(journey())


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(lambda sub_queries: "approve", id="a word"),
        pytest.param(
            lambda sub_queries: {"sub_queries": [{"id": sub_queries[0]["id"]}]}, id="an edited plan"
        ),
        pytest.param(
            lambda sub_queries: json.dumps({"sub_queries": [{"id": sub_queries[0]["id"]}]}),
            id="an edited plan as a text",
        ),
    ],
)
def test_a_run_that_waits_for_approval_shows_its_plan_and_goes_on_with_the_answer(tmp_path, edit):
    async def journey() -> None:
        async with connected(keyless(tmp_path)) as client:
            parked = await data(client, "research", question=TOWER, approve_plan=True)
            run_id, question = parked["research_id"], parked["parked"]
            assert parked["status"] == "parked"
            assert question["asks"]
            assert question["answer_schema"]
            assert "Give an answer" in await refusal(client, "research_answer", research_id=run_id)
            refused = await refusal(client, "research_answer", research_id=run_id, answer={"nothing": 1})
            assert "nothing" in refused
            status = await data(client, "research_status", research_id=run_id)
            assert status["parked"] == question
            answer = edit(question["about"]["sub_queries"])
            done = await data(client, "research_answer", research_id=run_id, answer=answer)
            assert done["status"] == "completed"

    asyncio.run(journey())


def test_reports_and_saved_texts_are_resources(tmp_path):
    async def journey() -> None:
        async with connected(keyless(tmp_path)) as client:
            found = await data(client, "research", question=TOWER)
            (resource,) = (await client.list_resources()).resources
            assert (resource.uri, resource.title) == (f"research://{found['research_id']}/report", TOWER)
            (content,) = (await client.read_resource(resource.uri)).contents
            assert (content.text, content.mime_type) == (found["report"]["text"], "text/markdown")
            source = found["sources"][0]
            (content,) = (await client.read_resource(source["uri"])).contents
            text = await data(
                client, "source_text", research_id=found["research_id"], source_id=source["source_id"]
            )
            assert content.text == text["text"]
            (content,) = (await client.read_resource(f"{source['uri']}?start=2&end=10")).contents
            assert content.text.startswith(f"{text['text'][2:10]}\n\n[Characters 2 to 10 of ")
            templates = (await client.list_resource_templates()).resource_templates
            assert [each.name for each in templates] == ["report", "source"]

    asyncio.run(journey())


UNKNOWN = "deepres-000000000000"
REFUSED = [
    ("research", {}, "question: Field required"),
    ("research", {"question": ""}, "question: String should have at least 1 character"),
    ("research", {"question": " \n"}, "question"),
    ("research", {"question": "x" * 100_001}, "question"),
    ("research", {"question": TOWER, "path": "/etc"}, "path: Extra inputs"),
    ("research", {"question": TOWER, "depth": "bottomless"}, "depth: Input should be"),
    ("research", {"question": TOWER, "max_usd": "1"}, "max_usd: Input should be a valid number"),
    ("research", {"question": TOWER, "max_usd": True}, "max_usd: Input should be a valid number"),
    ("research", {"question": TOWER, "max_searches": -1}, "max_searches"),
    ("research", {"question": TOWER, "max_tokens": 1.5}, "max_tokens"),
    ("research", {"question": TOWER, "max_searches": 21}, "This server allows a run max_searches=20"),
    ("research", {"question": TOWER, "corpora": ["../.."]}, "Unknown corpus"),
    ("research_start", {"question": TOWER, "report_words": 10**9}, "report_words"),
    ("research_status", {"research_id": "../../etc/passwd"}, "is not a run id"),
    ("research_status", {"research_id": UNKNOWN}, "No run"),
    ("research_status", {"research_id": UNKNOWN, "wait_seconds": 1e9}, "wait_seconds"),
    ("research_report", {"research_id": UNKNOWN, "start": -1}, "start"),
    ("research_report", {"research_id": UNKNOWN, "end": 2**70}, "end"),
    ("research_answer", {"research_id": UNKNOWN, "answer": "yes"}, "No run"),
    ("research_steer", {"research_id": UNKNOWN}, "No run"),
    ("research_steer", {"research_id": UNKNOWN, "text": "x", "since": "soon"}, "since"),
    ("research_cancel", {"research_id": UNKNOWN}, "No run"),
    ("research_list", {"limit": 10**6}, "limit"),
    ("research_list", {"status": "lost"}, "status"),
    ("research_list", {"after": UNKNOWN}, "No run"),
    ("source_text", {"research_id": UNKNOWN, "source_id": "src-1"}, "No run"),
]


def test_arguments_out_of_their_bounds_are_refused_in_one_line(tmp_path):
    async def journey() -> None:
        async with connected(keyless(tmp_path, "--max-searches", "20")) as client:
            for tool, arguments, line in REFUSED:
                assert line in await refusal(client, tool, **arguments), (tool, arguments)
            assert (await data(client, "research_list"))["runs"] == []

    asyncio.run(journey())


@pytest.mark.parametrize(
    "uri",
    [
        "research://deepres-000000000000/report",
        "research://../report",
        "research://deepres-000000000000/source/../../x",
        "research://deepres-000000000000/report?start=-1",
        "research://deepres-000000000000/report?path=x",
        "file:///etc/passwd",
        "research://" + "x" * 100_000,
    ],
)
def test_a_resource_that_is_not_there_is_refused(tmp_path, uri):
    async def journey() -> None:
        async with connected(keyless(tmp_path)) as client:
            with pytest.raises(MCPError, match=r"No run|There is no resource"):
                await client.read_resource(uri)
            with pytest.raises(MCPError, match="There is no tool 'shell'"):
                await client.call_tool("shell", {})

    asyncio.run(journey())


def test_raised_caps_in_an_answer_stay_within_those_of_the_server(tmp_path):
    async def journey() -> None:
        async with connected(keyless(tmp_path, "--max-searches", "20")) as client:
            run_id = (await data(client, "research", question=TOWER, approve_plan=True))["research_id"]
            for answer in ({"limits": {"max_searches": 21}}, '{"limits": {"max_searches": 21}}'):
                refused = await refusal(client, "research_answer", research_id=run_id, answer=answer)
                assert "This server allows a run max_searches=20" in refused

    asyncio.run(journey())
