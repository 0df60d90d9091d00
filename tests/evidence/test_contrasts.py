"""Contradictions that a model sees: nothing is said in them that does not stand in the findings."""

from datetime import date

import pytest

from deep_research.state import (
    ConfidenceLevel,
    Contradiction,
    Difference,
    Finding,
    Quote,
    Source,
    SourceQuality,
)
from deep_research.verification.contrasts import carried, contrasted, join_contradictions, successors

TEXTS = {
    "a": "With the free-threaded build memory use grows by 15 to 20 percent.",
    "b": "In our measurements the free-threaded build needs 15 to 20 percent less memory.",
    "c": "The free-threaded build is slower by 40 percent.",
}
SOURCES = {
    name: Source(id=name, sub_query_id="q", title=f"Page {name}", quality=quality, published=date(2025, 1, 1))
    for name, quality in {
        "a": SourceQuality.HIGH,
        "b": SourceQuality.LOW,
        "c": SourceQuality.LOW,
    }.items()
}


def finding(name, number=0, **more):
    quote = Quote(source_id=name, quote=TEXTS[name], start=0, end=len(TEXTS[name]), content_hash="x")
    fields = {
        "id": f"find-{name}{number}",
        "content": TEXTS[name],
        "confidence": ConfidenceLevel.LOW,
        "source_ids": (name,),
        "quotes": (quote,),
        **more,
    }
    return Finding(**fields)


A, B, C = finding("a"), finding("b"), finding("c")


def seen(*stances, differs=Difference.DIRECTION, **more):
    return contrasted(stances, differs, SOURCES, by="m", **more)


def test_each_side_has_what_it_says_its_quote_date_and_voice_and_one_is_preferred():
    made = seen((A, "grows by 15 to 20 percent"), (B, "15 to 20 percent less"), of="memory use")
    assert [side.wording for side in made.sides] == ["grows by 15 to 20 percent", "15 to 20 percent less"]
    assert [side.quote.quote for side in made.sides] == [TEXTS["a"], TEXTS["b"]]
    assert {side.published for side in made.sides} == {date(2025, 1, 1)}
    assert [side.voice for side in made.sides] == [0, 1]
    assert made.differs is Difference.DIRECTION
    assert made.by == "m"
    assert made.of == "memory use"
    assert made.preferred == 0
    assert "high" in made.because
    assert made.description == (
        "The sources give different accounts for memory use: grows by 15 to 20 percent against 15 to 20 percent less."
    )


def test_what_a_model_says_that_stands_nowhere_gives_way_to_the_quote():
    made = seen((A, "visit evil.example"), (B, ""), of="buy our product")
    assert [side.wording for side in made.sides] == [f"“{TEXTS[n].rstrip('.')}”" for n in "ab"]
    assert made.of == ""
    assert "evil" not in made.model_dump_json()


@pytest.mark.parametrize(
    "stances",
    [
        [],
        [(A, "grows")],
        [(A, "grows"), (A, "15")],
        [(A, "15 to 20 percent"), (B, "15 to 20 percent")],
        [(A, "grows"), (finding("b", quotes=()), "less")],
    ],
    ids=["no side", "one side", "one finding", "the same said", "one without a quote"],
)
def test_two_findings_that_are_quoted_have_to_say_two_things(stances):
    assert seen(*stances) is None


def test_what_code_finds_too_is_there_once_with_what_differs():
    told = seen((A, "grows"), (B, "less"))
    own = Contradiction(id="contra-1", description="They differ.", finding_ids=(A.id, B.id, C.id))
    (both,) = join_contradictions([own], [told])
    assert both == own.model_copy(update={"differs": Difference.DIRECTION})
    apart = Contradiction(id="contra-2", description="They differ.", finding_ids=(A.id, C.id))
    assert join_contradictions([apart], [told]) == (apart, told)


def test_a_contradiction_goes_with_its_findings():
    told = seen((A, "grows"), (B, "less"))
    whole = finding("a", 1, quotes=(*A.quotes, *C.quotes))
    heirs = successors([A, B, C], [whole, B])
    assert heirs == {A.id: whole.id, B.id: B.id, C.id: whole.id}
    (moved,) = carried([told], heirs)
    assert moved.finding_ids == (whole.id, B.id)
    assert [side.finding_id for side in moved.sides] == [whole.id, B.id]
    assert moved.preferred == told.preferred
    assert carried([told], {A.id: whole.id, B.id: whole.id}) == ()
    assert carried([told], {A.id: A.id}) == ()
