"""Copies are told from a few characters kept of each text, and versions of a document from copies of it."""

import json
import os
import random
from pathlib import Path

import pytest
from hash_seeds import printed
from hypothesis import given
from hypothesis import strategies as st
from version_pairs import PAGE, pairs

from deep_research.provenance.near_duplicates import (
    Originals,
    alike,
    are_versions,
    copied,
    facts,
    fingerprint,
    versions,
)

STEMS, ENDS = "ba ce di fo gu ha ki lo me nu pa re si to vu", "ban cel dir fon gus ham kin lor"
WORDS = [a + b for a in STEMS.split() for b in ENDS.split()]


def text(seed, words=400):
    """Sentences that no other seed has; some phrases are everybody's."""
    dice = random.Random(seed)
    common = ["according to a statement on", "the ministry said that the", "it is not yet known whether"]
    parts = [" ".join(dice.choices(WORDS, k=12)) + "." for _ in range(words // 12)]
    return "\n".join(f"{dice.choice(common)} {part}" for part in parts)


def same(a, b):
    return copied(fingerprint(a), fingerprint(b))


def republished(original, seed):
    lines = original.splitlines()
    cut = len(lines) // 3
    del lines[cut : cut + 4]
    around = ["QUITE ANOTHER TITLE", text(seed, 40)], ["Editor's note: by our partner.", text(seed + 1, 60)]
    return "\n".join([*around[0], *lines, *around[1]])


@pytest.mark.parametrize("seed", range(20))
def test_a_syndicated_article_is_a_copy_and_others_with_the_same_boilerplate_are_none(seed):
    original, other, frame = text(seed), text(seed + 100), text(777, 150)
    assert same(original, republished(original, 900 + seed))
    assert same(original, original.upper().replace("\n", "  ").replace(".", " – "))
    assert not same(original, other)
    assert not same(frame + original, frame + other)


def test_an_article_within_a_longer_page_is_found():
    assert alike(fingerprint(text(1)), fingerprint(text(2, 800) + text(1) + text(3, 800))) > 0.8


def test_scripts_without_spaces_are_compared_as_well():
    def sinic(seed, base=0x4E00, signs=2_000):
        dice = random.Random(seed)
        return "".join(chr(base + dice.randrange(signs)) for _ in range(500))

    one = sinic(1)
    assert same(one, "編集部注。" + one[:200] + one[260:])
    assert not same(one, sinic(2))
    assert same(sinic(3, 0x0E01, 40), sinic(3, 0x0E01, 40)[50:])


def test_what_is_too_short_to_tell_or_no_fingerprint_is_no_copy():
    assert fingerprint("") == fingerprint("A few words. " * 3) == fingerprint("again and " * 900) == ""
    for nothing in ("", "what?", "AAA"):
        assert not copied(nothing, nothing)
        assert alike(nothing, fingerprint(text(1))) == alike(nothing, nothing) == 0.0


@given(st.text(), st.integers(0, 50), st.integers(0, 600))
def test_a_fingerprint_is_short_and_a_text_is_its_own_copy(odd, seed, size):
    kept = fingerprint(odd + text(seed, size))
    assert len(kept) <= 905
    assert kept.isascii()
    assert not kept or alike(kept, kept) == 1.0
    other = fingerprint(text(seed + 1, 300))
    assert alike(kept, other) == alike(other, kept)


def test_fingerprints_are_the_same_in_every_process():
    code = "from deep_research.provenance.near_duplicates import fingerprint\n"
    code += "print(fingerprint(' '.join(f'wörd{n}' for n in range(200))))"
    assert printed(code) == {fingerprint(" ".join(f"wörd{n}" for n in range(200))) + "\n"}


def test_of_real_abstracts_none_is_a_copy_of_another_and_changed_ones_are():
    place = Path(os.environ.get("BENCHMARK_DATA", "")) / "scifact" / "corpus.jsonl"
    if not place.exists():
        pytest.skip("BENCHMARK_DATA names no folder that has SciFact")
    rows = [json.loads(line)["sentences"] for line in place.read_text(encoding="utf-8").splitlines()[:400]]
    rows = [row for row in rows if len(row) >= 8]
    kept = [fingerprint(" ".join(row)) for row in rows]
    assert not any(copied(a, b) for n, a in enumerate(kept) for b in kept[:n])
    changed = [fingerprint(" ".join(("A new title.", *row[:3], *row[4:], "A note."))) for row in rows]
    assert sum(map(copied, kept, changed)) >= 0.97 * len(rows)


def test_of_many_texts_each_copy_is_told_from_its_original_alone():
    originals = Originals()
    texts = [text(seed) for seed in range(30)]
    assert [originals.place_of(fingerprint(each)) for each in texts] == list(range(30))
    for place, each in enumerate(texts):
        assert originals.place_of(fingerprint(republished(each, 900 + place))) == place
    assert originals.place_of("") == 30


# Versions of a document


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.sweep) for seed in range(1, 20))])
def test_of_sixty_pairs_at_least_57_are_told_apart(seed):
    right = sum(
        (versions if are else copied)(fingerprint(one), fingerprint(other))
        and not (copied if are else versions)(fingerprint(one), fingerprint(other))
        for one, other, are in pairs(60, seed)
    )
    assert right >= 57


CHANGED = {
    "a figure": ("is 24 and", "is 32 and", True),
    "a denial": ("It is read when the queue", "It is never read when the queue", True),
    "white space, case and marks": ("It is read when the queue is asked", "IT  is read – when the queue is asked", False),
    "what is no sentence": ("The buffer of", "Updated 3 May 2024\n\nThe buffer of", False),
    "other words": ("is given back to whoever", "is handed back to whoever", False),
}  # fmt: skip


@pytest.mark.parametrize(("was", "now", "are"), CHANGED.values(), ids=CHANGED)
def test_what_makes_a_version(was, now, are):
    assert was in PAGE
    assert are_versions(facts(PAGE), facts(PAGE.replace(was, now))) is are
    assert versions(fingerprint(PAGE), fingerprint(PAGE.replace(was, now))) is are
    assert copied(fingerprint(PAGE), fingerprint(PAGE.replace(was, now))) is not are


def test_what_is_kept_by_an_older_package_tells_copies_alone():
    old = fingerprint(PAGE).partition(".")[0]
    assert copied(old, fingerprint(PAGE.replace("is 24", "is 32")))
    assert copied(fingerprint(PAGE), old)
