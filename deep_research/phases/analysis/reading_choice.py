"""What is read of the sources of a round, chosen before any is: by code, and of those that it is not sure of by a model
where one is asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from deep_research.budget.content_budget import ContentRules
from deep_research.errors import WorkError
from deep_research.evidence.relevance import Questions
from deep_research.phases.analysis.doubts import (
    LONGEST_PASSAGE,
    MOST_DOUBTFUL,
    MOST_HEADINGS,
    Doubtful,
    DoubtInput,
    DoubtOutput,
)
from deep_research.phases.analysis.handoff import AnalyzerInput
from deep_research.phases.analysis.reading_on import read_on
from deep_research.phases.analysis.source_texts import Texts
from deep_research.phases.analysis.triage import (
    LIMIT,
    Doubt,
    Looked,
    decided,
    doubts_of,
    questions_of,
    triaged,
)
from deep_research.phases.base import Handoff, off_loop
from deep_research.state import Limit, Source, Triage
from deep_research.state.events import LimitReached

# Asks the model of the agent; None where it is not to be asked.
Decide = Callable[[DoubtInput], Awaitable[DoubtOutput | None]]


@dataclass(frozen=True, slots=True)
class Chosen:
    """How much is read of each source, what is told of the choice, and how many requests it took."""

    triage: tuple[Triage, ...] = ()
    told: tuple[LimitReached, ...] = ()
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
    about = {name: getattr(told, name) for name in Handoff.model_fields}
    shown = await _shown(sources, doubts, texts)
    handoff = DoubtInput(**about, sub_queries=told.sub_queries, sources=shown)
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


def _left_to_code(doubtful: int, problem: str) -> LimitReached:
    were = "1 source was" if doubtful == 1 else f"{doubtful} sources were"
    message = (
        f"{were} left unread by their words alone, since no model could say whether they help: {problem}"
    )
    return LimitReached(limit=Limit(name=LIMIT, message=message))
