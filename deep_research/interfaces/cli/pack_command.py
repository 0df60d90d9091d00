"""`verify` and `replay`: whether a pack or a run is as it was recorded, and the events of a pack."""

from __future__ import annotations

import asyncio
import json
import os
import shlex

from deep_research.errors import PackError
from deep_research.interfaces.cli.console import Exit
from deep_research.interfaces.cli.progress import Count
from deep_research.interfaces.cli.session import Look
from deep_research.interfaces.cli.verb_commands import print_event
from deep_research.packs import Verification
from deep_research.presentation import phrases
from deep_research.presentation.run_text import verification_lines
from deep_research.research import PackedRun, ResearchResult, open_pack
from deep_research.state.identity import RUN_ID


async def verify(session: Look) -> int:
    """Exits with 0 where all is as it was recorded, else with 1."""
    args, console = session.args, session.console
    console.cleans = True
    with Count(session, "claims checked") as progress:
        if RUN_ID.match(args.pack):
            verification = await session.runs.averify(args.pack, progress=progress)
        else:
            verification = await asyncio.to_thread(_verify_file, args.pack, progress)
    if args.json:
        console.print(
            json.dumps(
                {"holds": verification.holds, **verification.model_dump(mode="json")}, ensure_ascii=False
            )
        )
    else:
        console.print("\n".join(map(phrases.line, verification_lines(verification))))
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


async def replay(session: Look) -> int:
    """What is read of a pack while it is printed is held against its manifest."""
    session.console.cleans = True
    with open_pack(session.args.file) as run:
        for event in run.events:
            print_event(session, event)
    return Exit.COMPLETED
