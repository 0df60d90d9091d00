"""What is read of the sources of a round, chosen before any is: by code, and of those that it is not sure of by a model
where one is asked. It is shown their titles, headings and best passages, all in one request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import BaseModel, Field

from deep_research.budget.content_budget import DEFAULTS, ContentRules
from deep_research.calls import off_loop
from deep_research.errors import WorkError
from deep_research.evidence.ranking import Questions
from deep_research.models.language_model import LanguageModel
from deep_research.phases.analysis.handoff import AnalyzerInput, Doubtful, DoubtInput, DoubtOutput
from deep_research.phases.analysis.source_texts import Texts
from deep_research.phases.analysis.triage import (
    LIMIT,
    Doubt,
    Looked,
    decided,
    doubts_of,
    questions_of,
    read_on,
    triaged,
)
from deep_research.phases.prompting import RULES, Aliases, Message, Room, asked, listed, one_line, opening
from deep_research.state import Extent, Notice, Source, SubQuery, Triage
from deep_research.state.events import NoticeAdded

MOST_OUTPUT = 1_500  # tokens, thoughts included
MOST_DOUBTFUL = 20  # sources of one request, those that come nearest
LONGEST_TITLE = 200  # characters
MOST_HEADINGS, LONGEST_HEADING = 12, 80  # of a source, and characters of each
LONGEST_PASSAGE = 800  # characters
OF_BESIDE = 0.08  # of the room, for the searches
READ = {"whole": Extent.WHOLE, "sections": Extent.SECTIONS, "no": Extent.NOTHING}

SYSTEM = f"""\
You choose what is read for a piece of research. Of each source (S1, S2 …) you see its title, its headings and the \
passage of it that has most of the words of what is asked. It has few of them, and would be left unread. Say of each:
- whole: most of it bears on what is asked;
- sections: the passage, and what stands around it, may tell something that is asked;
- no: nothing in it helps to answer.

Judge by what is meant: a source may answer in other words than the question's. A source on another matter that shares \
some words does not. What is read takes the room of other sources, so where nothing speaks for a source it is no.

