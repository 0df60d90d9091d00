"""The requests of callers of the researcher, whose states come bare or as LangServe wraps them, and the answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    Discriminator,
    Field,
    SerializerFunctionWrapHandler,
    Tag,
    model_serializer,
)

from deep_research.capabilities.agent_state import AgentState

MAX_BATCH = 20  # states in one request


class InvokeRequest(BaseModel):
    """A state as LangServe's client sends it."""

    input: AgentState
    config: dict[str, Any] | None = None
    kwargs: dict[str, Any] | None = None

    @property
    def state(self) -> AgentState:
        return self.input


class BareRequest(AgentState):
    """A state as it is."""

    @property
    def state(self) -> AgentState:
        return self


def _form(value: Any) -> str:
    wrapped = "input" in value if isinstance(value, dict) else isinstance(value, InvokeRequest)
    return "langserve" if wrapped else "bare"


AnyRequest = Annotated[
    Annotated[InvokeRequest, Tag("langserve")] | Annotated[BareRequest, Tag("bare")], Discriminator(_form)
]


class BatchRequest(BaseModel):
    """States as LangServe's client sends them."""

    inputs: Annotated[list[AgentState], Field(max_length=MAX_BATCH)]
    config: dict[str, Any] | Annotated[list[dict[str, Any]], Field(max_length=MAX_BATCH)] | None = None
    kwargs: dict[str, Any] | None = None


class AnswerMessage(BaseModel):
    """``content`` is a `ResearchContract` as JSON, or a plain sentence where there is none. ``id`` is the run."""

    type: Literal["ai"] = "ai"
    content: str
    id: str | None = None


class AnswerState(BaseModel):
    """The state that is added: one message, and the context as it came."""

    messages: list[AnswerMessage]
    context: dict[str, Any] | None = None

    @model_serializer(mode="wrap")
    def _without_no_context(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A graph would put null in the place of the context that it has."""
        values: dict[str, Any] = handler(self)
        return {name: value for name, value in values.items() if name != "context" or value is not None}


class AnswerMetadata(BaseModel):
    """``run_id`` is null where no run was needed."""

    run_id: str | None = None
    feedback_tokens: list[str] = []


class InvokeAnswer(BaseModel):
    """An answer as LangServe's client reads it."""

    output: AnswerState
    metadata: AnswerMetadata


class BatchMetadata(BaseModel):
    responses: list[AnswerMetadata]


class BatchAnswer(BaseModel):
    """Answers in the order of the states."""

    output: list[AnswerState]
    metadata: BatchMetadata


class Pending(BaseModel):
    """Research that goes on: ``GET`` ``location`` has the answer when it has ended."""

    run_id: str
    status: str
    location: str
