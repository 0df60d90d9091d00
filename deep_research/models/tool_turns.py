"""One turn of a model that has tools: by its service's own calls, or below that as an object of thought and calls.

The caller sees one shape, and a conversation may go on with another model: what its service does not read as it
stands, such as the thoughts of another service's model, is put into words. In an object the schema of a call is that
of its tool; what a model writes need not fit it: the tool says what is wrong with its arguments.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

from pydantic import BaseModel, Field, create_model, model_validator

from deep_research.calls import off_loop
from deep_research.errors import ModelError
from deep_research.models import structured
from deep_research.models.base import Message, ModelCall, ModelProvider, Reply, StopReason
from deep_research.models.failures import Verdict, failure
from deep_research.models.object_parser import Unreadable
from deep_research.models.retry import Persistence, Tries, with_unit_usage
from deep_research.models.structured import Abilities, Rung
from deep_research.models.tool_calls import MAX_NAME_CHARS, ToolCall, ToolSpec, read_call
from deep_research.patterns import regex

MAX_CALLS = 64  # of one turn
MAX_NATIVE_CHARS = 400_000  # of one turn as its service gave it; a longer one is put into words
_ID = regex(rf"[a-zA-Z0-9_-]{{1,{MAX_NAME_CHARS}}}")
_HOW = (
    "You have tools. Answer with your thought, and with calls: uses of tools that do not need each other's results, each"
    " with the arguments of its tool. Without a call, your thought is your answer."
)


@dataclass(frozen=True, slots=True)
class Turn:
    """What a model said and calls, as the message that goes on the conversation, and how it was asked for it."""

    message: Message
    reply: Reply
    rung: Rung


@dataclass(slots=True)
class ToolLadder:
    """How one turn is asked for. ``forms`` are the ways of asking for an object that the model has, if that is known;
    ``prepare`` is awaited before an object is asked for; ``most_output`` is how far the cap may be raised for a turn
    that was cut by it."""

    provider: ModelProvider
    tries: Tries
    persistence: Persistence
    abilities: Abilities
    most_output: int
    forms: tuple[str, ...] | None = None
    prepare: Callable[[], Awaitable[None]] | None = None
    _problem: ModelError | None = field(default=None, init=False)

    async def take(self, call: ModelCall) -> Turn:
        """Raises `ModelError`: refusal, length, malformed when no way gave a turn, and whatever `Persistence` raises."""
        if not call.tools or call.form is not None:
            raise ValueError("a turn needs tools, and has no form")
        refused = False
        if self.provider.has_tools and self.abilities.may(self.provider.identity, Rung.CALLS):
            for shaped in _native_calls(call, self.provider.identity):
                try:
                    turn = await self._native(shaped, call)
                except ModelError as error:
                    if not (structured.refuses_form(error) or self._may_be_tools(error)):
                        raise
                    self._problem, refused = error, True
                    continue
                if turn is not None:
                    self.abilities.worked(self.provider.identity, Rung.CALLS)
                    return turn
                break
        turn = await self._object(call)
        if refused:  # the service answers, so it was the tools that it would not have
            self.abilities.failed(self.provider.identity, Rung.CALLS)
        return turn

    async def _native(self, call: ModelCall, asked: ModelCall) -> Turn | None:
        """A turn by the service's own calls; None where it stays empty. ``asked`` is the call before it was shaped."""
        first = call.max_output
        empty = False
        while True:
            failures = 0

            def in_vain(error: ModelError) -> bool:
                nonlocal failures
                failures += self._may_be_tools(error)
                return failures >= structured.MAX_SILENT_FAILURES

            reply = await self.persistence.send(self.provider, call, self.tries, in_vain=in_vain)
            if reply.stop is StopReason.REFUSAL:
                raise self._failure(Verdict.REFUSAL, "the model refused to answer", reply)
            if reply.stop is StopReason.LENGTH:  # arguments that were cut are none
                self._problem = self._failure(Verdict.LENGTH, "the turn did not fit its limit", reply)
                larger = min(self.most_output, first * 2)
                if larger <= call.max_output or self.tries.left <= 0:
                    raise self._problem
                call = call.model_copy(update={"max_output": larger})
                continue
            size = sum(map(len, (reply.text, *(str(c.arguments) for c in reply.calls))))
            message = await off_loop(
                size // structured.JSON_UNIT, _message, reply, asked, self.provider.identity
            )
            if message.content.strip() or message.calls:
                return Turn(message, reply, Rung.CALLS)
            self._problem = self._failure(Verdict.MALFORMED, "the turn is empty", reply)
            if self.tries.left <= 0:
                raise self._problem
            if empty:
                return None
            empty = True

    async def _object(self, call: ModelCall) -> Turn:
        if self._problem is not None and (self.tries.left <= 0 or self.tries.seconds <= 0):
            raise self._problem
        if self.prepare is not None:
            await self.prepare()
        turn = await self._by_object(call)
        larger = min(self.most_output, call.max_output * 2)
        if turn is None and larger > call.max_output and self.tries.left > 0:
            turn = await self._by_object(call.model_copy(update={"max_output": larger}))
        if turn is None:
            assert self._problem is not None
            raise self._problem
        return turn

    async def _by_object(self, call: ModelCall) -> Turn | None:
        """A turn as an object; None where its cap cut off all calls that there may have been."""
        tools = ToolObject.of(call.tools)
        found = await structured.ask(
            self.provider,
            _as_object(call, tools),
            tools.form,
            self.tries,
            persistence=self.persistence,
            abilities=self.abilities,
            most_output=self.most_output,
            forms=self.forms,
        )
        message = tools.message(found.value, 1 + sum(len(m.calls) for m in call.messages))
        message = message.model_copy(update={"calls": _check_calls(message.calls, call)})
        if message.calls or _is_end(found.reply, tools):
            return Turn(message, found.reply, found.rung)
        is_cut = found.reply.stop is StopReason.LENGTH
        verdict = Verdict.LENGTH if is_cut else Verdict.MALFORMED
        self._problem = self._failure(verdict, "the turn holds no call and is not whole", found.reply)
        if not is_cut:
            raise self._problem
        return None

    def _may_be_tools(self, error: ModelError) -> bool:
        """Whether a failure within the service may be over the tools: some say nothing of it."""
        return error.data.get("status") == 500 and not self.abilities.has_worked(
            self.provider.identity, Rung.CALLS
        )

    def _failure(self, verdict: Verdict, problem: str, reply: Reply) -> ModelError:
        error = failure(verdict, problem, model=self.provider.name, request_id=reply.request_id)
        return with_unit_usage(error, self.tries)


