"""Fits the weights of `deep_research.evidence.ranker`: ``python tests/evals/fit_ranker.py DIR``, DIR as for `eval`.

Each question of the sets of `eval answers` is researched once, and of the last look at all its sources the candidates
are kept with their columns. A candidate is good that holds an accepted answer. The ranker's weights make the good ones
likely among the candidates of their question; the probability's weights tell answered questions from those without
evidence.
Written are `ranker.json`, fitted on all questions, and `folds.json`, five sets of weights, each fitted without a fifth of
the questions: with those `eval answers` answers each question by weights that never saw it.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from deep_research import DeepResearch
from deep_research.evals.answers import holds
from deep_research.evals.corpora import JsonlCorpus, build_index
from deep_research.evals.datasets import find_dataset, read_records
from deep_research.evals.folds import FILE as FOLDS_FILE
from deep_research.evals.folds import FOLDS, fold_of
from deep_research.evals.suites import GROUPS, SUITES
from deep_research.evidence.candidates import Pool, read_document
from deep_research.evidence.columns import COLUMNS, View
from deep_research.evidence.inquiry import read_question
from deep_research.evidence.ranker import FILE, Ranker, signals
from deep_research.evidence.selection import choose

COLUMNS_L2, SIGNALS_L2 = 2.0, 0.5
SIGNAL_WORDS = 150  # of what is chosen, by which the probability is told
SURVEYED = 40  # sources of a run


@dataclass(frozen=True, slots=True)
class Run:
    """A question with the id, title and text of each source of its run. Without ``answers`` nothing there answers it."""

    id: str
    question: str
    answers: tuple[str, ...]
    sources: tuple[tuple[str, str, str], ...]


def researched(job: tuple[Path, Path, str, str, tuple[str, ...], frozenset[str], bool]) -> Run:
    """The sources that a question's run ends with, in their order."""
    home, path, identity, text, answers, without, bare = job

    async def run() -> Run:
        found = JsonlCorpus(path).excluding(without) if path.is_file() else None
        where: dict[str, Any] = {"search": [found], "corpus": []} if found else {"corpus": [path]}
        async with DeepResearch(**where, store="memory", data_dir=home) as research:
            result = await research.arun(text)
            sources = [
                (s.id, s.title, await research.atext(s)) for s in result.sources[:SURVEYED] if s.content_hash
            ]
        return Run(identity, text, answers if not bare else (), tuple(sources))

    return asyncio.run(run())


def view_of(run: Run) -> View:
    inquiry = read_question(run.question)
    documents = [read_document(*source, inquiry.words) for source in run.sources]
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
    """The signals of a run, and whether what would be shown holds its answer; None without candidates."""
    view = view_of(run)
    ranker = Ranker(columns, {}, 0.0)
    scores = ranker.scores(view)
    chosen = choose(view, scores, SIGNAL_WORDS)
    if not chosen:
        return None
    held = bool(run.answers) and holds(" ".join(view.text(view.candidates[i]) for i in chosen), run.answers)
    return signals(view, scores, chosen), float(held)


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


def jobs(data: Path, home: Path) -> list[Any]:
    made = []
    for suite in (SUITES[name] for name in GROUPS["answers"]):
        dataset = find_dataset(data, suite.folder, suite.questions, suite.corpus)
        corpus = build_index(dataset.corpus, home) if dataset.corpus.is_file() else dataset.corpus
        for question in read_records(dataset.questions, suite.read):
            for n, task in enumerate(suite.tasks(question) if question else ()):
                made.append((home, corpus, question.id, task.text, question.answers, task.without, n > 0))
    return made


def main(data: Path) -> None:
    with tempfile.TemporaryDirectory() as home, ProcessPoolExecutor() as pool:
        runs = list(pool.map(researched, jobs(data, Path(home)), chunksize=8))
        rows = list(pool.map(examples, runs, chunksize=8))

        def learned(without: int | None) -> dict[str, float]:
            return fitted_columns(
                [row for run, row in zip(runs, rows, strict=True) if fold_of(run.id) != without]
            )

        folds = [learned(fold) for fold in range(FOLDS)]
        # Of each run by weights that never saw its question, as the product meets it.
        shown = list(pool.map(told, runs, [folds[fold_of(run.id)] for run in runs], chunksize=8))

    def ranker(columns: dict[str, float], without: int | None) -> dict[str, Any]:
        kept = [one for run, one in zip(runs, shown, strict=True) if one and fold_of(run.id) != without]
        weights, bias = fitted_signals(kept)
        return {"columns": columns, "signals": weights, "bias": bias}

    FOLDS_FILE.write_text(json.dumps([ranker(w, fold) for fold, w in enumerate(folds)], indent=1) + "\n")
    FILE.write_text(json.dumps(ranker(learned(None), None), indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
