"""The states that callers of the researcher send, bare or as LangServe wraps them, and the answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    Discriminator,
    Field,
    SerializerFunctionWrapHandler,
    Tag,
    model_serializer,
    model_validator,
)

from deep_research.errors import UsageError
from deep_research.server.chat_messages import (
    MAX_INPUT_CHARS,
    MAX_MESSAGES,
    TEXT_PARTS,
    Message,
    history_of,
    instructions_of,
    system_of,
)
from deep_research.server.small_talk import small_talk
from deep_research.supervisor.opening import checked_question

MAX_BATCH = 20  # states in one request
CAPABILITY: Literal["research"] = "research"
_ROLES: Mapping[str, str] = {
    **dict.fromkeys(("user", "human", "HumanMessageChunk"), "user"),
    **dict.fromkeys(("assistant", "ai", "AIMessageChunk"), "assistant"),
    **dict.fromkeys(("system", "developer", "SystemMessageChunk"), "system"),
}

_Name = Annotated[str, Field(max_length=64)]


def _short_enough(text: str) -> str:
    """Raises `ValueError`. The bound is no ``maxLength`` of the schema, since as many messages of that length as may be
    are more than a request may have."""
    if any(0xD800 <= ord(character) <= 0xDFFF for character in text):
        raise ValueError("A text has no half characters.")
    if len(text) > MAX_INPUT_CHARS:
        raise ValueError(f"A text has at most {MAX_INPUT_CHARS:,} characters.")
    return text


_Text = Annotated[str, AfterValidator(_short_enough), Field(description="At most 100,000 characters.")]


def _sendable(value: dict[str, Any]) -> dict[str, Any]:
    """Raises `ValueError` for what JSON does not have, such as NaN: it is sent back."""
    try:
        json.dumps(value, allow_nan=False)
    except RecursionError:
        raise ValueError("It is nested too deeply.") from None
    return value


class StatePart(BaseModel):
    """A piece of the content of a message. Only text is read."""

    type: _Name = "text"
    text: _Text | None = None


class StateMessage(BaseModel):
    """A message of a state. Its sender is the ``role``, else the ``type``: ``user`` or ``human``, ``assistant`` or
    ``ai``, ``system``; messages of others are not read."""

    role: _Name | None = None
    type: _Name | None = None
    content: _Text | Annotated[list[_Text | StatePart], Field(max_length=MAX_MESSAGES)] | None = None

    @model_validator(mode="after")
    def _has_sender(self) -> StateMessage:
        if self.role is None and self.type is None:
            raise ValueError("A message has a role or a type.")
        return self

    @property
    def sender(self) -> str:
        """``user``, ``assistant``, ``system``, or another name as it came."""
        name = self.role or self.type or ""
        return _ROLES.get(name, name)

    @property
    def text(self) -> str:
        """Its pieces of text."""
        if not isinstance(self.content, list):
            return self.content or ""
        parts = (StatePart(text=part) if isinstance(part, str) else part for part in self.content)
        return "\n".join(part.text for part in parts if part.type in TEXT_PARTS and part.text)

    def check_readable(self) -> None:
        """Raises `UsageError` for a piece that is no text."""
        for part in self.content if isinstance(self.content, list) else ():
            if isinstance(part, StatePart) and part.type not in TEXT_PARTS:
                raise UsageError(f"A part of type '{part.type[:40]}' cannot be read.", hint="Send text.")


class AgentState(BaseModel):
    """The state of a graph of agents: its ``messages``, and what other agents share. Other fields are not read."""

    messages: Annotated[list[StateMessage], Field(max_length=MAX_MESSAGES)]
    next: Annotated[str, Field(max_length=200)] | None = None
    context: Annotated[dict[str, Any], AfterValidator(_sendable)] | None = None

    @property
    def question(self) -> str:
        """The last message of a user, "" without one. Raises `UsageError` for one that is not all text."""
        last = next((each for each in reversed(self.messages) if each.sender == "user"), None)
        if last is None:
            return ""
        last.check_readable()
        return last.text

    @property
    def reply(self) -> str | None:
        """What is said to a state that asks for no research; None where there is a question. Raises as `question`."""
        return small_talk(self.question)

    def check(self) -> None:
        """Raises `UsageError` for what no run is started with."""
        if self.reply is None:
            checked_question(self.question)
            _ = self.options

    @property
    def options(self) -> dict[str, Any]:
        """The options of a run: instructions of the system, and the conversation before the question. Raises
        `UsageError`."""
        messages = _conversation(self.messages)
        return instructions_of(system_of(messages)) | history_of(messages)


def _conversation(messages: Sequence[StateMessage]) -> list[Message]:
    """The messages without small talk, of which many conversations have the same, and without the form of our own
    answers."""
    conversation: list[Message] = []
    is_talk = False
    for message in messages:
        text = message.text
        if message.sender == "user":
            is_talk = small_talk(text) is not None
        if message.sender == "assistant":
            text = _summary_in(text)
        if not is_talk or message.sender == "system":
            conversation.append(Message.model_construct(role=message.sender, content=text))
    return conversation


def _summary_in(text: str) -> str:
    """The summary, of a text that is an answer of ours."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        return ResearchContract.model_validate_json(text).data.research_summary.summary
    except ValueError:
        return text


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

    completed_capability: Literal["research"] = CAPABILITY
    data: ResearchData


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
        made: dict[str, Any] = handler(self)
        return {name: value for name, value in made.items() if name != "context" or value is not None}


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
