"""Many documents at once: their words are written by a thread meanwhile, and nobody can tell from the index."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from deep_research.errors import CorpusError, SearchError
from deep_research.sources.documents import index_writer
from deep_research.sources.documents.folder import CorpusFolder
from deep_research.sources.documents.index import CorpusIndex
from deep_research.sources.extract.document import Document

SEAL = ("seal.md", Document(title="Seal", text="The grey seal is a mammal."))
SECTIONS = "\n\n".join(
    f"# Part {n}\n\n{'Filler of a section, é😀. ' * 30}Keyword{n} ends it." for n in range(6)
)
DOCUMENTS = [
    ("plain.md", Document(title="Plain", text="  The anchor was lifted, and the ship left.\n")),
    ("nul.md", Document(title="Before\0after", text="The buoy\0and the lantern behind it.")),
    ("sections.md", Document(title="Sections", text=SECTIONS)),
    (
        "long.md",
        Document(title="Long", text="The tide was high and the water was cold. " * 400 + "Barnacle."),
    ),
    (
        "accents.md",
        Document(title="Café", text="The naïve façade of the café is in the 😀 quarter, e\u0301tude."),
    ),
    ("german.md", Document(title="Häuser", text="Die Häuser der Stadt sind alt und nicht für alle da.")),
    ("chinese.md", Document(title="量子", text="量子计算的优势是速度。")),
    ("said to be Chinese.md", Document(title="潮汐", text="潮汐由月球引起。", language="zh")),
    ("mixed.md", Document(title="Mixed", text="The word 量子 is in the middle of an English sentence.")),
    ("empty.md", Document(title="Hollow", text=" \n ")),
    ("last.md", Document(title="Last", text="The harbour is a place that was built for ships.")),
]
QUERIES = (
    *("anchor", "buoy", "lantern", "before", "after", "Keyword0", "Keyword5", "barnacle", "cafe", "etude"),
    *("Haus", "量子", "速度", "middle", "harbour ships", "part 3", "filler", "tide"),
)


def threads() -> list[str]:
    return [one.name for one in threading.enumerate() if one.name.startswith("deep-research-index")]


def found(index: CorpusIndex, query: str) -> list[str]:
    return [hit.path for hit in index.search(query, 20)]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_writer, "_MAX_BATCH_PASSAGES", 3)
    monkeypatch.setattr(index_writer, "_FIRST_BATCH_SIZE", 3)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[CorpusIndex]:
    made = CorpusIndex(tmp_path / "index.db")
    yield made
    made.close()


@pytest.fixture
def one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CorpusIndex]:
    """The same documents, each added on its own, and no words read from rows."""
    made = CorpusIndex(tmp_path / "one-by-one.db")
    with monkeypatch.context() as direct:
        direct.setattr(index_writer, "_FIRST_BATCH_SIZE", 1_000)
        direct.setattr(index_writer, "_SHORT_CHARS", -1)
        for document in DOCUMENTS:
            made.add([document])
    yield made
    made.close()


def test_what_is_added_at_once_is_found_as_if_added_one_by_one(
    index: CorpusIndex, one_by_one: CorpusIndex
) -> None:
    report = index.add(DOCUMENTS)
    assert report.documents == len(DOCUMENTS)
    for query in QUERIES:
        hits = index.search(query, 20)
        assert hits, query
        assert hits == one_by_one.search(query, 20), query
    assert threads() == []


def test_words_after_a_nul_and_at_the_end_of_a_long_text_are_found(index: CorpusIndex) -> None:
    index.add(DOCUMENTS)
    assert found(index, "lantern") == ["nul.md"]
    assert found(index, "barnacle") == ["long.md"]
    assert "Keyword5" in index.search("Keyword5", 1)[0].matched


def test_what_was_added_at_once_is_forgotten_whole_when_replaced(index: CorpusIndex) -> None:
    index.add(DOCUMENTS)
    report = index.add([(path, SEAL[1]) for path, _ in DOCUMENTS])
    assert (report.changed, report.passages) == (len(DOCUMENTS), len(DOCUMENTS))
    for query in set(QUERIES) - {"after", "before"}:
        assert set(found(index, query)) <= {path for path, _ in DOCUMENTS if query in path}, query
    assert len(found(index, "grey seal")) == len(DOCUMENTS)


def test_a_text_not_in_english_can_be_replaced_while_its_words_wait(
    index: CorpusIndex, tmp_path: Path
) -> None:
    many = [(f"{n}.md", Document(title=f"Buoy {n}", text=f"The buoy number {n} is red.")) for n in range(12)]
    german = "Die Häuser der Stadt sind alt und nicht für alle da."
    words = [
        ("haus.md", Document(title="Haus", text=german)),
        ("kurz.md", Document(title="Kurz", text=german)),
    ]
    index.add([*words, *many, ("haus.md", Document(title="House", text="The house is old."))])
    assert found(index, "Stadt") == ["kurz.md"]
    assert found(index, "old house") == ["haus.md"]
    with closing(sqlite3.connect(tmp_path / "index.db")) as connection:
        connection.execute("INSERT INTO words (words) VALUES ('integrity-check')")


def test_words_that_wait_are_written_before_they_are_many(
    index: CorpusIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_writer, "_MAX_BATCH_CHARS", 5_000)
    held, real = [0], index_writer.IndexWriter._write_words

    def write(self: index_writer.IndexWriter) -> None:
        held.append(len(self._words))
        real(self)

    monkeypatch.setattr(index_writer.IndexWriter, "_write_words", write)
    text = "Die Häuser der Stadt sind alt und nicht für alle da."
    index.add([(f"{n:02}.md", Document(title=f"Haus {n}", text=text)) for n in range(60)])
    assert 0 < max(held) < 15
    assert len(found(index, "Stadt")) == 20


def test_names_do_not_wait_without_end(index: CorpusIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_writer, "_MAX_UNNAMED_DOCUMENTS", 4)
    longest, real = [0], index_writer.IndexWriter.put

    def put(self: index_writer.IndexWriter, *values: object, **more: object) -> None:
        real(self, *values, **more)  # type: ignore[arg-type]
        longest.append(len(self._unnamed))

    monkeypatch.setattr(index_writer.IndexWriter, "put", put)
    monkeypatch.setattr(index_writer, "_FIRST_BATCH_SIZE", 1_000)
    index.add([(f"{n}.md", Document(title=f"Buoy {n}", text=f"The buoy {n} is red.")) for n in range(12)])
    assert max(longest) == 4


def test_a_path_that_comes_twice_has_its_last_text(index: CorpusIndex) -> None:
    report = index.add([*DOCUMENTS, ("plain.md", SEAL[1])])
    assert (report.added, report.changed) == (len(DOCUMENTS), 1)
    assert found(index, "grey seal") == ["plain.md"]
    assert found(index, "anchor") == []


@pytest.mark.parametrize("before", [[], [SEAL]], ids=["a new index", "an index that holds something"])
def test_a_failure_in_the_thread_is_raised_and_nothing_is_written(
    index: CorpusIndex, before: list[tuple[str, Document]], monkeypatch: pytest.MonkeyPatch
) -> None:
    if before:
        index.add(before)
    with monkeypatch.context() as broken:
        broken.setattr(index_writer, "_WORDS_OF_ROWS", "INSERT INTO totals SELECT NULL, ?, ? + ?")
        with pytest.raises(CorpusError, match="NOT NULL constraint failed"):
            index.add(DOCUMENTS)
    assert threads() == []
    if before:
        assert found(index, "anchor") == []
        assert found(index, "grey seal") == ["seal.md"]
    else:
        with pytest.raises(SearchError):
            index.search("anchor", 1)
    assert index.add(DOCUMENTS).documents == len(DOCUMENTS) + len(before)
    assert "plain.md" in found(index, "anchor")


def test_a_build_that_is_stopped_leaves_the_index_as_it_was(index: CorpusIndex, root: Path) -> None:
    index.add([SEAL])
    for number in range(20):
        (root / f"{number}.md").write_text(f"The walrus {number} is a mammal.")
    asked = iter([False] * 15)
    with CorpusFolder(root) as folder, pytest.raises(CorpusError, match="closed"):
        index.refresh(folder, max_text_bytes=1_000, stopped=lambda: next(asked, True))
    assert threads() == []
    assert found(index, "walrus") == []
    assert found(index, "grey seal") == ["seal.md"]


def test_a_file_that_cannot_be_read_is_remembered_while_the_thread_writes(
    index: CorpusIndex, root: Path
) -> None:
    for number in range(8):
        (root / f"{number}.md").write_text("" if number % 2 else f"The walrus {number} is a mammal.")
        (root / f"{number}-long.md").write_text("The walrus is a mammal. " * 100)
    with CorpusFolder(root) as folder:
        first = index.refresh(folder, max_text_bytes=1_000)
        again = index.refresh(folder, max_text_bytes=1_000)
    assert len(first.skipped) >= 8
    assert (again.added, again.changed, again.removed) == (0, 0, 0)
    assert sorted(one.path for one in again.skipped) == sorted(one.path for one in first.skipped)
    assert len(found(index, "walrus")) == 4


def test_a_small_change_starts_no_thread(index: CorpusIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("a thread was asked for")

    monkeypatch.setattr(ThreadPoolExecutor, "submit", fail)
    assert index.add(DOCUMENTS[:2]).documents == 2
    assert index.add([SEAL]).documents == 3


def test_where_no_thread_can_be_had_the_words_are_written_all_the_same(
    index: CorpusIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as full:
        full.setattr(threading.Thread, "start", start)
        assert index.add(DOCUMENTS).documents == len(DOCUMENTS)
    for query in QUERIES:
        assert index.search(query, 20), query


def test_what_a_thread_takes_late_is_not_written_twice(
    index: CorpusIndex, one_by_one: CorpusIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that could not be started leaves its work in the queue, for the next one."""
    started, real = iter([False]), threading.Thread.start

    def start(thread: threading.Thread) -> None:
        if not next(started, True):
            raise RuntimeError("can't start new thread")
        real(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    index.add(DOCUMENTS)
    for query in QUERIES:
        assert index.search(query, 20) == one_by_one.search(query, 20), query


def test_of_a_new_index_the_words_are_in_one_part(index: CorpusIndex, tmp_path: Path) -> None:
    many = [(f"{n}.md", Document(title=f"Buoy {n}", text=f"The buoy number {n} is red.")) for n in range(40)]
    index.add(many)
    with closing(sqlite3.connect(tmp_path / "index.db")) as connection:
        (parts,) = connection.execute("SELECT count(DISTINCT segid) FROM words_idx").fetchone()
    assert parts == 1


def test_once_an_index_is_made_its_parts_are_joined_as_they_gather(
    index: CorpusIndex, tmp_path: Path
) -> None:
    index.add(DOCUMENTS)
    with closing(sqlite3.connect(tmp_path / "index.db")) as connection:
        said = connection.execute("SELECT v FROM words_config WHERE k = 'automerge'").fetchone()
    assert said == (4,)
