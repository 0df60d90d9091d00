"""The last words on a run that its caps ended: what is to be raised, and whose."""

from types import SimpleNamespace

import pytest

from deep_research.interfaces.cli.summary import _raise_of
from deep_research.state import DeepResearchState, Limit


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], ("Ask again with a higher cap.", [])),
        (["max_tokens:analysis"], ("Go on under a higher --max-tokens with:", ["--max-tokens"])),
        (["shared:max_usd"], ("Raise max_usd of the shared budget, then ask again.", [])),
        (["max_iterations"], ("Ask again with a higher --set max_iterations=N.", [])),
        (
            ["max_tokens", "shared:max_usd"],
            (
                "Go on under a higher --max-tokens, and raise max_usd of the shared budget, with:",
                ["--max-tokens"],
            ),
        ),
    ],
)
def test_what_is_to_be_raised_is_named(names, said):
    limits = tuple(Limit(name=name, message="m") for name in names)
    assert _raise_of(SimpleNamespace(limits=limits, state=DeepResearchState(query="q"))) == said
