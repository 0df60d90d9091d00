"""Every reader keeps the promises of the suite; a reader of another package is one like the others."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path

import made
import pytest

from deep_research.errors import CorpusError, ExtractionError
from deep_research.sources.documents import IndexReport, LocalCorpus, Skipped
from deep_research.sources.extract import Extractor, readers
from deep_research.sources.extract.document import Document
from deep_research.sources.extract.formats import ExtractionRequest
from deep_research.sources.extract.pdf import NO_READER
from deep_research.sources.search.base import SearchRequest
from deep_research.testing.reader_suite import READER_CHECKS, Check, Subject

INPUTS = Path(__file__).parents[2] / "data" / "readers"
PROSE = "The harbour of Mole was dredged to nine metres in the year in which the outer wall was raised."


@dataclass(frozen=True)
class Own:
    """A reader of the package, by its module."""

    module: str
    suffixes: tuple[str, ...]
    media_types: tuple[str, ...] = ()

    def read(self, raw: bytes, asked: ExtractionRequest) -> Document:
        document: Document = import_module(f"deep_research.sources.extract.{self.module}").read(raw, asked)
        return document


pytestmark = pytest.mark.timed  # some are read in children, which have deadlines

ITEM = f"<item><title>Wall</title><description>{PROSE}</description></item>"
PAGE = f"<!doctype html><html><body><h1>Mole</h1>{f'<p>{PROSE}</p>' * 5}</body></html>"
BUDGET = "2023 | Brenn | 12.4 | 0.07 | 2023-01-09 | FALSE"
# The module of a reader, a file that it reads, and what it says: the bytes, or the name of an input.
SAMPLES: dict[str, tuple[str, bytes | str, tuple[str, ...]]] = {
    ".html": ("html", PAGE.encode(), ("# Mole", PROSE)),
    ".pdf": ("pdf", made.report(), ("1.2 million tonnes",)),
    ".docx": ("docx", made.document(), ("Cracks at the east end",)),
    ".csv": ("tables", b"port,ships\nMole,7\nRock,12\n", ("port | ships", "Rock | 12")),
    ".json": ("data", b'{"port": "Mole", "ships": [7, 12]}', ("port: Mole", "7, 12")),
    ".xml": ("feeds", f"<rss><channel><title>Mole</title>{ITEM}</channel></rss>".encode(), ("# Mole", "## Wall", PROSE)),
    **{f".{kind}": ("texts", f"Mole\n====\n\n{PROSE}\n".encode(), ("Mole", PROSE)) for kind in ("md", "rst", "txt")},
    ".pptx": ("slides", "pptx-slides", ("## Costs", "1974 | 2.98", "Notes: The lamp", "1931 | 62 | 2")),
    ".xlsx": ("sheets", "xlsx-sheets", (BUDGET, "pilot | 14")),
    ".xls": ("sheets", "xls-sheets", (BUDGET,)),
    ".odt": ("odf", "odt-works", ("E=mc^2", "  1. its east end", "the county’s page", "1 Measured at")),
    ".ods": ("odf", "ods-sheets", (BUDGET.replace("0.07", "7%"),)),
    ".odp": ("odf", "odp-slides", ("## Costs", "1931 | 62 | 2", "Notes: The lamp")),
    ".epub": ("epub", "epub-works", ("- Mole: A wall in the sea", "E = mc^2", "1931. See")),
    ".ipynb": ("notebook", "ipynb-survey", ("184 metres", "depths = [180, 188]", "Mole | 180", "mean 184.0")),
    ".eml": ("mail", "eml-letter", ("Subject: Ferry repairs – new day", "> And who", "Rota März.pdf")),
}  # fmt: skip


@pytest.mark.parametrize("suffix", SAMPLES)
@pytest.mark.parametrize("check", READER_CHECKS, ids=str)
def test_the_reader_keeps_the_promise(check: Check, suffix: str) -> None:
    module, sample, says = SAMPLES[suffix]
    raw = (INPUTS / f"{sample}{suffix}").read_bytes() if isinstance(sample, str) else sample
    check(Subject(reader=Own(module, (suffix,)), sample=raw, says=says))


READER = """
from deep_research.sources.extract.document import finished

{above}

class Notes:
    suffixes = (".note",)
    media_types = ("text/x-note",)

    def read(self, raw, asked):
        {within}
        text = raw.decode().strip().upper()
        return finished(raw, asked.name, title="A note", text=text, max_text_bytes=asked.max_text_bytes)
"""
Install = Callable[..., Path]


def forget() -> None:
    readers._brought.cache_clear()
    readers.version_for.cache_clear()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a package that brings a reader, of notes unless its ``code`` is another. Returns where."""

    modules: list[str] = []

    def one(name: str = "notes", *, above: str = "", within: str = "", code: str = "") -> Path:
        modules.append(f"{name}_reader")
        package = tmp_path / name
        about = package / f"{name}-1.0.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(f"[deep_research.readers]\n{name} = {name}_reader:Notes\n")
        written = code or READER.format(above=above, within=within or "pass")
        (package / f"{name}_reader.py").write_text(written)
        monkeypatch.syspath_prepend(str(package))
        forget()
        return package

    yield one
    monkeypatch.undo()
    for name in modules:
        sys.modules.pop(name, None)
    forget()


