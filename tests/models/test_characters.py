"""Half a character is replaced, wherever in a value it stands."""

from dataclasses import dataclass, field
from typing import NamedTuple

import pytest

from deep_research.models.characters import whole
from deep_research.state import Mention

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


@pytest.mark.parametrize(
    "value", [[], ("tower", 1), {"a": ("b", None)}, Counted("tower", (Pair("lamp", 1),))]
)
def test_what_needs_no_change_is_not_copied(value):
    made = whole(value)
    assert made == value
    assert isinstance(value, dict) or made is value


def test_a_model_is_copied_only_where_a_text_in_it_changes():
    good = Mention(name="tower", weight=1.0, bearers=1)
    bad = Mention(name=HALF, weight=1.0, bearers=1)
    made = whole((good, bad))
    assert made[0] is good
    assert made[1] == Mention(name=REPLACED, weight=1.0, bearers=1)
