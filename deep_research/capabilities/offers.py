"""Offers: the capabilities that an agent names to those that look for one."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

from deep_research import __version__
from deep_research.capabilities.agent_state import AgentState
from deep_research.capabilities.research_contract import RESEARCH, ResearchContract

MAX_OFFERS = 100  # of one agent
NAME_PATTERN = r"^[a-z][a-z0-9_-]{0,63}$"

# Of the same server: two slashes would begin the name of another.
OwnPath = Annotated[str, Field(max_length=200, pattern=r"^/([\w\-.~][\w\-./~]*)?$")]


class CapabilityOffer(BaseModel):
    """``completed_capability`` of an answer is the ``name``. The schemas are those of a bare state, and of the content
    of the message that is added. ``read_only`` says that it changes and sends nothing; what does not say so is asked only
    when its user approved. ``keywords`` are words of requests that want it."""

    name: Annotated[str, Field(pattern=NAME_PATTERN)]
    description: Annotated[str, Field(max_length=2_000)] = ""
    invoke: OwnPath = "/graph/invoke"
    stream: OwnPath | None = None
    batch: OwnPath | None = None
    read_only: bool = False
    keywords: Annotated[list[Annotated[str, Field(max_length=64)]], Field(max_length=50)] = []
    input_schema: dict[str, Any] = {}
    output_schema: dict[str, Any] = {}


class AgentOffers(BaseModel):
    """An agent and its capabilities."""

    name: Annotated[str, Field(max_length=200)] = ""
    version: Annotated[str, Field(max_length=64)] = ""
    capabilities: Annotated[list[CapabilityOffer], Field(max_length=MAX_OFFERS)]


def offers_of_researcher() -> AgentOffers:
    """What our own researcher offers."""
    research = CapabilityOffer(
        name=RESEARCH,
        description=(
            "Researches the last question of a conversation: summary, key points that sources support, and the"
            " addresses that are cited."
        ),
        invoke="/graph/invoke",
        stream="/graph/stream",
        batch="/graph/batch",
        read_only=True,
        input_schema=AgentState.model_json_schema(),
        output_schema=ResearchContract.model_json_schema(),
    )
    return AgentOffers(name="researcher", version=__version__, capabilities=[research])
