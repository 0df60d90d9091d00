"""Folders of documents as a search provider: the one that needs no key and no network."""

from __future__ import annotations

import asyncio
import os
import re
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from math import inf
from pathlib import Path
from typing import NamedTuple

from deep_research.errors import CorpusError, SearchError
from deep_research.patterns import regex
from deep_research.retrieval.headings import SectionName
from deep_research.sources.documents.folder import (
    LINK,
    LOCK_FILE,
    MAX_FILE_BYTES,
    PACKAGES,
    SUFFIXES,
    CorpusFolder,
    Skipped,
    printable,
    real_path,
)
from deep_research.sources.documents.index import CorpusIndex, IndexReport
from deep_research.sources.documents.links import MAX_TITLES
from deep_research.sources.documents.lookup import Hit
from deep_research.sources.documents.section_index import SectionPlace
from deep_research.sources.documents.terms import query_terms
from deep_research.sources.extract import Extractor
from deep_research.sources.extract.document import MAX_TEXT_BYTES
from deep_research.sources.extract.plaintext import one_line
from deep_research.sources.extract.readers import suffixes, unloadable
from deep_research.sources.search.base import SearchProvider, SearchRequest, SearchResult
from deep_research.sources.search.combined_search import listed
from deep_research.state import FirstLook, Mention, SourceKind, SourceQuality
from deep_research.state.identity import sha256_hex

MAX_SNIPPET_CHARS = 300
MAX_NAMED_FILES = 5  # files that a note names
SHOWN_CHARS = 80  # characters of a name there
LINKED_SHARE = 0.4  # at most so much of the results are documents that the others name

