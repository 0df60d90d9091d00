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


class Right(StrEnum):
    """What a user needs to be allowed to call a verb."""

    READ = "read"  # look at runs of one's own
    CREATE = "create"  # start runs, which may cost money
    CONTROL = "control"  # act on runs of one's own
    DELETE = "delete"  # remove runs of one's own
    ADMIN = "admin"  # act on the engine, or on the runs of everybody


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter beside the id of the run. ``value`` stands for its value in a help text (``N`` is a whole number);
    without one it is a switch. A ``positional`` one is not named when it is given; it may be left out if ``optional``."""

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


def _about_a_run(name: str, right: Right, result: str, summary: str, *parameters: Parameter) -> Operation:
    return Operation(name, right, result, summary, parameters, of_run=True)


_QUESTION = Parameter("query", "The question.", "QUESTION", positional=True, optional=False)
_TABLE = (
    Operation(
        "run",
        Right.CREATE,
        "ResearchResult",
        "Research a question and print the report.",
        (_QUESTION,),
        options=True,
    ),
    Operation(
        "start",
        Right.CREATE,
        "ResearchHandle",
        "Research a question in the background.",
        (_QUESTION,),
        options=True,
    ),
    Operation(
        "estimate",
        Right.CREATE,
        "Estimate",
        "Say what a run may take, and start none.",
        (_QUESTION,),
        options=True,
    ),
    _about_a_run(
        "resume",
        Right.CONTROL,
        "ResearchResult",
        "Go on with a run: interrupted, parked, aborted, or ended at a cap.",
        Parameter("answer", "Answer to what a parked run waits for, as `answer` takes it.", "TEXT"),
        Parameter("setup", "Whether the run keeps its set-up, or takes the one named now.", "same|new"),
        Parameter("shared_budget", "Caps over several runs that this one draws on.", "BUDGET"),
        Parameter("budget", "Caps that are raised.", "BUDGET"),
        Parameter("take_over", "Have a process that works on the run let go of it, and go on here."),
    ),
    _about_a_run(
        "answer",
        Right.CONTROL,
        "ResearchResult | None",
        "Answer what a parked run asks, and go on with it.",
        Parameter(
            "value",
            "The answer: a text, or JSON where `waiting` shows a form for it.",
            "VALUE",
            positional=True,
            optional=False,
        ),
        Parameter("run", "Go on with the run here; else whoever resumes it next takes the answer."),
    ),
    _about_a_run(
        "steer",
        Right.CONTROL,
        "None",
        "Give a run guidance while it goes.",
        Parameter("text", "Guidance, applied from the next step on.", "TEXT", positional=True),
        Parameter("drop_sub_query", "Drop a sub-query that was not searched yet.", "ID"),
        Parameter("since", "From now on search only what was published since that day.", "DAY"),
        Parameter("stop_searching", "Search nothing more, and write the report."),
    ),
    _about_a_run("pause", Right.CONTROL, "None", "Park a run before its next step."),
    _about_a_run("cancel", Right.CONTROL, "RunSummary", "End a run; what it found is kept."),
    Operation(
        "waiting",
        Right.READ,
        "Sequence[Waiting]",
        "List the parked runs: what each waits for, and until when.",
    ),
    Operation(
        "wake", Right.ADMIN, "Sequence[ResearchResult]", "Go on with the parked runs whose time has come."
    ),
    Operation(
        "list",
        Right.READ,
        "Sequence[RunSummary]",
        "List the runs, newest first, with how far each came.",
        (
            Parameter(
                "status",
                "Only runs of this status: pending, running, parked, completed, aborted, interrupted.",
                "NAME",
            ),
            Parameter("user", "Only runs of this user_id.", "ID"),
            Parameter("session", "Only runs of this session_id.", "ID"),
            Parameter("text", "Only runs whose question holds TEXT, in whatever case.", "TEXT"),
            Parameter("parked_kind", "Only runs parked for this: question, plan, outage, budget.", "KIND"),
            Parameter("due_before", "Only runs parked until before this time.", "TIME"),
            Parameter("limit", "At most N runs.", "N"),
            Parameter("after", "Go on after this run: the last one of the page before.", "ID"),
        ),
    ),
    _about_a_run("status", Right.READ, "RunSummary", "Say where a run stands."),
    _about_a_run("result", Right.READ, "ResearchResult", "Give the result of a run as it stands now."),
    _about_a_run(
        "report",
        Right.READ,
        "str | None",
        "Give the report of a run.",
        Parameter("format", "Of the report alone, or of the whole result.", "markdown|json"),
    ),
    _about_a_run(
        "events",
        Right.READ,
        "Sequence[Event]",
        "Print the log of a run, one line an event.",
        Parameter("after", "Begin after event number N.", "N"),
    ),
    Operation(
        "text",
        Right.READ,
        "str",
        "Give the saved text of a source, a citation or a content hash.",
        (Parameter("source", "Whose text.", "SOURCE", positional=True, optional=False),),
    ),
    _about_a_run(
        "pack",
        Right.READ,
        "Manifest",
        "Write a run with all its evidence to one file.",
        Parameter("path", "The file to write (zip).", "FILE", optional=False),
        Parameter("force", "Replace FILE where it exists."),
    ),
    _about_a_run("verify", Right.READ, "Verification", "Check that a pack, or a run, is as it was recorded."),
    _about_a_run("delete", Right.DELETE, "None", "Remove a run and its saved texts."),
    Operation(
        "skipped",
        Right.ADMIN,
        "Sequence[Skipped]",
        "Name every local document that could not be read, and why.",
    ),
    Operation(
        "drain",
        Right.ADMIN,
        "int",
        "Park all runs of this engine, for a process that ends.",
        (Parameter("seconds", "How long to wait for the end of their units.", "S"),),
    ),
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
