"""Checks of requests: a call reaches the service whole, or a part is left out as the provider says."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from deep_research.models.base import Effort, Message, ModelCall, ModelProvider
from deep_research.models.failures import Verdict
from deep_research.testing.model_bench import CALL, KEY, MODEL, WAYS, Ability, Bench, form_of


class _Shape(BaseModel):
    name: str


async def the_model_is_named(bench: Bench) -> None:
    provider = bench.provider()
    outcome = await bench.send()
    assert outcome.served[0].model == provider.model == MODEL
    assert provider.name == f"{provider.service}:{MODEL}"


async def the_cap_of_the_answer_is_sent(bench: Bench) -> None:
    for most in (1, 77, 128_000):  # SDKs refuse large ones that are not streamed
        for streamed in WAYS:
            outcome = await bench.send(CALL.model_copy(update={"max_output": most}), streamed=streamed)
            assert outcome.served[0].limit == most


async def the_window_is_sent_where_it_must_be(bench: Bench) -> None:
    served = (await bench.send(CALL.model_copy(update={"context": 12_345}))).served[0]
    assert (12_345 in _values(served.body)) is bench.has(Ability.CONTEXT)
    assert served.context == (12_345 if bench.has(Ability.CONTEXT) else None)


async def the_effort_is_sent(bench: Bench) -> None:
    for effort in Effort:
        served = (await bench.send(CALL.model_copy(update={"effort": effort}))).served[0]
        assert effort.value in _values(served.body)


async def the_temperature_is_sent_where_there_is_one(bench: Bench) -> None:
    for temperature in (0.0, 0.625):
        served = (await bench.send(CALL.model_copy(update={"temperature": temperature}))).served[0]
        temperatures = [
            value
            for value in _values(served.body)
            if value == temperature and isinstance(value, int | float) and not isinstance(value, bool)
        ]
        assert len(temperatures) == bench.has(Ability.TEMPERATURE)


async def optional_params_that_were_not_given_are_not_sent(bench: Bench) -> None:
    body = (await bench.send()).served[0].body
    assert not {"low", "medium", "high"} & {value for value in _values(body) if isinstance(value, str)}
    assert not {"temperature", "effort", "num_ctx", "reasoning", "reasoning_effort", "think"} & set(
        _names(body)
    )
    assert None not in _values(body)


async def a_field_that_was_refused_is_left_out_from_then_on(bench: Bench) -> None:
    """The error asks to try again at once, since the next request will be another."""
    for name in bench.subject.optional:
        for words in (
            f"{name}: Extra inputs are not permitted",
            f"This model does not support the parameter '{name}'.",
        ):
            provider = bench.provider()
            call = _with_all_optional_params(provider)
            bench.server.fail("400", match=f'"{name}"', message=words, times=None)
            first = await bench.send(call, provider=provider, streamed=True)
            assert name in _names(first.served[0].body)
            assert first.failure.verdict == Verdict.TRANSIENT, words
            assert first.failure.data["retry_after"] == 0.0
            for _ in range(2):
                later = await bench.send(call, provider=provider, streamed=True)
                assert later.answer.text
                assert name not in _names(later.served[0].body)


async def requests_that_are_refused_together_all_try_again(bench: Bench) -> None:
    for name in bench.subject.optional[:1]:
        provider = bench.provider()
        call = _with_all_optional_params(provider)
        bench.server.fail("400", match=f'"{name}"', message=f"Unsupported parameter: {name}", times=None)
        outcomes = await asyncio.gather(
            *(bench.send(call, provider=provider, streamed=True) for _ in range(4))
        )
        assert all(outcome.failure.verdict == Verdict.TRANSIENT for outcome in outcomes if outcome.error)
        assert (await bench.send(call, provider=provider, streamed=True)).answer.text


async def another_refusal_teaches_nothing(bench: Bench) -> None:
    provider = bench.provider()
    call = _with_all_optional_params(provider)
    bench.server.fail("400", message="messages: roles must alternate")
    first = await bench.send(call, streamed=True)
    assert first.failure.verdict == Verdict.FATAL
    later = await bench.send(call, streamed=True)
    assert set(bench.subject.optional) <= set(_names(later.served[0].body))


async def the_key_is_sent(bench: Bench) -> None:
    headers = (await bench.send()).served[0].headers
    assert KEY in (headers.get("x-api-key"), headers.get("authorization", "").removeprefix("Bearer "))


def _with_all_optional_params(provider: ModelProvider) -> ModelCall:
    by = "tool" if "tool" in provider.forms else "schema"
    return CALL.model_copy(
        update={
            "system": "Be brief.",
            "messages": (Message(content="Which ship?", stable=True),),
            "temperature": 0.5,
            "effort": Effort.LOW,
            "form": form_of(provider, _Shape, by),
        }
    )


def _values(data: Any) -> list[Any]:
    return [value for _, value in _leaves(data)]


def _names(data: Any) -> list[str]:
    if isinstance(data, Mapping):
        return [*data, *(name for part in data.values() for name in _names(part))]
    return [name for part in data for name in _names(part)] if isinstance(data, list) else []


def _leaves(data: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    parts = data.items() if isinstance(data, Mapping) else enumerate(data) if isinstance(data, list) else None
    if parts is None:
        yield name, data
        return
    for key, part in parts:
        yield from _leaves(part, str(key))
