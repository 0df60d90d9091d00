"""A plan of capabilities: which are to be done, how far it is, and what was said. Pure."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from deep_research.capabilities.capability import AgentMessage, CapabilityAnswer, CapabilityRequest
from deep_research.capabilities.completion_contract import completed_capability, contract_fields
from deep_research.state import Record

FINISH = "FINISH"
PLAN_ID = re.compile(r"plan-[0-9a-f]{12}")
MAX_STEPS = 20
VERSION = 1


class PlanStatus(StrEnum):
    """``WAITING`` is for an approval; ``FAILED`` can be gone on with."""

    RUNNING = "running"
    WAITING = "waiting"
    FAILED = "failed"
    COMPLETED = "completed"


class CapabilityPlan(Record):
    """The record of a plan. ``steps`` are names of capabilities in their order, ``index`` the place of the next one; at
    the end of the steps the plan is finished. ``retries`` counts the calls of the next step that did not complete it,
    ``answers`` those of them that brought an answer; ``calling`` says that a call began whose answer is not recorded.
    ``approved`` are calls that the user approved, such as ``send_email at here``; ``message`` says why the plan waits or
    failed."""

    version: Literal[1] = 1
    id: str
    request: str
    origin: Literal["given", "rule", "model"] = "given"
    steps: tuple[str, ...] = Field(max_length=MAX_STEPS)
    index: int = Field(default=0, ge=0)
    completed: tuple[str, ...] = ()
    retries: dict[str, int] = Field(default_factory=dict)
    answers: int = 0
    calling: bool = False
    approved: tuple[str, ...] = ()
    messages: tuple[AgentMessage, ...] = ()
    context: dict[str, Any] = Field(default_factory=dict)
    status: PlanStatus = PlanStatus.RUNNING
    message: str = ""

    @property
    def next(self) -> str:
        """The capability that is next, `FINISH` when all are done."""
        return self.steps[self.index] if self.index < len(self.steps) else FINISH

    @property
    def reply(self) -> str:
        """The last message of an agent, "" before there is one."""
        return next((each.content for each in reversed(self.messages) if each.type == "ai"), "")

    def data(self, capability: str) -> dict[str, Any]:
        """The data of the last message in which this capability says that it is completed; empty without one."""
        for message in reversed(self.messages):
            if message.name == capability and completed_capability(message.content) == capability:
                data = contract_fields(message.content).get("data")
                return data if isinstance(data, dict) else {}
        return {}

    def asking(self) -> CapabilityRequest:
        """The request to the next capability. Its context has, besides what capabilities share, how far the plan is."""
        return CapabilityRequest(
            capability=self.next,
            messages=self.messages,
            context={**self.context, "plan": _progress(self)},
            key=f"{self.id}-{self.index}-{self.answers}",
        )

    def calls(self, approval: str = "") -> CapabilityPlan:
        """A call of the next capability begins, which uses up an approval."""
        approved = list(self.approved)
        if approval in approved:
            approved.remove(approval)
        return self.model_copy(update={"calling": True, "approved": tuple(approved), "message": ""})

    def with_answer(self, answer: CapabilityAnswer) -> CapabilityPlan:
        """The next capability answered. What its last message says is completed decides, and nothing else of it; the
        plan's own entry of the context stays as it is."""
        name = self.next
        messages = tuple(each.model_copy(update={"type": "ai", "name": name}) for each in answer.messages)
        shared = {key: value for key, value in answer.context.items() if key != "plan"}
        plan = self.model_copy(
            update={
                "messages": (*self.messages, *messages),
                "context": {**self.context, **shared},
                "calling": False,
            }
        )
        if completed_capability(messages[-1].content) != name:
            return plan.model_copy(update={"answers": self.answers + 1}).with_attempt()
        retries = {key: count for key, count in self.retries.items() if key != name}
        changes = {
            "completed": (*self.completed, name),
            "index": self.index + 1,
            "retries": retries,
            "answers": 0,
        }
        plan = plan.model_copy(update=changes)
        return plan.finished() if plan.next == FINISH else plan

    def with_attempt(self, *, is_over: bool = False) -> CapabilityPlan:
        """A call of the next capability did not complete it. ``is_over``: it is known to have done nothing."""
        retries = {**self.retries, self.next: self.retries.get(self.next, 0) + 1}
        return self.model_copy(update={"retries": retries, "calling": self.calling and not is_over})

    def approve(self, approvals: Iterable[str]) -> CapabilityPlan:
        return self.model_copy(update={"approved": (*self.approved, *approvals)})

    def again(self) -> CapabilityPlan:
        """A plan that waits or failed goes on, its tries counted anew."""
        return self.model_copy(update={"status": PlanStatus.RUNNING, "message": "", "retries": {}})

    def waiting(self, message: str) -> CapabilityPlan:
        return self.model_copy(update={"status": PlanStatus.WAITING, "message": message})

    def failed(self, message: str) -> CapabilityPlan:
        return self.model_copy(update={"status": PlanStatus.FAILED, "message": message})

    def finished(self) -> CapabilityPlan:
        return self.model_copy(update={"status": PlanStatus.COMPLETED, "message": ""})


def new_plan(
    request: str,
    steps: Sequence[str],
    *,
    origin: Literal["given", "rule", "model"],
    messages: Sequence[AgentMessage] = (),
    context: Mapping[str, Any] | None = None,
) -> CapabilityPlan:
    """A plan before its first step: after the earlier ``messages`` of the conversation comes the request."""
    plan_id = f"plan-{secrets.token_hex(6)}"
    own = AgentMessage(type="human", content=request, id=f"{plan_id}-request")
    plan = CapabilityPlan(
        id=plan_id,
        request=request,
        origin=origin,
        steps=tuple(steps),
        messages=(*messages, own),
        context=dict(context or {}),
    )
    return plan if steps else plan.finished()


def _progress(plan: CapabilityPlan) -> dict[str, Any]:
    return {
        "id": plan.id,
        "steps": list(plan.steps),
        "current_step_index": plan.index,
        "completed_capabilities": list(plan.completed),
    }
