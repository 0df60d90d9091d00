"""What is asked, part by part, and the sources that it is asked of. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from deep_research.evidence.debris import is_record_of_versions
from deep_research.evidence.names import asked_names
from deep_research.evidence.question import QuestionKind, asked_terms, is_own, kind_of
from deep_research.evidence.ranking import Passage
from deep_research.evidence.text import DECADE, NAME_WEIGHT, STOP_WORDS, question_terms, stem
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzerInput

_IN_ALL = re.compile(r"\b(?:in|with|using) (?:the )?(?P<name>[A-Z][\w.+#-]*)\W*\Z")
COMMON = 0.5  # of the sources have a name that tells nothing


@dataclass(frozen=True, slots=True)
class Aspect:
    """Something that is asked: a sub-query, or a gap of an earlier iteration."""

    id: str
    query: str
    weights: Mapping[str, float]
    priority: int = 1
    later: bool = False

    @property
    def names(self) -> list[set[str]]:
        """The stems of each name of several words, without the small ones: titles are not looked through for these."""
        named = (
            {stem(word) for word in name.split() if word not in STOP_WORDS}
            for name in asked_names(self.query)
            if not any(c.isdigit() for c in name)
        )
        return [name for name in named if len(name) > 1]


def aspects_of(handoff: AnalyzerInput) -> list[Aspect]:
    """The question, its parts, and what followed; not the searches that only widened the net."""
    question = " ".join(handoff.original_query.split())
    return [
        Aspect(s.id, s.query, asked_terms(s.query), s.priority, later=s.iteration > 1)
        for s in handoff.sub_queries
        if s.query == question or s.iteration > 1 or not is_own(s.query, question)
    ] or [Aspect("", question, asked_terms(question))]


@dataclass(frozen=True, slots=True)
class Batch:
    """What was scanned: the passages with wanted terms, the wanted terms of each title, and the question's
    terms by weight and rarity; the sources that only record what versions changed; of what was drawn, what it stands
    ``under``, and whether that asks what was asked."""

    handoff: AnalyzerInput
    found: list[Passage]
    titles: list[set[str]]
    question: Mapping[str, float]
    phrases: frozenset[tuple[str, str]] = frozenset()
    records: frozenset[int] = frozenset()
    under: dict[tuple[str, int], frozenset[str]] = field(default_factory=dict)
    announced: set[tuple[str, int]] = field(default_factory=set)


def records(handoff: AnalyzerInput, places: Iterable[int]) -> frozenset[int]:
    """Those of the sources that only record what each version changed, where that is not asked for."""
    sources = {place: handoff.sources[place] for place in places}
    question = handoff.original_query
    return frozenset(n for n, s in sources.items() if is_record_of_versions(s.title, question, s.content))


def without_records(findings: Sequence[AnalyzedFinding], batch: Batch) -> list[AnalyzedFinding]:
    """Without those of the sources that only record what versions changed, where there are others."""
    recording = {batch.handoff.sources[place].id for place in batch.records}
    return [f for f in findings if recording.isdisjoint(f.source_ids)] or list(findings)


def times(weights: Mapping[str, float], rarity: Mapping[str, float]) -> dict[str, float]:
    return {term: weight * rarity[term] for term, weight in weights.items()}


def decades(weights: Iterable[str], text: str) -> set[str]:
    """Which of the decades that are asked about a text tells a year of."""
    return {term for term in weights if DECADE.fullmatch(term) and re.search(rf"\b{term[:3]}\d\b", text)}


def said_above(finding: AnalyzedFinding, batch: Batch) -> set[str]:
    """What a finding need not say: its source's title, the heading or question it stands under, and the decade of its
    years."""
    places = {s.id: n for n, s in enumerate(batch.handoff.sources)}
    quote = finding.quotes[0]
    under = batch.under.get((quote.source_id, quote.start), frozenset())
    return batch.titles[places[finding.source_ids[0]]] | under | decades(batch.question, finding.content)


def without_common_names(batch: Batch) -> dict[str, float]:
    """What is asked, where somebody wants to do something without names that most sources have: in all that is told of
    Flask, "Flask" tells nothing."""
    question = batch.handoff.original_query
    if kind_of(question) is not QuestionKind.HOW_TO:
        return dict(batch.question)
    sources: dict[str, set[int]] = {}
    for passage in batch.found:
        for term in passage.terms:
            sources.setdefault(term, set()).add(passage.source)
    most = COMMON * len(batch.handoff.sources)
    names = {term for term, weight in question_terms(question).items() if weight >= NAME_WEIGHT}
    of_all = {name for name in names if name.isalpha() and len(sources.get(name, ())) > most}
    told = {term: weight for term, weight in batch.question.items() if term not in of_all}
    return told or dict(batch.question)


def of_its_own(aspect: Aspect, batch: Batch) -> Aspect:
    """What is asked, without the name that most sources have in which somebody wants to do something: "in Orrel"."""
    where = _IN_ALL.search(aspect.query)
    named = {stem(where["name"])} if where else set()
    common = named & (batch.question.keys() - without_common_names(batch).keys())
    own = {term: weight for term, weight in aspect.weights.items() if term not in common}
    return replace(aspect, weights=own) if own else aspect
