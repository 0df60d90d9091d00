"""Packs that somebody changed and packed anew: each field of each event, the files beside the log, bytes around them."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from packed_runs import forged, zipped

from deep_research import open_pack
from deep_research.errors import DeepResearchError
from deep_research.packs.members import EVENTS, derived, event_rows
from deep_research.state.identity import sha256_hex
from deep_research.store import StoredEvent

Members = Mapping[str, bytes]
VERDICTS = ("supported", "partial", "contradicted", "unsupported")
SWAPPED = {
    **dict(zip(VERDICTS, (*VERDICTS[1:], VERDICTS[0]), strict=True)),
    "sources": "run",
    "run": "sources",
    "high": "low",
    "low": "high",
    "medium": "high",
    "completed": "failed",
    "answer_coverage": "open",
    "yes": "no",
    "no": "yes",
}


@dataclass(frozen=True)
class Change:
    """A changed pack: ``write`` makes it at a path of the members of a whole one. ``in_archive``: its members stay, and
    what is around them is otherwise."""

    name: str
    write: Callable[[Path, Members], Path]
    in_archive: bool = False

    def __str__(self) -> str:
        return self.name


def changes(members: Members) -> Iterator[Change]:
    """All changes of a pack, those of the log first."""
    yield from field_changes(members)
    yield from file_changes(members)
    yield from archive_changes()


# Fields of events


def field_changes(members: Members) -> Iterator[Change]:
    """One of each field of each type of event, at the last place where it stands."""
    places: dict[str, tuple[int, tuple[str | int, ...]]] = {}
    for number, row in enumerate(event_rows(members[EVENTS])):
        for path in _leaves(json.loads(row.body), ()):
            shape = ".".join("*" if isinstance(step, int) else step for step in path)
            places[f"{row.type} {shape}"] = number, path
    for name, (number, path) in places.items():
        yield Change(name, _with_field(number, path))


def _leaves(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict) and value:
        for key, held in value.items():
            yield from _leaves(held, (*path, key))
    elif isinstance(value, list) and value:
        yield path  # an item less
        for number, held in enumerate(value):
            yield from _leaves(held, (*path, number))
    else:
        yield path


def _with_field(number: int, path: tuple[str | int, ...]) -> Callable[[Path, Members], Path]:
    def write(target: Path, members: Members) -> Path:
        rows = event_rows(members[EVENTS])
        body = json.loads(rows[number].body)
        held = body
        for step in path[:-1]:
            held = held[step]
        held[path[-1]] = _otherwise(held[path[-1]])
        row = rows[number]
        rows[number] = StoredEvent(
            row.seq, row.type, row.version, json.dumps(body, ensure_ascii=False).encode()
        )
        return forged(target, {**members, **derived(rows)})

    return write


def _otherwise(value: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value / 2 if value else 0.5
    if isinstance(value, list):
        return value[:-1]
    if isinstance(value, str):
        return SWAPPED.get(value) or (f"{value[:-1]}{chr(ord(value[-1]) ^ 1)}" if value else "x")
    return "x" if value is None else {"x": 1}


# Files beside the log


def file_changes(members: Members) -> Iterator[Change]:
    """A file that is otherwise, gone, under another name, or there besides; under the old manifest and a new one."""
    for name in sorted(set(members) - {"manifest.json"}):
        for place in (0, len(members[name]) // 2, len(members[name]) - 1):
            yield from _both(f"{name} at {place}", _flipped(name, place))
        yield from _both(f"{name} longer", lambda held, name=name: {**held, name: held[name] + b"\n"})
        yield from _both(f"{name} gone", lambda held, name=name: {n: b for n, b in held.items() if n != name})
    text = next(name for name in members if name.startswith("texts/"))
    renamed = f"texts/{sha256_hex(b'another')}"
    yield from _both("a text besides", lambda held: {**held, f"texts/{sha256_hex(b'x')}": b"x"})
    yield from _both(
        "a text renamed", lambda held: {(renamed if n == text else n): b for n, b in held.items()}
    )
    for field in ("research_id", "checker", "package", "shapes", "digest", "format_version"):
        yield Change(f"manifest {field}", _with_manifest(field))


def _both(name: str, change: Callable[[Members], Members]) -> Iterator[Change]:
    yield Change(name, lambda path, members: zipped(path, change(members)))
    yield Change(f"{name}, packed anew", lambda path, members: forged(path, change(members)))


def _flipped(name: str, place: int) -> Callable[[Members], Members]:
    def change(members: Members) -> Members:
        body = bytearray(members[name])
        body[place] ^= 1
        return {**members, name: bytes(body)}

    return change


def _with_manifest(field: str) -> Callable[[Path, Members], Path]:
    def write(path: Path, members: Members) -> Path:
        manifest = json.loads(members["manifest.json"])
        manifest[field] = _otherwise(manifest[field])
        raw = json.dumps(manifest, sort_keys=True, indent=2, ensure_ascii=False)
        return zipped(path, {**members, "manifest.json": f"{raw}\n".encode()})

    return write


# Bytes of the archive


def archive_changes() -> Iterator[Change]:
    """Bytes before, between, within and behind the members, and headers that say otherwise than the directory."""
    made: dict[str, Callable[[Path, Members], Path]] = {}
    for size in (1, 30, 1_000):
        for place, change in AROUND.items():
            made[f"{size} bytes {place}"] = _raw(partial(change, junk=b"PK" + b"x" * size))
    made["an archive behind it"] = _raw(lambda raw: raw + raw)
    made["a comment of a member"] = _with_info("comment", b"x")
    made["an extra field"] = _with_info("extra", struct.pack("<2H", 0x7777, 0))
    for field, offset in {"name": 30, "size": 22, "checksum": 14, "date": 12}.items():
        made[f"a header with another {field}"] = _raw(partial(_header, offset=offset))
    yield from (Change(name, write, in_archive=True) for name, write in made.items())


def _raw(change: Callable[[bytes], bytes]) -> Callable[[Path, Members], Path]:
    def write(path: Path, members: Members) -> Path:
        zipped(path, members)
        path.write_bytes(change(path.read_bytes()))
        return path

    return write


def _with_info(field: str, value: bytes) -> Callable[[Path, Members], Path]:
    def write(path: Path, members: Members) -> Path:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, body in members.items():
                info = zipfile.ZipInfo(name)
                setattr(info, field, value)
                archive.writestr(info, body)
        return path

    return write


def _commented(raw: bytes, junk: bytes) -> bytes:
    file = io.BytesIO(raw)
    with zipfile.ZipFile(file, "a") as archive:
        archive.comment = junk
    return file.getvalue()


def _header(raw: bytes, offset: int) -> bytes:
    """The first local header with another byte."""
    changed = bytearray(raw)
    changed[offset] ^= 1
    return bytes(changed)


def _entries(raw: bytes) -> tuple[int, list[int]]:
    """Where the directory begins, and each of its entries."""
    start = struct.unpack_from("<L", raw, len(raw) - 6)[0]
    places, place = [], start
    while raw[place : place + 4] == b"PK\x01\x02":
        places.append(place)
        place += 46 + sum(struct.unpack_from("<3H", raw, place + 28))
    return start, places


def _moved(raw: bytes, by: int, behind: int) -> bytes:
    """Offsets of all that begins behind a place, the directory's among it, where ``by`` bytes were put in before."""
    changed = bytearray(raw)
    struct.pack_into("<L", changed, len(raw) - 6, struct.unpack_from("<L", raw, len(raw) - 6)[0] + by)
    for place in _entries(bytes(changed))[1]:
        offset = struct.unpack_from("<L", raw, place + 42)[0]
        if offset >= behind:
            struct.pack_into("<L", changed, place + 42, offset + by)
    return bytes(changed)


