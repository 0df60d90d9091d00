"""Weights that never saw a question: for each fifth of the development questions those fitted on the other four, for each
manual those fitted on the others."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from deep_research.phases.analysis import ExtractiveAnalyzer
from deep_research.phases.synthesis import ExtractiveSynthesizer
from deep_research.retrieval.ranker import Ranker, default_ranker
from deep_research.state.identity import sha256_hex
from evals.outcomes import BARE, Task

FILE = Path(__file__).with_name("folds.json")
FOLDS = 5


@dataclass(frozen=True, slots=True)
class HeldOutAgents:
    """The agents without a model, each question's with weights that never saw it; ``without_column`` counts for
    nothing."""

    without_column: str = ""

    def of(self, task: Task) -> dict[str, Any]:
        ranker = fold_ranker(task.folder or fold_of(task.id.removesuffix(BARE)))
        if self.without_column:
            ranker = replace(ranker, columns={**ranker.columns, self.without_column: 0.0})
        return {"analyzer": ExtractiveAnalyzer(ranker), "synthesizer": ExtractiveSynthesizer()}


def fold_of(question_id: str) -> str:
    return str(int(sha256_hex(question_id.encode()), 16) % FOLDS)


@cache
def fold_ranker(fold: str) -> Ranker:
    """The ranker that was fitted without the questions of ``fold``, a fifth or a manual; the shipped one where that has
    seen nothing of it."""
    known = json.loads(FILE.read_text(encoding="utf-8"))
    return Ranker.of(known[fold]) if fold in known else default_ranker()
