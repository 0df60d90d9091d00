"""From a question and texts to passages: what is asked, what can be quoted, what ranks, what is chosen."""

from collections.abc import Sequence

import pytest
from hash_seeds import printed
from hypothesis import given
from hypothesis import strategies as st
from tables import cases, listed

from deep_research.retrieval.candidates import Pool, read_document
from deep_research.retrieval.parsed_question import parse_question
from deep_research.retrieval.ranker import COLUMNS, View, default_ranker, signals
from deep_research.retrieval.selection import LONG, MAX_NEEDED_WORDS, choose, leads, passages
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


# Texts and their candidates: of forms, numbered lines, questions with their answers, lines over marks, code.
CUT = cases(
    r"""
    They are:\n\n- Red. => They are: / Red.
    Place: hut\nPresent: 47 men\nand guests\nTime: 8 pm => Place: hut / Present: 47 men\nand guests / Time: 8 pm
    It has two parts.\nOne: the lamp is\nred. => It has two parts. / One: the lamp is\nred.
    (1) The deposit is 200 euros\n(2) The rent is 900 euros => (1) The deposit is 200 euros\n(2) The rent is 900 euros
    1. Close the inlet valve\nUse the lever. => Close the inlet valve\nUse the lever.
    I. Rent\nII. Deposit\n => I. Rent\nII. / Deposit
    1. Shut it down\n2. Open it => Shut it down / Open it
    1. Go to the menu\nand click. => Go to the menu\nand click.
    May I swim? No, never. Rowing is fine. => May I swim? No, never. / Rowing is fine.
    **Q: May I swim?**\nA: No.\n\nIt is deep. => **Q: May I swim?**\nA: No. / It is deep.
    1. May I swim?\n   No.\n\n2. May I row?\n   Yes. => May I swim?\n   No. / May I row?\n   Yes.
    May I swim? May I row? No. => May I swim? / May I row? No.
    The lamp.\n\n- Red. => The lamp. / Red.
    Long line\n--\nText. => Long line\n--\nText.
    ```\nname\n----\n```\n\nText. => ```\nname\n----\n``` / Text.
    the mole stands. it was lit, e.g. by st. ann. => the mole stands. / it was lit, e.g. by st. ann.
    """,
    lambda cell: cell.replace(r"\n", "\n"),
    lambda cell: listed(cell.replace(r"\n", "\n")),
    bar=" => ",
)
CONDITION = "Whoever has been a member of the rowing club by the sea for two whole years may swim."
UNDER_HEADINGS = [
    ("2. RENT\n2.1 It is 40 pounds.\n\n§ 3 Ort\nHier.", "2. RENT: 2.1 It is 40 pounds. / § 3 Ort: Hier."),
    ("# May I swim?\n\nNo. It is deep.", "May I swim?: May I swim?\n\nNo. / May I swim?: It is deep."),
    (f"# Who swims?\n\n{CONDITION}", f"Who swims?: {CONDITION}"),
    ("# Swimming\n\nNo. It is deep.", "Swimming: No. / Swimming: It is deep."),
    ("Top\n===\n\nOne.\n\nLamp\n~~~~\nGives light.", "Top: One. / Top › Lamp: Gives light."),
]  # fmt: skip


CUT += [(text, listed(expected)) for text, expected in UNDER_HEADINGS]


@pytest.mark.parametrize(("text", "expected"), CUT)
def test_a_question_stays_with_its_answer_and_a_line_over_marks_is_a_heading(
    text: str, expected: list[str]
) -> None:
    document = read_document("s", "t", text)
    told = [f"{c.heading}: {text[c.start : c.end]}".removeprefix(": ") for c in document.candidates]
    assert told == expected


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


def shown(question: str, text: str) -> str:
    """The first passage, as it stands in the text."""
    seen = view(question, text)
    passage = passages(seen, default_ranker().scores(seen), 200)[0]
    document = seen.pool.documents[0]
    return document.text[document.candidates[passage.first].start : document.candidates[passage.last].end]


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
OTHER = """# Ways

The lamp mode of a keeper may have one of these values:

- on
- off
- auto

## Not allowed

- Burning of straw in the yard of the office.

This list is not whole, but keeping goats is allowed for a keeper who has asked the harbour office.
"""
PASSAGES = {
    "what points back comes after what it points to": (LEAVE, "What is called the waiting time?", "Everybody … meet it."),
    "what is announced comes with it": (LEAVE, "How may a keeper choose unpaid leave?", "A keeper of … A day a week."),
    "a pronoun is told by the heading": (LEAVE, "Who may bring forward hours?", "He may … new year."),
    "a list of small words is whole": (OTHER, "What values may the lamp mode have?", "The lamp … - off\n- auto"),
    "no item stands before other text": (OTHER, "Is keeping goats allowed for a keeper?", "This list … harbour office."),
}  # fmt: skip


