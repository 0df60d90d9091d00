"""A planner without a model: the question, its parts and its names become the sub-queries."""

from __future__ import annotations

import re

from deep_research.evidence.expecting import defined, of_a_person
from deep_research.evidence.listing import listed
from deep_research.evidence.question import (
    INTRODUCED,
    QuestionKind,
    is_broad,
    is_survey,
    kind_of,
    parts,
    question_names,
    spelled,
    subject,
)
from deep_research.evidence.relations import related_words
from deep_research.evidence.text import content_words, is_name_like, stem, variants
from deep_research.phases.base import off_loop
from deep_research.phases.planning.handoff import PlannedQuery, PlannerInput, PlannerOutput
from deep_research.state import FirstLook

WHOLE = "The whole question."
PART = "A part of the question."
KEY_WORDS = "The question's key words."
NAME = "What the question asks of one of its names."
FORM = 4  # letters that the forms of one word have in common
MOST_RELATED = 3  # other words for what is asked of things that are to be listed
SIDE = "A side of the subject."
SIDES = (INTRODUCED.strip(), "history and first use", "kinds and examples", "how it works")

_UNIT = 50  # characters of a question that are planned in the time of one small item
_COMPARES = re.compile(r"\b(?:compared?|comparing|comparison|differences?|differ|versus|vs)\b", re.IGNORECASE)


class ExtractivePlanner:
    """Splits the question where a new question word opens; a part that lost its subject gets the question's
    names back. Each name is searched with what is asked of it; the first look says which names the corpus knows.
    The whole question is searched as well."""

    deterministic = True
    name = "extractive planner"

    async def __call__(self, handoff: PlannerInput) -> PlannerOutput:
        return await off_loop(len(handoff.original_query) // _UNIT, plan, handoff)


def plan(handoff: PlannerInput) -> PlannerOutput:
    """Pure."""
    question = " ".join(handoff.original_query.split())
    if is_survey(question) and not is_broad(question):
        return _survey(question, handoff)
    pieces = parts(question)
    planned = [PlannedQuery(query=question, rationale=WHOLE, priority=1)]
    if len(pieces) > 1:
        planned += [PlannedQuery(query=piece, rationale=PART, priority=2) for piece in pieces]
    else:
        planned.append(PlannedQuery(query=_keywords(question), rationale=KEY_WORDS, priority=2))
    if (thing := defined(question)) and not of_a_person(question):
        planned.append(PlannedQuery(query=f"{thing}{INTRODUCED}", rationale=SIDE, priority=2))
    named = _named(question, handoff.first_look or FirstLook())
    planned += [PlannedQuery(query=query, rationale=NAME, priority=2) for query in named]
    planned = _distinct(planned)[: handoff.max_sub_queries]
    return PlannerOutput(research_brief=_brief(question, pieces, planned), sub_queries=tuple(planned))


def _survey(question: str, handoff: PlannerInput) -> PlannerOutput:
    """A subject of few words is searched with what is usually told of one: more than its nearest texts is wanted."""
    named = subject(question)
    planned = [PlannedQuery(query=question, rationale=WHOLE, priority=1)]
    planned += [PlannedQuery(query=f"{named} {side}", rationale=SIDE, priority=2) for side in SIDES]
    planned = _distinct(planned)[: handoff.max_sub_queries]
    return PlannerOutput(research_brief=_brief(question, [question], planned), sub_queries=tuple(planned))


def _named(question: str, look: FirstLook) -> list[str]:
    """Each name of the question with what is asked of it. The corpus knows names that spelling does not show."""
    names = [mention.name for mention in question_names(question, look)]
    inside = {stem(word) for name in names for word in name.split()}
    rest = [w for w in content_words(question) if stem(w) not in inside and not _COMPARES.fullmatch(w)]
    return [" ".join([name, *dict.fromkeys(rest)]) for name in spelled(question, *names)]


def _distinct(planned: list[PlannedQuery]) -> list[PlannedQuery]:
    """Without those that ask for the same words as one before. The key words ask for the same as the whole question
    on purpose, and only where nothing else would be asked."""
    kept: dict[frozenset[str], PlannedQuery] = {}
    for item in planned:
        if item.rationale != KEY_WORDS:
            kept.setdefault(frozenset(stem(w) for w in content_words(item.query)), item)
    alone = [item for item in planned if item.rationale == KEY_WORDS] if len(kept) < 2 else []
    return [*kept.values(), *alone]


def _keywords(question: str) -> str:
    """Names first, then the other words with those that may stand for them: the other way to ask for the same."""
    chosen = list(dict.fromkeys(content_words(question)))
    named = [w for w in chosen if is_name_like(w)]
    others = [other for w in chosen if w not in named for other in _otherwise(w)]
    return " ".join(dict.fromkeys([*named, *others, *_of_the_relation(question)]))


def _of_the_relation(question: str) -> list[str]:
    """Other words for what is asked of all things of a kind: one text says that somebody built it, another that he was
    its engineer, and a list wants both."""
    wanted = listed(question)
    if wanted is None or not wanted.names:
        return []
    forms = (word for term in sorted(wanted.said) for word in related_words(term))
    return [other for word in forms if stem(word) not in wanted.said for other in _otherwise(word)][
        :MOST_RELATED
    ]


def _otherwise(word: str) -> list[str]:
    """A word, and other words for it: one of each form, for a search finds a word in all its forms."""
    forms: dict[str, str] = {}
    for other in variants(word):
        forms.setdefault(other[:FORM], other)
    return list(forms.values())


_OPENINGS = {
    QuestionKind.FACT: "The question asks for a fact.",
    QuestionKind.CHAIN: "The question leads from one thing to another: what is found names what to search next.",
    QuestionKind.COMPARISON: "The question compares: each side is searched by itself.",
    QuestionKind.CAUSE: "The question asks for causes.",
    QuestionKind.LIST: "The question asks for a list.",
    QuestionKind.TIME: "The question asks for a time.",
    QuestionKind.HOW_TO: "The question asks how to do something.",
    QuestionKind.SURVEY: "The question is broad: what many sources say of it is brought together.",
}


def _brief(question: str, pieces: list[str], planned: list[PlannedQuery]) -> str:
    lines = [_OPENINGS[kind_of(question)]]
    if len(pieces) > 1:
        lines.append(f"It falls into {len(pieces)} parts, each searched by itself and all of them together.")
    names = [item.query for item in planned if item.rationale == NAME]
    if names:
        lines.append(f"Searched by name: {'; '.join(names)}.")
    lines.append(
        "Passages that answer are kept word for word; what is not found is searched by the names that the"
        " passages bring, and named as a gap in the end."
    )
    return " ".join(lines)
