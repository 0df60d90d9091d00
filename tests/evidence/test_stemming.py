from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from deep_research.evidence.language import STEMMED, stem_in, stemmed


@pytest.mark.parametrize("language", STEMMED)
def test_every_language_that_is_said_to_be_stemmed_has_an_algorithm(language: str) -> None:
    assert stem_in(language, "harbour1")


@pytest.mark.parametrize(
    ("word", "stem"), [("lighthouses", "lighthous"), ("", ""), ("\ud800lamps", "\ud800lamps")]
)
def test_any_word_has_a_stem(word: str, stem: str) -> None:
    assert stemmed("english", word) == stem


def test_threads_do_not_get_each_others_stems() -> None:
    words = [f"{'b' * n}uilding" for n in range(1, 200)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda word: stemmed("english", word), words * 20))
    assert found == [word.removesuffix("ing") for word in words] * 20
