"""The supervisor of capabilities: it plans, asks one capability after the other, and knows nothing of them but what each
says it completed."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, TypedDict, Unpack

from deep_research.calls import run_here
from deep_research.capabilities.capability import AgentMessage, Capability, CapabilityAnswer
from deep_research.capabilities.plan import FINISH, CapabilityPlan, PlanStatus, new_plan
from deep_research.capabilities.plan_choice import checked_steps, steps_by_model, steps_by_rule
from deep_research.capabilities.plan_folder import PlanFolder
from deep_research.capabilities.small_talk import small_talk
from deep_research.errors import CapabilityError, DeepResearchError, StoreError, UsageError
from deep_research.logs import get_log, masked, masked_value, told
from deep_research.models.language_model import LanguageModel
from deep_research.supervisor.opening import checked_question

MAX_RETRIES = 1  # calls of a step after the first one
CALL_SECONDS = 7_200.0
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.5, 8.0
MAX_CONTEXT_BYTES = 1 << 20

Approve = Callable[[CapabilityPlan, Capability], bool | Awaitable[bool]]
OnChange = Callable[[CapabilityPlan], None]
log = get_log("capabilities")


class PlanArguments(TypedDict, total=False):
    """The options of `CapabilitySupervisor.arun`."""

    steps: Sequence[str] | None
    messages: Sequence[AgentMessage]
    context: Mapping[str, Any] | None
    approve: Collection[str]


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
        request = checked_question(request)
        if steps is None:
            plan = await self._planned(request, messages, context)
        else:
            chosen = checked_steps(steps, self._capabilities)
            plan = new_plan(request, chosen, origin="given", messages=messages, context=context)
        if plan.next == FINISH and (reply := small_talk(request)) is not None:
            said = AgentMessage(type="ai", content=reply)
            plan = plan.model_copy(update={"messages": (*plan.messages, said)})
        return await self._walk(plan, approve)

    async def aresume(self, plan_id: str, *, approve: Collection[str] = ()) -> CapabilityPlan:
        """Go on with a plan that was interrupted, waits or failed; a finished one is returned as it is. ``approve`` names
        capabilities that may be asked now. Raises `PlanNotFoundError`, `RunBusyError`, `StoreError`."""
        plan = await asyncio.to_thread(self._plans.read, plan_id)
        if plan.status is PlanStatus.COMPLETED:
            return plan
        return await self._walk(plan, approve)

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
                log.warning("not_planned", error=told(error))
        steps = steps_by_rule(request, self._capabilities)
        return new_plan(request, steps, origin="rule", messages=messages, context=context)

    async def _walk(self, plan: CapabilityPlan, approve: Collection[str] = ()) -> CapabilityPlan:
        with self._plans.work_on(plan.id):
            if plan.status is not PlanStatus.COMPLETED:
                plan = plan.again()
                for name in approve:
                    plan = plan.approve(name)
            await self._keep(plan)
            fresh = frozenset(approve)  # given after whatever call is under way began
            while plan.status is PlanStatus.RUNNING:
                plan = await self._step(plan, fresh)
                await self._keep(plan)
                fresh = frozenset()
            return plan

    async def _step(self, plan: CapabilityPlan, fresh: Collection[str]) -> CapabilityPlan:
        """The plan after one call of its next capability, or as it ends without."""
        capability = self._capabilities.get(plan.next)
        if capability is None:
            return plan.failed(f"Nobody offers '{plan.next}'.")
        if not capability.read_only:
            approved = plan.next in (fresh if plan.calling else plan.approved)
            if not approved and not await self._is_approved(plan, capability):
                again = (
                    " A call of it was interrupted, and may have been carried out." if plan.calling else ""
                )
                return plan.waiting(f"'{plan.next}' at {capability.place} needs an approval.{again}")
            plan = plan.approve(plan.next)
        plan = plan.calls()
        await self._keep(plan)
        try:
            async with asyncio.timeout(self._call_seconds):
                answer = await capability.invoke(plan.asking())
            after = plan.answered(_checked(answer, plan))
            problem = f"'{plan.next}' did not complete: {' '.join(after.reply.split())[:300]}"
        except StoreError:
            raise
        except TimeoutError:
            after, problem = plan.tried(), f"'{plan.next}' did not answer in {self._call_seconds:g} seconds."
        except DeepResearchError as error:
            after, problem = plan.tried(), str(error)
        except Exception as error:  # a capability may be anybody's
            after, problem = plan.tried(), f"'{plan.next}' failed: {told(error)}."
        if (tries := after.retries.get(plan.next, 0)) == 0:
            return after
        log.warning("capability_not_completed", plan=plan.id, capability=plan.next, problem=problem)
        if tries > self._max_retries:
            return after.failed(problem)
        await asyncio.sleep(min(FIRST_PAUSE_SECONDS * 2 ** (tries - 1), MAX_PAUSE_SECONDS))
        return after

    async def _is_approved(self, plan: CapabilityPlan, capability: Capability) -> bool:
        if self._approve is None:
            return False
        answer = self._approve(plan, capability)
        return bool(await answer if inspect.isawaitable(answer) else answer)

    async def _keep(self, plan: CapabilityPlan) -> None:
        await asyncio.to_thread(self._plans.write, plan)
        self._on_change(plan)


def _checked(answer: object, plan: CapabilityPlan) -> CapabilityAnswer:
    """An answer without secrets of ours. Raises `CapabilityError` for what is none, repeats a message or is too large."""
    if not isinstance(answer, CapabilityAnswer):
        raise CapabilityError(
            f"'{plan.next}' answered with {type(answer).__name__}.", hint="Return a CapabilityAnswer."
        )
    known = {message.id for message in plan.messages} - {None}
    if any(message.id in known for message in answer.messages):
        raise CapabilityError(f"'{plan.next}' gave an earlier answer again.", hint="Look at that service.")
    try:
        size = len(json.dumps({**plan.context, **answer.context}, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise CapabilityError(
            f"What '{plan.next}' shares is no JSON: {error}.", hint="Share plain values."
        ) from None
    if size > MAX_CONTEXT_BYTES:
        raise CapabilityError(
            f"What '{plan.next}' shares is larger than {MAX_CONTEXT_BYTES:,} bytes.",
            hint="Share addresses, not contents.",
        )
    messages = tuple(
        message.model_copy(update={"content": masked(message.content)}) for message in answer.messages
    )
    return CapabilityAnswer(messages=messages, context=masked_value(answer.context))
