"""Files of a corpus that are read in child processes: found, cited by page, and skipped with a reason."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from deep_research.errors import CorpusError
from deep_research.sources.documents import LocalCorpus, Skipped
from deep_research.sources.search.base import SearchRequest, SearchResult

sys.path.insert(0, str(Path(__file__).parents[1] / "extract"))

import made


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


def test_a_pdf_is_found_with_its_pages_and_author(root: Path, corpus: LocalCorpus) -> None:
    (root / "report.pdf").write_bytes(made.report())
    (root / "paper.pdf").write_bytes(made.paper())
    found = search(corpus, "surplus for dredging the inner basin")
    assert found.address == "report.pdf"
    assert found.text is not None
    assert len(found.pages) == 4
    assert found.text[found.pages[2] :].startswith("Income rose")
    assert found.pages[2] <= found.passages[0].end
    assert search(corpus, "cracks per metre").authors == ("Ines Okafor; Tom Marsh",)


@pytest.mark.parametrize(
    ("name", "raw", "query"),
    [
        ("survey.docx", made.document(), "loose block"),
        ("tides.csv", b"Station,Highest\nMole,3.40\nSkerry,3.12\n", "Skerry highest"),
        ("tides.TSV", b"Station\tHighest\nMole\t3.40\nSkerry\t3.12\n", "Skerry highest"),
        ("tides.json", b'{"station": "Skerry", "highest": 3.12}', "Skerry highest"),
        ("tides.jsonl", b'{"station": "Skerry"}\n{"station": "Mole"}\n', "Skerry"),
    ],
)
def test_other_formats_are_found(root: Path, corpus: LocalCorpus, name: str, raw: bytes, query: str) -> None:
    (root / name).write_bytes(raw)
    (root / "other.md").write_text("# Something else\n\nOf no interest to anybody here.\n")
    found = search(corpus, query)
    assert (found.address, found.pages) == (name, ())


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
    lost = [page % "THE LAMP WAS LIT AGAIN AT LAST", page % "IN THE SECOND YEAR OF THE STORM"]
    (root / "x.pdf").write_bytes(made.without_capitals(told[0], *lost, told[1]))
    (root / "y.pdf").write_bytes(made.report())
    why = "pages 2 to 3: its fonts do not say which letters they show; run it through text recognition"
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


def test_closing_stops_a_file_that_is_being_read(root: Path, corpus: LocalCorpus) -> None:
    for number in range(200):
        (root / f"{number}.pdf").write_bytes(made.report() + b"%" * number)

    async def main() -> None:
        preparing = asyncio.create_task(asyncio.to_thread(corpus.prepare))
        await asyncio.sleep(0.15)
        await corpus.aclose()
        with pytest.raises(CorpusError, match="closed"):
            await preparing

    asyncio.run(main())
    assert not corpus._extractor._children
