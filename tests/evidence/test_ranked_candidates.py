"""From a question and texts to passages: what is asked, what can be quoted, what ranks, what is chosen."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.retrieval.candidates import Pool, read_document
from deep_research.retrieval.parsed_question import parse_question
from deep_research.retrieval.ranker import COLUMNS, View, default_ranker, signals
from deep_research.retrieval.selection import LONG, MAX_NEEDED_WORDS, choose, leads, passages
from deep_research.text.language import vocabularies, vocabulary
from deep_research.text.passages import BlockKind

ROCK = """# The Mole light

The Mole stands off the northern coast. It was built in 1811 by Anna Brook. The tower is 35 metres tall.

## Not allowed

- Lighting fires on the stairs.
- Keeping goats.

## Figures

Light | Height | Year
Mole | 35 m | 1811
Hare | 21 m | 1843

```
mole --lamp on
```
"""
BROOK = "# Anna Brook\n\nAnna Brook was born in Port Lissel. She studied bridges. She died in 1840."
TEA = "# Tea\n\nTea is brewed from leaves. Green tea is not fermented. It is drunk hot."


def view(question: str, *texts: str) -> View:
    inquiry = parse_question(question)
    documents = [
        read_document(f"src-{n}", text.split("\n")[0].strip("# "), text) for n, text in enumerate(texts)
    ]
    return View(inquiry, Pool(documents))


def best(question: str, *texts: str) -> str:
    seen = view(question, *texts)
    scores = default_ranker().scores(seen)
    return seen.text(seen.candidates[max(range(len(scores)), key=lambda i: (scores[i], -i))])


@pytest.mark.parametrize(
    ("question", "expects"),
    [
        ("How tall is the Mole?", "number"),
        ("When was it built?", "date"),
        ("In the year of the flood, who built it?", "person"),
        ("Where was she born?", "place"),
        ("Why did the tower fall?", "reason"),
        ("How do I light the lamp?", "manner"),
        ("What is a lens?", "definition"),
        ("What is the price of a lens?", "number"),
        ("At what temperature is it cast?", "number"),
        ("Was kostet der Eintritt?", "number"),
        ("Is the tower tall?", "polar"),
        ("The lamp was lit by whom and in what year?", "date"),
        ("Lamps and lenses", ""),
        ("Wann wurde der Turm gebaut?", "date"),
        ("Wie hoch ist der Turm?", "number"),
        ("Wie groß ist der Turm?", "number"),
        ("Qui a construit la tour du phare ?", "person"),
    ],
)
def test_the_longest_opening_tells_the_kind_of_answer(question: str, expects: str) -> None:
    assert parse_question(question).expects == expects


def test_a_question_of_several_parts_has_each_with_its_kind() -> None:
    parts = parse_question("Who built the Mole, how much did it cost, and when was it lit?").parts
    assert [part.expects for part in parts][-1] == "date"
    assert len(parts) > 1
    assert len(parse_question("How tall is the Mole?").parts) == 1


def test_names_figures_and_identifiers_are_told_from_other_words() -> None:
    inquiry = parse_question('Does the Mole light of 1811 use max_file_bytes or "red lamps"?')
    assert {"mole", "1811", "max_file_bytes", "red", "lamp"} <= inquiry.names
    assert "light" not in inquiry.names


@pytest.mark.parametrize("language", sorted(vocabularies()))
def test_every_language_has_a_whole_table(language: str) -> None:
    words = vocabulary(language)
    assert {"number", "date", "person", "place", "reason", "manner", "definition", "list"} <= set(words.opens)
    assert {"reason", "definition", "date"} <= set(words.cues)
    assert not any(opening != opening.casefold() for every in words.opens.values() for opening in every)
    assert words.function
    assert words.leaning
    assert words.numerals


def test_candidates_are_sentences_items_rows_and_code_with_where_they_stand() -> None:
    document = read_document("src-0", "The Mole light", ROCK)
    texts = [ROCK[c.start : c.end] for c in document.candidates]
    assert "It was built in 1811 by Anna Brook." in texts
    goats = next(c for c in document.candidates if "goats" in ROCK[c.start : c.end])
    assert (goats.kind, goats.heading) == (BlockKind.ITEM, "The Mole light › Not allowed")
    assert "allow" in view("Are goats allowed?", ROCK).asked_near(goats)
    row = next(c for c in document.candidates if ROCK[c.start : c.end].startswith("Hare"))
    assert row.kind is BlockKind.TABLE
    # Of the header, which is no candidate itself.
    assert "height" in view("What height is it?", ROCK).asked_near(row)
    assert not any(text.startswith("Light | Height") for text in texts)
    assert any(c.kind is BlockKind.CODE for c in document.candidates)


@pytest.mark.parametrize(
    ("text", "candidates", "headings"),
    [
        ("They are:\n\n- Red.", ["They are:", "Red."], ["", ""]),
        # Of a form each line stands for itself, and a number with some words on a line of their own is a heading.
        (
            "Place: boathouse\nPresent: 47 members\nand two guests\nTime: 8 pm",
            ["Place: boathouse", "Present: 47 members\nand two guests", "Time: 8 pm"],
            [""] * 3,
        ),
        (
            "It has two parts.\nOne: the lamp is\nred.",
            ["It has two parts.", "One: the lamp is\nred."],
            [""] * 2,
        ),
        (
            "2. RENT\n2.1 It is 40 pounds.\n\n§ 3 Kaution\nEine Miete.",
            ["2.1 It is 40 pounds.", "Eine Miete."],
            ["2. RENT", "§ 3 Kaution"],
        ),
        (
            "(1) The deposit is 200 euros\n(2) The rent is 900 euros",
            ["(1) The deposit is 200 euros\n(2) The rent is 900 euros"],
            [""],
        ),
        ("1. Close the inlet valve\nUse the lever.", ["Close the inlet valve\nUse the lever."], [""]),
        ("I. Rent\nII. Deposit\n", ["I. Rent\nII.", "Deposit"], [""] * 2),
        ("1. Shut it down\n2. Open it", ["Shut it down", "Open it"], [""] * 2),
        ("1. Go to the menu\nand click.", ["Go to the menu\nand click."], [""]),
        # A question goes with what answers it.
        ("May I swim? No, never. Rowing is fine.", ["May I swim? No, never.", "Rowing is fine."], [""] * 2),
        (
            "**Q: May I swim?**\nA: No.\n\nIt is deep.",
            ["**Q: May I swim?**\nA: No.", "It is deep."],
            [""] * 2,
        ),
        (
            "1. May I swim?\n   No.\n\n2. May I row?\n   Yes.",
            ["May I swim?\n   No.", "May I row?\n   Yes."],
            [""] * 2,
        ),
        ("May I swim? May I row? No.", ["May I swim?", "May I row? No."], [""] * 2),
        ("# May I swim?\n\nNo. It is deep.", ["May I swim?\n\nNo.", "It is deep."], ["May I swim?"] * 2),
        (
            "# Who swims?\n\nWhoever has been a member of the rowing club by the sea for two whole years may swim.",
            ["Whoever has been a member of the rowing club by the sea for two whole years may swim."],
            ["Who swims?"],
        ),
        ("# Swimming\n\nNo. It is deep.", ["No.", "It is deep."], ["Swimming"] * 2),
        ("The lamp.\n\n- Red.", ["The lamp.", "Red."], ["", ""]),
        ("Top\n===\n\nOne.\n\nLamp\n~~~~\nGives light.", ["One.", "Gives light."], ["Top", "Top › Lamp"]),
        ("Long line\n--\nText.", ["Long line\n--\nText."], [""]),
        ("```\nname\n----\n```\n\nText.", ["```\nname\n----\n```", "Text."], ["", ""]),
    ],
)
def test_a_question_stays_with_its_answer_and_a_line_over_marks_is_a_heading(
    text: str, candidates: list[str], headings: list[str]
) -> None:
    document = read_document("s", "t", text)
    assert [text[c.start : c.end] for c in document.candidates] == candidates
    assert [c.heading for c in document.candidates] == headings


@given(st.text(alphabet=st.sampled_from("aB.!? |-#=~\n`1é中"), max_size=400))
def test_every_candidate_is_a_span_of_its_text_in_order(text: str) -> None:
    document = read_document("s", "t", text)
    ends = [0]
    for place, c in enumerate(document.candidates):
        assert c.place == place
        assert ends[-1] <= c.start < c.end <= len(text)
        ends.append(c.end)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How tall is the Mole?", "35 metres"),
        ("Who built the Mole?", "Anna Brook"),
        ("Where was the builder of the Mole born?", "Anna Brook"),
        ("Is green tea fermented?", "not fermented"),
    ],
)
def test_the_sentence_that_answers_ranks_first_in_lower_case_too(question: str, answer: str) -> None:
    for texts in ((ROCK, BROOK, TEA), (ROCK.lower(), BROOK.lower(), TEA.lower())):
        assert answer.lower() in best(question, *texts).lower()


def test_every_column_is_a_share_and_none_is_the_same_for_all() -> None:
    seen = view("How tall is the Mole light, not allowed?", ROCK, BROOK, TEA)
    for name, column in COLUMNS.items():
        values = [column(seen, c) for c in seen.candidates]
        assert all(0 <= value <= 1 for value in values), name
        assert len(set(values)) > 1, name


def test_a_source_is_linked_that_a_sentence_of_another_names() -> None:
    seen = view("Where was the builder of the Mole born?", ROCK, BROOK, TEA)
    assert seen.linked[1] > 0
    assert seen.linked[2] == 0


@given(
    st.lists(st.sampled_from([ROCK, BROOK, TEA, ""]), max_size=4),
    st.integers(0, 200),
    st.sampled_from(["How tall is the Mole?", "tea", "", "Who?"]),
)
def test_passages_keep_to_their_words_and_never_overlap(
    texts: Sequence[str], words: int, question: str
) -> None:
    seen = view(question, *texts)
    scores = default_ranker().scores(seen)
    found = passages(seen, scores, words)
    places = [(p.document, place) for p in found for place in range(p.first, p.last + 1)]
    assert len(places) == len(set(places))
    assert sum(p.words for p in found) <= max(words, LONG)
    assert all(p.first <= place <= p.last for p in found for place in p.highlights)
    chosen = choose(seen, scores, words)
    assert len(chosen) == len(set(chosen))


LEAVE = """# Leave

