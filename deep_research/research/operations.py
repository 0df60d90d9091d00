"""The verbs of the engine in one table, and what is made from a verb: its plain face, and the verb of one run.

A verb is written once, as the coroutine function ``a<name>`` of `RunControl` or `DeepResearch`. Its row here says which
right it needs, what it gives, whether it is about one run, and what its parameters mean. The command line takes its
commands and options from the table, and whatever serves the engine to others its rights. Importing it loads no engine.

Live streams are no rows: `DeepResearch.follow` is ``events`` as they happen, `DeepResearch.stream` is ``run`` with it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
_RUN_PATH = "/v1/runs/{research_id}"
_ENTRY_PATH = "/v1/memory/entries/{entry_id}"


class Right(StrEnum):
    """What a user needs to be allowed to call a verb."""

    READ = "read"  # look at the user's runs and memory
    CREATE = "create"  # start runs, which may cost money
    CONTROL = "control"  # act on the user's runs and memory
    DELETE = "delete"  # remove the user's runs and memory
    ADMIN = "admin"  # act on the engine, or on the runs of everybody


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter beside the id of the run. ``value`` stands for its value in a help text (``N`` is a whole number from
    0, ``INTEGER`` any); without one it is a switch. A ``positional`` one is not named when it is given; it may be left
    out if ``optional``."""

    name: str
    help: str
    value: str = ""
    positional: bool = False
    optional: bool = True


@dataclass(frozen=True, slots=True)
class Operation:
    """A verb. ``result`` is the type of what it gives, as the signature of its coroutine function has it. ``of_run``: its
    first parameter is the id of a run. ``options``: it takes the keywords of `RunOptions` too."""

    name: str
    right: Right
    result: str
    summary: str
    parameters: tuple[Parameter, ...] = ()
    of_run: bool = False
    options: bool = False


READ, CREATE, CONTROL, DELETE, ADMIN = Right
_QUESTION = Parameter("query", "The question.", "QUESTION", positional=True, optional=False)
_SESSION = Parameter("session_id", "The session.", "SESSION", positional=True, optional=False)
_USER = Parameter("user_id", "The user; by default that of runs without a user_id.", "ID")
_ENTRY = Parameter("entry_id", "The entry.", "ID", positional=True, optional=False)
_TEXT = Parameter("text", "The text, of at most 2,000 characters.", "TEXT", positional=True, optional=False)
_PARAMETERS = {
    "run": (_QUESTION,),
    "start": (_QUESTION,),
    "estimate": (_QUESTION,),
    "submit": (
        _QUESTION,
        Parameter("idempotency_key", "A second call with the same KEY returns the same run.", "KEY"),
        Parameter("priority", "From -100 to 100; runs with a higher priority start first.", "INTEGER"),
        Parameter("not_before", "Earliest start of the run.", "TIME"),
    ),
    "work": (
        Parameter("concurrency", "Work on at most N runs at once; by default 4.", "N"),
        Parameter("once", "End when no run can be started now."),
    ),
    "resume": (
        Parameter("answer", "Answer to the question of a parked run, as for `answer`.", "TEXT"),
        Parameter("setup", "Keep the run's set-up, or take the one named now.", "same|new"),
        Parameter("shared_budget", "Caps that this run shares with others.", "BUDGET"),
        Parameter("budget", "Caps to raise.", "BUDGET"),
        Parameter("take_over", "Take the run from the process that works on it."),
    ),
    "answer": (
        Parameter(
            "value", "The answer: a text, or JSON in the form that `waiting` shows.", "VALUE", True, False
        ),
        Parameter("run", "Continue the run here. Otherwise the answer is kept until it continues."),
    ),
    "steer": (
        Parameter("text", "Guidance, applied from the next step on.", "TEXT", positional=True),
        Parameter("drop_sub_query", "Drop a sub-query that the run has not searched yet.", "ID"),
        Parameter("since", "Search only what was published since that day.", "DAY"),
        Parameter("stop_searching", "Stop searching and write the report."),
    ),
    "list": (
        Parameter(
            "status",
            "Only queued, pending, running, parked, completed, aborted or interrupted runs.",
            "NAME",
        ),
        Parameter("user", "Only runs of this user_id.", "ID"),
        Parameter("session", "Only runs of this session_id.", "ID"),
        Parameter("text", "Only runs with TEXT in their question, in any letter case.", "TEXT"),
        Parameter(
            "parked_kind", "Only runs parked for a question, plan, outage, budget, pause or shutdown.", "KIND"
        ),
        Parameter("due_before", "Only parked runs whose time is before TIME.", "TIME"),
        Parameter("limit", "At most N runs.", "N"),
        Parameter("after", "Continue after this run, the last of the previous page.", "ID"),
    ),
    "report": (Parameter("format", "Markdown, or the whole result as JSON.", "markdown|json"),),
    "events": (
        Parameter("after", "Start after event number N.", "N"),
        Parameter("limit", "At most N events.", "N"),
    ),
    "waiting": (
        Parameter("user", "Only runs of this user_id.", "ID"),
        Parameter("limit", "At most N runs.", "N"),
        Parameter("after", "Continue after this run, the last of the previous page.", "ID"),
    ),
    "sessions": (
        Parameter("user", "Only sessions of this user_id.", "ID"),
        Parameter("limit", "At most N sessions.", "N"),
    ),
    "session_turns": (_SESSION, _USER),
    "session_rename": (
        _SESSION,
        Parameter("title", "The title in lists.", "TITLE", positional=True, optional=False),
        _USER,
    ),
    "session_delete": (_SESSION, _USER),
    "text": (
        Parameter("source", "The source, citation or hash.", "SOURCE", positional=True, optional=False),
    ),
    "pack": (
        Parameter("path", "The file to write (zip).", "FILE", optional=False),
        Parameter("force", "Replace FILE if it exists."),
    ),
    "memory_list": (
        Parameter("kinds", "Only entries of this kind.", "KIND"),
        Parameter("limit", "At most N entries.", "N"),
        Parameter("after", "Continue after this entry, the last of the previous page.", "ID"),
        _USER,
    ),
    "memory_show": (_ENTRY, _USER),
    "memory_add": (
        Parameter("kind", "Its kind: profile or preferences.", "KIND", True, False),
        _TEXT,
        _USER,
    ),
    "memory_edit": (_ENTRY, _TEXT, _USER),
    "memory_export": (_USER,),
    "memory_forget": (
        Parameter("ids", "The entries.", "ID", positional=True),
        Parameter("kinds", "All entries of this kind.", "KIND"),
        Parameter("everything", "All entries of the user."),
        _USER,
    ),
    "drain": (Parameter("seconds", "Seconds that runs get to finish their current step.", "S"),),
}