def _between(raw: bytes, junk: bytes) -> bytes:
    second = struct.unpack_from("<L", raw, _entries(raw)[1][1] + 42)[0]
    return _moved(raw[:second] + junk + raw[second:], len(junk), second)


def _within(raw: bytes, junk: bytes) -> bytes:
    """The first member takes the bytes as its own, behind the end of what is packed."""
    first, second = _entries(raw)[1][:2]
    end = struct.unpack_from("<L", raw, second + 42)[0]
    size = struct.pack("<L", struct.unpack_from("<L", raw, first + 20)[0] + len(junk))
    changed = bytearray(_moved(raw[:end] + junk + raw[end:], len(junk), end))
    changed[18:22] = size
    place = _entries(bytes(changed))[1][0]
    changed[place + 20 : place + 24] = size
    return bytes(changed)


AROUND: dict[str, Callable[..., bytes]] = {
    "before": lambda raw, junk: junk + raw,
    "before, counted": lambda raw, junk: _moved(junk + raw, len(junk), 0),
    "behind": lambda raw, junk: raw + junk,
    "in a comment": _commented,
    "between": _between,
    "within": _within,
}


# What a reader sees


def read(path: Path) -> object:
    """The report with its claims, figures and passages, as a reader of the pack is given them; None of one that cannot
    be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            files = tuple(archive.read(name) for name in ("report.md", "claims.json"))
        with open_pack(path) as run:
            state = run.result.state
            texts = {c.content_hash: run.text(c) for c in state.citations}
        return (*files, state.report, state.citations, state.claims, state.report_metadata, texts)
    except (DeepResearchError, KeyError, zipfile.BadZipFile):
        return None
