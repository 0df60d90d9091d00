"""`waiting`: the parked runs, what each waits for, and how to go on with it. It reads the store alone."""

from __future__ import annotations

import json

from deep_research.interfaces.cli import text
from deep_research.interfaces.cli.session import Look
from deep_research.research.plan_edits import plan_lines
from deep_research.research.runs import Waiting
from deep_research.state import ParkedKind


async def waiting(session: Look) -> int:
    found = await session.runs.awaiting()
    if session.args.json:
        session.console.print(
            json.dumps([each.model_dump(mode="json") for each in found], ensure_ascii=False)
        )
    elif found:
        session.console.print("\n".join(line for each in found for line in _told(each, session)))
    elif session.talks:
        session.console.note("Nothing waits.")
    return 0


def _told(waiting: Waiting, session: Look) -> list[str]:
    """A run with what it waits for, and how to go on with it."""
    until = (
        f" until {waiting.until.astimezone():%Y-%m-%d %H:%M}, then {_then(waiting)}" if waiting.until else ""
    )
    left = " (an answer was left)" if waiting.answered else ""
    columns = session.console.columns
    lines = [
        text.clip(f"{waiting.research_id}  {waiting.kind}  {text.line(waiting.query)}", columns),
        *text.fold(f"  waits for {text.line(waiting.waiting_for)}{until}{left}", columns, "    "),
    ]
    if waiting.asks and not waiting.answered:
        if waiting.kind is ParkedKind.PLAN:
            choice = "approve, no, an edited list as JSON, or a sentence to plan again, with:"
            for line in (*plan_lines(waiting.about), choice):
                lines += text.fold(f"  {text.line(line)}", columns, "    ")
        elif waiting.answer_schema is not None:
            lines += text.fold(f"  form: {json.dumps(waiting.answer_schema)[:400]}", columns, "    ")
        lines.append(f"  {session.again('answer', waiting.research_id)} VALUE")
    elif not waiting.asks:
        lines.append(f"  {session.again('resume', waiting.research_id)}")
    return lines


def _then(waiting: Waiting) -> str:
    if waiting.then == "abort":
        return "aborted"
    if waiting.then == "stay":
        return "it goes on waiting"
    return "gone on with" if waiting.default is None else f"answered with {json.dumps(waiting.default)[:60]}"
