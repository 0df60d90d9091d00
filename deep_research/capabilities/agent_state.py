"""The state that agents of a graph hand on: its messages, and what they share."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field, model_validator

from deep_research.capabilities.research_contract import ResearchContract
from deep_research.capabilities.small_talk import small_talk
from deep_research.conversation.chat_messages import (
    MAX_INPUT_CHARS,
    MAX_MESSAGES,
    TEXT_PARTS,
    ChatMessage,
    history_of,
    instructions_of,
    system_of,
)
from deep_research.errors import UsageError
from deep_research.supervisor.opening import checked_question

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


def sender_of(message: Mapping[str, Any]) -> str:
    """Who a message is of: ``user``, ``assistant``, ``system``, or another name as it came, "" without one."""
    name = message.get("role") or message.get("type")
    return _ROLES.get(name, name) if isinstance(name, str) else ""


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
        return sender_of({"role": self.role, "type": self.type})

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


def _conversation(messages: Sequence[StateMessage]) -> list[ChatMessage]:
    """The messages without small talk, of which many conversations have the same, and without the form of our own
    answers."""
    conversation: list[ChatMessage] = []
    is_talk = False
    for message in messages:
        text = message.text
        if message.sender == "user":
            is_talk = small_talk(text) is not None
        if message.sender == "assistant":
            text = _summary_in(text)
        if not is_talk or message.sender == "system":
            conversation.append(ChatMessage.model_construct(role=message.sender, content=text))
    return conversation


def _summary_in(text: str) -> str:
    """The summary, of a text that is an answer of ours."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        return ResearchContract.model_validate_json(text).data.research_summary.summary
    except ValueError:
        return text
