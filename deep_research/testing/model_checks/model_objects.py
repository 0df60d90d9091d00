"""Answers of a shape, by the service's schema output and by a tool."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import BaseModel, Field

from deep_research.models.base import Message, ModelCall, ModelProvider
from deep_research.testing.model_bench import CALL, WAYS, Bench, form_of

FORMS = ("schema", "tool")


class Ship(BaseModel):
    name: str = Field(min_length=1, max_length=40, description="As it was painted on the bow.")
    rig: Literal["sloop", "brig"] | None = None
    title: str = "none"


class Ships(BaseModel):
    """What passed."""

    ships: list[Ship] = Field(max_length=9)
    count: int = Field(ge=0, le=99)
    share: float | None = None
    first: Ship | None = None


async def a_form_gives_json_that_fits(bench: Bench) -> None:
    provider = bench.provider()
    for by in FORMS:
        for streamed in WAYS:
            outcome = await bench.send(_call(provider, by), streamed=streamed)
            Ships.model_validate_json(outcome.answer.text)
            assert "".join(outcome.pieces) == (outcome.answer.text if streamed else "")


async def a_form_is_asked_for_by_the_services_own_means(bench: Bench) -> None:
    provider = bench.provider()
    for by in provider.forms:
        served = (await bench.send(_call(provider, by))).served[0]
        assert (served.schema is not None, served.tool) == (
            (True, None) if by == "schema" else (False, "Ships")
        )


async def what_was_said_in_a_form_is_not_changed(bench: Bench) -> None:
    provider = bench.provider()
    ships = {
        "ships": [{"name": '«Ärmel» 👩‍👧 \u2028\\"', "rig": "brig", "title": ""}],
        "count": 1,
        "share": 0.5,
        "first": None,
    }
    bench.server.answers = [ships]
    for by in FORMS:
        for streamed in WAYS:
            outcome = await bench.send(_call(provider, by), streamed=streamed)
            assert Ships.model_validate_json(outcome.answer.text) == Ships.model_validate(ships)


async def a_tool_that_was_not_called_gives_what_was_said(bench: Bench) -> None:
    provider = bench.provider()
    for streamed in WAYS:
        bench.server.fail("prose")
        outcome = await bench.send(_call(provider, "tool"), streamed=streamed)
        assert outcome.answer.text == bench.server.prose
        assert "".join(outcome.pieces) == (bench.server.prose if streamed else "")


async def a_form_may_have_any_name(bench: Bench) -> None:
    provider = bench.provider()
    for by in FORMS:
        outcome = await bench.send(_call(provider, by, name="Schöne Schiffe & Boote! " * 9))
        Ships.model_validate_json(outcome.answer.text)
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool) for tool in outcome.served[0].tools)


async def the_question_is_asked_as_it_is_with_a_form_too(bench: Bench) -> None:
    provider = bench.provider()
    for by in FORMS:
        served = (await bench.send(_call(provider, by))).served[0]
        assert [message["content"] for message in served.messages] == ["Be brief.", "Which ships?"]


def _call(provider: ModelProvider, by: str, name: str = "") -> ModelCall:
    return CALL.model_copy(
        update={
            "system": "Be brief.",
            "messages": (Message(content="Which ships?"),),
            "form": form_of(provider, Ships, by, name),
        }
    )
