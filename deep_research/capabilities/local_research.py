"""Research by this engine, as a capability."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deep_research.capabilities.agent_state import AgentState
from deep_research.capabilities.capability import (
    AgentMessage,
    Capability,
    CapabilityAnswer,
    CapabilityRequest,
)
from deep_research.capabilities.research_answer import answer_content
from deep_research.capabilities.research_contract import RESEARCH
from deep_research.conversation.chat_messages import MAX_INPUT_CHARS, MAX_MESSAGES
from deep_research.errors import CapabilityError

if TYPE_CHECKING:
    from deep_research.research import DeepResearch


class LocalResearch(Capability):
    """Researches the last message of the user. The id of its message is that of the run; a repeated call goes on with the
    run that the first one began."""

    name = RESEARCH
    description = "Researches a question: summary, key points that sources support, and the addresses cited."
    read_only = True

    def __init__(self, engine: DeepResearch) -> None:
        self._engine = engine

    async def invoke(self, request: CapabilityRequest) -> CapabilityAnswer:
        """Raises `CapabilityError` for a run that waits for its owner, and as `DeepResearch.run`."""
        messages = [message.model_dump(include={"type", "content"}) for message in request.messages]
        for message in messages:  # of an agent's long answer the beginning is context enough
            if message["type"] == "ai":
                message["content"] = message["content"][:MAX_INPUT_CHARS]
        state = AgentState.model_validate({"messages": messages[-MAX_MESSAGES:]})
        if (reply := state.reply) is not None:
            return CapabilityAnswer(messages=(AgentMessage(type="ai", content=reply),))
        run_id = await self._engine.asubmit(state.question, idempotency_key=request.key, **state.options)
        result = await self._engine.aresume(run_id)
        if result.state.is_waiting:  # another try would begin another run, and wait as well
            raise CapabilityError(
                f"Run '{run_id}' waits for {result.message}.",
                hint=f"`deep-research answer {run_id}`, then resume the plan.",
                waits=True,
            )
        own = AgentMessage(type="ai", content=answer_content(result), id=run_id)
        return CapabilityAnswer(messages=(own,))
