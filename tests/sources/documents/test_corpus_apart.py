"""Files of a corpus that are read in child processes: found, cited by page, and skipped with a reason."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path

import pytest

from deep_research.errors import CorpusError, ExtractionError
from deep_research.sources.documents import Document, LocalCorpus, Skipped
from deep_research.sources.extract import Extractor, formats
from deep_research.sources.search.base import SearchRequest, SearchResult
from deep_research.state.identity import sha256_hex

sys.path.insert(0, str(Path(__file__).parents[1] / "extract"))

import made

FEED = (
    b"<rss><channel><title>Tides</title><item><title>Skerry</title>"
    b"<description>The highest tide was 3.12 m.</description></item></channel></rss>"
)


def search(corpus: LocalCorpus, query: str) -> SearchResult:
    async def main() -> SearchResult:
        try:
            found = await corpus.search(SearchRequest(query=query, limit=5))
            return found[0]
        finally:
            await corpus.aclose()

    return asyncio.run(main())


@pytest.fixture
def corpus(root: Path, tmp_path: Path) -> LocalCorpus:
    return LocalCorpus(root, data_dir=tmp_path / "data")


def test_a_pdf_is_found_with_its_pages(root: Path, corpus: LocalCorpus) -> None:
    (root / "report.pdf").write_bytes(made.report())
    (root / "paper.pdf").write_bytes(made.paper())
    found = search(corpus, "surplus for dredging the inner basin")
    assert found.address == "report.pdf"
    assert found.text is not None
    assert len(found.pages) == 4
    assert found.text[found.pages[2] :].startswith("Income rose")
    assert found.pages[2] <= found.passages[0].end
    assert search(corpus, "cracks per metre").address == "paper.pdf"


@pytest.mark.parametrize(
    ("name", "raw", "query"),
    [
        ("survey.docx", made.document(), "loose block"),
        ("tides.csv", b"Station,Highest\nMole,3.40\nSkerry,3.12\n", "Skerry highest"),
        ("tides.TSV", b"Station\tHighest\nMole\t3.40\nSkerry\t3.12\n", "Skerry highest"),
        ("tides.json", b'{"station": "Skerry", "highest": 3.12}', "Skerry highest"),
        ("tides.jsonl", b'{"station": "Skerry"}\n{"station": "Mole"}\n', "Skerry"),
        ("tides.ndjson", b'{"station": "Skerry"}\n{"station": "Mole"}\n', "Skerry"),
        ("tides.tab", b"Station\tHighest\nMole\t3.40\nSkerry\t3.12\n", "Skerry highest"),
        ("tides.text", b"The highest tide at Skerry was 3.12 m.\n", "Skerry highest"),
        ("tides.xhtml", b"<html><body><p>The highest tide at Skerry was 3.12 m.</p></body></html>", "Skerry"),
        ("tides.rss", FEED, "Skerry highest"),
        ("tides.atom", FEED, "Skerry highest"),
    ],
)
def test_other_formats_are_found(root: Path, corpus: LocalCorpus, name: str, raw: bytes, query: str) -> None:
    (root / name).write_bytes(raw)
    (root / "other.md").write_text("# Something else\n\nOf no interest to anybody here.\n")
    found = search(corpus, query)
    assert (found.address, found.pages) == (name, ())


def test_a_folder_takes_every_file_that_is_named_as_one_of_a_format_that_is_read(
    root: Path, corpus: LocalCorpus
) -> None:
    for suffix in formats.SUFFIXES:
        (root / f"a{suffix}").write_text("walrus")
    report = corpus.prepare()
    assert report.documents + len(report.skipped) == len(formats.SUFFIXES)
    asyncio.run(corpus.aclose())


WALLS = {
    "captcha": "Please verify you are human.",
    "scripts": "Please enable JavaScript to run this.",
    "cookies": "Before you continue to Skerry, accept all cookies.",
    "login": "Please log in to continue reading.",
}


def test_no_page_in_a_folder_is_taken_for_a_wall_however_large(root: Path, corpus: LocalCorpus) -> None:
    for suffix, styles in ((".html", 0), (".xhtml", 0), (".htm", 10_000)):
        head = f"<html><head><style>{'p {} ' * styles}</style></head><body>"
        for name, said in WALLS.items():
            (root / f"{name}{suffix}").write_text(f"{head}<p>A note of the tide at Skerry. {said}</p>")
    report = corpus.prepare()
    assert (report.documents, report.skipped) == (3 * len(WALLS), ())
    asyncio.run(corpus.aclose())


def test_a_page_of_the_web_that_is_a_wall_is_told_as_one() -> None:
    extractor = Extractor(workers=1)
    try:
        for said in WALLS.values():
            page = f"<html><body><p>Tides of Skerry. {said}</p></body></html>".encode()
            with pytest.raises(ExtractionError, match="no readable text; it"):
                extractor.submit(page, media_type="text/html", name="https://x.example/a.html").result()
    finally:
        extractor.close()


def test_a_file_that_fails_is_skipped_with_its_reason_and_not_read_again(
    root: Path, corpus: LocalCorpus
) -> None:
    (root / "a.pdf").write_bytes(b"%PDF-1.7\nnothing that holds")
    (root / "b.docx").write_bytes(b"\x89PNG" + bytes(50))
    (root / "c.json").write_bytes(b"[" * 100_000)
    (root / "d.md").write_text("# Kept\n\nThis one can be read.\n")
    expected = (
        Skipped("a.pdf", "a damaged PDF"),
        Skipped("b.docx", "an image (PNG)"),
        Skipped("c.json", "JSON nested more than 60 deep"),
    )
    assert corpus.prepare().skipped == expected
    again = corpus.prepare(max_age=-1)
    assert (again.skipped, again.added, again.changed) == (expected, 0, 0)
    asyncio.run(corpus.aclose())


def test_a_file_that_is_read_but_for_some_pages_is_noted_as_long_as_it_is_there(
    root: Path, corpus: LocalCorpus
) -> None:
    page = "BT /F1 10 Tf 50 700 Td (%s) Tj ET"
    told = [page % "the harbour was dredged to a depth of nine metres", page % "its wall is of granite"]
    (root / "x.pdf").write_bytes(made.without_map(told[0], made.numbers(), made.numbers(), told[1]))
    (root / "y.pdf").write_bytes(made.report())
    why = "pages 2 and 3: its fonts do not say which letters they show; run it through text recognition"
    for _ in range(2):
        assert corpus.prepare(max_age=-1).partly == (Skipped("x.pdf", why),)
        assert corpus.notes == (f"A file was not read whole: x.pdf ({why}).",)
    (root / "x.pdf").touch()
    assert corpus.prepare(max_age=-1).partly == (Skipped("x.pdf", why),)
    (root / "x.pdf").unlink()
    corpus.prepare(max_age=-1)
    assert corpus.notes == ()
    asyncio.run(corpus.aclose())


def test_many_files_keep_their_places(root: Path, corpus: LocalCorpus) -> None:
    for number in range(30):
        (root / f"t{number:02}.csv").write_text(f"name,level\nmarker{number:02},{number}\n")
        (root / f"t{number:02}.md").write_text(f"# Note {number}\n\nNothing.\n")
    assert corpus.prepare().documents == 60
    assert search(corpus, "marker17").address == "t17.csv"


def test_a_changed_pdf_is_read_again(root: Path, corpus: LocalCorpus) -> None:
    (root / "x.pdf").write_bytes(made.report())
    assert corpus.prepare().added == 1
    (root / "x.pdf").write_bytes(made.paper())
    assert corpus.prepare(max_age=-1).changed == 1
    assert search(corpus, "cracks").title == "A Survey of Forty Harbour Walls"


@pytest.mark.timed
def test_closing_stops_a_file_that_is_being_read(root: Path, corpus: LocalCorpus) -> None:
    for number in range(200):
        (root / f"{number}.pdf").write_bytes(made.report() + b"%" * number)

    async def main() -> None:
        preparing = asyncio.create_task(asyncio.to_thread(corpus.prepare))
        while not corpus._extractor._children and not preparing.done():
            await asyncio.sleep(0.01)
        await corpus.aclose()
        with pytest.raises(CorpusError, match="closed"):
            await preparing

    asyncio.run(main())
    assert not corpus._extractor._children


class Reader(Extractor):
    """An extractor whose answers are given: a document, or an error that is raised."""

    def __init__(self, answers: dict[str, ExtractionError | None]) -> None:
        super().__init__()
        self.answers = answers
        self.asked: list[str] = []

    def submit(
        self, raw: bytes, *, media_type: str = "", name: str = "", **_: int | bool
    ) -> Future[Document]:
        self.asked.append(name)
        future: Future[Document] = Future()
        error = self.answers[name]
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(Document(title=name, text="walrus", snapshot_hash=sha256_hex(raw)))
        return future


PASSING = {
    "time": ExtractionError("reading it took longer than 20 s", limit="time", passing=True),
    "memory": ExtractionError("reading it took too much memory", limit="memory", passing=True),
    "cancelled": ExtractionError("the extraction was cancelled", passing=True),
    "library": ExtractionError("a library that reads it is missing", passing=True),
}
VERDICTS = {
    "damaged": ExtractionError("a damaged PDF"),
    "encrypted": ExtractionError("encrypted; save it without a password"),
    "empty": ExtractionError("no readable text in it"),
    "crash": ExtractionError("reading it crashed (SIGSEGV)", crashed=True),
}


def test_what_ran_out_is_tried_again_by_the_next_look_and_a_verdict_is_kept_until_the_file_changes(
    root: Path, tmp_path: Path
) -> None:
    (root / "good.md").write_text("walrus")
    answers: dict[str, ExtractionError | None] = {
        f"{name}.pdf": error for name, error in {**PASSING, **VERDICTS}.items()
    }
    for name in answers:
        (root / name).write_bytes(b"%PDF")
    reader = Reader(answers)
    corpus = LocalCorpus(root, data_dir=tmp_path / "data", extractor=reader)
    first = corpus.prepare()
    assert {file.path for file in first.skipped} == set(answers)
    for _ in range(3):  # searches of one run ask nobody again
        asyncio.run(corpus.search(SearchRequest(query="walrus", limit=5)))
    assert sorted(reader.asked) == sorted(answers)

    reader.asked.clear()
    answers |= dict.fromkeys(answers)  # by now all of them could be read
    again = corpus.prepare(max_age=-1)
    assert sorted(reader.asked) == sorted(f"{name}.pdf" for name in PASSING)
    assert (again.added, len(again.skipped)) == (len(PASSING), len(VERDICTS))

    for name in VERDICTS:
        (root / f"{name}.pdf").write_bytes(b"%PDF mended")
    assert corpus.prepare(max_age=-1).skipped == ()
    asyncio.run(corpus.aclose())


def test_a_larger_limit_of_bytes_makes_a_file_readable_without_a_touch(root: Path, tmp_path: Path) -> None:
    (root / "good.md").write_text("walrus")
    (root / "large.md").write_text("walrus " * 10_000)
    for most, skipped in ((50_000, 1), (100_000, 0), (50_000, 1)):
        corpus = LocalCorpus(root, data_dir=tmp_path / "data", max_file_bytes=most)
        found = corpus.prepare().skipped
        assert found == (Skipped("large.md", "larger than max_file_bytes (50,000); raise it"),)[:skipped]
        asyncio.run(corpus.aclose())


@pytest.mark.timed
def test_twelve_times_as_long_may_pass_as_a_child_may_compute() -> None:
    assert (Extractor()._limits.cpu_seconds, Extractor()._limits.seconds) == (10, 120)
    assert (Extractor(cpu_seconds=0.1)._limits.cpu_seconds, Extractor(cpu_seconds=50)._limits.seconds) == (
        1,
        600,
    )


def test_an_index_of_before_that_took_time_outs_for_verdicts_is_made_anew(root: Path, tmp_path: Path) -> None:
    (root / "good.md").write_text("walrus")
    (root / "slow.pdf").write_bytes(b"%PDF")
    reader = Reader({"slow.pdf": ExtractionError("damaged")})
    corpus = LocalCorpus(root, data_dir=tmp_path / "data", extractor=reader)
    corpus.prepare()
    asyncio.run(corpus.aclose())
    (index,) = (tmp_path / "data").rglob("*.db")
    with closing(sqlite3.connect(index)) as database:
        database.execute("PRAGMA user_version=14")
    reader.answers["slow.pdf"] = None
    assert corpus.prepare().documents == 2
    asyncio.run(corpus.aclose())
