"""What the findings do not answer: parts of the question, and words of it. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from deep_research.evidence.called import doings, identifiers, parts_of
from deep_research.evidence.chains import LED
from deep_research.evidence.conditions import denied_by
from deep_research.evidence.counting import counted
from deep_research.evidence.dates import YEAR
from deep_research.evidence.doing import says_little
from deep_research.evidence.listing import ENTERED, things
from deep_research.evidence.question import COMPARING, compared, is_own, spelled
from deep_research.evidence.ranking import stems_of
from deep_research.evidence.relations import IN_OTHER_WORDS, related
from deep_research.evidence.tables import CHANGING, asks_over_time
from deep_research.evidence.text import ASKING_WEIGHT, content_words, coverage, question_terms, rarity, stem
from deep_research.evidence.trails import Trails
from deep_research.evidence.versions import CHANGED, changes
from deep_research.phases.analysis.handoff import AnalyzedGap, SourceText, SurveyInput
from deep_research.state import Finding, SubQuery

MIN_COVERAGE = 0.6  # of what a part asks, for a finding that answers it
SETTLED = 0.95  # of the question held by sources that belong together, for no word of it to be a gap
MIN_MISSING = 0.2  # of the question's weight without any finding, to count as a gap
SURE = 0.7  # of the question held by sources that belong together, for words found here and there to be an answer
# Words that say no more than those beside them: "the body that Faraday advised", "served as adviser".
_LIGHT = re.compile(
    r"\bthe ([a-z]+) (?:that|who|whom|which|whose)\b|\b(serve[sd]?|act(?:s|ed)?|work(?:s|ed)?) as\b"
)
_LOOKED_AT = 2_000  # characters of a question
PREFIX = "Not found: "
NOTHING = "Nothing was found about "
APART = "No single source answers the whole of it: "


def gaps(handoff: SurveyInput, trails: Trails) -> tuple[AnalyzedGap, ...]:
    """Parts that no finding answers; else words of the question that no finding has; else what is asked of a name and
    was not found where that name leads; else that all of it was found, but in sources that nothing ties together."""
    said = _said(handoff)
    rare = _Asked(handoff.sources)
    unmet = [
        part
        for part in _parts(handoff)
        if max((coverage(rare(part.query), text) for text in said), default=0.0) < MIN_COVERAGE
    ]
    if unmet:
        return tuple(_gap(part.query, part.priority, said) for part in unmet)
    together: set[str] = set().union(*said) if said else set()
    if handoff.findings and trails.held >= SETTLED:
        return ()
    if coverage(rare(handoff.original_query), together) < 1.0 - MIN_MISSING:
        return (_gap(handoff.original_query, 1, said),)
    found: list[AnalyzedGap] = []
    asking = _asking(handoff.original_query)
    bearing = {name for name, _ in trails.unmet}
    for name, lacking in trails.unmet:
        if name.startswith("the ") and name.removeprefix("the ") in bearing:
            continue  # one name, with its article and without
        unsaid = [
            word for word in lacking if stem(word) not in asking and together.isdisjoint(related(stem(word)))
        ]
        if unsaid:
            of = f" of {spelled(handoff.original_query, name)[0]}" if name else ""
            found.append(AnalyzedGap(description=f"{NOTHING}{_either(unsaid)}{of}.", priority=2))
    if compared(handoff.original_query):
        return tuple(found)  # each side may well have a source of its own
    if not found and trails.held < SURE and not _told_by_one(handoff, rare(handoff.original_query), asking):
        found.append(AnalyzedGap(description=f"{APART}{handoff.original_query}", priority=2))
    return tuple(found)


def _told_by_one(handoff: SurveyInput, weights: Mapping[str, float], asking: AbstractSet[str]) -> bool:
    """Whether what was found in one source says all that is asked."""
    together: dict[str, set[str]] = {}
    for finding, stems in zip(handoff.findings, _said(handoff), strict=True):
        if len(finding.source_ids) == 1:
            together.setdefault(finding.source_ids[0], set()).update(stems)
    wanted = {term: weight for term, weight in weights.items() if term not in asking}
    return any(coverage(wanted, stems) >= SETTLED for stems in together.values())


def _parts(handoff: SurveyInput) -> list[SubQuery]:
    """The sub-queries of the plan that stand for a part of the question."""
    question = " ".join(handoff.original_query.split())
    return [
        s
        for s in handoff.sub_queries
        if s.iteration == 1 and s.query != question and not is_own(s.query, question)
    ]


def _said(handoff: SurveyInput) -> list[set[str]]:
    """The stems of each finding, with the titles of its sources: what the title says need not be said again. A year
    tells of its decade, and a secret key of ``secret_key``."""
    titles = {source.id: stems_of(source.title) for source in handoff.sources}
    said = [
        (_with_decades(stems_of(finding.content)) | _otherwise(finding)).union(
            *(titles.get(i, set()) for i in finding.source_ids)
        )
        for finding in handoff.findings
    ]
    wanted = things(handoff.original_query)
    for own, finding in zip(said, handoff.findings, strict=True):
        own |= wanted.kind if wanted and finding.category == ENTERED else frozenset()
    if count := counted(handoff.original_query):
        for own, finding in zip(said, handoff.findings, strict=True):
            own |= {count.doing} if count.is_told(finding.content) else set()
    called = {stem(name): parts_of(name) for name in identifiers(handoff.original_query)}
    return [own.union(name for name, parts in called.items() if parts <= own) for own in said]


def _otherwise(finding: Finding) -> set[str]:
    """The parts of what programs call something, and all words for what a finding says in others than the question's: one
    that ends a chain tells of a father by his sons."""
    parts = doings(" ".join(identifiers(finding.content)))
    if finding.category not in (IN_OTHER_WORDS, LED):
        return parts
    return parts.union(*(related(stem) for stem in stems_of(finding.content)))


def _with_decades(stems: set[str]) -> set[str]:
    return stems | {f"{stem[:3]}0s" for stem in stems if YEAR.fullmatch(stem)}


class _Asked:
    """What a query asks for, weighted by how few of the sources have it."""

    def __init__(self, sources: Sequence[SourceText]) -> None:
        texts = [stems_of(f"{source.title}\n{source.content}") for source in sources]
        self._total = max(1, len(texts))
        self._holding = Counter(term for text in texts for term in text)

    def __call__(self, query: str) -> Mapping[str, float]:
        silent = {stem(word) for word in COMPARING} | _asking(query)
        terms = question_terms(query)
        return {
            term: weight * rarity(self._total, self._holding[term])
            for term, weight in terms.items()
            if term not in silent or silent.issuperset(terms)
        }


def _gap(query: str, priority: int, said: Sequence[set[str]]) -> AnalyzedGap:
    present: set[str] = set().union(*said) if said else set()
    silent = present | _asking(query)
    missing = [
        w
        for w in dict.fromkeys(content_words(query))
        if stem(w) not in silent and w.casefold() not in COMPARING
    ]
    if not said or not missing:
        return AnalyzedGap(description=f"{PREFIX}{query}", priority=priority)
    end = "" if query[-1:] in ".?!" else "."
    return AnalyzedGap(description=f"{PREFIX}{query}{end} {NOTHING}{_either(missing)}.", priority=priority)


def _asking(query: str) -> frozenset[str]:
    """The stems that only ask: nothing was looked for by them."""
    light = {stem(match[match.lastindex or 0]) for match in _LIGHT.finditer(query[:_LOOKED_AT])}
    return (_changing(query) | denied_by(query) | says_little(query) | light).union(
        term for term, weight in question_terms(query).items() if weight <= ASKING_WEIGHT
    )


def _changing(query: str) -> frozenset[str]:
    """The stems that ask for a change, which is told without them."""
    if changes(query) is not None:
        return CHANGED
    return CHANGING if asks_over_time(query) else frozenset()


def _either(words: Sequence[str]) -> str:
    """Words of the question, as quoted in a sentence that denies them all."""
    quoted = [f"“{word}”" for word in words]
    return f"{', '.join(quoted[:-1])} or {quoted[-1]}" if len(quoted) > 1 else quoted[0]
