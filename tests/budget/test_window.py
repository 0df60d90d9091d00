"""The window: what is kept free, and what goes together into one prompt."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.budget.window import Window, batches
from deep_research.errors import WindowError


@pytest.mark.parametrize(
    ("runtime", "overhead"),
    [
        ("direct-api", 10_000),
        ("gemini-cli", 20_000),
        ("codex", 30_000),
        ("cursor", 40_000),
        ("claude-code", 60_000),
    ],
)
def test_each_environment_keeps_its_overhead_free(runtime, overhead):
    window = Window.of(200_000, 8_000, runtime=runtime, margin=0.15)
    assert window.most == 200_000 - 8_000 - overhead
    assert window.input == int(window.most * 0.85)


def test_a_small_local_model_is_left_most_of_its_window():
    window = Window.of(8_192, 2_048, runtime="direct-api", margin=0.15)
    assert window.most > 5_500


def test_an_answer_never_takes_more_than_half_of_the_window():
    assert Window.of(4_000, 8_000, runtime="direct-api", margin=0).most == 4_000 - 2_000 - 200


def test_there_is_no_room_where_the_surroundings_take_it_all():
    assert Window.of(32_000, 8_000, runtime="claude-code", margin=0.15).input == 0


@given(st.lists(st.integers(0, 100), max_size=60), st.integers(100, 400))
def test_batches_hold_every_item_once_in_order_and_fit(sizes, room):
    made = batches(sizes, room)
    assert [place for batch in made for place in batch] == list(range(len(sizes)))
    assert all(sum(sizes[place] for place in batch) <= room for batch in made)
    # As few as the order allows: no batch could have taken the first item of the next.
    for one, following in pairwise(made):
        assert sum(sizes[place] for place in one) + sizes[following[0]] > room


def test_an_item_that_is_too_large_is_refused_and_not_cut():
    with pytest.raises(WindowError, match="does not fit the 10 tokens"):
        batches([3, 11], 10)
