"""The figures, against their definitions."""

from __future__ import annotations

from itertools import combinations
from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.metrics import (
    all_at,
    auroc,
    hits_at,
    mean,
    mrr_at,
    ndcg_at,
    nugget_coverage,
    percentile,
    precision_recall,
)

IDS = st.sampled_from("abcdefgh")
RANKED = st.lists(IDS, unique=True)
GROUPS = st.lists(st.frozensets(IDS, min_size=1, max_size=3), max_size=4)
CUTS = st.integers(1, 8)
SCORES = st.lists(st.integers(0, 5).map(float), min_size=1, max_size=8)
WEIGHTS = st.dictionaries(IDS, st.floats(0.01, 5), max_size=6)
SENTENCES = st.lists(st.frozensets(IDS, max_size=4), max_size=7)


@given(CUTS, RANKED, GROUPS)
def test_all_at_k_asks_for_one_of_every_group_and_hits_at_k_for_one_of_any(k, ranked, gold) -> None:
    found = [bool(set(ranked[:k]) & group) for group in gold]
    assert hits_at(k, ranked, gold) == float(any(found))
    assert all_at(k, ranked, gold) == float(bool(gold) and all(found))


@given(CUTS, RANKED, GROUPS)
def test_the_reciprocal_rank_is_that_of_the_first_gold_id(k, ranked, gold) -> None:
    wanted = frozenset[str]().union(*gold)
    ranks = [rank for rank, found in enumerate(ranked, 1) if found in wanted and rank <= k]
    assert mrr_at(k, ranked, gold) == (1 / ranks[0] if ranks else 0.0)


@given(CUTS, RANKED, st.frozensets(IDS))
def test_with_single_ids_the_gain_is_the_usual_one(k, ranked, wanted) -> None:
    gain = sum(1 / log2(rank + 1) for rank, found in enumerate(ranked[:k], 1) if found in wanted)
    best = sum(1 / log2(rank + 1) for rank in range(1, min(k, len(wanted)) + 1))
    assert ndcg_at(k, ranked, [frozenset({one}) for one in wanted]) == pytest.approx(
        gain / best if best else 0
    )


@given(CUTS, RANKED, GROUPS)
def test_every_figure_of_a_ranking_is_a_share(k, ranked, gold) -> None:
    for figure in (hits_at, all_at, mrr_at, ndcg_at):
        assert 0.0 <= figure(k, ranked, gold) <= 1.0
        assert figure(k, ranked, gold) <= figure(k + 1, ranked, gold) or figure is ndcg_at


def test_a_group_is_found_once_however_many_of_its_ids_come() -> None:
    assert ndcg_at(10, ["a", "b"], [frozenset("ab")]) == 1.0
    assert ndcg_at(10, ["a", "b", "c"], [frozenset("ab"), frozenset("c")]) == pytest.approx(
        (1 + 1 / 2) / (1 + 1 / log2(3))
    )


@given(SCORES, SCORES)
def test_auroc_counts_the_pairs_in_the_right_order_and_half_of_the_ties(positives, negatives) -> None:
    pairs = [(p > n) + (p == n) / 2 for p in positives for n in negatives]
    assert auroc(positives, negatives) == pytest.approx(sum(pairs) / len(pairs))
    assert auroc(positives, negatives) + auroc(negatives, positives) == pytest.approx(1.0)


def test_auroc_of_nothing_says_nothing() -> None:
    assert auroc([], [1.0]) == auroc([1.0], []) == 0.5


@given(st.floats(0, 1), st.lists(st.integers(0, 20), min_size=1))
def test_a_percentile_is_the_smallest_value_that_so_many_do_not_exceed(share, values) -> None:
    found = percentile(share, values)
    assert found in values
    assert sum(v <= found for v in values) >= share * len(values) - 1e-6
    assert found == min(values) or sum(v < found for v in values) < share * len(values) + 1e-6


def test_the_95th_percentile_of_twenty_is_the_nineteenth() -> None:
    assert percentile(0.95, range(1, 21)) == 19
    assert (percentile(0.5, []), mean([])) == (0.0, 0.0)


@given(st.sets(IDS), st.sets(IDS))
def test_precision_and_recall_are_shares_of_either_side(chosen, gold) -> None:
    precision, recall = precision_recall(chosen, gold)
    assert precision * len(chosen) == pytest.approx(len(chosen & gold))
    assert recall * len(gold) == pytest.approx(len(chosen & gold))


@given(WEIGHTS, SENTENCES)
def test_a_nugget_is_covered_by_the_best_three_sentences(weights, sentences) -> None:
    choices = [choice for count in range(4) for choice in combinations(sentences, count)]
    best = max(sum(weights.get(term, 0.0) for term in frozenset[str]().union(*c)) for c in choices)
    whole = sum(weights.values())
    assert nugget_coverage(weights, sentences) == pytest.approx(best / whole if whole else 0.0)


@given(WEIGHTS, SENTENCES, st.randoms())
def test_the_order_of_the_sentences_changes_no_coverage(weights, sentences, random) -> None:
    shuffled = random.sample(sentences, len(sentences))
    assert nugget_coverage(weights, shuffled) == nugget_coverage(weights, sentences)
