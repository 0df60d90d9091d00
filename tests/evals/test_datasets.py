"""Data that is missing or damaged is refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from deep_research.errors import UsageError
from evals.datasets import documents, find_dataset, read_records
from evals.eval_data import PAGES, write_lines
from evals.suites import SUITES


def test_a_missing_folder_and_missing_files_are_named(data: Path) -> None:
    with pytest.raises(UsageError, match=r"There is no folder .*nowhere"):
        find_dataset(data, "nowhere", "queries")
    with pytest.raises(UsageError, match=r"There is no file .*claims\*\.jsonl"):
        find_dataset(data, "wiki-multihop", "claims")
    (data / "scifact" / "corpus.jsonl").unlink()
    with pytest.raises(UsageError, match=r"There is no file .*corpus\.jsonl"):
        find_dataset(data, "scifact", "claims")


def test_any_single_file_of_questions_will_do_and_of_several_the_development_half(data: Path) -> None:
    home = data / "wiki-multihop"
    write_lines(home / "queries-test.jsonl", [])
    assert find_dataset(data, "wiki-multihop", "queries").questions.name == "queries-dev.jsonl"
    (home / "queries-dev.jsonl").rename(home / "queries.jsonl")
    with pytest.raises(UsageError, match=r"Several files .*queries-test\.jsonl, queries\.jsonl"):
        find_dataset(data, "wiki-multihop", "queries")
    (home / "queries.jsonl").unlink()
    assert find_dataset(data, "wiki-multihop", "queries").questions.name == "queries-test.jsonl"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"_id": "w1", "te', "no JSON"),
        (b"[1]", "no object"),
        (b'{"_id": "w1"}', "text is missing"),
        (b'{"_id": "w1", "text": 5}', "text is not made of texts"),
        (b'{"_id": "w1", "sentences": "a"}', "sentences is not made of texts"),
        (b'{"_id": "w1", "text": "a", "title": 5}', "title is not made of texts"),
        (b'{"_id": "\xff"}', "decode"),
        (b'{"_id": "w1", "text": "\\ud800"}', "surrogates"),
    ],
)
def test_a_damaged_line_is_refused_with_its_number(data: Path, line: bytes, why: str) -> None:
    corpus = data / "wiki-multihop" / "corpus.jsonl"
    corpus.write_bytes(corpus.read_bytes() + b"\n" + line + b"\n")
    with pytest.raises(UsageError, match=rf"corpus\.jsonl line {len(PAGES) + 2} is damaged: .*{why}"):
        list(documents(corpus))


@pytest.mark.parametrize(
    ("suite", "record", "why"),
    [
        ("wiki-multihop", {"_id": "1", "text": "?", "dataset": "d", "evidence": []}, "evidence"),
        ("wiki-multihop", {"_id": "1", "text": "?", "dataset": "d", "evidence": ["w1"]}, "group"),
        ("scifact", {"_id": "1", "claim": "?", "cited_doc_ids": [1]}, "cited_doc_ids"),
        ("coverage", {"_id": "1", "text": "?", "gold": [], "nuggets": ["a"]}, "nuggets"),
        (
            "coverage",
            {"_id": "1", "text": "?", "gold": [], "nuggets": [{"text": "a"}]},
            "importance is missing",
        ),
    ],
)
def test_a_question_that_lacks_something_is_refused(
    tmp_path: Path, suite: str, record: object, why: str
) -> None:
    write_lines(tmp_path / "q.jsonl", [record])  # type: ignore[list-item]
    with pytest.raises(UsageError, match=f"line 1 is damaged: .*{why}"):
        list(read_records(tmp_path / "q.jsonl", SUITES[suite].read))


def test_sentences_are_joined_to_a_text(data: Path) -> None:
    (_, document), *_ = documents(data / "scifact" / "corpus.jsonl")
    assert document.title == "Bell Rock Lighthouse"
    assert document.text.startswith("The Bell Rock lighthouse stands off Arbroath Robert")


def test_claims_without_documents_and_questions_of_one_step_are_not_asked(data: Path) -> None:
    claims = list(read_records(data / "scifact" / "claims-dev.jsonl", SUITES["scifact"].read))
    assert [claim and claim.id for claim in claims] == ["c1", "c2", None]
    steps = list(read_records(data / "wiki-multihop" / "queries-dev.jsonl", SUITES["gaps"].read))
    assert [step and step.id for step in steps] == [None, None, "q3", "q4"]
