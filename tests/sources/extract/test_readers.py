"""Every reader keeps the promises of the suite; a reader of another package is one like the others."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import made
import pytest

from deep_research.errors import ExtractionError
from deep_research.sources.documents.corpus import LocalCorpus
from deep_research.sources.extract import Extractor, readers
from deep_research.sources.extract.document import Document
from deep_research.sources.extract.formats import Asked
from deep_research.testing.reader_suite import READER_CHECKS, Check, Subject

PROSE = "The harbour of Mole was dredged to nine metres in the year in which the outer wall was raised."


@dataclass(frozen=True)
class Own:
    """A reader of the package, by its module."""

    module: str
    suffixes: tuple[str, ...]
    media_types: tuple[str, ...] = ()

    def read(self, raw: bytes, asked: Asked) -> Document:
        document: Document = import_module(f"deep_research.sources.extract.{self.module}").read(raw, asked)
        return document


pytestmark = pytest.mark.timed  # some are read in children, which have deadlines

SUBJECTS = {
    "html": Subject(
        reader=Own("html", (".html",)),
        sample=f"<!doctype html><html><body><h1>Mole</h1>{f'<p>{PROSE}</p>' * 5}</body></html>".encode(),
        says=("# Mole", PROSE),
    ),
    "pdf": Subject(reader=Own("pdf", (".pdf",)), sample=made.report(), says=("1.2 million tonnes",)),
    "docx": Subject(reader=Own("docx", (".docx",)), sample=made.document(), says=("Cracks at the east end",)),
    "csv": Subject(
        reader=Own("tables", (".csv",)),
        sample=b"port,ships\nMole,7\nRock,12\n",
        says=("port | ships", "Rock | 12"),
    ),
    "json": Subject(
        reader=Own("data", (".json",)),
        sample=b'{"port": "Mole", "ships": [7, 12]}',
        says=("port: Mole", "7, 12"),
    ),
    "xml": Subject(
        reader=Own("feeds", (".xml",)),
        sample=f"<rss><channel><title>Mole</title><item><title>Wall</title><description>{PROSE}</description></item>"
        "</channel></rss>".encode(),
        says=("# Mole", "## Wall", PROSE),
    ),
    **{
        kind: Subject(
            reader=Own("texts", (f".{kind}",)),
            sample=f"Mole\n====\n\n{PROSE}\n".encode(),
            says=("Mole", PROSE),
        )
        for kind in ("md", "rst", "txt")
    },
}


@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.parametrize("check", READER_CHECKS, ids=str)
def test_the_reader_keeps_the_promise(check: Check, name: str) -> None:
    check(SUBJECTS[name])


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installed package that brings a reader of notes."""
    package = tmp_path / "site"
    (package / "notes-1.0.dist-info").mkdir(parents=True)
    (package / "notes-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: notes\nVersion: 1.0\n"
    )
    points = "[deep_research.readers]\nnote = note_reader:Notes\n"
    (package / "notes-1.0.dist-info" / "entry_points.txt").write_text(points)
    (package / "note_reader.py").write_text(
        "from deep_research.sources.extract.document import finished\n"
        "class Notes:\n"
        "    suffixes = ('.note',)\n"
        "    media_types = ('text/x-note',)\n"
        "    def read(self, raw, asked):\n"
        "        if raw.startswith(b'leave'): open('/tmp/stolen', 'w')\n"
        "        return finished(raw, asked.name, title='A note', text=raw.decode().upper(),\n"
        "                        max_text_bytes=asked.max_text_bytes)\n"
    )
    monkeypatch.syspath_prepend(str(package))
    caches = (readers._brought, readers._loaded, readers.is_brought, readers.version_for)
    for cache in caches:
        cache.cache_clear()
    yield package
    monkeypatch.undo()
    for cache in caches:
        cache.cache_clear()


def test_a_reader_of_another_package_reads_its_files_in_a_child(notes: Path) -> None:
    extractor = Extractor(workers=1)
    try:
        for given in ({"name": "a.note"}, {"media_type": "text/x-note; charset=utf-8"}):
            assert extractor.submit(b"the wall", **given).result().text == "THE WALL"  # type: ignore[arg-type]
        with pytest.raises(ExtractionError, match="damaged"):
            extractor.submit(b"leave", name="a.note").result()
    finally:
        extractor.close()
    assert readers.version_for(".note") == "note, notes 1.0"


def test_a_folder_is_read_with_the_readers_of_other_packages(notes: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "wall.note").write_text("the wall was raised")
    for version, added in (("1.0", 1), ("1.0", 0), ("1.1", 1)):
        (notes / "notes-1.0.dist-info" / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: notes\nVersion: {version}\n"
        )
        readers._brought.cache_clear()
        readers.version_for.cache_clear()
        corpus = LocalCorpus(root, data_dir=tmp_path / "data")
        report = corpus.prepare()
        assert (report.documents, report.added + report.changed) == (1, added)
        asyncio.run(corpus.aclose())


def test_a_file_is_read_again_by_a_newer_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "wall.txt").write_text(PROSE)
    (root / "none.txt").write_text(" ")
    for version, changed in (("txt 1", 1), ("txt 1", 0), ("txt 2", 1)):
        monkeypatch.setattr(
            "deep_research.sources.documents.follower.version_for", lambda _, said=version: said
        )
        corpus = LocalCorpus(root, data_dir=tmp_path / "data")
        report = corpus.prepare()
        assert report.added + report.changed == changed
        assert [file.path for file in report.skipped] == ["none.txt"]
        asyncio.run(corpus.aclose())
