"""The manifest of a pack: what it is, and the hash of every member. It has one form, which holds its own hash: one that
is written in any other way is not as it was made."""

from __future__ import annotations

import json
from typing import Any

from pydantic import Field, ValidationError

from deep_research.errors import PackError, PackVersionError
from deep_research.state import Record
from deep_research.state.identity import sha256_hex
from deep_research.state.shapes import SHAPES, readable, writer
from deep_research.version import __version__

MANIFEST = "manifest.json"
FORMAT = "deep-research evidence pack"
VERSION = 1  # raised when an older reader could no longer read it
_DIGEST = "digest"
_HASH = r"^[0-9a-f]{64}$"


class MemberEntry(Record):
    """``size`` in bytes, unpacked; ``sha256`` in hex."""

    size: int = Field(ge=0)
    sha256: str = Field(pattern=_HASH)

    @classmethod
    def of(cls, body: bytes) -> MemberEntry:
        return cls(size=len(body), sha256=sha256_hex(body))


class Manifest(Record):
    """``package`` is the version of this package that made the pack, ``shapes`` the hash of its formats; ``checker`` the
    name and version of what checked the claims of the report, empty where it has none; ``members`` are all files of the
    pack but this one."""

    format: str = FORMAT
    format_version: int = Field(default=VERSION, ge=1, le=VERSION)
    package: str = __version__
    shapes: str = SHAPES
    research_id: str
    checker: str = ""
    members: dict[str, MemberEntry]

    def encode(self) -> bytes:
        """The one form: sorted keys, and the sha256 of the same without it."""
        fields = self.model_dump(mode="json")
        return canonical({**fields, _DIGEST: sha256_hex(canonical(fields))})


def canonical(value: Any) -> bytes:
    """JSON in one form: sorted keys, two spaces, UTF-8, a line break at the end."""
    text = json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False)
    return f"{text}\n".encode("utf-8", "backslashreplace")  # half a character as JSON escapes it


def read_manifest(raw: bytes, name: str) -> Manifest:
    """The manifest, in whatever form. ``name`` is that of the pack. Raises `PackError`, `PackVersionError`."""
    try:
        fields = json.loads(raw)
    except (ValueError, RecursionError):
        raise _damaged(name, "is no JSON") from None
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise _damaged(name, "is that of something else")
    version = fields.get("format_version")
    if isinstance(version, int) and version > VERSION:
        raise PackVersionError(
            f"{name} is a pack of format {version}, and this version reads format {VERSION}.",
            hint="Upgrade deep-research to read this pack.",
            path=name,
            format_version=version,
        )
    package, shapes = fields.get("package"), fields.get("shapes", "")
    if isinstance(package, str) and isinstance(shapes, str) and not readable(package, shapes):
        raise PackVersionError(
            f"{name} was written by {writer(package, shapes)}; this is {writer(__version__, SHAPES)}.",
            hint="Use the version that wrote it.",
            path=name,
        )
    fields.pop(_DIGEST, None)
    try:
        return Manifest.model_validate(fields)
    except (ValidationError, RecursionError):
        raise _damaged(name, "says what no manifest says") from None


def _damaged(name: str, why: str) -> PackError:
    return PackError(
        f"{name} cannot be read as an evidence pack: its {MANIFEST} {why}.",
        hint="Get the file again, or pack the run again.",
        path=name,
    )
