"""What the researcher offers, for those that look for agents."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from deep_research import __version__
from deep_research.server.researcher_models import CAPABILITY, AgentState, ResearchContract


class Capability(BaseModel):
    """``completed_capability`` of an answer is its ``name``. The schemas are those of a bare state, and of the content
    of the message that is added."""

    name: str
    description: str
    invoke: str
    stream: str
    batch: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]


class Capabilities(BaseModel):
    """An agent and what it can do."""

    name: str
    version: str
    capabilities: list[Capability]


def capabilities() -> Capabilities:
    research = Capability(
        name=CAPABILITY,
        description=(
            "Researches the last question of a conversation: summary, key points that sources support, and the"
            " addresses that are cited."
        ),
        invoke="/graph/invoke",
        stream="/graph/stream",
        batch="/graph/batch",
        input_schema=AgentState.model_json_schema(),
        output_schema=ResearchContract.model_json_schema(),
    )
    return Capabilities(name="researcher", version=__version__, capabilities=[research])
