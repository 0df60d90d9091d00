"""A full cast of scripted agents that drives the machine down any path."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deep_research.errors import UnknownNameError
from deep_research.phases.analysis import AnalyzedFinding, AnalyzedGap, AnalyzedQuote, AnalyzerOutput
from deep_research.phases.gathering import GatheredSource, GathererOutput, GatherStats
from deep_research.phases.planning import PlannedQuery, PlannerOutput
from deep_research.phases.refinement import RefinerOutput
from deep_research.phases.synthesis import SynthesizerOutput
from deep_research.state import (
    AgentRole,
    ConfidenceLevel,
    FollowUpQuery,
    GapAnalysis,
    IterationRecommendation,
)
from deep_research.testing.doubles import ScriptedAgent, codeword, results

ROLES = tuple(role for role in AgentRole if role is not AgentRole.SUPERVISOR)

# What each gate blocks.
_BLOCKED: Mapping[AgentRole, Any] = {
    AgentRole.PLANNER: PlannerOutput(research_brief="", sub_queries=()),
    AgentRole.GATHERER: GathererOutput(sources=()),
    AgentRole.ANALYZER: AnalyzerOutput(),
    AgentRole.SYNTHESIZER: SynthesizerOutput(report="Too short."),
}


def scripted_agents(
    *,
    sub_queries: int = 3,
    sources: int = 2,
    size: int = 400,
    iterations: int = 1,
    follow_ups: int = 2,
    improvements: Sequence[str] = (),
    retries: Mapping[AgentRole | str, int] | None = None,
    failing: Mapping[AgentRole | str, Exception] | None = None,
    without: Collection[AgentRole | str] = (),
    no_findings: bool = False,
    answered_from: int = 1,
    deterministic: bool = False,
    falls_back: bool = False,
    batch_bytes: int = 1_000_000,
    before: Callable[[Any], Awaitable[None]] | None = None,
) -> dict[AgentRole | str, ScriptedAgent]:
    """Return scripted agents for all five roles, as ``DeepResearch(agents=…)`` takes them.

    Args:
        sub_queries, sources: Sub-queries of the plan, and sources of each.
        size: Characters of a source's text.
        iterations: Rounds. Each round but the last leaves a gap with ``follow_ups`` new queries.
        improvements: Sections that the refiner wants improved.
        retries: By role, how often it first answers with what its gate blocks (the refiner's gate blocks nothing).
        failing: By role, the exception that it raises.
        without: Roles to leave out, for the engine to fill, such as ``["gatherer"]`` with a `ScriptedSearch`.
        no_findings: The analyzer finds nothing.
        answered_from: Before this iteration the analyzer finds only what to ask next.
        deterministic, falls_back, batch_bytes, before: Given to every agent.

    Raises `UnknownNameError` for an unknown role.

    Example:
        DeepResearch(agents=scripted_agents(iterations=2), store="memory")
    """
    script = _Script(
        sub_queries, sources, size, iterations, follow_ups, tuple(improvements), answered_from=answered_from
    )
    blocked, broken = _by_role(retries), _by_role(failing)
    left_out = _by_role(dict.fromkeys(without, True))
    if no_findings:
        script.no_findings = True
    return {
        role: ScriptedAgent(
            [broken[role]] if role in broken else _blocked_first(role, blocked.get(role, 0), script),
            deterministic=deterministic,
            falls_back=falls_back,
            batch_bytes=batch_bytes,
            before=before,
            name=f"scripted {role.value}",
        )
        for role in ROLES
        if role not in left_out
    }


def _by_role(values: Mapping[AgentRole | str, Any] | None) -> dict[AgentRole, Any]:
    role_names = [role.value for role in ROLES]
    for name in values or {}:
        if name not in role_names:
            raise UnknownNameError.of("agent role", str(name), role_names)
    return {AgentRole(name): value for name, value in (values or {}).items()}


def _blocked_first(role: AgentRole, times: int, script: _Script) -> Callable[[Any], Any]:
    answer: Callable[[Any], Any] = getattr(script, role.value)
    left = [_BLOCKED.get(role)] * (times if role in _BLOCKED else 0)
    return lambda handoff: left.pop() if left else answer(handoff)


@dataclass(slots=True)
class _Script:
    """What the five agents answer when they do their work."""

    sub_queries: int
    sources: int
    size: int
    iterations: int
    follow_ups: int
    improvements: tuple[str, ...]
    no_findings: bool = field(default=False)
    answered_from: int = 1

    def planner(self, handoff: Any) -> PlannerOutput:
        count = min(self.sub_queries, handoff.max_sub_queries)
        return PlannerOutput(
            research_brief=f"How to answer: {handoff.original_query}",
            sub_queries=tuple(
                PlannedQuery(query=f"{handoff.original_query} part {n + 1}", rationale=f"Part {n + 1}.")
                for n in range(count)
            ),
        )

    def gatherer(self, handoff: Any) -> GathererOutput:
        hits = [r for query in handoff.sub_queries for r in results(query, self.sources, size=self.size)]
        return GathererOutput(
            sources=tuple(
                GatheredSource(
                    title=result.title,
                    url=result.address,
                    snippet=result.snippet,
                    content=result.text,
                    quality=result.quality,
                    relevance=result.relevance,
                )
                for result in hits
            ),
            stats=GatherStats(queries_executed=len(handoff.sub_queries), sources_collected=len(hits)),
        )

    def analyzer(self, handoff: Any) -> AnalyzerOutput:
        """The first sentence of every source is a finding."""
        if self.no_findings:
            return AnalyzerOutput()
        gap = AnalyzedGap(
            description=f"Nothing is said yet of {_unknown(handoff)}.",
            suggested_queries=tuple(self._deeper(handoff)),
        )
        if handoff.iteration < self.answered_from:
            return AnalyzerOutput(gaps=(gap,))
        return AnalyzerOutput(
            findings=tuple(_finding(source) for source in handoff.sources if source.content),
            gaps=(gap,) if handoff.iteration < self.iterations else (),
            addressed_gap_ids=tuple(gap.id for gap in handoff.open_gaps),
        )

    def synthesizer(self, handoff: Any) -> SynthesizerOutput:
        lines = "\n\n".join(f"{finding.content} [{finding.id}]" for finding in handoff.findings)
        opening = f"# {handoff.original_query}\n\n## Summary\n\n{handoff.finding_count} findings answer it."
        return SynthesizerOutput(report=f"{opening}\n\n## Findings\n\n{lines}\n")

    def refiner(self, handoff: Any) -> RefinerOutput:
        should_iterate = handoff.iteration < self.iterations
        fresh = tuple(FollowUpQuery(query=query) for query in self._deeper(handoff)) if should_iterate else ()
        return RefinerOutput(
            gap_analysis=tuple(
                GapAnalysis(gap_id=gap.id, addressable=should_iterate, follow_up_queries=fresh)
                for gap in handoff.gaps
            ),
            iteration_recommendation=IterationRecommendation(
                should_iterate=should_iterate, priority_gaps=tuple(gap.id for gap in handoff.gaps)
            ),
            report_improvements=self.improvements,
        )

    def _deeper(self, handoff: Any) -> Iterable[str]:
        return (f"{_unknown(handoff)} part {n + 1}" for n in range(self.follow_ups))


def _unknown(handoff: Any) -> str:
    return codeword(f"{handoff.original_query}#{handoff.iteration}")


def _finding(source: Any) -> AnalyzedFinding:
    sentence = source.content.partition(". ")[0].rstrip(".") + "."
    return AnalyzedFinding(
        content=sentence,
        confidence=ConfidenceLevel.MEDIUM,
        source_ids=(source.id,),
        quotes=(AnalyzedQuote(source_id=source.id, quote=sentence),),
        sub_query_id=source.sub_query_id,
        relevance=source.relevance or 0.0,
    )
