"""The finding of a task: what its agent ended it with, with the quotes as the sources have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deep_research.calls import off_loop
from deep_research.errors import ToolError
from deep_research.phases.gathering.tasks.task_context import TaskContext
from deep_research.phases.gathering.tasks.toolbox import Fact, TaskEnd
from deep_research.phases.prompting import Aliases, one_line
from deep_research.provenance.quotes import QuoteFinder, quote_at
from deep_research.state import ConfidenceLevel, KeyFact, Quote, Source, TaskFinding
from deep_research.state.identity import normalised

MAX_FACTS = 40
MAX_FACT_CHARS, MAX_ANSWER_CHARS = 1_000, 4_000
MAX_MISSING = 10
MAX_WORTH_READING = 10
_UNIT_CHARS = 2_000  # of texts that quotes are looked for in, in the time of one small item


async def task_finding(end: TaskEnd, desk: TaskContext) -> tuple[TaskFinding, list[Fact]]:
    """What the agent gave, its quotes as the sources have them; and the facts whose quotes none has."""
    stated = [fact for fact in end.facts[:MAX_FACTS] if 0 < len(one_line(fact.content)) <= MAX_FACT_CHARS]
    quotes = await _located(stated, desk)
    unlocated = [fact for place, fact in enumerate(stated) if place not in quotes]
    facts = _facts(stated, quotes)
    finding = TaskFinding(
        answer=one_line(end.answer or "")[:MAX_ANSWER_CHARS],
        facts=facts,
        confidence=max(
            (fact.confidence for fact in facts),
            key=list(ConfidenceLevel).index,
            default=ConfidenceLevel.SPECULATION,
        ),
        missing=tuple(one_line(each)[:MAX_FACT_CHARS] for each in end.missing[:MAX_MISSING] if each.strip()),
        owner_question=one_line(end.ask_owner or "")[:MAX_FACT_CHARS],
        unlocated=len(unlocated),
        worth_reading=Aliases("S", list(desk.names)).all(end.worth_reading)[:MAX_WORTH_READING],
    )
    return finding, unlocated


async def _located(given: Sequence[Fact], desk: TaskContext) -> dict[int, tuple[Quote, ...]]:
    """The quotes of facts, by the places of those: looked for in the source that a fact names, then in the others
    that the task has. One text is loaded at a time."""
    names = Aliases("S", list(desk.names))
    named_ids = [names.id(fact.source) for fact in given]
    quotes: dict[int, tuple[Quote, ...]] = {}
    for in_named_source in (True, False):
        for source_id in desk.names:
            sought = {
                place: fact.quote
                for place, fact in enumerate(given)
                if place not in quotes and (named_ids[place] == source_id) is in_named_source
            }
            if not sought:
                continue
            try:
                text = await desk.read(source_id)
            except ToolError:  # it is in the store no more: what it said nobody can quote
                continue
            source = desk.sources[source_id]
            quotes |= await off_loop(len(text) // _UNIT_CHARS, _locate_quotes, sought, text, source)
    return quotes


def _locate_quotes(sought: Mapping[int, str], text: str, source: Source) -> dict[int, tuple[Quote, ...]]:
    """Those of the quotes that stand in a text."""
    finder = QuoteFinder({source.id: text})
    quotes = {}
    for place, quote in sought.items():
        spans = finder.within(source.id, quote)
        if spans:
            quotes[place] = tuple(
                quote_at(span, text, source.id, source.content_hash or "") for span in spans
            )
    return quotes


def _facts(given: Sequence[Fact], found: Mapping[int, tuple[Quote, ...]]) -> tuple[KeyFact, ...]:
    """Facts with their quotes: what is said several times, of several sources say, is one, of the least confidence."""
    order = list(ConfidenceLevel)
    facts: dict[str, tuple[str, list[ConfidenceLevel], dict[Quote, None]]] = {}
    for place, fact in enumerate(given):
        if place in found:
            content = one_line(fact.content)
            _, levels, quotes = facts.setdefault(normalised(content), (content, [], {}))
            levels.append(ConfidenceLevel(fact.confidence))
            quotes |= dict.fromkeys(found[place])
    return tuple(
        KeyFact(content=content, confidence=min(levels, key=order.index), quotes=tuple(quotes))
        for content, levels, quotes in facts.values()
    )


def lost_quotes(facts: Sequence[Fact]) -> str:
    quotes = "; ".join(f"“{one_line(fact.quote)[:160]}”" for fact in facts[:10])
    return f"No source that you have says so letter by letter: {quotes}. Call done again, with quotes as they stand."
