"""Working on one attempt at a task with a model: step by step, each of them a unit of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import BaseModel

from deep_research.budget.shared_budget import Counted
from deep_research.budget.spend_ledger import limit_of, share_of
from deep_research.errors import BudgetError, ModelError, ToolError, WindowError
from deep_research.logs import masked_value
from deep_research.models.base import Message as Turn
from deep_research.models.failures import Verdict
from deep_research.models.language_model import Answer, LanguageModel
from deep_research.models.tool_calls import ToolCall
from deep_research.phases.concurrency import together
from deep_research.phases.gathering.tasks.agent import TaskInput, next_step
from deep_research.phases.gathering.tasks.task_context import lost_quotes, task_finding
from deep_research.phases.gathering.tasks.task_limits import (
    RemainingLimits,
    left_of,
    remaining_limits,
    rest_of,
)
from deep_research.phases.gathering.tasks.task_steps import PHASE, USED_UP, Attempt, Used
from deep_research.phases.gathering.tasks.tool import (
    BUILT_IN,
    DONE,
    MAX_CALLS_PER_STEP,
    MAX_THOUGHT_CHARS,
    THINK,
    TaskEnd,
    Tool,
    Toolbox,
    ToolResult,
)
from deep_research.phases.handoff import QueryFilter, with_latest
from deep_research.phases.prompting import one_line
from deep_research.state import TaskFinding, TaskState, TaskStep, ToolUse
from deep_research.state.events import Event, LimitReached, Progress, Started, TaskFinished, TaskStepped

TOO_MANY = "At most four tools are used in one step. Call it in the next one, if it is still needed."
BESIDE_DONE = "Nothing is used beside done."
GO_ON = "Nothing was called. Call tools, or end the task with done."
REPEATED = "The same was done in an earlier step and would show the same. Do something else, or call done."
ENDED_BY_REPETITION = "Its agent made the same step again and again."
MAX_REPEATS = 2  # times that a step is made: the second time it is refused

# A use, with the tool and the arguments where it may be made.
_Call = tuple[Used, tuple[Tool, BaseModel] | None]
_NEVER_HERE = (Verdict.FATAL, Verdict.PARK, Verdict.TRANSIENT)  # what another step cannot mend


def repetitions(
    uses: Sequence[ToolUse], thought: str, steps: Sequence[TaskStep], reads_on: Container[str]
) -> int:
    """How many of the ``steps`` were the same: they used the same tools with the same arguments, or used none and thought
    the same. A tool of the names in ``reads_on`` shows more each time, until it fails."""
    return sum(
        _identity(step.uses, step.thought) == _identity(uses, thought)
        and not any(use.tool in reads_on and not use.failed for use in step.uses)
        for step in steps
    )


def _identity(uses: Sequence[ToolUse], thought: str) -> tuple[object, ...]:
    calls = sorted((use.tool, json.dumps(use.arguments, sort_keys=True)) for use in uses if use.tool != THINK)
    return tuple(calls) or (thought,)


@dataclass
class TaskRunner(Attempt):
    """The loop of one attempt with a model. ``search`` finishes an attempt to which no source has come without the model,
    given what the model said of it."""

    handoff: TaskInput
    toolbox: Toolbox
    model: LanguageModel
    search: Callable[[TaskFinding], Awaitable[None]]
    _requoted: bool = False

    async def run(self) -> None:
        """Works until the task is finished, which is in the log then. Raises `ModelError` where no model can be reached,
        and `StoreError`."""
        while True:
            self.place.journal.check()
            self.handoff = with_latest(self.handoff, self.place.journal.state)
            stands = next(t for t in self.place.journal.state.tasks if t.task.id == self.task.id)
            if stands.finding is not None:
                return
            rest = remaining_limits(self.task.limits, stands.steps, self.model.profile.price)
            if self.place.journal.state.searching_stopped:
                rest = RemainingLimits(end_reason="Its owner wants nothing more searched.")
            if rest.end_reason:
                await self._finish(stands, TaskFinding(stopped=rest.end_reason))
                return
            number = len(stands.steps) + 1
            began = asyncio.get_running_loop().time()
            last = bool(rest.closing) or number >= self.task.limits.steps
            try:
                answer = await next_step(
                    self.handoff,
                    self.desk,
                    self.toolbox,
                    number,
                    last=last,
                    model=self.model,
                    left=rest,
                    rules=self.place.parts.rules,
                )
            except (BudgetError, WindowError, ModelError) as error:
                if isinstance(error, ModelError) and error.verdict in _NEVER_HERE:
                    raise
                # No further answer of the model is to be had: the task ends with what it has.
                limit = limit_of(error) or share_of(error)
                more = [LimitReached(limit=limit)] if limit else []
                finding = TaskFinding(stopped=error.problem, error="" if stands.source_ids else error.problem)
                await self._finish(stands, finding, *more)
                return
            if answer is None:
                await self._finish(stands, TaskFinding(stopped=rest.tight))
                return
            await self._take(stands, answer, number, began, last=last, closing=rest.closing)

    async def _take(
        self, stands: TaskState, answer: Answer[Turn], number: int, began: float, *, last: bool, closing: str
    ) -> None:
        """Ends the task where the turn of the model does, and uses the tools that it calls otherwise."""
        turn, usage = answer.value, answer.usage
        thought = one_line(turn.content)[:MAX_THOUGHT_CHARS]
        step = TaskStep(number=number, thought=thought, tokens=usage, cost_usd=self.place.cost(usage))
        problem = ""
        if any(call.name == DONE for call in turn.calls) or (last and not turn.calls):
            end, problem = self._end(turn, last=last)
            finding, unlocated = await task_finding(end, self.desk)
            if unlocated and not finding.facts and not last and not self._requoted:
                self._requoted, problem = True, lost_quotes(unlocated)
            if not problem:
                finding = finding.model_copy(update={"stopped": closing})
                await self._finish(stands, finding, step=step, began=began)
                return
        calls = list(map(self._understood, turn.calls))
        uses = [ToolUse(tool=use.tool, arguments=masked_value(dict(use.arguments))) for use, _ in calls]
        reads_on = {name for name, tool in self.toolbox.tools.items() if tool.reads_on}
        repeated = 0 if problem else repetitions(uses, thought, stands.steps, reads_on)
        if repeated >= MAX_REPEATS:
            await self._finish(stands, TaskFinding(stopped=ENDED_BY_REPETITION), step=step, began=began)
            return
        if problem:
            outcomes = [
                Used(use.tool, {}, problem=problem if use.tool == DONE else BESIDE_DONE) for use in uses
            ]
        elif repeated:
            outcomes = [Used(use.tool, use.arguments, problem=REPEATED) for use in uses]
        else:
            outcomes = await self._run_calls(calls[:MAX_CALLS_PER_STEP], stands)
            outcomes += [Used(use.tool, use.arguments, problem=TOO_MANY) for use in uses[MAX_CALLS_PER_STEP:]]
        thinking = Used(THINK, {}, None if repeated else ToolResult(text=GO_ON), REPEATED * bool(repeated))
        await self.record(step, outcomes or [thinking], began, turn=turn)

    def _end(self, turn: Turn, *, last: bool) -> tuple[TaskEnd, str]:
        """What a turn ends the task with, and why it cannot be used so. Of the last turn all that is there is taken."""
        call = next((call for call in turn.calls if call.name == DONE), None)
        if call is None:
            return TaskEnd(answer=turn.content), ""
        try:
            return self.toolbox.end(call), ""
        except ToolError as error:
            answer = call.arguments.get("answer")
            end = TaskEnd(answer=answer if isinstance(answer, str) else turn.content)
            return end, "" if last else str(error)

    # Tools

    def _understood(self, call: ToolCall) -> _Call:
        """A call with its arguments as they may be asked; None where they may not, or cannot be understood."""
        use = Used(call.name, {})
        try:
            tool, arguments = self.toolbox.arguments(call)
            arguments = self._askable(arguments)
        except ToolError as error:
            use.refuse(error)
            return use, None
        use.arguments = _logged(arguments)
        return use, (tool, arguments)

    async def _run_calls(self, calls: Sequence[_Call], stands: TaskState) -> list[Used]:
        """The uses of one step, side by side; what has no room under the caps is told."""
        ready: list[tuple[Used, Tool, BaseModel]] = []
        uses = [use for use, _ in calls]
        searches, fetches = left_of(stands, "searches"), left_of(stands, "fetches")
        for use, understood in calls:
            if understood is None:
                continue
            tool, arguments = understood
            try:
                self._check_egress(tool, arguments)
                self._check_room(tool, searches, fetches)
            except ToolError as error:
                use.refuse(error)
                continue
            searches, fetches = rest_of(searches, tool.searches), rest_of(fetches, tool.fetches)
            ready.append((use, tool, arguments))
        summary = ", ".join(
            f"{use.tool} {one_line(' '.join(map(str, use.arguments.values())))[:60]}" for use in uses
        )
        number = len(stands.steps) + 1
        self._tell(f"step {number} of {self.task.limits.steps}, {summary or 'thinking'}", number)
        await together((partial(self._one, *each) for each in ready), at_once=MAX_CALLS_PER_STEP)
        return uses

    async def _one(self, use: Used, tool: Tool, arguments: BaseModel) -> None:
        own = tool.name not in BUILT_IN
        use.private = (tool.name,) if tool.private else ()
        asks_all = tool.name == "search" and getattr(arguments, "data_source", None) is None
        left_out = self.desk.egress.left_out(self.desk.source_names) if asks_all else ""
        argument_text = " ".join(map(str, use.arguments.values()))
        self.place.journal.progress(Started(phase=PHASE, tool=tool.name, input=argument_text))
        try:
            result = await self.toolbox.use(tool, arguments, self.desk)
        except ToolError as error:
            use.problem = str(error)
            if error.data.get("asked") or own:  # caps hold for what failed too
                use.searches, use.fetches = tool.searches, tool.fetches
            else:
                self.place.purse.charge("max_searches", -tool.searches)
            return
        if own:
            result = _of_tool(tool, result)
        elif left_out:
            result = result.model_copy(update={"notes": (*result.notes, left_out)})
        if any(excerpt.source_id not in self.desk.sources for excerpt in result.excerpts):
            use.problem = f"{tool.name} showed a source that this task does not have."
            use.searches, use.fetches = max(result.searches, tool.searches), max(result.fetches, tool.fetches)
        else:
            use.result = result
        # What was taken before it began is what it may ask for; what it asked for counts.
        self.place.purse.charge("max_searches", (use.searches or result.searches) - tool.searches)
        if own:  # ours takes each page as it asks for it
            self.place.purse.charge("max_fetches", (use.fetches or result.fetches) - tool.fetches)

    def _check_egress(self, tool: Tool, arguments: BaseModel) -> None:
        """Raises `ToolError` where a use could tell others what the task was shown."""
        desk = self.desk
        desk.egress.check(tool, getattr(arguments, "data_source", None), desk.source_names)
        if tool.name == "fetch":
            name = str(getattr(arguments, "link", ""))
            desk.egress.follow(one_line(name)[:40], desk.link(name), desk.links)

    def _check_room(self, tool: Tool, searches: int | None, fetches: int | None) -> None:
        """Raises `ToolError` where a cap leaves nothing for a use, of what is left of the task's own limits or of budgets
        that are shared with other runs: of these it is taken here, but what our tool takes page by page."""
        if searches is not None and tool.searches > searches:
            raise ToolError(USED_UP, hint="End it with what there is.")
        if fetches is not None and tool.fetches > fetches:
            raise ToolError("The cap on pages leaves no more to this task.", hint="Use what is read already.")
        pages = 0 if tool.name in BUILT_IN else tool.fetches
        costs: dict[Counted, int] = {"max_searches": tool.searches, "max_fetches": pages}
        caps = [name for name, many in costs.items() for _ in range(many)]
        for place, name in enumerate(caps):
            refusal = self.place.purse.take(name)
            if refusal is not None:
                for cap in caps[:place]:
                    self.place.purse.charge(cap, -1)
                raise ToolError(refusal.problem, hint="End the task with what there is.")

    def _askable(self, arguments: BaseModel) -> BaseModel:
        """What may leave of the words of an argument: see `askable`. Raises `ToolError` where nothing does."""
        query_filter = QueryFilter(self.handoff.original_query, self.handoff.system_prompt)
        changed = {}
        for name, value in arguments:
            if isinstance(value, str) and not _is_name(value):
                changed[name] = query_filter(value)
                if value.strip() and not changed[name]:
                    raise ToolError(
                        "Nothing of that may be asked: it is addresses or the owner's words.",
                        hint="Say what is looked for in words of the task.",
                    )
        return arguments.model_copy(update=changed)

    def _tell(self, message: str, done: int) -> None:
        of = next(s.query for s in self.place.journal.state.sub_queries if s.id == self.task.sub_query_id)
        note = Progress(phase=PHASE, message=of, step=message, done=done, total=self.task.limits.steps)
        self.place.journal.progress(note)

    # The log

    async def _finish(
        self,
        stands: TaskState,
        finding: TaskFinding,
        *more: Event,
        step: TaskStep | None = None,
        began: float = 0.0,
    ) -> None:
        at: dict[str, Any] = {"task_id": self.task.id, "attempt": self.task.attempt}
        if step is not None:
            took = round(asyncio.get_running_loop().time() - began, 3)
            more = (TaskStepped(**at, step=step.model_copy(update={"seconds": took})), *more)
        if not (stands.source_ids or self.place.journal.state.searching_stopped):
            if more:
                await self.place.journal.record(*more)
            await self.search(finding)
            return
        finding = finding.model_copy(update={"source_ids": stands.source_ids})
        await self.place.journal.record(*more, TaskFinished(**at, finding=finding))


def _of_tool(tool: Tool, result: ToolResult) -> ToolResult:
    """What a tool of the caller's gave: links of one that reads pages are taken to be named by these."""
    origin = tool.name if result.fetches or tool.fetches else ""
    mark = {"origin": origin, "private": tool.private}
    return result.model_copy(update={"links": tuple(link.model_copy(update=mark) for link in result.links)})


def _logged(arguments: BaseModel) -> dict[str, Any]:
    """What was used, as the log has it: texts cut to a length that it can have. What may not be asked is in no log."""
    values = arguments.model_dump(mode="json", exclude_none=True)
    return {name: value[:1_000] if isinstance(value, str) else value for name, value in values.items()}


def _is_name(value: str) -> bool:
    """Whether it can only be a name that code gave."""
    plain = value.strip()
    return len(plain) <= 8 and plain[:1] in "SL" and plain[1:].isdigit()