Everybody is to be in the harbour office for one whole year first. This is called the waiting time of a keeper, and a
keeper who asks for leave of the harbour office has to meet it.

He may bring forward as many hours of his watch as he has kept on the days before the new year.

## Ways

A keeper of the harbour office who asks for unpaid leave may choose one of these ways:

- Half a year at once.
- A day a week.

{more}
"""
PASSAGES = [
    (
        "what points back comes after what it points to",
        "What is called the waiting time?",
        "Everybody",
        "meet it.",
    ),
    (
        "what is announced comes with it",
        "How may a keeper choose unpaid leave?",
        "A keeper of",
        "A day a week.",
    ),
    ("a pronoun is told by the heading", "Who may bring forward hours?", "He may", "new year."),
]


@pytest.mark.parametrize(
    ("question", "first", "last"), [p[1:] for p in PASSAGES], ids=[p[0] for p in PASSAGES]
)
def test_a_passage_stands_by_itself(question: str, first: str, last: str) -> None:
    seen = view(question, LEAVE)
    (passage, *_) = passages(seen, default_ranker().scores(seen), 200)
    every = seen.pool.documents[0].candidates[passage.first : passage.last + 1]
    shown = seen.pool.documents[0].text[every[0].start : every[-1].end]
    assert shown.startswith(first)
    assert shown.endswith(last)


OTHER = """# Ways

