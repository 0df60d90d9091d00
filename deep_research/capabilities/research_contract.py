"""The contract of a researcher: the data of a finished research."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

RESEARCH: Literal["research"] = "research"


class ResearchSummary(BaseModel):
    """What was found. ``key_points`` are claims that sources support, ``sources`` the addresses that are cited: of a page
    its URL, of a document the name of its file."""

    topic: str
    summary: str
    key_points: list[str]
    sources: list[str]


class ResearchData(BaseModel):
    """``tool_used``: something was searched; otherwise what earlier runs saved answers the question."""

    research_summary: ResearchSummary
    tool_used: bool


class ResearchContract(BaseModel):
    """The content of a message that says research is done, as JSON and nothing else."""

    completed_capability: Literal["research"] = RESEARCH
    data: ResearchData
