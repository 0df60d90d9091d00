"""Depth of the research: as the owner says, or by the question. Pure."""

from __future__ import annotations

from deep_research.retrieval.parsed_question import parse_question
from deep_research.state import AnswerCoverage, ConfidenceLevel, DeepResearchState, Depth

AUTO, USUAL = "auto", "standard"
_SURE = (ConfidenceLevel.CONFIRMED, ConfidenceLevel.HIGH)
MAX_QUICK_WORDS = 30  # of a question that may be answered by one search


def depth_of(state: DeepResearchState, *, by_planner: bool = False) -> tuple[Depth, str]:
    """The depth of a run and why it has it. By rule a short question that asks one thing is quick; ``by_planner``: the
    planner thinks with a model, and says with its plan whether one search will do."""
    option = state.options.depth
    if option != AUTO:
        return Depth(option), "" if option == USUAL else "It was asked for."
    if by_planner:
        return Depth.STANDARD, "The planner may find that one search will do."
    read = parse_question(state.query)
    if read.subject or read.is_topic or read.is_broad:
        return Depth.STANDARD, "An overview is asked for."
    if len(read.parts) > 1:
        return Depth.STANDARD, f"The question has {len(read.parts)} parts."
    if len(state.query.split()) > MAX_QUICK_WORDS:
        return Depth.STANDARD, "The question is long."
    return Depth.QUICK, "The question is short, and asks one thing."


def falls_short(state: DeepResearchState, *, is_blocked: bool) -> bool:
    """Whether what a conversation saved does not answer the question, so that it has to be searched; or a quick run
    whose depth was chosen by rule found no answer, and goes on at the standard depth. Each happens once in a run."""
    if state.recalling:
        is_sure = any(finding.confidence in _SURE for finding in state.findings)
        return is_blocked or not is_sure or state.answer_coverage is not AnswerCoverage.YES
    if state.depth is not Depth.QUICK or state.options.depth != AUTO:
        return False
    return is_blocked or state.answer_coverage is AnswerCoverage.NO
