"""Figures that services give of what a request took: what is none is unknown, and never zero."""

import pytest

from deep_research.models import anthropic_wire
from deep_research.models.ollama import Ollama
from deep_research.models.openai_base import usage_of
from deep_research.models.profiles import Price


def chat(given, out):
    return usage_of({"prompt_tokens": given, "completion_tokens": out}, given="prompt", made="completion")


def responses(given, out):
    return usage_of({"input_tokens": given, "output_tokens": out}, given="input", made="output")


def anthropic(given, out):
    heard = anthropic_wire.AnswerStream("anthropic:m")
    usage = {"input_tokens": given, "output_tokens": out}
    heard.take_whole({"content": [], "stop_reason": "end_turn", "usage": usage})
    return heard.usage()


def ollama(given, out):
    line = {"message": {"content": "x"}, "done": True, "prompt_eval_count": given, "eval_count": out}
    return Ollama("m")._reply(line, "x", lines=1).usage


SERVICES = [chat, responses, anthropic, ollama]


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize(
    "wrong",
    [None, "twelve", "", "-3", "1.5", True, -1, 1.5, float("inf"), float("nan"), [], {}, 10**400, 10**8],
)
def test_a_figure_that_is_none_is_unknown_and_costs_no_error(service, wrong):
    for given, out in ((wrong, 5), (5, wrong), (wrong, wrong)):
        usage = service(given, out)
        assert not usage.is_known
        assert Price(input=1.0, output=1.0).of(usage) <= 1e-5


@pytest.mark.parametrize("service", SERVICES)
def test_a_figure_is_taken_as_it_is_and_also_as_a_decimal_or_a_text(service):
    for given, out in ((7, 5), (7, 0), (7.0, 5.0), ("7", "5"), (" 7 ", "5.0")):
        usage = service(given, out)
        assert (usage.input, usage.output, usage.is_known) == (7, float(out), True)


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("none", [0, 0.0, "0"])
def test_no_prompt_has_no_tokens(service, none):
    for out in (0, 5):
        assert not service(none, out).is_known
