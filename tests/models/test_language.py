"""Texts and objects from any model, with true books, within four requests and a deadline."""

import asyncio
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from servers import ModelServer

from deep_research.errors import ModelError
from deep_research.models.base import Message, ModelCall, Reply, StopReason, TokenUsage
from deep_research.models.failures import Verdict, failure, from_status
from deep_research.models.language_model import SingleModel
from deep_research.models.openai_chat import OpenAIChat
from deep_research.models.profiles import Profile
from deep_research.models.retry import REQUEST_TIMEOUTS_PER_UNIT, Persistence
from deep_research.models.structured import Abilities, Rung
from deep_research.testing.models import ScriptedProvider

pytestmark = pytest.mark.timed

LENGTH, CUT, REFUSAL = StopReason.LENGTH, StopReason.INCOMPLETE, StopReason.REFUSAL
NO_FORM = from_status(400, "unknown parameter: response_format", model="m")
DOWN = from_status(503, "overloaded", model="m")


class Plan(BaseModel):
    brief: str
    items: list[str] = []


GOOD = {"brief": "a } and { b", "items": ["x"]}
TEXT = json.dumps(GOOD)
PLAN = Plan(**GOOD)


def ask(work):
    """The answer, or the error."""
    try:
        return asyncio.run(work)
    except ModelError as error:
        return error


# Texts


def test_a_text_comes_with_its_books(model_of, call):
    provider = ScriptedProvider(["seven ships"])
    answer = ask(model_of(provider).text(call))
    assert (answer.value, answer.stop, answer.requests) == ("seven ships", StopReason.END, 1)
    assert answer.usage == provider.usage
    assert answer.model == "scripted:model-1"


def test_a_text_that_its_cap_cut_is_asked_for_with_twice_the_room(model_of, call, reply):
    provider = ScriptedProvider([reply("sev", LENGTH), reply("seven ships")])
    answer = ask(model_of(provider).text(call))
    assert (answer.value, answer.stop, answer.requests) == ("seven ships", StopReason.END, 2)
    assert [asked.max_output for asked in provider.calls] == [1_000, 2_000]


@pytest.mark.parametrize("then", [DOWN, from_status(401, "no", model="m"), NO_FORM])
def test_a_capped_text_is_not_lost_when_asking_again_fails(model_of, call, reply, then):
    answer = ask(model_of(ScriptedProvider([reply("seven sh", LENGTH), then])).text(call))
    assert (answer.value, answer.stop) == ("seven sh", LENGTH)


@pytest.mark.parametrize(
    "after",
    [[DOWN], ["", ""], [Reply(text="no", stop=REFUSAL, usage=TokenUsage())]],
    ids=["down", "empty", "refusal"],
)
def test_a_cut_text_is_given_where_nothing_better_came_after_it(model_of, call, reply, after):
    answer = ask(model_of(ScriptedProvider([reply("seven sh", CUT), reply("sev", CUT), *after])).text(call))
    assert (answer.value, answer.stop) == ("seven sh", CUT)
    assert answer.requests <= 4


def test_a_whole_text_is_better_than_a_longer_cut_one(model_of, call, reply):
    answer = ask(model_of(ScriptedProvider([reply("seven ships and", CUT), reply("seven")])).text(call))
    assert (answer.value, answer.stop) == ("seven", StopReason.END)


def test_an_empty_text_is_asked_for_once_more_and_then_malformed(model_of, call):
    error = ask(model_of(ScriptedProvider([" \n"])).text(call))
    assert (error.verdict, error.data["requests"]) == ("malformed", 2)


def test_half_a_character_in_a_text_is_replaced_in_it_and_in_its_pieces(model_of, call, reply):
    told = []
    model = model_of(ScriptedProvider([reply("seven \ud800 ships")]))
    answer = ask(model.text(call, on_piece=told.append))
    assert answer.value == "".join(told) == "seven \ufffd ships"


def test_a_character_that_is_halved_by_two_pieces_is_told_again_as_one(model_of, call, reply):
    class Halving(ScriptedProvider):
        async def send(self, call, on_text=None):
            for piece in ("a \ud83d", "\udd14"):
                on_text(piece)
            return await super().send(call)

    told = []
    model = model_of(Halving([reply("a \ud83d\udd14")]))
    answer = ask(model.text(call, on_piece=told.append))
    assert answer.value == "a \U0001f514"
    assert told[-2:] == [None, answer.value]


