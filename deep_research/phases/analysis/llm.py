"""The analyzer that thinks with a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, Field

from deep_research.budget.content_budget import DEFAULTS, Content, ContentRules
from deep_research.models.language_model import LanguageModel
from deep_research.phases.analysis.extractive_analyzer import ExtractiveAnalyzer
from deep_research.phases.analysis.findings_merge import (
    DIFFERENCES,
    GAP_RULES,
    NewContradiction,
    NewGap,
    contradictions_of,
    gaps_of,
    merge,
)
from deep_research.phases.analysis.handoff import (
    AnalyzedFinding,
    AnalyzedQuote,
    AnalyzerInput,
    AnalyzerOutput,
    Doubtful,
    DoubtInput,
    DoubtOutput,
    RequoteInput,
    RequoteOutput,
    SourceRoom,
    SourceText,
    SurveyInput,
    SurveyOutput,
)
from deep_research.phases.analysis.quote_recovery import requote
from deep_research.phases.prompting import (
    RULES,
    Aliases,
    Message,
    ModelAgent,
    Room,
    ask_model,
    brief,
    listed,
    manner,
    one_line,
    opening,
    output_for,
    room_for,
)
from deep_research.state import ConfidenceLevel, QualityUpdate, ReadDepth, SourceQuality, SubQuery

MAX_OUTPUT_TOKENS = 6_000  # tokens, thoughts included
CALL_TOKENS = 20_000  # of the sources of a call: more, and models overlook what stands in the middle
AROUND_SOURCE = 90  # tokens of what stands around a source, about
MAX_TITLE_CHARS = 300
IRRELEVANT = "irrelevant"  # a source of another matter
NO_GAPS = "Name no gaps: others read further sources, and what is missing shows when all was read."
OF_BESIDE = 0.08  # of the room, for each of the things that stand beside the sources
MAX_CHOICE_TOKENS = 1_500  # of what is said of doubtful sources, thoughts included
MAX_CHOICE_TITLE_CHARS, MAX_CHOICE_HEADING_CHARS = 200, 80
EXTENTS = {"whole": ReadDepth.WHOLE, "sections": ReadDepth.SECTIONS, "no": ReadDepth.NOTHING}

SYSTEM = f"""\
You read sources for a piece of research and write down what they say about the question. Every source has \
a name such as S1.

A finding is one statement that helps to answer the question, in your own words, understandable without \
the source: with the names, figures, units and dates it is about. For each finding give
- the sources that carry it, by name;
- for each of them a quote: the words of the source from which the finding follows, copied letter by \
letter from it, one to three sentences, nothing left out and nothing added. A finding whose quote is not \
found in its source is thrown away. […] stands where a part of a long source is left out: no quote reaches across it;
- how sure it is. low: one weak source. medium: one source with authority, or several that may copy each \
other. high: several sources with authority that do not;
- a short theme that findings of the same kind share.

Write as many findings as the sources have to give, the most telling first; for a source that says nothing \
about the question none. Join what several sources say into one finding with all of them. Do not answer \
from what you know yourself.

Where sources contradict each other, or what is known already, write a finding for each side, and name the \
contradiction: who says what, each side by the name of its source or of the finding that is known, and {DIFFERENCES}

{GAP_RULES}

For each source that you read say how far it can be relied on (low, medium, high): by who says it, how \
near they are to the matter, and how old it is; or irrelevant, where it is about something else.

{RULES}"""

CHOICE_SYSTEM = f"""\
You choose what is read for a piece of research. Of each source (S1, S2 …) you see its title, its headings and the \
passage of it that has most of the words of what is asked. It has few of them, and would be left unread. Say of each:
- whole: most of it bears on what is asked;
- sections: the passage, and what stands around it, may tell something that is asked;
- no: nothing in it helps to answer.

Judge by what is meant: a source may answer in other words than the question's. A source on another matter that shares \
some words does not. What is read takes the room of other sources, so where nothing speaks for a source it is no.

