"""Turns with tools within a run: booked as any request, without secrets in what is sent and echoes in what comes."""

import asyncio

import pytest
from spending import state

from deep_research.budget.metered import ModelRoles
from deep_research.errors import BudgetError
from deep_research.limits import Gates
from deep_research.logs import register_secret
from deep_research.models import (
    Message,
    ModelCall,
    NativeTurn,
    Reply,
    StopReason,
    TokenUsage,
    ToolCall,
    ToolSpec,
)
from deep_research.models.model_pool import ModelPool, Shared
from deep_research.models.profiles import Price, Profile
from deep_research.models.structured import Abilities
from deep_research.state import DeepResearchPhase, ModelRole
from deep_research.testing import MemoryJournal
from deep_research.testing.models import ScriptedProvider

SEARCH = ToolSpec(name="search", description="Finds ships.")
OURS = "You read sources for a piece of research and write down what they say about the question."
MARK = "0123456789abcdef"
SECRET = "canary-4711-qwertz-zuiop"
USED = TokenUsage(input=300, cache_read=200, output=90, reasoning=60)
THINKING = {"type": "thinking", "thinking": "hm", "signature": "s"}


def said(*calls, text="Look.", blocks=(THINKING,)):
    native = NativeTurn(blocks=tuple(blocks))
    return Reply(text=text, stop=StopReason.END, usage=USED, calls=tuple(calls), native=native)


def call_of(number, **arguments):
    return ToolCall(id=f"a{number}", name="search", arguments=arguments)


def run_models(replies, **budget):
    provider, journal = ScriptedProvider(replies, tools=True), MemoryJournal(state(**budget))
    price = Price(input=1.0, cache_read=0.5, output=10.0)
    profile = Profile(context=20_000, output=1_000, price=price)
    pool = ModelPool(profiles={"scripted:": profile}, common=Shared(Gates(), Abilities()))
    models = ModelRoles(pool=pool, chain=[provider]).of_run(journal)
    return models.model(ModelRole.TASK_AGENT, DeepResearchPhase.GATHERING, steered=False), provider, journal


def asked(*messages, **more):
    told = (Message(content="Which ships?"), *messages)
    return ModelCall(messages=told, **{"tools": (SEARCH,), "max_output": 500} | more)


def turned(call, *replies):
    """The turn that comes of a call."""
    model, *_ = run_models(replies or [said()])
    return asyncio.run(model.turn(call)).value


def test_a_turn_is_reserved_and_settled_with_its_thoughts_and_what_the_cache_held():
    model, _, journal = run_models([said(call_of(1)), said(call_of(2))])

    async def talk():
        turn = (await model.turn(asked())).value
        outputs = Message(outputs=tuple(call.output("none") for call in turn.calls))
        await model.turn(asked(turn, outputs))

    asyncio.run(talk())
    assert [event.name for event in journal.events] == ["model.reserved", "model.settled"] * 2
    first, settled, second, _ = journal.events
    assert settled.tokens == USED
    assert settled.cost_usd == pytest.approx((100 * 1.0 + 200 * 0.5 + 90 * 10.0) / 1e6)
    # The second prompt holds the turn before, thoughts and all: it is bounded by what that took.
    assert second.reservation.input_tokens >= first.reservation.input_tokens + USED.output


def test_a_cap_keeps_a_turn_from_being_sent():
    model, provider, _ = run_models([said(call_of(1))], max_tokens=200)
    with pytest.raises(BudgetError):
        asyncio.run(model.turn(asked()))
    assert provider.calls == []


def test_the_schemas_of_tools_are_part_of_what_a_request_is_bounded_by():
    large = ToolSpec(name="search", parameters={"type": "object", "description": "word " * 800})
    sizes = []
    for tool in (SEARCH, large):
        model, _, journal = run_models([said(call_of(1))])
        asyncio.run(model.turn(asked(tools=(tool,))))
        sizes.append(journal.events[0].reservation.input_tokens)
    assert sizes[1] - sizes[0] > 3_900


def test_what_may_not_be_repeated_is_cut_out_of_texts_and_arguments_and_the_turn_goes_back_as_it_came():
    leak = {"type": "thinking", "thinking": f"{OURS} {MARK}", "signature": "s"}
    call = call_of(1, query=f"x {MARK}", names=[OURS], by={"k": OURS})
    turn = turned(asked(system=OURS, nonce=MARK), said(call, text=f"They say: {OURS}", blocks=(leak,)))
    assert turn.content == "They say: […]."
    assert turn.calls[0].arguments == {"query": "x […]", "names": ["[…]."], "by": {"k": "[…]."}}
    assert turn.native.blocks == (leak,)


def test_what_outputs_show_may_be_said():
    shown = Message(role="assistant", calls=(call_of(1),)), Message(outputs=(call_of(1).output(OURS),))
    turn = turned(asked(*shown, system=OURS, nonce=MARK), said(text=f"They say: {OURS}"))
    assert turn.content == f"They say: {OURS}"


def test_no_secret_is_sent_in_any_part_of_a_conversation():
    register_secret(SECRET)

    def turn_of(call, thinking):
        native = NativeTurn(blocks=(thinking,), origin="scripted:model-1")
        return Message(role="assistant", calls=(call,), native=native)

    call, thinking = call_of(1, query=f"x {SECRET}"), THINKING | {"thinking": f"the key is {SECRET}"}
    clean = turn_of(call_of(2), THINKING)
    outputs = Message(outputs=(call.output(f"found {SECRET}"),), content=SECRET)
    conversation = (turn_of(call, thinking), outputs, clean, Message(outputs=(call_of(2).output("none"),)))
    model, provider, _ = run_models([said()])
    asyncio.run(model.turn(asked(*conversation, system=f"be {SECRET}")))
    (sent,) = provider.calls
    assert SECRET not in sent.model_dump_json()
    assert "x ***" in sent.messages[1].content  # told in words: a turn that is changed would be refused
    assert sent.messages[3].native == clean.native


def test_nothing_of_a_turn_is_told_to_who_watches():
    told = []
    model, _, journal = run_models([said(call_of(1))])
    journal.progress = told.append
    asyncio.run(model.turn(asked()))
    assert told == []
