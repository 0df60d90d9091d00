"""Which requests a fault hits."""

import anthropic
import pytest

from deep_research.errors import UnknownNameError
from servers import Fault, Usage

pytestmark = pytest.mark.timed


def test_an_unknown_kind_is_refused_with_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean 'sse-reset'"):
        Fault("sse-resett")


def test_a_fault_strikes_once_unless_told_otherwise_and_skips_what_it_is_told_to(desk):
    desk.server.faults = [Fault("500", skip=1, times=2)]
    assert [desk.ask("chat").error is None for _ in range(5)] == [True, False, False, True, True]


def test_faults_strike_in_order_and_those_that_are_spent_make_room(desk):
    desk.server.faults = ["429", Fault("529"), Fault("503", times=None)]
    assert [desk.ask("chat").error.status_code for _ in range(4)] == [429, 529, 503, 503]


def test_a_fault_can_be_meant_for_a_path_or_for_what_a_body_holds(desk):
    desk.server.faults = [Fault("500", path="/v1/responses"), Fault("503", match="needle")]
    assert desk.ask("chat").error is None
    assert desk.ask("responses").error.status_code == 500
    assert desk.ask("anthropic", text="a needle in hay").error.status_code == 503


def test_counting_is_hit_only_by_faults_that_name_its_path(desk):
    request = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
    desk.server.faults = [Fault("500", times=None)]
    assert desk.run(desk.anthropic.messages.count_tokens(**request)).input_tokens == 3
    desk.server.faults = [Fault("429", path="/v1/messages/count_tokens", times=None)]
    with pytest.raises(anthropic.RateLimitError):
        desk.run(desk.anthropic.messages.count_tokens(**request))
    assert desk.ask("anthropic").error is None


def test_what_is_charged_can_be_said_for_any_fault(desk):
    desk.server.faults = [Fault("close", billed=True), Fault("short-body", billed=False)]
    desk.ask("chat")
    desk.ask("chat")
    charged, free = desk.server.log
    assert charged.usage == Usage(input=3, output=23) == desk.server.billed
    assert free.usage is None
