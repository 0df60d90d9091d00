"""The optional dense stage: a second order, fused with the first."""

import asyncio
from pathlib import Path

import pytest

from deep_research import DeepResearch
from deep_research.errors import ConfigurationError, SearchError
from deep_research.sources.documents import LocalCorpus
from deep_research.sources.documents.dense import DenseStage
from deep_research.sources.search import SearchRequest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    root.mkdir()
    texts = {
        "a": "The lamp, the lamp and again the lamp: a lamp shop.",
        "b": "A lamp stands in the window.",
        "c": "The keepers told of wages, oil, wicks, storms and letters from home, and once of a lamp at sea.",
    }
    for name, text in texts.items():
        (root / f"{name}.md").write_text(f"# {name}\n\n{text}\n", "utf-8")
    return root


class Meaning:
    """Whatever speaks of the sea is near to the query, all else far from it."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, texts):
        self.seen += texts
        return [[1.0, 0.0] if "sea" in text or text == "lamp" else [0.0, 1.0] for text in texts]


def found(folder: Path, tmp_path: Path, dense: DenseStage | None, limit: int = 3) -> list[str]:
    corpus = LocalCorpus(folder, data_dir=tmp_path / "data", dense=dense)
    try:
        return [r.address for r in asyncio.run(corpus.search(SearchRequest(query="lamp", limit=limit)))]
    finally:
        asyncio.run(corpus.aclose())


def test_what_is_near_in_meaning_moves_up_and_nothing_is_lost(folder, tmp_path):
    plain = found(folder, tmp_path, None)
    fused = found(folder, tmp_path, DenseStage(Meaning()))
    assert sorted(fused) == sorted(plain)
    assert fused.index("c.md") < plain.index("c.md")


def test_candidates_beyond_the_limit_may_move_in(folder, tmp_path):
    assert "c.md" not in found(folder, tmp_path, None, limit=1)
    meaning = Meaning()
    found(folder, tmp_path, DenseStage(meaning), limit=1)
    assert any("keepers" in text for text in meaning.seen)


def test_a_text_is_embedded_once(folder, tmp_path):
    meaning = Meaning()
    stage = DenseStage(meaning)
    first = found(folder, tmp_path, stage)
    count = len(meaning.seen)
    assert found(folder, tmp_path, stage) == first
    assert meaning.seen[count:] == ["lamp"]


def test_a_text_under_another_title_is_embedded_anew(folder, tmp_path):
    meaning = Meaning()
    stage = DenseStage(meaning)
    found(folder, tmp_path, stage)
    (folder / "a.md").write_text(
        "---\ntitle: Sea\n---\nThe lamp, the lamp and again the lamp: a lamp shop.\n", "utf-8"
    )
    count = len(meaning.seen)
    found(folder, tmp_path, stage)
    assert len(meaning.seen) == count + 2  # the query, and the one under its new title


def test_a_model_that_fails_is_a_failed_search(folder, tmp_path):
    def broken(texts):
        raise RuntimeError("out of memory")

    with pytest.raises(SearchError, match="The embedding model failed"):
        found(folder, tmp_path, DenseStage(broken))


def test_without_the_extra_one_line_says_what_to_install(folder, monkeypatch):
    monkeypatch.setattr("deep_research.sources.documents.dense.find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match="sentence-transformers"):
        DeepResearch(corpus=folder, store="memory", dense_model="any")
