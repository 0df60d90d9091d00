"""The search index of one corpus: which documents there are, their texts, and their passages in FTS5."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from deep_research.errors import CorpusError, SearchError
from deep_research.retrieval.headings import SectionName
from deep_research.sources.documents.database import CorpusDatabase, is_damage
from deep_research.sources.documents.folder import CorpusFolder, Skipped
from deep_research.sources.documents.follower import Follower
from deep_research.sources.documents.index_writer import IndexWriter
from deep_research.sources.documents.links import first_look, with_links
from deep_research.sources.documents.lookup import Hit, Quota, look_up
from deep_research.sources.documents.name_index import Register
from deep_research.sources.documents.section_index import SectionPlace, find_section, hit_of
from deep_research.sources.documents.terms import Statistics, count, query_terms
from deep_research.sources.extract import Extractor
from deep_research.sources.extract.document import Document
from deep_research.state import FirstLook
from deep_research.text.language import ENGLISH, language_of


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexReport:
    """What an index holds after a change, and what the change was, in documents. ``fingerprint`` is that of the folder
    which it followed, of the paths and contents of its documents; it counts for nothing when reports are compared."""

    documents: int = 0
    passages: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    skipped: tuple[Skipped, ...] = ()
    partly: tuple[Skipped, ...] = ()  # documents of which something was not read
    fingerprint: str = field(default="", compare=False)


class CorpusIndex:
    """The index in the file ``path``, which is made when missing. Usable from any thread; ``close`` it at the
    end.

    It is a cache: a damaged file or one of another version is made anew.
    """

    def __init__(self, path: Path, *, lock_timeout: float = 60.0) -> None:
        self._database = CorpusDatabase(path, lock_timeout=lock_timeout)
        self._register = Register()

    def refresh(
        self,
        folder: CorpusFolder,
        *,
        max_text_bytes: int,
        stopped: Callable[[], bool] = lambda: False,
        on_read: Callable[[], None] = lambda: None,
        extractor: Extractor | None = None,
    ) -> IndexReport:
        """Makes the index agree with ``folder``, reading only files whose size or time changed.

        ``stopped`` is asked between files; when it says yes nothing is changed. ``on_read`` is called after each that was
        read. ``extractor`` reads what is not to be
        read in this process; without one, one is made for this time. Raises `CorpusError`.
        """
        reader = extractor or Extractor()

        fingerprint = ""

        def work(writer: IndexWriter) -> None:
            nonlocal fingerprint
            follower = Follower(writer, folder, reader, max_text_bytes)
            follower.follow(stopped, on_read)
            fingerprint = follower.fingerprint()

        try:
            report = self._write(work)
            return replace(report, fingerprint=fingerprint)
        finally:
            if extractor is None:
                reader.close()

    def add(self, documents: Iterable[tuple[str, Document]]) -> IndexReport:
        """Adds documents under their paths, replacing those of the same path. Raises `CorpusError`."""
        items = list(documents) if not isinstance(documents, (list, tuple)) else documents

        def work(writer: IndexWriter) -> None:
            for path, document in items:
                writer.put(path, document)

        return self._write(work)

    def statistics(self, terms: Iterable[str]) -> Statistics:
        """How often the terms occur. Raises `SearchError`."""
        try:
            with self._database.reading() as connection:
                return count(connection, terms)
        except sqlite3.Error as error:
            raise _search_error(error) from error

    def search(
        self,
        query: str,
        limit: int,
        *,
        exclude: frozenset[str] = frozenset(),
        statistics: Statistics | None = None,
        linked: int = 0,
        new: int | None = None,
        known_paths: frozenset[str] = frozenset(),
    ) -> list[Hit]:
        """At most ``limit`` documents, best first, those of equal score by path; never one of the ``exclude``
        paths. At most ``new`` of them are none of the ``known_paths``. Up to ``linked`` of them, the last ones, were
        not matched but are named by those that were; only then they and the first hits tell the names in them.

        ``statistics`` replaces the index's own in the relevance, for several indexes searched as one. Any
        string is a valid query. Raises `SearchError`.
        """
        terms = query_terms(query)
        if not terms or limit < 1:
            return []
        english = language_of(query, default="") == ENGLISH
        try:
            with self._state() as connection:
                reading = self._register.open(connection)
                quota = Quota(limit, limit if new is None else new, known_paths)
                hits = look_up(reading, terms, quota, english=english, exclude=exclude, pooled=statistics)
                if linked < 1:
                    return hits
                return with_links(reading, hits, terms, quota=quota, linked=linked, exclude=exclude)
        except sqlite3.Error as error:
            raise _search_error(error) from error

    def section(self, name: SectionName, near: str = "") -> tuple[SectionPlace, Hit] | None:
        """The section that fits a name best, rather one of a document in the folder of the path ``near``, with its
        document. Raises `SearchError`."""
        try:
            with self._state() as connection:
                place = find_section(connection, name, near)
                return (place, hit_of(connection, place)) if place is not None else None
        except sqlite3.Error as error:
            raise _search_error(error) from error

    def look(self, question: str, *, exclude: frozenset[str] = frozenset()) -> FirstLook:
        """What the corpus says of a question before it is researched. Raises `SearchError`."""
        try:
            with self._state() as connection:
                return first_look(self._register.open(connection), question, exclude=exclude)
        except sqlite3.Error as error:
            raise _search_error(error) from error

    @contextmanager
    def _state(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees one state of the file."""
        with self._database.reading() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("COMMIT")

    def delete(self) -> None:
        """Removes the file; the next refresh begins anew. Raises `CorpusError`."""
        self._database.delete()

    def close(self) -> None:
        self._database.close()

    def _write(self, work: Callable[[IndexWriter], None]) -> IndexReport:
        try:
            try:
                return self._write_once(work)
            except sqlite3.Error as error:
                if not is_damage(error):
                    raise
                self._database.delete()
                return self._write_once(work)
        except sqlite3.Error as error:
            raise CorpusError(
                f"The corpus index cannot be written: {error}.",
                hint="Check the free space and the permissions of the data directory.",
            ) from error

    def _write_once(self, work: Callable[[IndexWriter], None]) -> IndexReport:
        with self._database.writing() as connection, closing(IndexWriter(connection)) as writer:
            work(writer)
            documents, passages = writer.finish()
        return IndexReport(
            documents=documents,
            passages=passages,
            added=writer.added,
            changed=writer.changed,
            removed=writer.removed,
            skipped=tuple(writer.skipped),
            partly=tuple(writer.partly),
        )


def _search_error(error: sqlite3.Error) -> SearchError:
    return SearchError(
        f"The corpus index cannot be read: {error}.",
        hint="The next search builds a new index.",
        damaged=is_damage(error),
    )
