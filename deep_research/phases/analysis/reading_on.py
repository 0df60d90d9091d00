"""Sources of which earlier rounds read a part, or nothing: the further sections that a round reads of those that its
searches found again. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deep_research.budget.content_budget import ContentRules
from deep_research.budget.request_bounds import MOST_READ_ON
from deep_research.evidence.relevance import Questions, Scanned, around
from deep_research.phases.analysis.handoff import AnalyzerInput
from deep_research.phases.analysis.triage import Looked
from deep_research.state import DeepResearchState, Extent, Source, Span, Triage

LONGEST_READ_ON = 12_000  # characters of the passages for which one of them is read on
AGAIN = "a search of this round found it again, and sections that were not read speak of what it asks"


@dataclass(frozen=True, slots=True)
class _Further:
    """The places in a source that are wanted, the nearest first, how near that is, and the places that were read."""

    source: Scanned
    places: tuple[int, ...]
    value: float
    read: frozenset[int]


def found_again(state: DeepResearchState) -> list[Source]:
    """The sources that were not read to the end in an earlier pass and that a search of this round found again."""
    found = {i for s in state.sub_queries if s.iteration == state.iteration for i in s.source_ids}
    earlier = state.analyzed - state.analyzed_now
    return [
        s for s in state.sources if s.id in found & earlier and s.id in state.sections_read and s.content_hash
    ]


def read_on(
    known: Sequence[Looked],
    fresh: Sequence[Looked],
    read: Mapping[str, Sequence[Span]],
    told: AnalyzerInput,
    questions: Questions,
    rules: ContentRules,
) -> tuple[Triage, ...]:
    """What is read of ``known`` sources beside the sections that were ``read``: those that come as near to what the round
    searches for as is asked of ``fresh`` ones. What was asked before was looked for when they were read first."""
    searches = [s.query for s in told.sub_queries if s.iteration == told.iteration]
    held = {item.id: item.scanned for item in known if item.scanned is not None}
    every = [*held.values(), *(item.scanned for item in fresh if item.scanned is not None)]
    relevance = questions.relevance(every, searches)
    further = [_further(source, relevance[name], read.get(name, ()), rules) for name, source in held.items()]
    nearest = sorted((f for f in further if f.places), key=lambda f: -f.value)[:MOST_READ_ON]
    return tuple(
        Triage(
            source_id=item.source.id,
            extent=Extent.SECTIONS,
            spans=around(item.source, item.places, item.read),
            because=AGAIN,
            further=True,
        )
        for item in nearest
    )


def _further(
    source: Scanned, values: Sequence[float], spans: Sequence[Span], rules: ContentRules
) -> _Further:
    read = _places_in(source, spans)
    near = [n for n, v in enumerate(values) if v and v >= rules.section_relevance and n not in read]
    near.sort(key=lambda n: (-values[n], n))
    places: list[int] = []
    left = LONGEST_READ_ON
    for place in near:
        left -= source.passages[place].end - source.passages[place].start
        if places and left < 0:
            break
        places.append(place)
    return _Further(source, tuple(places), values[places[0]] if places else 0.0, read)


def _places_in(source: Scanned, spans: Sequence[Span]) -> frozenset[int]:
    """The passages that lie in the spans. A heading that was read with others does not make its section read."""
    starts = [passage.start for passage in source.passages]
    read: set[int] = set()
    for span in spans:
        place = bisect_left(starts, span.start)
        while place < len(starts) and source.passages[place].end <= span.end:
            read.add(place)
            place += 1
    return frozenset(read)