The lamp mode of a keeper may have one of these values:

- on
- off
- auto

## Not allowed

- Burning of straw in the yard of the office.

This list is not whole, but keeping goats is allowed for a keeper who has asked the harbour office.
"""


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        (
            "What values may the lamp mode have?",
            "The lamp mode of a keeper may have one of these values:\n\n- on\n- off\n- auto",
        ),
        (
            "Is keeping goats allowed for a keeper?",
            "This list is not whole, but keeping goats is allowed for a keeper who has asked the harbour office.",
        ),
    ],
)
def test_a_list_of_small_words_is_whole_and_no_item_stands_before_other_text(
    question: str, shown: str
) -> None:
    seen = view(question, OTHER)
    (passage, *_) = passages(seen, default_ranker().scores(seen), 200)
    document = seen.pool.documents[0]
    assert (
        document.text[document.candidates[passage.first].start : document.candidates[passage.last].end]
        == shown
    )


RULES = """# In the water

Nobody here is a lifeguard.

You must never:

- dive into the shallow end
- run along the edge:
  - with shoes
  - with a ball
- hold your breath

## Codes

To change a code run:

```
door set 4
```
"""


@pytest.mark.parametrize(
    ("part", "lead"),
    [
        ("dive into the shallow end", "You must never:"),
        ("with shoes", "run along the edge:"),
        ("with a ball", "run along the edge:"),
        ("hold your breath", "You must never:"),
        ("```", "To change a code run:"),
        ("To change a code run:", None),
    ],
)
def test_what_announces_a_list_leads_to_each_of_its_items_and_to_code(part: str, lead: str | None) -> None:
    document = read_document("src-0", "In the water", RULES)
    every = [RULES[c.start : c.end] for c in document.candidates]
    c = next(c for c in document.candidates if RULES[c.start : c.end].startswith(part))
    place = document.parts[c.block].lead
    assert (every[place] if place is not None else None) == lead
    if lead:
        assert view(lead, RULES).asked_near(c) >= view(lead, RULES).asked


STEPS = """# Lamp

