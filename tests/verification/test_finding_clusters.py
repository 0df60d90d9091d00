"""Which findings are one, and how sure they are."""

import pytest
from tables import cases
from witnesses import finding, source

from deep_research.provenance.independence import voices
from deep_research.provenance.near_duplicates import MAX_ALIKE, SimilarSets, fingerprint
from deep_research.state import ConfidenceLevel, Gap, SourceQuality
from deep_research.verification.finding_clusters import filled, merge_findings

LOW, HIGH = SourceQuality.LOW, SourceQuality.HIGH
SOURCES = {name: source(name, quality=LOW if name == "w" else HIGH) for name in "abcw"}


def said(content, *sources, **more):
    return finding(content, sources=sources or ("a",), confidence=more.get("confidence", ConfidenceLevel.LOW))


NEEDS = "is easy to install as it needs no other tool or compiler on the machine."
WORK = "Work of the keeper: {}; Who does it now: {}; Where it is done: on land"


@pytest.mark.parametrize(
    ("count", "one", "other"),
    cases(
        f"""
        1 | The tower was built in 1811 by Rennie. | The tower was built in 1811 by Rennie!
        2 | The tower was built in 1811 by Rennie. | The tower was built in 1812 by Rennie.
        2 | The tower was built in 1811 by Rennie. | The tower was not built in 1811 by Rennie.
        2 | The tower was built in 1811 by Rennie. | The tower was built in 1811 by Smeaton.
        2 | The tower was built in 1811 by Rennie. | A keeper lived there.
        1 | The tower was built in 1811 by Rennie. | In 1811 the tower was built by Rennie.
        2 | The tower was built in 1811 by Rennie. | The first tall tower was built in 1811 by Rennie.
        2 | Orrel {NEEDS} | Penryn {NEEDS}
        1 | Orrel {NEEDS} | Moreover, Orrel {NEEDS}
        2 | {WORK.format("watching", "radio")} | {WORK.format("winding", "a motor")}
        1 | {WORK.format("watching", "radio")} | Watching; radio; on land.
        1 | The tower of Mole is 57 m tall. | The tower of Mole is 187 ft tall.
        1 | The tower of Mole is 57 metres tall. | The tower of Mole is 57 m tall.
        2 | The tower of Mole is 57 m tall. | The tower of Mole is 61 m tall.
        2 | The town of Mole has 1,995 inhabitants. | The town of Mole has 1,996 inhabitants.
        1 | The town of Mole has 1,500 inhabitants. | The town of Mole has 1500 inhabitants.
        """,
        int,
    ),
)
def test_findings_are_one_when_values_names_and_polarity_agree(count, one, other):
    assert len(merge_findings([said(one, "a"), said(other, "b")], SOURCES)) == count


@pytest.mark.parametrize(
    ("ids", "level"), [(("a", "b"), "high"), (("a", "b", "c"), "confirmed"), (("a", "w"), "medium")]
)
def test_confidence_follows_from_independent_sources_of_quality(ids, level):
    (one,) = merge_findings([said("The same words.", i) for i in ids], SOURCES)
    assert one.confidence == level
    assert one.source_ids == ids


LONG = "The keepers of the tower of Mole climbed two hundred steps each night with oil for the lamps."


@pytest.mark.parametrize(
    ("content", "fields"),
    [
        ("The same words.", lambda name: {"content_hash": "same"}),
        ("The same words.", lambda name: {"snippet": f"{LONG} {name}"}),
        (LONG, lambda name: {}),
    ],
    ids=["one text under two addresses", "texts that are nearly the same", "one long sentence word for word"],
)
def test_what_tells_the_same_words_is_one_witness(content, fields):
    sources = {name: source(name, quality=HIGH, **fields(name)) for name in "ab"}
    (one,) = merge_findings([said(content, "a"), said(content, "b")], sources)
    assert one.confidence is ConfidenceLevel.MEDIUM


def test_copies_with_little_changed_are_one_witness():
    words = [f"{a}{b}" for a in ("mar", "tel", "sin", "bor", "lun") for b in ("a", "e", "io", "us")]
    pairs = zip(words * 9, words[7:] * 15, strict=False)
    original = " ".join(f"{one} {two} {n}" for n, (one, two) in enumerate(pairs))
    copy = f"Another headline. {original} Shown by permission."
    texts = {"a": original, "b": copy, "c": " ".join(reversed(original.split()))}
    held = {name: source(name, quality=HIGH, fingerprint=fingerprint(text)) for name, text in texts.items()}
    for ids, level in (("ab", ConfidenceLevel.MEDIUM), ("abc", ConfidenceLevel.HIGH)):
        (one,) = merge_findings([said("The same words.", *ids)], held)
        assert one.confidence is level


def test_speculation_stays_speculation():
    first = said("Perhaps so.", "a", confidence=ConfidenceLevel.SPECULATION)
    (one,) = merge_findings([first, said("Perhaps so.", "b")], SOURCES)
    assert one.confidence is ConfidenceLevel.SPECULATION


def test_a_gap_is_filled_by_a_finding_that_covers_most_of_it():
    gap = Gap(id="g", description="Not found: wages", suggested_queries=("keeper wages Boston",))
    others = ["The tower is tall.", "The tower is old.", "The keeper lived there."]
    found = [said(text) for text in ("The keeper at Boston had wages; none were found.", *others)]
    assert filled([gap], found) == {"g": found[:1]}
    assert filled([gap], found[1:]) == {}


def test_words_that_every_statement_has_fill_no_gap():
    gap = Gap(id="g", description="the tower's architect")
    assert filled([gap], [said(f"The tower of place {n}.") for n in range(9)]) == {}


def test_of_very_many_that_are_nearly_the_same_each_finds_its_like_and_few_are_looked_at(monkeypatch):
    looked = []
    near = SimilarSets.near

    def counted(self, words, **beside):
        looked.append(len(near(self, words, **beside)))
        return near(self, words, **beside)

    monkeypatch.setattr(SimilarSets, "near", counted)
    frame = "The {} lamp on the northern pier of the old harbour burns oil and is kept by two men all year."
    found = merge_findings([said(frame.format(f"Mole{n % 500:03}"), f"src-{n}") for n in range(1_000)], {})
    assert [len(each.source_ids) for each in found] == [2] * 500
    words = " ".join(f"word{w}" for w in range(24))
    several = [source(f"src-{n}", snippet=f"mole{n} {words}") for n in range(1_000)]
    assert len(voices(several)) == 1
    assert max(looked) < 10 * MAX_ALIKE
