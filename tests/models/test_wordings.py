"""No wording is sent to a model more than four times in a run, whoever asks again."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from deep_research.errors import BudgetError, ModelError
from deep_research.models.base import Form, Message, ModelCall
from deep_research.models.failures import failure, from_status
from deep_research.models.language_model import SingleModel
from deep_research.models.model_pool import Chain
from deep_research.models.profiles import Profile
from deep_research.models.retry import MAX_REQUESTS, Persistence, Wordings
from deep_research.models.structured import Abilities
from deep_research.supervisor.termination import FailureAction, failure_action
from deep_research.testing.models import ScriptedProvider

BUSY = from_status(500, "no", model="m")


async def no_sleep(_seconds: float) -> None:
    await asyncio.sleep(0)


def asked(text: str = "How many ships?", nonce: str = "") -> ModelCall:
    return ModelCall(messages=(Message(content=f"{nonce}{text}"),), nonce=nonce)


def model_of(provider: ScriptedProvider, wordings: Wordings, **more: Any) -> SingleModel:
    persistence = Persistence(sleep=no_sleep, chance=lambda: 0.0, wordings=wordings, **more)
    return SingleModel(provider, Profile(), abilities=Abilities(), persistence=persistence)


def outcomes(model: Any, *calls: ModelCall) -> list[Any]:
    async def journey() -> list[Any]:
        found: list[Any] = []
        for call in calls:
            try:
                found.append((await model.text(call)).value)
            except (ModelError, BudgetError) as error:
                found.append(error)
        return found

    return asyncio.run(journey())


def test_the_fifth_time_it_is_not_sent_and_the_extractive_agent_takes_over() -> None:
    provider = ScriptedProvider(["seven"])
    *answers, last = outcomes(model_of(provider, Wordings()), *[asked()] * 5)
    assert (answers, len(provider.calls)) == (["seven"] * 4, 4)
    assert (last.verdict, last.data["requests"], last.data["maybe_billed"]) == ("malformed", 0, False)
    assert "4 times in this run" in last.problem
    assert last.hint
    assert failure_action(last, parks=True) is FailureAction.FALL_BACK


def test_another_wording_another_model_and_another_run_are_counted_for_themselves() -> None:
    wordings = Wordings()
    provider = ScriptedProvider(["seven"])
    model = model_of(provider, wordings)
    outcomes(model, *[asked()] * 4)
    assert outcomes(model, asked("How many boats?")) == ["seven"]
    other = ScriptedProvider(["eight"])
    other.model = "other"
    assert outcomes(model_of(other, wordings), asked()) == ["eight"]
    assert outcomes(model_of(provider, Wordings()), asked()) == ["seven"]


def test_marks_forms_and_limits_make_no_other_wording() -> None:
    form = Form(by="schema", name="Plan", json_schema={})
    calls = [asked(nonce=f"{n:016x}") for n in range(4)]
    calls += [calls[0].model_copy(update={"form": form, "max_output": 9_000, "temperature": 0.5})]
    provider = ScriptedProvider(["seven"])
    assert isinstance(outcomes(model_of(provider, Wordings()), *calls)[-1], ModelError)
    assert len(provider.calls) == 4


def test_a_failure_of_the_service_is_told_as_it_was_where_nothing_more_may_be_asked() -> None:
    provider = ScriptedProvider(["seven", "seven", BUSY])
    *_, last = outcomes(model_of(provider, Wordings()), *[asked()] * 3)
    assert (last.verdict, last.data["status"], len(provider.calls)) == ("transient", 500, 4)
    assert failure_action(last, parks=True) is FailureAction.PARK


def test_the_next_of_a_chain_is_asked() -> None:
    wordings = Wordings()
    first, second = ScriptedProvider(["seven"]), ScriptedProvider(["eight"])
    second.model = "second"
    chain = Chain([model_of(first, wordings), model_of(second, wordings)])
    assert outcomes(chain, *[asked()] * 5) == [*["seven"] * 4, "eight"]


def test_what_was_not_sent_is_not_counted() -> None:
    class Poor:
        async def reserve(self, *_: Any) -> Any:
            raise BudgetError("no money")

    provider = ScriptedProvider(["seven"])
    wordings = Wordings()
    outcomes(model_of(provider, wordings, usage_recorder=Poor()), *[asked()] * 9)
    assert outcomes(model_of(provider, wordings), asked()) == ["seven"]


def _schedule(chance: random.Random) -> Callable[[ModelCall], Any]:
    def answer(_: ModelCall) -> Any:
        return chance.choice(["seven", "", BUSY, failure("malformed", "no", model="m"), "seven"])  # type: ignore[arg-type]

    return answer


@pytest.mark.parametrize("count", [20, pytest.param(400, marks=pytest.mark.sweep)])
def test_whatever_comes_and_however_many_ask_at_once_no_wording_is_sent_more_often(count: int) -> None:
    for seed in range(count):
        chance = random.Random(seed)
        provider = ScriptedProvider(_schedule(chance))
        model = model_of(provider, Wordings())
        calls = [asked(f"Question {chance.randrange(3)}?") for _ in range(12)]

        async def journey(model: SingleModel = model, calls: list[ModelCall] = calls) -> list[Any]:
            return await asyncio.gather(*(model.text(call) for call in calls), return_exceptions=True)

        found = asyncio.run(journey())
        assert all(isinstance(each, ModelError) or each.value for each in found), seed
        sent = Counter(call.messages[-1].content for call in provider.calls)
        assert max(sent.values()) <= MAX_REQUESTS, (seed, sent)
