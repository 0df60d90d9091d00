"""Which findings are one, how sure they are, and which cannot both be right."""

import pytest

from deep_research.provenance.independence import voices
from deep_research.provenance.near_duplicates import MAX_ALIKE, SimilarSets, fingerprint
from deep_research.provenance.quotes import locate
from deep_research.state import ConfidenceLevel, Finding, Gap, Quote, Source, SourceQuality
from deep_research.text.units import measured
from deep_research.verification.comparison import compared
from deep_research.verification.contradictions import contradictions
from deep_research.verification.finding_clusters import filled, merge_findings


def source(name, quality=SourceQuality.HIGH, text=None):
    return Source(id=name, sub_query_id="subq-1", title=name, quality=quality, content_hash=text or name)


def finding(content, *source_ids, **fields):
    return Finding(
        id=f"find-{abs(hash((content, source_ids)))}",
        content=content,
        confidence=fields.pop("confidence", ConfidenceLevel.LOW),
        source_ids=source_ids or ("a",),
        **fields,
    )


SOURCES = {s.id: s for s in (source("a"), source("b"), source("c"), source("w", SourceQuality.LOW))}


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ("The tower was built in 1811 by Rennie!", True),
        ("The tower was built in 1812 by Rennie.", False),
        ("The tower was not built in 1811 by Rennie.", False),
        ("The tower was built in 1811 by Smeaton.", False),
        ("A keeper lived there.", False),
        ("In 1811 the tower was built by Rennie.", True),
        ("The first tall tower was built in 1811 by Rennie.", False),
    ],
)
def test_findings_are_one_when_numbers_names_and_polarity_agree(other, same):
    first = finding("The tower was built in 1811 by Rennie.", "a")
    assert len(merge_findings([first, finding(other, "b")], SOURCES)) == (1 if same else 2)


def test_what_is_said_of_two_things_in_the_same_words_is_not_one_finding():
    said = "{} is easy to install as it needs no other tool or compiler on the machine."
    both = [finding(said.format("Orrel"), "a"), finding(said.format("Penryn"), "b")]
    assert len(merge_findings(both, SOURCES)) == 2
    assert len(merge_findings([both[0], finding(f"Moreover, {said.format('Orrel')}", "b")], SOURCES)) == 1


@pytest.mark.parametrize(
    ("ids", "level"),
    [(("a", "b"), "high"), (("a", "b", "c"), "confirmed"), (("a", "w"), "medium")],
)
def test_confidence_follows_from_independent_sources_of_quality(ids, level):
    (one,) = merge_findings([finding("The same words.", i) for i in ids], SOURCES)
    assert one.confidence == level
    assert one.source_ids == ids


def test_one_text_under_two_addresses_is_one_witness():
    mirrors = {s.id: s for s in (source("a", text="same"), source("b", text="same"))}
    (one,) = merge_findings([finding("The same words.", "a"), finding("The same words.", "b")], mirrors)
    assert one.confidence is ConfidenceLevel.MEDIUM


def test_speculation_stays_speculation():
    first = finding("Perhaps so.", "a", confidence=ConfidenceLevel.SPECULATION)
    (one,) = merge_findings([first, finding("Perhaps so.", "b")], SOURCES)
    assert one.confidence is ConfidenceLevel.SPECULATION


def test_a_gap_is_filled_by_a_finding_that_covers_most_of_it():
    gap = Gap(id="g", description="Not found: wages", suggested_queries=("keeper wages Boston",))
    others = ["The tower is tall.", "The tower is old.", "The keeper lived there."]
    found = [finding(text) for text in ("The keeper at Boston had wages; none were found.", *others)]
    assert filled([gap], found) == {"g": found[:1]}
    assert filled([gap], found[1:]) == {}


def test_words_that_every_statement_has_fill_no_gap():
    gap = Gap(id="g", description="the tower's architect")
    assert filled([gap], [finding(f"The tower of place {n}.") for n in range(9)]) == {}


def test_numbers_of_one_unit_and_subject_from_different_sources_are_a_conflict():
    a, b = finding("The lighthouse tower is 198 feet tall.", "a"), finding("The tower is 208 feet tall.", "b")
    (conflict,) = contradictions([a, b])
    assert conflict.finding_ids == (a.id, b.id)
    assert "198 feet against 208 feet" in conflict.description


@pytest.mark.parametrize(
    ("one", "other", "ids"),
    [
        ("The tower is 198 feet tall.", "The tower is 198 feet tall and old.", "b"),
        ("The tower is 198 feet tall.", "The tower is 60 metres tall.", "b"),
        ("The tower is 198 feet tall.", "A ship sailed 208 feet away.", "b"),
        ("The tower is 198 feet tall.", "The tower is 208 feet tall.", "a"),
    ],
    ids=["same value", "another unit", "another subject", "same source"],
)
def test_other_pairs_are_no_conflict(one, other, ids):
    assert contradictions([finding(one, "a"), finding(other, ids)]) == ()


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("built in 1811", "built in 1811"),
        ("  stands on a   reef ", "stands\non a reef"),
        ("the keeper's 'log'", "the keeper’s ‘log’"),
        ("1798-1811", "1798–1811"),
        ("never there", None),
        ("", None),
    ],
)
def test_a_quote_is_located_exactly_or_but_for_space_and_marks(quote, found):
    text = "It was built in 1811, stands\non a reef; the keeper’s ‘log’ of 1798–1811."
    located = locate(quote, text, source_id="a", content_hash="h")
    assert (located.quote if located else None) == found
    if located:
        assert text[located.start : located.end] == located.quote