@pytest.fixture
def extractor() -> Iterator[Extractor]:
    made = Extractor(workers=1)
    yield made
    made.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


def prepared(root: Path) -> tuple[IndexReport, dict[str, str]]:
    """What came of reading a folder, and the texts of its documents by name."""

    async def main() -> tuple[IndexReport, dict[str, str]]:
        corpus = LocalCorpus(root, data_dir=root.parent / "data")
        try:
            found = await corpus.search(SearchRequest(query="wall", limit=50))
            return corpus.prepare(), {each.address: each.text or "" for each in found}
        finally:
            await corpus.aclose()

    return asyncio.run(main())


def test_a_reader_of_another_package_reads_its_files_in_a_child(
    install: Install, extractor: Extractor
) -> None:
    install()
    for given in ({"name": "a.note"}, {"media_type": "text/x-note; charset=utf-8"}):
        assert extractor.submit(b"the wall", **given).result().text == "THE WALL"  # type: ignore[arg-type]
    assert readers.version_for(".note") == "notes, notes 1.0"


def test_a_folder_is_read_with_the_readers_of_other_packages(install: Install, root: Path) -> None:
    package = install()
    (root / "wall.note").write_text("the wall was raised")
    for version, added in (("1.0", 1), ("1.0", 0), ("1.1", 1)):
        (package / "notes-1.0.dist-info" / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: notes\nVersion: {version}\n"
        )
        forget()
        corpus = LocalCorpus(root, data_dir=root.parent / "data")
        report = corpus.prepare()
        assert (report.documents, report.added + report.changed) == (1, added)
        asyncio.run(corpus.aclose())


BROKEN = {
    "import nothing_of_this_name": "ModuleNotFoundError: No module named 'nothing_of_this_name'",
    "raise RuntimeError('it is Monday')": "RuntimeError: it is Monday",
    "import sys; sys.exit(3)": "RuntimeError: it raised SystemExit 3",
    "raise KeyboardInterrupt": "RuntimeError: it raised KeyboardInterrupt",
    "Other = 1": "AttributeError: module 'broken_reader' has no attribute 'Notes'",
    "class Notes:\n    def __init__(self): raise OSError('no device')": "OSError: no device",
    "class Notes:\n    suffixes = ('.note',)\n    media_types = ()": "AttributeError: 'Notes' object has no",
    "class Notes:\n    suffixes = media_types = None\n    read = None": "TypeError",
}


@pytest.mark.parametrize(("code", "why"), BROKEN.items(), ids=BROKEN.values())
def test_a_reader_that_cannot_be_loaded_is_named(install: Install, code: str, why: str) -> None:
    install("broken", code=code)
    install("notes")
    (line,) = readers.unloadable()
    assert line.startswith(f"the reader 'broken' cannot be loaded ({why}")
    assert line.endswith("); reinstall the package that brings it")


@pytest.mark.parametrize("code", [*BROKEN][:1] + [*BROKEN][-1:], ids=["module", "attributes"])
def test_a_reader_that_cannot_be_loaded_takes_nothing_else_away(
    install: Install, extractor: Extractor, root: Path, code: str
) -> None:
    install("broken", code=code)
    install("notes")
    (root / "a.note").write_text("the wall")
    (root / "b.txt").write_text("the wall")
    (root / "c.broken").write_text("the wall")
    assert prepared(root)[1] == {"a.note": "THE WALL", "b.txt": "the wall"}
    page = f"<html><body><p>{PROSE}</p></body></html>".encode()
    for name in ("https://x.example/page", "https://x.example/page.aspx"):
        assert extractor.submit(page, media_type="text/html", name=name).result().text == PROSE


def test_a_folder_of_nothing_but_files_whose_reader_is_broken_names_the_reader(
    install: Install, root: Path
) -> None:
    install(above="import nothing_of_this_name")
    (root / "a.note").write_text("the wall")
    with pytest.raises(CorpusError, match=r"No readable document .*the reader 'notes' cannot be loaded"):
        prepared(root)


def test_what_a_reader_may_not_do_when_it_is_loaded_is_told_of_its_files(
    install: Install, extractor: Extractor, root: Path
) -> None:
    install(above="import os\nos.utime(__file__)")  # which it may in this process
    assert readers.unloadable() == ()
    (root / "a.note").write_text("the wall")
    (root / "b.txt").write_text("the wall")
    report, texts = prepared(root)
    assert texts == {"b.txt": "the wall"}
    (skipped,) = report.skipped
    assert skipped.why.startswith("the reader 'notes' cannot be loaded (PermissionError: ")
    assert extractor.submit(b"the wall", name="https://x.example/a.note").result().text == "the wall"


