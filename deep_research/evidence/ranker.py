"""A linear ranker of candidates, and how sure it is that what was chosen holds the answer. Pure; the weights are data.

``tests/evals/fit_ranker.py`` writes the weights: the columns by a conditional logit over the candidates of each question,
the probability by a logistic regression over what answered questions show and unanswered ones do not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp
from pathlib import Path
from typing import Any

from deep_research.evidence.columns import COLUMNS, View, proximity

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
    """What it shows in whether a question is answered; of a view with candidates."""
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    first = view.candidates[order[0]]
    told = frozenset[str]().union(*(asked(view, view.candidates[i]) for i in chosen))
    names = {term: view.weights[term] for term in view.inquiry.names}
    mass = sum(names.values())

    def named(terms: frozenset[str]) -> float:
        return sum(weight for term, weight in names.items() if term in terms) / mass if mass else 1.0

    return {
        "score": scores[order[0]],
        "margin": scores[order[0]] - scores[order[min(5, len(order) - 1)]],
        "covered": view.share(told),
        "covered_first": view.cover(first),
        "covered_near": view.wide(first),
        "names": named(told),
        "names_first": named(asked(view, first)),
        "known": view.share(view.known),
        "kind": COLUMNS["kind"](view, first),
        "proximity": proximity(view, first),
        "linked": view.linked[view.at(first)],
        "length": min(1.0, len(view.asked) / 20),
    }


def asked(view: View, c: Candidate) -> frozenset[str]:
    """What of the question a candidate tells, with the title over it."""
    return view.asked_in(c) | view.titled(c)
