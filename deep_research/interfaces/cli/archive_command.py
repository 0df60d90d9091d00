"""The command `archive`: lists, restores and cleans the texts that were left out of prompts."""

from __future__ import annotations

import json
from argparse import Namespace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from deep_research.errors import ContentMissingError, UsageError
from deep_research.interfaces.cli.console import Console, check_target, write_whole
from deep_research.interfaces.cli.session import settings_in_force
from deep_research.patterns import regex
from deep_research.presentation import phrases
from deep_research.state.journal import utc_now

if TYPE_CHECKING:
    from deep_research.budget.archive import Archive

_BEGINNING = regex(r"[0-9a-f]{1,64}")
_SCHEME = "sha256:"


def archive_command(args: Namespace, console: Console) -> None:
    """Raises `UsageError`, `ConfigurationError`, `StoreError`."""
    if args.action == "restore" and args.hash is None:
        raise UsageError(
            "restore needs the hash of a text.", hint="Give its hash; `deep-research archive list` shows all."
        )
    if args.action != "restore" and (args.hash is not None or args.out is not None):
        raise UsageError(f"archive {args.action} takes neither a hash nor --out.", hint="Remove them.")
    check_target(args.out)
    settings = settings_in_force(args)
    from deep_research.assembly import make_archive  # brings the engine along

    archive = make_archive(settings)
    match args.action:
        case "list":
            off = "" if settings.content_archive.enabled else "; content_archive.enabled is off"
            _list_archive(archive, args, console, settings.content_archive.ttl_hours, off)
        case "restore":
            record = archive.get(_full_hash(archive, args.hash))
            if args.out:
                write_whole(args.out, record.content)
            if args.json:
                console.print(record.model_dump_json())
            elif not args.out:
                console.print(record.content)
        case "clean":
            removed = 0
            while now := archive.clean():  # so many at a time
                removed += now
            words = f"Removed {phrases.count(removed, 'expired text')}, {len(archive.list()):,} left."
            console.print(json.dumps({"removed": removed}) if args.json else words)


def _list_archive(archive: Archive, args: Namespace, console: Console, ttl_hours: float, off: str) -> None:
    ttl, now = timedelta(hours=ttl_hours), utc_now()
    rows = [("HASH", "KEPT SINCE", "EXPIRES", "SIZE")]
    records = []
    for entry in archive.list()[::-1]:
        expires = entry.archived_at + ttl
        size = phrases.in_bytes(entry.size)
        since = phrases.moment(entry.archived_at)
        rows.append((phrases.short_hash(entry.content_hash), since, _until(expires, now), size))
        records.append(
            entry.model_dump(mode="json", include={"content_hash", "archived_at"})
            | {"expires_at": expires.isoformat().replace("+00:00", "Z"), "size": entry.size}
        )
    console.print_rows(args, records, rows, f"Nothing is archived{off}.")


def _full_hash(archive: Archive, prefix: str) -> str:
    """The hash that begins so. Raises `UsageError`, `ContentMissingError`."""
    beginning = prefix.strip().lower().removeprefix(_SCHEME)
    if not _BEGINNING.fullmatch(beginning):
        raise UsageError(
            f"'{phrases.line(prefix)[:80]}' is not a hash.", hint="`deep-research archive list` shows all."
        )
    hash_prefix = f"{_SCHEME}{beginning}"
    matches = [entry.content_hash for entry in archive.list() if entry.content_hash.startswith(hash_prefix)]
    if len(matches) > 1:
        raise UsageError(
            f"{len(matches)} archived texts have a hash that begins with {beginning}.",
            hint="Give more characters of the hash.",
        )
    if not matches:
        raise ContentMissingError(
            f"No archived text has a hash that begins with {beginning}.",
            hint="It may have expired: content_archive.ttl_hours says how long texts are kept.",
            content_hash=hash_prefix,
        )
    return matches[0]


def _until(at: datetime, now: datetime) -> str:
    left = (at - now).total_seconds() / 3600
    if left <= 0:
        return "expired"
    return f"in {phrases.count(round(left / 24), 'day')}" if left >= 48 else f"in {left:.0f} h"
