"""The evaluation of condensing: what is read, what counts as kept, and that the product is ahead of the plain ways."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from deep_research.errors import UsageError
from deep_research.state import Span
from evals.baselines import textrank
from evals.condensing import evaluate_condensing, find_claims, kept_of, leading, read_claim

RECORD = {
    "claim": "Keepers wrote down the wind.",
    "evidence": ["About us.", *["Tea is a drink of many kinds."] * 8, "Keepers wrote down wind.", "Bye."],
    "supporting_sentences": [[9], [0, 9]],
}


def write(folder, *records):
    path = folder / "wice" / "dev.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_a_claim_knows_where_its_sentences_stand():
    claim = read_claim(RECORD)
    assert [claim.text[p.start : p.end] for p in claim.places] == RECORD["evidence"]
    assert claim.supporting == {0, 9}
    whole = Span(start=0, end=len(claim.text))
    assert kept_of(claim, [whole]) == {0, 9}
    assert kept_of(claim, [Span(start=1, end=len(claim.text))]) == {9}


@pytest.mark.parametrize("wrong", [{"evidence": "x"}, {"supporting_sentences": [[11]]}, {"claim": 3}])
def test_a_damaged_record_is_named(tmp_path, wrong):
    write(tmp_path, RECORD | wrong)
    with pytest.raises(UsageError, match="line 1 is damaged"):
        asyncio.run(evaluate_condensing(tmp_path))


def test_the_file_must_be_there(tmp_path):
    with pytest.raises(UsageError, match="There is no file"):
        find_claims(tmp_path)
    write(tmp_path, RECORD | {"supporting_sentences": [[]]})
    with pytest.raises(UsageError, match="no claim"):
        asyncio.run(evaluate_condensing(tmp_path))


def test_each_way_has_its_figures(tmp_path):
    write(tmp_path, RECORD, RECORD)
    told = []
    figures = asyncio.run(evaluate_condensing(tmp_path, limit=1, progress=told.append))
    assert list(figures.sets) == ["all", "no query", "leading", "textrank"]
    assert figures.sets["all"]["group@20"] == 1.0
    assert figures.sets["leading"]["kept@20"] == 0.5
    assert [now.done for now in told] == [0, 1]


def test_the_plain_ways_keep_to_their_room():
    text = "\n\n".join(
        ["Keepers wrote wind.", "Wind came.", "Tea and cups.", "Keepers wrote of wind and tea."]
    )
    assert [(s.start, s.end) for s in leading(text, 32, "")] == [(0, 19), (21, 31)]
    kept = textrank(text, 32, "")
    assert [text[s.start : s.end] for s in kept] == ["Keepers wrote of wind and tea."]
    assert textrank("", 10, "") == []


@pytest.mark.skipif("BENCHMARK_DATA" not in os.environ, reason="BENCHMARK_DATA names no evaluation data")
def test_with_the_claim_as_query_it_is_clearly_ahead_of_the_plain_ways():
    figures = asyncio.run(evaluate_condensing(Path(os.environ["BENCHMARK_DATA"]), limit=60))
    for percent in (40, 20, 10):
        ours, *others = (figures.sets[name][f"kept@{percent}"] for name in ("all", "leading", "textrank"))
        assert ours > max(others) + 0.1
