"""What is Anthropic's own: marks for the cache, effort within a field, errors in streams, and whose key is used."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from servers import Fault, ModelServer
from servers.http import Ending
from servers.http import Reply as Canned

from deep_research.errors import ConfigurationError, ModelError
from deep_research.models.anthropic import OWN_URL, AnthropicMessages
from deep_research.models.base import Effort, Form, Message, ModelCall, Reply, StopReason
from deep_research.models.failures import Verdict

pytestmark = pytest.mark.timed

MODEL = "model-1"
CALL = ModelCall(messages=(Message(content="How many ships?"),), timeout=120)
TOOL = Form(
    by="tool", name="ships", json_schema={"type": "object", "properties": {}, "additionalProperties": False}
)
START = {
    "type": "message_start",
    "message": {"model": MODEL, "usage": {"input_tokens": 7, "output_tokens": 1}},
}
TEXT = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Seven "}}
MORE = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ships."}}
END = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}}
STOP = {"type": "message_stop"}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def send(server: ModelServer, *calls: ModelCall, streamed: bool = False) -> list[Reply | ModelError]:
    """One after the other, through one provider."""

    async def run() -> list[Reply | ModelError]:
        provider = AnthropicMessages(MODEL, api_key="key-0123456789", base_url=server.base_url)
        outcomes: list[Reply | ModelError] = []
        for call in calls:
            try:
                outcomes.append(await provider.send(call, (lambda _: None) if streamed else None))
            except ModelError as error:
                outcomes.append(error)
        await provider.aclose()
        return outcomes

    return asyncio.run(run())


def streamed(
    server: ModelServer, *events: dict[str, Any], call: ModelCall = CALL, **how: Any
) -> Reply | ModelError:
    pieces = tuple(f"data: {json.dumps(event)}\n\n".encode() for event in events)
    server.canned = Canned(200, pieces, "text/event-stream", chunked=True, **how)
    return send(server, call, streamed=True)[0]


def test_the_system_text_and_the_last_stable_messages_are_marked(server: ModelServer) -> None:
    messages = tuple(Message(content=str(n), stable=n < 7) for n in range(9))
    send(server, CALL.model_copy(update={"system": "Be brief.", "messages": messages}))
    body = server.log[0].body
    marked = [m["content"][0]["text"] for m in body["messages"] if "cache_control" in m["content"][0]]
    assert marked == ["4", "5", "6"]
    assert body["system"][0]["cache_control"] == {"type": "ephemeral"}


def test_an_empty_message_is_not_marked(server: ModelServer) -> None:
    send(server, CALL.model_copy(update={"messages": (Message(content="", stable=True),)}))
    assert "cache_control" not in str(server.log[0].body)


def test_the_effort_and_the_schema_share_their_field(server: ModelServer) -> None:
    form = TOOL.model_copy(update={"by": "schema"})
    send(server, CALL.model_copy(update={"effort": Effort.HIGH, "form": form}))
    assert server.log[0].body["output_config"] == {
        "effort": "high",
        "format": {"type": "json_schema", "schema": form.json_schema},
    }


@pytest.mark.parametrize(
    "words",
    [
        "output_config: Extra inputs are not permitted",
        "output_config.effort: Extra inputs are not permitted",
        "This model does not support the effort parameter.",
    ],
)
def test_an_effort_that_was_refused_is_left_out_and_the_schema_kept(server: ModelServer, words: str) -> None:
    server.faults = [Fault("400", match='"effort"', message=words, times=None)]
    call = CALL.model_copy(update={"effort": Effort.LOW, "form": TOOL.model_copy(update={"by": "schema"})})
    first, second = send(server, call, call)
    assert isinstance(first, ModelError)
    assert first.verdict == Verdict.TRANSIENT
    assert isinstance(second, Reply)
    assert list(server.log[1].body["output_config"]) == ["format"]


def thinking(tokens: int, **more: Any) -> ModelCall:
    return CALL.model_copy(update={"thinking": tokens, "max_output": 9_000, **more})


BUDGETS = {
    "a budget": (thinking(4_000), {"type": "enabled", "budget_tokens": 4_000}),
    "beside a schema": (
        thinking(4_000, form=TOOL.model_copy(update={"by": "schema"})),
        {"type": "enabled", "budget_tokens": 4_000},
    ),
    "more than the answer may have": (thinking(20_000), {"type": "enabled", "budget_tokens": 7_976}),
    "less than the least": (thinking(1_000), None),
    "no room for it": (thinking(4_000, max_output=1_500), None),
    "before a tool that must be called": (thinking(4_000, form=TOOL), None),
    "none": (thinking(0), None),
}


@pytest.mark.parametrize(("call", "wanted"), BUDGETS.values(), ids=BUDGETS)
def test_thinking_has_a_budget_below_the_cap_of_the_answer(
    server: ModelServer, call: ModelCall, wanted: dict[str, Any] | None
) -> None:
    assert isinstance(send(server, call)[0], Reply)
    assert server.log[0].body.get("thinking") == wanted


def test_thinking_that_was_refused_with_a_budget_is_asked_for_without_and_then_not_at_all(
    server: ModelServer,
) -> None:
    server.faults = [
        Fault(
            "400",
            match='"enabled"',
            message='"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and'
            ' "output_config.effort" to control thinking behavior.',
            times=None,
        ),
        Fault(
            "400", match='"adaptive"', message="adaptive thinking is not supported on this model", times=None
        ),
    ]
    call = thinking(4_000, effort=Effort.HIGH)
    outcomes = send(server, call, call, call, call)
    assert [type(outcome) for outcome in outcomes] == [ModelError, ModelError, Reply, Reply]
    assert [each.body.get("thinking", {}).get("type") for each in server.log] == [
        "enabled",
        "adaptive",
        None,
        None,
    ]
    assert {each.body["output_config"]["effort"] for each in server.log} == {"high"}


def test_a_schema_that_was_refused_costs_no_effort(server: ModelServer) -> None:
    server.faults = [Fault("400", message="output_config.format: 'model-1' does not support this feature.")]
    call = CALL.model_copy(update={"effort": Effort.LOW, "form": TOOL.model_copy(update={"by": "schema"})})
    first, _ = send(server, call, call)
    assert isinstance(first, ModelError)
    assert first.verdict == Verdict.FATAL
    assert server.log[1].body["output_config"]["effort"] == "low"


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [
        ("overloaded_error", Verdict.TRANSIENT),
        ("api_error", Verdict.TRANSIENT),
        ("rate_limit_error", Verdict.TRANSIENT),
        ("something_new", Verdict.TRANSIENT),
        ("invalid_request_error", Verdict.FATAL),
        ("authentication_error", Verdict.FATAL),
        ("permission_error", Verdict.FATAL),
        ("billing_error", Verdict.FATAL),
        ("request_too_large", Verdict.FATAL),
    ],
)
def test_an_error_within_a_stream_is_told_by_its_type(
    server: ModelServer, kind: str, verdict: Verdict
) -> None:
    error = streamed(server, START, TEXT, {"type": "error", "error": {"type": kind, "message": "No."}})
    assert isinstance(error, ModelError)
    assert error.verdict == verdict
    assert error.data["maybe_billed"]
    assert error.data["usage"]["input"] == 7
    assert not error.data["usage"]["is_known"]


def test_a_spend_limit_within_a_stream_is_fatal(server: ModelServer) -> None:
    details = {"error_code": "enforced_spend_limit_reached"}
    error = streamed(server, {"type": "error", "error": {"type": "rate_limit_error", "details": details}})
    assert isinstance(error, ModelError)
    assert (error.verdict, error.data["reason"]) == (Verdict.FATAL, "enforced_spend_limit_reached")


def test_an_error_in_place_of_a_message_is_told_by_its_type(server: ModelServer) -> None:
    body = json.dumps({"type": "error", "error": {"type": "authentication_error", "message": "No."}})
    server.canned = Canned(200, (body.encode(),))
    (error,) = send(server, CALL)
    assert isinstance(error, ModelError)
    assert error.verdict == Verdict.FATAL


@pytest.mark.parametrize("ending", [Ending.CLOSED, Ending.RESET, Ending.HANGING])
def test_what_breaks_after_the_end_of_an_answer_does_not_matter(server: ModelServer, ending: Ending) -> None:
    call = CALL.model_copy(update={"timeout": 120.0})
    reply = streamed(
        server, START, TEXT, MORE, END, *[STOP] * (ending is Ending.HANGING), call=call, ending=ending
    )
    assert isinstance(reply, Reply)
    assert (reply.text, reply.stop) == ("Seven ships.", StopReason.END)
    assert reply.usage.is_known
    assert (reply.usage.input, reply.usage.output) == (7, 5)


def test_an_answer_that_ends_without_saying_so_is_whole(server: ModelServer) -> None:
    reply = streamed(server, START, TEXT, MORE, END)
    assert isinstance(reply, Reply)
    assert reply.stop is StopReason.END


def test_each_report_of_usage_is_of_all_until_then(server: ModelServer) -> None:
    early = {
        "type": "message_delta",
        "delta": {},
        "usage": {"output_tokens": 3, "cache_read_input_tokens": 40},
    }
    reply = streamed(server, START, TEXT, early, MORE, END, STOP)
    assert isinstance(reply, Reply)
    assert (reply.usage.input, reply.usage.cache_read, reply.usage.output) == (47, 40, 5)


def test_the_arguments_of_a_tool_may_come_at_once(server: ModelServer) -> None:
    block = {"type": "tool_use", "name": "ships", "input": {"names": ["Ärmel"]}}
    called = {"type": "content_block_start", "index": 1, "content_block": block}
    reply = streamed(
        server,
        *(START, TEXT, called, {"type": "content_block_stop", "index": 1}, END, STOP),
        call=CALL.model_copy(update={"form": TOOL}),
    )
    assert isinstance(reply, Reply)
    assert json.loads(reply.text) == {"names": ["Ärmel"]}


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("stop_sequence", StopReason.END),
        ("max_tokens", StopReason.LENGTH),
        ("model_context_window_exceeded", StopReason.LENGTH),
        ("refusal", StopReason.REFUSAL),
        ("pause_turn", StopReason.INCOMPLETE),
        (None, StopReason.INCOMPLETE),
    ],
)
def test_every_reason_to_stop_has_its_meaning(
    server: ModelServer, reason: str | None, stop: StopReason
) -> None:
    end = {**END, "delta": {"stop_reason": reason}}
    reply = streamed(server, START, TEXT, end, STOP)
    assert isinstance(reply, Reply)
    assert reply.stop is stop


def test_the_name_of_a_request_is_kept(server: ModelServer) -> None:
    server.faults = [Fault("429", skip=1)]
    reply, error = send(server, CALL, CALL)
    assert isinstance(reply, Reply)
    assert isinstance(error, ModelError)
    assert (reply.request_id, error.data["request_id"]) == ("req_000001", "req_000002")


def test_key_and_address_of_the_environment_are_used(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-the-environment")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)

    async def run() -> None:
        provider = AnthropicMessages(MODEL)
        await provider.send(CALL)
        await provider.aclose()

    asyncio.run(run())
    assert server.log[0].headers["authorization"] == "Bearer key-of-the-environment"
    monkeypatch.delenv("ANTHROPIC_BASE_URL")
    assert AnthropicMessages(MODEL).base_url == OWN_URL


def test_other_credentials_of_the_sdk_are_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-0123456789")
    monkeypatch.setenv("ANTHROPIC_PROFILE", "default")
    with pytest.raises(ConfigurationError, match="ANTHROPIC_API_KEY is not set"):
        AnthropicMessages(MODEL)
