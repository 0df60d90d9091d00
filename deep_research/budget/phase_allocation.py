"""Split of a cap over the iterations and phases of a run. Pure.

What is left of a cap when an iteration begins, less what the report needs, is divided by the iterations left; of that
part 10 % are for planning, 40 % for analysis, 35 % for synthesis and 15 % for refinement; in the last iteration, which
nothing is refined after, the synthesis has those too. A share is a ceiling of all
that the run may have spent and set aside, so what one phase leaves is there for the next, and what one iteration leaves
is divided anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from deep_research.state import DeepResearchPhase, DeepResearchState, Spent

# Of an iteration's part, what may be spent by the end of a phase. Who searches with a model spends of the analysis.
_BY_THEN: Mapping[DeepResearchPhase, float] = {
    DeepResearchPhase.PLANNING: 0.10,
    DeepResearchPhase.GATHERING: 0.50,
    DeepResearchPhase.ANALYSIS: 0.50,
    DeepResearchPhase.SYNTHESIS: 0.85,
    DeepResearchPhase.REFINEMENT: 1.0,
}
_WITH_THE_REPORT = (DeepResearchPhase.SYNTHESIS, DeepResearchPhase.REFINEMENT)


@dataclass(frozen=True, slots=True)
class Share:
    """Of one cap, for the requests of one phase: what the run may have spent and set aside with the next one, in the unit
    of the cap. ``first`` is that for the first request of the phase: a share that is less than one request would leave
    the phase without any."""

    ceiling: float
    first: float

    def requests(self, spent: float, each: float) -> int | None:
        """How many requests that take at most ``each`` there is room for after ``spent``; None: any number."""
        if each <= 0:
            return None
        return max(int(max(0.0, self.ceiling - spent) / each), int(spent + each <= self.first))

    def half(self, spent: float) -> Share:
        """For who may have half of what there is after ``spent``, and is never the first."""
        ceiling = spent + (self.ceiling - spent) / 2
        return Share(ceiling=ceiling, first=ceiling)


def share(
    phase: DeepResearchPhase,
    *,
    cap: float,
    began: float,
    report: float,
    iterations: int,
    again: bool = False,
) -> Share:
    """``began`` is what was spent when the iteration began, ``report`` what one report can take at most, ``iterations``
    how many are left, this one included. ``again``: it is not the first."""
    kept = reserve(cap - began, report, again=again)
    part = max(0.0, cap - began - kept) / iterations
    may_report = phase in _WITH_THE_REPORT
    by_then = 1.0 if may_report and iterations == 1 else _BY_THEN[phase]
    ceiling = began + by_then * part + (kept if may_report else 0.0)
    first = cap if may_report else cap - kept
    return Share(ceiling=min(ceiling, first), first=first)


def reserve(left: float, report: float, *, again: bool = False) -> float:
    """What of ``left`` is kept for the report until it is written: never more than half, without which there is nothing
    to write of, unless something was read before and is to be read ``again``."""
    if again:
        return max(0, min(report, left))
    half = left // 2 if isinstance(left, int) else left / 2  # there is no half of a request
    return max(0, min(report, half))


@dataclass(frozen=True, slots=True)
class Allowance:
    """The shares of a phase by the name of the cap. ``answers`` is how many requests of the phase had been answered when
    this pass of it began; None: it is not the phase that is at work, and no request is its first."""

    phase: DeepResearchPhase
    shares: Mapping[str, Share]
    answers: int | None = None

    @classmethod
    def of(cls, state: DeepResearchState, phase: DeepResearchPhase, report: Spent) -> Allowance:
        """As the log has it, so that a resumed run has the same. A cap whose books are unknown has no share. Where a
        report is written and no gap is open, there is no further iteration to leave anything for."""
        began, needed = state.iteration_spent.by_cap, report.by_cap
        is_last = phase is DeepResearchPhase.SYNTHESIS and not state.should_continue()
        iterations = 1 if is_last else max(1, state.max_iterations - state.iteration + 1)
        shares = {}
        for name, cap in state.options.budget.on_models.items():
            spent, kept = began[name], needed[name]
            if spent is not None and kept is not None:
                shares[name] = share(
                    phase,
                    cap=cap,
                    began=spent,
                    report=kept,
                    iterations=iterations,
                    again=state.iteration > 1,
                )
        return cls(phase, shares, state.phase_answers if phase is state.phase else None)

    def beside_agent(self, state: DeepResearchState) -> Allowance:
        """For who shortens what the agent of the phase is to read: at most half of what each share had when this pass
        of the phase began, so that the other half is there for the reading. A request of it is never the first."""
        spent = state.phase_spent.by_cap
        halves = {name: share.half(spent[name] or 0) for name, share in self.shares.items()}
        return replace(self, shares=halves, answers=None)
