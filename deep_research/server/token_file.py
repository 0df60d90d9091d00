"""The tokens of a server's users, in a file that holds their hashes."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from deep_research.errors import SettingsError, TokenError, UnknownNameError, UsageError
from deep_research.files import read_regular, whole
from deep_research.locks import FileLock
from deep_research.logs import get_log
from deep_research.server.problems import RequestRefused
from deep_research.server.users import Role, User
from deep_research.state.journal import utc_now

TOKEN_FILE = "tokens.jsonl"  # noqa: S105 - in the data directory
PREFIX = "dr_"  # by which scanners of secrets may know one
MAX_FILE_BYTES = 1 << 20
_Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$")]
log = get_log("server")


class TokenEntry(BaseModel):
    """A token, without its value. ``user`` is the ``user_id`` of the runs that it starts; several may share one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: _Name
    user: _Name
    role: Role
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    created: datetime
    revoked: datetime | None = None
    max_open_runs: Annotated[int | None, Field(ge=0)] = None
    max_usd: Annotated[float | None, Field(ge=0, allow_inf_nan=False)] = None


class TokenFile:
    """The tokens in a file of JSON lines, which only its owner may read. It is read again when it changes."""

    def __init__(self, path: Path) -> None:
        """Raises `SettingsError` where the file is missing, may be read by others, or cannot be understood."""
        self.path = path
        self._version: tuple[int, ...] = ()
        self._entries: tuple[TokenEntry, ...] = ()
        self.entries()

    def entries(self) -> tuple[TokenEntry, ...]:
        """All tokens, in the order in which they were made. Raises `SettingsError`."""
        try:
            status = self.path.stat()
            version = (status.st_mtime_ns, status.st_ino, status.st_size, status.st_mode, status.st_uid)
            if version != self._version:
                _check_owner(self.path, status)
                self._entries = _parsed(self.path, read_regular(self.path, MAX_FILE_BYTES))
                self._version = version
        except OSError as error:
            raise SettingsError(
                f"The token file {self.path} cannot be read: {error.strerror or error}.",
                hint=f"`deep-research token add NAME --tokens {self.path}` creates one.",
            ) from None
        return self._entries

    def user(self, token: str | None) -> User:
        """Whose a token is. Raises `TokenError` for one that is missing, unknown or revoked, and `RequestRefused` while
        the file cannot be read: then nobody is let in."""
        try:
            entries = self.entries()
        except SettingsError as error:
            log.error("tokens_unreadable", error=str(error))
            raise RequestRefused(
                503, "tokens", "The server cannot read its tokens.", "Try again later."
            ) from None
        digest = _hash_of(token or "")
        fits = [
            entry for entry in entries if hmac.compare_digest(entry.sha256, digest)
        ]  # looks at all of them
        if not token or not fits or fits[0].revoked is not None:
            raise TokenError(
                "The token is missing or unknown.",
                hint="Send a bearer token, or the header x-api-key; `deep-research token add` creates a token.",
            )
        entry = fits[0]
        return User(entry.user, entry.role, entry.max_open_runs, entry.max_usd)


def add_token(
    path: Path,
    name: str,
    *,
    role: Role | str = Role.RUNNER,
    user: str | None = None,
    max_open_runs: int | None = None,
    max_usd: float | None = None,
) -> str:
    """Make a token for a user, who has the token's name if he is not named, and give it: the file keeps its hash alone.
    Makes the file if there is none. Raises `UsageError` for a name that is in use and for values that do not fit,
    `SettingsError` for a file that cannot be used."""
    token = f"{PREFIX}{secrets.token_urlsafe(32)}"
    try:
        entry = TokenEntry(
            name=name,
            user=name if user is None else user,
            role=Role(role),
            sha256=_hash_of(token),
            created=utc_now(),
            max_open_runs=max_open_runs,
            max_usd=max_usd,
        )
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        raise UsageError(
            f"{fault['loc'][0]}: {fault['msg']}.",
            hint="A name has letters, digits and . _ @ - and at most 64 of them.",
        ) from None
    except ValueError:
        raise UnknownNameError.of("role", str(role), list(Role)) from None
    with _locked(path):
        entries = TokenFile(path).entries() if path.exists() else ()
        if any(each.name == name and each.revoked is None for each in entries):
            raise UsageError(
                f"A token named '{name}' exists.",
                hint="Use another name, or revoke that token first; several tokens may share a --user.",
            )
        _write(path, (*entries, entry))
    return token


def revoke_token(path: Path, name: str) -> None:
    """End a token; a server that runs lets nobody in with it any more. Raises `UnknownNameError`, `SettingsError`."""
    with _locked(path):
        entries = TokenFile(path).entries()
        valid = [entry.name for entry in entries if entry.revoked is None]
        if name not in valid:
            raise UnknownNameError.of("token", name, valid)
        changes = {"revoked": utc_now()}
        _write(
            path,
            [
                entry.model_copy(update=changes) if entry.name == name and entry.revoked is None else entry
                for entry in entries
            ],
        )


def _hash_of(token: str) -> str:
    """A token is random and long, so that its hash needs no salt and no stretching."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _check_owner(path: Path, status: os.stat_result) -> None:
    if status.st_uid not in (os.geteuid(), 0) or stat.S_IMODE(status.st_mode) & 0o077:
        raise SettingsError(
            f"The token file {path} can be read or written by other users.",
            hint=f"Make it your file: chown and chmod 600 {path}.",
        )


def _parsed(path: Path, body: bytes) -> tuple[TokenEntry, ...]:
    entries = []
    for number, line in enumerate(body.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            entries.append(TokenEntry.model_validate_json(line))
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, fault["loc"]))
            raise SettingsError(
                f"Line {number} of the token file {path} is no token: {place} {fault['msg']}.".replace(
                    "  ", " "
                ),
                hint="Remove the line, or restore the file.",
            ) from None
    return tuple(entries)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """While no other command changes the file. Raises `SettingsError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = FileLock(path.with_name(f".{path.name}.lock"))
        try:
            with lock.hold():
                yield
        finally:
            lock.close()
    except OSError as error:
        raise SettingsError(
            f"The token file {path} cannot be written: {error.strerror or error}.",
            hint="Name another with --tokens.",
        ) from None


def _write(path: Path, entries: Iterable[TokenEntry]) -> None:
    with whole(path) as file:
        os.fchmod(file.fileno(), 0o600)
        file.write("".join(f"{entry.model_dump_json(exclude_none=True)}\n" for entry in entries).encode())