{RULES}"""


class Evidence(BaseModel):
    source_id: str = Field(description="name of the source, such as S1")
    quote: str = Field(description="copied letter by letter")


class NewFinding(BaseModel):
    content: str = Field(description="the statement, understandable by itself")
    confidence: Literal["low", "medium", "high"] = "low"
    source_ids: list[str] = Field(description="names of the sources that carry it")
    category: str | None = Field(default=None, description="theme")
    quotes: list[Evidence] = Field(description="one for each source")
    part: str | None = Field(
        default=None, description="name of the part of the question that it serves, such as P1"
    )


class Opinion(BaseModel):
    source_id: str
    quality: Literal["low", "medium", "high", "irrelevant"]


class Reading(BaseModel):
    findings: list[NewFinding]
    gaps: list[NewGap] = Field(default_factory=list)
    contradictions: list[NewContradiction] = Field(default_factory=list)
    quality_updates: list[Opinion] = Field(default_factory=list)
    addressed_gap_ids: list[str] = Field(
        default_factory=list, description="names of the earlier gaps that these sources fill, such as G1"
    )


class SourceChoice(BaseModel):
    source: str = Field(description="name of the source, such as S1")
    read: Literal["whole", "sections", "no"]


class Choices(BaseModel):
    choices: list[SourceChoice] = Field(description="one for each source")


class LLMAnalyzer(ModelAgent):
    """Has its model read a batch of sources at a time. Names that were not given are dropped and counted."""

    name = "analyzer"
    call_tokens = CALL_TOKENS

    def __init__(self, rules: ContentRules = DEFAULTS) -> None:
        super().__init__(rules)
        self._extractive = ExtractiveAnalyzer()

    async def room_for_sources(self, handoff: AnalyzerInput, model: LanguageModel) -> SourceRoom:
        """What a call has for sources, those of ``handoff`` aside."""
        room = await room_for(model, output_for(model, MAX_OUTPUT_TOKENS), SYSTEM, rules=self._rules)
        message = _beside(handoff, room)
        message.add(_closing(handoff))
        return SourceRoom(
            tokens=max(0, room.tokens - message.size),
            call=self.call_tokens,
            around=AROUND_SOURCE,
            beside=room.beside + message.size,
            answer=room.answer,
            rules=self._rules,
        )

    async def __call__(self, handoff: AnalyzerInput, model: LanguageModel) -> AnalyzerOutput:
        reading, message = await ask_model(
            model,
            SYSTEM,
            MAX_OUTPUT_TOKENS,
            Reading,
            lambda room: _message(handoff, room),
            self._rules,
            size=sum(len(source.content) for source in handoff.sources),
        )
        return _output(reading, handoff, model.name).model_copy(
            update={"notes": message.notes(self.name), "context_usage": message.sending}
        )

    async def decide(self, handoff: DoubtInput, model: LanguageModel) -> DoubtOutput:
        """How much is read of sources that code is not sure of. Names that were not given mean nothing; of two answers on
        one source the first counts."""
        names = Aliases("S", [source.id for source in handoff.sources])
        decisions, _ = await ask_model(
            model,
            CHOICE_SYSTEM,
            MAX_CHOICE_TOKENS,
            Choices,
            lambda room: _doubts(handoff, names.names, room),
            self._rules,
        )
        extents: dict[str, ReadDepth] = {}
        for choice in decisions.choices:
            if (source_id := names.id(choice.source)) is not None:
                extents.setdefault(source_id, EXTENTS[choice.read])
        return DoubtOutput(extents=extents, by=model.name)

    async def requote(self, handoff: RequoteInput, model: LanguageModel) -> RequoteOutput:
        return await requote(handoff, model, self._rules)

    async def survey(self, handoff: SurveyInput, model: LanguageModel) -> SurveyOutput:
        """Order and coverage by code; what several readings have in common by the model."""
        surveyed = await self._extractive.survey(handoff)
        looked = SurveyOutput(scores=surveyed.scores, completeness=surveyed.completeness)
        return await merge(handoff, looked, model) if handoff.readings > 1 else looked


def _message(handoff: AnalyzerInput, room: Room) -> Message:
    """The sources with as much of each as there is room for."""
    message = _beside(handoff, room)
    found_by = _found_by(handoff)
    heads = {source.id: _head(source, found_by.get(source.id, [])) for source in handoff.sources}
    left = room.tokens - message.size - message.count(_closing(handoff))
    left -= sum(message.count(message.fenced("source S00", head)) for head in heads.values())
    contents = [
        Content(s.id, (s.content,), *handoff.weights.source(s), tokens=s.tokens) for s in handoff.sources
    ]
    fitted = message.fitted(contents, max(0, left), handoff.looked_for, "long sources")
    names = Aliases("S", [s.id for s in handoff.sources]).names
    for source in handoff.sources:
        if text := fitted.texts[source.id]:
            message.material(f"source {names[source.id]}", f"{heads[source.id]}\n\n{text}")
    message.add(_closing(handoff))
    return message


def _closing(handoff: AnalyzerInput) -> str:
    gaps = "" if handoff.names_gaps else f" {NO_GAPS}"
    return f"Read these sources. {manner(handoff)} Quotes stay in theirs.{gaps}"


def _beside(handoff: AnalyzerInput, room: Room) -> Message:
    """What stands beside the sources."""
    message = Message(room)
    opening(message, handoff)
    brief(message, handoff.research_brief)
    if len(handoff.parts) > 1:
        names = Aliases("P", [part.id for part in handoff.parts]).names
        part_lines = [f"{names[part.id]}: {one_line(part.text)}" for part in handoff.parts]
        heading = "The parts of the question; say of each finding and gap which it serves:"
        message.listing(heading, "parts", part_lines, OF_BESIDE, "the parts of the question", bullet="")
    names = Aliases("Q", [s.id for s in handoff.sub_queries]).names
    query_lines = [f"{names[s.id]}: {_search(s)}" for s in handoff.sub_queries]
    if searches := message.lines(query_lines, OF_BESIDE, "the searches"):
        message.add(f"What was searched for, and why:\n{listed(searches)}")
    names = Aliases("G", [g.id for g in handoff.open_gaps]).names
    gaps = [f"{names[g.id]}: {one_line(g.description)}" for g in handoff.open_gaps]
    heading = "Earlier gaps; say which of them these sources fill:"
    message.listing(heading, "gaps", gaps, OF_BESIDE, "earlier gaps", bullet="")
    names = Aliases("F", [f.id for f in handoff.findings]).names
    finding_lines = [f"{names[f.id]}: {one_line(f.content)}" for f in handoff.findings]
    heading = (
        "Known from earlier rounds; write it again only where these sources carry it too or contradict it:"
    )
    message.listing(heading, "known", finding_lines, OF_BESIDE, "earlier findings")
    return message


def _doubts(handoff: DoubtInput, names: Mapping[str, str], room: Room) -> Message:
    message = Message(room)
    opening(message, handoff)
    if searches := [_search(s) for s in handoff.sub_queries]:
        message.add(f"What was searched for:\n{listed(message.lines(searches, OF_BESIDE, 'the searches'))}")
    for source in handoff.sources:
        message.material(f"source {names[source.id]}", _described(source))
    message.add("Say of each source how much of it is read.")
    return message


def _described(source: Doubtful) -> str:
    headings = "; ".join(one_line(heading)[:MAX_CHOICE_HEADING_CHARS] for heading in source.headings)
    lines = {
        "Title": one_line(source.title)[:MAX_CHOICE_TITLE_CHARS],
        "Address": one_line(source.url or "")[:MAX_CHOICE_TITLE_CHARS],
        "Headings": headings,
        "Passage": one_line(source.passage),
    }
    return "\n".join(
        f"{name}: {text}" for name, text in lines.items() if text or name in ("Title", "Passage")
    )


def _search(query: SubQuery) -> str:
    return (
        f"{one_line(query.query)} ({one_line(query.rationale)})" if query.rationale else one_line(query.query)
    )


def _found_by(handoff: AnalyzerInput) -> dict[str, list[str]]:
    """The names of the searches that found each source."""
    names = Aliases("Q", [s.id for s in handoff.sub_queries]).names
    queries: dict[str, list[str]] = {}
    for search in handoff.sub_queries:
        for source_id in search.source_ids:
            queries.setdefault(source_id, []).append(names[search.id])
    for source in handoff.sources:
        if source.sub_query_id in names:
            queries.setdefault(source.id, [names[source.sub_query_id]])
    return queries


def _head(source: SourceText, found_by: Sequence[str]) -> str:
    about = [f"Title: {one_line(source.title)[:MAX_TITLE_CHARS]}"]
    if source.url:
        about.append(f"Address: {one_line(source.url)[:MAX_TITLE_CHARS]}")
    if source.published:
        about.append(f"Date: {source.published.isoformat()}")
    if found_by:
        about.append(f"Found by: {', '.join(found_by)}")
    return "\n".join(about)


def _output(reading: Reading, handoff: AnalyzerInput, by: str) -> AnalyzerOutput:
    aliases = Aliases("F", [f.id for f in handoff.findings])
    sources = Aliases("S", [s.id for s in handoff.sources])
    gaps = Aliases("G", [g.id for g in handoff.open_gaps])
    parts = Aliases("P", [part.id for part in handoff.parts])
    by_sub_query = {s.id: s.sub_query_id for s in handoff.sources}
    relevance = {s.id: s.relevance or 0.0 for s in handoff.sources}
    findings = []
    for item in reading.findings:
        quotes = tuple(
            AnalyzedQuote(source_id=source_id, quote=evidence.quote)
            for evidence in item.quotes
            if (source_id := sources.id(evidence.source_id)) is not None
        )
        carried = tuple(dict.fromkeys((*sources.all(item.source_ids), *(q.source_id for q in quotes))))
        if item.content.strip():
            findings.append(
                AnalyzedFinding(
                    content=item.content,
                    confidence=ConfidenceLevel(item.confidence),
                    source_ids=carried,
                    category=item.category,
                    quotes=quotes,
                    sub_query_id=by_sub_query.get(carried[0]) if carried else None,
                    part_id=parts.id(item.part) if item.part else None,
                    relevance=max((relevance[i] for i in carried), default=0.0),
                )
            )
    opinions = [
        (id, o.quality) for o in reading.quality_updates if (id := sources.id(o.source_id)) is not None
    ]
    return AnalyzerOutput(
        findings=tuple(findings),
        gaps=gaps_of(reading.gaps, parts) if handoff.names_gaps else (),
        contradictions=contradictions_of(reading.contradictions, aliases, sources, by),
        quality_updates=tuple(
            QualityUpdate(source_id=source_id, quality=SourceQuality(quality))
            for source_id, quality in opinions
            if quality != IRRELEVANT
        ),
        irrelevant_ids=tuple(source_id for source_id, quality in opinions if quality == IRRELEVANT),
        addressed_gap_ids=gaps.all(reading.addressed_gap_ids),
        unknown=aliases.unknown + sources.unknown + gaps.unknown + parts.unknown,
        has_quotes=True,
    )
