"""How long the answers of each role's model may be."""

from __future__ import annotations

from collections.abc import Mapping

from deep_research.budget.report_cost import AT_ONCE, text_output
from deep_research.phases import summarizing
from deep_research.phases.analysis import llm as reading
from deep_research.phases.gathering.tasks import agent, reviewer
from deep_research.phases.planning import llm as planning
from deep_research.phases.refinement import llm as refining
from deep_research.phases.synthesis import judge, sections
from deep_research.state import ModelRole
from deep_research.supervisor import reflection


def answer_tokens(report_words: int) -> Mapping[ModelRole, int]:
    """Tokens, thoughts included, for a report of so many words, or the largest part of it that is written at once."""
    report = text_output(report_words)
    if in_parts(report_words):
        report = sections.longest_output(report_words)
    return {
        ModelRole.PLANNER: planning.MOST_OUTPUT,
        ModelRole.ANALYZER: reading.MOST_OUTPUT,
        ModelRole.TASK_AGENT: agent.MOST_OUTPUT,
        ModelRole.REVIEWER: reviewer.MOST_OUTPUT,
        ModelRole.SUMMARIZER: summarizing.MOST_OUTPUT,
        ModelRole.SYNTHESIZER: report,
        ModelRole.JUDGE: judge.MOST_OUTPUT,
        ModelRole.REFINER: refining.MOST_OUTPUT,
        ModelRole.SUPERVISOR: reflection.MOST_OUTPUT,
    }


def in_parts(report_words: int) -> bool:
    """Whether a report is planned and then written in sections."""
    return report_words > AT_ONCE
