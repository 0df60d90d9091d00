"""Input and output of the planner."""

from __future__ import annotations

from typing import Self

from pydantic import Field

from deep_research.phases.agent_contract import Operation
from deep_research.phases.handoff import Change, Handoff, Proposal
from deep_research.state import FirstLook, Record, Scope


class PlannerInput(Handoff):
    """``max_sub_queries`` is how many a plan may have; ``decides``: the planner decides how many the question needs.
    ``earlier_queries`` are queries already searched in this run, when planning again; ``first_look`` is what the corpus
    says of the question, where there is one. ``may_be_quick``: the planner says whether one search will do;
    ``tells_scope``: and what the question asks for."""

    max_sub_queries: int
    decides: bool = False
    may_be_quick: bool = False
    tells_scope: bool = False
    earlier_queries: tuple[str, ...] = ()
    first_look: FirstLook | None = None


class PlannedPart(Record):
    """A part of the question, and the kind of answer it expects (see `QuestionPart`)."""

    text: str
    expects: str = ""


class PlannedQuery(Record):
    """Priority 1 is the most important. ``part`` is the number of the part that it serves, from 1; None for all."""

    query: str
    rationale: str = ""
    priority: int = Field(default=1, ge=1)
    part: int | None = None


class PlannerOutput(Proposal):
    """``parts`` are those of the question; where there are none, it is read for them. ``notes`` are what a reader of the
    report should know, such as that the question did not fit the window. ``is_quick``: one search, the first,
    will do; ``scope`` is what the question asks for, None: unknown."""

    research_brief: str
    parts: tuple[PlannedPart, ...] = ()
    sub_queries: tuple[PlannedQuery, ...]
    is_quick: bool = False
    scope: Scope | None = None

    def with_queries(self, change: Change) -> Self:
        changed = (item.model_copy(update={"query": change(item.query)}) for item in self.sub_queries)
        return self.model_copy(update={"sub_queries": tuple(item for item in changed if item.query)})


PLAN = Operation("plan", PlannerInput, PlannerOutput)
