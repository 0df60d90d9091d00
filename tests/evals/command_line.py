"""The command line of the evaluations."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path

from deep_research.errors import UnknownNameError, UsageError
from deep_research.interfaces.cli.console import Console, Exit
from deep_research.interfaces.cli.main import exit_code
from deep_research.interfaces.cli.options import COMMON, Command, Option
from deep_research.interfaces.cli.parsing import parser
from deep_research.interfaces.cli.session import Interrupted, Signals, engine_arguments
from deep_research.logs import configure
from deep_research.presentation import phrases
from deep_research.settings import Settings, load_settings
from evals import (
    ALL,
    GROUPS,
    SUITES,
    Figures,
    Progress,
    Suite,
    agents,
    citation_scores,
    condensing,
    evaluate,
    evaluate_group,
    suite_named,
)

PROGRAM = "python"
COMMAND = Command(
    name="tests/evals",
    summary="Measure the engine on questions whose answers are known.",
    example="python tests/evals wiki-multihop --data evaluation-data --limit 50",
    arguments=(
        (
            "NAME",
            "The evaluation: agents, answers (or its halves: passages, articles), manuals, foreign, "
            "citations, condense, wiki-multihop, scifact, coverage, gaps.",
        ),
    ),
    options=(
        Option("--data DIR", "Folder that holds the data sets, one folder each."),
        Option("--limit N", "Ask only N of the questions, always the same."),
        Option("--jobs N", "Processes that work side by side; else one a core."),
        Option("--no-titles", "Search texts only (wiki-multihop, gaps)."),
        Option("--lower", "Search the same texts in lower case (answers, coverage)."),
        Option("--without-column NAME", "Leave out a column of the ranker (answers, manuals, foreign)."),
        Option("--fresh", "Throw away the finished runs of an earlier call."),
    ),
)

# Evaluations that start no runs: they need the data alone.
_WITHOUT_RUNS = {
    condensing.NAME: condensing.evaluate_condensing,
    citation_scores.NAME: citation_scores.evaluate_citations,
}
_EVERY = 10.0  # seconds between lines of progress where nothing is redrawn
_DIGITS = {"tokens": 0, "mean": 1, "p50": 2, "p95": 2}  # by the end of a figure's name; others have three


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out a command line and return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    console = Console(json="--json" in arguments)
    reader = parser(COMMAND, program=PROGRAM)
    if {"-h", "--help"} & set(arguments):
        console.print(reader.format_help())
        return Exit.COMPLETED
    return exit_code(lambda: evaluation(_read(reader, arguments), console), console)


def _read(reader: ArgumentParser, arguments: Sequence[str]) -> Namespace:
    args, rest = reader.parse_known_args(arguments)
    if rest and rest[0].startswith("-"):
        known = [flag for option in (*COMMON, *COMMAND.options) for flag in option.flags]
        raise UnknownNameError.of("option", rest[0].partition("=")[0], known)
    if rest:
        raise UsageError(f"One evaluation is carried out at a time, not {rest[0]} as well.")
    if args.log_level:
        configure(args.log_level)
    return args


def evaluation(args: Namespace, console: Console) -> int:
    """Carries out an evaluation and prints its figures. Exit code 1 when a run failed. Raises `Interrupted`."""
    suite = None if args.name in (agents.NAME, *_WITHOUT_RUNS, *GROUPS) else suite_named(args.name)
    limit, jobs = _count("--limit", args.limit), _count("--jobs", args.jobs)
    if args.name == agents.NAME and (args.data is not None or args.no_titles or args.fresh or args.lower):
        raise UsageError("eval agents takes no data sets.", hint="Its cases are in golden.toml.")
    if args.name in _WITHOUT_RUNS and (args.no_titles or args.fresh or args.lower or jobs):
        raise UsageError(
            f"eval {args.name} starts no runs.", hint="Leave out --no-titles, --lower, --fresh and --jobs."
        )
    if args.name != agents.NAME and args.data is None:
        raise UsageError("--data is missing.", hint="It names the folder that holds the data sets.")
    settings = _settings(args, suite)
    teller = _Teller(console) if args.verbose or not (args.quiet or args.json) else None

    told = teller or (lambda _: None)

    async def work() -> Figures:
        signals.attach()
        if args.name in _WITHOUT_RUNS:
            return await _WITHOUT_RUNS[args.name](Path(args.data), limit=limit, progress=told)
        options = {"limit": limit, "jobs": jobs, "fresh": args.fresh, "progress": told}
        options |= {"titles": not args.no_titles, "lower": args.lower}
        options |= {"without_column": args.without_column or ""}
        if args.name in GROUPS:
            each = {name: _settings(args, SUITES[name]) for name in GROUPS[args.name]}
            return await evaluate_group(args.name, Path(args.data), each, **options)
        if suite is None:
            return await agents.evaluate_agents(settings, limit=limit, jobs=jobs, progress=told)
        return await evaluate(suite, Path(args.data), settings, **options)

    with Signals() as signals:
        try:
            figures = asyncio.run(work())
        except asyncio.CancelledError:
            interrupted = Interrupted(
                "Interrupted; finished runs are kept.", hint="The same command goes on where it was."
            )
            interrupted.exit = signals.code
            raise interrupted from None
        finally:
            if teller:
                teller.close()
    console.print(as_json(figures) if args.json else "\n".join(as_table(figures)))
    for task, error in figures.errors.items():
        console.note(phrases.clip(f"{task} failed: {error}", 4 * phrases.COLUMNS))
    return Exit.FAILED if figures.errors else Exit.COMPLETED


def as_json(figures: Figures) -> str:
    """One object: the figures of all questions, if there are such, at its top, those of each question set under
    ``sets``."""
    head = {"suite": figures.suite, "titles": figures.titles, "jobs": figures.jobs}
    sets = {name: _rounded(values) for name, values in figures.sets.items() if name != ALL}
    return json.dumps(
        head | _rounded(figures.sets.get(ALL, {})) | {"sets": sets, "errors": dict(figures.errors)},
        ensure_ascii=False,
    )


def as_table(figures: Figures, columns: int = phrases.COLUMNS) -> list[str]:
    """A line for each figure, a column for each question set; as many tables as it takes."""
    names = list(figures.sets)
    metrics = list(dict.fromkeys(metric for values in figures.sets.values() for metric in values))
    first = max(map(len, metrics))
    lines: list[str] = []
    while names:
        part: list[str] = []
        used = first
        while names and (not part or used + 2 + _width(names[0]) <= columns):
            used += 2 + _width(names[0])
            part.append(phrases.clip(phrases.line(names.pop(0)), columns - first - 2))
        head = "".join(f"  {name:>{_width(name)}}" for name in part)
        lines += ([""] if lines else []) + [f"{figures.suite:<{first}}{head}"]
        for metric in metrics:
            cells = (f"  {_cell(metric, figures.sets[name]):>{_width(name)}}" for name in part)
            lines.append(f"{metric:<{first}}{''.join(cells)}")
    return lines


class _Teller:
    """Tells how far it is: one line, redrawn on a terminal, and told again every few seconds elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = sys.stderr is not None and sys.stderr.isatty()
        self._started = self._told = time.monotonic()

    def __call__(self, now: Progress) -> None:
        said = f"{phrases.count(now.done, 'run')} of {now.total:,} done"
        fresh = now.done - now.kept
        if now.kept:
            said += f", {now.kept:,} of them earlier"
        if fresh and now.done < now.total:
            left = (time.monotonic() - self._started) / fresh * (now.total - now.done)
            said += f"; about {left / 60:.0f} min left" if left > 90 else f"; about {left:.0f} s left"
        if self._live:
            self._console.draw(f"\r\x1b[K{said}")
        elif now.done in (now.kept, now.total) or time.monotonic() - self._told > _EVERY:
            self._told = time.monotonic()
            self._console.note(said)

    def close(self) -> None:
        if self._live:
            self._console.draw("\r\x1b[K")


