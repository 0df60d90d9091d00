"""`sessions` and `chat`: the conversations of the store, and one at the prompt."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Awaitable, Callable
from datetime import datetime

from deep_research.errors import ConfigurationError, DeepResearchError, UnknownNameError, UsageError
from deep_research.interfaces.cli import text
from deep_research.interfaces.cli.console import Exit, of_error, of_run
from deep_research.interfaces.cli.output_file import write_whole
from deep_research.interfaces.cli.plan_editor import InputLines, at_a_terminal
from deep_research.interfaces.cli.run_command import answered_before_user
from deep_research.interfaces.cli.session import Look, Session, command_line
from deep_research.interfaces.cli.summary import conclude
from deep_research.presentation import phrases
from deep_research.report.reference_marks import reference_marks
from deep_research.research import ResearchResult
from deep_research.research.sessions import Sessions, SessionTurn, checked_session

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


MAX_TURNS = 10_000  # of one call of the command
_PROMPT = "> "
_ENDS = ("quit", "exit")


async def chat(session: Session) -> int:
    """Ask what is typed until the end of the input, and give the exit code of the last question where nobody sits at a
    terminal. An error of one question does not end the chat, but for one of the set-up. Raises `ConfigurationError`."""
    args = session.args
    name = checked_session(args.session or f"chat-{datetime.now():%Y%m%d-%H%M%S}")
    lines, at_terminal = InputLines(), at_a_terminal(session)
    if at_terminal:
        session.console.note(f"Session {name}. An empty line, quit or Ctrl-D ends it.")
    code = Exit.COMPLETED
    for _ in range(MAX_TURNS):
        if at_terminal:
            session.console.draw(_PROMPT)
        line = await lines.next()
        if line is None or line.strip().casefold() in (("", *_ENDS) if at_terminal else _ENDS):
            break
        if line.strip():
            code = await _turn(session, name, line)
    if session.talks and session.settings.store != "memory":
        session.console.note(f"Continue with: {command_line(args, 'chat', f'--session={name}')}")
    return Exit.COMPLETED if at_terminal else code


async def _turn(session: Session, name: str, question: str) -> Exit:
    options = {"session_id": name, "user_id": session.args.user, "depth": session.args.depth or "auto"}
    try:
        result = await answered_before_user(session, question, options)
    except ConfigurationError:
        raise
    except DeepResearchError as error:
        session.console.error(error.code, error.problem, error.hint)
        return of_error(error)
    code = of_run(result.status, result.reason)
    if session.args.json:
        turns = await session.engine.asession_turns(name, user_id=session.args.user)
        own = [turn for turn in turns if turn.research_id == result.research_id]
        session.console.print("\n".join(turn.model_dump_json() for turn in own))
        return code
    resolution = result.state.resolution
    if resolution is not None and resolution.question != resolution.user_message and at_a_terminal(session):
        # The picture of the run, where it stood, is gone with its end.
        session.console.note(f"Question: {resolution.question}")
    if result.answer:
        session.console.print_report("\n".join([result.answer, "", *_sources(result)]))
    if result.status != "completed":
        conclude(session, result)
    return code


def _sources(result: ResearchResult) -> list[str]:
    """A line for each source that the answer cites."""
    answer = result.answer or ""
    numbers = {citation.number: citation.source_id for citation in result.citations}
    cited_numbers = {mark.number for mark in reference_marks(answer, list(numbers))}
    sources = {source.id: source for source in result.sources}
    lines = []
    for number in sorted(cited_numbers):
        source = sources[numbers[number]]
        lines.append(f"[{number}] {phrases.line(source.title)}{f', {source.url}' if source.url else ''}  ")
    return lines