Steps of the lamp:

1. Open the lid.

   Do not use any of these tools:

   - a hammer
   - a saw

2. Close the lid.

Never install these:

- oldlib

1. Fetch goodlib.

## Other

- Of another section.
"""


@pytest.mark.parametrize(
    ("item", "lead"),
    [
        ("Open the lid.", "Steps of the lamp:"),
        ("a hammer", "Do not use any of these tools:"),
        ("a saw", "Do not use any of these tools:"),
        ("Close the lid.", "Steps of the lamp:"),
        ("oldlib", "Never install these:"),
        ("Fetch goodlib.", None),
        ("Of another section.", None),
    ],
)
def test_no_item_is_led_to_by_what_announces_another_list(item: str, lead: str | None) -> None:
    document = read_document("src-0", "Lamp", STEPS)
    every = [STEPS[c.start : c.end] for c in document.candidates]
    place = document.parts[document.candidates[every.index(item)].block].lead
    assert (every[place] if place is not None else None) == lead


def test_rows_between_bars_are_cut_into_the_same_cells() -> None:
    plain = LADDER.format(
        more="Works alone through each watch, and looks over what the others have done by day and night."
    )
    barred = "\n".join(f"| {line} |" if " | " in line else line for line in plain.splitlines())
    told = []
    for text in (plain, barred):
        every = read_document("src-0", "Titles", text).candidates
        told.append({text[c.start : c.end]: c.heading for c in every if "alone" in text[c.start : c.end]})
    assert told[0] == told[1]
    assert list(told[0].values()) == ["Titles › Trust, Senior keeper (L2)"]


def test_leads_of_a_deep_list_are_as_many_as_can_be_shown() -> None:
    deep = "\n".join(f"{'  ' * n}- The lamp of step {n} has all of these parts within it:" for n in range(60))
    seen = view(
        "How high is the lamp of Mole?", f"{deep}\n{'  ' * 60}- The lamp of Mole is nine metres high."
    )
    found = passages(seen, default_ranker().scores(seen), 200)
    assert all(len(leads(seen, seen.document(c).candidates[c.place])) < 10 for c in seen.candidates)
    assert sum(p.words for p in found) <= 200 + LONG


LADDER = """# Titles

Category | Keeper (L1) | Senior keeper (L2)
Trust | Works the lamp under the eye of another one. Every watch is looked over by one of these at its end. | {more}
Pay | 300 crowns | 420 crowns
"""


@pytest.mark.parametrize(
    ("senior", "headings"),
    [
        ("Works alone through each watch, and looks over what the others have done by day and night.", True),
        ("Works alone.", False),
    ],
)
def test_a_row_with_several_cells_of_prose_is_cut_into_these(senior: str, headings: bool) -> None:
    text = LADDER.format(more=senior)
    document = read_document("src-0", "Titles", text)
    told = {text[c.start : c.end]: c.heading for c in document.candidates}
    assert told["Pay | 300 crowns | 420 crowns"] == "Titles"
    if headings:
        assert told[senior] == "Titles › Trust, Senior keeper (L2)"
        assert "Every watch is looked over by one of these at its end." in told
    else:
        assert any(row.startswith("Trust | Works the lamp") for row in told)
    whole = read_document("src-0", "Titles", text, whole_rows=True)
    assert {text[c.start : c.end].split(" | ")[0] for c in whole.candidates} == {"Trust", "Pay"}


def test_a_cell_is_asked_by_its_row_and_its_column() -> None:
    senior = "Works alone through each watch, and looks over what the others have done by day and night."
    assert best("What is said of the trust of a senior keeper?", LADDER.format(more=senior)) == senior


def test_what_a_heading_is_of_is_said_with_it_where_others_have_the_same() -> None:
    text = """# Films

## Saw

### People

Anna did it.

## Drill

### People

Ben did it.

### Money

It cost 4 pounds.

### Notes

#### 1

It is long.

## Money

