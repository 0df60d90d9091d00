"""How sources hang together by the names they bear and mention."""

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deep_research.retrieval.multi_hop import AskedTerms, Item, asked_terms, follow
from deep_research.retrieval.parsed_question import parse_question
from deep_research.state import Mention
from deep_research.text.words import stem

RARITY = {"born": 0.4, "director": 0.6, "died": 0.4, "film": 0.3}


def mention(name, weight=0.9, bearers=1):
    return Mention(name=name, weight=weight, bearers=bearers)


FIRST_DEATH = "Which film has the director who died first, Dune or Mole?"


def asking(question, *names):
    return asked_terms(
        parse_question(question), RARITY, [mention(name) for name in names or ("dune", "mole")]
    )


def test_what_a_comparison_asks_of_both_sides_together_is_asked_of_none():
    question = asking("Which film is older, Dune or Mole?")
    assert "older" not in question.words
    assert question.sides


def test_no_side_of_a_comparison_is_looked_for_where_the_other_leads():
    dune = Item("a", "Dune", "Dune is a film. Its director was Ann Gray.", [mention("ann gray")], {0: 0})
    mole = Item("b", "Mole", "Mole is a film. Its director was Bob Hare.", [mention("bob hare")], {0: 1})
    queries = [lead.query for lead in follow(asking(FIRST_DEATH), [dune, mole]).leads]
    assert "Ann Gray died" in queries
    assert "Bob Hare died" in queries
    assert not any("mole" in query for query in queries if "Ann Gray" in query)


def test_a_name_that_many_bear_leads_less_far():
    def linked(bearers):
        text, kim = "Dune is a film. Its director is Kim.", mention("kim", bearers=bearers)
        items = [Item("a", "Dune", text, [kim], {0: 0}), Item("b", "Kim", "Kim was born in Ghent.")]
        return follow(asking("Where was the director of Dune born?", "dune"), items).scores["b"]

    assert linked(1) > linked(9)


def test_each_name_of_the_question_begins_a_trail_though_another_outshines_it():
    told = "Dune is a film of Dune. The director died."
    many = [Item(f"x{n}", f"Dune {n}", told, (), {0: n}) for n in range(8)]
    mole = Item("m", "Mole", "Mole was made by Bob Hare.", [mention("bob hare")], {0: 20})
    hare = Item("h", "Bob Hare", "Bob Hare died in 1950.")
    other = Item("o", "Jim Stoat", "Jim Stoat died in 1951.")
    scores = follow(asking(FIRST_DEATH), [*many, mole, hare, other]).scores
    assert scores["h"] > scores["o"]


NAMES = st.sampled_from(["ann", "bob hare", "dune", "mole", "ghent", "kim"])
ITEMS = st.lists(
    st.tuples(
        NAMES,
        st.text(string.ascii_letters + " .", max_size=80),
        st.lists(st.builds(mention, NAMES, st.floats(0, 1), st.integers(0, 5)), max_size=4),
        st.dictionaries(st.integers(0, 6), st.integers(0, 9), max_size=3),
    ),
    max_size=8,
)


@settings(max_examples=80)
@given(st.text(max_size=80), ITEMS, st.lists(st.builds(mention, NAMES, st.floats(0, 1)), max_size=3))
def test_whatever_was_found_scores_are_shares_and_the_order_of_arrival_does_not_show(text, found, names):
    question = asked_terms(parse_question(text), RARITY, names)
    items = [Item(str(n), *parts) for n, parts in enumerate(found)]
    one, other = (
        follow(question, order, naming=frozenset({1}), following=frozenset({2, 3}))
        for order in (items, items[::-1])
    )
    assert one.scores == other.scores
    assert one.coverage == other.coverage
    assert all(0.0 <= score <= 1.0 for score in one.scores.values())
    assert 0.0 <= one.coverage <= 1.0


@pytest.mark.parametrize(("question", "queries"), [("several", ()), ("born", ("Ann Mole born",))])
def test_a_word_that_only_asks_leads_nowhere(question: str, queries: tuple[str, ...]) -> None:
    asking = AskedTerms({stem("harbour"): 1.0, stem(question): 1.0}, text=f"harbour {question}")
    found = Item("a", "Harbour", "The harbour of Ann Mole.", (mention("ann mole", 1.0),))
    assert tuple(lead.query for lead in follow(asking, [found]).leads) == queries