@pytest.mark.parametrize(("text", "question", "ends"), PASSAGES.values(), ids=PASSAGES)
def test_a_passage_stands_by_itself(text: str, question: str, ends: str) -> None:
    first, _, last = ends.partition(" … ")
    assert shown(question, text).startswith(first)
    assert shown(question, text).endswith(last)


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
    ("text", "part", "lead"),
    cases(
        """
        rules | dive into the shallow end | You must never:
        rules | with shoes | run along the edge:
        rules | with a ball | run along the edge:
        rules | hold your breath | You must never:
        rules | ``` | To change a code run:
        rules | To change a code run: | ""
        steps | Open the lid. | Steps of the lamp:
        steps | a hammer | Do not use any of these tools:
        steps | a saw | Do not use any of these tools:
        steps | Close the lid. | Steps of the lamp:
        steps | oldlib | Never install these:
        steps | Fetch goodlib. | ""
        steps | Of another section. | ""
        """,
        {"rules": RULES, "steps": STEPS}.__getitem__,
    ),
)
def test_what_announces_a_list_leads_to_its_own_items_and_to_code(text: str, part: str, lead: str) -> None:
    document = read_document("src-0", "In the water", text)
    every = [text[c.start : c.end] for c in document.candidates]
    c = next(c for c in document.candidates if text[c.start : c.end].startswith(part))
    place = document.parts[c.block].lead
    assert (every[place] if place is not None else "") == lead
    if lead:
        assert view(lead, text).asked_near(c) >= view(lead, text).asked


def test_leads_of_a_deep_list_are_as_many_as_can_be_shown() -> None:
    deep = "\n".join(f"{'  ' * n}- The lamp of step {n} has all of these parts within it:" for n in range(60))
    high = "The lamp of Mole is nine metres high."
    seen = view("How high is the lamp of Mole?", f"{deep}\n{'  ' * 60}- {high}")
    found = passages(seen, default_ranker().scores(seen), 200)
    assert all(len(leads(seen, seen.document(c).candidates[c.place])) < 10 for c in seen.candidates)
    assert sum(p.words for p in found) <= 200 + LONG


LADDER = """# Titles

Category | Keeper (L1) | Senior keeper (L2)
Trust | Works the lamp under the eye of another one. Every watch is looked over by one of these at its end. | {more}
Pay | 300 crowns | 420 crowns
"""


ALONE = "Works alone through each watch, and looks over what the others have done by day and night."


def test_a_row_with_several_cells_of_prose_is_cut_into_these() -> None:
    plain = LADDER.format(more=ALONE)
    barred = "\n".join(f"| {line} |" if " | " in line else line for line in plain.splitlines())
    for text in (plain, barred):
        told = {text[c.start : c.end]: c.heading for c in read_document("src-0", "Titles", text).candidates}
        assert told[ALONE] == "Titles › Trust, Senior keeper (L2)"
        assert "Every watch is looked over by one of these at its end." in told
        assert {heading for row, heading in told.items() if "300 crowns" in row} == {"Titles"}
    whole = read_document("src-0", "Titles", plain, whole_rows=True)
    assert {plain[c.start : c.end].split(" | ")[0] for c in whole.candidates} == {"Trust", "Pay"}
    assert best("What is said of the trust of a senior keeper?", plain) == ALONE


def test_a_row_with_one_cell_of_prose_stays_whole() -> None:
    text = LADDER.format(more="Works alone.")
    rows = [text[c.start : c.end] for c in read_document("src-0", "Titles", text).candidates]
    assert any(row.startswith("Trust | Works the lamp") for row in rows)


def test_what_a_heading_is_of_is_said_with_it_where_others_have_the_same() -> None:
    lines = """# Films; ## Saw; ### People; Anna did it.; ## Drill; ### People; Ben did it.; ### Money; It cost 4 pounds.
    ### Notes; #### 1; It is long.; ## Money; All of it cost 9 pounds."""
    text = "\n\n".join(line.strip() for line in lines.replace("\n", ";").split(";"))
    assert [c.heading for c in read_document("src", "Films", text).candidates] == [
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


def test_the_order_of_sets_does_not_change_what_is_chosen() -> None:
    program = """
from deep_research.retrieval.candidates import Pool, read_document
from deep_research.retrieval.ranker import View
from deep_research.retrieval.parsed_question import parse_question
from deep_research.retrieval.ranker import default_ranker
from deep_research.retrieval.selection import passages
words = "amber brook candle dormer ember fathom".split()
pairs = list(zip(words, words[1:]))
texts = [" ".join(f"The {a} {b} stands by the {c}." for c in words[:n + 2]) for n, (a, b) in enumerate(pairs)]
pool = Pool([read_document(str(n), words[n], text) for n, text in enumerate(texts)])
view = View(parse_question("Where do the " + " ".join(words) + " stand?"), pool)
scores = default_ranker().scores(view)
print([(p.document, p.first) for p in passages(view, scores, 200)], scores)
"""
    assert len(printed(program, range(6))) == 1


def test_the_next_row_of_a_table_is_of_another_thing():
    text = "| Tower | Height |\n| --- | --- |\n| Oban | 12 m |\n| Mull | 30 m |\n| Skye | 44 m |\n"
    view = View(parse_question("How tall is Mull?"), Pool([read_document("a", "Towers", text)]))
    near = {view.text(c): view.wide(c) for c in view.candidates}
    (mull,) = (share for row, share in near.items() if "Mull" in row)
    assert all(share < mull for row, share in near.items() if "Mull" not in row)
