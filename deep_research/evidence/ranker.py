"""A linear ranker of candidates, and how sure it is that what was chosen holds the answer. Pure; the weights are data.

``tests/evals/fit_ranker.py`` writes the weights: the columns by a conditional logit over the candidates of each question,
the probability by a logistic regression over what answered questions show and unanswered ones do not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, fsum
from pathlib import Path
from typing import Any

from deep_research.evidence.columns import COLUMNS, View

FILE = Path(__file__).with_name("ranker.json")


@dataclass(frozen=True, slots=True)
class Ranker:
    """``columns`` are the weights of `COLUMNS`, ``signals`` those of `signals`, with their ``bias``."""

    columns: Mapping[str, float]
    signals: Mapping[str, float]
    bias: float

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Ranker:
        return cls(dict(data["columns"]), dict(data["signals"]), float(data["bias"]))

    def scores(self, view: View) -> list[float]:
        """Of each of the view's candidates: the more, the rather it answers. Only differences mean something."""
        weights = [(COLUMNS[name], weight) for name, weight in self.columns.items() if weight]
        return [sum(weight * column(view, c) for column, weight in weights) for c in view.candidates]

    def probability(self, view: View, scores: Sequence[float], chosen: Sequence[int]) -> float:
        """That the chosen candidates hold the answer (0 to 1)."""
        if not chosen:
            return 0.0
        told = signals(view, scores, chosen)
        return 1 / (1 + exp(-self.bias - sum(self.signals.get(name, 0.0) * x for name, x in told.items())))


@cache
def default_ranker() -> Ranker:
    return Ranker.of(json.loads(FILE.read_text(encoding="utf-8")))


def signals(view: View, scores: Sequence[float], chosen: Sequence[int]) -> dict[str, float]:
    """What it shows in whether a question is answered, each 0 to 1; of a view with candidates."""
    first = view.candidates[max(range(len(scores)), key=lambda i: (scores[i], -i))]
    tells = frozenset[str]().union(*(view.tells(view.candidates[i]) for i in chosen))
    names = {term: view.weights[term] for term in view.inquiry.names}
    named = fsum(weight for term, weight in names.items() if term in tells)
    return {
        "covered": view.share(tells),
        "covered_near": view.wide(first),
        "names": named / fsum(names.values()) if named else float(not names),
        "titled": view.share(view.titled(first)),
        "linked": view.linked[view.at(first)],
        "length": min(1.0, len(view.asked) / 20),
    }
