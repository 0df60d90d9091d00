"""A ``corpus.jsonl`` as a search provider: the index and the order of results are those of `LocalCorpus`."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

from deep_research.errors import SearchError, UsageError
from deep_research.locks import FileLock
from deep_research.sources.documents import CorpusIndex, Document
from deep_research.sources.documents.corpus import LocalCorpus, Root
from deep_research.sources.extract.plaintext import one_line
from deep_research.sources.search import SearchProvider, SearchRequest, SearchResult
from deep_research.state import FirstLook
from deep_research.state.identity import sha256_hex
from evals.datasets import TITLE_LENGTH, documents, file_hash, folder_files
from evals.fingerprints import source_hash
from evals.outcomes import unwritable

BATCH = 2_000  # documents written in one transaction
LOCK_TIMEOUT = 600.0  # seconds to wait for another process that builds the same index
KEPT = 3 * 86_400.0  # seconds after its last use that an index is kept
_T = TypeVar("_T")


def build_index(corpus: Path, folder: Path, *, titles: bool = True, lower: bool = False) -> Path:
    """The index of a ``corpus.jsonl`` as a file in ``folder``, built unless it is there already.

    Its name comes from what the corpus holds, from ``titles`` and ``lower`` (all in lower case) and from the code that
    builds it. Processes that ask
    together build it once. Indexes that nobody asked for lately are removed. Raises `UsageError` for a damaged
    line, for a corpus without documents and for a folder that cannot be written, `CorpusError`, `StoreLockedError`.
    """
    key = sha256_hex(f"{file_hash(corpus)} {titles} {lower} {source_hash('evidence', 'sources')}".encode())[
        :32
    ]
    path, ready, building = (folder / f"{key}.{suffix}" for suffix in ("db", "ready", "building"))
    lock = FileLock(building, timeout=LOCK_TIMEOUT)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with lock.hold():
            building.touch()
            if not (ready.exists() and path.exists()):
                _build(corpus, path, titles=titles, lower=lower)
            ready.touch()
        _prune(folder, keep=key)
    except OSError as error:
        raise unwritable(folder, error) from error
    finally:
        lock.close()
    return path


class JsonlCorpus(SearchProvider):
    """Searches an index that `build_index` made; an address is the ``_id`` of a document.

    ``without`` are ids that are never found. Without ``titles`` results are named by the first words of their text;
    the index must have been built without them too. A damaged index is built anew by the next `build_index`. Usable
    from any thread; ``close`` it at the end.
    """

    name = "jsonl"
    local = True

    def __init__(self, index: Path, *, titles: bool = True, without: frozenset[str] = frozenset()) -> None:
        self._path = index
        self._index = CorpusIndex(index)
        self._roots = (Root(str(index), "", self._index),)
        self._titles = titles
        self._without = without
        self._gate = threading.Lock()
        self._seconds = 0.0

    def excluding(self, without: frozenset[str]) -> JsonlCorpus:
        """The same corpus without some documents, over the same open index, and with a clock of its own."""
        view = copy(self)
        view._without, view._gate, view._seconds = without, threading.Lock(), 0.0
        return view

    @property
    def seconds(self) -> float:
        """The time that its calls took, summed."""
        return self._seconds

    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        return await asyncio.to_thread(self._timed, partial(self._search, request))

    async def look(self, question: str) -> FirstLook:
        return await asyncio.to_thread(
            self._timed, partial(self._index.look, question, exclude=self._without)
        )

    def close(self) -> None:
        self._index.close()

    def _search(self, request: SearchRequest) -> list[SearchResult]:
        wanted = replace(request, exclude=request.exclude | self._without)
        found = LocalCorpus.merge_hits(self._roots, wanted)
        return found if self._titles else [_named_by_its_text(result) for result in found]

    def _timed(self, work: Callable[[], _T]) -> _T:
        with (
            self._gate
        ):  # one at a time: what one call takes must not hold the time that it waits for another
            started = time.perf_counter()
            try:
                return work()
            except SearchError as error:
                if error.data.get("damaged"):
                    self._path.with_suffix(".ready").unlink(missing_ok=True)
                raise
            finally:
                self._seconds += time.perf_counter() - started


def lowered(corpus: Path, folder: Path) -> Path:
    """A copy of a folder of text files in ``folder``, all in lower case. Raises `UsageError`."""
    copy_of = folder / f"lower-{sha256_hex(str(corpus.resolve()).encode())[:16]}"
    try:
        for path in folder_files(corpus):
            target = copy_of / path.relative_to(corpus)
            text = path.read_text(encoding="utf-8").lower()
            if not (target.exists() and target.read_text(encoding="utf-8") == text):
                target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise unwritable(folder, error) from error
    return copy_of


def _build(corpus: Path, path: Path, *, titles: bool, lower: bool) -> None:
    index = CorpusIndex(path, lock_timeout=LOCK_TIMEOUT)
    try:
        index.delete()  # what an interrupted build has left
        for batch in _batches(documents(corpus)):
            index.add([(at, _changed(one, titles=titles, lower=lower)) for at, one in batch])
        if not path.exists():
            raise UsageError(f"{corpus} has no document.", hint="Get the file anew.")
    finally:
        index.close()


def _changed(document: Document, *, titles: bool, lower: bool) -> Document:
    title, text = document.title if titles else "", document.text
    return (
        replace(document, title=title.lower(), text=text.lower()) if lower else replace(document, title=title)
    )


def _batches(every: Iterable[tuple[str, Document]]) -> Iterator[list[tuple[str, Document]]]:
    left = iter(every)
    while batch := list(islice(left, BATCH)):
        yield batch


def _named_by_its_text(result: SearchResult) -> SearchResult:
    return replace(result, title=one_line(result.text or "", TITLE_LENGTH))


def _prune(folder: Path, *, keep: str) -> None:
    """Removes indexes of other corpora and other code that were last asked for some days ago, and those whose building
    was interrupted then."""
    for building in folder.glob("*.building"):
        ready = building.with_suffix(".ready")
        with suppress(FileNotFoundError):  # another process removes them too
            used = (ready if ready.exists() else building).stat().st_mtime
            if building.stem != keep and time.time() - used > KEPT:
                for path in folder.glob(f"{building.stem}.*"):
                    path.unlink(missing_ok=True)
