"""The supervisor of capabilities: it plans, asks one capability after the other, and knows nothing of them but what each
says it completed."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from deep_research.calls import run_here
from deep_research.capabilities.capability import AgentMessage, Capability, CapabilityAnswer
from deep_research.capabilities.plan import FINISH, CapabilityPlan, PlanStatus, new_plan
from deep_research.capabilities.plan_choice import checked_steps, steps_by_model, steps_by_rule
from deep_research.capabilities.plan_folder import PlanFolder
from deep_research.capabilities.small_talk import small_talk
from deep_research.errors import (
    CapabilityError,
    ConfigurationError,
    DeepResearchError,
    StoreError,
    UnknownNameError,
    UsageError,
)
from deep_research.logs import describe_error, get_log, masked
from deep_research.models.characters import in_all_texts
from deep_research.models.language_model import LanguageModel
from deep_research.supervisor.opening import checked_question

MAX_RETRIES = 1  # calls of a step after the first one
CALL_SECONDS = 7_200.0
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.5, 8.0
MAX_CONTEXT_BYTES, MAX_ANSWER_BYTES, MAX_PLAN_BYTES = 1 << 20, 4 << 20, 24 << 20

Approve = Callable[[CapabilityPlan, Capability], bool | Awaitable[bool]]
OnChange = Callable[[CapabilityPlan], None]
log = get_log("capabilities")


class PlanArguments(TypedDict, total=False):
    """The options of `CapabilitySupervisor.arun`."""

    steps: Sequence[str] | None
    messages: Sequence[AgentMessage]
    context: Mapping[str, Any] | None
    approve: Collection[str]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The ``plan`` after a call; the ``problem`` of one that did not complete it, "" otherwise. ``permanent``: another
    try would come to the same; ``waits``: for its user."""

    plan: CapabilityPlan
    problem: str = ""
    permanent: bool = False
    waits: bool = False