def test_a_cap_spent_on_thoughts_alone_is_a_matter_of_length(model_of, call, reply):
    error = ask(model_of(ScriptedProvider([reply("", LENGTH)])).text(call))
    assert (error.verdict, error.data["requests"]) == ("length", 2)


@pytest.mark.parametrize("way", ["text", "object"])
def test_a_refusal_is_not_asked_again(model_of, call, reply, way):
    model = model_of(ScriptedProvider([reply("I won't.", REFUSAL)]))
    error = ask(model.text(call) if way == "text" else model.object(call, Plan))
    assert (error.verdict, error.data["requests"]) == ("refusal", 1)
    assert error.data["usage"]["output"] == 5


# The ladder


def test_each_rung_asks_in_its_own_way(model_of, call):
    seen = {}
    for rung in list(Rung)[1:]:  # the first is for calls of tools
        abilities = Abilities()
        for before in list(Rung)[: list(Rung).index(rung)]:
            abilities.failed("scripted:model-1", before)
        provider = ScriptedProvider([TEXT])
        answer = ask(model_of(provider, abilities=abilities).object(call, Plan))
        assert (answer.value, answer.rung, answer.requests) == (PLAN, rung, 1)
        (seen[rung],) = provider.calls
    assert seen[Rung.SCHEMA].form.by == "schema"
    assert seen[Rung.TOOL].form.by == "tool"
    assert seen[Rung.JSON].form is None
    assert '"brief"' in seen[Rung.JSON].messages[-1].content


def test_what_was_wrong_is_told_once_in_a_turn_that_counts(model_of, call):
    provider = ScriptedProvider(['{"items": []}', TEXT])
    answer = ask(model_of(provider).object(call, Plan))
    assert (answer.value, answer.rung, answer.requests) == (PLAN, Rung.SCHEMA, 2)
    *_, said, instruction = provider.calls[1].messages
    assert (said.role, said.content) == ("assistant", '{"items": []}')
    assert "brief: Field required" in instruction.content


def test_a_model_that_gives_no_object_is_left_after_four_requests_and_asked_lower_the_next_time(
    model_of, call
):
    provider, abilities = ScriptedProvider(["Well, it depends."]), Abilities()
    model = model_of(provider, abilities=abilities)
    error = ask(model.object(call, Plan))
    assert (error.verdict, error.data["requests"], len(provider.calls)) == ("malformed", 4, 4)
    assert [asked.form.by if asked.form else None for asked in provider.calls] == [
        "schema",
        "schema",
        "tool",
        None,
    ]
    provider._answers = [TEXT]
    answer = ask(model.object(call, Plan))
    assert (answer.value, answer.rung, answer.requests) == (PLAN, Rung.JSON, 1)


def test_a_form_that_is_refused_is_not_asked_for_again_once_another_way_was_answered(model_of, call):
    provider, abilities = ScriptedProvider([NO_FORM, NO_FORM, TEXT]), Abilities()
    model = model_of(provider, abilities=abilities)
    answer = ask(model.object(call, Plan))
    assert (answer.rung, answer.requests) == (Rung.JSON, 3)
    assert ask(model.object(call, Plan)).requests == 1


def test_a_request_that_is_wrong_in_any_form_teaches_nothing_about_forms(model_of, call):
    abilities = Abilities()
    error = ask(model_of(ScriptedProvider([NO_FORM]), abilities=abilities).object(call, Plan))
    assert (error.verdict, error.data["requests"]) == ("fatal", 3)
    assert abilities.known_abilities() == {}


def test_a_refusal_of_what_was_answered_before_is_not_about_the_form(model_of, call, reply):
    provider, abilities = ScriptedProvider([reply('{"bri', LENGTH), NO_FORM]), Abilities()
    error = ask(model_of(provider, abilities=abilities).object(call, Plan))
    assert (error.verdict, error.data["requests"]) == ("fatal", 2)
    assert abilities.known_abilities() == {}


def test_a_way_that_worked_is_kept_over_a_bad_day(model_of, call):
    provider, abilities = ScriptedProvider([TEXT, "no", "no", TEXT, TEXT]), Abilities()
    model = model_of(provider, abilities=abilities)
    assert [ask(model.object(call, Plan)).rung for _ in range(3)] == [Rung.SCHEMA, Rung.TOOL, Rung.SCHEMA]


def test_a_prompt_that_is_too_long_is_too_long_in_any_form(model_of, call):
    error = ask(
        model_of(ScriptedProvider([from_status(400, "maximum context length", model="m")])).object(call, Plan)
    )
    assert error.data["requests"] == 1


