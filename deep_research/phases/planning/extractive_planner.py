"""A planner without a model: the question, its parts and its names become the sub-queries."""

from __future__ import annotations

from collections.abc import Sequence

from deep_research.calls import off_loop
from deep_research.phases.planning.handoff import (
    PlannedPart,
    PlannedQuery,
    PlannerInput,
    PlannerOutput,
)
from deep_research.retrieval.parsed_question import ParsedQuestion, parse_question, question_parts
from deep_research.state import FirstLook
from deep_research.state.identity import part_id
from deep_research.text.names import question_names, spelled

WHOLE = "The whole question."
PART = "A part of the question."
KEY_WORDS = "The question's key words."
NAME = "What the question asks of one of its names."
SIDE = "A side of the subject."

_UNIT = 50  # characters of a question that are planned in the time of one small item


class ExtractivePlanner:
    """Searches the whole question, its parts, and each of its names with what is asked of it; the first look says which
    names the corpus knows. A subject of which an overview is wanted is searched with what is usually told of one.

    Where it decides how many that are, each part is one search, and names are those of a question of one part: in
    others the parts have them."""

    deterministic = True
    name = "extractive planner"

    async def __call__(self, handoff: PlannerInput) -> PlannerOutput:
        return await off_loop(len(handoff.original_query) // _UNIT, plan, handoff)


def plan(handoff: PlannerInput) -> PlannerOutput:
    """Pure."""
    question = " ".join(handoff.original_query.split())
    inquiry = parse_question(question)
    planned = [PlannedQuery(query=question, rationale=WHOLE, priority=1)]
    own_parts = question_parts(question)
    parts = [PlannedPart(text=part.text, expects=part.expects) for part in own_parts]
    if inquiry.subject:
        sides = (f"{inquiry.subject} {side}" for side in inquiry.forms.sides)
        planned += [PlannedQuery(query=query, rationale=SIDE, priority=2) for query in sides]
    else:
        numbers = {part.id: number for number, part in enumerate(own_parts, 1)}
        for part in inquiry.parts if len(inquiry.parts) > 1 else ():
            number = numbers.get(part_id(part.query))
            planned.append(PlannedQuery(query=part.query, rationale=PART, priority=2, part=number))
        has_parts = handoff.decides and len(inquiry.parts) > 1
        names = () if has_parts else _name_queries(inquiry, handoff.first_look or FirstLook())
        planned += [PlannedQuery(query=query, rationale=NAME, priority=2) for query in names]
    planned = _distinct(planned, inquiry)
    if len(planned) == 1:
        words = " ".join(dict.fromkeys(inquiry.telling(question)))
        planned.append(PlannedQuery(query=words or question, rationale=KEY_WORDS, priority=2))
    planned = planned[: handoff.max_sub_queries]
    return PlannerOutput(
        research_brief=_brief(inquiry, planned), parts=tuple(parts), sub_queries=tuple(planned)
    )


def _name_queries(inquiry: ParsedQuestion, look: FirstLook) -> list[str]:
    """Each name of the question with what is asked of it. The corpus knows names that spelling does not show."""
    names = [mention.name for mention in question_names(inquiry.text, look)]
    inside = {term for name in names for term in inquiry.words.terms(name)}
    rest = [word for word in inquiry.telling(inquiry.text) if inside.isdisjoint(inquiry.words.terms(word))]
    return [" ".join([name, *dict.fromkeys(rest)]) for name in spelled(inquiry.text, *names)]


def _distinct(planned: Sequence[PlannedQuery], inquiry: ParsedQuestion) -> list[PlannedQuery]:
    """Without those that ask for the same words as one before."""
    distinct: dict[frozenset[str], PlannedQuery] = {}
    for item in planned:
        distinct.setdefault(frozenset(inquiry.words.terms(item.query)), item)
    return list(distinct.values())


def _brief(inquiry: ParsedQuestion, planned: Sequence[PlannedQuery]) -> str:
    lines = []
    if inquiry.subject:
        lines.append(f"An overview is wanted of {inquiry.subject}: it is searched from several sides.")
    elif len(inquiry.parts) > 1:
        lines.append(
            f"The question falls into {len(inquiry.parts)} parts, each searched by itself and all of them together."
        )
    names = [item.query for item in planned if item.rationale == NAME]
    if names:
        lines.append(f"Searched by name: {'; '.join(names)}.")
    lines.append(
        "Passages that answer are kept word for word; what is not found is searched by the names that the"
        " passages bring, and named as a gap in the end."
    )
    return " ".join(lines)
