"""Fits the weights of `deep_research.retrieval.ranker`: ``python tests/evals/fit_ranker.py DIR MANUALS``, which are
``--data`` of `tests/evals answers` and of `tests/evals manuals`.

Each question is researched once, and of the last look at all its sources the candidates are kept with their columns. A
candidate is good that holds an accepted answer. The ranker's weights make the good ones likely among the candidates of
their question; the probability's weights tell answered questions from those without evidence: passages without theirs,
articles that do not answer, and the questions of a manual over the next one.
Written are `ranker.json`, fitted on all questions, and `folds.json`, weights that were fitted without a fifth of the
questions of `tests/evals answers`, and without a manual: with those each question is answered by weights that never saw
it.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from deep_research import DeepResearch
from deep_research.retrieval.candidates import Pool, read_document
from deep_research.retrieval.parsed_question import parse_question
from deep_research.retrieval.ranker import COLUMNS, FILE, Ranker, View, signals
from deep_research.retrieval.selection import choose, passages
from evals.answer_scores import holds
from evals.corpora import JsonlCorpus, build_index
from evals.datasets import find_dataset, read_records
from evals.folds import FILE as FOLDS_FILE
from evals.folds import fold_of
from evals.outcomes import BARE
from evals.suites import GROUPS, SUITES

COLUMNS_L2 = SIGNALS_L2 = 2.0
SIGNAL_WORDS = 150  # of what is chosen, by which the probability is told
REPORT_WORDS = 300  # of the report that it is told of
SURVEYED = 40  # sources of a run
Job = tuple[Path, Path, str, str, tuple[str, ...], frozenset[str], bool]


@dataclass(frozen=True, slots=True)
class Run:
    """A question with the id, title and text of each source of its run. Without ``answers`` nothing there answers it."""

    fold: str
    question: str
    answers: tuple[str, ...]
    sources: tuple[tuple[str, str, str], ...]


def researched(job: Job) -> Run:
    """The sources that a question's run ends with, in their order."""
    home, path, fold, text, answers, without, bare = job

    async def run() -> Run:
        found = JsonlCorpus(path).excluding(without) if path.is_file() else None
        where: dict[str, Any] = {"search": [found], "corpus": []} if found else {"corpus": [path]}
        async with DeepResearch(**where, store="memory", data_dir=home) as research:
            result = await research.arun(text)
            sources = [
                (s.id, s.title, await research.atext(s)) for s in result.sources[:SURVEYED] if s.content_hash
            ]
        return Run(fold, text, answers if not bare else (), tuple(sources))

    return asyncio.run(run())


def view_of(run: Run) -> View:
    inquiry = parse_question(run.question)
    documents = [read_document(*source) for source in run.sources]
    return View(inquiry, Pool(documents))