def test_the_place_after_the_hint_is_preferred():
    located = locate("tower", "tower and tower", source_id="a", content_hash="h", hint=3)
    assert located.start == 10


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The tower of Mole is 57 m tall.", "The tower of Mole is 187 ft tall.", True),
        ("The tower of Mole is 57 metres tall.", "The tower of Mole is 57 m tall.", True),
        ("The tower of Mole is 57 m tall.", "The tower of Mole is 61 m tall.", False),
        ("The town of Mole has 1,995 inhabitants.", "The town of Mole has 1,996 inhabitants.", False),
        ("The town of Mole has 1,500 inhabitants.", "The town of Mole has 1500 inhabitants.", True),
        ("The tower of Mole cost 12,345 dollars.", "The tower of Mole cost 12,349 dollars.", False),
    ],
)
def test_one_value_in_two_units_is_one_finding(one, other, same):
    assert len(merge_findings([finding(one, "a"), finding(other, "b")], SOURCES)) == (1 if same else 2)


LONG = "The keepers of the tower of Mole climbed two hundred steps each night with oil for the lamps."


def test_texts_that_are_nearly_the_same_are_one_witness():
    copies = {s.id: s.model_copy(update={"snippet": f"{LONG} {s.id}"}) for s in (source("a"), source("b"))}
    (one,) = merge_findings([finding("The same words.", "a"), finding("The same words.", "b")], copies)
    assert one.confidence is ConfidenceLevel.MEDIUM


def test_one_long_sentence_word_for_word_in_two_texts_is_one_witness():
    quotes = [Quote(source_id=i, quote=LONG, start=0, end=len(LONG), content_hash=i) for i in ("a", "b")]
    (one,) = merge_findings(
        [finding(LONG, "a", quotes=(quotes[0],)), finding(LONG, "b", quotes=(quotes[1],))], SOURCES
    )
    assert one.confidence is ConfidenceLevel.MEDIUM


@pytest.mark.parametrize(
    ("one", "other", "about"),
    [
        ("The tower of Mole is 57 m tall.", "The Mole tower is 61 metres tall.", "57 m against 61 metres"),
        ("The tower of Mole is 57 m tall.", "The Mole tower is 220 ft tall.", "57 m against 220 ft"),
        ("The tower of Mole cost $2,000.", "The Mole tower cost $3,000.", "$2,000 against $3,000"),
        ("The lamp of Mole was lit in 1811.", "In 1812 the lamp of Mole was first lit.", "1811 against 1812"),
        ("The keeper of Mole was paid.", "The keeper of Mole was not paid.", "answers"),
    ],
    ids=["values", "across units", "money", "years of one event", "a yes and a no"],
)
def test_what_cannot_both_be_right_is_a_conflict(one, other, about):
    (conflict,) = contradictions([finding(one, "a"), finding(other, "b")])
    assert about in conflict.description


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The tower of Mole is 57 m tall.", "The tower of Mole is 187 ft tall."),
        ("The tower of Mole is 57 m tall.", "The tower of Mole is 30 m wide."),
        ("The tower of Mole is 57 m tall.", "The tower of Hare is 61 m tall."),
        ("In 1900 the tower of Mole was 57 m tall.", "In 1950 the tower of Mole was 61 m tall."),
        ("The lamp of Mole was lit in 1811.", "The lamp of Mole was automated in 1912."),
        ("The lamp of Mole was lit in 1811.", "The lamp of Hare was lit in 1812."),
        ("The tower of Mole is 57.2 m tall.", "The tower of Mole is 57 m tall."),
        ("The tower of Mole is over 50 m tall.", "The tower of Mole is 57 m tall."),
        ("The tower of Mole is 57–61 m tall.", "The tower of Mole is 57 m tall."),
        ("The tower of Mole is 57 to 61 m tall.", "The tower of Mole is 57 m tall."),
        ("The lamp of Mole was lit in the 1810s.", "The lamp of Mole was lit in 1811."),
    ],
    ids=[
        "units",
        "measures",
        "names",
        "times",
        "events",
        "names and years",
        "rounding",
        "bounds",
        "range",
        "to",
        "decade",
    ],
)
def test_what_may_both_be_right_is_no_conflict(one, other):
    assert contradictions([finding(one, "a"), finding(other, "b")]) == ()


