"""Copies are told from a few characters kept of each text."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.provenance.near_duplicates import Originals, alike, copied, fingerprint

WORDS = [
    a + b
    for a in ["ba", "ce", "di", "fo", "gu", "ha", "ki", "lo", "me", "nu", "pa", "re", "si", "to", "vu"]
    for b in ["ban", "cel", "dir", "fon", "gus", "ham", "kin", "lor"]
]


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
    return "\n".join(
        [
            "QUITE ANOTHER TITLE",
            text(seed, 40),
            *lines,
            "Editor's note: first shown by our partner.",
            text(seed + 1, 60),
        ]
    )


@pytest.mark.parametrize("seed", range(20))
def test_a_syndicated_article_is_a_copy(seed):
    original = text(seed)
    assert same(original, republished(original, 900 + seed))
    assert same(original, original.upper().replace("\n", "  ").replace(".", " – "))


@pytest.mark.parametrize("seed", range(20))
def test_two_articles_in_their_own_words_are_no_copies(seed):
    assert not same(text(seed), text(seed + 100))


@pytest.mark.parametrize("seed", range(20))
def test_two_pages_with_the_same_boilerplate_are_no_copies(seed):
    frame = text(777, 150)
    assert not same(frame + text(seed), frame + text(seed + 100))


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


def test_a_text_too_short_to_tell_has_no_fingerprint_and_is_no_copy():
    assert fingerprint("") == fingerprint("A few words. " * 3) == fingerprint("again and " * 900) == ""
    assert not copied("", "")
    assert not copied(fingerprint(text(1)), "")


def test_what_is_no_fingerprint_is_no_copy():
    assert alike("what?", fingerprint(text(1))) == alike("AAA", "AAA") == 0.0


@given(st.text(), st.integers(0, 50), st.integers(0, 600))
def test_a_fingerprint_is_short_and_a_text_is_its_own_copy(odd, seed, size):
    kept = fingerprint(odd + text(seed, size))
    assert len(kept) <= 905
    assert kept.isascii()
    assert not kept or alike(kept, kept) == 1.0
    other = fingerprint(text(seed + 1, 300))
    assert alike(kept, other) == alike(other, kept)


def test_fingerprints_are_the_same_in_every_process():
    code = (
        "from deep_research.provenance.near_duplicates import fingerprint\n"
        "print(fingerprint(' '.join(f'wörd{n}' for n in range(200))))"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])},
        ).stdout
        for seed in ("1", "2")
    }
    assert told == {fingerprint(" ".join(f"wörd{n}" for n in range(200))) + "\n"}


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
