"""Verdicts on claims of our own reports that somebody read one by one: two of a hundred were wrong, and those over
documents that are here are given again. The places of passages are as they were read: a text may be longer since."""

import json
from pathlib import Path

import pytest

from deep_research.patterns import regex
from deep_research.sources.documents.folder import sample_corpus
from deep_research.sources.extract.readers import read
from deep_research.state import Aspect, ClaimVerdict
from deep_research.verification.evidence_text import EvidenceText
from deep_research.verification.support import check

READ = json.loads((Path(__file__).parents[1] / "data" / "read_verdicts.json").read_text("utf-8"))["verdicts"]
PASSAGE = regex(r"<(?P<title>.*) \d+-\d+> (?P<words>.*)")
HERE = [v for v in READ if v["run"].startswith("sample ") and ", sources, " in v["rests_on"]]


@pytest.fixture(scope="module")
def texts():
    """The sample documents as they are saved, by their titles."""
    files = (path for path in Path(sample_corpus()).rglob("*") if path.is_file())
    documents = [read(path.read_bytes(), name=path.name) for path in files]
    return {document.title: document.text for document in documents}


def test_two_of_a_hundred_verdicts_were_wrong_and_it_is_said_why():
    wrong = [verdict for verdict in READ if not verdict["right"]]
    assert (len(READ), len(wrong)) == (100, 2)
    assert all(verdict["note"] for verdict in wrong)
    assert len(HERE) > 30


@pytest.mark.parametrize("told", HERE, ids=[f"{n}" for n in range(len(HERE))])
def test_a_verdict_that_was_read_is_given_again_from_the_words_that_it_rests_on(told, texts):
    passages = list(map(PASSAGE.fullmatch, told["spans"]))
    for passage in passages:
        assert " ".join(passage["words"].split()) in " ".join(texts[passage["title"]].split())
    sources = [
        EvidenceText(texts[title], title=title) for title in dict.fromkeys(p["title"] for p in passages)
    ]
    found = check(told["claim"], sources, most=12)
    if {reason.aspect for reason in found.reasons} == {
        Aspect.ORDER
    }:  # of a cell, or under a label of its own
        assert told["verdict"] == ClaimVerdict.SUPPORTED
        return
    assert found.verdict is ClaimVerdict(told["verdict"])