def test_an_object_that_did_not_fit_gets_more_room_once_and_leaves_no_mark_on_the_rung(model_of, call, reply):
    provider, abilities = ScriptedProvider([reply(TEXT[:20], LENGTH)]), Abilities()
    error = ask(model_of(provider, abilities=abilities).object(call, Plan))
    assert (error.verdict, [asked.max_output for asked in provider.calls]) == ("length", [1_000, 2_000])
    assert abilities.known_abilities() == {}


def test_the_room_once_raised_is_kept_for_the_next_rung(model_of, call, reply):
    provider = ScriptedProvider([reply("{", LENGTH), "no", "no", TEXT])
    assert ask(model_of(provider).object(call, Plan)).rung is Rung.TOOL
    assert [asked.max_output for asked in provider.calls] == [1_000, 2_000, 2_000, 2_000]


@pytest.mark.parametrize("stop", [CUT, LENGTH])
def test_an_object_of_a_cut_answer_counts_only_if_the_answer_is_nothing_else(model_of, call, reply, stop):
    whole = ask(
        model_of(ScriptedProvider([reply(f"<think>x</think>```json\n{TEXT}\n```", stop)])).object(call, Plan)
    )
    assert (whole.value, whole.stop, whole.requests) == (PLAN, StopReason.END, 1)
    draft = f"A first try: {TEXT} Better:"
    error = ask(model_of(ScriptedProvider([reply(draft, stop)])).object(call, Plan))
    assert error.verdict == {CUT: "incomplete", LENGTH: "length"}[stop]


def test_a_cut_answer_followed_by_an_outage_is_an_outage(model_of, call, reply):
    error = ask(model_of(ScriptedProvider([reply(TEXT[:9], CUT), DOWN])).object(call, Plan))
    assert (error.verdict, error.data["requests"]) == ("transient", 4)


def test_when_time_is_up_the_answer_that_came_is_what_is_told_of(model_of, call, time):
    def slow(_call):
        time.now += 70
        return "no object"

    provider = ScriptedProvider(slow)
    error = ask(model_of(provider).object(call.model_copy(update={"timeout": 40.0}), Plan))
    assert (error.verdict, len(provider.calls)) == ("malformed", 2)


def test_a_profile_says_what_forms_a_model_has(model_of, call):
    provider = ScriptedProvider([TEXT])
    answer = ask(model_of(provider, profile=Profile(forms=("tool",))).object(call, Plan))
    assert answer.rung is Rung.TOOL
    assert ask(model_of(provider, profile=Profile(forms=())).object(call, Plan)).rung is Rung.JSON


# Weak servers


@pytest.mark.parametrize(
    "lacks", [(), ("schema",), ("schema", "tools"), ("schema", "tools", "json"), ("usage",)]
)
@pytest.mark.parametrize("overhears", [False, True])
def test_a_weak_server_gives_an_object_in_four_requests_and_the_second_time_in_one(lacks, overhears, call):
    abilities = {"schema", "tools", "json", "stream", "usage", "count"} - set(lacks)
    ignores = [name for name in lacks if name != "usage"] if overhears else []
    with ModelServer([GOOD], abilities=abilities, ignores=ignores) as server, asyncio.Runner() as runner:
        provider = OpenAIChat("weak", base_url=f"{server.base_url}/v1")
        persistence = Persistence(sleep=lambda _: asyncio.sleep(0))
        model = SingleModel(provider, Profile(), abilities=Abilities(), persistence=persistence)
        first = runner.run(model.object(call, Plan))
        assert (first.value, first.requests) == (PLAN, len(server.log))
        assert first.requests <= 4
        second = runner.run(model.object(call, Plan))
        assert (second.value, second.requests, second.rung) == (PLAN, 1, first.rung)
        assert second.usage.is_known is ("usage" not in lacks)
        runner.run(model.aclose())


# Whatever comes

