"""An in-process double of a document database in the manner of Firestore: collections of documents, transactions with
optimistic concurrency, and queries with an order and a limit.

Like the service it copies what it is given and what it gives, refuses documents that are too large, and wants a
transaction to read before it writes. It keeps nothing on disk.
"""

from __future__ import annotations

import copy
import operator
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

Document = dict[str, Any]
MAX_DOCUMENT_BYTES = 1_000_000
MAX_ATTEMPTS = 60  # at one transaction
MAX_PAUSE_SECONDS = 0.02  # between two of them
_COMPARE = {"==": operator.eq, "<": operator.lt, ">": operator.gt}
_T = TypeVar("_T")


class ContentionError(Exception):
    """Others changed what a transaction read, each time it was tried."""


class RefusalError(Exception):
    """What the database does not do: too large a document, a path that is none, a read after a write."""


@dataclass(frozen=True, slots=True)
class Query:
    """The documents of a collection that fit all conditions ``(field, "==" | "<" | ">", value)``. ``order`` are fields,
    one that descends with a ``-`` before it; ``after`` are the values of these behind which the answer begins."""

    collection: str
    where: tuple[tuple[str, str, Any], ...] = ()
    order: tuple[str, ...] = ()
    after: tuple[Any, ...] | None = None
    limit: int | None = None


class DocumentDatabase:
    """Documents by path: names with slashes between them, of which all but the last are the collection,
    ``runs/7/events/1``. Thread-safe.

    Example:
        database = DocumentDatabase()
        database.transact(lambda transaction: transaction.set("towers/1", {"height": 36}))
        print(database.find(Query("towers", order=("-height",), limit=10)))
    """

    def __init__(self) -> None:
        self._gate = threading.RLock()
        self._collections: dict[str, dict[str, tuple[int, Document]]] = {}
        self._version = 0

    def get(self, path: str) -> Document | None:
        """A document as it is now; None where there is none."""
        return self._read(path)[1]

    def find(self, query: Query) -> list[Document]:
        """What fits a query, all as of one moment."""
        return [document for _, _, document in self._search(query)]

    def transact(self, work: Callable[[Transaction], _T]) -> _T:
        """Do ``work`` and write what it wrote, all of it or nothing, if nothing of what it read has changed; else do it
        again. What ``work`` raises ends the transaction, and nothing is written. Raises `ContentionError`."""
        for attempt in range(MAX_ATTEMPTS):
            transaction = Transaction(self)
            result = work(transaction)
            if self._commit(transaction):
                return result
            time.sleep(random.uniform(0, MAX_PAUSE_SECONDS * attempt / MAX_ATTEMPTS))  # noqa: S311 - no secret
        raise ContentionError

    def _read(self, path: str) -> tuple[int, Document | None]:
        """A document with its version, which is 0 where there is none."""
        collection, name = _parts(path)
        with self._gate:
            version, document = self._collections.get(collection, {}).get(name, (0, None))
        return version, copy.deepcopy(document)

    def _search(self, query: Query) -> list[tuple[str, int, Document]]:
        with self._gate:
            held = self._collections.get(query.collection, {})
            found = [
                (name, version, document)
                for name, (version, document) in held.items()
                if all(_COMPARE[sign](document[field], value) for field, sign, value in query.where)
            ]
        fields = [(field.removeprefix("-"), field.startswith("-")) for field in query.order]
        for field, descends in reversed(fields):
            found.sort(key=lambda each, field=field: each[2][field], reverse=descends)  # type: ignore[misc]
        if query.after is not None:
            found = [each for each in found if _is_behind(each[2], fields, query.after)]
        return copy.deepcopy(found[: query.limit])

    def _commit(self, transaction: Transaction) -> bool:
        with self._gate:
            if not all(self._read(path)[0] == version for path, version in transaction.read.items()):
                return False
            for query, versions in transaction.found:
                if [(name, version) for name, version, _ in self._search(query)] != versions:
                    return False
            self._version += 1
            for path, document in transaction.written.items():
                collection, name = _parts(path)
                if document is None:
                    self._collections.get(collection, {}).pop(name, None)
                else:
                    self._collections.setdefault(collection, {})[name] = self._version, document
        return True


class Transaction:
    """What one attempt at a transaction read, with versions, and what it wants written, None: deleted."""

    def __init__(self, database: DocumentDatabase) -> None:
        self._database = database
        self.read: dict[str, int] = {}
        self.found: list[tuple[Query, list[tuple[str, int]]]] = []
        self.written: dict[str, Document | None] = {}

    def get(self, path: str) -> Document | None:
        self._refuse_reading()
        self.read[path], document = self._database._read(path)
        return document

    def find(self, query: Query) -> list[Document]:
        self._refuse_reading()
        found = self._database._search(query)
        self.found.append((query, [(name, version) for name, version, _ in found]))
        return [document for _, _, document in found]

    def set(self, path: str, document: Document) -> None:
        """Write a document in the place of one that is there."""
        _parts(path)
        if sum(_sizes(document)) > MAX_DOCUMENT_BYTES:
            raise RefusalError(f"The document {path} has more than {MAX_DOCUMENT_BYTES:,} bytes.")
        self.written[path] = copy.deepcopy(document)

    def delete(self, path: str) -> None:
        """Remove a document; none is no harm."""
        self.written[path] = None

    def _refuse_reading(self) -> None:
        if self.written:
            raise RefusalError("A transaction reads before it writes.")


def _parts(path: str) -> tuple[str, str]:
    """Collection and name. Raises `RefusalError`."""
    names = path.split("/")
    if len(names) % 2 or not all(names):
        raise RefusalError(f"'{path}' names no document.")
    return "/".join(names[:-1]), names[-1]


def _is_behind(document: Document, fields: list[tuple[str, bool]], after: tuple[Any, ...]) -> bool:
    for (field, descends), value in zip(fields, after, strict=True):
        if document[field] != value:
            return bool(document[field] < value) is descends
    return False


def _sizes(value: Any) -> Iterator[int]:
    """The bytes of a value, piece by piece."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield len(name)
            yield from _sizes(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _sizes(each)
    else:
        yield len(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else 8
        yield len(value) if isinstance(value, bytes) else 0