{RULES}"""


class Choice(BaseModel):
    source: str = Field(description="name of the source, such as S1")
    read: Literal["whole", "sections", "no"]


class Choices(BaseModel):
    choices: list[Choice] = Field(description="one for each source")


# Asks the model of the agent; None where it is not to be asked.
Decide = Callable[[DoubtInput], Awaitable[DoubtOutput | None]]


@dataclass(frozen=True, slots=True)
class Chosen:
    """How much is read of each source, what is told of the choice, and how many requests it took."""

    triage: tuple[Triage, ...] = ()
    told: tuple[NoticeAdded, ...] = ()
    requests: int = 0


async def chosen(
    sources: Sequence[Source],
    known: Sequence[Source],
    told: AnalyzerInput,
    texts: Texts,
    rules: ContentRules,
    decide: Decide,
) -> Chosen:
    """How much is read of new ``sources``, and what further of ``known`` ones, of which the journal has what was read."""
    questions = questions_of(told)
    protected = frozenset(s.id for s in sources if told.weights.is_protected(s))
    looked = await texts.looked(sources, questions, protected)
    choice = await _of_new(sources, looked, told, texts, questions, rules, decide)
    if not known:
        return choice
    again = await texts.looked(known, questions, frozenset())
    read = texts.journal.state.sections_read
    size = len(sources) + len(known)
    further = await off_loop(size, read_on, again, looked, read, told, questions, rules)
    return replace(choice, triage=(*choice.triage, *further))


async def _of_new(
    sources: Sequence[Source],
    looked: Sequence[Looked],
    told: AnalyzerInput,
    texts: Texts,
    questions: Questions,
    rules: ContentRules,
    decide: Decide,
) -> Chosen:
    """Whatever goes wrong with the model's part of it, code's choice stands."""
    triage = await off_loop(len(sources), triaged, looked, questions, rules)
    if not rules.model_triage:
        return Chosen(triage)
    doubts = (await off_loop(len(sources), doubts_of, looked, triage, questions, rules))[:MOST_DOUBTFUL]
    if not doubts:
        return Chosen(triage)
    shown = await _shown(sources, doubts, texts)
    handoff = DoubtInput(**told.common, sub_queries=told.sub_queries, sources=shown)
    try:
        answer = await decide(handoff)
    except WorkError as error:
        return Chosen(triage, (_left_to_code(len(doubts), error.problem),), requests=1)
    if answer is None:
        return Chosen(triage)
    if not answer.extents:
        return Chosen(triage, (_left_to_code(len(doubts), "the model named none of them."),), requests=1)
    return Chosen(decided(triage, doubts, answer.extents, answer.by), requests=1)


async def _shown(sources: Sequence[Source], doubts: Sequence[Doubt], texts: Texts) -> tuple[Doubtful, ...]:
    """What is shown of each, in the order of the doubts. Texts are loaded a few at a time, and dropped."""
    by_id = {source.id: source for source in sources}
    made: dict[str, Doubtful] = {}
    for batch in texts.batches(by_id[doubt.id] for doubt in doubts):
        held = await texts.of(batch)
        for doubt in doubts:
            if doubt.id in held:
                made[doubt.id] = _doubtful(by_id[doubt.id], held[doubt.id], doubt)
    return tuple(made[doubt.id] for doubt in doubts)


def _doubtful(source: Source, text: str, doubt: Doubt) -> Doubtful:
    best = doubt.scanned.passages[doubt.place]
    headings = tuple(text[span.start : span.end] for span, _ in doubt.scanned.headings[:MOST_HEADINGS])
    return Doubtful(
        id=source.id,
        title=source.title,
        url=source.url,
        headings=tuple(heading.strip().strip("# ") for heading in headings),
        passage=text[best.start : best.end][:LONGEST_PASSAGE],
    )


def _left_to_code(doubtful: int, problem: str) -> NoticeAdded:
    were = "1 source was" if doubtful == 1 else f"{doubtful} sources were"
    message = (
        f"{were} left unread by their words alone, since no model could say whether they help: {problem}"
    )
    return NoticeAdded(notice=Notice(name=LIMIT, message=message))


async def decide(handoff: DoubtInput, model: LanguageModel, rules: ContentRules = DEFAULTS) -> DoubtOutput:
    """What the model says of each. Names that were not given mean nothing; of two answers on one source the first
    counts."""
    names = Aliases("S", [source.id for source in handoff.sources])
    made, _ = await asked(
        model, SYSTEM, MOST_OUTPUT, Choices, lambda room: _told(handoff, names.names, room), rules
    )
    extents: dict[str, Extent] = {}
    for choice in made.choices:
        if (source_id := names.id(choice.source)) is not None:
            extents.setdefault(source_id, READ[choice.read])
    return DoubtOutput(extents=extents, by=model.name)


def _told(handoff: DoubtInput, names: Mapping[str, str], room: Room) -> Message:
    message = Message(room)
    opening(message, handoff)
    if searches := _searches(handoff.sub_queries):
        message.add(f"What was searched for:\n{listed(message.lines(searches, OF_BESIDE, 'the searches'))}")
    for source in handoff.sources:
        message.material(f"source {names[source.id]}", _described(source))
    message.add("Say of each source how much of it is read.")
    return message


def _searches(sub_queries: Sequence[SubQuery]) -> list[str]:
    return [
        f"{one_line(s.query)} ({one_line(s.rationale)})" if s.rationale else one_line(s.query)
        for s in sub_queries
    ]


def _described(source: Doubtful) -> str:
    lines = [f"Title: {one_line(source.title)[:LONGEST_TITLE]}"]
    if source.url:
        lines.append(f"Address: {one_line(source.url)[:LONGEST_TITLE]}")
    headings = [one_line(heading)[:LONGEST_HEADING] for heading in source.headings[:MOST_HEADINGS]]
    if headings:
        lines.append(f"Headings: {'; '.join(headings)}")
    return "\n".join((*lines, f"Passage: {one_line(source.passage)[:LONGEST_PASSAGE]}"))
