"""A run of a store, packed into one file. The same run gives the same file, byte for byte."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import BinaryIO

from deep_research import archives
from deep_research.errors import ContentMissingError, PackError, UsageError
from deep_research.files import whole
from deep_research.logs import holds_secret
from deep_research.packs import members
from deep_research.packs.evidence import Evidence
from deep_research.packs.manifest import MANIFEST, Manifest, MemberEntry
from deep_research.packs.pack import MAX_BYTES, MAX_MEMBER_BYTES, MAX_MEMBERS, MAX_RATIO
from deep_research.state.events import decode_log
from deep_research.state.reducer import fold
from deep_research.store import Store

_THEN = (1980, 1, 1, 0, 0, 0)  # the first moment that zip archives know
_READABLE_FILE = 0o100644 << 16
_UNIX_SYSTEM = 3
_COMPRESSION_LEVEL = 6


class StoredEvidence(Evidence):
    """A run as it would be packed now. Raises `LogDamagedError`, `StoreVersionError`, and `ContentMissingError` where a
    text is gone that something is quoted from."""

    def __init__(self, store: Store, research_id: str) -> None:
        self.research_id = research_id
        self._store = store
        rows = store.read(research_id)
        events = decode_log(rows)
        state = fold(events).snapshot()
        self.checker = members.checker_of(state)
        self._derived = members.derived(rows)
        quoted_hashes, read = members.saved_texts(state, events)
        self._names = {members.TEXTS + content_hash for content_hash in quoted_hashes}
        # What nothing is quoted from may not have been kept, such as the bytes of local documents.
        others = {members.TEXTS + h for h in read} | {members.SNAPSHOTS + h for h in members.snapshots(state)}
        self._names |= {name for name in others if self._is_kept(name)}

    def names(self) -> frozenset[str]:
        return frozenset({*self._derived, *self._names})

    def member(self, name: str) -> bytes:
        if name in self._derived:
            return self._derived[name]
        (body,) = self._store.contents([name.partition("/")[2]])
        return body

    def _is_kept(self, name: str) -> bool:
        try:
            self.member(name)
        except ContentMissingError:
            return False
        return True


def stored_evidence(store: Store, research_id: str) -> StoredEvidence:
    """The run as `verified` takes it. Raises as `StoredEvidence`."""
    return StoredEvidence(store, research_id)


def pack_run(store: Store, research_id: str, path: Path | str, *, force: bool = False) -> Manifest:
    """Writes the run to a file, whole or not at all, and gives its manifest. An existing file is replaced with ``force``
    alone.

    Raises `UsageError` for the path, `PackError` for a run that is too large or holds a secret that was not known when
    it was saved, and as `StoredEvidence`.
    """
    target = _target(path, force=force)
    evidence = StoredEvidence(store, research_id)
    try:
        with whole(target) as file:
            return _write(file, evidence)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {error.strerror or error}.",
            hint="Give the path of a file in an existing, writable folder.",
        ) from None


def _target(path: Path | str, *, force: bool) -> Path:
    """Through symbolic links, so that a link stays one."""
    try:
        target = Path(path).expanduser().resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"{str(path)!r} is not a path: {error}.", hint="Give the path of a file.") from None
    if target.exists() and not target.is_file():
        raise UsageError(f"{path} is not a file.", hint="Give the path of a file.")
    if target.exists() and not force:
        raise UsageError(
            f"{path} exists already.", hint="Give another name, or replace it with --force (force=True)."
        )
    return target


def _write(file: BinaryIO, evidence: StoredEvidence) -> Manifest:
    entries: dict[str, MemberEntry] = {}
    size = 0
    with zipfile.ZipFile(file, "w", allowZip64=False) as archive:
        for name in _within_bounds(evidence):
            body = evidence.member(name)
            size += len(body)
            _check(evidence, name, body, size)
            entries[name] = MemberEntry.of(body)
            _add(archive, name, body)
        manifest = Manifest(
            research_id=evidence.research_id,
            checker=evidence.checker,
            members=entries,
        )
        _add(archive, MANIFEST, manifest.encode())
    return manifest


def _within_bounds(evidence: StoredEvidence) -> list[str]:
    names = sorted(evidence.names())
    if len(names) >= MAX_MEMBERS:
        raise _too_large(evidence, f"more than {MAX_MEMBERS:,} texts and pages")
    return names


def _check(evidence: StoredEvidence, name: str, body: bytes, size: int) -> None:
    """``size`` is that of all members so far."""
    if holds_secret(body):
        raise PackError(
            f"Run '{evidence.research_id}' contains a registered secret in {name}.",
            hint="The run was saved before the secret was registered. Research the question again, and pack the new run.",
            research_id=evidence.research_id,
        )
    if len(body) > MAX_MEMBER_BYTES:
        raise _too_large(evidence, f"something of more than {MAX_MEMBER_BYTES:,} bytes")
    if size > MAX_BYTES // 2:  # what cannot be packed any smaller takes more room than it has
        raise _too_large(evidence, f"more than {MAX_BYTES // 2:,} bytes")


def _too_large(evidence: StoredEvidence, what: str) -> PackError:
    return PackError(
        f"Run '{evidence.research_id}' is too large to be packed: it has {what}.",
        hint="Nothing was written.",
        research_id=evidence.research_id,
    )


def _add(archive: zipfile.ZipFile, name: str, body: bytes) -> None:
    """What would be packed better than a reader believes is stored as it is."""
    info = zipfile.ZipInfo(name, _THEN)
    info.create_system, info.external_attr = _UNIX_SYSTEM, _READABLE_FILE
    large = len(body) > archives.MAX_SMALL_BYTES
    believable = not large or len(zlib.compress(body, _COMPRESSION_LEVEL)) * MAX_RATIO > 2 * len(body)
    info.compress_type = zipfile.ZIP_DEFLATED if believable else zipfile.ZIP_STORED
    archive.writestr(info, body, compresslevel=_COMPRESSION_LEVEL)
