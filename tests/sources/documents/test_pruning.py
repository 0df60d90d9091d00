"""What a search leaves out without scoring it can never have been among the best."""

import sqlite3
from contextlib import closing
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.sources.documents import pruning
from deep_research.sources.documents.frequencies import Statistics
from deep_research.sources.documents.pruning import Pruning

WORDS = ("walrus", "ice", "floe", "tusk", "seal", "krill", "Seals", "snow_drift")
PASSAGES = st.lists(st.lists(st.sampled_from(WORDS), max_size=8), min_size=1, max_size=25)


@pytest.fixture(autouse=True)
def nothing_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "_MIN_PRUNED_PASSAGES", 0)
    monkeypatch.setattr(pruning, "_MAX_RARE_PASSAGES", 2)
    monkeypatch.setattr(pruning, "_MIN_TERMS", 2)


def statistics(connection: sqlite3.Connection, terms: list[str], total: int) -> Statistics:
    def count(term: str) -> int:
        held = connection.execute("SELECT count(*) FROM t WHERE t MATCH ?", (f'"{term}"',))
        return int(held.fetchone()[0])

    return Statistics(total, {term: count(term) for term in terms})


@given(PASSAGES, st.lists(st.sampled_from(WORDS), min_size=1, max_size=8), st.floats(0, 40))
def test_no_passage_left_out_has_a_higher_score_than_it_is_said(passages, terms, least):
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE t USING fts5 (body, tokenize='porter')")
        connection.executemany("INSERT INTO t VALUES (?)", [(" ".join(words),) for words in passages])
        everything = " OR ".join(f'"{term}"' for term in terms)
        scores = dict(
            connection.execute("SELECT rowid, -bm25(t) FROM t WHERE t MATCH ?", (everything,)).fetchall()
        )
        known = Pruning(statistics(connection, terms, len(passages)), terms)
        for candidates in (known.candidates(), known.candidates(least)):
            if candidates:
                found = connection.execute("SELECT rowid FROM t WHERE t MATCH ?", (candidates.expression,))
                left_out = scores.keys() - {row for (row,) in found}
                assert all(scores[row] <= candidates.most for row in left_out)
        given_one = known.candidates(least)
        assert given_one is None or given_one.most < least


def test_a_commoner_word_that_is_asked_for_five_times_makes_a_candidate_alone():
    known = Pruning(Statistics(25, {"ice": 3, "seal": 4, "krill": 18}), ["ice", "krill", *["seal"] * 5])
    candidates = known.candidates(10.0)
    assert candidates is not None
    assert candidates.expression == '"seal"'
    assert candidates.most < 10.0


def test_a_guess_needs_more_than_two_words_that_are_not_rare(monkeypatch):
    monkeypatch.setattr(pruning, "_MIN_TERMS", 3)
    assert Pruning(Statistics(1_000, {"ice": 500, "floe": 400}), ["ice", "floe"]).candidates() is None


def test_two_common_words_make_a_candidate_and_one_rare_word_does():
    found = Pruning(Statistics(1_000, {"ice": 500, "floe": 400, "walrus": 1}), ["ice", "floe", "walrus"])
    candidates = found.candidates()
    assert candidates is not None
    assert candidates.expression == '(("floe") AND ("ice")) OR "walrus"'


def test_any_two_of_many_words_make_a_candidate():
    words = ["ice", "floe", "krill", "tusk", "seal"]
    found = Pruning(Statistics(1_000, dict.fromkeys(words, 500)), words).candidates()
    assert found is not None
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE t USING fts5 (body)")
        pairs = [f"{a} {b}" for a, b in combinations(words, 2)]
        connection.executemany("INSERT INTO t VALUES (?)", [(text,) for text in (*pairs, *words)])
        matched = connection.execute("SELECT body FROM t WHERE t MATCH ?", (found.expression,)).fetchall()
    assert sorted(text for (text,) in matched) == sorted(pairs)


def test_words_that_together_make_too_little_count_for_nothing():
    found = Pruning(Statistics(1_000, {"ice": 900, "floe": 800, "walrus": 1}), ["ice", "floe", "walrus"])
    candidates = found.candidates(3.0)
    assert candidates is not None
    assert candidates.expression == '"walrus"'


def test_forms_of_one_word_are_one_word_that_counts_twice():
    once = Pruning(Statistics(1_000, {"seal": 500, "ice": 500}), ["seal", "ice"]).candidates()
    twice = Pruning(Statistics(1_000, {"seal": 500, "seals": 500, "ice": 500}), ["seal", "seals", "ice"])
    assert once is not None
    assert (found := twice.candidates()) is not None
    assert found.expression in ('(("seal" OR "seals") AND ("ice"))', '(("ice") AND ("seal" OR "seals"))')
    assert found.most == pytest.approx(2 * once.most)


def test_nothing_is_left_out_where_each_word_tells_enough_alone():
    assert Pruning(Statistics(1_000, {"ice": 500, "floe": 400}), ["ice", "floe"]).candidates(0.1) is None
