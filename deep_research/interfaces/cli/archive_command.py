"""`archive`: the texts that were left out of prompts, and are kept for a while."""

from __future__ import annotations

import json
from argparse import Namespace
from datetime import datetime, timedelta
from typing import Any

from deep_research.budget.archive import Archive, ArchiveEntry
from deep_research.errors import ContentMissingError, UnknownNameError, UsageError
from deep_research.interfaces.cli import text
from deep_research.interfaces.cli.console import Console, Exit
from deep_research.interfaces.cli.output_file import check_target, write_whole
from deep_research.interfaces.cli.session import setting_arguments
from deep_research.patterns import regex
from deep_research.presentation import phrases
from deep_research.settings import Settings, load_settings
from deep_research.state.journal import utc_now

_ACTIONS = ("list", "restore", "clean")
_BEGINNING = regex(r"[0-9a-f]{1,64}")
_SCHEME = "sha256:"


def archive_command(args: Namespace, console: Console) -> int:
    """Raises `UsageError`, `ConfigurationError`, `StoreError`."""
    _check(args)
    settings = load_settings(overrides=setting_arguments(args), config=args.config).settings
    from deep_research.assembly import make_archive  # brings the engine along

    archive = make_archive(settings)
    if args.action == "list":
        _list(archive, settings, args, console)
    elif args.action == "restore":
        _restore(archive, args, console)
    else:
        _clean(archive, args, console)
    return Exit.COMPLETED


def _check(args: Namespace) -> None:
    """What can be told before anything is looked at."""
    if args.action not in _ACTIONS:
        raise UnknownNameError.of("action", args.action, _ACTIONS)
    if args.action == "restore" and args.hash is None:
        raise UsageError(
            "restore needs the hash of a text.", hint="Give its hash; `deep-research archive list` shows all."
        )
    if args.action != "restore" and (args.hash is not None or args.out is not None):
        raise UsageError(f"archive {args.action} takes neither a hash nor --out.", hint="Remove them.")
    check_target(args.out)


def _list(archive: Archive, settings: Settings, args: Namespace, console: Console) -> None:
    entries = archive.list()[::-1]
    ttl, now = timedelta(hours=settings.content_archive.ttl_hours), utc_now()
    if args.json:
        console.print(json.dumps([_as_json(entry, ttl) for entry in entries]))
    elif entries:
        rows = [("HASH", "KEPT SINCE", "EXPIRES", "SIZE")]
        rows += [
            (
                phrases.short_hash(e.content_hash),
                phrases.moment(e.archived_at),
                _until(e.archived_at + ttl, now),
                phrases.in_bytes(e.size),
            )
            for e in entries
        ]
        console.print("\n".join(text.table(rows, console.columns)))
    elif not args.quiet:
        off = "" if settings.content_archive.enabled else "; content_archive.enabled is off"
        console.note(f"Nothing is archived{off}.")


def _restore(archive: Archive, args: Namespace, console: Console) -> None:
    record = archive.get(_full_hash(archive, args.hash))
    if args.out:
        write_whole(args.out, record.content)
    if args.json:
        console.print(record.model_dump_json())
    elif not args.out:
        console.print(record.content)


def _clean(archive: Archive, args: Namespace, console: Console) -> None:
    removed = 0
    while now := archive.clean():  # so many at a time
        removed += now
    if args.json:
        console.print(json.dumps({"removed": removed}))
    else:
        console.print(f"Removed {phrases.count(removed, 'expired text')}, {len(archive.list()):,} left.")


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


def _as_json(entry: ArchiveEntry, ttl: timedelta) -> dict[str, Any]:
    fields = entry.model_dump(mode="json")
    return {
        "content_hash": fields["content_hash"],
        "archived_at": fields["archived_at"],
        "expires_at": (entry.archived_at + ttl).isoformat().replace("+00:00", "Z"),
        "size": entry.size,
    }


def _until(at: datetime, now: datetime) -> str:
    left = (at - now).total_seconds() / 3600
    if left <= 0:
        return "expired"
    return f"in {phrases.count(round(left / 24), 'day')}" if left >= 48 else f"in {left:.0f} h"
