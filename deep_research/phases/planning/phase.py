"""PLANNING: one call to the planner, one plan, and the rules that it is held to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from deep_research.budget.metered import RunModels, shorter
from deep_research.budget.tokens import Counter
from deep_research.errors import SearchError
from deep_research.logs import describe_error, get_log
from deep_research.phases.agent_contract import Agent
from deep_research.phases.base import Phase, WorkLimits, judged, noted
from deep_research.phases.handoff import shared
from deep_research.phases.planning.handoff import PLAN, PlannedQuery, PlannerInput, PlannerOutput
from deep_research.phases.planning.llm import MAX_OUTPUT_TOKENS
from deep_research.phases.prompting import output_for
from deep_research.phases.steering_plan import plan_searches
from deep_research.phases.steering_queries import Knows
from deep_research.retrieval.parsed_question import KINDS, question_parts
from deep_research.state import (
    DeepResearchPhase,
    DeepResearchState,
    Depth,
    FirstLook,
    ModelRole,
    QuestionPart,
    SubQuery,
    ValidationResult,
)
from deep_research.state.admission import scaled
from deep_research.state.events import DepthChanged, PlanMade
from deep_research.state.identity import part_id, recall_id, sub_query_id
from deep_research.state.journal import Journal
from deep_research.state.run import AUTO, MIN_SUB_QUERIES
from deep_research.text import unspaced

MIN_QUERY_CHARS = 10
MIN_QUERY_WORDS = 2  # that are enough, however short they are written

log = get_log("planning")
MAX_PARTS, MAX_PART_CHARS = 20, 400  # parts that are looked at one by one
Look = Callable[[str], Awaitable[FirstLook | None]]
Glance = Callable[[DeepResearchState], Awaitable[FirstLook | None]]


def validate_planning(state: DeepResearchState) -> ValidationResult:
    """Pure. A plan without any sub-query blocks; all else is advice."""
    plan = [s for s in state.current_sub_queries() if s.iteration == state.iteration]
    if state.recalling:
        return judged((), (), len(plan) * 2.5)
    plan = [s for s in plan if s.id != recall_id(s.query)]
    issues: list[str] = []
    blocking: list[str] = []
    if not plan:
        blocking.append("The plan has no question.")
    elif len(plan) < min(MIN_SUB_QUERIES, state.max_sub_queries):
        issues.append(f"The plan has {len(plan)} sub-query; at least {MIN_SUB_QUERIES} are wanted.")
    if len(plan) > state.max_sub_queries:
        issues.append(f"The plan has {len(plan)} sub-queries; at most {state.max_sub_queries} are wanted.")
    if not state.research_brief:
        issues.append("The plan has no research brief.")
    issues += [f"Sub-query too short: '{s.query}'." for s in plan if _is_short(s.query)]
    return judged(blocking, issues, len(plan) * 2.5)


def _is_short(query: str) -> bool:
    """A character of a script without spaces says more than a letter."""
    return len(query) < MIN_QUERY_CHARS and not (
        unspaced.occur_in(query) and unspaced.size(query) >= MIN_QUERY_WORDS
    )


class PlanningPhase(Phase):
    """``look`` tells what the corpus says of the question, so that the plan stands on what there is; ``glance``, for a
    planner with a model, what one search of the web shows."""

    phase = DeepResearchPhase.PLANNING
    must_propose = True
    operations = (PLAN,)

    def __init__(
        self,
        agent: Agent | Callable[..., Any],
        *,
        limits: WorkLimits | None = None,
        look: Look | None = None,
        glance: Glance | None = None,
        knows: Knows | None = None,
    ) -> None:
        super().__init__(agent, limits=limits, knows=knows)
        self._look = look
        self._glance = glance

    async def run(self, state: DeepResearchState, journal: Journal, models: RunModels | None = None) -> None:
        self.check_place(state)
        if state.phase_done:
            return
        if state.recalling:
            await journal.record(await self._recall(state))
            return
        if state.depth is Depth.QUICK:
            look, answer = await self._first_look(state.query), _as_it_stands(state.query)
        else:
            look = await self._looked(state, models)
            answer = await self.ask(PLAN, self.handoff(state, look), models)
        if answer.scope is not None and state.options.max_sub_queries != AUTO:
            most = max(MIN_SUB_QUERIES, scaled(state.options.max_sub_queries, answer.scope))
            answer = answer.model_copy(update={"sub_queries": _first(answer.sub_queries, most)})
        is_quick = answer.is_quick and _may_be_quick(state)
        if is_quick:
            answer = answer.model_copy(update={"sub_queries": _first(answer.sub_queries, 1)})
        parts = parts_of(answer, state)
        parts_by_id = {part.id: part for part in reversed(parts) if part.text}
        await journal.record(
            PlanMade(
                research_brief=answer.research_brief.strip(),
                sub_queries=numbered(
                    answer.sub_queries, state, [part.id if part.text else None for part in parts]
                ),
                first_look=look,
                parts=tuple(reversed(parts_by_id.values())),
                scope=answer.scope if _works_by_tasks(state) else None,
            ),
            *noted(answer.notes),
            *(
                [DepthChanged(depth=Depth.QUICK, reason="The planner finds that one search will do.")]
                * is_quick
            ),
        )
        # A planner with a model has read the guidance.
        added = [] if self.spec.uses_model else await plan_searches(journal.state, self.phase, self.knows)
        if added:
            await journal.record(*added)

    async def _recall(self, state: DeepResearchState) -> PlanMade:
        """The plan of a turn of a conversation whose saved sources are read before anything is searched."""
        question = SubQuery(
            id=recall_id(state.query),
            query=state.query,
            rationale="What the conversation saved is read before anything is searched.",
            index=state.next_index,
            iteration=state.iteration,
        )
        return PlanMade(
            research_brief="The sources that earlier turns of the conversation saved are read again.",
            sub_queries=(question,),
            first_look=await self._first_look(state.query),
            parts=question_parts(state.query),
        )

    async def _looked(self, state: DeepResearchState, models: RunModels | None) -> FirstLook | None:
        """What is there of the question: in the corpus, and in what one search of the web shows. That one is made once in
        a run, where the caps leave a search for each of the plan beside it, and the planner can be paid: it goes with the
        plan, and would be made again with the next one."""
        if state.first_look is not None and state.first_look.snippets:
            return state.first_look
        look = await self._first_look(state.query)
        cap = state.options.budget.max_searches
        is_short = cap is not None and cap - state.usage.searches <= state.max_sub_queries
        may = state.options.may_search("web")
        if self._glance is None or not self.spec.uses_model or is_short or not may:
            return look
        if models is not None and not self._can_ask(state, models):
            return look
        if models is not None and models.purse.take("max_searches") is not None:
            return look
        try:
            first_look: FirstLook | None = await self.limits.calls(
                self._glance, state, timeout=self.limits.operation_timeout
            )
        except (SearchError, TimeoutError) as error:  # the searches of the plan tell whether that lasts
            log.warning("no_first_look", error=describe_error(error))
            return look
        if look is None or first_look is None:
            return look or first_look
        titles, snippets = (
            (*look.titles, *first_look.titles),
            (*[""] * len(look.titles), *first_look.snippets),
        )
        return look.model_copy(update={"titles": titles, "snippets": snippets})

    def _can_ask(self, state: DeepResearchState, models: RunModels) -> bool:
        """Whether the caps have room for the shortest of plans."""
        if not models.roles.chain_of(ModelRole.PLANNER):
            return True
        output = output_for(models.model(ModelRole.PLANNER, self.phase), MAX_OUTPUT_TOKENS)
        *_, least = shorter(output)
        question = Counter().expected(state.query)
        return models.affordable(ModelRole.PLANNER, self.phase, question, least, now=True) != 0

    async def _first_look(self, question: str) -> FirstLook | None:
        """None too when the corpus cannot be read: the searches will fail for the same reason, and say so."""
        if self._look is None:
            return None
        try:
            look: FirstLook | None = await self.limits.calls(
                self._look, question, timeout=self.limits.operation_timeout
            )
            return look
        except (SearchError, TimeoutError) as error:
            log.warning("no_first_look", error=describe_error(error))
            return None

    async def can_follow(self, steer: str, state: DeepResearchState) -> bool:
        return await self.can_search(steer, state)

    def handoff(self, state: DeepResearchState, look: FirstLook | None = None) -> PlannerInput:
        return PlannerInput(
            **shared(state, self.phase),
            max_sub_queries=state.max_sub_queries,
            decides=state.options.max_sub_queries == AUTO,
            may_be_quick=_may_be_quick(state),
            tells_scope=_works_by_tasks(state),
            earlier_queries=tuple(
                s.query for s in state.completed_sub_queries() if s.id != recall_id(s.query)
            ),
            first_look=look,
        )


def _works_by_tasks(state: DeepResearchState) -> bool:
    return state.options.gathering == "agents"


def _may_be_quick(state: DeepResearchState) -> bool:
    """Whether the planner decides how thoroughly the question is researched: nobody else did, and nothing was
    searched."""
    searched = any(query.id != recall_id(query.query) for query in state.sub_queries)
    return state.options.depth == "auto" and state.depth is Depth.STANDARD and not searched


def _first(planned: tuple[PlannedQuery, ...], most: int) -> tuple[PlannedQuery, ...]:
    return tuple(sorted(planned, key=lambda query: query.priority)[:most])


def _as_it_stands(question: str) -> PlannerOutput:
    """The plan of a quick run: one search of the question."""
    query = PlannedQuery(query=question, rationale="A quick run searches the question as it stands.")
    return PlannerOutput(research_brief="The question is searched once, as it stands.", sub_queries=(query,))


def parts_of(answer: PlannerOutput, state: DeepResearchState) -> tuple[QuestionPart, ...]:
    """The parts that the planner sees, in its order, by which it numbers them, empty ones too; else those that the
    question shows."""
    texts = [" ".join(item.text.split())[:MAX_PART_CHARS] for item in answer.parts]
    if not any(texts):
        return question_parts(state.query)
    parts = [
        QuestionPart(id=part_id(text), text=text, expects=item.expects if item.expects in KINDS else "")
        for text, item in zip(texts, answer.parts, strict=True)
    ]
    if len(parts) <= MAX_PARTS:
        return tuple(parts)
    # What is too much to be looked at part by part is one part together: nothing that is asked is lost.
    rest = "; ".join(part.text for part in parts[MAX_PARTS - 1 :] if part.text)
    return (*parts[: MAX_PARTS - 1], QuestionPart(id=part_id(rest), text=rest))


def numbered(
    planned: tuple[PlannedQuery, ...], state: DeepResearchState, parts: Sequence[str | None] = ()
) -> tuple[SubQuery, ...]:
    """The plan as sub-queries: by priority, each text once, placed behind those the run already has. ``parts`` are the
    ids of the parts by which it is numbered."""
    first = state.next_index
    queries: dict[str, SubQuery] = {}
    for item in sorted(planned, key=lambda p: p.priority):
        text = " ".join(item.query.split())
        key = sub_query_id(text)
        if text and key not in queries:
            queries[key] = SubQuery(
                id=key,
                query=text,
                rationale=item.rationale,
                priority=item.priority,
                index=first + len(queries),
                iteration=state.iteration,
                part_id=_served(item.part, parts),
            )
    return tuple(queries.values())


def _served(number: int | None, parts: Sequence[str | None]) -> str | None:
    """Of a question with one part all searches serve that."""
    if len(parts) == 1:
        return parts[0]
    return parts[number - 1] if number is not None and 0 < number <= len(parts) else None
