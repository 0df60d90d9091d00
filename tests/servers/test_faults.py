"""Every fault, as the installed SDKs see it: with their own retries off, plain and streamed."""

import email.utils
import itertools
import json
import time

import anthropic
import httpx2
import openai
import pytest

from servers import FAULT_KINDS, Fault

pytestmark = pytest.mark.timed

WIRES = ["anthropic", "responses", "chat", "ollama"]
DATA = {"name": "x" * 80, "ids": ["a1", "a2"]}
STATUSES = [kind for kind in FAULT_KINDS if kind[:3].isdigit()]

WAYS = list(itertools.product(WIRES, [False, True]))

everywhere = pytest.mark.parametrize("wire", WIRES)
both_ways = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])


def only(desk):
    (served,) = desk.server.log
    return served


def test_there_are_43_kinds_and_each_has_a_name_of_its_own():
    assert len(FAULT_KINDS) == len(set(FAULT_KINDS)) == 43


@pytest.mark.parametrize("kind", FAULT_KINDS)
def test_a_fault_of_any_kind_strikes_is_logged_and_leaves_the_server_well(desk, ask_under, kind):
    desk.server.answers = [DATA]
    for wire, stream in WAYS:
        ask_under(kind, wire, stream=stream, structured=True)
        served = desk.server.log[-1]
        assert (served.fault, served.stream) == (kind, stream)
        desk.server.faults = []
        assert desk.ask(wire, stream=stream, structured=True).text == json.dumps(DATA), (wire, stream)


STATUS_CLASSES = {
    400: (anthropic.BadRequestError, openai.BadRequestError),
    401: (anthropic.AuthenticationError, openai.AuthenticationError),
    402: (anthropic.PaymentRequiredError, openai.APIStatusError),
    408: (anthropic.RequestTimeoutError, openai.APIStatusError),
    413: (anthropic.ContentTooLargeError, openai.APIStatusError),
    429: (anthropic.RateLimitError, openai.RateLimitError),
    500: (anthropic.InternalServerError, openai.InternalServerError),
    503: (anthropic.ServiceUnavailableError, openai.InternalServerError),
    529: (anthropic.OverloadedError, openai.InternalServerError),
}


@pytest.mark.parametrize("kind", STATUSES)
def test_an_error_status_is_the_sdks_own_error_and_costs_nothing(desk, ask_under, kind):
    status = int(kind[:3])
    of_anthropic, of_openai = STATUS_CLASSES[status]
    expected = {"anthropic": of_anthropic, "ollama": httpx2.HTTPStatusError}
    for wire, stream in WAYS:
        error = ask_under(kind, wire, stream=stream).error
        assert type(error) is expected.get(wire, of_openai), (wire, stream)
        assert error.response.status_code == desk.server.log[-1].status == status
    assert [served.usage for served in desk.server.log] == [None] * len(WAYS)


@pytest.mark.parametrize(
    ("kind", "header", "value"),
    [
        ("429-after-0", "retry-after", "0"),
        ("429-after-7", "retry-after", "7"),
        ("429-after-3600", "retry-after", "3600"),
        ("429-after-nan", "retry-after", "nan"),
        ("429-after-minus-5", "retry-after", "-5"),
        ("429-after-ms", "retry-after-ms", "250"),
        ("429", "retry-after", None),
    ],
)
@everywhere
def test_a_rate_limit_says_when_to_come_back(ask_under, kind, header, value, wire):
    assert ask_under(kind, wire, stream=False).error.response.headers.get(header) == value


def test_a_rate_limit_may_say_it_as_a_date_seven_seconds_ahead(ask_under):
    header = ask_under("429-after-date", "chat", stream=False).error.response.headers["retry-after"]
    ahead = email.utils.parsedate_to_datetime(header).timestamp() - time.time()
    assert 5 < ahead <= 7


def test_any_error_status_can_carry_a_wait_a_code_and_words(desk):
    fault = Fault("503", times=None, retry_after="3", code="gone_fishing", message="Back soon")
    desk.server.faults = [fault]
    error = desk.ask("chat").error
    assert (error.response.headers["retry-after"], error.code) == ("3", "gone_fishing")
    assert "Back soon" in str(error)


def test_a_spend_limit_is_told_from_a_rate_limit_by_its_code(desk):
    desk.server.faults = [
        Fault("429", code="contract_spend_limit_reached"),
        Fault("429", code="insufficient_quota"),
    ]
    error = desk.ask("anthropic").error
    assert isinstance(error, anthropic.RateLimitError)
    assert error.error_code == "contract_spend_limit_reached"
    assert desk.ask("responses").error.code == "insufficient_quota"


@everywhere
@both_ways
@pytest.mark.parametrize("kind", ["reset", "close", "hang"])
def test_no_reply_is_a_connection_error_and_costs_nothing_that_a_client_could_know(
    desk, ask_under, kind, wire, stream
):
    error = ask_under(kind, wire, stream=stream).error
    raw = httpx2.ReadError if kind == "reset" else httpx2.RemoteProtocolError
    expected = {"anthropic": anthropic.APIConnectionError, "ollama": raw}
    assert type(error) is expected.get(wire, openai.APIConnectionError)
    served = only(desk)
    assert (served.status, served.usage, served.maybe) == (None, None, True)


@pytest.mark.parametrize(
    ("kind", "returned"), [("html-200", str), ("null", type(None)), ("empty-object", object)]
)
@pytest.mark.parametrize("wire", ["anthropic", "responses", "chat"])
def test_what_a_gateway_says_with_status_200_is_returned_as_if_it_were_an_answer(
    desk, ask_under, kind, returned, wire
):
    outcome = ask_under(kind, wire, stream=False)
    assert outcome.error is None
    assert isinstance(outcome.raw, returned)
    assert outcome.text is None
    assert only(desk).usage is None


