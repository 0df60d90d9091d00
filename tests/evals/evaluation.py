"""An evaluation from beginning to end: the data, the runs that are not done yet, the figures."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deep_research.errors import UnknownNameError, UsageError
from deep_research.retrieval.ranker import COLUMNS
from deep_research.settings import Settings
from deep_research.state.identity import sha256_hex
from evals import metrics
from evals.corpora import build_index, lowered
from evals.datasets import Question, find_dataset, read_records
from evals.fingerprints import settings_hash, source_hash
from evals.folds import HeldOutAgents
from evals.outcomes import Outcome, OutcomeFile, Task
from evals.suites import GROUPS, SUITES, Answered, Measure, Suite
from evals.workers import Setup, carry_out

ALL = "all"
FOLDER = "evals"  # in the data directory


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What was measured. ``sets`` has the figures of all questions under ``all``, and those of each question set
    where there are several; ``errors`` are those of runs that failed, by task."""

    suite: str
    titles: bool
    jobs: int
    sets: Mapping[str, Mapping[str, float]]
    errors: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Runs that are done, those of them that were kept from an earlier call, and runs in all."""

    done: int
    kept: int
    total: int


def suite_named(name: str) -> Suite:
    """Raises `UnknownNameError`."""
    if name not in SUITES:
        raise UnknownNameError.of("evaluation", name, ["agents", "citations", "condense", *GROUPS, *SUITES])
    return SUITES[name]


async def evaluate(
    suite: Suite,
    data: Path,
    settings: Settings,
    *,
    limit: int | None = None,
    jobs: int | None = None,
    titles: bool = True,
    lower: bool = False,
    without_column: str = "",
    fresh: bool = False,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Figures:
    """Carries out the runs of ``suite`` that no earlier call has finished, and measures all of them.

    ``data`` is the folder of the data sets. ``limit`` takes so many questions, a sample that is always the same and
    that a larger one contains. ``jobs`` counts processes, by default the cores. Finished runs are kept in the data
    directory of ``settings`` for the same data, settings and code; ``fresh`` throws them away. ``lower`` searches the
    same texts in lower case; ``without_column`` is a column of the ranker that counts for nothing.

    Raises `UsageError` for data that is missing or damaged, `CorpusError`, `WorkError`.
    """
    _check_options(suite, titles=titles, lower=lower, without_column=without_column)
    agents = HeldOutAgents(without_column) if suite.held_out else None
    jobs = jobs or os.cpu_count() or 1
    dataset = find_dataset(data, suite.folder, suite.questions, suite.corpus)
    questions = _sample([q for q in read_records(dataset.questions, suite.read) if q is not None], limit)
    if not questions:
        raise UsageError(f"{dataset.questions} has no question for {suite.name}.")
    home = settings.data_dir / FOLDER
    corpus = await asyncio.to_thread(_searched, dataset.corpus, home / "corpora", titles=titles, lower=lower)
    parts = (
        suite.name,
        str(titles),
        *(["lower"] if lower else []),
        *([repr(agents)] if agents else []),
        settings_hash(settings),
        dataset.fingerprint,
        source_hash(),
    )
    path = home / f"{suite.name}-{sha256_hex(' '.join(parts).encode())[:16]}.jsonl"
    setup = Setup(suite=suite.name, corpus=corpus, titles=titles, settings=settings, agents=agents)
    tasks = [task for question in questions for task in suite.tasks(question)]
    outcomes = await _finished(tasks, setup, OutcomeFile(path, fresh=fresh), jobs, progress)
    answered = [(q, [outcomes[task.id] for task in suite.tasks(q)]) for q in questions]
    return Figures(
        suite=suite.name,
        titles=titles,
        jobs=jobs,
        sets=await asyncio.to_thread(lambda: _by_set(answered, suite.measuring(dataset))),
        errors={name: outcome.error for name, outcome in sorted(outcomes.items()) if outcome.error},
    )


async def _finished(
    tasks: Sequence[Task], setup: Setup, file: OutcomeFile, jobs: int, progress: Callable[[Progress], None]
) -> dict[str, Outcome]:
    """What came of each task by its id: those in the file, and the others, carried out and added to it."""
    with closing(file):
        outcomes = file.kept
        missing = [task for task in tasks if task.id not in outcomes]
        kept = len(tasks) - len(missing)

        def record(outcome: Outcome) -> None:
            if not outcome.error:  # else not kept, so that the next call tries again
                file.add(outcome)
            outcomes[outcome.id] = outcome
            done = len(tasks) - sum(task.id not in outcomes for task in tasks)
            progress(Progress(done=done, kept=kept, total=len(tasks)))

        progress(Progress(done=kept, kept=kept, total=len(tasks)))
        if missing:
            await carry_out(missing, setup, jobs, record)
    return outcomes


def _check_options(suite: Suite, *, titles: bool, lower: bool, without_column: str) -> None:
    """Raises `UsageError` where the suite has no such way to be run."""
    if not titles and not suite.untitled:
        raise UsageError(
            f"{suite.name} is not run without titles.", hint="--no-titles is for wiki-multihop and gaps."
        )
    if lower and not suite.report:
        raise UsageError(
            f"{suite.name} is not run in lower case.", hint="--lower is for answers and coverage."
        )
    if without_column and not suite.held_out:
        raise UsageError(
            f"{suite.name} is not run without a column.",
            hint="--without-column is for answers, manuals and foreign.",
        )
    if without_column and without_column not in COLUMNS:
        raise UnknownNameError.of("column", without_column, list(COLUMNS))


def _searched(corpus: Path, home: Path, *, titles: bool, lower: bool) -> Path:
    """The index of a file of documents, or the folder of documents itself, as the workers search it."""
    if corpus.is_file():
        return build_index(corpus, home, titles=titles, lower=lower)
    return lowered(corpus, home) if lower else corpus


async def evaluate_group(name: str, data: Path, settings: Mapping[str, Settings], **options: Any) -> Figures:
    """The suites of ``GROUPS[name]`` one after the other, each a set; ``settings`` are those of each, ``options`` as for
    `evaluate`. Raises as `evaluate`."""
    parts = {suite: await evaluate(SUITES[suite], data, settings[suite], **options) for suite in GROUPS[name]}
    first = next(iter(parts.values()))
    return Figures(
        suite=name,
        titles=first.titles,
        jobs=first.jobs,
        sets={suite: figures.sets[ALL] for suite, figures in parts.items()},
        errors={task: error for figures in parts.values() for task, error in figures.errors.items()},
    )


def _sample(questions: Sequence[Question], limit: int | None) -> list[Question]:
    """The questions in the order of their hashes, as many as wanted; each id once."""
    unique = {question.id: question for question in reversed(questions)}
    return sorted(unique.values(), key=lambda question: sha256_hex(question.id.encode()))[:limit]


def _by_set(answered: Answered, measure: Measure) -> dict[str, dict[str, float]]:
    sets: dict[str, Answered] = {ALL: answered}
    names = {question.dataset for question, _ in answered}
    for name in sorted(names - {ALL}) if len(names) > 1 else ():
        sets[name] = [one for one in answered if one[0].dataset == name]
    return {name: {**measure(part), **_effort(part)} for name, part in sets.items()}


def _effort(answered: Answered) -> dict[str, float]:
    """How many runs there were and what they took; failed ones took nothing."""
    runs = [outcome for _, outcomes in answered for outcome in outcomes]
    timed = [outcome for outcome in runs if not outcome.error]
    return {
        "questions": len(answered),
        "not_completed": sum(outcome.status != "completed" for outcome in runs),
        "failed": len(runs) - len(timed),
        "searches_mean": metrics.mean(outcome.searches for outcome in timed),
        "searches_max": max((outcome.searches for outcome in timed), default=0),
        "seconds_p50": metrics.percentile(0.5, (outcome.seconds for outcome in timed)),
        "seconds_p95": metrics.percentile(0.95, (outcome.seconds for outcome in timed)),
        "searching_ms_p50": 1000 * metrics.percentile(0.5, (outcome.searching for outcome in timed)),
        "searching_ms_p95": 1000 * metrics.percentile(0.95, (outcome.searching for outcome in timed)),
    }
