"""The evaluation of the check of claims: what is read, what is counted, and that false sentences are found."""

import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest

from deep_research.errors import UsageError
from deep_research.sources.documents import read_document
from deep_research.sources.documents.folder import sample_corpus
from deep_research.state import ClaimVerdict
from deep_research.text.passages import sentences
from deep_research.verification.evidence_text import EvidenceText
from deep_research.verification.support import check
from evals.citation_scores import evaluate_citations
from evals.corruptions import cases

ARTICLE = [
    "(meta data) TITLE: The Mole",
    "The Mole stands off the northern coast of Lissel and was built in 1811.",
    "The keepers of Port Anna may have burned 12 litres of oil before the winter of 1832.",
]
ABSTRACT = [
    "Whale oil was burned in more than 12 lamps of the Hare light.",
    "The lamps were not dim at all in the year 1843.",
]


def write(folder, name, *records):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


@pytest.fixture
def sets(tmp_path):
    rows = {
        "supported": "The Mole was built in 1811.",
        "not_supported": "The Mole was painted by Ada Brook in May.",
    }
    wice = (
        {"label": k, "claim": c, "evidence": ARTICLE, "supporting_sentences": [[1]]} for k, c in rows.items()
    )
    write(tmp_path, "wice/dev.jsonl", *wice)
    write(tmp_path, "scifact/corpus.jsonl", {"_id": "1", "title": "Oil", "sentences": ABSTRACT})
    claims = {
        "SUPPORT": "The lamps were not dim in 1843.",
        "CONTRADICT": "The lamps were not dim at all in the year 1844.",
    }
    records = [
        {
            "_id": k,
            "claim": c,
            "cited_doc_ids": ["1"],
            "evidence": [{"doc_id": "1", "label": k, "sentences": [1]}],
        }
        for k, c in claims.items()
    ]
    records.append({"_id": "x", "claim": "Tea is green.", "cited_doc_ids": ["1", "9"], "evidence": []})
    write(tmp_path, "scifact/claims-dev.jsonl", *records)
    return tmp_path


def test_claims_are_counted_by_their_labels_and_sentences_by_what_was_done_to_them(sets):
    told = []
    figures = asyncio.run(evaluate_citations(sets, progress=told.append)).sets
    assert list(figures) == ["wice", "scifact"]
    assert (figures["wice"]["questions"], figures["scifact"]["questions"]) == (2, 3)
    assert figures["wice"]["auroc"] == figures["wice"]["f1"] == 1.0
    assert figures["scifact"]["contradicted_found"] == 1.0
    assert figures["scifact"]["supported_called_contradicted"] == 0.0
    assert "contradicted_found" not in figures["wice"]
    assert figures["wice"]["kept_verbatim"] == figures["scifact"]["rejected_comparison"] == 1.0
    assert (told[0].done, told[-1].done == told[-1].total) == (0, True)


def test_damaged_and_missing_data_are_named(sets):
    write(sets, "scifact/claims-dev.jsonl", {"_id": "x", "claim": 3, "cited_doc_ids": ["1"], "evidence": []})
    with pytest.raises(UsageError, match="line 1 is damaged"):
        asyncio.run(evaluate_citations(sets))
    (sets / "wice" / "dev.jsonl").unlink()
    with pytest.raises(UsageError, match="There is no file"):
        asyncio.run(evaluate_citations(sets))


def test_of_the_sample_documents_false_sentences_are_rejected_and_true_ones_kept():
    texts = [
        read_document(path.read_bytes(), path.name).text for path in sorted(Path(sample_corpus()).iterdir())
    ]
    cut = [[" ".join(text[s.start : s.end].split()) for s in sentences(text)] for text in texts]
    prepared = [EvidenceText(text) for text in texts]
    total, right = Counter(), Counter()
    for case in cases(cut, lambda _, own: (own + 1) % len(texts), 100):
        found = check(case.statement, [prepared[case.text]]).verdict
        total[case.kind] += 1
        right[case.kind] += (found is ClaimVerdict.SUPPORTED) is case.true
    assert sum(total.values()) > 400
    shares = {kind: right[kind] / total[kind] for kind in total}
    assert all(share >= 0.95 for share in shares.values()), shares