def _row(
    name: str, right: Right, result: str, summary: str, *, of_run: bool = False, options: bool = False
) -> Operation:
    return Operation(name, right, result, summary, _PARAMETERS.get(name, ()), of_run, options)


_TABLE = (
    _row("run", CREATE, "ResearchResult", "Research a question and print the report.", options=True),
    _row("start", CREATE, "ResearchHandle", "Research a question in the background.", options=True),
    _row(
        "submit", CREATE, "str", "Queue a question for a worker, and print the id of its run.", options=True
    ),
    _row("work", ADMIN, "int", "Work on submitted runs."),
    _row("estimate", CREATE, "Estimate", "Estimate what a run may use, without starting it.", options=True),
    _row(
        "resume",
        CONTROL,
        "ResearchResult",
        "Continue a run that is parked, aborted, interrupted or capped.",
        of_run=True,
    ),
    _row("answer", CONTROL, "ResearchResult | None", "Answer a parked run, and continue it.", of_run=True),
    _row("steer", CONTROL, "None", "Give a run guidance while it works.", of_run=True),
    _row("pause", CONTROL, "None", "Park a run before its next step.", of_run=True),
    _row("cancel", CONTROL, "RunSummary", "Cancel a run; it keeps what it found.", of_run=True),
    _row("waiting", READ, "Sequence[Waiting]", "List the parked runs, what they wait for, and until when."),
    _row(
        "wake",
        ADMIN,
        "Sequence[ResearchResult]",
        "Continue the parked runs that are due, or that have an answer.",
    ),
    _row("list", READ, "Sequence[RunSummary]", "List the runs and their progress, newest first."),
    _row(
        "status",
        READ,
        "RunDetail",
        "Show how far a run is, and its answers so far.",
        of_run=True,
    ),
    _row("result", READ, "ResearchResult", "Return the result of a run so far.", of_run=True),
    _row("report", READ, "str | None", "Return the report of a run.", of_run=True),
    _row("events", READ, "Sequence[Event]", "Print the log of a run, one event a line.", of_run=True),
    _row("text", READ, "str", "Return the saved text of a source, a citation or a content hash."),
    _row("pack", READ, "Manifest", "Write a run with all its evidence to one file.", of_run=True),
    _row("verify", READ, "Verification", "Check that a pack, or a run, is unchanged.", of_run=True),
    _row("delete", DELETE, "None", "Remove a run, and the saved texts that no other run uses.", of_run=True),
    _row("sessions", READ, "Sequence[SessionSummary]", "List the sessions, latest first."),
    _row("session_turns", READ, "Sequence[SessionTurn]", "Return the turns of a session, oldest first."),
    _row("session_rename", CONTROL, "None", "Give a session a title."),
    _row(
        "session_delete",
        DELETE,
        "int",
        "Delete the runs of a session; none while one of them is in progress.",
    ),
    _row("memory_list", READ, "Sequence[MemoryEntry]", "List the memory of a user, newest first."),
    _row("memory_show", READ, "MemoryEntry", "Return one entry of a user's memory."),
    _row("memory_add", CONTROL, "MemoryEntry", "Add an entry to a user's memory."),
    _row("memory_edit", CONTROL, "MemoryEntry", "Replace the text of an entry."),
    _row("memory_export", READ, "MemoryExport", "Return all entries of a user's memory."),
    _row("memory_forget", DELETE, "int", "Delete entries of a user's memory for good."),
    _row("skipped", ADMIN, "Sequence[Skipped]", "Name every local document that could not be read, and why."),
    _row("drain", ADMIN, "int", "Park all runs of this engine before the process ends."),
)
OPERATIONS = {operation.name: operation for operation in _TABLE}