class CapabilitySupervisor:
    """Has capabilities do what a request wants, one after the other.

    The plan is kept in ``plans`` after every step and before every call: `aresume` goes on with one whose process died. A
    capability whose answer is kept is not called again, and a call that was under way is repeated with the same key.
    ``planner`` is the model that makes plans; without one a rule does. ``approve`` is called with the plan and a
    capability that is not read-only; without it, or where it says no, the plan waits for ``resume(…, approve=[name])``.
    A step is tried once more, or ``max_retries`` times; ``on_change`` sees every kept plan.

    Example:
        found = discover(local=[LocalResearch(engine)])
        supervisor = CapabilitySupervisor(found.capabilities, PlanFolder(data_dir))
        plan = supervisor.run("Who built Bell Rock?")
        plan.data("research")["research_summary"]["summary"]
    """

    def __init__(
        self,
        capabilities: Mapping[str, Capability],
        plans: PlanFolder,
        *,
        planner: LanguageModel | None = None,
        approve: Approve | None = None,
        on_change: OnChange = lambda _: None,
        max_retries: int = MAX_RETRIES,
        call_seconds: float = CALL_SECONDS,
    ) -> None:
        self._capabilities = capabilities
        self._plans = plans
        self._planner = planner
        self._approve = approve
        self._on_change = on_change
        self._max_retries = max_retries
        self._call_seconds = call_seconds

    async def arun(
        self,
        request: str,
        *,
        steps: Sequence[str] | None = None,
        messages: Sequence[AgentMessage] = (),
        context: Mapping[str, Any] | None = None,
        approve: Collection[str] = (),
    ) -> CapabilityPlan:
        """Plan and carry out: look at the ``status`` of what is returned. ``steps`` is a plan of your own, by names of
        capabilities; ``messages`` is the conversation before the request; ``approve`` as in `resume`.

        Raises `UsageError`, `StoreError`."""
        request, names = checked_question(request), self._approvals(approve)
        _check_json(context or {}, "the context")
        if steps is None:
            plan = await self._planned(request, messages, context)
        else:
            step_names = checked_steps(steps, self._capabilities)
            plan = new_plan(request, step_names, origin="given", messages=messages, context=context)
        if plan.next == FINISH and (reply := small_talk(request)) is not None:
            reply_message = AgentMessage(type="ai", content=reply)
            plan = plan.model_copy(update={"messages": (*plan.messages, reply_message)})
        with self._plans.work_on(plan.id):
            return await self._walk(plan, names)

    def _approvals(self, approve: Collection[str]) -> tuple[str, ...]:
        if isinstance(approve, str):
            raise UsageError("approve is a list of names.", hint=f"For example: approve=[{approve!r}]")
        for name in approve:
            if name not in self._capabilities:
                raise UnknownNameError.of("capability", name, self._capabilities)
        return tuple(approve)

    async def aresume(self, plan_id: str, *, approve: Collection[str] = ()) -> CapabilityPlan:
        """Go on with a plan that was interrupted, waits or failed; a finished one is returned as it is. Each name in
        ``approve`` lets that capability be called once, where it is offered now. Raises `UnknownNameError`,
        `PlanNotFoundError`, `RunBusyError`, `StoreError`."""
        names = self._approvals(approve)
        with self._plans.work_on(plan_id):
            plan = await asyncio.to_thread(self._plans.read, plan_id)
            return plan if plan.status is PlanStatus.COMPLETED else await self._walk(plan, names)

    def run(self, request: str, **options: Unpack[PlanArguments]) -> CapabilityPlan:
        """`arun`, for callers without an event loop."""
        return run_here(self.arun(request, **options))

    def resume(self, plan_id: str, *, approve: Collection[str] = ()) -> CapabilityPlan:
        """`aresume`, for callers without an event loop."""
        return run_here(self.aresume(plan_id, approve=approve))

    async def _planned(
        self, request: str, messages: Sequence[AgentMessage], context: Mapping[str, Any] | None
    ) -> CapabilityPlan:
        if not self._capabilities:
            raise UsageError("There are no capabilities.", hint="See docs/capabilities.md.")
        if self._planner is not None and small_talk(request) is None:
            try:
                if steps := await steps_by_model(request, self._capabilities, self._planner):
                    return new_plan(request, steps, origin="model", messages=messages, context=context)
            except Exception as error:  # a provider may be anybody's, and the rule does as well
                log.warning("not_planned", error=describe_error(error))
        steps = steps_by_rule(request, self._capabilities)
        return new_plan(request, steps, origin="rule", messages=messages, context=context)

    async def _walk(self, plan: CapabilityPlan, approve: Collection[str]) -> CapabilityPlan:
        """Raises `StoreError`. The caller works on the plan alone."""
        if plan.status is not PlanStatus.COMPLETED:
            plan = plan.again().approve(f"{name} at {self._capabilities[name].place}" for name in approve)
        plan = await self._keep(plan)
        while plan.status is PlanStatus.RUNNING:
            plan = await self._keep(await self._step(plan))
        return plan

    async def _step(self, plan: CapabilityPlan) -> CapabilityPlan:
        """The plan after one call of its next capability, or as it ends without."""
        capability = self._capabilities.get(plan.next)
        if capability is None:
            return plan.failed(f"Nobody offers '{plan.next}'.")
        mark = "" if capability.read_only else f"{plan.next} at {capability.place}"
        if mark and mark not in plan.approved and not await self._is_approved(plan, capability):
            again = " A call of it was interrupted, and may have been carried out." if plan.calling else ""
            return plan.waiting(f"'{plan.next}' at {capability.place} needs an approval.{again}")
        plan = await self._keep(plan.calls(mark))
        outcome = await self._called(capability, plan)
        after, problem = outcome.plan, outcome.problem
        if not problem:
            return after
        log.warning("capability_not_completed", plan=plan.id, capability=plan.next, problem=problem)
        if outcome.waits:
            return after.waiting(problem)
        if mark:  # whether it did something nobody knows: only its user may have it done again
            return after.waiting(f"{problem} Another try needs another approval.")
        tries = after.retries.get(plan.next, 0)
        if outcome.permanent or tries > self._max_retries:
            return after.failed(problem)
        await asyncio.sleep(min(FIRST_PAUSE_SECONDS * 2 ** (tries - 1), MAX_PAUSE_SECONDS))
        return after

    async def _called(self, capability: Capability, plan: CapabilityPlan) -> _Outcome:
        """One call, whatever comes of it. Raises `StoreError`."""
        try:
            async with asyncio.timeout(self._call_seconds) as limit:
                answer = await capability.invoke(plan.asking())
            after = plan.with_answer(_check_answer(answer, plan))
            if after.index > plan.index:
                return _Outcome(after)
            return _Outcome(after, f"'{plan.next}' did not complete: {' '.join(after.reply.split())[:300]}")
        except StoreError:
            raise
        except CapabilityError as error:
            is_clear = bool(error.data.get("refused"))
            return _Outcome(
                plan.with_attempt(is_over=is_clear), str(error), is_clear, waits=bool(error.data.get("waits"))
            )
        except DeepResearchError as error:
            is_clear = isinstance(error, UsageError | ConfigurationError)
            return _Outcome(plan.with_attempt(is_over=is_clear), str(error), is_clear)
        except Exception as error:  # a capability may be anybody's
            if isinstance(error, TimeoutError) and limit.expired():
                return _Outcome(
                    plan.with_attempt(), f"'{plan.next}' did not answer in {self._call_seconds:g} seconds."
                )
            return _Outcome(plan.with_attempt(), f"'{plan.next}' failed: {describe_error(error)}.")

    async def _is_approved(self, plan: CapabilityPlan, capability: Capability) -> bool:
        if self._approve is None:
            return False
        answer = self._approve(plan, capability)
        return bool(await answer if inspect.isawaitable(answer) else answer)

    async def _keep(self, plan: CapabilityPlan) -> CapabilityPlan:
        """The plan as it is kept: without secrets of ours."""
        plan = in_all_texts(plan, masked)
        await asyncio.to_thread(self._plans.write, plan)
        self._on_change(plan)
        return plan


