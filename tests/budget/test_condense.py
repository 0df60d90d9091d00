"""Condensing: whole sentences, word for word, in their order, within the room."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deep_research.budget.condense import condense
from deep_research.text.passages import sentences

TEXT = """# Bell Rock

The Bell Rock lighthouse stands off Arbroath in Scotland. It was built between 1807 and 1810 by Robert Stevenson.
Work could go on only at low tide. Many people liked the view.

Skip to main content

## Keepers

Keepers lived in the tower for six weeks at a time. They wrote down wind and weather three times a day.
They also painted the lamp room, and it was said that they sang. Nobody knows which songs these were.

- A bell was rung in fog.
- The lamp showed red and white in turn.

| Part | Height |
| --- | --- |
| Tower | 35 metres |
| Lantern | 4 metres |

## Later years

The light has been automatic since 1988. Visitors see it from boats. It is a fine trip on a quiet day in summer.
"""
SOME_TEXT = st.lists(
    st.sampled_from(
        [
            "The keeper wrote. ",
            "Wind rose in 1811! ",
            "# Head\n",
            "\n\n",
            "- an item\n",
            "a | b | c\n",
            "```\ncode\n```\n",
            "word " * 40,
            "x" * 90,
            "\n",
            " … ",
            "«Qui?» dit-il. ",
            "灯台は古い。",
            "| - | - |\n",
        ]
    ),
    max_size=40,
).map("".join)


def words(text):
    return len(text.split())


def check(text, room, made, measure):
    assert measure(made.text) <= max(room, 0)
    here = there = 0
    for span in made.spans:
        piece = text[span.start : span.end]
        assert piece
        assert span.start >= here
        there = made.text.index(piece, there) + len(piece)
        here = span.end


@pytest.mark.parametrize("measure", [len, words, lambda text: len(text.encode()) // 3])
def test_it_fits_and_every_piece_is_of_the_original(measure):
    for room in range(measure(TEXT) + 2):
        check(TEXT, room, condense(TEXT, room, query="keepers", measure=measure), measure)


@given(SOME_TEXT, st.integers(-1, 600), st.sampled_from(["", "keeper wind", "?"]))
@settings(max_examples=200)
def test_any_text_is_condensed(text, room, query):
    check(text, room, condense(text, room, query=query, measure=len), len)


def test_what_fits_is_left_as_it_is():
    made = condense(TEXT, len(TEXT), measure=len)
    assert made.text == TEXT
    assert [(span.start, span.end) for span in made.spans] == [(0, len(TEXT))]
    assert condense("", 0, measure=len).spans == ()


def test_one_sentence_at_most_is_cut_at_a_word_and_with_a_mark():
    ends = {span.end for span in sentences(TEXT)}
    for room in range(60, len(TEXT), 7):
        made = condense(TEXT, room, measure=len)
        pieces = [span for span in made.spans if span.end not in ends]
        assert len(pieces) == made.text.replace("[…]", "").count("…") <= 1
        for span in pieces:
            assert f"{TEXT[span.start : span.end]}…" in made.text
            assert not TEXT[span.end].isalnum()


def test_a_sentence_is_cut_only_where_whole_ones_leave_room():
    text = " ".join(f"Note {n} of the keeper says that wind {n * 7} came up." for n in range(400))
    for room in (2_000, 4_000, 8_000):
        assert "…" not in condense(text, room, measure=len).text.replace("[…]", "")
    assert condense(text, 80, measure=len).text.replace("[…]", "").count("…") == 1


def test_most_of_the_room_is_used():
    text = "\n\n".join(f"Note {n} of the keeper says that wind {n * 7} came up." for n in range(400))
    for room in (len(text) // 10, len(text) // 4, len(text) // 2):
        assert len(condense(text, room, measure=len).text) > 0.93 * room


def test_the_query_decides_what_is_kept():
    light = condense(TEXT, 150, query="When did the light become automatic?", measure=len).text
    wind = condense(TEXT, 150, query="How did keepers record wind and weather?", measure=len).text
    assert "automatic since 1988" in light
    assert "wind and weather three times a day" in wind


def test_gaps_are_marked():
    made = condense(TEXT, 400, query="keepers wind weather tower", measure=len).text
    assert "[…]" in made


def test_a_row_comes_with_the_head_of_its_table():
    made = condense(TEXT, 120, query="How high is the lantern in metres?", measure=len).text
    assert "| Part | Height |" in made
    assert "| Lantern | 4 metres |" in made


def test_a_heading_or_the_head_of_a_table_is_never_all_that_is_kept():
    for room in range(15, 200):
        kept = condense(TEXT, room, query="How high is the lantern in metres?", measure=len).text
        kept = kept.replace("[…]", "").replace("| Part | Height |", "")
        assert [line for line in kept.splitlines() if line and not line.startswith("#")]


@pytest.mark.parametrize("rest", ["", "\n\nSee also the index page of stones.\n"])
def test_of_a_text_that_is_nearly_all_headings_as_many_are_kept_as_fit(rest):
    text = "\n".join(f"## Light of harbour {n} in {1800 + n}" for n in range(300)) + rest
    for room in (200, 2_000, 5_000):
        made = condense(text, room, query="harbour light", measure=len)
        check(text, room, made, len)
        assert len(made.text) >= 0.9 * room
        assert rest.strip() in made.text


def test_what_does_not_fit_at_all_leaves_its_room_to_what_does():
    notes = " ".join(f"Note {n} of the keeper says that wind {n * 7} came up." for n in range(200))
    endless = "wind and keeper and note and fog and lamp " * 300
    for text in (f"{endless}. {notes}", f"{notes} {endless}"):
        for room in (1_500, 4_000, 9_000):
            made = condense(text, room, query="keeper note wind", measure=len)
            check(text, room, made, len)
            assert len(made.text) >= 0.9 * room


def test_a_sentence_that_is_not_beside_the_kept_ones_fills_the_room_as_well():
    text = "```\nkeeper()\nfog()\nthe()\n```\n" + " ".join(str(n) for n in range(1_000, 1_300))
    for room in (200, 700):
        assert len(condense(text, room, measure=len).text) >= 0.9 * room


def test_one_early_space_does_not_cost_the_rest_of_a_long_word():
    text = "図1 " + "灯台は古い塔石風海" * 100
    for room in (100, 600):
        assert len(condense(text, room, measure=len).text) >= 0.9 * room


def test_a_piece_that_is_counted_as_more_than_a_longer_one_is_made_shorter():
    """As some encodings count, where the end of a word changes how it is cut into tokens."""
    text = "wind and keeper and note and fog and lamp " * 30

    def measure(piece):
        return len(piece) // 4 + 2 * (len(piece) % 5 == 0)

    for room in range(30, measure(text)):
        made = condense(text, room, measure=measure)
        check(text, room, made, measure)
        assert measure(made.text) >= 0.7 * room


def test_a_heading_comes_with_what_stands_under_it():
    made = condense(TEXT, 170, query="How did they write down wind and weather?", measure=len).text
    assert made.index("## Keepers") < made.index("wind and weather")


def test_repeats_are_kept_once():
    said = "The storm of 1823 broke the glass of the lantern."
    text = "\n\n".join([said, "Other words stand here about tea.", said, "And more about cups."] * 5)
    assert condense(text, 200, query="storm glass", measure=len).text.count(said) == 1


def test_lines_of_code_are_no_repeats():
    code = "```\n" + "\n".join(f"fog({n})\nfog.end()" for n in range(40)) + "\n```"
    made = condense(code, len(code) - 40, measure=len).text
    assert made.count("fog.end()") > 20
    assert len(made) > 0.9 * (len(code) - 40)


def test_a_sentence_larger_than_the_room_is_cut_at_a_word():
    text = "The keepers of the light wrote down wind and weather " * 30
    made = condense(text, 40, measure=len)
    assert made.text == "The keepers of the light wrote down…"
    assert condense("x" * 500, 10, measure=len).text == "x" * 9 + "…"
    assert condense("x" * 500, 0, measure=len).text == ""


def test_a_text_without_words_is_cut_too():
    made = condense(". " * 400, 20, measure=len)
    check(". " * 400, 20, made, len)


def test_a_measure_that_jumps_is_never_passed():
    def jumpy(text):
        return len(text) + 50 * text.count("[…]")

    for room in range(0, len(TEXT), 31):
        check(TEXT, room, condense(TEXT, room, query="wind", measure=jumpy), jumpy)


def test_another_process_condenses_the_same():
    """Sets have another order in every process."""
    program = (
        "import sys; from deep_research.budget.condense import condense;"
        "sys.stdout.write(condense(sys.stdin.read(), 420, query='keepers wind tower', measure=len).text)"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", program],
            input=TEXT,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path), "PYTHONUTF8": "1"},
        ).stdout
        for seed in ("1", "2")
    }
    assert told == {condense(TEXT, 420, query="keepers wind tower", measure=len).text}
