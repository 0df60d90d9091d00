"""Commands on runs, the queue and packs: arguments from the command line, the result in words or JSON."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from typing import Any

from deep_research.errors import PackError, UsageError
from deep_research.interfaces.cli.console import Exit
from deep_research.interfaces.cli.options import BY_NAME
from deep_research.interfaces.cli.progress import Count
from deep_research.interfaces.cli.session import Look, Session, whole_number
from deep_research.packs import Verification
from deep_research.presentation import phrases, run_text
from deep_research.presentation.event_text import described
from deep_research.presentation.run_text import verification_lines
from deep_research.research import PackedRun, ResearchResult, open_pack
from deep_research.research.run_summary import RunDetail, RunSummary
from deep_research.research.runs import Waiting
from deep_research.state.events import Event, encode
from deep_research.state.identity import RUN_ID

_INDENT = "    "
_MIN_NAME_COLUMNS = 10
# What a verb without a result did, as JSON has it.
_DONE = {"steer": "steered", "pause": "paused", "delete": "deleted"}
_View = Callable[[Any, Any], Iterable[str]]
_NOTES: dict[str, _View] = {
    "waiting": lambda _session, _result: ("Nothing waits.",),
    "wake": lambda _session, _result: ("No run was due.",),
    "steer": lambda _session, _result: ("Queued. The run applies it before its next step.",),
    "pause": lambda session, _: (
        f"The run parks before its next step. Continue with: {session.again('resume', session.args.id)}".rstrip(),
    ),
    "pack": lambda session, manifest: (
        f"Packed {session.args.id} in {session.args.path}: {phrases.count(len(manifest.members) + 1, 'file')},"
        f" {phrases.in_bytes(sum(entry.size for entry in manifest.members.values()))} unpacked.",
    ),
}


async def perform(session: Look) -> None:
    """Call the verb of the command, and print what it gives."""
    name, arguments = session.args.command, verb_arguments(session)
    for option in BY_NAME[name].options:
        if option.required and option.dest not in arguments:
            await session.runs.summary(session.args.id)  # whether there is such a run is told first
            raise UsageError(f"{name} needs {option.flag}.", hint=f"Add {option.flag} {option.metavar}.")
    try:
        result = await getattr(session.runs, f"a{name}")(**arguments)
    except UsageError as error:
        raise type(error)(error.problem, hint=_with_flags(error.hint, name), **error.data) from None
    if session.args.json:
        session.console.print(_as_json(session, result))
    elif name in _LINES and (lines := list(_LINES[name](session, result))):
        session.console.print("\n".join(lines))
    elif session.talks:
        session.console.note(*_NOTES[name](session, result))


def _with_flags(hint: str, name: str) -> str:
    """A hint with the flags of a command in place of the `parameters` of its verb."""
    for option in BY_NAME[name].options:
        hint = hint.replace(f"`{option.dest}`", option.flag)
    return hint


def verb_arguments(session: Look) -> dict[str, Any]:
    """The parameters of the operation that were given, numbers read. Raises `UsageError`."""
    args, command = session.args, BY_NAME[session.args.command]
    arguments: dict[str, Any] = {"research_id": args.id} if hasattr(args, "id") else {}
    for option in command.options:
        value = getattr(args, option.dest)
        if not option.of_verb or value in (None, False):
            continue
        if option.metavar in ("N", "INTEGER"):
            value = whole_number(option.flag, value, natural=option.metavar == "N")
        arguments[option.dest] = value
    for name in command.positional:
        if (value := getattr(args, name, None)) is not None:
            arguments[name] = value
    return arguments


def _as_json(session: Look, result: Any) -> str:
    name = session.args.command
    if result is None:
        return _dumped({_DONE[name]: session.args.id})
    if name == "wake":
        return _dumped([{"research_id": each.research_id, "status": each.status.value} for each in result])
    if isinstance(result, Sequence):
        return _dumped([each.model_dump(mode="json") for each in result])
    return str(result.model_dump_json())


def _dumped(record: object) -> str:
    return json.dumps(record, ensure_ascii=False)


async def list_runs(session: Look) -> None:
    """A page of the runs; one more is asked for, to know whether there are more."""
    arguments = verb_arguments(session)
    limit = arguments.get("limit")
    page = await session.runs.alist(**{**arguments, "limit": limit and limit + 1})
    runs = page[:limit]
    nothing = "No runs match." if arguments.keys() - {"limit"} else "No runs yet."
    lines = list(_run_table(runs, session.console.columns))
    session.console.print_list(session.args, runs, lines, nothing)
    if session.talks and len(page) > len(runs):
        session.console.note(f"More: add --after {runs[-1].research_id}")


async def cancel(session: Session) -> None:
    before = await session.engine.summary(session.args.id)
    await perform(session)
    if before.status.is_final and session.talks:
        session.console.note(f"Nothing to cancel: the run is already {before.status}.")


async def events(session: Look) -> None:
    for event in await session.runs.aevents(**verb_arguments(session)):
        print_event(session, event)


async def follow(session: Session) -> None:
    """The events of a run as they come, until it ends or nobody reads them."""
    arguments = verb_arguments(session)
    if "limit" in arguments:
        raise UsageError("events takes --follow or --limit.", hint="Remove one of them.")
    await session.engine.summary(session.args.id)
    async with aclosing(session.engine.follow(**arguments)) as events:
        async for event in events:
            if isinstance(event, Event):
                print_event(session, event)
            if session.console.is_unread:
                break


def print_event(session: Look, event: Event) -> None:
    """As JSON where that is asked for, else in words."""
    if session.args.json:
        session.console.print(encode(event).decode())
    else:
        session.console.print(phrases.clip(described(event), session.console.columns))


def _run_table(runs: Sequence[RunSummary], columns: int) -> Iterator[str]:
    """A line for each run; below it its question, how far it came and, where it did not get to its end, why."""
    rows = [("RUN", "STATUS", "UPDATED")]
    rows += [(run.research_id, run_text.status(run), phrases.moment(run.updated_at)) for run in runs]
    texts = ((phrases.line(run.query), ", ".join(run_text.figures(run)), run_text.why(run)) for run in runs)
    return phrases.table_with_texts(rows, texts, columns)


def _run_facts(session: Look, run: RunSummary) -> Iterator[str]:
    """One run, a fact a line."""
    columns = session.console.columns - _MIN_NAME_COLUMNS
    rows: list[tuple[str, Iterable[str]]] = [
        ("run", (run.research_id,)),
        ("question", (phrases.clip(phrases.line(run.query), columns),)),
        ("status", (run_text.status(run),)),
        ("why", filter(None, (run_text.why(run),))),
        ("phase", (f"{run.phase}, iteration {run.iteration}",)),
        *((name, (fact,)) for name, fact in run_text.facts(run)),
        ("created", (phrases.moment(run.created_at),)),
        ("updated", (phrases.moment(run.updated_at),)),
    ]
    if isinstance(run, RunDetail):
        rows += [("answers", run_text.answer_lines(run)), ("notices", run_text.notice_lines(run))]
    for name, lines in rows:
        folded = (part for line in lines for part in phrases.fold(line, columns, "  "))
        yield from phrases.beside(f"{name:<{_MIN_NAME_COLUMNS}}", folded)


def _parked_runs(session: Look, parked: Sequence[Waiting]) -> Iterator[str]:
    """Each run with what it waits for, and the command to go on with it."""
    columns = session.console.columns
    for each in parked:
        yield phrases.clip(f"{each.research_id}  {each.kind}  {phrases.line(each.query)}", columns)
        for line in run_text.waiting_lines(each):
            yield from phrases.fold(f"  {line}", columns, _INDENT)
        if not each.asks:
            yield f"  {session.again('resume', each.research_id)}"
        elif not each.has_answer:
            yield f"  {session.again('answer', each.research_id)} VALUE"


_LINES: dict[str, _View] = {
    "status": _run_facts,
    "cancel": _run_facts,
    "waiting": _parked_runs,
    "wake": lambda _, results: (f"{each.research_id} {each.status.value}" for each in results),
    "delete": lambda session, _: (f"Deleted {session.args.id}.",),
}


async def submit(session: Session) -> None:
    """Queue a question, and print the id of its run."""
    if session.settings.store == "memory":
        raise UsageError(
            "With store=memory the run would end with this command, and no worker could find it.",
            hint="Remove --set store=memory.",
        )
    run_id = await session.engine.asubmit(session.args.question, **verb_arguments(session))
    if session.args.json:
        summary = await session.engine.summary(run_id)
        session.console.print(_dumped(summary.model_dump(mode="json")))
    else:
        session.console.print(run_id)


async def work(session: Session) -> None:
    """Work on the queue until a signal comes, or nothing is left."""
    arguments = verb_arguments(session)
    if session.talks:
        session.console.note(f"Working on the runs of {session.settings.data_dir}.")
    count = await session.engine.awork(**arguments)
    session.tell({"runs": count}, f"Worked on {phrases.count(count, 'run')}.")


async def verify(session: Look) -> int:
    """Exits with 0 where all is as it was recorded, else with 1."""
    args, console = session.args, session.console
    console.cleans = True
    with Count(session, "claims checked") as progress:
        if RUN_ID.match(args.pack):
            verification = await session.runs.averify(args.pack, progress=progress)
        else:
            verification = await asyncio.to_thread(_verify_file, args.pack, progress)

    def record() -> str:
        return _dumped({"holds": verification.holds, **verification.model_dump(mode="json")})

    session.show(record, map(phrases.line, verification_lines(verification)))
    return Exit.COMPLETED if verification.holds else Exit.FAILED


def _verify_file(path: str, progress: Count) -> Verification:
    with _open(path) as run:
        return run.verify(progress=progress)


def result_in(path: str) -> ResearchResult:
    """That of the run in a pack, each file of which is as its manifest has it. Raises `PackError`, `PackVersionError`."""
    with _open(path) as run:
        for failure in run.damage():
            raise PackError(
                f"{path} is damaged: {failure.line}.",
                hint=f"`deep-research verify {shlex.quote(path)}` lists all failures.",
                path=path,
            )
        return run.result


def _open(path: str) -> PackedRun:
    if not (path and os.path.exists(path)):  # no name at all is the path of this folder
        raise PackError(
            f"There is no file {path!r}.", hint="Give the path of a pack, or the id of a run.", path=path
        )
    return open_pack(path)


async def replay(session: Look) -> None:
    """What is read of a pack while it is printed is held against its manifest."""
    session.console.cleans = True
    with open_pack(session.args.file) as run:
        for event in run.events:
            print_event(session, event)