def examples(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """The columns of the candidates, and 1 for each that holds the answer."""
    view = view_of(run)
    rows = [[column(view, c) for column in COLUMNS.values()] for c in view.candidates]
    good = [float(bool(run.answers) and holds(view.text(c), run.answers)) for c in view.candidates]
    return np.array(rows, dtype=float).reshape(len(rows), len(COLUMNS)), np.array(good)


def fitted_columns(groups: list[tuple[np.ndarray, np.ndarray]]) -> dict[str, float]:
    """A conditional logit: the weights under which the softmax over a question's candidates falls on good ones."""
    kept = [(x, good) for x, good in groups if 0 < good.sum() < len(good)]

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = 0.5 * COLUMNS_L2 * w @ w, COLUMNS_L2 * w
        for x, good in kept:
            z = x @ w
            mass = np.exp(z - z.max())
            value -= np.log((mass * good).sum() / mass.sum() + 1e-12)
            slope = slope - x.T @ (mass * good / (mass * good).sum() - mass / mass.sum())
        return float(value), slope

    best = minimize(loss, np.zeros(len(COLUMNS)), jac=True, method="L-BFGS-B").x
    return {name: round(float(x), 3) for name, x in zip(COLUMNS, best, strict=True)}


def told(run: Run, columns: dict[str, float]) -> tuple[dict[str, float], float] | None:
    """The signals of a run, and whether a report of its passages holds its answer; None without candidates."""
    view = view_of(run)
    scores = Ranker(columns, {}, 0.0).scores(view)
    chosen = choose(view, scores, SIGNAL_WORDS)
    if not chosen:
        return None
    shown = passages(view, scores, REPORT_WORDS)
    quotes = (view.pool.named[p.document].candidates[p.first : p.last + 1] for p in shown)
    report = " ".join(view.text(c) for quote in quotes for c in quote)
    return signals(view, scores, chosen), float(bool(run.answers) and holds(report, run.answers))


def fitted_signals(rows: list[tuple[dict[str, float], float]]) -> tuple[dict[str, float], float]:
    """A logistic regression, and its bias."""
    names = list(rows[0][0])
    x = np.array([[row[name] for name in names] + [1.0] for row, _ in rows])
    y = np.array([held for _, held in rows])
    free = np.array([1.0] * len(names) + [0.0])

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        z = x @ w
        value = np.logaddexp(0, z).sum() - y @ z + 0.5 * SIGNALS_L2 * (free * w) @ w
        return float(value), x.T @ (1 / (1 + np.exp(-z)) - y) + SIGNALS_L2 * free * w

    best = minimize(loss, np.zeros(len(names) + 1), jac=True, method="L-BFGS-B").x
    return {name: round(float(v), 3) for name, v in zip(names, best[:-1], strict=True)}, round(
        float(best[-1]), 3
    )


def jobs(data: Path, home: Path) -> Iterator[Job]:
    for suite in (SUITES[name] for name in GROUPS["answers"]):
        dataset = find_dataset(data, suite.folder, suite.questions, suite.corpus)
        corpus = build_index(dataset.corpus, home) if dataset.corpus.is_file() else dataset.corpus
        for question in filter(None, read_records(dataset.questions, suite.read)):
            for n, task in enumerate(suite.tasks(question)):
                fold = fold_of(task.id.removesuffix(BARE))
                yield home, corpus, fold, task.text, question.answers, task.without, n > 0


def manual_jobs(data: Path, home: Path) -> Iterator[Job]:
    suite = SUITES["manuals"]
    dataset = find_dataset(data, suite.folder, suite.questions, suite.corpus)
    questions = list(filter(None, read_records(dataset.questions, suite.read)))
    manuals = sorted({question.folder for question in questions})
    for q in questions:
        other = manuals[(manuals.index(q.folder) + 1) % len(manuals)]
        for folder in (q.folder, other):
            path = dataset.corpus / folder
            yield home, path, q.folder, q.text, q.answers, frozenset(), folder == other


def learned(runs: list[Run], pool: Executor) -> tuple[dict[str, Any], dict[str, Any]]:
    """The ranker that was fitted on all runs, and those that were fitted without each fold, by its name."""
    rows = list(pool.map(examples, runs, chunksize=8))
    names = sorted({run.fold for run in runs})

    def columns(without: str | None) -> dict[str, float]:
        return fitted_columns([row for run, row in zip(runs, rows, strict=True) if run.fold != without])

    folds = {name: columns(name) for name in names}
    # Of each run by weights that never saw its question, as the product meets it.
    shown = list(pool.map(told, runs, [folds[run.fold] for run in runs], chunksize=8))

    def ranker(weights: dict[str, float], without: str | None) -> dict[str, Any]:
        kept = [one for run, one in zip(runs, shown, strict=True) if one and run.fold != without]
        told_by, bias = fitted_signals(kept)
        return {"columns": weights, "signals": told_by, "bias": bias}

    return ranker(columns(None), None), {name: ranker(weights, name) for name, weights in folds.items()}


def main(data: Path, manuals: Path) -> None:
    with tempfile.TemporaryDirectory() as home, ProcessPoolExecutor() as pool:
        todo = [*jobs(data, Path(home)), *manual_jobs(manuals, Path(home))]
        shipped, folds = learned(list(pool.map(researched, todo, chunksize=8)), pool)
    FOLDS_FILE.write_text(json.dumps(folds, indent=1) + "\n")
    FILE.write_text(json.dumps(shipped, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
