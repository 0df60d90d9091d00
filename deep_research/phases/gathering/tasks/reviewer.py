"""The reviewer: a model that approves what a task found, or sends it back with what is to be mended."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, Field

from deep_research.evidence.sites import host_of
from deep_research.models.language_model import LanguageModel
from deep_research.phases.handoff import Handoff
from deep_research.phases.prompting import RULES, Message, Room, asked, listed, manner, one_line, opening
from deep_research.state import Source, SourceKind, Task, TaskFinding, TaskReview

MOST_OUTPUT = 1_500  # tokens, thoughts included
LONGEST = 600  # characters of a critique, and of a quote that is shown
OF_FACTS = 0.6  # of the room

SYSTEM = f"""\
You review what one task of a larger piece of research has found. Approve it where its facts answer the task's question, \
as far as sources can be expected to: each fact carried by its quote, the figures, names and dates that are asked for \
among them. Send it back where a better attempt is likely to find what is missing: then say in one to three sentences \
what is wrong and what to look for instead, and where the question itself was put badly, the question to ask in its \
place. Do not answer from what you know yourself, and do not send back what is merely short.

{RULES}"""


class ReviewInput(Handoff):
    """What was found for a task; ``by_rules`` is what code has to say of it."""

    task: Task
    finding: TaskFinding
    by_rules: str = ""
    sources: dict[str, Source] = Field(default_factory=dict)


class Verdict(BaseModel):
    approved: bool
    critique: str = Field(default="", description="what is wrong and what to look for; empty when approved")
    follow_up_question: str | None = Field(
        default=None, description="a better question for the next attempt, where this one was put badly"
    )


async def review(handoff: ReviewInput, model: LanguageModel) -> TaskReview:
    """Raises `WorkError` where the model gives no verdict."""
    verdict, _ = await asked(model, SYSTEM, MOST_OUTPUT, Verdict, lambda room: _told(handoff, room))
    critique = one_line(verdict.critique)[:LONGEST]
    question = one_line(verdict.follow_up_question or "")[:LONGEST] or None
    return TaskReview(
        approved=verdict.approved,
        critique=critique,
        follow_up_question=None if verdict.approved else question,
        by=model.name,
    )


def _told(handoff: ReviewInput, room: Room) -> Message:
    message, task, finding = Message(room), handoff.task, handoff.finding
    opening(message, handoff)
    message.add(f"The task: {one_line(task.question)}")
    if task.critique:
        message.add("Its attempt before was sent back:")
        message.material("critique", one_line(task.critique))
    message.add("What it found:")
    message.material("answer", message.within(finding.answer or "(no answer)", 0.1, "the answer of a task"))
    facts = [_fact(number, finding, handoff.sources) for number in range(len(finding.facts))]
    if facts:
        message.material("facts", "\n".join(message.lines(facts, OF_FACTS, "the facts of a task")))
    if finding.missing:
        message.material("missing", listed(one_line(each)[:LONGEST] for each in finding.missing[:10]))
    notes = [note for note in (handoff.by_rules, finding.stopped, _lost(finding)) if note]
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
        lines.append(f'   - {_name(source)}: "{one_line(quote.quote)[:LONGEST]}"')
    return "\n".join(lines)


def _name(source: Source | None) -> str:
    if source is None:
        return "a source"
    at = host_of(source.url or "") if source.kind is SourceKind.WEB else source.url
    day = f", {source.published.isoformat()}" if source.published else ""
    return f"“{one_line(source.title)[:120]}” ({one_line(at or 'no address')}{day})"


def _lost(finding: TaskFinding) -> str:
    return (
        f"{finding.unlocated} of its quotes are in no source and were left out." if finding.unlocated else ""
    )