def _settings(args: Namespace, suite: Suite | None) -> Settings:
    """The settings of the runs: those of the suite, if there is one, unless an argument names another value."""
    given = engine_arguments(args)
    if "corpus" in given:
        raise UsageError("eval searches the corpus of its data set.", hint="Leave out --corpus.")
    config = given.pop("config", None)
    overrides = {**(suite.settings if suite else {}), **given}
    return load_settings(overrides=overrides, config=config, preset=given.get("preset")).settings


def _count(flag: str, given: str | None) -> int | None:
    if given is None:
        return None
    if not given.isdecimal() or not 0 < int(given) < 1_000_000:
        raise UsageError(f"{flag} takes a number above 0, got '{given[:40]}'.", hint=f"For example: {flag} 2")
    return int(given)


def _width(name: str) -> int:
    return max(9, phrases.width(name))


def _cell(metric: str, values: Mapping[str, float]) -> str:
    """A figure may say nothing of a set."""
    return _shown(metric, values[metric]) if metric in values else "-"


def _shown(metric: str, value: float) -> str:
    return (
        f"{value:,}"
        if isinstance(value, int)
        else f"{value:.{_DIGITS.get(metric[metric.rfind('_') + 1 :], 3)}f}"
    )


def _rounded(figures: Mapping[str, float]) -> dict[str, float]:
    return {name: value if isinstance(value, int) else round(value, 4) for name, value in figures.items()}
