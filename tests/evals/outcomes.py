"""One run of an evaluation and what came of it, and the file that keeps the outcomes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from deep_research.errors import UsageError
from deep_research.locks import lock_within

BARE = " without"  # at the end of a task's id: it is the question of the other one without evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One run: a question, researched over the corpus ``without`` some of its documents, or over one ``folder`` of it."""

    id: str
    text: str
    without: frozenset[str] = frozenset()
    folder: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a task. Documents are named by their ids in the corpus.

    ``sources`` are in the order in which the product ranks them; ``first_stage`` is that of one plain search, ten at
    most; ``cited`` are those that the report cites. ``report`` is kept only where it is looked at. ``probability``
    (0 to 1) is what the run says of its answer, and ``answered`` how far it says that the question is. ``status`` and
    ``reason`` are those of the run. ``seconds`` is the wall time of the run, ``searching`` the sum of the seconds that
    its calls to the corpus took. With ``error`` the run or one of its searches failed, and nothing else is told.
    """

    id: str
    sources: tuple[str, ...] = ()
    first_stage: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()
    report: str = ""
    completeness: float = 0.0
    probability: float = 0.0
    answered: str = ""
    status: str = ""
    reason: str = ""
    searches: int = 0
    seconds: float = 0.0
    searching: float = 0.0
    error: str = ""


class OutcomeFile:
    """The outcomes kept in ``path``, a JSON object a line; only one process at a time has it open.

    ``kept`` are those that were there, by task. Lines that cannot be read, such as the last one of a process that
    was killed, count as not there. Raises `UsageError` while another process has it open, or when it cannot be
    written.
    """

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = path.open("a+b")
        except OSError as error:
            raise unwritable(path.parent, error) from error
        try:
            if not lock_within(self._file.fileno(), 0.0):
                raise UsageError(
                    "Another process is doing this evaluation.", hint="Wait for it: what it finds is kept."
                )
            if fresh:
                self._file.truncate(0)
            self._file.seek(0)
            lines = self._file.read().split(b"\n")
            if lines[-1]:
                self._file.write(b"\n")  # what follows must not be added to half a line
            self.kept = {outcome.id: outcome for outcome in _read(lines)}
        except BaseException:
            self._file.close()
            raise
        self._path = path

    def add(self, outcome: Outcome) -> None:
        """Keeps an outcome; it is with the operating system when this returns. Raises `UsageError`."""
        try:
            self._file.write(json.dumps(asdict(outcome), ensure_ascii=False).encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise unwritable(self._path.parent, error) from error

    def close(self) -> None:
        self._file.close()


def _read(lines: Iterable[bytes]) -> Iterable[Outcome]:
    names = {field.name for field in fields(Outcome)}
    for line in lines:
        try:
            record: Any = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and record.keys() == names:
            held: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in record.items()}
            yield Outcome(**held)


def unwritable(folder: Path, error: OSError) -> UsageError:
    """Of a folder in which an evaluation keeps what it has done."""
    return UsageError(
        f"Nothing can be kept in {folder}: {error.strerror or os.strerror(error.errno or 0)}.",
        hint="Name a writable data directory.",
    )