def plain(verb: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]) -> Callable[Concatenate[Any, P], R]:
    """The plain face of a verb, which waits for it on the engine's own loop: ``steer = plain(asteer)``.

    Its signature and docstring are those of the coroutine function. Raises `KeyError` for a verb without a row.
    """
    name = verb.__name__
    operation = OPERATIONS[name.removeprefix("a")]

    @functools.wraps(verb)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        result: R = self._background.call(getattr(self, name)(*args, **kwargs))
        return result

    call.__name__ = operation.name
    call.__qualname__ = f"{verb.__qualname__.rpartition('.')[0]}.{operation.name}"
    return call


def of_run(verb: Callable[Concatenate[Any, str, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A verb of the engine as one of `ResearchHandle`, whose run it is about: ``steer = of_run(RunControl.steer)``."""
    name = verb.__name__

    @functools.wraps(verb)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        result: R = getattr(self._engine, name)(self.research_id, *args, **kwargs)
        return result

    signature = inspect.signature(verb)
    own = [parameter for key, parameter in signature.parameters.items() if key != "research_id"]
    call.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
    call.__qualname__ = f"ResearchHandle.{name}"
    return call


@dataclass(frozen=True, slots=True)
class Route:
    """Where a verb is served. ``without`` are its parameters that a request cannot give."""

    method: str
    path: str
    status: int = 200
    without: tuple[str, ...] = ()


ROUTES = {
    "submit": Route("POST", "/v1/runs", 202),
    "list": Route("GET", "/v1/runs"),
    "status": Route("GET", _RUN_PATH),
    "delete": Route("DELETE", _RUN_PATH, 204),
    "result": Route("GET", f"{_RUN_PATH}/result"),
    "report": Route("GET", f"{_RUN_PATH}/report"),
    "events": Route("GET", f"{_RUN_PATH}/events"),
    "text": Route("GET", f"{_RUN_PATH}/sources/{{source_id}}/text", without=("source",)),
    "pack": Route("GET", f"{_RUN_PATH}/pack", without=("path", "force")),
    "verify": Route("GET", f"{_RUN_PATH}/verification", without=("progress",)),
    "cancel": Route("POST", f"{_RUN_PATH}/cancel", 202),
    "pause": Route("POST", f"{_RUN_PATH}/pause", 202),
    "resume": Route("POST", f"{_RUN_PATH}/resume", 202, without=("shared_budget",)),
    "steer": Route("POST", f"{_RUN_PATH}/steer", 202),
    "answer": Route("POST", f"{_RUN_PATH}/answer", 202, without=("run",)),
    "sessions": Route("GET", "/v1/sessions"),
    "session_turns": Route("GET", "/v1/sessions/turns"),
    "session_rename": Route("PUT", "/v1/sessions/title", 204),
    "session_delete": Route("DELETE", "/v1/sessions", 204),
    "waiting": Route("GET", "/v1/waiting"),
    "estimate": Route("POST", "/v1/estimate"),
    "memory_list": Route("GET", "/v1/memory"),
    "memory_add": Route("POST", "/v1/memory", 201),
    "memory_show": Route("GET", _ENTRY_PATH),
    "memory_edit": Route("PATCH", _ENTRY_PATH),
    "memory_export": Route("GET", "/v1/memory/export"),
    "memory_forget": Route("POST", "/v1/memory/forget"),
}
