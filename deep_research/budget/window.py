"""Window of a model: the tokens that a request may have, and how hard a role thinks. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from deep_research.models.base import Effort, ModelCall
from deep_research.models.profiles import Profile
from deep_research.state import ModelRole
from deep_research.state.phases import EVERY_ROLE

# Tokens that the environment of a call takes beside it, as the spec gives them.
RUNTIMES = {
    "direct-api": 10_000,
    "gemini-cli": 20_000,
    "codex": 30_000,
    "cursor": 40_000,
    "claude-code": 60_000,
}
# Of the window at most: ten thousand tokens of a small local model's would be all it has.
LARGEST_OVERHEAD = {"direct-api": 0.05}
SAFETY_MARGIN = 0.15
LEAST_ANSWER = 256  # tokens


@dataclass(frozen=True, slots=True)
class Window:
    """A model's window in tokens. ``output`` is kept for the answer, ``overhead`` for what surrounds a call, and of
    what is left ``margin`` (a fraction) for counts that are wrong."""

    context: int
    output: int
    overhead: int = 0
    margin: float = SAFETY_MARGIN

    @classmethod
    def of(
        cls,
        context: int,
        output: int,
        *,
        runtime: str = "direct-api",
        overhead: int | None = None,
        margin: float,
    ) -> Window:
        """With so much ``overhead``, or what the ``runtime`` takes."""
        if overhead is None:
            overhead = RUNTIMES[runtime]
            if runtime in LARGEST_OVERHEAD:
                overhead = min(overhead, int(context * LARGEST_OVERHEAD[runtime]))
        return cls(context, min(output, context // 2), overhead, margin)

    @property
    def input(self) -> int:
        """Tokens that may be sent by plan. The margin is for the planner alone: see ``most``."""
        return max(0, int((self.context - self.output - self.overhead) * (1 - self.margin)))

    @property
    def most(self) -> int:
        """Tokens that may be sent at all: what is certain to be a bound needs no margin."""
        return max(0, self.context - self.output - self.overhead)


def answer_cap(most: int, profile: Profile) -> int:
    """Tokens that an answer may have: ``most``, but of a small window no more than a third."""
    return max(LEAST_ANSWER, min(most, profile.output, profile.context // 3))


# Those who decide what is done, and who write and judge; the others read and sort.
USUAL_EFFORT: Mapping[str, Effort] = MappingProxyType(
    {
        ModelRole.SUPERVISOR.value: Effort.HIGH,
        ModelRole.PLANNER.value: Effort.HIGH,
        ModelRole.REFINER.value: Effort.HIGH,
        ModelRole.TASK_AGENT.value: Effort.MEDIUM,
        ModelRole.SYNTHESIZER.value: Effort.MEDIUM,
        ModelRole.JUDGE.value: Effort.MEDIUM,
    }
)


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The ``effort`` and the tokens for ``thinking`` that an owner wants, by role or for `EVERY_ROLE`; a role's own goes
    first.

    >>> Reasoning(effort={"all": "low", "planner": "medium"}).effort_of(ModelRole.PLANNER)
    <Effort.MEDIUM: 'medium'>
    """

    effort: Mapping[str, str] = field(default_factory=dict)
    thinking: Mapping[str, int] = field(default_factory=dict)

    def effort_of(self, role: ModelRole) -> Effort:
        """What is wanted, else what is usual."""
        wanted = self.effort.get(role) or self.effort.get(EVERY_ROLE)
        return Effort(wanted) if wanted else USUAL_EFFORT.get(role, Effort.LOW)

    def thinking_of(self, role: ModelRole) -> int:
        """Tokens that are for thinking alone; 0: as many as the service has it."""
        return self.thinking.get(role, self.thinking.get(EVERY_ROLE, 0))

    def output(self, role: ModelRole, output: int, profile: Profile) -> int:
        """Tokens of an answer of ``output`` tokens with the thinking before it, within what the model has."""
        thinking = self.thinking_of(role)
        return max(output, answer_cap(output + thinking, profile)) if thinking else output

    def call(self, role: ModelRole, call: ModelCall, profile: Profile) -> ModelCall:
        """The call as it is sent for a role; an effort and thinking of its own go before."""
        return call.model_copy(
            update={
                "effort": call.effort or self.effort_of(role),
                "thinking": call.thinking if call.thinking is not None else self.thinking_of(role),
                "max_output": self.output(role, call.max_output, profile),
            }
        )
