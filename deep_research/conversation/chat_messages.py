"""The messages of a conversation as clients send them: the question, the turns before it and the instructions."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, Field

from deep_research.errors import UsageError
from deep_research.state import Exchange
from deep_research.state.resolution import MAX_EXCHANGE_CHARS, MAX_EXCHANGES

MAX_MESSAGES = 200
MAX_INPUT_CHARS = 100_000
MAX_INSTRUCTIONS_CHARS = 20_000
TEXT_PARTS = ("text", "input_text", "output_text")

Text = Annotated[str, Field(max_length=MAX_INPUT_CHARS)]


class ContentPart(BaseModel):
    """A piece of a message. Only text is read."""

    type: Annotated[str, Field(max_length=64)]
    text: Text | None = None


class ChatMessage(BaseModel):
    """A turn of a conversation."""

    role: Annotated[str, Field(max_length=64)] = "user"
    content: Text | Annotated[list[ContentPart], Field(max_length=MAX_MESSAGES)] | None = None

    @property
    def text(self) -> str:
        """Raises `UsageError` for parts that are no text."""
        if isinstance(self.content, str):
            return self.content
        for part in self.content or ():
            if part.type not in TEXT_PARTS:
                raise UsageError(f"A part of type '{part.type[:40]}' cannot be read.", hint="Send text.")
        return "\n".join(part.text or "" for part in self.content or ())


def question_of(messages: Sequence[ChatMessage]) -> str:
    """The last message of a user. Raises `UsageError`."""
    for message in reversed(messages):
        if message.role == "user":
            return message.text
    raise UsageError("There is no message with the role user.", hint="Send the question with the role user.")


def history_of(messages: Sequence[ChatMessage]) -> dict[str, Any]:
    """The turns before the question, as options of a run: what was asked and answered, and the session of the runs that
    came of it. A conversation is known by how it began."""
    history: list[Exchange] = []
    for message in messages:
        if message.role == "user" and message.text.strip():
            history.append(Exchange(question=message.text[:MAX_EXCHANGE_CHARS]))
        elif message.role == "assistant" and history:
            history[-1] = history[-1].model_copy(update={"answer": message.text[:MAX_EXCHANGE_CHARS]})
    history = history[:-1]
    if not history:
        return {}
    beginning = hashlib.sha256(history[0].model_dump_json().encode()).hexdigest()[:24]
    return {"history": history[-MAX_EXCHANGES:], "session_id": f"chat-{beginning}"}


def system_of(messages: Sequence[ChatMessage]) -> list[str]:
    return [message.text for message in messages if message.role in ("system", "developer")]


def instructions_of(system: Sequence[str]) -> dict[str, Any]:
    """The texts of a system as an option of a run. Raises `UsageError`."""
    instructions = "\n\n".join(text for text in system if text.strip())
    if len(instructions) > MAX_INSTRUCTIONS_CHARS:
        raise UsageError(
            f"The instructions have {len(instructions):,} characters; {MAX_INSTRUCTIONS_CHARS:,} are allowed.",
            hint="Shorten them.",
        )
    return {"system_prompt": instructions} if instructions else {}
