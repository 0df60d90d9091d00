"""Small data sets in the form of the real ones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

PAGES = {
    "w1": (
        "Bell Rock Lighthouse",
        "The Bell Rock lighthouse stands off Arbroath. Robert Stevenson built it in 1810. Its tower is 35 metres tall.",
    ),
    "w2": (
        "Robert Stevenson",
        "Robert Stevenson was a Scottish engineer. He was born in Glasgow in 1772 and designed many lighthouses.",
    ),
    "w3": (
        "Eddystone Lighthouse",
        "The Eddystone lighthouse stands off Cornwall. John Smeaton built the third tower in 1759 of granite.",
    ),
    "w4": (
        "John Smeaton",
        "John Smeaton was an English engineer. He was born in Austhorpe in 1724 and made hydraulic lime known.",
    ),
    "w5": ("Glasgow", "Glasgow is the largest city of Scotland. It lies on the river Clyde."),
    "w6": ("Tea", "Tea is brewed from the leaves of a shrub. Green tea is not fermented."),
}
QUESTIONS = (
    ("q1", "one", "Who built the Bell Rock lighthouse?", [["w1"]]),
    ("q2", "one", "How tall is the tower of the Bell Rock lighthouse?", [["w1"]]),
    (
        "q3",
        "two",
        "Where was Robert Stevenson, who built the Bell Rock lighthouse, born?",
        [["w1"], ["w2", "w5"]],
    ),
    ("q4", "two", "Where was John Smeaton, who built the Eddystone lighthouse, born?", [["w3"], ["w4"]]),
)


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def write_data(folder: Path) -> Path:
    """The three data sets, six documents each."""
    documents = [{"_id": at, "title": title, "text": text} for at, (title, text) in PAGES.items()]
    abstracts = [
        {"_id": at, "title": title, "sentences": text.split(". ")} for at, (title, text) in PAGES.items()
    ]
    write_lines(folder / "wiki-multihop" / "corpus.jsonl", documents)
    write_lines(folder / "scifact" / "corpus.jsonl", abstracts)
    write_lines(folder / "deepscholar" / "corpus.jsonl", documents)
    write_lines(
        folder / "wiki-multihop" / "queries-dev.jsonl",
        (
            {
                "_id": at,
                "dataset": dataset,
                "text": text,
                "evidence": evidence,
                "decomposition": [{"question": "?", "answer": "!"}] if len(evidence) > 1 else None,
            }
            for at, dataset, text, evidence in QUESTIONS
        ),
    )
    write_lines(
        folder / "scifact" / "claims-dev.jsonl",
        [
            {
                "_id": "c1",
                "claim": "Robert Stevenson built the Bell Rock lighthouse.",
                "cited_doc_ids": ["w1"],
            },
            {"_id": "c2", "claim": "Green tea is not fermented.", "cited_doc_ids": ["w6"]},
            {"_id": "c3", "claim": "Nobody knows where this is from.", "cited_doc_ids": []},
        ],
    )
    write_lines(
        folder / "deepscholar" / "queries-dev.jsonl",
        [
            {
                "_id": "t1",
                "text": "Who built the Bell Rock lighthouse, and how tall is its tower?",
                "gold": ["w1", "w2"],
                "nuggets": [
                    {"importance": "vital", "text": "Robert Stevenson built the Bell Rock lighthouse"},
                    {"importance": "okay", "text": "Fermented leaves of imported shrubs"},
                ],
            }
        ],
    )
    return folder
