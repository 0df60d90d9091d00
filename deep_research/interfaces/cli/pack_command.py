"""`pack`, `verify`, `replay`: a run in one file, whether it is as it was recorded, and how it happened."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from collections.abc import Iterator

from deep_research.errors import PackError, UsageError
from deep_research.interfaces.cli import text
from deep_research.interfaces.cli.exits import Exit
from deep_research.interfaces.cli.progress import Count
from deep_research.interfaces.cli.session import Look
from deep_research.interfaces.cli.show import print_event
from deep_research.packs import Verification
from deep_research.research import PackedRun, ResearchResult, open_pack
from deep_research.state.identity import RUN_ID

_MOST_FAILURES = 10


async def pack(session: Look) -> int:
    args, console = session.args, session.console
    await session.runs.astatus(args.id)
    if args.out is None:
        raise UsageError("Where is the pack to be written?", hint="Name the file: --out FILE")
    manifest = await session.runs.apack(args.id, args.out, force=args.force)
    if args.json:
        console.print(manifest.model_dump_json())
    elif session.talks:
        size = sum(entry.size for entry in manifest.members.values())
        files = text.count(len(manifest.members) + 1, "file")
        console.note(f"Packed {args.id} in {args.out}: {files}, {text.in_bytes(size)} unpacked.")
    return Exit.COMPLETED


async def verify(session: Look) -> int:
    """Exits with 0 where all is as it was recorded, else with 1."""
    args, console = session.args, session.console
    console.cleans = True
    with Count(session, "claims checked") as progress:
        if RUN_ID.match(args.pack):
            found = await session.runs.averify(args.pack, progress=progress)
        else:
            found = await asyncio.to_thread(_verified, args.pack, progress)
    if args.json:
        console.print(json.dumps({"holds": found.holds, **found.model_dump(mode="json")}, ensure_ascii=False))
    else:
        console.print("\n".join(map(text.line, _lines(found))))
    return Exit.COMPLETED if found.holds else Exit.FAILED


def _verified(path: str, progress: Count) -> Verification:
    with _opened(path) as run:
        return run.verify(progress=progress)


def result_in(path: str) -> ResearchResult:
    """That of the run in a pack, each file of which is as its manifest has it. Raises `PackError`, `PackVersionError`."""
    with _opened(path) as run:
        for failure in run.damage():
            raise PackError(
                f"{path} is damaged: {failure.line}.",
                hint=f"`deep-research verify {shlex.quote(path)}` names all that fails.",
                path=path,
            )
        return run.result


def _opened(path: str) -> PackedRun:
    if not (path and os.path.exists(path)):  # no name at all is the path of this folder
        raise PackError(
            f"There is no file {path!r}.", hint="Give the path of a pack, or the id of a run.", path=path
        )
    return open_pack(path)


def _lines(found: Verification) -> Iterator[str]:
    """One line where all holds."""
    if found.holds:
        yield f"{found.research_id} is as it was recorded: {_counts(found)}.{_of_checkers(found)}"
        return
    yield (
        f"{found.research_id} is not as it was recorded: {text.count(len(found.failures), 'failure')}."
        f"{_of_checkers(found)}"
    )
    for failure in found.failures[:_MOST_FAILURES]:
        yield f"- {failure.line}"
    if len(found.failures) > _MOST_FAILURES:
        yield f"- and {len(found.failures) - _MOST_FAILURES:,} more"


def _counts(found: Verification) -> str:
    verdicts = text.count(found.claims, "verdict") if found.claims else "no claims"
    files, quotes = text.count(found.members, "file"), text.count(found.quotes, "quoted passage")
    return f"{files}, {text.count(found.texts, 'text')}, {quotes}, {verdicts}"


def _of_checkers(found: Verification) -> str:
    if not found.own_checker or found.checker == found.own_checker:
        return ""
    differ = (
        f"{text.count(len(found.differing), 'verdict')} of it would be otherwise" if found.differing else ""
    )
    return (
        f" Its claims were checked by {found.checker}, ours is {found.own_checker}:"
        f" {differ or 'no verdict would be otherwise'}, which is no damage."
    )


async def replay(session: Look) -> int:
    """What is read of a pack while it is printed is held against its manifest."""
    session.console.cleans = True
    with open_pack(session.args.file) as run:
        for event in run.events:
            print_event(session, event)
    return Exit.COMPLETED
