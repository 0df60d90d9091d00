"""Writing documents into the index, in bulk and by difference."""

from __future__ import annotations

import sqlite3
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import date

from deep_research.errors import CorpusError, ExtractionError
from deep_research.evidence.language import ENGLISH, language_of
from deep_research.evidence.names import borne
from deep_research.evidence.passages import TARGET, passages
from deep_research.sources.documents import unspaced
from deep_research.sources.documents.files import Candidate, CorpusFolder, Skipped
from deep_research.sources.documents.readers import Document, TooLongError, is_read_apart, read_document
from deep_research.sources.documents.terms import fields, path_words
from deep_research.sources.extract import Extractor
from deep_research.sources.extract.plaintext import UnreadableError
from deep_research.state.identity import sha256_hex

_INTO_DOCUMENTS = """INTO documents (
    id, path, size, mtime_ns, title, published, snapshot_hash, text_bytes, first_passage, passages, why, language,
    author, pages, text
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_BATCH = 200  # passages handed to SQLite at once
_BATCH_CHARACTERS = 1_000_000


@dataclass(frozen=True, slots=True)
class _Known:
    """A file as the index knows it. With ``why`` it was skipped; ``text_bytes`` is then the limit it went
    over, 0 when it would be skipped under any limit."""

    id: int
    size: int
    mtime_ns: int
    snapshot_hash: str
    text_bytes: int
    why: str | None

    def holds(self, file: Candidate, max_text_bytes: int) -> bool:
        """Whether reading the file again would tell nothing new."""
        if (self.size, self.mtime_ns) != (file.size, file.mtime_ns):
            return False
        if self.why is None:
            return self.text_bytes <= max_text_bytes
        return self.text_bytes == 0 or max_text_bytes <= self.text_bytes

    def still_says(self, raw: bytes, max_text_bytes: int) -> bool:
        """Whether the file was only touched."""
        return (
            self.why is None and self.text_bytes <= max_text_bytes and self.snapshot_hash == sha256_hex(raw)
        )


@dataclass(frozen=True, slots=True)
class _UnderWay:
    """A file that the extractor reads."""

    path: str
    before: _Known | None
    size: int
    mtime_ns: int
    document: Future[Document]


class IndexWriter:
    """Changes the index inside one open transaction; ``finish`` before it is committed."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.added = self.changed = self.removed = 0
        self.skipped: list[Skipped] = []
        (self._next_document,) = connection.execute(
            "SELECT coalesce(max(id), 0) + 1 FROM documents"
        ).fetchone()
        (self._next_passage,) = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM passages").fetchone()
        self._documents, self._passages = connection.execute(
            "SELECT documents, passages FROM totals"
        ).fetchone()
        self._paths: set[str] | None = set() if self._next_document == 1 else None
        self._new: list[tuple[str | int | None, ...]] = []
        self._places: list[tuple[int, int, int, int, str]] = []
        self._words: list[tuple[int, str, str, str, str | None, str | None]] = []
        self._names: list[tuple[str, int, float]] = []
        self._path_words: list[tuple[int, str]] = []
        self._languages: Counter[str] = Counter()
        self._characters = 0

    def follow(
        self,
        folder: CorpusFolder,
        extractor: Extractor,
        *,
        max_text_bytes: int,
        stopped: Callable[[], bool],
    ) -> None:
        """Adds, replaces and removes what differs from ``folder``. Raises `CorpusError` when stopped."""
        known = {
            row[0]: _Known(*row[1:])
            for row in self._connection.execute(
                "SELECT path, id, size, mtime_ns, snapshot_hash, text_bytes, why FROM documents"
            )
        }
        seen: set[str] = set()
        under_way: deque[_UnderWay] = deque()
        try:
            for entry in folder.walk():
                _check(stopped)
                if isinstance(entry, Candidate) and entry.path in seen:
                    entry = Skipped(entry.path, "another file has the same printable name")
                if isinstance(entry, Skipped):
                    self.skipped.append(entry)
                    continue
                seen.add(entry.path)
                before = known.pop(entry.path, None)
                if before is None or not before.holds(entry, max_text_bytes):
                    if is_read_apart(entry.path):
                        while len(under_way) > extractor.workers:
                            self._finish(under_way.popleft(), max_text_bytes)
                        self._begin(folder, entry, before, max_text_bytes, extractor, under_way)
                    else:
                        self._read(folder, entry, before, max_text_bytes)
                elif before.why is not None:
                    self.skipped.append(Skipped(entry.path, before.why))
            while under_way:
                _check(stopped)
                self._finish(under_way.popleft(), max_text_bytes)
            _check(stopped)
        finally:
            for left in under_way:
                left.document.cancel()
        for gone in known:
            self.removed += self._remove(gone)

    def put(self, path: str, document: Document, *, size: int = 0, mtime_ns: int = 0) -> None:
        """Adds a document, in the place of one of the same path."""
        text, title, published = document.text, document.title, document.published
        length = len(text) if text.isascii() else len(text.encode())
        language = document.language or language_of(text)
        parts = _passages(text)
        number, at = self._next_document, self._next_passage
        day = published.isoformat() if published else None
        file = number, path, size, mtime_ns
        pages = " ".join(map(str, document.pages)) or None
        tail = (language, document.author, pages, text)
        row = (*file, title, day, document.snapshot_hash, length, at, len(parts), None, *tail)
        if self._is_new(path):
            self._new.append(row)
            self.added += 1
        elif self._insert_document(row):
            self.added += 1
        else:
            replaced = self._remove(path)
            self._insert_document(row)
            self.changed += replaced
            self.added += not replaced
        # Most texts have nothing for the last two columns, and need not be asked passage by passage.
        usual = language == ENGLISH and not (unspaced.occur_in(text) or unspaced.occur_in(title))
        for start, end, heading in parts:
            self._places.append((at, number, start, end, heading))
            body = text[start:end]
            self._words.append(
                (at, title, heading, body, None, None)
                if usual
                else (at, *fields(title, heading, body, language))
            )
            at += 1
        self._path_words.append((number, path_words(path, published)))
        for name, surely in borne(title, text).items():
            self._names.append((name, number, surely))
        self._languages[language] += 1
        self._characters += len(text)
        self._next_passage = at
        self._next_document += 1
        self._passages += len(parts)
        if len(self._words) >= _BATCH or self._characters >= _BATCH_CHARACTERS:
            self._flush()

    def finish(self) -> tuple[int, int]:
        """Writes what is left. Returns the number of documents and passages that the index now holds."""
        self._flush()
        documents = self._documents + self.added - self.removed
        self._connection.execute(
            "UPDATE totals SET documents = ?, passages = ?, edition = edition + 1",
            (documents, self._passages),
        )
        self._connection.executemany(
            "INSERT INTO languages VALUES (?, ?) "
            "ON CONFLICT (code) DO UPDATE SET documents = documents + excluded.documents",
            self._languages.items(),
        )
        return documents, self._passages

    def _read(
        self, folder: CorpusFolder, file: Candidate, before: _Known | None, max_text_bytes: int
    ) -> None:
        """Reads one file and puts what it now is in the place of what it was."""
        raw = self._raw(folder, file, before, max_text_bytes)
        if raw is None:
            return
        bytes_, size, mtime_ns = raw
        try:
            document = read_document(bytes_, file.names[-1], max_text_bytes=max_text_bytes)
        except UnreadableError as error:
            over = max_text_bytes if isinstance(error, TooLongError) else 0
            self._skip(file.path, str(error), before, (size, mtime_ns, over))
        else:
            self.put(file.path, document, size=size, mtime_ns=mtime_ns)

    def _begin(
        self,
        folder: CorpusFolder,
        file: Candidate,
        before: _Known | None,
        max_text_bytes: int,
        extractor: Extractor,
        under_way: deque[_UnderWay],
    ) -> None:
        """Hands one file to the extractor, for `_finish` to put it where it belongs."""
        raw = self._raw(folder, file, before, max_text_bytes)
        if raw is not None:
            bytes_, size, mtime_ns = raw
            document = extractor.submit(bytes_, name=file.names[-1], max_text_bytes=max_text_bytes)
            under_way.append(_UnderWay(file.path, before, size, mtime_ns, document))

    def _finish(self, file: _UnderWay, max_text_bytes: int) -> None:
        try:
            document = file.document.result()
        except ExtractionError as error:
            if error.data.get("passing"):  # the next look may find it readable
                self._skip(file.path, error.problem, file.before, None)
                return
            over = max_text_bytes if error.data.get("limit") == "size" else 0
            self._skip(file.path, error.problem, file.before, (file.size, file.mtime_ns, over))
        else:
            self.put(file.path, document, size=file.size, mtime_ns=file.mtime_ns)

    def _raw(
        self, folder: CorpusFolder, file: Candidate, before: _Known | None, max_text_bytes: int
    ) -> tuple[bytes, int, int] | None:
        """The bytes of a file, its size and time; None when there is no more to do."""
        try:
            raw, status = folder.read(file.names)
        except UnreadableError as error:
            self._skip(file.path, str(error), before, None)
            return None
        if before and before.still_says(raw, max_text_bytes):
            self._connection.execute(
                "UPDATE documents SET size = ?, mtime_ns = ? WHERE id = ?",
                (status.st_size, status.st_mtime_ns, before.id),
            )
            return None
        return raw, status.st_size, status.st_mtime_ns

    def _skip(
        self, path: str, why: str, before: _Known | None, remembered: tuple[int, int, int] | None
    ) -> None:
        """Passes a file over. ``remembered`` are its size, time and the limit it went over, for the next look to pass it
        over as well; None when that may find it readable without a change of these."""
        self.skipped.append(Skipped(path, why))
        if before:
            self.removed += self._remove(path)
        if remembered:
            size, mtime_ns, over = remembered
            place = self._next_document, path, size, mtime_ns
            self._insert_document((*place, "", None, "", over, 0, 0, why, "", "", None, ""))
            self._next_document += 1

    def _is_new(self, path: str) -> bool:
        """Whether no document can have this path, which is only known of an index that was empty."""
        if self._paths is None:
            return False
        if path in self._paths:
            self._flush()
            return False
        self._paths.add(path)
        return True

    def _insert_document(self, row: tuple[str | int | None, ...]) -> bool:
        """Whether it was inserted; not so when there is one of the same path."""
        done = self._connection.execute(f"INSERT OR IGNORE {_INTO_DOCUMENTS}", row)
        return done.rowcount == 1

    def _remove(self, path: str) -> bool:
        """Whether it was a document, and not a file that was skipped."""
        self._flush()
        document, title, published, first, count, why, language, text = self._connection.execute(
            "SELECT id, title, published, first_passage, passages, why, language, text FROM documents "
            "WHERE path = ?",
            (path,),
        ).fetchone()
        held = (first, first + count)
        places = self._connection.execute(
            "SELECT id, start, stop, heading FROM passages WHERE id >= ? AND id < ?", held
        ).fetchall()
        # The tables for searching keep no text of their own, so they have to be told what to forget.
        self._connection.executemany(
            "INSERT INTO words (words, rowid, title, heading, body, stems, pairs) "
            "VALUES ('delete', ?, ?, ?, ?, ?, ?)",
            [
                (at, *fields(title, heading, text[start:stop], language))
                for at, start, stop, heading in places
            ],
        )
        self._connection.executemany(
            "DELETE FROM names WHERE name = ? AND document = ?",
            [(name, document) for name in borne(title, text)],
        )
        if why is None:
            day = date.fromisoformat(published) if published else None
            self._connection.execute(
                "INSERT INTO paths (paths, rowid, words) VALUES ('delete', ?, ?)",
                (document, path_words(path, day)),
            )
            self._languages[language] -= 1
        self._connection.execute("DELETE FROM passages WHERE id >= ? AND id < ?", held)
        self._connection.execute("DELETE FROM documents WHERE id = ?", (document,))
        self._passages -= len(places)
        return why is None

    def _flush(self) -> None:
        if not self._path_words:
            return
        self._connection.executemany(f"INSERT {_INTO_DOCUMENTS}", self._new)
        self._connection.executemany("INSERT INTO passages VALUES (?, ?, ?, ?, ?)", self._places)
        self._connection.executemany(
            "INSERT INTO words (rowid, title, heading, body, stems, pairs) VALUES (?, ?, ?, ?, ?, ?)",
            self._words,
        )
        self._names.sort()
        self._connection.executemany("INSERT INTO names VALUES (?, ?, ?)", self._names)
        self._connection.executemany("INSERT INTO paths (rowid, words) VALUES (?, ?)", self._path_words)
        self._path_words.clear()
        self._places.clear()
        self._words.clear()
        self._names.clear()
        self._new.clear()
        self._characters = 0


def _passages(text: str) -> list[tuple[int, int, str]]:
    """Where each passage starts and ends, and its heading. As `passages` says, which a text that is short and has no
    heading need not be given to."""
    if len(text) > TARGET or "#" in text:
        return [(part.start, part.end, part.heading) for part in passages(text)]
    body = text.strip()
    start = text.find(body)
    return [(start, start + len(body), "")] if body else []


def _check(stopped: Callable[[], bool]) -> None:
    if stopped():
        raise CorpusError("The corpus was closed while it was being read.", hint="Nothing was lost.")
