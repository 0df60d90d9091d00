"""Sentences made false: each kind changes what it names and nothing else, and always in the same way."""

import pytest

from evals.corruptions import (
    CORRUPTIONS,
    LOOKALIKE,
    REWORDINGS,
    Names,
    cases,
    corrupted,
    is_drawn,
    names_in,
    reworded,
)

SENTENCE = (
    "On 3 May 1832 the keepers of Bell Rock said it may rise more than 35 metres above the sea of Fife."
)
NAMES = Names(["Skerryvore"], ["La Jument"])


def test_each_kind_makes_a_sentence_false_in_one_place():
    variants = {variant.kind: variant.text for variant in corrupted(SENTENCE, NAMES)}
    assert set(variants) == set(CORRUPTIONS)
    assert "35 metres" not in variants["number"]
    assert "35 feet" in variants["unit"] or "35 meters" not in variants["unit"]
    assert "Skerryvore" in variants["name"] or "La Jument" in variants["name"]
    assert "may not rise" in variants["negation"]
    assert "3 May 1832" not in variants["date"]
    assert "less than 35" in variants["comparison"]
    assert "may rise" not in variants["modality"]
    assert {variant.text for variant in corrupted(SENTENCE, NAMES)} == set(variants.values())


@pytest.mark.parametrize(
    ("sentence", "kind", "expected"),
    [
        ("The tower of the old harbour was not lit before the war.", "negation", "was lit before"),
        ("The grant of the crown came to 1,250 pounds in all for it.", "number", "pounds in all"),
        ("The keepers of the light had three lamps in the upper room.", "number", "lamps in the upper"),
    ],
)
def test_what_a_sentence_has_is_changed(sentence, kind, expected):
    (text,) = (variant.text for variant in corrupted(sentence, NAMES) if variant.kind == kind)
    assert expected in text
    assert text != sentence


def test_a_sentence_may_be_worded_otherwise_and_stay_true():
    sentence = "However, the lamp (of oil) burned 1,200 litres, or 40% of all oil there was."
    variants = {
        v.kind: v.text for v in reworded(sentence, "The rest of the oil was sold to the town in May.")
    }
    assert variants["verbatim"] == sentence
    assert (
        variants["plain"]
        == "However, the lamp (of oil) burned 1200 litres, or 40 percent of all oil there was."
    )
    assert variants["shortened"] == "The lamp burned 1,200 litres, or 40% of all oil there was."
    assert variants["joined"].endswith("in May.")


def test_labels_and_fragments_are_not_drawn():
    assert is_drawn(SENTENCE)
    assert not any(
        map(is_drawn, ("Home | About | News | Press | Shop | Jobs | Help | Top.", "Too short.", "a" * 99))
    )
    assert names_in(SENTENCE) == ["Bell Rock", "Fife"]


def test_the_same_cases_are_drawn_each_time_and_no_more_than_wanted():
    texts = [
        [SENTENCE, "The lamps of Skerryvore had three wicks each and burned 12 litres."],
        [SENTENCE + " "],
    ]
    first = list(cases(texts, lambda sentence, own: 1 - own, 1))
    assert first == list(cases(texts, lambda sentence, own: 1 - own, 1))
    kinds = [case.kind for case in first]
    assert len(kinds) == len(set(kinds))
    assert set(kinds) <= {*CORRUPTIONS, *REWORDINGS, LOOKALIKE}
    assert {case.kind for case in first if case.true} <= set(REWORDINGS)
