"""Asking again: how often, after what time, with what books."""

import asyncio
import traceback
from types import SimpleNamespace

import pytest

from deep_research.calls import first
from deep_research.errors import ConfigurationError, ModelError, StopResearch
from deep_research.limits import Gate
from deep_research.models.base import Message, ModelCall, ModelProvider, StopReason, TokenUsage
from deep_research.models.failures import Verdict, failure, from_status
from deep_research.models.retry import MAX_REQUESTS, Persistence, Tries
from deep_research.models.stream import Pieces
from deep_research.testing.models import ScriptedProvider


def status(code, **headers):
    return from_status(code, "no", model="m", headers={k.replace("_", "-"): v for k, v in headers.items()})


@pytest.fixture
def send(time, call):
    """The reply or the error, and what the unit has used."""

    def sent(provider, *, seconds=120.0, pieces=None, tries=None, **more):
        tries = tries or Tries(time.now + seconds, clock=time)
        persistence = Persistence(sleep=time.sleep, chance=lambda: 0.0, **more)
        try:
            outcome = asyncio.run(persistence.send(provider, call, tries, pieces))
        except Exception as error:
            outcome = error
        return outcome, tries

    return sent


def test_what_may_pass_is_asked_again_with_growing_waits_and_no_sleep_after_the_last(send, time):
    error, tries = send(ScriptedProvider([status(500)]))
    assert (error.verdict, tries.requests, error.data["requests"]) == (
        "transient",
        MAX_REQUESTS,
        MAX_REQUESTS,
    )
    assert time.slept == [0.5, 1.0, 2.0]


def test_a_service_that_names_a_time_is_given_it(send, time):
    outcome, tries = send(ScriptedProvider([status(429, retry_after="20"), "seven"]))
    assert (outcome.text, tries.requests, time.slept) == ("seven", 2, [20.0])


def test_a_time_longer_than_a_run_should_wait_parks_at_once(send, time):
    error, tries = send(ScriptedProvider([status(429, retry_after="61")]))
    assert (error.verdict, error.data["retry_after"], tries.requests) == ("park", 61.0, 1)
    assert time.slept == []


@pytest.mark.timed
def test_nobody_sleeps_past_the_deadline(send, time):
    error, tries = send(ScriptedProvider([status(429, retry_after="20")]), seconds=15)
    assert (error.verdict, tries.requests, time.slept) == ("transient", 1, [])


@pytest.mark.parametrize("code", [400, 401, 402, 403, 404, 413, 422, 451, 501])
def test_what_never_works_is_asked_once(send, code):
    error, tries = send(ScriptedProvider([status(code)]))
    assert (error.verdict, tries.requests) == ("fatal", 1)


def test_an_answer_that_the_wire_spoiled_is_asked_for_again_and_is_trouble_on_the_way(send):
    spoiled = failure(Verdict.MALFORMED, "no JSON", model="m", maybe_billed=True)
    assert send(ScriptedProvider([spoiled, "seven"]))[0].text == "seven"
    error, tries = send(ScriptedProvider([spoiled]))
    assert (error.verdict, tries.requests) == ("transient", 4)


def test_what_is_waited_for_is_told_before_the_wait(send):
    told = []
    send(
        ScriptedProvider([status(503), "seven"]),
        on_wait=lambda seconds, error: told.append((seconds, error.verdict)),
    )
    assert told == [(0.5, "transient")]


def test_the_books_hold_all_requests_and_one_in_doubt_leaves_them_open(send, reply):
    cut = reply("sev", StopReason.INCOMPLETE, tokens=(3, 2))
    _, tries = send(ScriptedProvider([cut, status(529), reply(tokens=(10, 5))]))
    assert tries.usage == TokenUsage(input=13, output=7)
    error, tries = send(ScriptedProvider([reply("", StopReason.INCOMPLETE), status(500), status(401)]))
    assert tries.usage == TokenUsage(input=10, output=5, is_known=False)
    assert (error.data["usage"], error.data["maybe_billed"]) == (tries.usage.model_dump(), True)


@pytest.mark.parametrize("usage", [None, {}, {"input": -1}, {"nonsense": 1}, "seven"])
def test_an_error_whose_books_are_nonsense_breaks_nothing(send, usage):
    error, tries = send(
        ScriptedProvider([ModelError("bad", verdict="fatal", usage=usage, maybe_billed=True)])
    )
    assert (error.verdict, tries.usage.is_known) == ("fatal", False)


@pytest.mark.parametrize("asked", ["soon", float("nan"), float("inf"), -1, None])
def test_a_time_that_is_none_is_no_time(send, time, asked):
    send(ScriptedProvider([ModelError("bad", verdict="transient", retry_after=asked), "seven"]))
    assert time.slept == [0.5]


def test_a_provider_that_hangs_is_left_at_the_deadline(call):
    async def hang(_call):
        await asyncio.Event().wait()

    async def unit():
        loop = asyncio.get_running_loop()
        began = loop.time()
        with pytest.raises(ModelError) as caught:
            await Persistence().send(ScriptedProvider(hang), call, Tries(loop.time() + 0.1, clock=loop.time))
        return caught.value, loop.time() - began

    error, took = asyncio.run(unit())
    assert (error.verdict, error.data["maybe_billed"]) == ("transient", True)
    assert took < 0.1 + 0.1 + 0.2  # a busy machine may add to it; the fault table is strict


