"""The conformance suite of readers: one item a promise.

A subject is a reader, a file that it can read and words that stand in it. One promise is looked at in a child process,
as all readers work in one: it imports the reader, which has to stand in a module that is found by its name::

    from my_package import NoteReader

    SUBJECT = Subject(reader=NoteReader(), sample=b"The tower is 41 metres tall.", says=("41 metres",))

    @pytest.mark.parametrize("check", READER_CHECKS, ids=str)
    def test_my_reader(check: Check) -> None:
        check(SUBJECT)
"""

from __future__ import annotations

import hashlib
import pickle
import random
import sys
import tempfile
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from deep_research.errors import ExtractionError
from deep_research.sources.extract import Extractor
from deep_research.sources.extract.document import MAX_TEXT_BYTES, Document, TooLongError
from deep_research.sources.extract.formats import ExtractionRequest
from deep_research.sources.extract.plaintext import UnreadableError
from deep_research.sources.extract.readers import GROUP, Reader
from deep_research.testing.promises import Check as Promise
from deep_research.testing.promises import promises

__all__ = ["READER_CHECKS", "Check", "Subject"]

_DAMAGE_COUNT = 60
_PACKAGE = "reader-under-test"
_MODULE = _PACKAGE.replace("-", "_")


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A ``reader``, the bytes of a file of its format (``sample``), words that its text holds (``says``), and what
    ``format`` it is asked for, where it reads several."""

    reader: Reader
    sample: bytes
    says: tuple[str, ...]
    format: str = ""

    def read(self, raw: bytes, *, max_text_bytes: int = MAX_TEXT_BYTES) -> Document:
        kind = self.format or self.reader.suffixes[0].lstrip(".")
        return self.reader.read(raw, ExtractionRequest(kind, "", self.name, max_text_bytes, is_file=True))

    @property
    def name(self) -> str:
        """What the file is called."""
        return f"sample{self.reader.suffixes[0]}"


Check = Promise[Subject]


def suffixes_and_media_types_are_in_small_letters(bench: Subject) -> None:
    assert bench.reader.suffixes
    assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in bench.reader.suffixes)
    assert all("/" in kind and kind == kind.lower() for kind in bench.reader.media_types)


def what_the_file_says_is_in_the_text(bench: Subject) -> None:
    text = bench.read(bench.sample).text
    assert [words for words in bench.says if words not in text] == []


def the_same_bytes_are_the_same_document(bench: Subject) -> None:
    assert bench.read(bench.sample) == bench.read(bytes(bench.sample))


def the_text_is_clean(bench: Subject) -> None:
    document = bench.read(bench.sample)
    assert unicodedata.is_normalized("NFC", document.text)
    assert "\r" not in document.text
    assert "\0" not in document.text
    assert document.title.strip()
    assert "\n" not in document.title
    assert document.snapshot_hash == hashlib.sha256(bench.sample).hexdigest()


def pages_begin_in_the_text_and_in_order(bench: Subject) -> None:
    document = bench.read(bench.sample)
    assert list(document.pages) == sorted(document.pages)
    assert all(0 <= page <= len(document.text) for page in document.pages)


def more_text_than_is_wanted_is_refused(bench: Subject) -> None:
    with suppress(TooLongError):
        bench.read(bench.sample, max_text_bytes=1)
        raise AssertionError("a text of more than one byte was not refused")


def nothing_is_no_document(bench: Subject) -> None:
    for raw in (b"", b" \n\t\n", b"\0" * 100):
        with suppress(UnreadableError):
            document = bench.read(raw)
            raise AssertionError(f"{raw[:4]!r} became a text: {document.text[:80]!r}")


def a_damaged_file_is_a_document_or_an_error(bench: Subject) -> None:
    """Not an end of the process, and no text that cannot be stored."""
    for raw in _damaged(bench.sample):
        try:
            document = bench.read(raw)
        except MemoryError:
            raise
        except Exception:  # noqa: S112 - of whatever kind: it is told as a damaged file
            continue
        document.text.encode()


def what_it_reads_here_it_reads_in_a_child_process_too(bench: Subject) -> None:
    """There it has no network, starts no processes, changes no files, loads no native code by ctypes, and has bounded
    memory and time."""
    with _installed(bench.reader):
        extractor = Extractor(workers=1)
        try:
            document = extractor.submit(bench.sample, name=bench.name, is_file=True).result()
        except ExtractionError as error:
            raise AssertionError(f"in a child process: {error.problem}") from None
        finally:
            extractor.close()
    here = bench.read(bench.sample)
    is_same = (document.text, document.title, document.pages) == (here.text, here.title, here.pages)
    assert is_same, f"in a child process it reads something else: {document.text[:80]!r}"


@contextmanager
def _installed(reader: Reader) -> Iterator[None]:
    """While this lasts new child processes find a package that brings the reader."""
    with tempfile.TemporaryDirectory() as folder:
        about = Path(folder, f"{_MODULE}-1.dist-info")
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {_PACKAGE}\nVersion: 1\n")
        (about / "entry_points.txt").write_text(f"[{GROUP}]\n{_PACKAGE} = {_MODULE}:READER\n")
        module_source = f"import pickle\n\nREADER = pickle.loads({pickle.dumps(reader)!r})\n"
        Path(folder, f"{_MODULE}.py").write_text(module_source)
        sys.path.insert(0, folder)  # before one that is installed and reads files of the same names
        try:
            yield
        finally:
            sys.path.remove(folder)


def _damaged(sample: bytes) -> Iterator[bytes]:
    """The file cut short, with bytes turned over, and with a piece of it twice; the same each time."""
    chance = random.Random(1)  # noqa: S311
    for _ in range(_DAMAGE_COUNT):
        at = chance.randrange(len(sample))
        yield sample[:at]
        yield sample[:at] + bytes([sample[at] ^ 0xFF]) + sample[at + 1 :]
        yield sample[:at] + sample[at // 2 :]


def _here() -> Iterator[Check]:
    for name, function in promises(sys.modules[__name__]):
        yield Check(name, function)


READER_CHECKS: tuple[Check, ...] = tuple(_here())
"""What every reader has to pass, one item a promise."""
