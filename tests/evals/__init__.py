"""Evaluations: the product is run on questions whose answers are known, and what it finds is measured."""

from evals.evaluation import ALL, Figures, Progress, evaluate, evaluate_group, suite_named
from evals.folds import HeldOutAgents
from evals.suites import GROUPS, SUITES, Suite

__all__ = [
    "ALL",
    "GROUPS",
    "SUITES",
    "Figures",
    "HeldOutAgents",
    "Progress",
    "Suite",
    "evaluate",
    "evaluate_group",
    "suite_named",
]
