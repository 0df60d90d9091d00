"""What the supervisor asks itself, or its hooks, after each phase."""

from __future__ import annotations

from deep_research.state import DeepResearchPhase, DeepResearchState


def reflection_prompt(state: DeepResearchState, phase: DeepResearchPhase) -> str:
    """The phase's result in figures and the questions to weigh. Pure."""
    unresolved, total = len(state.unresolved_gaps()), len(state.gaps)
    match phase:
        case DeepResearchPhase.PLANNING:
            brief = "with" if state.research_brief else "without"
            return (
                f"The plan has {len(state.current_sub_queries())} sub-queries, {brief} a research brief."
                " Do they cover the whole question? Which side of it is not asked about?"
            )
        case DeepResearchPhase.GATHERING:
            return (
                f"{len(state.sources)} sources were gathered, {state.high_quality_sources()} of high quality."
                " Are they different enough from one another? Is their quality good enough?"
            )
        case DeepResearchPhase.ANALYSIS:
            return (
                f"{len(state.findings)} findings were drawn and {unresolved} gaps are open."
                " Do the sources carry the findings? Which gap matters most?"
            )
        case DeepResearchPhase.SYNTHESIS:
            return (
                f"The report has {len(state.report or '')} characters, in iteration {state.iteration} of"
                f" {state.max_iterations}. Does it answer the question? Is another round worth it?"
            )
        case DeepResearchPhase.REFINEMENT:
            return (
                f"{total - unresolved} of {total} gaps are addressed."
                " Should the research go on, or is it ready to be finished?"
            )
