"""The planner that thinks with a model."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from deep_research.models.coercion import Priority
from deep_research.models.language_model import LanguageModel
from deep_research.phases.planning.handoff import (
    PlannedPart,
    PlannedQuery,
    PlannerInput,
    PlannerOutput,
)
from deep_research.phases.prompting import (
    RULES,
    Message,
    Room,
    add_context,
    add_guidance,
    ask_model,
    listed,
    manner,
    one_line,
    today,
)
from deep_research.state import FirstLook, Scope

MAX_OUTPUT_TOKENS = 2_500  # tokens, thoughts included
MAX_TITLES = 20
MAX_NAMES = 30
OF_LOOK, OF_ASKED = 0.2, 0.15  # of the room

SYSTEM = f"""\
You plan research. You are given a question and work out what has to be found so that it can be answered \
well, and which searches would find it.

Write a research brief of two or three sentences: how the question is understood, and which sides of it \
are looked into. Then name the parts of the question: each thing that it asks, in its own words, with the \
kind of answer that would settle it. Most questions have one part, and a topic has one, itself; what would \
be good to know besides is none. Then write the searches. Each one
- stands by itself: it names people, places and things in full, for the searcher has not read the \
question;
- is specific enough that good sources would match its words;
- covers ground that no other search covers. Two searches that would find the same pages are one search \
too many;
- has a reason: what it will contribute to the answer.

Take several kinds of ground where they bear on the question: what a thing is, how it came about, cases \
and figures, comparison, recent changes, what those who know it say, what speaks against it. Where an \
answer has to be found in steps, ask for the first step by what is known already. Two to five searches are \
usual; a plain question needs few. Priority 1 is what the answer cannot do without.

{RULES}"""


class AskedPart(BaseModel):
    text: str = Field(description="what is asked, understandable by itself")
    expects: Literal[
        "", "number", "date", "person", "place", "list", "definition", "manner", "reason", "polar"
    ] = Field(default="", description="the kind of answer; empty for any")


class PlannedSearch(BaseModel):
    query: str = Field(description="a search that stands by itself")
    rationale: str = Field(default="", description="what it contributes to the answer")
    priority: Priority = Field(default=1, description="1 is the most important")
    part: int | None = Field(default=None, description="number of the part that it serves; none for all")


class Plan(BaseModel):
    research_brief: str = Field(
        description="how the question is understood and looked into, 2 or 3 sentences"
    )
    parts: list[AskedPart] = Field(default_factory=list, description="what the question asks, in its order")
    sub_queries: list[PlannedSearch] = Field(min_length=1)


class PlanWithDepth(Plan):
    is_quick: bool = Field(
        default=False, description="whether one search, the first, would settle the question"
    )


class _WithScope(BaseModel):
    scope: Literal["lookup", "comparison", "survey"] = Field(
        default="survey",
        description="lookup: a few facts settle it; comparison: several things are set against each other; survey: an "
        "account of a field",
    )


class TaskPlan(Plan, _WithScope):
    pass


class TaskPlanWithDepth(PlanWithDepth, _WithScope):
    pass


_FORMS: dict[tuple[bool, bool], type[Plan]] = {  # by whether it tells the depth, and the scope
    (False, False): Plan,
    (True, False): PlanWithDepth,
    (False, True): TaskPlan,
    (True, True): TaskPlanWithDepth,
}


class LLMPlanner:
    """Asks its model for a plan. A plan that is too long keeps what it says is most important."""

    uses_model = True
    falls_back = True
    name = "planner"

    async def __call__(self, handoff: PlannerInput, model: LanguageModel) -> PlannerOutput:
        form = _FORMS[handoff.may_be_quick, handoff.tells_scope]
        plan, message = await ask_model(
            model, SYSTEM, MAX_OUTPUT_TOKENS, form, lambda room: _message(handoff, room)
        )
        return PlannerOutput(
            research_brief=plan.research_brief,
            parts=tuple(PlannedPart(text=part.text, expects=part.expects) for part in plan.parts),
            sub_queries=_planned(plan, handoff),
            notes=message.notes(self.name),
            is_quick=isinstance(plan, PlanWithDepth) and plan.is_quick,
            scope=Scope(plan.scope) if isinstance(plan, _WithScope) else None,
        )


def _message(handoff: PlannerInput, room: Room) -> Message:
    """The question gets all the room that what stands beside it leaves."""
    beside = Message(room)
    beside.add(today(handoff.day, handoff.as_of))
    add_context(beside, handoff)
    add_guidance(beside, handoff)
    if handoff.first_look is not None:
        beside.add("What will be searched was looked at once. What it has of the question:")
        beside.material(
            "first look", beside.within(describe_first_look(handoff.first_look), OF_LOOK, "the first look")
        )
    if handoff.earlier_queries:
        earlier_searches = beside.lines(
            [one_line(query) for query in handoff.earlier_queries], OF_ASKED, "earlier searches"
        )
        beside.add(f"These were searched already; search for something else:\n{listed(earlier_searches)}")
    beside.add(f"{_number(handoff)} {manner(handoff)}")
    if handoff.may_be_quick:
        beside.add(
            "Where one search and a short answer will do, say is_quick: true; for whatever is wider, false."
        )
    left = max(0, room.tokens - beside.size) / max(1, room.tokens)
    beside.lead(f"Question: {beside.within(handoff.original_query, left, 'the question')}")
    return beside


def _number(handoff: PlannerInput) -> str:
    """How many searches are wanted."""
    if not handoff.decides:
        return f"Plan at least 2 and at most {handoff.max_sub_queries} searches."
    return (
        "How many searches there are is yours to decide: one for each thing that has to be found, at least 2 and at most"
        f" {handoff.max_sub_queries}."
    )


def _planned(plan: Plan, handoff: PlannerInput) -> tuple[PlannedQuery, ...]:
    """The most important first, each once, none that was made before."""
    query_keys = {_key(query) for query in handoff.earlier_queries}
    distinct: dict[str, PlannedSearch] = {}
    for item in sorted(plan.sub_queries, key=lambda item: item.priority):
        if _key(item.query) and _key(item.query) not in query_keys:
            distinct.setdefault(_key(item.query), item)
    return tuple(
        PlannedQuery(
            query=" ".join(item.query.split()),
            rationale=item.rationale,
            priority=max(1, item.priority),
            part=item.part,
        )
        for item in list(distinct.values())[: handoff.max_sub_queries]
    )


def _key(query: str) -> str:
    return " ".join(query.lower().split())


def describe_first_look(look: FirstLook) -> str:
    """What the corpus says of the question and the web shows of it, in words."""
    names = [m.name for m in look.names if m.bearers][:MAX_NAMES]
    entries = list(zip(look.titles, look.snippets or [""] * len(look.titles), strict=True))
    own = [title for title, snippet in entries if not snippet]
    web = [one_line(f"{title}: {snippet}") for title, snippet in entries if snippet]
    parts = [f"Passages searched: {look.passages}."] if look.passages or not web else []
    if names:
        parts.append(f"Names that documents bear: {', '.join(names)}.")
    if own:
        parts.append(f"Titles that fit best: {'; '.join(own[:MAX_TITLES])}.")
    if web:
        parts.append(f"What one search of the web shows:\n{listed(web)}")
    return "\n".join(parts)
