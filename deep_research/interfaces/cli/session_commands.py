"""The command `sessions`: lists, shows, renames, exports and deletes the conversations of the store."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import TYPE_CHECKING

from deep_research.errors import UsageError
from deep_research.interfaces.cli.console import write_whole
from deep_research.interfaces.cli.session import Look
from deep_research.presentation import phrases

if TYPE_CHECKING:
    from deep_research.research.sessions import SessionTurn

MAX_QUESTION_COLUMNS = 60


def check_sessions(args: Namespace) -> None:
    """Checks the arguments, before the store is opened. Raises `UsageError`."""
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