REFUSED = {
    "import tempfile; tempfile.TemporaryFile()": "write or change files",
    "open(__file__ + 'x', 'w')": "write or change files",
    "import os; os.mkdir('/tmp/x')": "write or change files",
    "import os; os.remove(__file__)": "write or change files",
    "import subprocess; subprocess.run(['true'])": "start or end processes",
    "import os; os.fork()": "start or end processes",
    "import ctypes; ctypes.CDLL('libm.so.6')": "load native code by ctypes",
    "import socket; socket.socket()": "use the network",
}
LACKS = r"nothing_of_this_name\); reinstall the package of the reader 'notes'"
FAULTS = {  # what the reader does, what comes of it, and whether it is the fault of the file
    **{code: (f"the reader 'notes' may not {what}", False) for code, what in REFUSED.items()},
    "import nothing_of_this_name": (LACKS, False),
    "raise KeyboardInterrupt": ("the reader 'notes' raised KeyboardInterrupt", False),
    "raise SystemExit(3)": ("the reader 'notes' raised SystemExit", False),
    "b'\\xff'.decode()": (r"a damaged file \(UnicodeDecodeError\)", True),
}


@pytest.mark.parametrize("code", FAULTS)
def test_what_goes_wrong_in_a_reader_ends_its_call_and_is_its_fault_or_that_of_the_file(
    install: Install, extractor: Extractor, code: str
) -> None:
    why, is_of_file = FAULTS[code]
    package = install(within=code)
    with pytest.raises(ExtractionError, match=why) as caught:
        extractor.submit(b"the wall", name="a.note").result()
    # What is not the fault of the file another version of the reader may read.
    assert bool(caught.value.data.get("passing")) is not is_of_file
    assert (package / "notes_reader.py").exists()
    assert extractor.submit(b"the wall stood", name="a.txt").result().text == "the wall stood"


IN_A_CHILD = next(check for check in READER_CHECKS if "child" in str(check))
NOTE = b"the tower is 41 metres tall"


def subject(package: Path) -> Subject:
    reader = import_module(f"{package.name}_reader").Notes()
    return Subject(reader=reader, sample=NOTE, says=("41 METRES",))


def test_a_reader_of_another_package_keeps_every_promise(install: Install) -> None:
    kept = subject(install())
    before = list(sys.path)
    for check in READER_CHECKS:
        check(kept)
    assert sys.path == before


UNFIT = {
    "import tempfile; tempfile.TemporaryFile()": "the reader 'reader-under-test' may not write or change files",
    "import subprocess; subprocess.run(['true'])": "may not start or end processes",
    "import ctypes; ctypes.CDLL('libm.so.6')": "may not load native code by ctypes",
    "import socket; socket.socket().close()": "may not use the network",
    "bytes(600 << 20)": "took too much memory",
    "import os; os.utime(__file__)": "cannot be loaded",
    "import os; raw = b'41 metres, told to %d' % os.getppid()": "it reads something else: '41 METRES",
}


@pytest.mark.parametrize(("code", "why"), UNFIT.items())
def test_the_suite_finds_a_reader_that_does_not_work_in_a_child(
    install: Install, code: str, why: str
) -> None:
    unfit = subject(install(**{"above" if "utime" in code else "within": code}))
    with pytest.raises(AssertionError, match=why if "utime" in code else f"in a child process.*{why}"):
        IN_A_CHILD(unfit)


LIBRARIES = {
    ".html": {"trafilatura", "justext", "htmldate", "lxml", "charset-normalizer"},
    ".md": {"markdown-it-py", "mdit-py-plugins", "lxml", "charset-normalizer"},
    ".rst": {"docutils", "lxml", "charset-normalizer"},
    ".docx": {"python-docx", "lxml"},
    ".pdf": {"liteparse"},
    ".rss": {"lxml", "charset-normalizer", "feedparser"},
    ".xlsx": {"lxml", "python-calamine"},
    ".epub": {"lxml", "charset-normalizer"},
    ".ipynb": {"lxml", "charset-normalizer", "markdown-it-py", "mdit-py-plugins"},
    ".json": {"lxml", "charset-normalizer"},
    ".csv": {"charset-normalizer"},
    ".txt": {"charset-normalizer"},
}


@pytest.mark.parametrize(("suffix", "libraries"), LIBRARIES.items())
def test_every_library_that_has_a_part_in_a_text_is_part_of_its_readers_version(
    suffix: str, libraries: set[str]
) -> None:
    for library in libraries:
        assert f", {library} {metadata.version(library)}" in readers.version_for(suffix)


def test_where_the_reader_of_pdfs_is_not_installed_all_other_files_are_read(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "liteparse").mkdir()
    (tmp_path / "liteparse" / "__init__.py").write_text("raise ImportError('not installed')")

    def none_of_it(library: str) -> str:
        if library == "liteparse":
            raise metadata.PackageNotFoundError(library)
        return metadata.version(library)

    (root / "a.pdf").write_bytes(made.report())
    (root / "b.txt").write_text("the wall")
    (root / "c.docx").write_bytes(made.document())
    with monkeypatch.context() as without:
        without.syspath_prepend(str(tmp_path))
        without.setattr(readers, "version", none_of_it)
        forget()
        report, _ = prepared(root)
        assert (report.documents, report.skipped) == (2, (Skipped("a.pdf", NO_READER),))
    forget()
    assert prepared(root)[0].documents == 3  # it is read once it can be
