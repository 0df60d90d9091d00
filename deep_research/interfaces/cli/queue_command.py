"""`submit` and `worker`: questions that wait in the store, and the process that works on them."""

from __future__ import annotations

import json

from deep_research.errors import UsageError
from deep_research.interfaces.cli.session import Session
from deep_research.interfaces.cli.verb_commands import verb_arguments
from deep_research.presentation import phrases


async def submit(session: Session) -> int:
    """Queue a question, and print the id of its run."""
    args = session.args
    if session.settings.store == "memory":
        raise UsageError(
            "With store=memory the run would end with this command, and no worker could find it.",
            hint="Remove --set store=memory.",
        )
    run_id = await session.engine.asubmit(args.question, **verb_arguments(session))
    if args.json:
        summary = await session.engine.summary(run_id)
        session.console.print(json.dumps(summary.model_dump(mode="json")))
    else:
        session.console.print(run_id)
    return 0


async def work(session: Session) -> int:
    """Work on the queue until a signal comes, or nothing is left."""
    arguments = verb_arguments(session)
    if session.talks:
        session.console.note(f"Working on the runs of {session.settings.data_dir}.")
    count = await session.engine.awork(**arguments)
    if session.args.json:
        session.console.print(json.dumps({"runs": count}))
    elif session.talks:
        session.console.note(f"Worked on {phrases.count(count, 'run')}.")
    return 0
