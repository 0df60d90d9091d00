"""A task's finding reviewed by rules: whether something was found, its quotes carry it, it is of the kind that was asked
for, and its sources are independent and agree. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deep_research.evidence.contradictions import contradictions
from deep_research.evidence.independence import voices
from deep_research.evidence.inquiry import FORMAL, may_hold, read_question
from deep_research.evidence.support import SourceText, check, is_doubted
from deep_research.phases.gathering.queries import wordings
from deep_research.phases.prompting import one_line
from deep_research.state import Finding, KeyFact, Source, Task, TaskFinding, TaskReview, TaskState
from deep_research.state.identity import finding_id
from deep_research.state.tasks import BY_RULES

NOTHING = "Nothing was found."
LONGEST = 120  # characters of a fact that a critique names


def nothing_found(task: TaskState, finding: TaskFinding) -> TaskReview | None:
    """The review of a finding that is none: it goes back with other words, where there are any. None for any other."""
    if finding.facts or finding.owner_question:
        return None
    if finding.error:
        return TaskReview(approved=False, critique=f"The attempt failed: {finding.error}", by=BY_RULES)
    if finding.source_ids:
        return None
    tried = [
        *task.asked,
        task.task.question,
        *(str(use.arguments.get("query", "")) for step in task.steps for use in step.uses),
    ]
    other = next(iter(wordings(task.task.question, tried)), None)
    return TaskReview(
        approved=False, critique=f"{NOTHING} Ask in other words.", follow_up_question=other, by=BY_RULES
    )


def reviewed_by_rules(task: Task, finding: TaskFinding, sources: Mapping[str, Source]) -> TaskReview:
    """The verdict on a finding that has something. One of a search has sources alone, which are read later: that is all
    that can be asked of it."""
    if finding.by_search or (finding.owner_question and not finding.facts):
        return TaskReview(approved=True, by=BY_RULES)
    if not finding.facts:
        lost = " None of its quotes is in a source." if finding.unlocated else ""
        return TaskReview(
            approved=False, critique=f"No fact with a quote was given.{lost} Quote what answers.", by=BY_RULES
        )
    wrong = [fact for fact in finding.facts if not _is_carried(fact, sources)]
    critiques = []
    if wrong:
        told = "; ".join(f"“{one_line(fact.content)[:LONGEST]}”" for fact in wrong[:3])
        critiques.append(f"The quotes do not carry {told}.")
    kind = _lacking_kind(task.question, finding)
    if kind:
        critiques.append(f"The question asks for a {kind}, and no fact has one.")
    rejected = len(wrong) == len(finding.facts) or bool(kind)
    notes = _doubts(finding.facts, sources)
    return TaskReview(approved=not rejected, critique=" ".join((*critiques, *notes)), by=BY_RULES)


def _is_carried(fact: KeyFact, sources: Mapping[str, Source]) -> bool:
    held = [
        SourceText(quote.quote, title=sources[quote.source_id].title)
        for quote in fact.quotes
        if quote.source_id in sources
    ]
    if not held:
        return False
    found = check(fact.content, held)
    return not is_doubted(found.verdict, found.reasons)


def _lacking_kind(question: str, finding: TaskFinding) -> str:
    """The kind of answer that the question expects and nothing of the finding can hold; else nothing."""
    inquiry = read_question(question)
    if inquiry.expects not in FORMAL or len(inquiry.parts) > 1:
        return ""
    said = [finding.answer, *(fact.content for fact in finding.facts)]
    asked = frozenset(inquiry.terms)
    return (
        "" if any(may_hold(inquiry.expects, text, inquiry.words, asked) for text in said) else inquiry.expects
    )


def _doubts(facts: Sequence[KeyFact], sources: Mapping[str, Source]) -> list[str]:
    """What a reader should know and no attempt need mend: one voice, figures that differ."""
    told = []
    behind = {
        quote.source_id: sources[quote.source_id]
        for fact in facts
        for quote in fact.quotes
        if quote.source_id in sources
    }
    if len(behind) > 1 and len(voices(behind.values(), [q for fact in facts for q in fact.quotes])) == 1:
        told.append("All of its sources speak with one voice.")
    differing = contradictions(map(_as_finding, facts), behind.values())
    told += [f"They differ: {one_line(found.description)[:LONGEST]}." for found in differing[:2]]
    return told


def _as_finding(fact: KeyFact) -> Finding:
    return Finding(
        id=finding_id(fact.content),
        content=fact.content,
        confidence=fact.confidence,
        source_ids=tuple(dict.fromkeys(quote.source_id for quote in fact.quotes)),
        quotes=fact.quotes,
    )
