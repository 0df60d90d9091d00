"""`memory`: what is remembered of a user."""

from __future__ import annotations

import asyncio
import json
from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from deep_research.errors import UnknownNameError, UsageError
from deep_research.interfaces.cli import text
from deep_research.interfaces.cli.console import Console, Exit
from deep_research.interfaces.cli.output_file import check_target, write_whole
from deep_research.interfaces.cli.session import settings_in_force
from deep_research.interfaces.cli.verb_commands import whole_number
from deep_research.presentation import phrases

if TYPE_CHECKING:
    from deep_research.memory import MemoryEntry
    from deep_research.research.memories import Memories

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
_INDENT = "    "


def memory_command(args: Namespace, console: Console) -> int:
    """Raises `UsageError`, `ConfigurationError`, `StoreError`."""
    _check(args)
    settings = settings_in_force(args)
    from deep_research.memory.memory_registry import make_memory
    from deep_research.research.memories import Memories

    memory = make_memory(settings.memory, settings.data_dir, local_only=settings.local_only)
    try:
        asyncio.run(_ACTIONS[args.action](Memories(memory), args, console))
    finally:
        memory.close()
    return Exit.COMPLETED


def _check(args: Namespace) -> None:
    """What can be told before anything is looked at."""
    action = args.action
    if action not in _TAKES:
        raise UnknownNameError.of("action", action, _TAKES)
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


async def _list(memories: Memories, args: Namespace, console: Console) -> None:
    """A page; one more is asked for, to know whether there are more."""
    limit = None if args.limit is None else whole_number("--limit", args.limit, natural=True)
    page = await memories.amemory_list(
        user_id=args.user, kinds=args.kind or None, limit=limit and limit + 1, after=args.after
    )
    entries = page[:limit]
    if args.json:
        console.print(json.dumps([entry.model_dump(mode="json") for entry in entries], ensure_ascii=False))
    elif entries:
        console.print("\n".join(_table(entries, console.columns)))
    elif not args.quiet:
        console.note(f"Nothing {'of that kind ' * bool(args.kind)}is remembered about {_who(args)}.")
    if len(page) > len(entries) and not (args.quiet or args.json):
        console.note(f"More: add --after {entries[-1].id}")


def _table(entries: Sequence[MemoryEntry], columns: int) -> Iterator[str]:
    """A line for each entry, and below it its text."""
    rows = [("ID", "KIND", "SINCE")]
    rows += [(entry.id, entry.kind.value, phrases.moment(entry.at)) for entry in entries]
    head, *lines = text.table(rows, columns)
    yield head
    for line, entry in zip(lines, entries, strict=True):
        yield line
        yield text.clip(f"{_INDENT}{phrases.line(entry.text)}", columns)


async def _show(memories: Memories, args: Namespace, console: Console) -> None:
    entry = await memories.amemory_show(args.id, user_id=args.user)
    console.print(entry.model_dump_json() if args.json else "\n".join(_facts(entry, console.columns)))


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
        for place, part in enumerate(text.fold(words, columns - _MIN_NAME_COLUMNS) if words else ()):
            yield f"{'' if place else name:<{_MIN_NAME_COLUMNS}}{part}"


async def _add(memories: Memories, args: Namespace, console: Console) -> None:
    entry = await memories.amemory_add(args.id, args.text, user_id=args.user)
    console.print(entry.model_dump_json() if args.json else f"Remembered {entry.id}.")


async def _edit(memories: Memories, args: Namespace, console: Console) -> None:
    entry = await memories.amemory_edit(args.id, args.text, user_id=args.user)
    console.print(entry.model_dump_json() if args.json else f"Changed {entry.id}.")


async def _export(memories: Memories, args: Namespace, console: Console) -> None:
    exported = await memories.amemory_export(user_id=args.user)
    body = exported.model_dump_json(indent=None if args.json else 2)
    if args.out:
        write_whole(args.out, f"{body}\n")
        if not (args.quiet or args.json):
            console.note(f"Wrote {phrases.count(len(exported.entries), 'entry', 'entries')} to {args.out}.")
    else:
        console.print(body)


async def _forget(memories: Memories, args: Namespace, console: Console) -> None:
    count = await memories.amemory_forget(
        args.id, kinds=args.kind or None, everything=args.all, user_id=args.user
    )
    if args.json:
        console.print(json.dumps({"forgotten": count}))
    else:
        console.print(f"Forgot {phrases.count(count, 'entry', 'entries')} of {_who(args)}.")


def _who(args: Namespace) -> str:
    return "runs without a user" if args.user is None else phrases.line(args.user)


_ACTIONS = {
    "list": _list,
    "show": _show,
    "add": _add,
    "edit": _edit,
    "export": _export,
    "forget": _forget,
}
