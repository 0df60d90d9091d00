"""How hard the model of a role is asked to think, and what room that takes of its answers. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from deep_research.budget.window import answer_cap
from deep_research.models.base import Effort, ModelCall
from deep_research.models.profiles import Profile
from deep_research.state import ModelRole
from deep_research.state.phases import EVERY_ROLE

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
