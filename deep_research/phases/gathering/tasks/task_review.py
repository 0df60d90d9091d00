"""The review of what a task found. By rules: whether something was found, its quotes carry it, it is of the kind that was
asked for, and its sources are independent and agree. By a model: it approves, or sends back with what is to be mended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import BaseModel, Field

from deep_research.models.language_model import LanguageModel
from deep_research.phases.gathering.queries import wordings
from deep_research.phases.handoff import Handoff
from deep_research.phases.prompting import RULES, Message, Room, ask_model, listed, manner, one_line, opening
from deep_research.provenance.independence import voices
from deep_research.provenance.sites import host_of
from deep_research.retrieval.parsed_question import FORMAL, may_hold, parse_question
from deep_research.state import Finding, KeyFact, Source, SourceKind, Task, TaskFinding, TaskReview, TaskState
from deep_research.state.identity import finding_id
from deep_research.state.tasks import BY_RULES
from deep_research.verification.contradictions import contradictions
from deep_research.verification.evidence_text import EvidenceText
from deep_research.verification.support import check, is_doubted

NOTHING = "Nothing was found."
MAX_FACT_CHARS = 120  # of a fact that a critique names

MAX_OUTPUT_TOKENS = 1_500  # thoughts included
MAX_CRITIQUE_CHARS = 600  # of a critique, and of a quote that is shown
OF_FACTS = 0.6  # of the room

SYSTEM = f"""\
You review what one task of a larger piece of research has found. Approve it where its facts answer the task's question, \
as far as sources can be expected to: each fact carried by its quote, the figures, names and dates that are asked for \
among them. Send it back where a better attempt is likely to find what is missing: then say in one to three sentences \
what is wrong and what to look for instead, and where the question itself was put badly, the question to ask in its \
place. Do not answer from what you know yourself, and do not send back what is merely short.