@pytest.mark.parametrize("kind", ["html-200", "null", "empty-object"])
def test_what_a_gateway_says_in_place_of_a_stream_is_a_stream_without_events(ask_under, kind):
    assert type(ask_under(kind, "anthropic", stream=True).error) is AssertionError
    assert "response.completed" in str(ask_under(kind, "responses", stream=True).error)
    outcome = ask_under(kind, "chat", stream=True)
    assert (outcome.error, outcome.events, outcome.stop) == (None, 0, None)


STREAM_ERRORS = {
    "short-body": (httpx2.RemoteProtocolError, openai.APIConnectionError, httpx2.RemoteProtocolError),
    "bad-json": (json.JSONDecodeError,) * 3,
    "drip-body": (httpx2.RemoteProtocolError, openai.APIConnectionError, httpx2.RemoteProtocolError),
    "drip-headers": (anthropic.APIConnectionError, openai.APIConnectionError, httpx2.RemoteProtocolError),
    "sse-cut-abrupt": (httpx2.RemoteProtocolError, openai.APIConnectionError, httpx2.RemoteProtocolError),
    "sse-reset": (httpx2.ReadError, openai.APIConnectionError, httpx2.ReadError),
    "sse-hang": (httpx2.RemoteProtocolError, openai.APIConnectionError, httpx2.RemoteProtocolError),
    "sse-bad-json": (json.JSONDecodeError,) * 3,
}


@everywhere
@both_ways
@pytest.mark.parametrize("kind", STREAM_ERRORS)
def test_a_good_answer_sent_badly_is_charged_though_the_client_gets_an_error(
    desk, ask_under, kind, wire, stream
):
    desk.server.answers = [DATA]
    error = ask_under(kind, wire, stream=stream, structured=True).error
    of_anthropic, of_openai, of_httpx = STREAM_ERRORS[kind]
    if not stream and of_anthropic is not json.JSONDecodeError:
        of_anthropic = anthropic.APIConnectionError
    assert type(error) is {"anthropic": of_anthropic, "ollama": of_httpx}.get(wire, of_openai)
    assert only(desk).usage.output == 29
    assert only(desk).maybe


@both_ways
def test_a_drip_outlives_any_read_timeout_and_is_cut_only_by_a_deadline(desk, stretch, stream):
    def cut(seconds):
        desk.server.faults = [Fault("drip-body", interval=seconds / 8)]
        hasty = desk.anthropic.with_options(timeout=httpx2.Timeout(300, read=seconds))
        work = hasty.messages.create(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "hello"}], stream=stream
        )
        try:
            desk.run(_exhausted(work) if stream else work, seconds=6 * seconds)
        except TimeoutError:
            return
        except anthropic.APIError as error:
            raise AssertionError("the read timeout was first") from error
        raise AssertionError("nothing was cut")

    stretch(0.05, cut)


async def _exhausted(opening):
    return [event async for event in await opening]


def test_a_clean_cut_is_an_answer_without_a_stop_reason(desk, ask_under):
    desk.server.answers = [DATA]
    for wire in ("anthropic", "chat", "ollama"):
        outcome = ask_under("sse-cut-clean", wire, stream=True)
        assert (outcome.error, outcome.stop) == (None, None)
        assert 0 < len(outcome.text) < len(json.dumps(DATA))
    error = ask_under("sse-cut-clean", "responses", stream=True).error
    assert type(error) is RuntimeError
    assert "response.completed" in str(error)


def test_in_a_cut_stream_the_anthropic_usage_is_that_of_its_beginning(desk, ask_under):
    outcome = ask_under("sse-cut-clean", "anthropic", stream=True)
    assert (outcome.input, outcome.output) == (only(desk).usage.input, 1)
    assert only(desk).usage.output > 1


def test_a_stream_can_be_cut_before_its_first_event(desk):
    desk.server.faults = [Fault("sse-cut-clean", times=None, after=0)]
    assert type(desk.ask("anthropic", stream=True).error) is AssertionError
    assert type(desk.ask("responses", stream=True).error) is RuntimeError
    assert desk.ask("chat", stream=True).events == 0


@pytest.mark.parametrize("after", [None, 10_000])
@everywhere
def test_a_cut_always_comes_before_the_answer_says_that_it_is_over(desk, wire, after):
    desk.server.answers = ["x"]
    desk.server.faults = [Fault("sse-cut-clean", after=after)]
    assert desk.ask(wire, stream=True).stop is None


def test_an_error_event_has_status_200_at_anthropic_and_is_told_by_its_type(ask_under):
    error = ask_under("sse-error", "anthropic", stream=True).error
    assert type(error) is anthropic.APIStatusError
    assert (error.status_code, error.type) == (200, "overloaded_error")
    assert type(ask_under("sse-error", "chat", stream=True).error) is openai.APIError
    assert type(ask_under("sse-error", "responses", stream=True).error) is RuntimeError
    assert "error" in ask_under("sse-error", "ollama", stream=True).raw


@everywhere
def test_an_answer_that_is_not_streamed_fails_before_it_is_made_where_a_stream_sends_an_error(
    desk, ask_under, wire
):
    assert ask_under("sse-error", wire, stream=False).error.response.status_code == 503
    assert only(desk).usage is None


@everywhere
@both_ways
def test_a_slow_stream_arrives_whole(desk, wire, stream):
    desk.server.faults = [Fault("sse-slow", interval=0.001)]
    outcome = desk.ask(wire, stream=stream)
    assert outcome.text.endswith("seen again.")
    assert outcome.output == only(desk).usage.output
    assert not only(desk).maybe
