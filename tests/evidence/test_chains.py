"""Which passages together answer a question that none of them answers alone."""

from hypothesis import given, settings
from hypothesis import strategies as st

from deep_research.evidence.chains import chain
from deep_research.evidence.entries import Item, asked
from deep_research.evidence.passages import passages
from deep_research.state import Mention

QUESTION = "Where was the director of the film Harbour born?"
RARITY = {"director": 0.6, "film": 0.3, "harbour": 0.8, "born": 0.4}
ASKED = asked(QUESTION, RARITY, [Mention(name="harbour", weight=0.8, bearers=1)])
FILM = Item(
    "film",
    "Harbour",
    "Harbour is a film of 1950. Its director was Ann Mole.",
    [Mention(name="ann mole", weight=0.9, bearers=1)],
)
PERSON = Item("ann", "Ann Mole", "Ann Mole was born in Ghent in 1901.")
TOWN = Item("town", "Ghent", "Ghent is a town. Many people were born there.")
SCORES = {"film": 1.0, "ann": 0.9, "town": 0.5, "family": 0.8}


def sources(*items, question=ASKED):
    return [step.source for step in chain(question, items, SCORES)]


def test_the_passage_that_names_comes_before_the_one_about_what_it_names():
    steps = chain(ASKED, [TOWN, PERSON, FILM], SCORES)
    assert [(s.source, s.name) for s in steps] == [("film", ""), ("ann", "ann mole")]
    assert steps[1].words == {"bear"}  # the stem of "born"


def test_nothing_leads_on_from_a_passage_that_has_the_whole_question():
    whole = Item(
        "film", "Harbour", "The director of the film Harbour, Ann Mole, was born in Ghent.", FILM.mentions
    )
    assert sources(whole, PERSON) == []


def test_a_source_does_not_lead_to_itself():
    alone = Item(
        "film", "Harbour", "Harbour is a film.\n\n## Ann Mole\n\nAnn Mole was born in Ghent.", FILM.mentions
    )
    assert sources(alone) == []


def test_a_name_may_be_that_of_a_heading_or_an_entry_inside_a_source():
    family = Item("family", "The Moles", "# The Moles\n\nA family.\n\n## Ann Mole\n\nShe was born in Ghent.")
    assert sources(FILM, family) == ["film", "family"]


def test_a_part_of_a_longer_name_is_another_name():
    family = Item("family", "The Moles", "# The Moles\n\n## Mary Ann Mole\n\nShe was born in Paris.")
    assert sources(FILM, family) == []


def test_the_name_beside_what_is_asked_leads_on_before_a_weightier_one():
    film = Item(
        "film",
        "Harbour",
        "Harbour is a film. The Ghent Picture Board took a young man: the director of Harbour was Ann Mole.",
        [Mention(name="ann mole", weight=0.5), Mention(name="ghent picture board", weight=0.7)],
    )
    board = Item("town", "The board", "# The board\n\n## Ghent Picture Board\n\nHe was born in Ghent.")
    person = Item("ann", "Ann Mole", "# People\n\n## Ann Mole\n\nAnn Mole was born in Ghent in 1901.")
    for order in ((film, board, person), (person, board, film)):
        steps = chain(ASKED, order, {"film": 1.0, "ann": 0.8, "town": 0.8})
        assert [s.name for s in steps][1:2] == ["ann mole"]


def test_sides_of_a_comparison_are_no_chain():
    compared = asked(
        "Which film is older, Harbour or Ghent?",
        RARITY,
        [Mention(name="harbour", weight=0.8, bearers=1), Mention(name="ghent", weight=0.8, bearers=1)],
    )
    assert sources(FILM, PERSON, TOWN, question=compared) == []


def test_the_order_of_the_sources_does_not_matter():
    assert chain(ASKED, [FILM, PERSON, TOWN], SCORES) == chain(ASKED, [TOWN, PERSON, FILM], SCORES)


@settings(max_examples=100)
@given(st.lists(st.text(max_size=300), max_size=5))
def test_whatever_the_texts_every_step_is_a_passage_of_its_source(texts):
    items = [Item(str(n), text[:40], text, FILM.mentions) for n, text in enumerate([*texts, FILM.text])]
    for step in chain(ASKED, items, dict.fromkeys((item.id for item in items), 0.5)):
        text = items[int(step.source)].text
        assert step.span in [p.span for p in passages(text)]
