"""Findings whose quotes do not support them, or stand in no source: asks the model once for better quotes or words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from pydantic import BaseModel, Field

from deep_research.budget.content_budget import DEFAULTS, ContentRules
from deep_research.models.language_model import LanguageModel
from deep_research.phases.analysis.handoff import (
    AnalyzedFinding,
    AnalyzedQuote,
    AnalyzerInput,
    AnalyzerOutput,
    DoubtfulFinding,
    RequoteInput,
    RequoteOutput,
    Restatement,
    SourceText,
)
from deep_research.phases.analysis.recorded_findings import (
    MAX_FINDING_CHARS,
    Passage,
    WholeTexts,
    foundation,
)
from deep_research.phases.prompting import (
    RULES,
    Aliases,
    Message,
    Room,
    ask_model,
    listed,
    manner,
    one_line,
    today,
)
from deep_research.provenance.alignment import View
from deep_research.provenance.quotes import QuoteFinder
from deep_research.text.language import written_in
from deep_research.text.passages import passages

MAX_OUTPUT_TOKENS = 3_000  # thoughts included
MAX_FINDINGS = 20  # of one request
MAX_QUOTES = 4  # of a finding
MAX_QUOTE_CHARS = 800  # that are shown
MAX_PASSAGE_CHARS = 1_500
MAX_PASSAGES = 2  # that come near the words of a finding
MAX_SHOWN_PASSAGES = 5  # beside a finding
MIN_SHARED_SHARE = 0.4  # of the words of a quote or finding; less in every passage means that it is invented
TOKENS_PER_READING = 20_000, 6_000  # in and out, kept free for each reading that is still to come

SYSTEM = f"""\
You have written down findings with quotes from sources. The findings below (F1, F2 …) are not carried by their quotes: \
a quote is in no source as it was written down, or the quotes do not have all that the finding says. With each stand \
the names of the passages (P1, P2 …) that come nearest. Give for each finding
- other quotes: words of the passages from which it follows, copied letter by letter, one to three sentences each, as \
many quotes as it takes;
- where the passages say something else, also other words for the finding: one statement that follows from the quotes, \
understandable by itself, with its subject and its figures. Else leave the words empty.
Where the passages say nothing of it leave both empty: the finding is left out then.

