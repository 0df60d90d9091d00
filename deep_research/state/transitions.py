"""The state machine as data: one row per arrow, tried in order.

`next_transition` is all the flow logic there is. The orchestrator describes what happened (`Situation`) and
follows the first row whose guard holds; the diagram in the docs is made from the same rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from deep_research.errors import LogDamagedError
from deep_research.state.phases import AbortReason, DeepResearchPhase


class Node(StrEnum):
    """Where the machine can stand. ``RESUME_POINT`` means the phase that was interrupted."""

    IDLE = "idle"
    PLANNING = "planning"
    GATHERING = "gathering"
    ANALYSIS = "analysis"
    SYNTHESIS = "synthesis"
    REFINEMENT = "refinement"
    PARKED = "parked"
    COMPLETED = "completed"
    ABORTED = "aborted"
    RESUME_POINT = "resume_point"


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What the supervisor knows when it decides where to go.

    ``retry`` and ``replan`` are already bounded: they say that the retry is asked for and allowed.
    ``stop`` is set when the run must end here. ``follow_ups`` counts addressable gaps with new queries; ``critique``
    says that a model wrote this version of the report, and that one is to look at it.
    """

    started: bool = False
    resumed: bool = False
    stop: AbortReason | None = None
    park: bool = False
    retry: bool = False
    replan: bool = False
    blocked: bool = False
    should_iterate: bool = False
    follow_ups: int = 0
    iterations_left: int = 0
    improve_report: bool = False
    critique: bool = False


@dataclass(frozen=True, slots=True)
class Transition:
    """An arrow: from, to, the condition in words, and the condition itself."""

    source: Node
    target: Node
    label: str
    guard: Callable[[Situation], bool]


def _always(_: Situation) -> bool:
    return True


PHASES = tuple(Node(phase.value) for phase in DeepResearchPhase)


def _rows() -> tuple[Transition, ...]:
    n, rows = Node, []

    def row(source: Node, target: Node, label: str, guard: Callable[[Situation], bool]) -> None:
        rows.append(Transition(source, target, label, guard))

    row(n.IDLE, n.PLANNING, "start", lambda s: s.started)
    row(n.IDLE, n.RESUME_POINT, "resume an interrupted run", lambda s: s.resumed)
    row(n.PARKED, n.ABORTED, "cancelled", lambda s: s.stop is not None)
    row(n.PARKED, n.RESUME_POINT, "resume, with an answer or later", lambda s: s.resumed)
    row(n.ABORTED, n.RESUME_POINT, "resume", lambda s: s.resumed)
    for phase in PHASES:
        row(phase, n.ABORTED, "cancelled, timeout, config or error", lambda s: s.stop is not None)
        row(phase, n.PARKED, "it waits: for an answer, a service or a resume", lambda s: s.park)
    for phase in PHASES[1:]:
        row(phase, n.PLANNING, "plan again, once per iteration", lambda s: s.replan)
    for phase in PHASES:
        row(phase, phase, "retry, attempts left", lambda s: s.retry)
    row(
        n.ANALYSIS,
        n.GATHERING,
        "no answer yet, follow-ups and iterations left",
        lambda s: s.blocked and s.should_iterate and s.follow_ups > 0 and s.iterations_left > 0,
    )
    for phase in PHASES[:-1]:
        row(phase, n.ABORTED, "gate blocks, no attempts left", lambda s: s.blocked)
    row(n.PLANNING, n.GATHERING, "gate passed", _always)
    row(n.GATHERING, n.ANALYSIS, "gate passed", _always)
    row(n.ANALYSIS, n.SYNTHESIS, "gate passed", _always)
    row(
        n.SYNTHESIS,
        n.REFINEMENT,
        "unresolved gaps and iterations left",
        lambda s: s.should_iterate and s.iterations_left > 0,
    )
    row(n.SYNTHESIS, n.REFINEMENT, "a version that a model has to look at", lambda s: s.critique)
    row(n.SYNTHESIS, n.COMPLETED, "no gaps, or no iterations left", _always)
    row(
        n.REFINEMENT,
        n.GATHERING,
        "iteration recommended, follow-ups and iterations left",
        lambda s: s.should_iterate and s.follow_ups > 0 and s.iterations_left > 0,
    )
    row(
        n.REFINEMENT,
        n.SYNTHESIS,
        "improve the report once more",
        lambda s: s.improve_report,
    )
    row(n.REFINEMENT, n.COMPLETED, "done", _always)
    return tuple(rows)


TRANSITIONS: tuple[Transition, ...] = _rows()


def next_transition(node: Node, situation: Situation) -> Transition:
    """The first row from ``node`` whose guard holds."""
    for transition in TRANSITIONS:
        if transition.source is node and transition.guard(situation):
            return transition
    raise LogDamagedError(
        f"No way leads on from '{node}'.", hint="Resume runs that are parked, aborted or interrupted."
    )


def opens_iteration(source: DeepResearchPhase, target: DeepResearchPhase) -> bool:
    """Whether the way from one phase to another is a new iteration: back to the searches."""
    order = tuple(DeepResearchPhase)
    return target is DeepResearchPhase.GATHERING and order.index(source) > order.index(target)


def mermaid() -> str:
    """The table as a Mermaid state diagram. What holds for most phases is drawn once, from the box around them."""
    shared = Counter((_end(row), row.label) for row in TRANSITIONS if row.source in PHASES)
    inside: dict[str, None] = {}
    outside: dict[str, None] = {}
    for row in TRANSITIONS:
        common = row.source in PHASES and shared[_end(row), row.label] >= len(PHASES) - 1
        left = "working" if common else _NAMES.get(row.source, row.source)
        right = "working" if common and _end(row) == "itself" else row.target
        line = f"{left} --> {right}: {row.label}"
        within = not common and row.source in PHASES and row.target in PHASES
        (inside if within else outside).setdefault(line)
    return "\n".join(
        [
            "stateDiagram-v2",
            '    state "a phase at work" as working {',
            *(f"        {line}" for line in inside),
            "    }",
            *(f"    {line}" for line in outside),
            f"    {Node.COMPLETED} --> [*]",
            "",
        ]
    )


_NAMES = {Node.IDLE: "[*]"}


def _end(row: Transition) -> str:
    """The target, but for arrows that come back to where they start."""
    return "itself" if row.target is row.source else row.target