def _message(reply: Reply, call: ModelCall, origin: str) -> Message:
    """A turn with each call under an id of its own. As its service gave it, it is kept only where that holds these."""
    calls = _check_calls(reply.calls, call)
    native = reply.native
    if native is not None:
        size = len(json.dumps(native.blocks))
        is_same = tuple(made.id for made in calls) == tuple(given.id for given in reply.calls)
        is_read = not any(given.problem for given in reply.calls)
        known = reply.usage.is_known and reply.usage.output
        native = native.model_copy(update={"origin": origin, "tokens": reply.usage.output if known else size})
        if not (is_same and is_read) or size > MAX_NATIVE_CHARS:
            native = None
    return Message(role="assistant", content=reply.text, calls=calls, native=native)


def _check_calls(calls: Sequence[ToolCall], call: ModelCall) -> tuple[ToolCall, ...]:
    """Calls with ids that nothing else in the conversation has, and with what is wrong with them."""
    names = [tool.name for tool in call.tools]
    seen = {given.id for message in call.messages for given in message.calls}
    made = []
    for given in calls[:MAX_CALLS]:
        update = {}
        if given.id in seen or not _ID.fullmatch(given.id):
            update["id"] = next(i for n in range(len(seen) + 1) if (i := f"call_{len(seen) + n}") not in seen)
        if given.name not in names:
            shown = " ".join(given.name.split())[:MAX_NAME_CHARS]
            update["problem"] = f"There is no tool '{shown}'. There are: {', '.join(names)}."
        made.append(given.model_copy(update=update))
        seen.add(made[-1].id)
    return tuple(made)


def _is_end(reply: Reply, tools: ToolObject) -> bool:
    """Whether a turn without calls was meant as the last: of one that was cut, the calls may be what is missing."""
    try:
        value = structured.read_reply(reply, tools.form)
    except Unreadable:
        return False
    message = tools.message(value, 1)
    return bool(message.content.strip()) and not message.calls


# A conversation for who reads it


def _native_calls(call: ModelCall, origin: str) -> Iterator[ModelCall]:
    """The call with what its service reads as it stands, and then, should it be that what is refused, in words."""
    for reader in (origin, None):
        turns = _in_words(call.messages, reader, _plainly)
        yield call.model_copy(update={"messages": _mark_stable(turns)})
        if not any(turn.native for turn in turns):
            return


def _as_object(call: ModelCall, tools: ToolObject) -> ModelCall:
    """What changes least, the tools, stands first."""
    system = f"{call.system}\n\n{tools.instructions}" if call.system else tools.instructions
    turns = _in_words(call.messages, None, tools.text)
    return call.model_copy(update={"system": system, "messages": _mark_stable(turns), "tools": ()})


def _mark_stable(turns: Sequence[Message]) -> tuple[Message, ...]:
    """A conversation only grows, so all of it will be repeated: each turn of the user may be an end of what is kept."""
    return tuple(turn.model_copy(update={"stable": turn.stable or turn.role == "user"}) for turn in turns)


