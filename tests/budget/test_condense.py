"""Condensing: whole sentences, word for word, in their order, within the room."""

import pytest
from hash_seeds import printed
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
PIECES = [
    "The keeper wrote. ", "Wind rose in 1811! ", "# Head\n", "\n\n", "- an item\n", "a | b | c\n", "```\ncode\n```\n",
    "word " * 40, "x" * 90, "\n", " … ", "«Qui?» dit-il. ", "灯台は古い。", "| - | - |\n",
]  # fmt: skip
SOME_TEXT = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


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
        assert len(pieces) == marks(made) <= 1
        for span in pieces:
            assert f"{TEXT[span.start : span.end]}…" in made.text
            assert not TEXT[span.end].isalnum()


def marks(made):
    return made.text.replace("[…]", "").count("…")


def notes(count, joint=" "):
    return joint.join(f"Note {n} of the keeper says that wind {n * 7} came up." for n in range(count))


def test_a_sentence_is_cut_only_where_whole_ones_leave_room():
    assert [marks(condense(notes(400), room, measure=len)) for room in (80, 2_000, 8_000)] == [1, 0, 0]


LANTERN = "How high is the lantern in metres?"


@pytest.mark.parametrize(
    ("room", "query", "kept"),
    [
        (150, "When did the light become automatic?", ["automatic since 1988"]),
        (150, "How did keepers record wind and weather?", ["wind and weather three times a day"]),
        (170, "How did they write down wind and weather?", ["## Keepers", "wind and weather"]),
        (400, "keepers wind weather tower", ["[…]"]),
        (120, LANTERN, ["| Part | Height |", "| Lantern | 4 metres |"]),
    ],
    ids=[
        "by the query",
        "by another",
        "with its heading",
        "gaps are marked",
        "a row with the head of its table",
    ],
)
def test_the_query_decides_what_is_kept_with_what_it_stands_under(room, query, kept):
    made = condense(TEXT, room, query=query, measure=len).text
    places = [made.index(each) for each in kept]
    assert places == sorted(places)


def test_a_heading_or_the_head_of_a_table_is_never_all_that_is_kept():
    for room in range(15, 200):
        kept = condense(TEXT, room, query=LANTERN, measure=len).text
        kept = kept.replace("[…]", "").replace("| Part | Height |", "")
        assert [line for line in kept.splitlines() if line and not line.startswith("#")]


ENDLESS = "wind and keeper and note and fog and lamp " * 300
NUMBERS = " ".join(str(n) for n in range(1_000, 1_300))
FILLED = {
    "prose": (notes(400, "\n\n"), (2_000, 5_000, 10_000)),
    "what does not fit at all, first": (f"{ENDLESS}. {notes(200)}", (1_500, 4_000, 9_000)),
    "what does not fit at all, last": (f"{notes(200)} {ENDLESS}", (1_500, 4_000, 9_000)),
    "sentences that are not side by side": (f"```\nkeeper()\nfog()\nthe()\n```\n{NUMBERS}", (200, 700)),
    "one early space in a long word": ("図1 " + "灯台は古い塔石風海" * 100, (100, 600)),
}


@pytest.mark.parametrize(("text", "rooms"), FILLED.values(), ids=FILLED)
def test_most_of_the_room_is_used(text, rooms):
    for room in rooms:
        made = condense(text, room, query="keeper note wind", measure=len)
        check(text, room, made, len)
        assert len(made.text) >= 0.9 * room


@pytest.mark.parametrize("rest", ["", "\n\nSee also the index page of stones.\n"])
def test_of_a_text_that_is_nearly_all_headings_as_many_are_kept_as_fit(rest):
    text = "\n".join(f"## Light of harbour {n} in {1800 + n}" for n in range(300)) + rest
    for room in (200, 2_000, 5_000):
        made = condense(text, room, query="harbour light", measure=len)
        check(text, room, made, len)
        assert len(made.text) >= 0.9 * room
        assert rest.strip() in made.text


def test_a_piece_that_is_counted_as_more_than_a_longer_one_is_made_shorter():
    """As some encodings count, where the end of a word changes how it is cut into tokens."""
    text = "wind and keeper and note and fog and lamp " * 30

    def measure(piece):
        return len(piece) // 4 + 2 * (len(piece) % 5 == 0)

    for room in range(30, measure(text)):
        made = condense(text, room, measure=measure)
        check(text, room, made, measure)
        assert measure(made.text) >= 0.7 * room


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
    check(". " * 400, 20, condense(". " * 400, 20, measure=len), len)


def test_another_process_condenses_the_same():
    """Sets have another order in every process."""
    program = (
        "import sys; from deep_research.budget.condense import condense;"
        "sys.stdout.write(condense(sys.stdin.read(), 420, query='keepers wind tower', measure=len).text)"
    )
    assert printed(program, text=TEXT) == {condense(TEXT, 420, query="keepers wind tower", measure=len).text}
