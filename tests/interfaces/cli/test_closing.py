"""The closing line of an aborted run: what can be done next."""

from argparse import Namespace
from types import SimpleNamespace

import pytest

from deep_research import DeepResearch, SearchProvider, SupervisorHooks
from deep_research.errors import SearchError
from deep_research.interfaces.cli.console import Console
from deep_research.interfaces.cli.session import Look
from deep_research.interfaces.cli.summary import _aborted_words, _caps_to_raise, _closing
from deep_research.settings import Settings
from deep_research.state import AbortReason, DeepResearchState, Limit


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], ("Run again with a higher cap.", [])),
        (["max_tokens:analysis"], ("Continue under a higher --max-tokens with:", ["--max-tokens"])),
        (["shared:max_usd"], ("Raise max_usd of the shared budget, then run again.", [])),
        (["max_iterations"], ("Run again with a higher --set max_iterations=N.", [])),
        (
            ["max_tokens", "shared:max_usd"],
            (
                "Continue under a higher --max-tokens, and raise max_usd of the shared budget, with:",
                ["--max-tokens"],
            ),
        ),
    ],
)
def test_what_is_to_be_raised_is_named(names, said):
    limits = tuple(Limit(name=name, message="m") for name in names)
    assert _caps_to_raise(SimpleNamespace(limits=limits, state=DeepResearchState(query="q"))) == said


def test_a_reason_without_advice_leaves_no_gap_in_the_line():
    result = SimpleNamespace(
        reason=AbortReason.REFUSED.value,
        message="The directory does not admit this run.",
        report=None,
        research_id="run-1",
        state=DeepResearchState(query="q"),
    )
    line = "Aborted (refused): The directory does not admit this run. (run run-1)"
    assert _aborted_words(result, "deep-research resume run-1") == (line, "")


class Down(SearchProvider):
    name = "down"

    async def search(self, request):
        raise SearchError(f"down does not answer '{request.query}'.")


def test_without_a_report_what_went_wrong_is_told_once_below_the_last_line(tmp_path):
    def fail(*_):
        raise ValueError("a bug in a hook")

    hooks = SupervisorHooks(before_phase=fail, after_phase=fail)
    with DeepResearch(search=[Down()], hooks=hooks, data_dir=tmp_path, store="memory") as engine:
        result = engine.run("Who built the tower on the rock?")
    assert (result.status, result.report) == ("aborted", None)
    look = Look(
        args=Namespace(out=None, json=False, quiet=False, verbose=False),
        console=Console(),
        settings=Settings(store="memory"),
        runs=engine,
    )
    lines = [line for line in _closing(look, result) if "hook" in line]
    assert len(lines) == 1
    assert "times (also before_phase): The hook after_phase failed" in lines[0]
    assert "Fix it" in lines[0]