def _in_words(
    messages: Sequence[Message], reader: str | None, words: Callable[[Message], str]
) -> list[Message]:
    """The turns for one reader: those that it gave itself stand as they are, with the outputs of their calls, where
    every call has one; all others become text."""
    made: list[Message] = []
    before: Message | None = None  # the turn of the model whose calls come to be answered
    for place, message in enumerate(messages):
        if message.role == "assistant" and (message.calls or message.native):
            before = message
            following = messages[place + 1] if place + 1 < len(messages) else Message()
            whole = {call.id for call in message.calls} == {output.call_id for output in following.outputs}
            if not (whole and message.native and message.native.origin == reader):
                text = words(message) if message.calls else message.content
                message = message.model_copy(update={"content": text, "calls": (), "native": None})
        elif message.outputs:
            if not (made and made[-1].native):
                text = "\n\n".join(filter(None, (*_outputs(message, before), message.content)))
                message = message.model_copy(update={"content": text, "outputs": (), "cuts": ()})
            before = None
        made.append(message)
    return made


def _plainly(message: Message) -> str:
    calls = (f"{call.name}({json.dumps(call.arguments, ensure_ascii=False)})" for call in message.calls)
    return "\n\n".join(filter(None, (message.content, "Tools were used: " + ", ".join(calls))))


def _outputs(message: Message, before: Message | None) -> Iterator[str]:
    names = {call.id: call.name for call in before.calls} if before else {}
    for number, output in enumerate(message.outputs, start=1):
        failed = " failed" if output.failed else ""
        yield f"{number}. {names.get(output.call_id, 'tool')}{failed}:\n{output.text}"


class _Use(BaseModel):
    tool: str
    arguments: dict[str, Any] | str = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, said: Any) -> Any:
        """Some models write the arguments beside the tool."""
        if isinstance(said, dict) and "tool" in said and "arguments" not in said:
            return {"tool": said["tool"], "arguments": {n: v for n, v in said.items() if n != "tool"}}
        return said


class _Turn(BaseModel):
    thought: str = Field(description="what you make of it, in a sentence or two")
    calls: list[_Use] = Field(description="what to do now, side by side; none if you are done")

    uses: ClassVar[list[dict[str, Any]]]  # the schemas of a call of each tool
    definitions: ClassVar[dict[str, Any]]  # what they point to

    @classmethod
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
        schema = super().model_json_schema(*args, **kwargs)
        schema["properties"]["calls"]["items"] = {"anyOf": deepcopy(cls.uses)}
        return schema | {"$defs": deepcopy(cls.definitions)}


@dataclass(frozen=True, slots=True)
class ToolObject:
    """The type for a set of tools."""

    form: type[_Turn]
    instructions: str

    @classmethod
    def of(cls, tools: Sequence[ToolSpec]) -> ToolObject:
        return _build(json.dumps([tool.model_dump() for tool in tools]))

    def message(self, value: BaseModel, number: int) -> Message:
        """The turn that an object says. The ids of its calls count from ``number``."""
        assert isinstance(value, _Turn)
        calls = []
        for place, use in enumerate(value.calls, start=number):
            given = use.arguments
            if isinstance(given, dict):  # what a model leaves empty it leaves out
                given = {name: argument for name, argument in given.items() if argument is not None}
            calls.append(read_call(f"call_{place}", use.tool, given))
        return Message(role="assistant", content=value.thought, calls=tuple(calls))

    def text(self, message: Message) -> str:
        """A turn of the model as the object that it is asked for."""
        calls = [{"tool": call.name, "arguments": call.arguments} for call in message.calls]
        return json.dumps({"thought": message.content, "calls": calls}, ensure_ascii=False)


@lru_cache(maxsize=64)
def _build(text: str) -> ToolObject:
    uses: list[dict[str, Any]] = []
    definitions: dict[str, Any] = {}
    lines = [_HOW]
    for tool in json.loads(text):
        name, parameters = tool["name"], tool["parameters"]
        properties = parameters.get("properties")
        lines.append(f"- {name}({', '.join(properties or ())}): {tool['description']}")
        # What several parts of the tool share stands at the root, under a name that no other tool has.
        parameters = json.loads(json.dumps(parameters).replace('"#/$defs/', f'"#/$defs/{name}.'))
        definitions |= {f"{name}.{n}": part for n, part in parameters.pop("$defs", {}).items()}
        use = {"tool": {"type": "string", "enum": [name]}, "arguments": parameters}
        uses.append({"type": "object", "properties": use, "required": ["tool", "arguments"]})

    form = create_model("ToolUse", __base__=_Turn)
    form.uses, form.definitions = uses, definitions
    return ToolObject(form, "\n".join(lines))