STOPS = st.sampled_from([StopReason.END, StopReason.END, LENGTH, CUT, REFUSAL])
USAGES = st.builds(
    TokenUsage,
    input=st.integers(0, 50),
    output=st.integers(0, 50),
    is_known=st.sampled_from([True, True, False]),
)
TEXTS = st.one_of(
    st.sampled_from(
        [TEXT, TEXT[:15], "", "prose", '{"brief": 1}', "brief: x", f"draft {TEXT} and", "<think>{"]
    ),
    st.binary(max_size=60).map(lambda raw: raw.decode("utf-8", "replace")),
)
REPLIES = st.builds(Reply, text=TEXTS, stop=STOPS, usage=USAGES)
ERRORS = st.builds(
    lambda verdict, status, wait, usage, maybe: failure(
        verdict, "it failed", model="m", status=status, retry_after=wait, usage=usage, maybe_billed=maybe
    ),
    st.sampled_from([Verdict.TRANSIENT, Verdict.TRANSIENT, Verdict.PARK, Verdict.FATAL, Verdict.MALFORMED]),
    st.sampled_from([None, 200, 400, 404, 429, 500]),
    st.sampled_from([None, 0.0, 3.0, 50.0]),
    st.one_of(st.none(), USAGES),
    st.booleans(),
)
FOREIGN = st.sampled_from([KeyError("k"), OSError("o"), ExceptionGroup("g", [ValueError("v")])])
SCHEDULES = st.lists(st.one_of(REPLIES, REPLIES, ERRORS, FOREIGN), min_size=1, max_size=6)


def unit(schedule, took, way):
    """One unit in virtual time, in which every request takes ``took`` seconds."""
    now, slept, pieces = [0.0], [], []

    async def sleep(seconds):
        slept.append(seconds)
        now[0] += seconds

    sent = iter([*schedule, *[schedule[-1]] * 10])
    came = []

    async def answer(_call):
        now[0] += took
        came.append(next(sent))
        return came[-1]

    def take(piece):
        pieces.clear() if piece is None else pieces.append(piece)

    provider = ScriptedProvider(answer)
    model = SingleModel(
        provider,
        Profile(),
        abilities=Abilities(),
        persistence=Persistence(sleep=sleep, chance=lambda: 0.5),
        clock=lambda: now[0],
    )
    call = ModelCall(messages=(Message(content="?"),), max_output=1_000, timeout=60.0)
    work = model.object(call, Plan) if way == "object" else model.text(call, on_piece=take)
    return ask(work), came, now[0], pieces


def booked(outcome):
    if isinstance(outcome, Reply):
        return outcome.usage
    if not isinstance(outcome, ModelError):
        return TokenUsage(is_known=False)
    usage = TokenUsage.model_validate(outcome.data["usage"])
    return usage.model_copy(update={"is_known": usage.is_known and not outcome.data["maybe_billed"]})


@settings(max_examples=300)
@given(schedule=SCHEDULES, took=st.sampled_from([0.0, 1.0, 25.0]), way=st.sampled_from(["text", "object"]))
def test_whatever_comes_there_are_four_requests_at_most_true_books_and_the_deadline_is_kept(
    schedule, took, way
):
    answer, came, seconds, pieces = unit(schedule, took, way)
    total = sum((booked(outcome) for outcome in came), TokenUsage())
    is_error = isinstance(answer, ModelError)
    usage = TokenUsage.model_validate(answer.data["usage"]) if is_error else answer.usage
    assert 1 <= len(came) <= 4
    assert (answer.data["requests"] if is_error else answer.requests) == len(came)
    assert usage == total
    assert (
        seconds <= 60.0 * REQUEST_TIMEOUTS_PER_UNIT + took
    )  # a request that began in time may end late only here, where nothing stops it
    if is_error:
        assert answer.verdict in set(Verdict)
        assert answer.data["maybe_billed"] is (not total.is_known)
    elif way == "text":
        assert "".join(pieces) == answer.value
        assert answer.value.strip()
    else:
        assert isinstance(answer.value, Plan)


@settings(max_examples=300)
@given(raw=st.lists(st.binary(max_size=200), min_size=1, max_size=4))
def test_no_bytes_as_answers_raise_anything_but_a_model_error_out_of_the_ladder(raw):
    texts = [each.decode("utf-8", "replace") for each in raw]
    schedule = [Reply(text=text, stop=StopReason.END, usage=TokenUsage()) for text in texts]
    answer, came, *_ = unit(schedule, 0.0, "object")
    assert isinstance(answer, ModelError) or isinstance(answer.value, Plan)
    assert len(came) <= 4


def test_a_type_that_no_service_can_be_told_is_asked_for_in_another_way(model_of, call):
    class Odd(ScriptedProvider):
        def schema_of(self, answer):
            raise ValueError("this type has no schema here")

    abilities = Abilities()
    provider = Odd([TEXT])
    model = SingleModel(provider, Profile(), abilities=abilities)
    answer = asyncio.run(model.object(call, Plan))
    assert (answer.value, answer.rung) == (PLAN, Rung.JSON)
    assert (
        abilities.rungs(provider.identity, provider.forms)[0] is Rung.SCHEMA
    )  # it says nothing of the model
