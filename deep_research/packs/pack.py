"""A pack, opened to be read. Nothing of it is believed: it is looked at before anything is unpacked, read within bounds,
never written to disk, and each member is held against the manifest. Whether what it says is true is for `verified`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO
from zipfile import ZipFile

from deep_research import archives
from deep_research.archives import ArchiveError, Bounds
from deep_research.errors import PackError
from deep_research.packs.evidence import Evidence, Failure
from deep_research.packs.manifest import MANIFEST, Manifest, MemberEntry, read_manifest
from deep_research.packs.members import is_member

MAX_MEMBERS = 50_000
MAX_MEMBER_BYTES = 256_000_000  # each, unpacked
MAX_BYTES = 4_000_000_000  # the file, and all members together, unpacked
MAX_MANIFEST_BYTES = 20_000_000
MAX_RATIO = 100  # bytes unpacked for each byte in the file
BOUNDS = Bounds(MAX_MEMBERS, MAX_BYTES, MAX_MEMBER_BYTES, MAX_RATIO)


class Pack(Evidence):
    """``Pack(path)``; close it, or use it in a ``with``. ``manifest`` is what it says of itself; ``whole`` whether that
    stands in it as it was made. Raises `PackError`, `PackVersionError`."""

    def __init__(self, path: Path | str) -> None:
        self.name = str(path)
        self._file = _opened(Path(path).expanduser(), self.name)
        try:
            self._archive = self._looked_at()
            self._names = frozenset(self._archive.namelist()) - {MANIFEST}
            raw = self._read(MANIFEST)
            self.manifest: Manifest = read_manifest(raw, self.name)
        except BaseException:
            self._file.close()
            raise
        self.whole = self.manifest.encode() == raw
        self.research_id = self.manifest.research_id
        self.checker = self.manifest.checker

    def names(self) -> frozenset[str]:
        return self._names

    def member(self, name: str) -> bytes:
        entry = self.manifest.members.get(name)
        if entry is None or name not in self._names:
            raise self._refused(f"it has no {name}")
        body = self._read(name)
        if MemberEntry.of(body) != entry:
            raise self._refused(f"its {name} differs from its {MANIFEST}")
        return body

    def faults(self) -> Iterator[Failure]:
        if not self.whole:
            yield Failure(place=MANIFEST, what="is not as it was made")
        if place := self._foreign_bytes():
            yield Failure(place=self.name, what=f"holds bytes of no member {place}")
        listed, own_names = self.manifest.members, self._names
        for name in sorted(listed.keys() | own_names):
            if name not in own_names:
                yield Failure(place=name, what="is missing")
            elif name not in listed:
                yield Failure(place=name, what=f"is not in {MANIFEST}")
            else:
                try:
                    body = self._read(name)
                except PackError:
                    yield Failure(place=name, what="cannot be unpacked")
                    continue
                if MemberEntry.of(body) != listed[name]:
                    yield Failure(place=name, what=f"is not as {MANIFEST} has it")

    def close(self) -> None:
        self._archive.close()
        self._file.close()

    def __enter__(self) -> Pack:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _looked_at(self) -> ZipFile:
        try:
            archive = archives.opened(self._file, BOUNDS)
        except (ArchiveError, OSError) as error:
            raise self._refused(str(error)) from None
        for name in archive.namelist():
            if not is_member(name):
                raise self._refused(f"it holds {name[:60]!r}, which a pack cannot have")
        if MANIFEST not in archive.namelist():
            raise self._refused(f"a zip archive without our {MANIFEST}")
        if archive.getinfo(MANIFEST).file_size > MAX_MANIFEST_BYTES:
            raise self._refused(f"its {MANIFEST} has more than {MAX_MANIFEST_BYTES:,} bytes")
        return archive

    def _read(self, name: str) -> bytes:
        try:
            return archives.read(self._archive, name)
        except ArchiveError as error:
            raise self._refused(str(error)) from None

    def _foreign_bytes(self) -> str:
        try:
            return archives.foreign_bytes(self._archive, self._file)
        except OSError as error:
            raise self._refused(f"it cannot be read: {error.strerror or error}") from None

    def _refused(self, why: str) -> PackError:
        return PackError(
            f"{self.name} cannot be read as an evidence pack: {why}.",
            hint="`deep-research pack ID --out FILE` writes one.",
            path=self.name,
        )


def _opened(path: Path, name: str) -> BinaryIO:
    why = "is no file" if os.path.exists(path) and not os.path.isfile(path) else ""
    try:
        file = None if why else path.open("rb")
        if file is not None and path.stat().st_size > MAX_BYTES:
            file.close()
            why = f"has more than {MAX_BYTES:,} bytes"
    except (OSError, ValueError) as error:
        file, why = None, f"cannot be read: {getattr(error, 'strerror', None) or error}"
    if why or file is None:
        hint = "Give the path of an evidence pack; `deep-research pack ID --out FILE` makes one of a run."
        raise PackError(f"{name or repr(name)} {why}.", hint=hint, path=name)
    return file
