"""A planner without a model: the parts of the question become its sub-queries."""

from __future__ import annotations

import re

from deep_research.evidence.question import question_names, spelled
from deep_research.evidence.text import STOP_WORDS, content_words, is_name_like, stem, words
from deep_research.phases.planning.handoff import PlannedQuery, PlannerInput, PlannerOutput
from deep_research.state import FirstLook

KEY_WORDS = "The question's key words."
_ASKING = r"who|whom|whose|what|when|where|which|why|how|does|do|did|is|are|was|were|can|could|should|will"
_BREAK = re.compile(
    rf"[?;\n]+\s*|,?\s+(?:and|or|but)\s+(?=(?:{_ASKING})\b)|,\s+(?=(?:{_ASKING})\b)|\.\s+(?=[A-Z])",
    re.IGNORECASE,
)

_COMPARES = re.compile(r"\b(?:compared?|comparing|comparison|differences?|differ|versus|vs)\b", re.IGNORECASE)
_PRONOUN = re.compile(r"\b(?:it|they|them)\b((?:['’]s)?)")
_NAME = re.compile(r"(?:the )?[A-Z][\w'’-]*(?:\s+(?:(?:of|the|de|la|du|and)\s+)*[A-Z0-9][\w'’-]*)*")


class ExtractivePlanner:
    """Splits the question where a new question word opens; a part that lost its subject gets the question's
    names back. The whole question is searched as well."""

    deterministic = True
    name = "extractive planner"

    async def __call__(self, handoff: PlannerInput) -> PlannerOutput:
        question = " ".join(handoff.original_query.split())
        planned = [PlannedQuery(query=question, rationale="The whole question.", priority=1)]
        parts = _parts(question)
        if len(parts) > 1:
            planned += [
                PlannedQuery(query=part, rationale="A part of the question.", priority=2) for part in parts
            ]
        else:
            planned.append(PlannedQuery(query=_keywords(question), rationale=KEY_WORDS, priority=2))
        planned += [
            PlannedQuery(query=query, rationale="One of the names in the question.", priority=2)
            for query in _named(question, handoff.first_look or FirstLook())
        ]
        planned = _distinct(planned)[: handoff.max_sub_queries]
        return PlannerOutput(research_brief=_brief(question, parts), sub_queries=tuple(planned))


def _parts(question: str) -> list[str]:
    """The pieces of a question, each able to stand alone: "it" becomes what the first piece is about, and a piece
    without any name gets the first one's."""
    pieces = [piece.strip(" ,.") for piece in _BREAK.split(question)]
    pieces = [p for p in pieces if any(w.casefold() not in STOP_WORDS for w in words(p))]
    if len(pieces) < 2:
        return pieces
    subject = _subject(pieces[0])
    return [pieces[0], *(_standing(piece, subject) for piece in pieces[1:])]


def _named(question: str, look: FirstLook) -> list[str]:
    """Each name of the question with what is asked of it. The corpus knows names that spelling does not show."""
    names = [mention.name for mention in question_names(question, look)]
    inside = {stem(word) for name in names for word in name.split()}
    rest = [w for w in content_words(question) if stem(w) not in inside and not _COMPARES.fullmatch(w)]
    return [" ".join([spelled(question, name), *dict.fromkeys(rest)]) for name in names]


def _distinct(planned: list[PlannedQuery]) -> list[PlannedQuery]:
    """Without those that ask for the same words as one before."""
    kept: dict[frozenset[str], PlannedQuery] = {}
    for item in planned:
        asked = frozenset(stem(w) for w in content_words(item.query))
        words_alone = item.rationale == KEY_WORDS  # asks for the same on purpose
        kept.setdefault(asked | {"*"} if words_alone else asked, item)
    return list(kept.values())


def _standing(piece: str, subject: str) -> str:
    if any(is_name_like(w) for w in words(piece)[1:]):
        return piece
    named = _PRONOUN.sub(lambda match: subject + match.group(1), piece, count=1)
    held = {stem(w) for w in words(piece)}
    lost = [w for w in content_words(subject) if stem(w) not in held]
    return f"{piece} {' '.join(lost)}" if named == piece and lost else named


def _subject(piece: str) -> str:
    """The longest name of a piece with the small words inside it, or its content words if it has none."""
    opening = words(piece)[0] if words(piece) else ""
    named = [match.group() for match in _NAME.finditer(piece) if match.group() != opening]
    return max(named, key=len) if named else " ".join(content_words(piece))


def _keywords(question: str) -> str:
    """Names first: the other way to ask for the same."""
    chosen = list(dict.fromkeys(content_words(question)))
    named = [w for w in chosen if is_name_like(w)]
    return " ".join([*named, *(w for w in chosen if w not in named)])


def _brief(question: str, parts: list[str]) -> str:
    if len(parts) > 1:
        return (
            f"The question falls into {len(parts)} parts, each searched by itself and all of them together."
            " Passages that answer a part are kept word for word; parts without an answer are named as gaps."
        )
    return (
        "The question is searched as it stands and by its key words."
        f" Passages that answer it are kept word for word: {', '.join(content_words(question)[:6])}."
    )
