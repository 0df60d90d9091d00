"""The provider: a folder in, cited results out, whoever asks and however often."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deep_research.errors import CorpusError
from deep_research.sources.documents import LocalCorpus, Skipped
from deep_research.sources.documents.folder import CorpusFolder
from deep_research.sources.extract import readers
from deep_research.sources.extract.texts import read_document
from deep_research.sources.search.base import SearchRequest, SearchResult
from deep_research.state import SourceKind, SourceQuality
from deep_research.state.identity import sha256_hex

if TYPE_CHECKING:
    from tests.sources.documents.conftest import OpenedFiles


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def corpora(data: Path) -> Iterator[list[LocalCorpus]]:
    """Corpora to be closed after the test."""
    made: list[LocalCorpus] = []
    yield made
    for corpus in made:
        asyncio.run(corpus.aclose())


def ask(
    corpus: LocalCorpus, query: str, limit: int = 5, exclude: frozenset[str] = frozenset()
) -> list[SearchResult]:
    return list(asyncio.run(corpus.search(SearchRequest(query=query, limit=limit, exclude=exclude))))


def test_while_files_are_read_it_is_known_how_many(
    root: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        (root / f"{number}.md").write_text(f"# On {number}\n\nKeepers of {number} lights.", encoding="utf-8")
    (root / "empty.txt").touch()
    corpus = LocalCorpus(root, data_dir=data)
    seen: list[int | None] = [corpus.files_read]
    count = corpus._count

    def counted() -> None:
        count()
        seen.append(corpus.files_read)

    monkeypatch.setattr(corpus, "_count", counted)
    report = corpus.prepare()
    assert seen == [None, *range(1, report.added + len(report.skipped) + 1)]
    assert corpus.files_read is None
    assert corpus.prepare(max_age=0.0).added == 0
    assert len(seen) == 1 + report.added + len(report.skipped)
    asyncio.run(corpus.aclose())


def test_a_result_tells_where_it_is_what_it_says_and_how_well_it_fits(
    root: Path, data: Path, corpora: list[LocalCorpus]
) -> None:
    raw = "---\ndate: 2024-05-06\n---\n# Walruses\n\nA **walrus** has tusks. " + "It swims far. " * 30
    (root / "sea").mkdir()
    (root / "sea" / "walrus.md").write_text(raw)
    (root / "other.txt").write_text("Nothing about animals.")
    corpora.append(corpus := LocalCorpus(root, data_dir=data))
    (result,) = ask(corpus, "Which animal with tusks is a walrus?", 1)
    assert result.address == "sea/walrus.md"
    assert result.title == "Walruses"
    assert result.kind is SourceKind.DOCUMENT
    assert result.quality is SourceQuality.HIGH
    assert result.published == date(2024, 5, 6)
    assert result.snapshot_hash == sha256_hex(raw.encode())
    assert result.text is not None
    assert result.text.startswith("# Walruses\n\nA walrus has tusks.")
    assert result.passages
    assert "tusks" in result.text[result.passages[0].start : result.passages[0].end]
    assert result.snippet.startswith("Walruses A walrus has tusks.")
    assert len(result.snippet) <= 300
    assert "\n" not in result.snippet
    assert result.relevance is not None
    assert 0.5 < result.relevance <= 1


def test_several_roots_are_told_apart_by_their_names(
    tmp_path: Path, data: Path, corpora: list[LocalCorpus]
) -> None:
    roots = [tmp_path / "one" / "docs", tmp_path / "two" / "docs", tmp_path / "notes"]
    for number, folder in enumerate(roots):
        folder.mkdir(parents=True)
        (folder / "a.md").write_text(f"walrus {'tusks ' * number}")
    corpora.append(corpus := LocalCorpus([*roots, roots[0]], data_dir=data))
    results = ask(corpus, "walrus tusks")
    assert {result.address for result in results} == {"docs/a.md", "docs-2/a.md", "notes/a.md"}
    assert results[-1].address == "docs/a.md"
    left = ask(corpus, "walrus", exclude=["docs-2/a.md", "a.md"])
    assert {result.address for result in left} == {"docs/a.md", "notes/a.md"}


def test_excluded_addresses_are_left_out(root: Path, data: Path, corpora: list[LocalCorpus]) -> None:
    for name in ("a", "b", "c"):
        (root / f"{name}.md").write_text("walrus")
    corpora.append(corpus := LocalCorpus(root, data_dir=data))
    assert [r.address for r in ask(corpus, "walrus", 1, ["a.md"])] == ["b.md"]


def test_what_could_not_be_read_is_listed_with_its_reason(
    root: Path, data: Path, corpora: list[LocalCorpus], secret: Path
) -> None:
    (root / "good.md").write_text("walrus")
    (root / "image.txt").write_bytes(b"\0\0")
    (root / "long.txt").write_text("x" * 101)
    (root / "empty.html").write_text("<script>x</script>")
    (root / "link.md").symlink_to(secret)
    os.mkfifo(root / "pipe.md")
    corpora.append(corpus := LocalCorpus(root, data_dir=data, max_text_bytes=100))
    assert corpus.skipped == ()
    report = corpus.prepare()
    assert (report.documents, report.added) == (1, 1)
    assert corpus.skipped == (
        Skipped("empty.html", "no readable text in it"),
        Skipped("image.txt", "binary data, not text"),
        Skipped("link.md", "a symbolic link; links are not followed"),
        Skipped("long.txt", "more than 100 bytes of text"),
        Skipped("pipe.md", "not a regular file"),
    )
    assert corpus.notes == (
        "5 files were not read: empty.html (no readable text in it), image.txt (binary data, not text), link.md (a"
        " symbolic link; links are not followed), long.txt (more than 100 bytes of text) and pipe.md (not a regular"
        " file).",
    )


def test_a_run_does_not_tell_of_what_package_managers_write(
    root: Path, data: Path, corpora: list[LocalCorpus]
) -> None:
    (root / "good.md").write_text("walrus")
    (root / "package-lock.json").write_text("{}")
    (root / "node_modules").mkdir()
    corpora.append(corpus := LocalCorpus(root, data_dir=data))
    assert corpus.prepare().documents == 1
    assert [entry.path for entry in corpus.skipped] == ["node_modules", "package-lock.json"]
    assert corpus.notes == ()


@pytest.mark.parametrize("suffix", [".md", ".txt", ".html", ".csv"])
def test_a_file_whose_name_is_no_text_is_read_as_any_other(
    root: Path, data: Path, corpora: list[LocalCorpus], suffix: str
) -> None:
    (root / os.fsdecode(b"f\xfcnf walruses" + suffix.encode())).write_text("<p>walrus, tusk</p>\nfive, six\n")
    corpora.append(corpus := LocalCorpus(root, data_dir=data))
    assert (corpus.prepare().documents, corpus.skipped) == (1, ())
    (found,) = asyncio.run(corpus.search(SearchRequest(query="walrus", limit=5)))
    assert found.title == "f\\udcfcnf walruses"


def test_of_many_files_that_could_not_be_read_a_few_are_named(
    root: Path, data: Path, corpora: list[LocalCorpus]
) -> None:
    (root / "good.md").write_text("walrus")
    for number in range(1_000):
        (root / f"{number:03}{'x' * 200}.md").write_bytes(b"\0\0")
    corpora.append(corpus := LocalCorpus(root, data_dir=data))
    assert corpus.notes == ()
    corpus.prepare()
    (note,) = corpus.notes
    assert (note[:29], note[-30:]) == (
        "1000 files were not read: 000",
        "ary data, not text) and 995 more."[-30:],
    )
    assert len(note) < 700


def test_all_files_were_read_and_there_is_nothing_to_note(
    root: Path, data: Path, corpora: list[LocalCorpus]
) -> None:
    (root / "good.md").write_text("walrus")
    (root / "logo.png").symlink_to(root / "good.md")
    corpora.append(corpus := LocalCorpus(root, data_dir=data))
    corpus.prepare()
    assert corpus.notes == ()


def test_a_whole_run_opens_nothing_outside_the_root_and_the_data(
    root: Path, data: Path, corpora: list[LocalCorpus], secret: Path, opened: OpenedFiles
) -> None:
    (root / "good.md").write_text("walrus [x](../outside/secret.md) <!-- include ../outside/secret.md -->")
    (root / "rst.rst").write_text(
        "walrus\n\n.. include:: ../outside/secret.md\n\n.. raw:: html\n   :file: /etc/passwd"
    )
    (root / "page.html").write_text(
        '<link rel=import href="../outside/secret.md"><p>walrus<iframe src="/etc/passwd">'
    )
    (root / "link.md").symlink_to(secret)
    (root / "folder").symlink_to(secret.parent)
    for suffix in (".md", ".rst", ".html"):  # the readers and what is known of their versions
        readers.version_for(suffix)
        read_document(b"walrus", f"a{suffix}")
    opened.asked.clear()
    corpora.append(corpus := LocalCorpus(root, data_dir=data))
    results = ask(corpus, "walrus canary midnight passwd")
    assert len(results) == 3
    assert not any("canary" in (result.text or "") for result in results)
    assert opened.outside(root, data) == []


@pytest.mark.parametrize("content", [None, "binary", "other"])
def test_a_root_without_a_readable_document_is_an_error_that_says_what_to_do(
    root: Path, data: Path, corpora: list[LocalCorpus], content: str | None
) -> None:
    if content == "binary":
        (root / "a.md").write_bytes(b"\0")
    elif content == "other":
        (root / "a.pdf").write_bytes(b"x")
    corpora.append(corpus := LocalCorpus(root, data_dir=data))
    with pytest.raises(CorpusError, match=r"No readable document in .*\. Add files that end in") as caught:
        ask(corpus, "walrus")
    assert "\n" not in str(caught.value)


def test_no_root_or_a_missing_one_is_an_error(root: Path, data: Path) -> None:
    with pytest.raises(CorpusError, match="No corpus folder was given"):
        LocalCorpus([], data_dir=data)
    with pytest.raises(CorpusError, match="There is no corpus at"):
        LocalCorpus([root, root / "nowhere"], data_dir=data).prepare()


def test_a_data_directory_that_cannot_be_written_is_an_error(
    root: Path, tmp_path: Path, corpora: list[LocalCorpus]
) -> None:
    (root / "a.md").write_text("walrus")
    (tmp_path / "file").write_text("x")
    corpora.append(corpus := LocalCorpus(root, data_dir=tmp_path / "file"))
    with pytest.raises(CorpusError, match="Name a writable data directory"):
        corpus.prepare()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_a_fine_corpus_and_a_read_only_data_directory_is_not(
    root: Path, data: Path, corpora: list[LocalCorpus]
) -> None:
    (root / "a.md").write_text("walrus")
    data.mkdir()
    root.chmod(0o500)
    data.chmod(0o500)
    try:
        corpora.append(corpus := LocalCorpus(root, data_dir=data))
        with pytest.raises(CorpusError, match="cannot be written"):
            corpus.prepare()
        data.chmod(0o700)
        assert corpus.prepare().documents == 1
    finally:
        root.chmod(0o700)
        data.chmod(0o700)


def test_the_corpus_is_that_of_the_first_search_whatever_happens_on_disk(
    root: Path, data: Path, corpora: list[LocalCorpus]
) -> None:
    (root / "a.md").write_text("the old walrus")
    corpora.append(corpus := LocalCorpus(root, data_dir=data))
    corpus.prepare()
    (root / "a.md").write_text("the new penguin")
    (result,) = ask(corpus, "walrus")
    assert result.text == "the old walrus"
    assert result.snapshot_hash == sha256_hex(b"the old walrus")
    corpora.append(later := LocalCorpus(root, data_dir=data))
    assert ask(later, "walrus") == []
    assert later.prepare().changed == 1


@pytest.mark.timed
def test_searches_of_many_threads_and_loops_refresh_once(
    root: Path, data: Path, corpora: list[LocalCorpus], monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(30):
        (root / f"{n}.md").write_text(f"walrus number {n}")
    walks = []
    walking = CorpusFolder.walk
    monkeypatch.setattr(CorpusFolder, "walk", lambda self: (walks.append(1), walking(self))[1])
    corpora.append(corpus := LocalCorpus(root, data_dir=data))
    together = threading.Barrier(6)

    async def several() -> list[list[str]]:
        request = SearchRequest(query="walrus number", limit=4)
        return [[r.address for r in found] for found in await asyncio.gather(*[corpus.search(request)] * 1)]

    def work(_: int) -> list[list[str]]:
        together.wait(timeout=300)
        return asyncio.run(several())

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(work, range(6)))
    assert len(walks) == 1
    assert all(answer == answers[0] for answer in answers)


def test_two_providers_share_one_index(root: Path, data: Path, corpora: list[LocalCorpus]) -> None:
    (root / "a.md").write_text("walrus")
    corpora.extend(LocalCorpus(root, data_dir=data) for _ in range(2))
    assert [corpus.prepare().added for corpus in corpora] == [1, 0]
    name = sha256_hex(os.fsencode(os.path.realpath(root)))
    assert (data / "corpora" / f"{name}.db").is_file()


@pytest.mark.parametrize("damage", ["delete", "overwrite", "truncate"])
def test_an_index_damaged_while_in_use_is_made_anew_by_the_next_search(
    root: Path, data: Path, corpora: list[LocalCorpus], damage: str
) -> None:
    for n in range(200):
        (root / f"{n:03}.md").write_text(f"walrus number {n} " * 20)
    corpora.append(corpus := LocalCorpus(root, data_dir=data))
    before = ask(corpus, "walrus 17")
    (file,) = (data / "corpora").glob("*.db")
    if damage == "delete":
        file.unlink()
    elif damage == "overwrite":
        file.write_bytes(b"\x55" * file.stat().st_size)
    else:
        os.truncate(file, 8192)
    corpora.append(other := LocalCorpus(root, data_dir=data))
    assert ask(other, "walrus 17") == before
    assert ask(corpus, "walrus 17") == before


def test_a_closed_corpus_opens_again_when_it_is_searched(root: Path, data: Path) -> None:
    (root / "a.md").write_text("walrus")
    corpus = LocalCorpus(root, data_dir=data)
    found = ask(corpus, "walrus")
    asyncio.run(corpus.aclose())
    assert ask(corpus, "walrus") == found
    asyncio.run(corpus.aclose())


def test_a_query_without_words_finds_nothing(root: Path, data: Path, corpora: list[LocalCorpus]) -> None:
    (root / "a.md").write_text("walrus")
    corpora.append(corpus := LocalCorpus([root, root / "a.md"], data_dir=data))
    assert ask(corpus, "?!") == []
