"""Lines of a terminal: read without holding up the loop, and a parked plan that is edited line by line."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Mapping
from typing import Any

from deep_research.interfaces.cli import text
from deep_research.interfaces.cli.session import Session
from deep_research.presentation import phrases
from deep_research.research import ResearchResult
from deep_research.research.plan_edits import HELP, PlanDraft, SlipError, plan_lines
from deep_research.state import ParkedKind, RunStatus

MAX_LINES = 500  # that are read for one plan
_PROMPT = "plan> "


def at_a_terminal(session: Session) -> bool:
    """Whether somebody sits there who can be asked: both ends are a terminal, and the output is not for a program."""
    streams = (sys.stdin, sys.stderr)
    return not session.args.json and all(stream is not None and stream.isatty() for stream in streams)


def waits_for_approval(result: ResearchResult) -> bool:
    """Whether a run is parked with its plan."""
    question = result.state.question
    return result.status is RunStatus.PARKED and question is not None and question.kind is ParkedKind.PLAN


class PlanEditor:
    """Asks for the word on one plan; of an answer that the engine refused it asks again with the list as it was left."""

    def __init__(self, session: Session, about: Mapping[str, Any]) -> None:
        self._console = session.console
        self._about = about
        self._draft = PlanDraft(about)
        self._left = MAX_LINES
        self._lines = InputLines()

    async def answer(self) -> Any:
        """The answer, None where the plan is left as it is: at the end of the input, or of patience."""
        self._show(brief=True)
        while self._left:
            self._left -= 1
            self._console.draw(_PROMPT)
            line = await self._lines.next()
            if line is None:
                self._console.draw("\n")
                return None
            word = line.strip().casefold()
            if word in ("help", "?"):
                self._console.note(*HELP)
                continue
            try:
                answer = None if word == "show" else self._draft.take(line)
            except SlipError as slip:
                self._console.note(str(slip))
                continue
            if answer is not None:
                return answer
            self._show()
        self._console.note(f"{MAX_LINES} lines are the limit; the run stays parked.")
        return None

    def _show(self, *, brief: bool = False) -> None:
        columns = text.size(sys.stderr).columns - 1
        lines = [*self._draft.lines()]
        if brief:
            lines = plan_lines(self._about)
            lines += ["ok, no, drop 2, add QUERY, reword 3 QUERY, move 4 1, a sentence to plan again, help"]
        self._console.draw(
            "".join(
                f"{part}\n"
                for line in lines
                if line
                for part in text.fold(phrases.clean(line), columns, "     ")
            )
        )


_PIECE_BYTES = 65_536
MAX_LINE_BYTES = 1_000_000


class InputLines:
    """The lines of stdin, one after the other. Each piece is read in a thread of its own that nobody waits for, so that
    Ctrl-C ends the command at once."""

    def __init__(self) -> None:
        self._read = b""
        self._is_at_end = False

    async def next(self) -> str | None:
        """The next line without its end; None at the end of the input. Of one that is longer than `MAX_LINE_BYTES` the
        rest is the next line."""
        while b"\n" not in self._read and not self._is_at_end and len(self._read) < MAX_LINE_BYTES:
            piece = await self._piece()
            self._read += piece
            self._is_at_end = not piece
        if not self._read:
            return None
        line, _, self._read = self._read.partition(b"\n")
        if len(line) > MAX_LINE_BYTES:
            line, self._read = line[:MAX_LINE_BYTES], line[MAX_LINE_BYTES:] + self._read
        return line.decode("utf-8", "replace").rstrip("\r")

    async def _piece(self) -> bytes:
        loop = asyncio.get_running_loop()
        read: asyncio.Future[bytes] = loop.create_future()

        def deliver(piece: bytes) -> None:
            if not read.done():
                read.set_result(piece)

        def wait() -> None:
            try:
                piece = os.read(sys.stdin.fileno(), _PIECE_BYTES)
            except (OSError, ValueError, AttributeError):  # the terminal is gone, or there is no stdin
                piece = b""
            with contextlib.suppress(RuntimeError):  # the command has ended meanwhile
                loop.call_soon_threadsafe(deliver, piece)

        threading.Thread(target=wait, name="input-line", daemon=True).start()
        return await read
