"""Half a character is replaced, wherever in a value it stands."""

from dataclasses import dataclass, field
from typing import NamedTuple

import pytest

from deep_research.models.characters import whole

HALF, REPLACED = "tower \ud800", "tower \ufffd"


class Pair(NamedTuple):
    name: str
    at: int


@dataclass(frozen=True)
class Counted:
    name: str
    parts: tuple[Pair, ...] = ()
    seen: int = field(default=3, init=False)


@pytest.mark.parametrize(
    ("value", "made"),
    [
        (HALF, REPLACED),
        ([HALF, 1, None], [REPLACED, 1, None]),
        ({HALF: (HALF,)}, {REPLACED: (REPLACED,)}),
        (Pair(HALF, 2), Pair(REPLACED, 2)),
        (Counted(HALF, (Pair(HALF, 1),)), Counted(REPLACED, (Pair(REPLACED, 1),))),
    ],
)
def test_texts_of_any_value_are_made_whole_and_the_rest_is_left(value, made):
    assert whole(value) == made
    assert type(whole(value)) is type(made)
