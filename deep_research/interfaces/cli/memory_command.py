"""The command `memory`: lists, shows, adds, edits, exports and forgets what is remembered of a user."""

from __future__ import annotations

import asyncio
import json
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

from deep_research.errors import UsageError
from deep_research.interfaces.cli.console import Console, check_target, write_whole
from deep_research.interfaces.cli.session import settings_in_force, whole_number
from deep_research.presentation import phrases

if TYPE_CHECKING:
    from deep_research.memory import MemoryEntry
    from deep_research.research.memories import Memories

# Which arguments and options each action takes; `!` marks required ones.
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
    """Checks the arguments, before the store is opened."""
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
