"""What was not found: parts of the question that no finding covers, and names of it that no source has. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from deep_research.evidence.inquiry import Inquiry, Part
from deep_research.evidence.names import key, question_names, spelled
from deep_research.evidence.relations import related
from deep_research.evidence.words import StemFinder, coverage, rarity, stem
from deep_research.phases.analysis.handoff import AnalyzedGap, SurveyInput
from deep_research.state import FirstLook

COVERED = 0.6  # of what a part asks, for a finding that covers it
PREFIX = "Not found: "
NOTHING = "Nothing was found about "
MORE = "There may be more to find on: "


class Drawn(Protocol):
    """A finding, proposed or standing."""

    @property
    def content(self) -> str: ...
    @property
    def source_ids(self) -> tuple[str, ...]: ...


def gaps(
    handoff: SurveyInput, findings: Sequence[Drawn], inquiry: Inquiry, queries: Sequence[str]
) -> tuple[AnalyzedGap, ...]:
    """Parts that no finding covers; names that no source has; and while ``queries`` may find more, that they may."""
    missing = [
        AnalyzedGap(description=f"{PREFIX}{part.text}", priority=1 if part is inquiry.parts[0] else 2)
        for part in _uncovered(handoff, findings, inquiry)
    ]
    if unknown := _unknown(handoff):
        missing.append(AnalyzedGap(description=f"{NOTHING}{_either(unknown)}.", priority=2))
    if queries and not missing and len(inquiry.parts) == 1:
        missing.append(AnalyzedGap(description=f"{MORE}{inquiry.text}", priority=2))
    return tuple(missing)


def _uncovered(handoff: SurveyInput, findings: Sequence[Drawn], inquiry: Inquiry) -> list[Part]:
    """The parts that no finding covers with the titles of its sources; rare words count more. A question of one part may
    be answered by several findings, of which each says a piece: any will do."""
    if len(inquiry.parts) == 1 and findings:
        return []
    # In order, so that sums come out the same each time.
    asked = [list(dict.fromkeys(map(stem, inquiry.telling(part.query)))) for part in inquiry.parts]
    terms = set[str]().union(*asked)
    find = StemFinder(way for term in terms for way in related(term))
    titles = {source.id: source.title for source in handoff.sources}
    held = Counter(term for s in handoff.sources for term in find(f"{s.title}\n{s.content}"))
    weights = {term: rarity(max(1, len(titles)), held[term]) for term in terms}
    said = [find("\n".join((f.content, *(titles.get(i, "") for i in f.source_ids)))) for f in findings]
    found = [{term for term in terms if not stems.isdisjoint(related(term))} for stems in said]
    return [
        part
        for part, wanted in zip(inquiry.parts, asked, strict=True)
        if all(coverage({t: weights[t] for t in wanted}, stems) < COVERED for stems in found)
    ]


def _unknown(handoff: SurveyInput) -> list[str]:
    """The names that no source has in its whole text, as the question spells them; of one within another, the shorter."""
    names = question_names(handoff.original_query, handoff.first_look or FirstLook())
    stems = {mention.name: set(map(stem, mention.name.split())) for mention in names}
    find = StemFinder(set[str]().union(*stems.values()))
    texts = {s.id: f"{s.title}\n{s.content}" for s in (*handoff.sources, *handoff.whole)}
    held = set[str]().union(*map(find, texts.values()))
    unknown = [name for name, terms in stems.items() if not terms <= held]
    short = [n for n in unknown if not any(f" {o} " in f" {n} " for o in unknown if o != n)]
    return spelled(handoff.original_query, *sorted(short, key=key(handoff.original_query).find))


def _either(names: Sequence[str]) -> str:
    quoted = [f"“{name}”" for name in names]
    return f"{', '.join(quoted[:-1])} or {quoted[-1]}" if len(quoted) > 1 else quoted[0]