All of it cost 9 pounds."""
    headings = [c.heading for c in read_document("src", "Films", text).candidates]
    assert headings == [
        "Films › Saw, People",
        "Films › Drill, People",
        "Films › Drill, Money",
        "Films › Drill › Notes › 1",
        "Money",
    ]


def test_a_list_ends_where_an_item_announces_another() -> None:
    food = "A keeper of the office may eat all of the following:\n\n- apples of the yard\n- plants, but for:\n  - hemlock"
    seen = view("What may a keeper of the office eat?", food)
    passage = passages(seen, default_ranker().scores(seen), 200)[0]
    assert passage.first == 0
    assert passage.last == 1
    assert passage.breaks_off


def test_of_a_long_list_that_is_announced_the_first_items_come_with_it() -> None:
    seen = view("How may a keeper choose unpaid leave?", LEAVE.format(more="- A week a month.\n" * 40))
    (passage, *_) = passages(seen, default_ranker().scores(seen), 200)
    assert MAX_NEEDED_WORDS - 4 < passage.words <= MAX_NEEDED_WORDS


def test_the_probability_is_lower_without_the_evidence() -> None:
    def probability(*texts: str) -> float:
        seen = view("How tall is the tower of the Mole light?", *texts)
        scores = default_ranker().scores(seen)
        chosen = choose(seen, scores, 150)
        assert signals(seen, scores, chosen).keys() == default_ranker().signals.keys()
        return default_ranker().probability(seen, scores, chosen)

    assert probability(ROCK, BROOK, TEA) > probability(BROOK, TEA) + 0.1


@pytest.mark.parametrize(
    ("question", "asking"),
    [
        ("How long does a lamp burn?", "long"),
        ("Wie lange brennt eine Lampe?", "lang"),
        ("A lamp is lit at dusk. How far is it seen?", "far"),
        ("How many lamps burn?", ""),
        ("Is a long lamp better?", ""),
    ],
)
def test_a_word_that_only_asks_for_a_number_counts_as_little_as_the_least_of_the_others(
    question: str, asking: str
) -> None:
    seen = view(question, "A lamp burns for nine hours. It is filled with oil.", TEA)
    assert seen.inquiry.asking == frozenset(asking.split())
    others = {term: weight for term, weight in seen.weights.items() if term not in seen.inquiry.asking}
    assert all(seen.weights[term] <= min(others.values()) for term in seen.inquiry.asking)


def test_only_so_many_candidates_are_looked_at_closely() -> None:
    """Counted by candidates that are looked at closely, which are bounded."""
    seen = view("How tall is the Mole?", *[f"{ROCK}\n\n{'The Mole is old. ' * 2000}"] * 3)
    assert len(seen.candidates) <= 160


@pytest.mark.parametrize("seed", ["1", "5"])
def test_the_order_of_sets_does_not_change_what_is_chosen(seed: str) -> None:
    program = """
from deep_research.retrieval.candidates import Pool, read_document
from deep_research.retrieval.ranker import View, default_ranker
from deep_research.retrieval.parsed_question import parse_question
from deep_research.retrieval.selection import passages
words = "amber brook candle dormer ember fathom".split()
pairs = list(zip(words, words[1:]))
texts = [" ".join(f"The {a} {b} stands by the {c}." for c in words[:n + 2]) for n, (a, b) in enumerate(pairs)]
pool = Pool([read_document(str(n), words[n], text) for n, text in enumerate(texts)])
view = View(parse_question("Where do the " + " ".join(words) + " stand?"), pool)
scores = default_ranker().scores(view)
print([(p.document, p.first) for p in passages(view, scores, 200)], scores)
"""
    told = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": hashed},
            capture_output=True,
            check=True,
        ).stdout
        for hashed in ("0", seed)
    }
    assert len(told) == 1


def test_sentences_of_a_text_without_capitals_are_told_apart() -> None:
    text = (
        "the mole stands on a rock. it was lit in 1811, by st. ann, e.g. by her son. ships see it from afar."
    )
    document = read_document("a", "mole", text)
    assert [text[c.start : c.end] for c in document.candidates] == [
        "the mole stands on a rock.",
        "it was lit in 1811, by st. ann, e.g. by her son.",
        "ships see it from afar.",
    ]


def test_the_next_row_of_a_table_is_of_another_thing():
    text = "| Tower | Height |\n| --- | --- |\n| Oban | 12 m |\n| Mull | 30 m |\n| Skye | 44 m |\n"
    view = View(parse_question("How tall is Mull?"), Pool([read_document("a", "Towers", text)]))
    near = {view.text(c): view.wide(c) for c in view.candidates}
    (mull,) = (share for row, share in near.items() if "Mull" in row)
    assert all(share < mull for row, share in near.items() if "Mull" not in row)
