"""`sessions`, `memory` and `archive`: the conversations of the store, what is remembered of a user, and the texts that
were left out of prompts."""

from __future__ import annotations

import asyncio
import json
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from deep_research.errors import ContentMissingError, UsageError
from deep_research.interfaces.cli.console import Console, check_target, write_whole
from deep_research.interfaces.cli.session import Look, settings_in_force, whole_number
from deep_research.patterns import regex
from deep_research.presentation import phrases
from deep_research.state.journal import utc_now

if TYPE_CHECKING:
    from deep_research.budget.archive import Archive
    from deep_research.memory import MemoryEntry
    from deep_research.research.memories import Memories
    from deep_research.research.sessions import SessionTurn

MAX_QUESTION_COLUMNS = 60


# Sessions


def check_sessions(args: Namespace) -> None:
    """What can be told before anything is looked at. Raises `UsageError`."""
    if args.action != "list" and args.session is None:
        raise UsageError(f"sessions {args.action} needs a session.", hint="`sessions list` shows them.")
    if (args.action == "rename") is (args.title is None):
        word = "needs a title" if args.action == "rename" else "takes no title"
        raise UsageError(f"sessions {args.action} {word}.", hint='`sessions rename towers "Rock towers"`')
    if args.action != "export" and args.out is not None:
        raise UsageError(f"sessions {args.action} takes no --out.", hint="Leave it out.")


async def sessions(look: Look) -> None:
    """List, show, rename, export or delete sessions. Raises `RunNotFoundError`, `RunBusyError`."""
    args, console, runs = look.args, look.console, look.runs
    name, user = args.session, args.user
    match args.action:
        case "list":
            summaries = await runs.asessions(user=user)
            rows = [("SESSION", "USER", "TURNS", "UPDATED", "TITLE OR FIRST QUESTION")]
            rows += [
                (
                    phrases.line(each.session_id),
                    phrases.line(each.user_id or ""),
                    str(each.turns),
                    phrases.moment(each.updated_at),
                    phrases.clip(phrases.line(each.title or each.question), MAX_QUESTION_COLUMNS),
                )
                for each in summaries
            ]
            console.print_rows(args, summaries, rows, "No sessions yet.")
        case "show":
            turns = await runs.asession_turns(name, user_id=user)
            if args.json:
                console.print(json.dumps([turn.model_dump(mode="json") for turn in turns]))
            for turn in () if args.json else turns:
                console.print("\n".join(_turn_lines(turn, console.columns)))
        case "export":
            turns = await runs.asession_turns(name, user_id=user)
            records = [turn.model_dump(mode="json") for turn in turns]
            document = {"session_id": name, "user_id": user, "turns": records}
            content = json.dumps(document, indent=2, ensure_ascii=False)
            if args.out:
                write_whole(args.out, f"{content}\n")
            else:
                console.print(content)
        case "rename":
            await runs.asession_rename(name, args.title, user_id=user)
            look.tell({"renamed": name}, "Renamed.")
        case "delete":
            count = await runs.asession_delete(name, user_id=user)
            look.tell({"deleted": name, "runs": count}, f"Deleted {phrases.count(count, 'run')}.")


def _turn_lines(turn: SessionTurn, columns: int) -> list[str]:
    lines = [f"> {phrases.line(turn.user_message)}"]
    if turn.question != turn.user_message:
        lines.append(f"  researched: {phrases.line(turn.question)}")
    lines.append(turn.answer or f"({turn.status}, no answer)")
    lines.append(f"  {turn.research_id}, {phrases.moment(turn.at)}")
    return [part for line in lines for part in phrases.fold(line, columns, "  ")] + [""]


# Memory

# Which arguments and options each action takes; those with a mark it cannot do without.
_TAKES = {
    "list": ("--kind", "--limit", "--after"),
    "show": ("ID!",),
    "add": ("ID!", "TEXT!"),
    "edit": ("ID!", "TEXT!"),
    "export": ("--out",),
    "forget": ("ID", "--kind", "--all"),
}
_OF_ACTIONS = ("ID", "TEXT", "--kind", "--limit", "--after", "--all", "--out")
_EXAMPLES = {
    "show": "memory show mem-0123456789abcdef",
    "add": 'memory add preferences "Short reports, please."',
    "edit": 'memory edit mem-0123456789abcdef "Long reports, please."',
}
_MIN_NAME_COLUMNS = 8


