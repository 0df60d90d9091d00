"""A chain of models."""

import asyncio

import pytest
from pydantic import BaseModel

from deep_research.errors import ConfigurationError, ModelError
from deep_research.models.base import StopReason, TokenUsage
from deep_research.models.failures import Verdict, failure, from_status
from deep_research.models.model_pool import Chain
from deep_research.models.profiles import Profile
from deep_research.testing.models import ScriptedModel, ScriptedProvider

CUT = StopReason.INCOMPLETE


class Note(BaseModel):
    name: str


def fails(verdict, *, retry_after=None, usage=(3, 1), requests=2, maybe=False):
    error = failure(
        verdict,
        f"it is {verdict.value}",
        model="m",
        retry_after=retry_after,
        usage=TokenUsage(input=usage[0], output=usage[1], is_known=not maybe),
        maybe_billed=maybe,
    )
    error.data["requests"] = requests
    return error


def ask(work):
    try:
        return asyncio.run(work)
    except ModelError as error:
        return error


@pytest.mark.parametrize("verdict", list(Verdict))
def test_the_next_model_answers_whatever_was_wrong_with_the_first_and_the_books_hold_both(verdict, call):
    second = ScriptedModel(["seven", {"name": "x"}], name="b:2")
    chain = Chain([ScriptedModel([fails(verdict)], name="a:1"), second])
    answer = ask(chain.text(call))
    assert (answer.value, answer.model, answer.requests) == ("seven", "b:2", 3)
    assert answer.usage == TokenUsage(input=3, output=1) + second.usage
    assert ask(chain.object(call, Note)).value == Note(name="x")


def test_a_model_is_only_asked_where_the_one_before_gave_nothing(call):
    second = ScriptedModel(["no"])
    answer = ask(Chain([ScriptedModel(["seven"]), second]).text(call))
    assert (answer.value, second.calls) == ("seven", [])


def test_a_fallback_is_told_of(call):
    told = []

    async def hear(model, following, error):
        told.append((model, following, error.verdict))

    models = [ScriptedModel([fails(Verdict.FATAL)], name=name) for name in ("a:1", "b:2")]
    ask(Chain([*models, ScriptedModel(["x"], name="c:3")], on_fallback=hear).text(call))
    assert told == [("a:1", "b:2", "fatal"), ("b:2", "c:3", "fatal")]


@pytest.mark.parametrize(
    ("verdicts", "telling"),
    [
        (["fatal", "fatal"], 0),
        (["fatal", "transient"], 1),
        (["fatal", "park"], 1),
        (["park", "fatal"], 0),
        (["park", "transient"], 1),
        (["transient", "fatal"], 0),
        (["malformed", "transient"], 0),
        (["refusal", "park"], 0),
    ],
)
def test_the_error_is_the_firsts_unless_waiting_for_another_helps_sooner(verdicts, telling, call):
    waits = {"park": 3_600.0}
    errors = [
        fails(Verdict(verdict), retry_after=waits.get(verdict), maybe=n == 1)
        for n, verdict in enumerate(verdicts)
    ]
    error = ask(Chain([ScriptedModel([error]) for error in errors]).text(call))
    assert (error.problem, error.verdict) == (errors[telling].problem, verdicts[telling])
    assert error.data["usage"] == TokenUsage(input=6, output=2, is_known=False).model_dump()
    assert (error.data["requests"], error.data["maybe_billed"]) == (4, True)


def test_of_two_that_may_be_waited_for_the_sooner_counts(call):
    errors = [fails(Verdict.PARK, retry_after=seconds) for seconds in (7_200.0, 600.0)]
    assert ask(Chain([ScriptedModel([error]) for error in errors]).text(call)).data["retry_after"] == 600.0


def test_what_was_streamed_is_void_before_the_next_model_begins(model_of, call, reply):
    pieces = []
    cut = ScriptedProvider([reply("sev", CUT)], service="a")
    chain = Chain([model_of(cut), model_of(ScriptedProvider(["eight ships"], service="b"))])
    answer = ask(chain.text(call, on_piece=pieces.append))
    assert (answer.value, answer.stop, answer.requests) == ("eight ships", StopReason.END, 5)
    last = len(pieces) - pieces[::-1].index(None)
    assert "".join(pieces[last:]) == "eight ships"


@pytest.mark.parametrize("second", [[from_status(401, "no", model="m")], ["sev"]], ids=["down", "shorter"])
def test_a_cut_text_is_given_where_no_model_has_a_whole_one(model_of, call, reply, second):
    pieces = []
    answers = [reply(text, CUT) if isinstance(text, str) else text for text in second]
    chain = Chain([model_of(ScriptedProvider([reply("seven sh", CUT)])), model_of(ScriptedProvider(answers))])
    answer = ask(chain.text(call, on_piece=pieces.append))
    assert (answer.value, answer.stop) == ("seven sh", CUT)
    last = len(pieces) - pieces[::-1].index(None)
    assert "".join(pieces[last:]) == "seven sh"


def test_other_errors_and_cancellation_end_the_chain(call):
    second = ScriptedModel(["no"])
    with pytest.raises(ConfigurationError):
        asyncio.run(Chain([ScriptedModel([ConfigurationError("no key")]), second]).text(call))

    async def cancelled():
        with pytest.raises(asyncio.CancelledError):
            await Chain([ScriptedModel([asyncio.CancelledError()]), second]).text(call)

    asyncio.run(cancelled())
    assert second.calls == []


def test_what_is_asked_must_fit_every_model():
    profiles = [Profile(context=9_000, output=100), Profile(context=8_000, output=200)]
    chain = Chain([ScriptedModel(profile=profile) for profile in profiles])
    assert (chain.profile.context, chain.profile.output) == (8_000, 100)


def test_a_chain_needs_a_model():
    with pytest.raises(ValueError, match="needs a model"):
        Chain([])
