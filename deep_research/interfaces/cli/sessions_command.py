"""`sessions`: the conversations of the store."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Awaitable, Callable

from deep_research.errors import UnknownNameError, UsageError
from deep_research.interfaces.cli import text
from deep_research.interfaces.cli.output_file import write_whole
from deep_research.interfaces.cli.session import Look
from deep_research.presentation import phrases
from deep_research.research.sessions import Sessions, SessionTurn

MAX_QUESTION_COLUMNS = 60


def check(args: Namespace) -> None:
    """What can be told before anything is looked at. Raises `UsageError`."""
    if args.action not in _ACTIONS:
        raise UnknownNameError.of("action", args.action, _ACTIONS)
    if args.action != "list" and args.session is None:
        raise UsageError(f"sessions {args.action} needs a session.", hint="`sessions list` shows them.")
    if (args.action == "rename") is (args.title is None):
        word = "needs a title" if args.action == "rename" else "takes no title"
        raise UsageError(f"sessions {args.action} {word}.", hint='`sessions rename towers "Rock towers"`')
    if args.action != "export" and args.out is not None:
        raise UsageError(f"sessions {args.action} takes no --out.", hint="Leave it out.")


async def sessions(look: Look) -> int:
    """List, show, export or delete sessions. Raises `RunNotFoundError`, `RunBusyError`."""
    await _ACTIONS[look.args.action](look, look.runs)
    return 0


async def _list(look: Look, runs: Sessions) -> None:
    sessions = await runs.asessions(user=look.args.user)
    if look.args.json:
        look.console.print(json.dumps([each.model_dump(mode="json") for each in sessions]))
    elif sessions:
        rows = [("SESSION", "USER", "TURNS", "UPDATED", "TITLE OR FIRST QUESTION")]
        rows += [
            (
                phrases.line(each.session_id),
                phrases.line(each.user_id or ""),
                str(each.turns),
                phrases.moment(each.updated_at),
                text.clip(phrases.line(each.title or each.question), MAX_QUESTION_COLUMNS),
            )
            for each in sessions
        ]
        look.console.print("\n".join(text.table(rows, look.console.columns)))
    elif look.talks:
        look.console.note("No sessions yet.")


async def _show(look: Look, runs: Sessions) -> None:
    turns = await runs.asession_turns(look.args.session, user_id=look.args.user)
    if look.args.json:
        look.console.print(json.dumps([turn.model_dump(mode="json") for turn in turns]))
        return
    for turn in turns:
        look.console.print("\n".join(_turn_lines(turn, look.console.columns)))


def _turn_lines(turn: SessionTurn, columns: int) -> list[str]:
    lines = [f"> {phrases.line(turn.user_message)}"]
    if turn.question != turn.user_message:
        lines.append(f"  researched: {phrases.line(turn.question)}")
    lines.append(turn.answer or f"({turn.status}, no answer)")
    lines.append(f"  {turn.research_id}, {phrases.moment(turn.at)}")
    return [part for line in lines for part in text.fold(line, columns, "  ")] + [""]


async def _export(look: Look, runs: Sessions) -> None:
    args = look.args
    turns = await runs.asession_turns(args.session, user_id=args.user)
    records = [turn.model_dump(mode="json") for turn in turns]
    document = {"session_id": args.session, "user_id": args.user, "turns": records}
    content = json.dumps(document, indent=2, ensure_ascii=False)
    if args.out:
        write_whole(args.out, f"{content}\n")
    else:
        look.console.print(content)


async def _rename(look: Look, runs: Sessions) -> None:
    await runs.asession_rename(look.args.session, look.args.title, user_id=look.args.user)
    if look.args.json:
        look.console.print(json.dumps({"renamed": look.args.session}))
    elif look.talks:
        look.console.note("Renamed.")


async def _delete(look: Look, runs: Sessions) -> None:
    count = await runs.asession_delete(look.args.session, user_id=look.args.user)
    if look.args.json:
        look.console.print(json.dumps({"deleted": look.args.session, "runs": count}))
    elif look.talks:
        look.console.note(f"Deleted {phrases.count(count, 'run')}.")


_ACTIONS: dict[str, Callable[[Look, Sessions], Awaitable[None]]] = {
    "list": _list,
    "show": _show,
    "export": _export,
    "rename": _rename,
    "delete": _delete,
}
