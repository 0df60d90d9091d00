"""Writing documents into the index, in bulk and by difference."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from deep_research.errors import CorpusError
from deep_research.evidence.names import borne
from deep_research.evidence.passages import passages
from deep_research.sources.documents.files import Candidate, CorpusFolder, Skipped
from deep_research.sources.documents.plaintext import UnreadableError
from deep_research.sources.documents.readers import Document, TooLongError, read_document
from deep_research.sources.documents.terms import spaced
from deep_research.state.identity import sha256_hex

_BATCH = 1_000  # passages handed to SQLite at once
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
        self._places: list[tuple[int, int, int, int, str]] = []
        self._words: list[tuple[int, str, str, str]] = []
        self._names: list[tuple[str, int, float]] = []
        self._characters = 0

    def follow(self, folder: CorpusFolder, *, max_text_bytes: int, stopped: Callable[[], bool]) -> None:
        """Adds, replaces and removes what differs from ``folder``. Raises `CorpusError` when stopped."""
        known = {
            row[0]: _Known(*row[1:])
            for row in self._connection.execute(
                "SELECT path, id, size, mtime_ns, snapshot_hash, text_bytes, why FROM documents"
            )
        }
        seen: set[str] = set()
        for entry in folder.walk():
            if stopped():
                raise CorpusError("The corpus was closed while it was being read.", hint="Nothing was lost.")
            if isinstance(entry, Candidate) and entry.path in seen:
                entry = Skipped(entry.path, "another file has the same printable name")
            if isinstance(entry, Skipped):
                self.skipped.append(entry)
                continue
            seen.add(entry.path)
            before = known.pop(entry.path, None)
            if before is None or not before.holds(entry, max_text_bytes):
                self._read(folder, entry, before, max_text_bytes)
            elif before.why is not None:
                self.skipped.append(Skipped(entry.path, before.why))
        for gone in known:
            self.removed += self._remove(gone)

    def put(self, path: str, document: Document, *, size: int = 0, mtime_ns: int = 0) -> None:
        """Adds a document, in the place of one of the same path."""
        data = document.text.encode()
        published = document.published.isoformat() if document.published else None
        hashes = document.snapshot_hash, sha256_hex(data)
        parts = passages(document.text)
        place = len(data), self._next_passage, len(parts)
        row = (path, size, mtime_ns, document.title, published, *hashes, *place, None, document.text)
        if self._insert_document(row):
            self.added += 1
        else:
            replaced = self._remove(path)
            self._insert_document(row)
            self.changed += replaced
            self.added += not replaced
        self._names += [
            (name, self._next_document, strength)
            for name, strength in borne(document.title, document.text).items()
        ]
        title = spaced(document.title)
        for at, part in enumerate(parts, self._next_passage):
            body = document.text[part.start : part.end]
            self._places.append((at, self._next_document, part.start, part.end, part.heading))
            self._words.append((at, title, spaced(part.heading), spaced(body)))
        self._characters += len(document.text)
        self._next_passage += len(parts)
        self._next_document += 1
        self._passages += len(parts)
        self._documents += 1
        if len(self._words) >= _BATCH or self._characters >= _BATCH_CHARACTERS:
            self._flush()

    def finish(self) -> tuple[int, int]:
        """Writes what is left. Returns the number of documents and passages that the index now holds."""
        self._flush()
        self._connection.execute(
            "UPDATE totals SET documents = ?, passages = ?, edition = edition + 1",
            (self._documents, self._passages),
        )
        return self._documents, self._passages

    def _read(
        self, folder: CorpusFolder, file: Candidate, before: _Known | None, max_text_bytes: int
    ) -> None:
        """Reads one file and puts what it now is in the place of what it was."""
        raw: bytes | None = None
        size, mtime_ns = file.size, file.mtime_ns
        try:
            raw, status = folder.read(file.names)
            size, mtime_ns = status.st_size, status.st_mtime_ns
            if before and before.still_says(raw, max_text_bytes):
                self._connection.execute(
                    "UPDATE documents SET size = ?, mtime_ns = ? WHERE id = ?", (size, mtime_ns, before.id)
                )
                return
            document = read_document(raw, file.names[-1], max_text_bytes=max_text_bytes)
            self.put(file.path, document, size=size, mtime_ns=mtime_ns)
        except UnreadableError as error:
            self.skipped.append(Skipped(file.path, str(error)))
            if before:
                self.removed += self._remove(file.path)
            if raw is not None:  # else the next look may find it readable without a change of time or size
                over = max_text_bytes if isinstance(error, TooLongError) else 0
                self._insert_document(
                    (file.path, size, mtime_ns, "", None, "", "", over, 0, 0, str(error), "")
                )
                self._next_document += 1

    def _insert_document(self, row: tuple[str | int | None, ...]) -> bool:
        """Whether it was inserted; not so when there is one of the same path."""
        done = self._connection.execute(
            "INSERT OR IGNORE INTO documents (id, path, size, mtime_ns, title, published, snapshot_hash, "
            "content_hash, text_bytes, first_passage, passages, why, text) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (self._next_document, *row),
        )
        return done.rowcount == 1

    def _remove(self, path: str) -> bool:
        """Whether it was a document, and not a file that was skipped."""
        self._flush()
        document, title, first, count, why, text = self._connection.execute(
            "SELECT id, title, first_passage, passages, why, text FROM documents WHERE path = ?", (path,)
        ).fetchone()
        held = (first, first + count)
        places = self._connection.execute(
            "SELECT id, start, stop, heading FROM passages WHERE id >= ? AND id < ?", held
        ).fetchall()
        # The words table keeps no text of its own, so it has to be told what to forget.
        self._connection.executemany(
            "INSERT INTO words (words, rowid, title, heading, body) VALUES ('delete', ?, ?, ?, ?)",
            [
                (at, spaced(title), spaced(heading), spaced(text[start:stop]))
                for at, start, stop, heading in places
            ],
        )
        self._connection.executemany(
            "DELETE FROM names WHERE name = ? AND document = ?",
            [(name, document) for name in borne(title, text)],
        )
        self._connection.execute("DELETE FROM passages WHERE id >= ? AND id < ?", held)
        self._connection.execute("DELETE FROM documents WHERE id = ?", (document,))
        self._passages -= len(places)
        self._documents -= why is None
        return why is None

    def _flush(self) -> None:
        self._connection.executemany("INSERT INTO passages VALUES (?, ?, ?, ?, ?)", self._places)
        self._connection.executemany(
            "INSERT INTO words (rowid, title, heading, body) VALUES (?, ?, ?, ?)", self._words
        )
        self._names.sort()
        self._connection.executemany("INSERT INTO names VALUES (?, ?, ?)", self._names)
        self._names.clear()
        self._places.clear()
        self._words.clear()
        self._characters = 0