{RULES}"""


def nothing_found(task: TaskState, finding: TaskFinding) -> TaskReview | None:
    """The review of a finding that is none: it goes back with other words, where there are any. None for any other."""
    if finding.facts or finding.owner_question:
        return None
    if finding.error:
        return TaskReview(approved=False, critique=f"The attempt failed: {finding.error}", by=BY_RULES)
    if finding.source_ids:
        return None
    searches = [
        *task.questions,
        task.task.question,
        *(str(use.arguments.get("query", "")) for step in task.steps for use in step.uses),
    ]
    other = next(iter(wordings(task.task.question, searches)), None)
    return TaskReview(
        approved=False, critique=f"{NOTHING} Ask in other words.", follow_up_question=other, by=BY_RULES
    )


def reviewed_by_rules(task: Task, finding: TaskFinding, sources: Mapping[str, Source]) -> TaskReview:
    """The verdict on a finding that has something. One of a search has sources alone, which are read later: that is all
    that can be asked of it."""
    if finding.by_search or (finding.owner_question and not finding.facts):
        return TaskReview(approved=True, by=BY_RULES)
    if not finding.facts:
        quote_problem = " None of its quotes is in a source." if finding.unlocated else ""
        return TaskReview(
            approved=False,
            critique=f"No fact with a quote was given.{quote_problem} Quote what answers.",
            by=BY_RULES,
        )
    wrong = [fact for fact in finding.facts if not _is_carried(fact, sources)]
    critiques = []
    if wrong:
        fact_list = "; ".join(f"“{one_line(fact.content)[:MAX_FACT_CHARS]}”" for fact in wrong[:3])
        critiques.append(f"The quotes do not carry {fact_list}.")
    kind = _lacking_kind(task.question, finding)
    if kind:
        critiques.append(f"The question asks for a {kind}, and no fact has one.")
    rejected = len(wrong) == len(finding.facts) or bool(kind)
    notes = _doubts(finding.facts, sources)
    return TaskReview(approved=not rejected, critique=" ".join((*critiques, *notes)), by=BY_RULES)


def _is_carried(fact: KeyFact, sources: Mapping[str, Source]) -> bool:
    passages = [
        EvidenceText(quote.quote, title=sources[quote.source_id].title)
        for quote in fact.quotes
        if quote.source_id in sources
    ]
    if not passages:
        return False
    support = check(fact.content, passages)
    return not is_doubted(support.verdict, support.reasons)


def _lacking_kind(question: str, finding: TaskFinding) -> str:
    """The kind of answer that the question expects and nothing of the finding can hold; else nothing."""
    inquiry = parse_question(question)
    if inquiry.expects not in FORMAL or len(inquiry.parts) > 1:
        return ""
    statements = [finding.answer, *(fact.content for fact in finding.facts)]
    terms = frozenset(inquiry.terms)
    is_there = any(may_hold(inquiry.expects, text, inquiry.words, terms) for text in statements)
    return "" if is_there else inquiry.expects


def _doubts(facts: Sequence[KeyFact], sources: Mapping[str, Source]) -> list[str]:
    """What a reader should know and no attempt need mend: one voice, figures that differ."""
    doubts = []
    quotes = [quote for fact in facts for quote in fact.quotes]
    behind = {quote.source_id: sources[quote.source_id] for quote in quotes if quote.source_id in sources}
    if len(behind) > 1 and len(voices(behind.values(), quotes)) == 1:
        doubts.append("All of its sources speak with one voice.")
    differing = contradictions(map(_as_finding, facts), behind.values())[:2]
    doubts += [f"They differ: {one_line(each.description)[:MAX_FACT_CHARS]}." for each in differing]
    return doubts


def _as_finding(fact: KeyFact) -> Finding:
    return Finding(
        id=finding_id(fact.content),
        content=fact.content,
        confidence=fact.confidence,
        source_ids=tuple(dict.fromkeys(quote.source_id for quote in fact.quotes)),
        quotes=fact.quotes,
    )


class ReviewInput(Handoff):
    """What was found for a task; ``by_rules`` is what code has to say of it."""

    task: Task
    finding: TaskFinding
    by_rules: str = ""
    sources: dict[str, Source] = Field(default_factory=dict)


class ReviewAnswer(BaseModel):
    approved: bool
    critique: str = Field(default="", description="what is wrong and what to look for; empty when approved")
    follow_up_question: str | None = Field(
        default=None, description="a better question for the next attempt, where this one was put badly"
    )


async def review(handoff: ReviewInput, model: LanguageModel) -> TaskReview:
    """Raises `WorkError` where the model gives no verdict."""
    verdict, _ = await ask_model(
        model, SYSTEM, MAX_OUTPUT_TOKENS, ReviewAnswer, lambda room: _message(handoff, room)
    )
    critique = one_line(verdict.critique)[:MAX_CRITIQUE_CHARS]
    question = one_line(verdict.follow_up_question or "")[:MAX_CRITIQUE_CHARS] or None
    return TaskReview(
        approved=verdict.approved,
        critique=critique,
        follow_up_question=None if verdict.approved else question,
        by=model.name,
    )


def _message(handoff: ReviewInput, room: Room) -> Message:
    message, task, finding = Message(room), handoff.task, handoff.finding
    opening(message, handoff)
    message.add(f"The task: {one_line(task.question)}")
    if task.critique:
        message.add("Its attempt before was sent back:")
        message.material("critique", one_line(task.critique))
    message.add("What it found:")
    message.material("answer", message.within(finding.answer or "(no answer)", 0.1, "the answer of a task"))
    facts = [_fact(number, finding, handoff.sources) for number in range(len(finding.facts))]
    message.listing("", "facts", facts, OF_FACTS, "the facts of a task", bullet="")
    if finding.missing:
        message.material(
            "missing", listed(one_line(each)[:MAX_CRITIQUE_CHARS] for each in finding.missing[:10])
        )
    lost = finding.unlocated
    unlocated = f"{lost} of its quotes are in no source and were left out." if lost else ""
    notes = [note for note in (handoff.by_rules, finding.stopped, unlocated) if note]
    if notes:
        message.add("What code has to say of it, words of the facts among it:")
        message.material("notes", " ".join(map(one_line, notes)))
    message.add(f"Is that an answer to the task? {manner(handoff)}")
    return message


def _fact(number: int, finding: TaskFinding, sources: Mapping[str, Source]) -> str:
    fact = finding.facts[number]
    lines = [f"{number + 1}. {one_line(fact.content)}"]
    for quote in fact.quotes:
        source = sources.get(quote.source_id)
        lines.append(f'   - {_name(source)}: "{one_line(quote.quote)[:MAX_CRITIQUE_CHARS]}"')
    return "\n".join(lines)


def _name(source: Source | None) -> str:
    if source is None:
        return "a source"
    at = host_of(source.url or "") if source.kind is SourceKind.WEB else source.url
    day = f", {source.published.isoformat()}" if source.published else ""
    return f"“{one_line(source.title)[:120]}” ({one_line(at or 'no address')}{day})"