def _check_answer(answer: object, plan: CapabilityPlan) -> CapabilityAnswer:
    """Raises `CapabilityError` for what is no answer, repeats a message, cannot be kept or is too large."""
    if not isinstance(answer, CapabilityAnswer):
        raise CapabilityError(
            f"'{plan.next}' answered with {type(answer).__name__}.", hint="Return a CapabilityAnswer."
        )
    known_ids = {message.id for message in plan.messages} - {None}
    if any(message.id in known_ids for message in answer.messages):
        raise CapabilityError(f"'{plan.next}' repeated an earlier answer.", hint="Check that service.")
    try:
        context = _check_json({**plan.context, **answer.context}, f"what '{plan.next}' shares")
        added = _check_json(
            [message.model_dump() for message in answer.messages], f"the answer of '{plan.next}'"
        )
    except UsageError as error:
        raise CapabilityError(error.problem, hint=error.hint) from None
    plan_bytes = sum(len(message.content) for message in plan.messages)
    for size, most in (
        (context, MAX_CONTEXT_BYTES),
        (added, MAX_ANSWER_BYTES),
        (plan_bytes + added, MAX_PLAN_BYTES),
    ):
        if size > most:
            raise CapabilityError(
                f"What '{plan.next}' answers is larger than {most:,} bytes.",
                hint="Return addresses instead of contents.",
                refused=True,
            )
    return answer


def _check_json(value: object, what: str) -> int:
    """The bytes of a value as JSON. Raises `UsageError` for one that cannot be kept."""
    try:
        return len(json.dumps(value, allow_nan=False, ensure_ascii=False).encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"{what[:1].upper()}{what[1:]} cannot be kept as JSON: {describe_error(error)}.",
            hint="Use plain values.",
        ) from None
