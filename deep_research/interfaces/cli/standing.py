"""Where runs stand, why, and how far they came, as lines of a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from deep_research.interfaces.cli import text
from deep_research.research.runs import RunSummary
from deep_research.state import Answered, RunStatus

_INDENT = "    "
_NAMES = 10  # columns of the names of facts


def listed(runs: Sequence[RunSummary], columns: int) -> list[str]:
    """A line for each run, below it what it was asked, how far it came and, where it did not get to its end, why."""
    rows = [("RUN", "STATUS", "UPDATED")]
    rows += [(run.research_id, _status(run), _moment(run.updated_at)) for run in runs]
    head, *lines = text.table(rows, columns)
    shown = [head]
    for line, run in zip(lines, runs, strict=True):
        below = (text.line(run.query), ", ".join(_figures(run)), why(run))
        shown += [line, *(text.clip(f"{_INDENT}{said}", columns) for said in below if said)]
    return shown


def detailed(run: RunSummary, columns: int) -> list[str]:
    """One run, a fact a line; what it says in its own words is folded."""
    rows = [
        ("run", run.research_id),
        ("question", text.clip(text.line(run.query), columns - _NAMES)),
        ("status", _status(run)),
        *((("why", why(run)),) if why(run) else ()),
        ("phase", f"{run.phase}, iteration {run.iteration}"),
        *_facts(run),
        ("created", _moment(run.created_at)),
        ("updated", _moment(run.updated_at)),
    ]
    return [
        f"{'' if place else name:<{_NAMES}}{part}".rstrip()
        for name, said in rows
        for place, part in enumerate(text.fold(said, columns - _NAMES))
    ]


def why(run: RunSummary) -> str:
    """The message of an abort, what a completed run did not find, or what a parked run waits for; else nothing."""
    if run.waiting_for is not None:
        until = f" until {_moment(run.until)}" if run.until else ""
        return f"waits for {text.line(run.waiting_for) or 'an answer'}{until}"
    return text.line(run.message or "")


def _figures(run: RunSummary) -> Iterator[str]:
    if run.searches_planned is not None:
        yield f"searched {run.searches_done} of {run.searches_planned}"
    if run.sources is not None:
        yield text.count(run.sources, "source")
    if run.findings is not None:
        yield text.count(run.findings, "finding")
    if run.tokens:
        yield text.count(run.tokens, "token")
        yield text.dollars(run.cost_usd) if run.cost_usd is not None else "price unknown"
    if run.seconds is not None:
        yield f"{run.seconds:,.{run.seconds < 10:d}f} s"


def _facts(run: RunSummary) -> Iterator[tuple[str, str]]:
    """The figures with their names; those that nobody counted are unknown."""
    of_plan = None if run.searches_planned is None else f"{run.searches_done} of {run.searches_planned}"
    yield "answered", run.answered or "unknown"
    yield "searches", of_plan or "unknown"
    for name, figure in (("sources", run.sources), ("findings", run.findings), ("tokens", run.tokens)):
        yield name, "unknown" if figure is None else f"{figure:,}"
    yield "dollars", text.dollars(run.cost_usd)
    yield "seconds", "unknown" if run.seconds is None else f"{run.seconds:,.1f}"


def _status(run: RunSummary) -> str:
    partly = (
        "answered in part" if run.status is RunStatus.COMPLETED and run.answered is Answered.PARTLY else ""
    )
    beside = run.reason or partly
    return f"{run.status} ({beside})" if beside else str(run.status)


def _moment(at: datetime) -> str:
    return f"{at.astimezone():%Y-%m-%d %H:%M}"
