"""Zero-cost doubles: what is measured around them is the engine itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prompt_reading import ReadingModel

from deep_research import DeepResearch, SearchProvider, SearchRequest, SearchResult, SourceQuality
from deep_research.phases.analysis import AnalyzedFinding, AnalyzedGap, AnalyzedQuote, AnalyzerOutput
from deep_research.phases.planning import PlannedQuery, PlannerOutput
from deep_research.phases.refinement import RefinerOutput
from deep_research.phases.synthesis import SynthesizerOutput
from deep_research.state import FollowUpQuery, GapAnalysis, IterationRecommendation, SourceKind

FILLER = "The keeper of the light wrote down the wind, the weather and the ships that passed. "


class Search(SearchProvider):
    """``sources`` results of ``size`` characters for every query, made once per query."""

    name = "bench"

    def __init__(self, sources: int, size: int, delay: float = 0.0) -> None:
        self._sources, self._size, self._delay = sources, size, delay

    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        if self._delay:
            await asyncio.sleep(self._delay)
        return [
            SearchResult(
                address=f"{request.query}/{n}.md",
                kind=SourceKind.DOCUMENT,  # what a page of the web takes more, the row web_texts shows
                title=f"Source {n}",
                text=(f"{request.query} {n}. " + FILLER * (self._size // len(FILLER) + 1))[: self._size],
                quality=SourceQuality.HIGH,
            )
            for n in range(self._sources)
        ]


class Planning(ReadingModel):
    """Reads what it is asked, and plans as many searches as it may."""

    def __init__(self, queries: int, seconds: float) -> None:
        super().__init__(seconds=seconds)
        self._queries = queries

    def answer(self, call: Any) -> str:
        text = super().answer(call)
        if call.form is None or call.form.name != "Plan":
            return text
        searches = [
            {"query": f"keepers of the lighthouse record wind weather part {n}"} for n in range(self._queries)
        ]
        return json.dumps({**json.loads(text), "sub_queries": searches})


class Planner:
    deterministic = True

    def __init__(self, queries: int, delay: float = 0.0) -> None:
        self._queries, self._delay = queries, delay

    async def __call__(self, handoff: Any) -> PlannerOutput:
        if self._delay:
            await asyncio.sleep(self._delay)
        planned = tuple(
            PlannedQuery(query=f"{handoff.original_query} part {n}") for n in range(self._queries)
        )
        return PlannerOutput(research_brief="A plan for the benchmark.", sub_queries=planned)


class Analyzer:
    """One finding a source, and a gap an iteration when the run is to go on."""

    deterministic = True

    def __init__(self, delay: float = 0.0, gaps: bool = False) -> None:
        self._delay, self._gaps = delay, gaps

    async def __call__(self, handoff: Any) -> AnalyzerOutput:
        if self._delay:
            await asyncio.sleep(self._delay)
        findings = tuple(
            AnalyzedFinding(
                content=f"Finding on {source.url}",
                source_ids=(source.id,),
                quotes=(AnalyzedQuote(source_id=source.id, quote=source.content[:40]),),
            )
            for source in handoff.sources
        )
        gaps = (
            (AnalyzedGap(description=f"Nobody knows the colour of door {handoff.iteration}"),)
            if self._gaps
            else ()
        )
        return AnalyzerOutput(findings=findings, gaps=gaps)


class Synthesizer:
    deterministic = True

    def __init__(self, delay: float = 0.0) -> None:
        self._delay = delay

    async def __call__(self, handoff: Any) -> SynthesizerOutput:
        if self._delay:
            await asyncio.sleep(self._delay)
        lines = "\n\n".join(f"{f.content} [{f.id}]" for f in handoff.findings)
        return SynthesizerOutput(report=f"# Report\n\n## Summary\n\n{FILLER}\n\n{lines}")


class Refiner:
    deterministic = True

    def __init__(self, queries: int = 0) -> None:
        self._queries = queries

    async def __call__(self, handoff: Any) -> RefinerOutput:
        gap = handoff.gaps[-1]
        follow_ups = tuple(
            FollowUpQuery(query=f"{handoff.original_query} follow-up {handoff.iteration} number {n}")
            for n in range(self._queries)
        )
        return RefinerOutput(
            gap_analysis=(GapAnalysis(gap_id=gap.id, follow_up_queries=follow_ups),),
            iteration_recommendation=IterationRecommendation(should_iterate=bool(follow_ups)),
        )


def engine(
    data_dir: Path,
    *,
    queries: int = 5,
    sources: int = 5,
    size: int = 2_000,
    iterations: int = 1,
    delay: float = 0.0,
    search_delay: float = 0.0,
    **settings: Any,
) -> DeepResearch:
    """An engine of doubles; ``delay`` is what each agent takes, in seconds."""
    return DeepResearch(
        search=[Search(sources, size, search_delay)],
        agents={
            "planner": Planner(queries, delay),
            "analyzer": Analyzer(delay, gaps=iterations > 1),
            "synthesizer": Synthesizer(delay),
            "refiner": Refiner(queries if iterations > 1 else 0),
        },
        data_dir=data_dir,
        max_iterations=iterations,
        max_sub_queries=max(2, queries),
        max_sources_per_query=sources,
        **settings,
    )
