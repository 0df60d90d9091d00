"""Evaluations: the product is run on questions whose answers are known, and what it finds is measured."""

from deep_research.evals.running import Figures, Progress, evaluate, suite_named
from deep_research.evals.suites import SUITES, Suite

__all__ = ["SUITES", "Figures", "Progress", "Suite", "evaluate", "suite_named"]
