"""A corpus.jsonl is indexed once and searched as local documents are."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from deep_research.errors import SearchError, UsageError
from deep_research.sources.documents import LocalCorpus
from deep_research.sources.search import SearchRequest, SearchResult
from evals import corpora
from evals.corpora import JsonlCorpus, build_index
from evals.eval_data import PAGES


def search(corpus: JsonlCorpus | LocalCorpus, query: str, limit: int = 5) -> list[SearchResult]:
    return list(asyncio.run(corpus.search(SearchRequest(query=query, limit=limit))))


def addresses(corpus: JsonlCorpus | LocalCorpus, query: str, limit: int = 5) -> list[str]:
    return [result.address for result in search(corpus, query, limit)]


def test_results_are_those_of_the_same_documents_in_a_folder(data: Path, tmp_path: Path) -> None:
    for name, (title, text) in PAGES.items():
        (tmp_path / "folder").mkdir(exist_ok=True)
        (tmp_path / "folder" / f"{name}.md").write_text(
            f"---\ntitle: {title}\n---\n{text}\n", encoding="utf-8"
        )
    folder = LocalCorpus(tmp_path / "folder", data_dir=tmp_path / "local")
    corpus = JsonlCorpus(build_index(data / "wiki-multihop" / "corpus.jsonl", tmp_path / "indexes"))
    for query in ("Bell Rock lighthouse", "born engineer", "granite tower of Cornwall", "Glasgow"):
        ours, theirs = search(corpus, query), search(folder, query)
        assert [f"{r.address}.md" for r in ours] == [r.address for r in theirs]
        assert [(r.title, r.passages, r.relevance) for r in ours] == [
            (r.title, r.passages, r.relevance) for r in theirs
        ]
    corpus.close()
    asyncio.run(folder.aclose())


def test_what_is_left_out_is_never_found_and_the_rest_moves_up(data: Path, tmp_path: Path) -> None:
    corpus = JsonlCorpus(build_index(data / "wiki-multihop" / "corpus.jsonl", tmp_path))
    every = addresses(corpus, "lighthouse engineer")
    assert addresses(corpus.excluding(frozenset(every[:1])), "lighthouse engineer") == every[1:]
    assert addresses(corpus, "lighthouse engineer") == every
    corpus.close()


def test_without_titles_a_title_finds_nothing_and_shows_nowhere(data: Path, tmp_path: Path) -> None:
    source = data / "wiki-multihop" / "corpus.jsonl"
    source.write_text('{"_id": "a", "title": "Zanzibar", "text": "A plain text."}\n', encoding="utf-8")
    titled = JsonlCorpus(build_index(source, tmp_path))
    plain = JsonlCorpus(build_index(source, tmp_path, titles=False), titles=False)
    assert addresses(titled, "Zanzibar") == ["a"]
    assert addresses(plain, "Zanzibar") == []
    assert "Zanzibar" not in repr(search(plain, "plain text"))
    assert search(plain, "plain text")[0].title == "A plain text."
    titled.close()
    plain.close()


def test_the_time_of_every_search_is_summed(data: Path, tmp_path: Path) -> None:
    corpus = JsonlCorpus(build_index(data / "wiki-multihop" / "corpus.jsonl", tmp_path))
    assert corpus.seconds == 0
    search(corpus, "lighthouse")
    once = corpus.seconds
    search(corpus, "lighthouse")
    assert 0 < once < corpus.seconds
    assert corpus.excluding(frozenset()).seconds == 0
    corpus.close()


def test_an_index_is_built_once_even_when_several_ask_together(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[Path] = []
    build = corpora._build

    def counted(corpus: Path, path: Path, **how: bool) -> None:
        built.append(path)
        build(corpus, path, **how)

    monkeypatch.setattr(corpora, "_build", counted)
    source = data / "wiki-multihop" / "corpus.jsonl"
    with ThreadPoolExecutor(4) as pool:
        paths = set(pool.map(lambda _: build_index(source, tmp_path), range(4)))
    assert built == list(paths)


def test_an_index_whose_building_was_interrupted_is_built_anew(data: Path, tmp_path: Path) -> None:
    source = data / "wiki-multihop" / "corpus.jsonl"
    path = build_index(source, tmp_path)
    path.with_suffix(".ready").unlink()
    path.write_bytes(b"half an index")
    assert build_index(source, tmp_path) == path
    corpus = JsonlCorpus(path)
    assert addresses(corpus, "Bell Rock")[0] == "w1"
    corpus.close()


def test_another_content_is_another_index_and_old_ones_are_removed(data: Path, tmp_path: Path) -> None:
    source = data / "wiki-multihop" / "corpus.jsonl"
    first = build_index(source, tmp_path)
    source.write_text('{"_id": "a", "text": "Other."}\n', encoding="utf-8")
    second = build_index(source, tmp_path)
    assert first != second
    assert first.exists()
    os.utime(first.with_suffix(".ready"), (0, 0))
    build_index(source, tmp_path)
    assert not list(tmp_path.glob(f"{first.stem}*"))
    assert second.exists()


def test_an_index_that_turns_out_to_be_damaged_is_built_anew_the_next_time(
    data: Path, tmp_path: Path
) -> None:
    source = data / "wiki-multihop" / "corpus.jsonl"
    path = build_index(source, tmp_path)
    for end in ("-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)
    path.write_bytes(b"no index at all" * 1_000)
    corpus = JsonlCorpus(build_index(source, tmp_path))
    with pytest.raises(SearchError):
        search(corpus.excluding(frozenset()), "Bell Rock")
    corpus.close()
    corpus = JsonlCorpus(build_index(source, tmp_path))
    assert addresses(corpus, "Bell Rock")[0] == "w1"
    corpus.close()


def test_what_an_interrupted_building_left_is_removed_in_time(data: Path, tmp_path: Path) -> None:
    source = data / "wiki-multihop" / "corpus.jsonl"
    left = build_index(source, tmp_path)
    left.with_suffix(".ready").unlink()
    source.write_text('{"_id": "a", "text": "Other."}\n', encoding="utf-8")
    build_index(source, tmp_path)
    assert left.exists()
    os.utime(left.with_suffix(".building"), (0, 0))
    build_index(source, tmp_path)
    assert not list(tmp_path.glob(f"{left.stem}*"))


def test_a_corpus_without_documents_and_a_folder_that_cannot_be_written_are_usage_errors(
    data: Path, tmp_path: Path
) -> None:
    source = data / "wiki-multihop" / "corpus.jsonl"
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="Nothing can be kept"):
        build_index(source, tmp_path / "file" / "corpora")
    source.write_text("\n", encoding="utf-8")
    with pytest.raises(UsageError, match="has no document"):
        build_index(source, tmp_path)