{RULES}"""


class Requote(BaseModel):
    finding: str = Field(description="name of the finding, such as F1")
    quotes: list[str] = Field(
        default_factory=list, description="words of passages, copied letter by letter; empty for none"
    )
    words: str = Field(default="", description="other words for the finding; empty where its words stand")


class Requotes(BaseModel):
    findings: list[Requote] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LocatedAnswer:
    """An answer whose located quotes are in the exact words of their source; ``lost_quotes`` maps the index of a finding
    to the indexes of quotes that no source has."""

    answer: AnalyzerOutput
    lost_quotes: Mapping[int, frozenset[int]]

    def located_quotes(self, place: int) -> tuple[AnalyzedQuote, ...]:
        """The quotes of a finding that are in a source."""
        quotes = self.answer.findings[place].quotes
        return tuple(quote for n, quote in enumerate(quotes) if n not in self.lost_quotes[place])


def locate_quotes(answer: AnalyzerOutput, handoff: AnalyzerInput) -> LocatedAnswer:
    """Looks for the quotes in all sources of a call, as its agent was given them. Adds to a finding the sources in which
    its quotes were found."""
    finder = _finder(handoff)
    finder.together((q.quote, q.source_id, q.start) for finding in answer.findings for q in finding.quotes)
    lost_quotes: dict[int, frozenset[int]] = {}
    findings = []
    for place, finding in enumerate(answer.findings):
        quotes: list[AnalyzedQuote] = []
        missing: set[int] = set()
        for quote in finding.quotes:
            words = _in_source_words(quote, finder, handoff.sources)
            missing |= set() if words else {len(quotes)}
            quotes += words or [quote]
        ids = dict.fromkeys((*finding.source_ids, *(quote.source_id for quote in quotes)))
        findings.append(finding.model_copy(update={"quotes": tuple(quotes), "source_ids": tuple(ids)}))
        lost_quotes[place] = frozenset(missing)
    return LocatedAnswer(answer.model_copy(update={"findings": tuple(findings)}), lost_quotes)


def doubtful_findings(found: LocatedAnswer, handoff: AnalyzerInput) -> dict[int, DoubtfulFinding]:
    """The findings that their quotes do not carry, or of which a quote is in no source, by their places: as many as one
    request may ask about, without those that nothing comes near."""
    texts = {source.id: source.content for source in handoff.sources}
    wholes = WholeTexts({source.id: source.title for source in handoff.sources}, texts)
    language = written_in(" ".join(finding.content for finding in found.answer.findings))
    source_passages = _Passages(handoff.sources)
    doubtful: dict[int, DoubtfulFinding] = {}
    for place, finding in enumerate(found.answer.findings):
        quotes = [_passage(quote, texts[quote.source_id]) for quote in found.located_quotes(place)]
        lost_quotes = [quote for n, quote in enumerate(finding.quotes) if n in found.lost_quotes[place]]
        support = foundation(one_line(finding.content), quotes, wholes, language) if quotes else None
        is_carried = support is not None and not support.doubts
        if is_carried and not lost_quotes:
            continue
        if near := source_passages.near(quotes, lost_quotes, None if is_carried else finding):
            doubtful[place] = DoubtfulFinding(
                content=finding.content,
                quotes=tuple(quote.words for quote in quotes),
                lost_quotes=tuple(quote.quote for quote in lost_quotes),
                lacking=support.lacking if support else (),
                passages=near,
            )
        if len(doubtful) == MAX_FINDINGS:
            break
    return doubtful


def apply_requotes(
    found: LocatedAnswer, places: Iterable[int], given: RequoteOutput, handoff: AnalyzerInput
) -> AnalyzerOutput:
    """The answer with what was given for the findings at these places, as far as it is in a source: quotes beside those
    that are, other words with their own quotes."""
    finder = _finder(handoff)
    findings = list(found.answer.findings)
    for place, again in zip(places, given.findings, strict=False):
        if again is None:
            continue
        content, located = one_line(again.content), found.located_quotes(place)
        source_id = next(iter(findings[place].source_ids), "")
        requotes = [AnalyzedQuote(source_id=source_id, quote=quote) for quote in again.quotes[:MAX_QUOTES]]
        fresh = [words for quote in requotes for words in _in_source_words(quote, finder, handoff.sources)]
        if not (fresh or (content and located)):
            continue
        quotes = tuple(dict.fromkeys(fresh if content and fresh else (*located, *fresh)))
        changed = {
            "content": content or findings[place].content,
            "source_ids": tuple(dict.fromkeys(quote.source_id for quote in quotes)),
            "quotes": quotes,
        }
        findings[place] = findings[place].model_copy(update=changed)
    return found.answer.model_copy(update={"findings": tuple(findings)})


async def requote(
    handoff: RequoteInput, model: LanguageModel, rules: ContentRules = DEFAULTS
) -> RequoteOutput:
    """What a model gives for the findings: one request for as many of them, from the first on, as it has room for."""
    requotes, message = await ask_model(
        model, SYSTEM, MAX_OUTPUT_TOKENS, Requotes, lambda room: _Request(handoff, room), rules
    )
    by_id: dict[str, Restatement | None] = dict.fromkeys(message.findings.ids)
    for item in requotes.findings:
        if (number := message.findings.id(item.finding)) is not None:
            by_id[number] = Restatement(content=item.words, quotes=tuple(item.quotes))
    return RequoteOutput(findings=tuple(by_id.values()))


def _passage(quote: AnalyzedQuote, text: str) -> Passage:
    start = max(0, text.find(quote.quote, quote.start))
    return Passage.at(quote.source_id, text, start, start + len(quote.quote))


def _finder(handoff: AnalyzerInput) -> QuoteFinder:
    return QuoteFinder({source.id: source.content for source in handoff.sources})


class _Request(Message):
    """The message, with the names of the findings that it has room for. A passage stands in it once."""

    def __init__(self, handoff: RequoteInput, room: Room) -> None:
        super().__init__(room)
        self.add(today(handoff.day, handoff.as_of))
        closing = (
            f"Give other quotes for each finding, or other words. {manner(handoff)} Quotes stay in theirs."
        )
        left = room.tokens - self.size - self.count(closing)
        names: dict[str, str] = {}
        count = 0
        for number, finding in enumerate(handoff.findings, 1):
            fresh = [passage for passage in dict.fromkeys(finding.passages) if passage not in names]
            aliases = names | {passage: f"P{n}" for n, passage in enumerate(fresh, len(names) + 1)}
            parts = [self.fenced(f"passage {aliases[text]}", text[:MAX_PASSAGE_CHARS]) for text in fresh]
            parts.append(self.fenced(f"finding F{number}", _as_told(finding, aliases)))
            left -= sum(map(self.count, parts))
            if left < 0 and count and self.rules.enabled:
                break
            names, count = aliases, number
            for part in parts:
                self.add(part)
        self.findings = Aliases("F", [str(n) for n in range(count)])
        self.add(closing)


def _as_told(finding: DoubtfulFinding, names: Mapping[str, str]) -> str:
    lines = [f"Quoted: {one_line(quote)[:MAX_QUOTE_CHARS]}" for quote in finding.quotes[:MAX_QUOTES]]
    lines += [
        f"In no source: {one_line(quote)[:MAX_QUOTE_CHARS]}" for quote in finding.lost_quotes[:MAX_QUOTES]
    ]
    if finding.lacking:
        lines.append(f"Not in the sources quoted: {'; '.join(finding.lacking)}")
    lines.append(f"Nearest: {', '.join(dict.fromkeys(names[passage] for passage in finding.passages))}")
    return f"{one_line(finding.content)[:MAX_FINDING_CHARS]}\n{listed(lines)}"


def _in_source_words(
    quote: AnalyzedQuote, finder: QuoteFinder, sources: Sequence[SourceText]
) -> list[AnalyzedQuote]:
    """The quote in the words of the source that has it; nothing where none has."""
    match = finder.find(quote.quote, quote.source_id, quote.start)
    if match is None:
        return []
    source_id, spans = match
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


class _Passages:
    """The passages of sources with their words, split when `near` is first called."""

    def __init__(self, sources: Sequence[SourceText]) -> None:
        self._sources = sources
        self._read: list[tuple[str, str, frozenset[str]]] = []

    def near(
        self, quotes: Iterable[Passage], lost: Iterable[AnalyzedQuote], finding: AnalyzedFinding | None
    ) -> tuple[str, ...]:
        """The passage that comes nearest to each lost quote; of a finding that is not carried those in which its quotes
        stand, and those that come nearest to its words."""
        self._read = self._read or [
            (source.id, text := source.content[passage.start : passage.end], _content(View(text)))
            for source in self._sources
            for passage in passages(source.content)
        ]
        queries = [(quote.quote[:MAX_QUOTE_CHARS], quote.source_id, 1) for quote in lost]
        around: list[str] = []
        if finding is not None:
            around += (
                text for q in quotes for i, text, _ in self._read if i == q.source_id and q.words in text
            )
            queries.append(
                (finding.content[:MAX_QUOTE_CHARS], next(iter(finding.source_ids), ""), MAX_PASSAGES)
            )
        nearest = (text for each in queries for text in self._nearest(*each))
        return tuple(islice(dict.fromkeys((*around, *nearest)), MAX_SHOWN_PASSAGES))

    def _nearest(self, words: str, source_id: str, most: int) -> Iterator[str]:
        """The passages that have most of the words, those of the named source among equals; none that has too few."""
        query_words = _content(View(words))
        candidates = sorted(self._read, key=lambda one: (-len(query_words & one[2]), one[0] != source_id))
        near = (
            text
            for _, text, passage_words in candidates
            if query_words and len(query_words & passage_words) >= MIN_SHARED_SHARE * len(query_words)
        )
        return islice(near, most)


def _content(view: View) -> frozenset[str]:
    return frozenset(view.keys[place] for place in view.contents)
