"""Writing documents into the index, in bulk and by difference."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import date
from itertools import chain
from posixpath import dirname, join, normpath
from threading import Event

from deep_research.logs import blotted
from deep_research.sources.documents.folder import Skipped
from deep_research.sources.documents.terms import Fields, fields, path_words
from deep_research.sources.extract.document import Document
from deep_research.text import unspaced
from deep_research.text.language import ENGLISH, STEMMED, language_of
from deep_research.text.names import OPENING_CHARS, names_of_document
from deep_research.text.passages import TARGET_CHARS, passages
from deep_research.text.plain import has_joiners

_DOCUMENT = "INSERT OR IGNORE INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
# The words of texts that are short and in English, as most are: SQLite reads them from the rows it has been given. It is
# one statement, which leaves the interpreter free from its beginning to its end.
_WORDS_OF_ROWS = """INSERT INTO words (rowid, title, heading, body)
SELECT passage.id, title, heading, substr(text, start + 1, stop - start)
FROM passages AS passage CROSS JOIN documents AS document ON document.id = passage.document
WHERE passage.id >= ? AND passage.id < ? AND passage.id NOT IN (SELECT value FROM json_each(?))"""
_ONE_PART = "INSERT INTO words (words) VALUES ('optimize')"
_SHORT_CHARS = 8_000  # characters: `substr` counts them from the beginning, for each passage anew
# Passages handed to SQLite at once. Each batch is a part of the index of words, to be merged with the others. While one
# is written the next is looked at, which takes less time: so they grow, and nobody waits for long.
_MAX_BATCH_PASSAGES = 2_048
_FIRST_BATCH_SIZE = 600
_BATCH_GROWTH_RATIO = 2
_MAX_BATCH_CHARS = 4_000_000
_ROW_CHARS = 500  # characters that would take as much memory as a row does besides its words
_HANDOVER_SECONDS = 0.1
_MAX_UNNAMED_DOCUMENTS = 10_000  # documents of which the names may wait until there is time for them
# Parts of the index of words that FTS5 joins when it meets so many of one age. A new index is made into one part at its
# end, so joining some before would be done twice.
_MAX_PARTS = 4
_NEW_INDEX_MAX_PARTS = 0  # none
_ROWS_PER_STATEMENT = 32  # rows of one statement


class IndexWriter:
    """Changes the index inside one open transaction; ``finish`` before it is committed, ``close`` in any case.

    Of many documents the words are written by a thread while the next documents are looked at. Their names are looked
    for when there is nothing else to do but to wait for it.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="deep-research-index")
        self._under_way: Future[object] | None = None
        self.added = self.changed = self.removed = 0
        self.skipped: list[Skipped] = []
        self.partly: list[Skipped] = []  # documents of which something was not read
        (self._next_document,) = connection.execute(
            "SELECT coalesce(max(id), 0) + 1 FROM documents"
        ).fetchone()
        (self._next_passage,) = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM passages").fetchone()
        self._unwritten = self._next_passage  # the first of the passages that wait
        self._apart = 0  # passages of which the words were written by the thread
        self._batch: float = _FIRST_BATCH_SIZE
        self._documents, self._passages = connection.execute(
            "SELECT documents, passages FROM totals"
        ).fetchone()
        self._paths: set[str] | None = None
        if self._next_document == 1:
            self._paths = set()
            self._join(_NEW_INDEX_MAX_PARTS)
        self._new: list[tuple[str | int | None, ...]] = []
        self._places: list[tuple[int, int, int, int, str]] = []
        self._words: list[tuple[int, str, str, str, str | None, str | None]] = []
        self._characters_of_words = 0
        self._names: list[tuple[str, int, float]] = []
        self._unnamed: deque[tuple[int, str, str]] = deque()  # number, title, opening of a document
        self._path_words: list[tuple[int, str]] = []
        self._languages: Counter[str] = Counter()
        self._characters = 0

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection, once the thread has done with it. Raises what went wrong there."""
        under_way, self._under_way = self._under_way, None
        if under_way:
            while self._unnamed and not under_way.done():
                self._name_one()
            under_way.result()
        return self._connection

    def close(self) -> None:
        """Waits for the thread, whatever becomes of its work."""
        self._thread.shutdown()

    def put(
        self, path: str, document: Document, *, size: int = 0, mtime_ns: int = 0, reader: str = ""
    ) -> None:
        """Adds a document, in the place of one of the same path. A registered key in it is not kept."""
        text, title, published = blotted(document.text), blotted(document.title), document.published
        plain = text.isascii() and title.isascii()
        length = len(text) if plain else len(text.encode())
        language = document.language or language_of(text)
        if language != ENGLISH and language not in STEMMED:
            language = ENGLISH  # FTS5 makes its stems, and leaves other words as they are
        parts = _passages(text)
        number, at = self._next_document, self._next_passage
        day = published.isoformat() if published else None
        file = number, path, size, mtime_ns
        pages = " ".join(map(str, document.pages)) if document.pages else None
        manual = manual_of(path, document.manual)
        labels = blotted("\n".join(document.page_labels))
        tail = (language, blotted(document.author), document.unread, manual, pages, labels, reader, text)
        row = (*file, title, day, document.snapshot_hash, length, at, len(parts), None, *tail)
        if self._is_new(path):
            self._new.append(row)
            self.added += 1
        elif self.insert(row):
            self.added += 1
        else:
            replaced = self.remove(path)
            self.insert(row)
            self.changed += replaced
            self.added += not replaced
        # Most texts have nothing for the last two columns, and need not be asked passage by passage.
        usual = language == ENGLISH and (plain or not any(map(_is_unusual, (text, title))))
        by_rows = usual and len(text) <= _SHORT_CHARS and "\0" not in text  # `substr` would end there
        for start, end, heading in parts:
            self._places.append((at, number, start, end, heading))
            if not by_rows:
                body = text[start:end]
                texts = Fields(title, heading, body) if usual else fields(title, heading, body, language)
                self._words.append((at, *texts))
                self._characters_of_words += _ROW_CHARS + sum(map(len, filter(None, texts)))
            at += 1
        if document.unread:
            self.partly.append(Skipped(path, document.unread))
        self._path_words.append((number, path_words(path, published)))
        self._unnamed.append((number, title, text[:OPENING_CHARS]))
        if len(self._unnamed) > _MAX_UNNAMED_DOCUMENTS:
            self._name_one()
        self._languages[language] += 1
        self._characters += len(text)
        self._next_passage = at
        self._next_document += 1
        self._passages += len(parts)
        if len(self._places) >= self._batch or self._characters >= _MAX_BATCH_CHARS:
            self._flush(apart=True)

    def remember(self, path: str, why: str, *, size: int, mtime_ns: int, over: int, reader: str) -> None:
        """Holds a file that cannot be read, for the next look to pass it over; ``over`` is the limit of text that it
        went over, 0 if none."""
        none = 0, 0, why, "", "", "", "", None, ""
        self.insert((self._next_document, path, size, mtime_ns, "", None, "", over, *none, reader, ""))
        self._next_document += 1

    def finish(self) -> tuple[int, int]:
        """Writes what is left. Returns the number of documents and passages that the index now holds."""
        self._flush(apart=bool(self._apart))
        self._write_words()
        if self._paths is not None:
            self._join(_MAX_PARTS)
        # Most of the index is new, in parts: of one, questions take a sixth less.
        if 2 * self._apart > self._passages and not self._in_thread(_ONE_PART):
            self.connection.execute(_ONE_PART)
        self._flush()
        documents = self._documents + self.added - self.removed
        self.connection.execute(
            "UPDATE totals SET documents = ?, passages = ?, edition = edition + 1",
            (documents, self._passages),
        )
        self.connection.executemany(
            "INSERT INTO languages VALUES (?, ?) "
            "ON CONFLICT (code) DO UPDATE SET documents = documents + excluded.documents",
            self._languages.items(),
        )
        return documents, self._passages

    def _join(self, parts: int) -> None:
        self.connection.execute("INSERT INTO words (words, rank) VALUES ('automerge', ?)", (parts,))

    def _is_new(self, path: str) -> bool:
        """Whether no document can have this path, which is only known of an index that was empty."""
        if self._paths is None:
            return False
        if path in self._paths:
            self._flush()
            return False
        self._paths.add(path)
        return True

    def insert(self, row: tuple[str | int | None, ...]) -> bool:
        """Whether it was inserted; not so when there is one of the same path."""
        cursor = self.connection.execute(_DOCUMENT, row)
        return cursor.rowcount == 1

    def remove(self, path: str) -> bool:
        """Whether it was a document, and not a file that was skipped."""
        self._flush()
        document, title, published, first, count, why, language, text = self.connection.execute(
            "SELECT id, title, published, first_passage, passages, why, language, text FROM documents "
            "WHERE path = ?",
            (path,),
        ).fetchone()
        id_range = (first, first + count)
        places = self.connection.execute(
            "SELECT id, start, stop, heading FROM passages WHERE id >= ? AND id < ?", id_range
        ).fetchall()
        # The tables for searching keep no text of their own, so they have to be told what to forget.
        self.connection.executemany(
            "INSERT INTO words (words, rowid, title, heading, body, stems, pairs) "
            "VALUES ('delete', ?, ?, ?, ?, ?, ?)",
            [
                (at, *fields(title, heading, text[start:stop], language))
                for at, start, stop, heading in places
            ],
        )
        self.connection.executemany(
            "DELETE FROM names WHERE name = ? AND document = ?",
            [(name, document) for name in names_of_document(title, text)],
        )
        if why is None:
            day = date.fromisoformat(published) if published else None
            self.connection.execute(
                "INSERT INTO paths (paths, rowid, words) VALUES ('delete', ?, ?)",
                (document, path_words(path, day)),
            )
            self._languages[language] -= 1
        self.connection.execute("DELETE FROM passages WHERE id >= ? AND id < ?", id_range)
        self.connection.execute("DELETE FROM documents WHERE id = ?", (document,))
        self._passages -= len(places)
        return why is None

    def _flush(self, *, apart: bool = False) -> None:
        """Writes what waits. If ``apart``, the thread writes the words, and those that it cannot are left to wait, as
        are the documents that have no names yet."""
        if self._path_words:
            self._write_rows(apart=apart)
        if not apart or self._characters_of_words > _MAX_BATCH_CHARS:
            self._write_words()
        if not apart:
            while self._unnamed:
                self._name_one()
            self._write_names()

    def _write_rows(self, *, apart: bool) -> None:
        connection = self.connection
        insert_all(connection, "documents", self._new)
        insert_all(connection, "passages", self._places)
        connection.executemany("INSERT INTO paths (rowid, words) VALUES (?, ?)", self._path_words)
        self._write_names()
        unusual = [row[0] for row in self._words if row[0] >= self._unwritten]
        if len(unusual) < len(self._places):
            rest = self._unwritten, self._next_passage, json.dumps(unusual)
            if apart and self._in_thread(_WORDS_OF_ROWS, rest):
                self._apart += len(self._places)
                self._batch = min(_MAX_BATCH_PASSAGES, self._batch * _BATCH_GROWTH_RATIO)
            else:
                connection.execute(_WORDS_OF_ROWS, rest)
        self._unwritten = self._next_passage
        self._path_words.clear()
        self._places.clear()
        self._new.clear()
        self._characters = 0

    def _write_words(self) -> None:
        if self._words:
            self.connection.executemany(
                "INSERT INTO words (rowid, title, heading, body, stems, pairs) VALUES (?, ?, ?, ?, ?, ?)",
                self._words,
            )
            self._words.clear()
            self._characters_of_words = 0

    def _write_names(self) -> None:
        self._names.sort()
        insert_all(self.connection, "names", self._names)
        self._names.clear()

    def _name_one(self) -> None:
        number, title, opening = self._unnamed.popleft()
        for name, surely in names_of_document(title, opening).items():
            self._names.append((name, number, surely))

    def _in_thread(self, statement: str, values: tuple[int | str, ...] = ()) -> bool:
        """Whether the thread took it: there is none to be had while the interpreter ends, or where threads are few."""
        connection = self.connection
        is_running, forbidden = Event(), Event()

        def write() -> None:
            is_running.set()
            if not forbidden.is_set():
                connection.execute(statement, values)

        try:
            self._under_way = self._thread.submit(write)
        except RuntimeError:
            forbidden.set()  # it may stand in the queue all the same
            return False
        # Else it would wait for the interpreter, which this thread does not give away for 5 ms while it computes.
        is_running.wait(_HANDOVER_SECONDS)
        return True


def _passages(text: str) -> list[tuple[int, int, str]]:
    """Where each passage starts and ends, and its heading. As `passages` says, which a text that is short and has no
    heading need not be given to."""
    if len(text) > TARGET_CHARS or "#" in text:
        return [(part.start, part.end, part.heading) for part in passages(text)]
    if text and not (text[0].isspace() or text[-1].isspace()):
        return [(0, len(text), "")]
    body = text.strip()
    start = len(text) - len(text.lstrip())
    return [(start, start + len(body), "")] if body else []


def _is_unusual(text: str) -> bool:
    return unspaced.occur_in(text) or has_joiners(text)


def manual_of(path: str, folder: str) -> str:
    """The folder of the manual that a document is a page of, as seen from that of the documents; empty where it is of
    none, or of one that is not among the documents."""
    if not folder:
        return ""
    manual = normpath(join(dirname(path), folder))
    return "" if manual.startswith("..") else manual


def insert_all(
    connection: sqlite3.Connection, table: str, rows: Sequence[tuple[str | int | float | None, ...]]
) -> None:
    """Inserts rows with a value for each column. Not for a table of FTS5, which writes a part of its index with each such
    statement. Raises `sqlite3.Error`."""
    if not rows:
        return
    marks = f"({','.join('?' * len(rows[0]))})"
    statement = f"INSERT INTO {table} VALUES "  # noqa: S608 - ours
    whole = len(rows) - len(rows) % _ROWS_PER_STATEMENT
    many = statement + ",".join([marks] * _ROWS_PER_STATEMENT)
    for start in range(0, whole, _ROWS_PER_STATEMENT):
        connection.execute(many, tuple(chain.from_iterable(rows[start : start + _ROWS_PER_STATEMENT])))
    connection.executemany(statement + marks, rows[whole:])
