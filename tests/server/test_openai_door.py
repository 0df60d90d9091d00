"""OpenAI's own client against a server over the sample documents."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from server_process import PATIENCE, ServerProcess, server

from deep_research.client import Client
from deep_research.server.openai_models import PRESETS
from deep_research.server.token_file import add_token

pytestmark = pytest.mark.timed

QUESTION = "How tall is the Cape Hatteras lighthouse?"
CORPUS = Path(__file__).resolve().parents[2] / "docs" / "examples" / "corpus"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with server(tmp_path_factory.mktemp("home"), corpus=str(CORPUS)) as process:
        yield process


def client_of(process: ServerProcess, key: str = "none", **more: Any) -> openai.OpenAI:
    http = openai.DefaultHttpxClient(trust_env=False)
    made = openai.OpenAI(
        base_url=f"{process.address}/v1", api_key=key, timeout=PATIENCE, http_client=http, **more
    )
    OPEN.append(made)
    return made


OPEN: list[openai.OpenAI] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().close()


@pytest.fixture
def client(served: ServerProcess) -> openai.OpenAI:
    return client_of(served)


def ended(client: openai.OpenAI, response_id: str) -> Any:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        response = client.responses.retrieve(response_id)
        if response.status not in ("queued", "in_progress"):
            return response
        time.sleep(0.05)
    raise AssertionError("the response does not end")


def check_annotations(text: str, annotations: Any) -> int:
    """Every slice is the mark of its reference, and every reference of the text has one."""
    marks = []
    for each in annotations:
        mark = text[each.start_index : each.end_index]
        number = int(mark.strip("[]"))
        listed = next(line for line in text.splitlines() if line.startswith(f"{number}. "))
        name = each.url if each.type == "url_citation" else each.filename
        assert name in listed.replace("\\", "")
        marks.append(mark)
    return len(marks)


def test_a_response_is_the_report_with_annotations(client: openai.OpenAI) -> None:
    response = client.responses.create(
        model="deep-research", input=QUESTION, metadata={"order": "1874"}, tools=[{"type": "web_search"}]
    )
    assert response.status == "completed"
    assert response.output_text.startswith(f"# {QUESTION}")
    assert response.metadata == {"order": "1874"}
    assert response.model == "deep-research"
    searches = [item for item in response.output if item.type == "web_search_call"]
    (message,) = (item for item in response.output if item.type == "message")
    assert searches
    assert all(search.action.query for search in searches)
    (part,) = message.content
    assert check_annotations(part.text, part.annotations) >= part.text.count("[1]")


def test_a_background_response_is_polled(client: openai.OpenAI) -> None:
    first = client.responses.create(
        model="deep-research-fast", input="Who built Skerryvore?", background=True
    )
    assert first.status in ("queued", "in_progress", "completed")
    response = ended(client, first.id)
    assert (response.id, response.status) == (first.id, "completed")
    assert response.output_text


def test_a_stream_has_the_official_sequence_and_is_taken_up_again(client: openai.OpenAI) -> None:
    with client.responses.stream(
        model="deep-research", input="Who built the Bell Rock lighthouse?"
    ) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert kinds[-1] == "response.completed"
    assert final.output_text
    raw = [event.to_dict() for event in client.responses.retrieve(final.id, stream=True)]
    assert [event["sequence_number"] for event in raw] == list(range(len(raw)))
    for after in (0, len(raw) // 2, len(raw) - 2):
        again = client.responses.retrieve(final.id, stream=True, starting_after=after)
        assert [event.to_dict() for event in again] == raw[after + 1 :]
    deltas = "".join(event["delta"] for event in raw if event["type"] == "response.output_text.delta")
    assert deltas == final.output_text


def test_a_chat_answers_the_last_question(client: openai.OpenAI) -> None:
    messages: Any = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": "Hello, what may I look up?"},
        {"role": "user", "content": [{"type": "text", "text": QUESTION}]},
    ]
    answer = client.chat.completions.create(model="deep-research", messages=messages)
    (choice,) = answer.choices
    assert choice.finish_reason == "stop"
    text = str(choice.message.content)
    assert text.startswith(f"# {QUESTION}")
    assert choice.message.annotations
    stream = client.chat.completions.create(
        model="deep-research", messages=messages, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    pieces = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(pieces) == text
    assert chunks[-1].usage is not None
    assert chunks[-2].choices[0].finish_reason == "stop"


def test_the_models_are_the_presets(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == list(PRESETS)
    assert client.models.retrieve("deep-research-deep").object == "model"


@pytest.mark.parametrize(
    ("call", "error", "code"),
    [
        (lambda c: c.responses.create(model="gpt-9", input="x"), openai.NotFoundError, "model_not_found"),
        (lambda c: c.responses.retrieve("resp_0123456789ab"), openai.NotFoundError, "run_not_found"),
        (lambda c: c.responses.retrieve("what"), openai.NotFoundError, "run_not_found"),
        (lambda c: c.responses.cancel("resp_0123456789ab"), openai.NotFoundError, "run_not_found"),
        (lambda c: c.responses.delete("resp_0123456789ab"), openai.NotFoundError, "run_not_found"),
        (lambda c: c.models.retrieve("gpt-9"), openai.NotFoundError, "model_not_found"),
        (
            lambda c: c.responses.create(model="deep-research", input=" "),
            openai.UnprocessableEntityError,
            "invalid_question",
        ),
        (
            lambda c: c.responses.create(
                model="deep-research", input="x", previous_response_id="resp_0123456789ab"
            ),
            openai.NotFoundError,
            "run_not_found",
        ),
        (
            lambda c: c.responses.create(model="deep-research", input="x", conversation="conv_1"),
            openai.BadRequestError,
            "unsupported_parameter",
        ),
        (
            lambda c: c.chat.completions.create(model="deep-research", messages=[]),
            openai.UnprocessableEntityError,
            "invalid_request",
        ),
        (
            lambda c: c.chat.completions.create(
                model="deep-research",
                messages=[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}],
            ),
            openai.UnprocessableEntityError,
            "usage",
        ),
    ],
)
def test_an_error_is_an_exception_of_the_client(
    client: openai.OpenAI, call: Any, error: type[openai.APIStatusError], code: str
) -> None:
    with pytest.raises(error) as raised:
        call(client)
    assert raised.value.code == code
    assert raised.value.body["message"]  # type: ignore[index]


def resolved(process: ServerProcess, response_id: str) -> str:
    """The question that a run researched."""
    with Client(process.address) as client:
        return client.result(response_id.replace("resp_", "deepres-").replace("chatcmpl-", "deepres-")).query


def test_a_response_follows_the_one_that_it_names(served: ServerProcess, client: openai.OpenAI) -> None:
    question = "How tall is Cape Hatteras Lighthouse?"
    first = client.responses.create(model="deep-research-fast", input=question)
    second = client.responses.create(
        model="deep-research-fast", input="And how old is it?", previous_response_id=first.id
    )
    assert second.previous_response_id == first.id
    third = client.responses.create(
        model="deep-research-fast", input="Who owns it?", previous_response_id=second.id
    )
    assert resolved(served, second.id) == "How old is Cape Hatteras Lighthouse?"
    assert resolved(served, third.id) == "Who owns Cape Hatteras Lighthouse?"
    assert not [item for item in second.output if item.type != "message"]  # what was saved answers it


def test_the_messages_before_the_question_are_its_conversation(
    served: ServerProcess, client: openai.OpenAI
) -> None:
    messages: list[Any] = []
    asked = []
    for text in (QUESTION, "And how old is it?", "What about Bell Rock?"):
        messages.append({"role": "user", "content": text})
        completion = client.chat.completions.create(model="deep-research-fast", messages=messages)
        messages.append({"role": "assistant", "content": completion.choices[0].message.content})
        asked.append(resolved(served, completion.id))
    assert asked[1:] == ["How old is Cape Hatteras?", "How old is Bell Rock?"]


def test_a_response_can_be_deleted(client: openai.OpenAI) -> None:
    response = client.responses.create(model="deep-research-fast", input="Where is Muckle Flugga?")
    client.responses.delete(response.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(response.id)


def test_the_same_request_within_a_minute_is_one_run(served: ServerProcess) -> None:
    body = {"model": "deep-research", "input": "Who kept the light at Ar-Men?", "background": True}
    ids: list[str] = []

    def post(more: dict[str, Any]) -> None:
        with served.client() as http:
            ids.append(http.post("/v1/responses", json={**body, **more}).json()["id"])

    threads = [threading.Thread(target=post, args=({},)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids) == 20
    assert len(set(ids)) == 1
    post({"input": "Who kept the light at La Jument?"})
    assert len(set(ids)) == 2


def test_a_run_of_somebody_else_is_not_found(tmp_path: Path) -> None:
    path = tmp_path / "tokens.jsonl"
    alice, bob = (add_token(path, name) for name in ("alice", "bob"))
    reader = add_token(path, "reader", role="reader", user="alice")
    with server(tmp_path / "home", corpus=str(CORPUS), tokens=str(path)) as process:
        response = client_of(process, alice).responses.create(model="deep-research-fast", input=QUESTION)
        assert client_of(process, reader).responses.retrieve(response.id).status == "completed"
        with pytest.raises(openai.NotFoundError):
            client_of(process, bob).responses.retrieve(response.id)
        with pytest.raises(openai.PermissionDeniedError):
            client_of(process, reader).responses.create(model="deep-research", input=QUESTION)
        with pytest.raises(openai.AuthenticationError):
            client_of(process, "dr_nobody").models.list()


def test_a_cancelled_response_says_so(tmp_path: Path) -> None:
    with server(tmp_path, pause=1_000) as process:
        client = client_of(process)
        first = client.responses.create(model="deep-research", input=QUESTION, background=True)
        response = client.responses.cancel(first.id)
        assert response.status == "cancelled"
        assert ended(client, first.id).status == "cancelled"


def test_a_client_whose_server_stops_is_told_and_goes_on_elsewhere(tmp_path: Path) -> None:
    with server(tmp_path, pause=1_000, drain_seconds=0.1) as process:
        stream = client_of(process).responses.create(model="deep-research", input=QUESTION, stream=True)
        events = iter(stream)
        created: Any = next(events)
        process.signal(15)  # type: ignore[arg-type]
        with pytest.raises(openai.APIError, match="server stops"):
            for _ in events:
                pass
        assert process.wait()[0] == 0
    with server(tmp_path, pause=0.01) as process:
        again = client_of(process).responses.retrieve(created.response.id, stream=True, starting_after=0)
        kinds = [event.type for event in again]
        assert kinds[0] == "response.in_progress"
        assert kinds[-1] == "response.completed"