@pytest.mark.timed
def test_the_time_in_the_queue_is_not_the_models(send, time, call):
    gate = Gate(1, clock=time, sleep=time.sleep)
    gate.pause(500)
    outcome, tries = send(ScriptedProvider(["seven"]), seconds=10, gates=(gate,))
    assert outcome.text == "seven"
    assert tries.seconds == 10


def test_the_gate_of_the_service_is_shut_when_it_asks_to_wait_not_that_of_the_model(send, time):
    own, service = (Gate(4, clock=time, sleep=time.sleep) for _ in range(2))
    seen = []

    def answer(_call):
        seen.append((own._turn(object()), service._turn(object())))
        return status(429, retry_after="30") if len(seen) == 1 else "seven"

    async def stand_still(seconds):
        seen.append((own._turn(object()), service._turn(object())))
        time.now += seconds

    provider = ScriptedProvider(answer)
    tries = Tries(time.now + 100, clock=time)
    call_it = Persistence(sleep=stand_still, chance=lambda: 0.0, gates=(own, service)).send
    asyncio.run(call_it(provider, ModelCall(messages=(Message(content="?"),)), tries))
    assert seen == [(0, 0), (0, 30), (0, 0)]


@pytest.mark.parametrize("raised", [KeyboardInterrupt, asyncio.CancelledError])
def test_what_ends_a_task_passes_untouched_and_the_request_is_lost(time, call, raised):
    class Recorder:
        lost = 0

        async def reserve(self, provider, call):
            return SimpleNamespace(call=call)

        async def settle(self, reserved, outcome, seconds):
            raise AssertionError

        def lose(self, reserved):
            self.lost += 1

    async def unit(error):
        try:
            await Persistence(usage_recorder=recorder).send(
                ScriptedProvider([error]), call, Tries(time.now + 9, clock=time)
            )
        except BaseException as caught:
            return caught

    recorder, error = Recorder(), raised()
    assert asyncio.run(unit(error)) is error
    assert recorder.lost == 1


@pytest.mark.parametrize("stuck", ["request", "wait", "gate"])
def test_a_unit_can_be_cancelled_wherever_it_is(call, stuck):
    async def hang(_):
        await asyncio.Event().wait()

    async def unit():
        gate = Gate(1)
        answers = {"request": hang, "wait": [status(500)], "gate": ["seven"]}[stuck]
        loop = asyncio.get_running_loop()
        persistence = Persistence(sleep=hang, gates=(gate,))
        async with gate.entered() if stuck == "gate" else asyncio.timeout(None):
            work = persistence.send(ScriptedProvider(answers), call, Tries(loop.time() + 60))
            task = asyncio.create_task(work)
            for _ in range(5):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert (gate.inside, gate.waiting) == (0, 0)

    asyncio.run(unit())


@pytest.mark.parametrize(
    "raised", [KeyError("x"), ExceptionGroup("many", [OSError("a"), ValueError("b")]), RuntimeError("gone")]
)
def test_whatever_a_provider_raises_is_a_model_error_and_is_not_asked_again(send, raised):
    error, tries = send(ScriptedProvider([raised]))
    assert isinstance(error, ModelError)
    assert (error.verdict, tries.requests, tries.usage.is_known) == ("fatal", 1, False)
    assert type(first(raised)).__name__ in str(error)


def test_a_model_error_in_a_group_is_what_it_is(send):
    group = ExceptionGroup("many", [status(529)])
    outcome, tries = send(ScriptedProvider([group, "seven"]))
    assert (outcome.text, tries.requests) == ("seven", 2)


@pytest.mark.parametrize("raised", [ConfigurationError("no key"), StopResearch("enough")])
def test_our_other_errors_pass_as_they_are(send, raised):
    assert send(ScriptedProvider([raised]))[0] is raised


def test_a_provider_that_answers_with_something_else_is_told_so(send):
    class Odd(ModelProvider):
        service = "odd"

        async def send(self, call, on_text=None):
            return "seven"

    error, tries = send(Odd("m"))
    assert (error.verdict, tries.requests) == ("fatal", 1)
    assert "str in place of a Reply" in str(error)


def test_pieces_of_a_request_that_failed_are_void_before_the_next(send, reply):
    heard = []
    broken = iter([True, False])

    class Streams(ScriptedProvider):
        async def send(self, call, on_text=None):
            on_text("sev")
            if next(broken):
                raise status(500)
            on_text("en")
            return reply("seven")

    send(Streams(), pieces=Pieces(heard.append))
    assert heard == ["sev", None, "sev", "en"]


def test_a_listener_that_stumbles_is_not_taken_for_the_provider(send):
    def stumble(piece):
        raise OSError("the pipe is gone")

    error, tries = send(ScriptedProvider(["seven"]), pieces=Pieces(stumble))
    assert isinstance(error, OSError)
    assert tries.requests == 1


def test_an_error_drags_along_nothing_of_the_provider_that_raised_it(send):
    class Leaky(ScriptedProvider):
        async def send(self, call, on_text=None):
            key = "canary-in-a-variable"
            try:
                raise OSError(key)
            except OSError:
                raise status(401) from None

    error, _ = send(Leaky())
    assert error.__context__ is None
    text = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
    assert "canary" not in text