def test_quantities_are_read_with_separators_and_spelled_units():
    read = [(q.unit, q.value) for q in measured("13,343 cubic feet, 1.5 km and 20% of 9 m, $2 million")]
    assert read == [("kilometres", 1.5), ("percent", 20.0), ("metres", 9.0), ("dollars", 2e6)]


def test_rows_with_the_same_headers_are_not_one_finding():
    one = "Work of the keeper: watching; Who does it now: radio; Where it is done: on land"
    other = "Work of the keeper: winding; Who does it now: a motor; Where it is done: on land"
    assert len(merge_findings([finding(one, "a"), finding(other, "b")], {})) == 2
    assert len(merge_findings([finding(one, "a"), finding("Watching; radio; on land.", "b")], {})) == 1


def test_copies_with_little_changed_are_one_witness():
    words = [f"{a}{b}" for a in ("mar", "tel", "sin", "bor", "lun") for b in ("a", "e", "io", "us")]
    original = " ".join(
        f"{one} {two} {n}" for n, (one, two) in enumerate(zip(words * 9, words[7:] * 15, strict=False))
    )
    texts = {
        "a": original,
        "b": f"Another headline. {original} Shown by permission.",
        "c": " ".join(reversed(original.split())),
    }
    held = {
        name: source(name).model_copy(update={"fingerprint": fingerprint(t)}) for name, t in texts.items()
    }
    levels = [
        merge_findings([finding("The same words.", *ids)], held)[0].confidence
        for ids in (("a", "b"), ("a", "b", "c"))
    ]
    assert levels == [ConfidenceLevel.MEDIUM, ConfidenceLevel.HIGH]


def test_a_conflict_says_of_what_and_compares_what_stands_under_like_headers():
    row = "Tower: Mole Rock; Height: 48 m; Note: granite"
    other = "Tower: Mole Rock; Height: 40 m; Year: 1844"
    conflict = compared(row, other)
    assert conflict is not None
    assert (conflict.of, conflict.one, conflict.other) == ("Mole Rock", "48 m", "40 m")
    assert compared(row, "Tower: Mole Rock; Height of masonry: 40 m; Contents: much") is None
    assert compared(row, "The tower stands on granite, 30 m above the sea.") is None  # of whichever tower


def test_the_two_sides_of_an_area_are_no_measures_of_a_thing():
    for text in (
        "about 15 metres by 7 at low tide",
        "7 by 15 metres",
        "15 m × 7 m",
        "a hall of 20 feet x 9 feet",
    ):
        assert list(measured(text)) == []
    assert [q.value for q in measured("raised by 15 metres, and moved 3 feet by rail")] == [15.0, 3.0]


@pytest.mark.parametrize(
    "text",
    [
        "a height of 40 metres by 1902",
        "raised to 42 metres by 12 workers",
        "in 1902 by 12 metres",
        "500 pounds by 1840",
        "2 x 500 grams",
    ],
)
def test_a_year_or_who_did_it_is_no_second_side_of_an_area(text):
    assert len(list(measured(text))) == 1


MEASURED = {
    "money in millions, as it is written short": ("a bid of £262m", ["£262m"], [262e6]),
    "money in billions": ("It paid £4.2bn for the games.", ["£4.2bn"], [4.2e9]),
    "money beside another number": ("The expense was £61,331 9s 2d.", ["£61,331"], [61_331.0]),
    "a scale in words": ("It cost $5 million.", ["$5 million"], [5e6]),
    "metres are no millions": ("It is 5 m high.", ["5 m"], [5.0]),
    "an area is no length": ("22,392 km2 of forest, or 3,000 km²", [], []),
    "a speed is no length": ("at 60 km/h", [], []),
    "one length over another": ("64 m/210 ft", ["64 m", "210 ft"], [64.0, 64.008]),
}


@pytest.mark.parametrize(("text", "told", "bases"), MEASURED.values(), ids=MEASURED)
def test_a_value_is_told_with_its_whole_unit_and_scale(text, told, bases):
    found = list(measured(text))
    assert [text[each.start : each.end] for each in found] == told
    assert [each.base for each in found] == pytest.approx(bases)


def test_of_very_many_that_are_nearly_the_same_each_finds_its_like_and_few_are_looked_at(monkeypatch):
    looked = []
    near = SimilarSets.near

    def counted(self, words, **beside):
        looked.append(len(near(self, words, **beside)))
        return near(self, words, **beside)

    monkeypatch.setattr(SimilarSets, "near", counted)
    frame = "The {} lamp on the northern pier of the old harbour burns oil and is kept by two men all year."
    said = [finding(frame.format(f"Mole{n % 500:03}"), f"src-{n}") for n in range(1_000)]
    found = merge_findings(said, {})
    assert [len(each.source_ids) for each in found] == [2] * 500
    several = [
        source(f"src-{n}").model_copy(
            update={"snippet": f"mole{n} " + " ".join(f"word{w}" for w in range(24))}
        )
        for n in range(1_000)
    ]
    assert len(voices(several)) == 1
    assert max(looked) < 10 * MAX_ALIKE