_HEADING_MARK = regex(r"^#{1,6} ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Root:
    """One index and where it comes from. ``prefix`` is what an address begins with: empty for the only root."""

    path: str
    prefix: str
    index: CorpusIndex
    name: str = ""

    def paths(self, addresses: Iterable[str]) -> frozenset[str]:
        """Those of the addresses that are here, as the index calls them."""
        return frozenset(
            address.removeprefix(self.prefix) for address in addresses if address.startswith(self.prefix)
        )


class Standing(NamedTuple):
    """A folder of documents as it was found: ``place`` is its real path."""

    name: str
    fingerprint: str
    place: str


class _Ranked(NamedTuple):
    order: tuple[bool, float, float, str]
    address: str
    hit: Hit


class LocalCorpus(SearchProvider):
    """Searches the documents under one or several folders (or single files).

    The first search, or `prepare`, brings the index up to date; after that the documents are those of that moment,
    until `prepare` is told to look again. Indexes are files under ``data_dir``, shared by all processes; the
    folders are only read. With several roots an address begins with its root's name.

    Raises `CorpusError` for a root that does not exist, has no readable document or cannot be indexed, and
    `SearchError` when the index cannot be read.
    """

    name = "documents"
    local = True

    def __init__(
        self,
        roots: Path | str | Iterable[Path | str],
        *,
        data_dir: Path | str,
        max_text_bytes: int = MAX_TEXT_BYTES,
        max_file_bytes: int = MAX_FILE_BYTES,
        lock_timeout: float = 60.0,
        extractor: Extractor | None = None,
    ) -> None:
        root_paths = [roots] if isinstance(roots, (str, os.PathLike)) else list(roots)
        if not root_paths:
            raise CorpusError("No corpus folder was given.", hint="Name at least one folder with documents.")
        self._root_paths = root_paths
        self._folder = Path(data_dir) / "corpora"
        self._lock_timeout = lock_timeout
        self._max_text_bytes = max_text_bytes
        self._max_file_bytes = max_file_bytes
        self._roots: list[Root] = []
        self._preparing = threading.Lock()
        self._closing = threading.Event()
        self._extractor = extractor or Extractor()
        self._report: IndexReport | None = None
        self._standing: tuple[Standing, ...] = ()
        self._prepared_at = 0.0
        self._files_read: int | None = None

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """Every file that could not be read, and why; empty before the first search or `prepare`."""
        return self._report.skipped if self._report else ()

    @property
    def standing(self) -> tuple[Standing, ...]:
        """The folders, in their order, as the last `prepare` found them; empty before it."""
        return self._standing

    @property
    def files_read(self) -> int | None:
        """How many files were read by the refresh that is under way; None when there is none. Safe from any thread."""
        return self._files_read

    def prepare(self, *, max_age: float = inf) -> IndexReport:
        """Brings the indexes up to date, unless that was done within ``max_age`` seconds; then the report of that
        time is returned. Safe from any thread."""
        with self._preparing:
            if self._report is None or time.monotonic() - self._prepared_at > max_age:
                self._roots = self._roots or self._find_roots()
                self._prepared_at = time.monotonic()
                self._files_read = 0
                try:
                    reports = [self._refresh(root) for root in self._roots]
                finally:
                    self._files_read = None
                self._report = _summed(reports)
                self._standing = tuple(
                    Standing(root.name, report.fingerprint, root.path)
                    for root, report in zip(self._roots, reports, strict=True)
                )
                self.notes = _of_skipped(self._report.skipped) + _of_partly(self._report.partly)
            return self._report

    def _find_roots(self) -> list[Root]:
        """The roots on disk. Looked for at first need: an engine whose corpus has gone can still list its runs."""
        paths = list(dict.fromkeys(real_path(root) for root in self._root_paths))
        return [
            Root(
                path,
                f"{name}/" if len(paths) > 1 else "",
                CorpusIndex(
                    self._folder / f"{sha256_hex(os.fsencode(path))}.db", lock_timeout=self._lock_timeout
                ),
                name,
            )
            for path, name in zip(paths, _names(paths), strict=True)
        ]

    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        return await asyncio.to_thread(self._search, request)

    async def aclose(self) -> None:
        """Stop a refresh that is under way and close the indexes. A later search opens them again."""
        self._closing.set()
        await self._extractor.aclose()
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        with self._preparing:
            self._extractor.close()  # again: a refresh may have begun a file in between
            for root in self._roots:
                root.index.close()
            self._report = None
            self._closing.clear()

    def _search(self, request: SearchRequest) -> list[SearchResult]:
        """An index that cannot be read may be one that another process is making anew, so it is brought up to date
        before it is thrown away."""
        for throw_away in (False, True):
            self.prepare()
            try:
                return self.merge_hits(self._roots, request)
            except SearchError as error:
                if not error.data.get("damaged"):
                    raise
            with self._preparing:
                for root in self._roots if throw_away else ():
                    root.index.delete()
                self._report = None
        self.prepare()
        return self.merge_hits(self._roots, request)

    @staticmethod
    def merge_hits(roots: Sequence[Root], request: SearchRequest) -> list[SearchResult]:
        """Hits of all roots as one list. BM25 does not compare between indexes, so with several the share of
        the query that is covered decides first, weighted by the words of all of them.
        Raises `SearchError`."""
        several = len(roots) > 1
        pooled = None
        if several and (terms := query_terms(request.query)):
            first, *others = (root.index.statistics(terms) for root in roots)
            pooled = sum(others, start=first)
        entries: list[_Ranked] = []
        for root in roots:
            hits = root.index.search(
                request.query,
                request.width,
                exclude=root.paths(request.exclude),
                statistics=pooled,
                linked=int(request.limit * LINKED_SHARE),
                new=request.limit,
                known_paths=root.paths(request.known_addresses),
            )
            for place, hit in enumerate(hits):
                address = root.prefix + hit.path
                order = (hit.via != "", -hit.relevance if several else place, -hit.score, address)
                entries.append(_Ranked(order, address, hit))
        entries.sort(key=lambda entry: entry.order)
        direct = [entry for entry in entries if not entry.hit.via]
        linked = [entry for entry in entries if entry.hit.via][: int(request.limit * LINKED_SHARE)]
        best = [*direct[: request.width - len(linked)], *linked]
        return [search_result(entry.address, entry.hit) for entry in best]

    async def section(self, reference: str, near: str = "") -> tuple[SectionPlace, SearchResult] | None:
        """The section that a reference such as ``Section 20.4.4`` means, rather one in the folder of the address
        ``near``, and its document with the section as its passage. Raises `SearchError`, `CorpusError`."""
        return await asyncio.to_thread(self._section, SectionName.read(reference), near)

    def _section(self, name: SectionName, near: str) -> tuple[SectionPlace, SearchResult] | None:
        self.prepare()
        best: tuple[SectionPlace, SearchResult] | None = None
        for root in self._roots:
            beside = near.removeprefix(root.prefix) if near.startswith(root.prefix) else ""
            match = root.index.section(name, beside)
            if match is not None and (best is None or match[0].likeness > best[0].likeness):
                place, hit = match
                others = tuple(f"{root.prefix}{path}" for path in place.others)
                best = replace(place, others=others), search_result(root.prefix + hit.path, hit)
        return best

    async def look(self, question: str) -> FirstLook:
        return await asyncio.to_thread(self._look, question)

    def _look(self, question: str) -> FirstLook:
        self.prepare()
        return together([root.index.look(question) for root in self._roots])

    def _count(self) -> None:
        self._files_read = (self._files_read or 0) + 1

    def _refresh(self, root: Root) -> IndexReport:
        with CorpusFolder(root.path, max_file_bytes=self._max_file_bytes) as folder:
            report = root.index.refresh(
                folder,
                max_text_bytes=self._max_text_bytes,
                stopped=self._closing.is_set,
                on_read=self._count,
                extractor=self._extractor,
            )
        skipped, partly = (
            tuple(_below(root, entry) for entry in entries) for entries in (report.skipped, report.partly)
        )
        if not report.documents:
            reasons = [f"{entry.path}: {entry.why}" for entry in report.skipped[:1]] + list(unloadable())
            why = f" ({'; '.join(reasons)})" if reasons else ""
            raise CorpusError(
                f"No readable document in {printable(root.path)}{why}.",
                hint=f"Add files that end in {', '.join(suffixes())}, or name another folder.",
                root=root.path,
                skipped=skipped,
            )
        return replace(report, skipped=skipped, partly=partly)


def _below(root: Root, entry: Skipped) -> Skipped:
    """An entry as it is called among several roots."""
    if entry.count > 1 and root.prefix:
        return replace(entry, path=f"{entry.path} in {root.name}")
    return replace(entry, path=root.prefix + entry.path)


def _names(paths: Sequence[str]) -> list[str]:
    """What tells the addresses of several roots apart: their names, numbered where two have the same."""
    earlier: set[str] = set()
    names: list[str] = []
    for path in paths:
        name = printable(os.path.basename(path)) or "root"
        unique = name
        number = 2
        while unique in earlier:
            unique = f"{name}-{number}"
            number += 1
        earlier.add(unique)
        names.append(unique)
    return names


def _of_skipped(every: Sequence[Skipped]) -> tuple[str, ...]:
    """What a reader should know of them: what package managers wrote, and a link that is no document by its name, is
    left to `doctor`."""
    skipped = [
        file
        for file in every
        if file.why not in (LOCK_FILE, PACKAGES)
        and (file.why != LINK or file.path.lower().endswith(tuple(SUFFIXES)))
    ]
    return (f"{_were(skipped)} not read: {_file_list(skipped)}.",) if skipped else ()


def _of_partly(partly: Sequence[Skipped]) -> tuple[str, ...]:
    return (f"{_were(partly)} not read whole: {_file_list(partly)}.",) if partly else ()


def _were(files: Sequence[Skipped]) -> str:
    count = sum(file.count for file in files)
    return "A file was" if count == 1 else f"{count} files were"


def _file_list(files: Sequence[Skipped]) -> str:
    """The first of them by name, each with why."""
    first_files = sorted(files, key=lambda file: (file.count, file.path))[:MAX_NAMED_FILES]
    descriptions = [f"{one_line(file.path, SHOWN_CHARS)} ({file.why})" for file in first_files]
    more = sum(file.count for file in files) - sum(file.count for file in first_files)
    return listed([*descriptions, f"{more} more"] if more else descriptions)


def _summed(reports: Sequence[IndexReport]) -> IndexReport:
    return IndexReport(
        documents=sum(report.documents for report in reports),
        passages=sum(report.passages for report in reports),
        added=sum(report.added for report in reports),
        changed=sum(report.changed for report in reports),
        removed=sum(report.removed for report in reports),
        skipped=tuple(entry for report in reports for entry in report.skipped),
        partly=tuple(entry for report in reports for entry in report.partly),
    )


def together(looks: Sequence[FirstLook]) -> FirstLook:
    """First looks at several corpora as one: a word is as telling as the largest of them says."""
    if len(looks) == 1:
        return looks[0]
    names: dict[str, Mention] = {}
    words: dict[str, float] = {}
    for look in sorted(looks, key=lambda look: look.passages):
        words.update(look.words)
        for name in look.names:
            before = names.get(name.name)
            bearers = name.bearers + (before.bearers if before else 0)
            names[name.name] = name.model_copy(update={"bearers": bearers})
    turns = zip_longest(*(look.titles for look in looks))
    return FirstLook(
        names=tuple(sorted(names.values(), key=lambda n: (-n.weight, n.name))),
        words=words,
        titles=tuple(title for turn in turns for title in turn if title)[:MAX_TITLES],
        passages=sum(look.passages for look in looks),
    )


def search_result(address: str, hit: Hit) -> SearchResult:
    best = hit.passages[0]
    return SearchResult(
        address=address,
        title=hit.title,
        kind=SourceKind.DOCUMENT,
        snippet=one_line(_HEADING_MARK.sub("", hit.text[best.start : best.end]), MAX_SNIPPET_CHARS),
        text=hit.text,
        passages=hit.passages,
        relevance=hit.relevance,
        quality=SourceQuality.HIGH,
        pages=hit.pages,
        published=hit.published,
        authors=(hit.author,) if hit.author else (),
        snapshot_hash=hit.snapshot_hash,
        mentions=hit.mentions,
        metadata=_hit_metadata(address, hit),
    )


def _hit_metadata(address: str, hit: Hit) -> dict[str, str]:
    """By which document it was found, the manual that it is a page of, and what its own pages are called."""
    metadata = {"named_by": hit.via} if hit.via else {}
    metadata |= {"page_labels": hit.page_labels} if hit.page_labels else {}
    return metadata | ({"manual": f"{address.removesuffix(hit.path)}{hit.manual}"} if hit.manual else {})
