"""The models of the OpenAI door: presets of a run by name, and the requests of its clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from deep_research.conversation.chat_messages import (
    MAX_INSTRUCTIONS_CHARS,
    MAX_MESSAGES,
    ChatMessage,
    Text,
    history_of,
    instructions_of,
    question_of,
    system_of,
)
from deep_research.errors import UnknownNameError
from deep_research.server.problems import RequestRefused
from deep_research.settings import preset_values
from deep_research.state import Budget, RunOptions

DEFAULT_MODEL = "deep-research"
PRESETS: Mapping[str, str | None] = {
    DEFAULT_MODEL: None,  # as the engine is set
    "deep-research-fast": "fast",
    "deep-research-deep": "deep",
}
MODEL_KEY = "deep_research.model"  # of a run's metadata: the name under which it was asked for
MAX_METADATA = 16
PREFIX, RUN_PREFIX = "resp_", "deepres-"
_REFUSED = ("conversation", "prompt")

_Metadata = Annotated[
    dict[Annotated[str, Field(min_length=1, max_length=64)], Annotated[str, Field(max_length=512)]],
    Field(max_length=MAX_METADATA),
]


def response_id(research_id: str) -> str:
    return PREFIX + research_id.removeprefix(RUN_PREFIX)


def research_id_of(response: str) -> str:
    """The run of a response; what is no id of one stays as it is, and is not found."""
    return RUN_PREFIX + response.removeprefix(PREFIX) if response.startswith(PREFIX) else response


class _Request(BaseModel):
    """What has no meaning here, such as a temperature, is ignored: clients send it by themselves."""

    model_config = ConfigDict(extra="allow")

    model: Annotated[str, Field(max_length=200)] = DEFAULT_MODEL
    stream: bool | None = None
    metadata: _Metadata | None = None

    def check(self) -> None:
        """Raises `RequestRefused` for a model that is none, and for what would change the answer if it were obeyed."""
        if self.model not in PRESETS:
            raise RequestRefused(
                404,
                "model_not_found",
                f"There is no model '{self.model}'.",
                f"Known: {', '.join(PRESETS)}.",
            )
        for name in _REFUSED:
            if (self.model_extra or {}).get(name) is not None:
                raise RequestRefused(
                    400, "unsupported_parameter", f"{name} is not supported.", "Leave it out."
                )

    def _options(self, system: Sequence[str]) -> dict[str, Any]:
        return {
            **preset_options(self.model),
            **instructions_of(system),
            "metadata": {**(self.metadata or {}), MODEL_KEY: self.model},
        }


class ResponseRequest(_Request):
    """``POST /v1/responses``: the question is ``input``, or its last message of a user."""

    input: Text | Annotated[list[ChatMessage], Field(min_length=1, max_length=MAX_MESSAGES)]
    instructions: Annotated[str | None, Field(max_length=MAX_INSTRUCTIONS_CHARS)] = None
    previous_response_id: Annotated[str | None, Field(max_length=64)] = None
    background: bool | None = None
    max_tool_calls: Annotated[int | None, Field(ge=0, le=10_000)] = None
    tools: Annotated[list[dict[str, Any]] | None, Field(max_length=100)] = None

    @property
    def question(self) -> str:
        return self.input if isinstance(self.input, str) else question_of(self.input)

    @property
    def options(self) -> dict[str, Any]:
        messages = () if isinstance(self.input, str) else self.input
        options = self._options([self.instructions or "", *system_of(messages)])
        if self.max_tool_calls is not None:
            options["budget"] = Budget(max_searches=self.max_tool_calls)
        if self.previous_response_id is not None:
            options["previous_run_id"] = research_id_of(self.previous_response_id)
        return options | history_of(messages)


class StreamOptions(BaseModel):
    include_usage: bool | None = None


class ChatRequest(_Request):
    """``POST /v1/chat/completions``: the question is the last message of a user."""

    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=MAX_MESSAGES)]
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = None

    @property
    def question(self) -> str:
        return question_of(self.messages)

    @property
    def options(self) -> dict[str, Any]:
        return self._options(system_of(self.messages)) | history_of(self.messages)


def preset_options(model: str) -> dict[str, Any]:
    """The options of a run of this model. Raises `UnknownNameError`."""
    if model not in PRESETS:
        raise UnknownNameError.of("model", model, PRESETS)
    preset = PRESETS[model]
    values = {} if preset is None else preset_values(preset)
    return {name: value for name, value in values.items() if name in RunOptions.model_fields}


def model_list() -> dict[str, Any]:
    return {"object": "list", "data": [model_object(name) for name in PRESETS]}


def model_object(name: str) -> dict[str, Any]:
    """Raises `RequestRefused`."""
    if name not in PRESETS:
        raise RequestRefused(404, "model_not_found", f"There is no model '{name[:100]}'.")
    return {"id": name, "object": "model", "created": 0, "owned_by": "deep_research"}
