"""The figures of a run in a list."""

from __future__ import annotations

from pydantic import ConfigDict

from deep_research.state.question_parts import AnswerCoverage
from deep_research.state.records import Record


class Figures(Record):
    """How far a run came. A figure is None where nobody counted it.

    ``searches_planned`` are the sub-queries of the plan, those that a newer plan replaced left out, and
    ``searches_done`` those of them that were searched without failing. ``sources`` and ``findings`` count each one
    once, and findings that were dropped no more. ``tokens`` are those of models, input and output together, and
    ``cost_usd`` their price, None also where one is unknown; a request counts when it is answered, or lost.
    ``answer_coverage`` is how far the question is: yes, partly, no.
    """

    # A figure that only a newer package knows is not shown by this one.
    model_config = ConfigDict(extra="ignore")

    searches_done: int | None = None
    searches_planned: int | None = None
    sources: int | None = None
    findings: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    answer_coverage: AnswerCoverage | None = None
