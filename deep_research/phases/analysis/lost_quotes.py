"""Quotes of a reading that are in none of its sources: set against the nearest passage, and asked for once more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from deep_research.budget.content_budget import DEFAULTS, ContentRules
from deep_research.evidence.alignment import View
from deep_research.evidence.passages import passages
from deep_research.evidence.quotes import QuoteFinder
from deep_research.models.language_model import LanguageModel
from deep_research.phases.analysis.handoff import (
    AnalyzedFinding,
    AnalyzedQuote,
    AnalyzerInput,
    AnalyzerOutput,
    SourceText,
)
from deep_research.phases.base import Handoff
from deep_research.phases.prompting import RULES, Aliases, Message, Room, asked, today
from deep_research.state import Record

MOST_OUTPUT = 2_000  # tokens, thoughts included
MOST_QUOTES = 20  # of one request
LONGEST_QUOTE = 800  # characters that are shown
NEAR = (
    0.4  # of the words of a quote that its nearest passage has; with fewer it is invented, and not asked for
)
A_READING = 20_000, 6_000  # tokens in and out, that are left for each reading that is still to come

SYSTEM = f"""\
You have quoted sources, and some of the quotes (Q1, Q2 …) are in none of them as they were written down. With each \
stands the passage that comes nearest. Give for each the words of its passage that say the same, copied letter by \
letter, one to three sentences. Where the passage does not say it, leave the quote empty.

{RULES}"""


class Requote(BaseModel):
    name: str = Field(description="name of the quote, such as Q1")
    quote: str = Field(
        default="", description="the words of its passage, copied letter by letter; empty for none"
    )


class Requotes(BaseModel):
    quotes: list[Requote] = Field(default_factory=list)


class LostQuote(Record):
    """A quote that is in no source, and the ``passage`` of ``source_id`` that comes nearest."""

    quote: str
    source_id: str
    passage: str


class RequoteInput(Handoff):
    """The quotes of one reading that are to be given in the words of their passages."""

    quotes: tuple[LostQuote, ...] = ()


class RequoteOutput(Record):
    """For each quote, in order, the words of its passage, or nothing."""

    quotes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """An answer whose quotes are in the words of the sources that have them. ``lost`` are those that none has, with their
    places: of the finding, and of the quote in it."""

    answer: AnalyzerOutput
    lost: Mapping[tuple[int, int], LostQuote]


def found_quotes(answer: AnalyzerOutput, handoff: AnalyzerInput) -> Found:
    """Looks for the quotes in all sources of a call, as its agent was given them."""
    finder = QuoteFinder({source.id: source.content for source in handoff.sources})
    finder.together((q.quote, q.source_id, q.start) for finding in answer.findings for q in finding.quotes)
    missing: dict[tuple[int, int], AnalyzedQuote] = {}
    findings = []
    for place, finding in enumerate(answer.findings):
        quotes: list[AnalyzedQuote] = []
        for quote in finding.quotes:
            if words := _words(quote, finder, handoff.sources):
                quotes += words
            else:
                missing[place, len(quotes)] = quote
                quotes.append(quote)
        findings.append(_with(finding, quotes))
    texts = _Passages(handoff.sources)
    nearest = {place: texts.nearest(quote) for place, quote in missing.items()}
    lost = {place: quote for place, quote in nearest.items() if quote is not None}
    return Found(answer.model_copy(update={"findings": tuple(findings)}), lost)


def with_requotes(found: Found, given: RequoteOutput, handoff: AnalyzerInput) -> AnalyzerOutput:
    """The answer with the quotes that were given again and are in a source now."""
    finder = QuoteFinder({source.id: source.content for source in handoff.sources})
    better: dict[tuple[int, int], list[AnalyzedQuote]] = {}
    for (place, lost), quote in zip(found.lost.items(), given.quotes, strict=False):
        again = AnalyzedQuote(source_id=lost.source_id, quote=quote)
        if words := _words(again, finder, handoff.sources):
            better[place] = words
    findings = []
    for number, finding in enumerate(found.answer.findings):
        rows = (better.get((number, n), [quote]) for n, quote in enumerate(finding.quotes))
        findings.append(_with(finding, [quote for row in rows for quote in row]))
    return found.answer.model_copy(update={"findings": tuple(findings)})


async def requote(
    handoff: RequoteInput, model: LanguageModel, rules: ContentRules = DEFAULTS
) -> RequoteOutput:
    """The words of the passages, by a model: one request for all quotes."""
    told = handoff.quotes[:MOST_QUOTES]
    names = Aliases("Q", [str(number) for number in range(len(told))])
    requotes, _ = await asked(
        model, SYSTEM, MOST_OUTPUT, Requotes, lambda room: _told(told, handoff, room), rules
    )
    words = dict.fromkeys(names.ids, "")
    for item in requotes.quotes:
        if (number := names.id(item.name)) is not None:
            words[number] = item.quote
    return RequoteOutput(quotes=tuple(words.values()))


def _told(quotes: Sequence[LostQuote], handoff: RequoteInput, room: Room) -> Message:
    message = Message(room)
    message.add(today(handoff.day, handoff.as_of))
    for number, lost in enumerate(quotes, 1):
        message.material(f"quote Q{number}", lost.quote[:LONGEST_QUOTE])
        message.material(f"passage of Q{number}", lost.passage)
    message.add("Give the words of each passage that its quote stands for.")
    return message


def _words(quote: AnalyzedQuote, finder: QuoteFinder, sources: Sequence[SourceText]) -> list[AnalyzedQuote]:
    """The quote in the words of the source that has it; nothing where none has."""
    found = finder.find(quote.quote, quote.source_id, quote.start)
    if found is None:
        return []
    source_id, spans = found
    source = next(source for source in sources if source.id == source_id)
    return [
        AnalyzedQuote(
            source_id=source_id,
            quote=source.content[span.start : span.end],
            start=0
            if source.tokens or source.in_part
            else span.start,  # of a text that was shortened the place is another
        )
        for span in spans
    ]


def _with(finding: AnalyzedFinding, quotes: Sequence[AnalyzedQuote]) -> AnalyzedFinding:
    """The finding with these quotes, and the sources that they turned out to be of."""
    ids = dict.fromkeys((*finding.source_ids, *(quote.source_id for quote in quotes)))
    return finding.model_copy(update={"quotes": tuple(quotes), "source_ids": tuple(ids)})


class _Passages:
    """The passages of sources with their words, read when the first quote is not found."""

    def __init__(self, sources: Sequence[SourceText]) -> None:
        self._sources = sources
        self._read: list[tuple[str, str, frozenset[str]]] = []

    def nearest(self, quote: AnalyzedQuote) -> LostQuote | None:
        """The quote with the passage that has most of its words, one of the named source among equals; None where none
        has enough."""
        self._read = self._read or list(self._each())
        wanted = _content(View(quote.quote[:LONGEST_QUOTE]))
        best = max(
            self._read,
            key=lambda one: (len(wanted & one[2]), one[0] == quote.source_id),
            default=None,
        )
        if not wanted or best is None or len(wanted & best[2]) < NEAR * len(wanted):
            return None
        return LostQuote(quote=quote.quote, source_id=best[0], passage=best[1])

    def _each(self) -> Iterator[tuple[str, str, frozenset[str]]]:
        for source in self._sources:
            for passage in passages(source.content):
                text = source.content[passage.start : passage.end]
                yield source.id, text, _content(View(text))


def _content(view: View) -> frozenset[str]:
    return frozenset(view.keys[place] for place in view.contents)
