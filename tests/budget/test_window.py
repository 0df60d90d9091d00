"""The window: what is kept free."""

import pytest

from deep_research.budget.window import Window


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
