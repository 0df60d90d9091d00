"""The conformance suite of readers: one item a promise.

A subject is a reader, a file that it can read and words that stand in it::

    SUBJECT = Subject(reader=NoteReader(), sample=b"The tower is 41 metres tall.", says=("41 metres",))

    @pytest.mark.parametrize("check", READER_CHECKS, ids=str)
    def test_my_reader(check: Check) -> None:
        check(SUBJECT)
"""

from __future__ import annotations

import hashlib
import random
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from deep_research.sources.extract.document import MAX_TEXT_BYTES, Document, TooLongError
from deep_research.sources.extract.formats import Asked
from deep_research.sources.extract.plaintext import UnreadableError
from deep_research.sources.extract.readers import Reader
from deep_research.testing.promises import Check as Promise
from deep_research.testing.promises import promises

__all__ = ["READER_CHECKS", "Check", "Subject"]

_DAMAGES = 60


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A ``reader``, the bytes of a file of its format (``sample``), words that its text holds (``says``), and what
    ``format`` it is asked for, where it reads several."""

    reader: Reader
    sample: bytes
    says: tuple[str, ...]
    format: str = ""

    def read(self, raw: bytes, *, max_text_bytes: int = MAX_TEXT_BYTES) -> Document:
        suffix = self.reader.suffixes[0]
        asked = Asked(self.format or suffix.lstrip("."), "", f"sample{suffix}", max_text_bytes)
        return self.reader.read(raw, asked)


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
    found = bench.read(bench.sample)
    assert unicodedata.is_normalized("NFC", found.text)
    assert "\r" not in found.text
    assert "\0" not in found.text
    assert found.title.strip()
    assert "\n" not in found.title
    assert found.snapshot_hash == hashlib.sha256(bench.sample).hexdigest()


def pages_begin_in_the_text_and_in_order(bench: Subject) -> None:
    found = bench.read(bench.sample)
    assert list(found.pages) == sorted(found.pages)
    assert all(0 <= page <= len(found.text) for page in found.pages)


def more_text_than_is_wanted_is_refused(bench: Subject) -> None:
    with suppress(TooLongError):
        bench.read(bench.sample, max_text_bytes=1)
        raise AssertionError("a text of more than one byte was not refused")


def nothing_is_no_document(bench: Subject) -> None:
    for raw in (b"", b" \n\t\n", b"\0" * 100):
        with suppress(UnreadableError):
            found = bench.read(raw)
            raise AssertionError(f"{raw[:4]!r} became a text: {found.text[:80]!r}")


def a_damaged_file_is_a_document_or_an_error(bench: Subject) -> None:
    """Not an end of the process, and no text that cannot be stored."""
    for raw in _damaged(bench.sample):
        try:
            found = bench.read(raw)
        except MemoryError:
            raise
        except Exception:  # noqa: S112 - of whatever kind: it is told as a damaged file
            continue
        found.text.encode()


def _damaged(sample: bytes) -> Iterator[bytes]:
    """The file cut short, with bytes turned over, and with a piece of it twice; the same each time."""
    chance = random.Random(1)  # noqa: S311
    for _ in range(_DAMAGES):
        at = chance.randrange(len(sample))
        yield sample[:at]
        yield sample[:at] + bytes([sample[at] ^ 0xFF]) + sample[at + 1 :]
        yield sample[:at] + sample[at // 2 :]


def _here() -> Iterator[Check]:
    import sys

    for name, function in promises(sys.modules[__name__]):
        yield Check(name, function)


READER_CHECKS: tuple[Check, ...] = tuple(_here())
"""What every reader has to pass, one item a promise."""