def memory_command(args: Namespace, console: Console) -> None:
    """Raises `UsageError`, `ConfigurationError`, `StoreError`."""
    _check_memory(args)
    settings = settings_in_force(args)
    from deep_research.memory.memory_registry import make_memory
    from deep_research.research.memories import Memories

    with closing(make_memory(settings.memory, settings.data_dir, local_only=settings.local_only)) as memory:
        asyncio.run(_memory(Memories(memory), args, console))


def _check_memory(args: Namespace) -> None:
    """What can be told before anything is looked at."""
    action = args.action
    values = {name: getattr(args, name.lstrip("-").lower()) for name in _OF_ACTIONS}
    for name in _OF_ACTIONS:
        is_given = values[name] not in (None, False, [])
        if is_given and not {name, f"{name}!"} & set(_TAKES[action]):
            raise UsageError(f"memory {action} takes no {name}.", hint="Remove it.")
        if not is_given and f"{name}!" in _TAKES[action]:
            what = "KIND" if (action, name) == ("add", "ID") else name
            raise UsageError(f"memory {action} needs {what}.", hint=f"For example: {_EXAMPLES[action]}")
    if action == "forget" and (args.id is not None) + bool(args.kind) + args.all != 1:
        raise UsageError(
            "memory forget needs something to forget.", hint="Name one of: ID, --kind KIND, --all."
        )
    check_target(args.out)


async def _memory(memories: Memories, args: Namespace, console: Console) -> None:
    user, kinds = args.user, args.kind or None
    who = "runs without a user" if user is None else phrases.line(user)
    match args.action:
        case "list":  # one more is asked for, to know whether there are more
            limit = None if args.limit is None else whole_number("--limit", args.limit)
            page = await memories.amemory_list(
                user_id=user, kinds=kinds, limit=limit and limit + 1, after=args.after
            )
            entries = page[:limit]
            nothing = f"Nothing {'of that kind ' * bool(kinds)}is remembered about {who}."
            rows = [("ID", "KIND", "SINCE")]
            rows += [(entry.id, entry.kind.value, phrases.moment(entry.at)) for entry in entries]
            texts = ([phrases.line(entry.text)] for entry in entries)
            lines = list(phrases.table_with_texts(rows, texts, console.columns))
            console.print_list(args, entries, lines, nothing)
            if len(page) > len(entries) and not (args.quiet or args.json):
                console.note(f"More: add --after {entries[-1].id}")
        case "export":
            exported = await memories.amemory_export(user_id=user)
            body = exported.model_dump_json(indent=None if args.json else 2)
            if not args.out:
                console.print(body)
                return
            write_whole(args.out, f"{body}\n")
            if not (args.quiet or args.json):
                many = phrases.count(len(exported.entries), "entry", "entries")
                console.note(f"Wrote {many} to {args.out}.")
        case "forget":
            count = await memories.amemory_forget(args.id, kinds=kinds, everything=args.all, user_id=user)
            words = f"Forgot {phrases.count(count, 'entry', 'entries')} of {who}."
            console.print(json.dumps({"forgotten": count}) if args.json else words)
        case "show":
            entry = await memories.amemory_show(args.id, user_id=user)
            facts = "\n".join(_facts(entry, console.columns))
            console.print(entry.model_dump_json() if args.json else facts)
        case action:
            change = memories.amemory_add if action == "add" else memories.amemory_edit
            entry = await change(args.id, args.text, user_id=user)
            words = f"{'Remembered' if action == 'add' else 'Changed'} {entry.id}."
            console.print(entry.model_dump_json() if args.json else words)


def _facts(entry: MemoryEntry, columns: int) -> Iterator[str]:
    rows = {
        "id": entry.id,
        "kind": entry.kind.value,
        "since": phrases.moment(entry.at),
        "run": entry.run_id or "",
        "text": phrases.line(entry.text),
        "from": phrases.line(entry.words) if entry.words != entry.text else "",
    }
    for name, words in rows.items():
        lines = phrases.fold(words, columns - _MIN_NAME_COLUMNS) if words else ()
        yield from phrases.beside(f"{name:<{_MIN_NAME_COLUMNS}}", lines)


# Archive

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
