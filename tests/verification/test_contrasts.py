"""Contradictions that a model sees: nothing is said in them that does not stand in the findings."""

from datetime import date

import pytest
from witnesses import finding, source

from deep_research.state import Contradiction, Difference, SourceQuality
from deep_research.verification.contrasts import carried, contrasted, join_contradictions, successors

TEXTS = {
    "a": "With the free-threaded build memory use grows by 15 to 20 percent.",
    "b": "In our measurements the free-threaded build needs 15 to 20 percent less memory.",
    "c": "The free-threaded build is slower by 40 percent.",
}
SOURCES = {name: source(name, quality=SourceQuality.LOW, published=date(2025, 1, 1)) for name in TEXTS}
SOURCES["a"] = SOURCES["a"].model_copy(update={"quality": SourceQuality.HIGH})
GROWS, LESS, SLOWER = (finding(text, sources=(name,)) for name, text in TEXTS.items())


def seen(*stances, differs=Difference.DIRECTION, **more):
    return contrasted(stances, differs, SOURCES, by="m", **more)


def test_each_side_has_what_it_says_its_quote_date_and_voice_and_one_is_preferred():
    grows, less = "grows by 15 to 20 percent", "15 to 20 percent less"
    made = seen((GROWS, grows), (LESS, less), of="memory use")
    assert [side.wording for side in made.sides] == [grows, less]
    assert [side.quote.quote for side in made.sides] == [TEXTS["a"], TEXTS["b"]]
    assert {side.published for side in made.sides} == {date(2025, 1, 1)}
    assert [side.voice for side in made.sides] == [0, 1]
    assert (made.differs, made.by, made.of, made.preferred) == (Difference.DIRECTION, "m", "memory use", 0)
    assert "high" in made.because
    accounts = f"The sources give different accounts for memory use: {grows} against {less}."
    assert made.description == accounts


def test_what_a_model_says_that_stands_nowhere_gives_way_to_the_quote():
    made = seen((GROWS, "visit evil.example"), (LESS, ""), of="buy our product")
    assert [side.wording for side in made.sides] == [f"“{TEXTS[n].rstrip('.')}”" for n in "ab"]
    assert made.of == ""
    assert "evil" not in made.model_dump_json()


@pytest.mark.parametrize(
    "stances",
    [
        [],
        [(GROWS, "grows")],
        [(GROWS, "grows"), (GROWS, "15")],
        [(GROWS, "15 to 20 percent"), (LESS, "15 to 20 percent")],
        [(GROWS, "grows"), (LESS.model_copy(update={"quotes": ()}), "less")],
    ],
    ids=["no side", "one side", "one finding", "the same said", "one without a quote"],
)
def test_two_findings_that_are_quoted_have_to_say_two_things(stances):
    assert seen(*stances) is None


def test_what_code_finds_too_is_there_once_with_what_differs():
    told = seen((GROWS, "grows"), (LESS, "less"))
    own = Contradiction(id="contra-1", description="They differ.", finding_ids=(GROWS.id, LESS.id, SLOWER.id))
    (both,) = join_contradictions([own], [told])
    assert both == own.model_copy(update={"differs": Difference.DIRECTION})
    apart = Contradiction(id="contra-2", description="They differ.", finding_ids=(GROWS.id, SLOWER.id))
    assert join_contradictions([apart], [told]) == (apart, told)


def test_a_contradiction_goes_with_its_findings():
    told = seen((GROWS, "grows"), (LESS, "less"))
    whole = GROWS.model_copy(update={"id": "find-whole", "quotes": (*GROWS.quotes, *SLOWER.quotes)})
    heirs = successors([GROWS, LESS, SLOWER], [whole, LESS])
    assert heirs == {GROWS.id: whole.id, LESS.id: LESS.id, SLOWER.id: whole.id}
    (moved,) = carried([told], heirs)
    assert moved.finding_ids == (whole.id, LESS.id)
    assert [side.finding_id for side in moved.sides] == [whole.id, LESS.id]
    assert moved.preferred == told.preferred
    assert carried([told], {GROWS.id: whole.id, LESS.id: whole.id}) == ()
    assert carried([told], {GROWS.id: GROWS.id}) == ()
