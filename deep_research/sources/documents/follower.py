"""Bringing an index into agreement with a folder: reading what changed, some of it in child processes meanwhile."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import PurePosixPath

from deep_research.errors import CorpusError, ExtractionError
from deep_research.sources.documents.folder import Candidate, CorpusFolder, Skipped
from deep_research.sources.documents.index_writer import IndexWriter
from deep_research.sources.extract import Extractor
from deep_research.sources.extract.document import Document, TooLongError
from deep_research.sources.extract.plaintext import UnreadableError
from deep_research.sources.extract.readers import is_read_apart, version_for
from deep_research.sources.extract.texts import read_document
from deep_research.state.identity import sha256_hex

# Bytes of files that are read ahead of the extractor; a larger file waits until there are none
_MAX_HELD_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class _Known:
    """A file as the index knows it. With ``why`` it was skipped; ``text_bytes`` is then the limit it went
    over, 0 when it would be skipped under any limit. ``unread`` is what of a document was not read."""

    id: int
    size: int
    mtime_ns: int
    snapshot_hash: str
    text_bytes: int
    why: str | None
    unread: str
    reader: str

    def holds(self, file: Candidate, max_text_bytes: int) -> bool:
        """Whether reading the file again would tell nothing new."""
        if (self.size, self.mtime_ns) != (file.size, file.mtime_ns) or self.reader != _reader_of(file.path):
            return False
        if self.why is None:
            return self.text_bytes <= max_text_bytes
        return self.text_bytes == 0 or max_text_bytes <= self.text_bytes

    def still_says(self, raw: bytes, reader: str, max_text_bytes: int) -> bool:
        """Whether the file was only touched."""
        is_read_alike = self.why is None and self.text_bytes <= max_text_bytes and self.reader == reader
        return is_read_alike and self.snapshot_hash == sha256_hex(raw)


@dataclass(frozen=True, slots=True)
class _UnderWay:
    """A file that the extractor reads."""

    path: str
    before: _Known | None
    size: int
    mtime_ns: int
    document: Future[Document]


class Follower:
    """Makes what ``writer`` writes to agree with ``folder``. ``extractor`` reads what is not to be read here;
    ``max_text_bytes`` is how much text a document may have."""

    def __init__(
        self,
        writer: IndexWriter,
        folder: CorpusFolder,
        extractor: Extractor,
        max_text_bytes: int,
    ) -> None:
        self._writer = writer
        self._folder = folder
        self._extractor = extractor
        self._max_text_bytes = max_text_bytes
        self._under_way: deque[_UnderWay] = deque()
        self._contents: dict[str, str] = {}  # of each document: the hash of its bytes

    def fingerprint(self) -> str:
        """What is the same of all folders with the same documents, once it was followed. Files that cannot be read are no
        documents."""
        lines = (f"{self._contents[path]} {path}\n" for path in sorted(self._contents))
        return sha256_hex("".join(lines).encode("utf-8", "surrogatepass"))

    def follow(self, stopped: Callable[[], bool], on_read: Callable[[], None] = lambda: None) -> None:
        """Adds, replaces and removes what differs. ``stopped`` is asked between files, ``on_read`` called after each that
        was new or changed. Raises `CorpusError` when ``stopped`` says yes."""
        previous = {
            row[0]: _Known(*row[1:])
            for row in self._writer.connection.execute(
                "SELECT path, id, size, mtime_ns, snapshot_hash, text_bytes, why, unread, reader FROM documents"
            )
        }
        try:
            self._walk(previous, stopped, on_read)
        finally:
            for left in self._under_way:
                left.document.cancel()
        for path in previous:
            self._writer.removed += self._writer.remove(path)

    def _walk(
        self, previous: dict[str, _Known], stopped: Callable[[], bool], on_read: Callable[[], None]
    ) -> None:
        """Reads what is new or changed. What is left in ``previous`` is gone."""
        paths: set[str] = set()
        for entry in self._folder.walk():
            _check(stopped)
            if isinstance(entry, Candidate) and entry.path in paths:
                entry = Skipped(entry.path, "another file has the same printable name")
            if isinstance(entry, Skipped):
                self._writer.skipped.append(entry)
                continue
            paths.add(entry.path)
            before = previous.pop(entry.path, None)
            if before is None or not before.holds(entry, self._max_text_bytes):
                self._read(entry, before)
                on_read()
            elif before.why is not None:
                self._writer.skipped.append(Skipped(entry.path, before.why))
            else:
                self._keep(entry.path, before)
        while self._under_way:
            _check(stopped)
            self._finish(self._under_way.popleft())
        _check(stopped)  # what was stopped in the middle must not pass for unreadable

    def _read(self, file: Candidate, before: _Known | None) -> None:
        """Reads one file, here or by handing it to the extractor, and puts what it now is in the place of what it was."""
        while self._under_way and sum(left.size for left in self._under_way) + file.size > _MAX_HELD_BYTES:
            self._finish(self._under_way.popleft())
        try:
            raw, status = self._folder.read(file.names)
        except UnreadableError as error:
            self._skip(file.path, str(error), before)  # the next look may find it readable without a change
            return
        size, mtime_ns = status.st_size, status.st_mtime_ns
        # On disk it may have bytes that are no text.
        name, reader = file.path.rpartition("/")[2], _reader_of(file.path)
        if before and before.still_says(raw, reader, self._max_text_bytes):
            self._writer.connection.execute(
                "UPDATE documents SET size = ?, mtime_ns = ? WHERE id = ?", (size, mtime_ns, before.id)
            )
            self._keep(file.path, before)
        elif is_read_apart(name, len(raw)):
            while len(self._under_way) > self._extractor.workers:
                self._finish(self._under_way.popleft())
            document = self._extractor.submit(
                raw, name=name, max_text_bytes=self._max_text_bytes, is_file=True
            )
            self._under_way.append(_UnderWay(file.path, before, size, mtime_ns, document))
        else:
            try:
                text_document = read_document(raw, name, max_text_bytes=self._max_text_bytes)
            except UnreadableError as error:
                over = self._max_text_bytes if isinstance(error, TooLongError) else 0
                self._skip(file.path, str(error), before)
                self._writer.remember(
                    file.path, str(error), size=size, mtime_ns=mtime_ns, over=over, reader=reader
                )
            else:
                self._put(file.path, text_document, size, mtime_ns)

    def _finish(self, file: _UnderWay) -> None:
        error = file.document.exception()  # not raised: its traceback would hold the bytes of the next file
        reader = _reader_of(file.path)
        if isinstance(error, ExtractionError):
            self._skip(file.path, error.problem, file.before)
            if not error.data.get("passing"):
                over = self._max_text_bytes if error.data.get("limit") == "size" else 0
                self._writer.remember(
                    file.path,
                    error.problem,
                    size=file.size,
                    mtime_ns=file.mtime_ns,
                    over=over,
                    reader=reader,
                )
        else:
            self._put(file.path, file.document.result(), file.size, file.mtime_ns)

    def _put(self, path: str, document: Document, size: int, mtime_ns: int) -> None:
        self._contents[path] = document.snapshot_hash
        self._writer.put(path, document, size=size, mtime_ns=mtime_ns, reader=_reader_of(path))

    def _keep(self, path: str, before: _Known) -> None:
        """The index has the document as it is."""
        self._contents[path] = before.snapshot_hash
        if before.unread:
            self._writer.partly.append(Skipped(path, before.unread))

    def _skip(self, path: str, why: str, before: _Known | None) -> None:
        self._writer.skipped.append(Skipped(path, why))
        if before:
            self._writer.removed += self._writer.remove(path)


def _reader_of(path: str) -> str:
    return version_for(PurePosixPath(path).suffix.lower())


def _check(stopped: Callable[[], bool]) -> None:
    if stopped():
        raise CorpusError("The corpus was closed during reading.", hint="Nothing was lost.")
