"""The sample corpus is sound, and the questions that go with it are answered, or not, by its documents."""

import html
import re
import tomllib
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CORPUS = ROOT / "docs" / "examples" / "corpus"
QUESTIONS = tomllib.loads(
    (Path(__file__).parent / "data" / "corpus_questions.toml").read_text(encoding="utf-8")
)

ALLOWED_SUFFIXES = {".md": 1, ".html": 4, ".rst": 3, ".txt": 3}
"""Suffix of a document, and the least number of documents that have it."""

SHORTEST_PARAGRAPH = 6
"""Words. Shorter blocks (headings, table cells, rules) may recur."""

BLOCK_TAG = re.compile(
    r"</?(?:p|h\d|li|ol|ul|dl|dt|dd|table|caption|tr|td|th|nav|header|main|aside|footer|div)\b[^>]*>"
)
UNSEEN = re.compile(r"<(script|style|title)\b.*?</\1>|<!--.*?-->", re.DOTALL)
TAG = re.compile(r"<[^>]+>")

documents = sorted(path for path in CORPUS.rglob("*") if path.is_file())
answerable = QUESTIONS["question"]
unanswerable = QUESTIONS["unanswerable"]
two_document = [entry for entry in answerable if "bridge" in entry]


def paragraphs(path: Path) -> list[str]:
    """The text blocks of a document. Markup is stripped from HTML; other formats are left as they are."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        text = html.unescape(TAG.sub("", BLOCK_TAG.sub("\n\n", UNSEEN.sub("", text))))
    return [block for block in re.split(r"\n\s*\n", text) if block.strip()]


def readable(name: str) -> str:
    """The text of a document as a reader sees it; only HTML loses its line breaks."""
    path = CORPUS / name
    text = "\n\n".join(paragraphs(path))
    return " ".join(text.split()) if path.suffix == ".html" else text


def by_name(path: Path) -> str:
    return path.name


def by_question(entry: dict[str, str]) -> str:
    return entry["question"]


def test_the_corpus_has_enough_documents_in_each_format():
    count = Counter(path.suffix for path in documents)
    assert len(documents) >= 22
    assert set(count) == set(ALLOWED_SUFFIXES)
    assert all(count[suffix] >= least for suffix, least in ALLOWED_SUFFIXES.items())


@pytest.mark.parametrize("path", documents, ids=by_name)
def test_a_document_is_utf_8_in_normal_form_c(path):
    text = path.read_bytes().decode("utf-8")
    assert unicodedata.is_normalized("NFC", text)


@pytest.mark.parametrize("path", documents, ids=by_name)
def test_a_document_is_long_enough_to_hold_evidence_and_short_enough_to_read(path):
    words = sum(len(block.split()) for block in paragraphs(path))
    assert 200 <= words <= 900


def test_no_document_repeats_a_paragraph():
    seen: dict[str, str] = {}
    for path in documents:
        for block in paragraphs(path):
            words = re.findall(r"\w+", block.casefold())
            if len(words) < SHORTEST_PARAGRAPH:
                continue
            key = " ".join(words)
            assert key not in seen, f"{path.name} repeats a paragraph of {seen[key]}: {block.strip()[:60]!r}"
            seen[key] = path.name


def test_no_document_holds_an_address_of_the_network():
    assert [path.name for path in documents if re.search(r"https?://|www\.", path.read_text("utf-8"))] == []


def test_there_are_twelve_questions_of_each_sort():
    assert len(answerable) == len(unanswerable) == 12
    assert Counter(entry["nearness"] for entry in unanswerable) == {"far": 6, "near": 6}
    assert len({entry["question"] for entry in answerable + unanswerable}) == 24


def test_the_questions_are_of_different_kinds():
    kinds = {entry["kind"] for entry in answerable}
    assert kinds == {"who", "when", "how tall", "why", "compare", "list", "how", "two documents"}
    assert len(two_document) >= 3


@pytest.mark.parametrize("entry", answerable, ids=by_question)
def test_an_answer_stands_word_for_word_in_the_documents_named(entry):
    assert entry["documents"]
    for name in entry["documents"]:
        assert entry["answer"] in readable(name)


@pytest.mark.parametrize("entry", two_document, ids=by_question)
def test_a_two_document_question_needs_both_documents(entry):
    for name in entry["bridge_documents"]:
        assert entry["bridge"] in readable(name)
        assert entry["answer"] not in readable(name)
    for name in entry["documents"]:
        assert entry["bridge"] not in readable(name)


@pytest.mark.parametrize("entry", [e for e in answerable if "differing_answer" in e], ids=by_question)
def test_a_differing_figure_stands_in_another_document(entry):
    assert not set(entry["documents"]) & set(entry["differing_documents"])
    for name in entry["differing_documents"]:
        assert entry["differing_answer"] in readable(name)
    for name in entry["documents"]:
        assert entry["differing_answer"] not in readable(name)
