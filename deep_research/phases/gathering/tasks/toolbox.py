"""The tools of a task: which there are, in what form an agent asks for them, and how one is used."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Any, Literal, cast

from pydantic import BaseModel, Field, ValidationError, create_model

from deep_research.calls import TEXT_UNIT_CHARS, Calls, contained, off_loop
from deep_research.errors import (
    ConfigurationError,
    DeepResearchError,
    StopResearch,
    StoreError,
    ToolError,
    bounded_line,
)
from deep_research.evidence.plain import clean
from deep_research.logs import cut, told
from deep_research.models.characters import whole
from deep_research.phases.gathering.collecting import bounded_notes, bounded_unread
from deep_research.phases.gathering.tasks.tool import BUILT_IN, NAME, Link, TaskView, Tool, ToolResult
from deep_research.sources.search.fields import (
    MAX_ADDRESS_CHARS,
    MAX_FACT_CHARS,
    MAX_NAME_CHARS,
    MAX_TITLE_CHARS,
)

GROUP = "deep_research.tools"
DONE, THINK = "done", "think"  # are no tools: the first ends a task, the second does nothing
MAX_TEXT_CHARS = 100_000  # of a tool's own words
MAX_LINKS = 500
MOST_AT_ONCE = 4  # uses of one step
LONGEST_THOUGHT = 1_000  # characters that are kept of what an agent thinks aloud


class Fact(BaseModel):
    """A statement with one quote; several with the same content carry it together."""

    content: str = Field(description="the statement, understandable by itself")
    source: str = Field(description="name of the source that carries it, such as S1")
    quote: str = Field(description="the words of the source, copied letter by letter")
    confidence: Literal["low", "medium", "high"] = "low"


class Step(BaseModel):
    """What an agent says: a thought, and what is to be done. ``actions`` has a narrower type for each set of tools."""

    thought: str = Field(default="", description="what you make of what you have seen, in a sentence or two")
    actions: list[Any] = Field(default_factory=list)
    answer: str | None = Field(default=None, description="with done: the answer to the task")
    facts: list[Fact] = Field(
        default_factory=list, description="with done: the facts it rests on, each with a quote"
    )
    worth_reading: list[str] = Field(
        default_factory=list,
        description="with done: names of sources, such as S1, that should be read whole for the report",
    )
    missing: list[str] = Field(default_factory=list, description="with done: what could not be found")
    ask_owner: str | None = Field(
        default=None,
        description="with done: a question that only who ordered the research can answer, where all hangs on it",
    )


def checked_tools(tools: Iterable[Tool]) -> tuple[Tool, ...]:
    """Tools that a caller handed over, and those that packages bring through the entry-point group. Raises
    `ConfigurationError` for what is no tool, writes, has no usable name or one that another has."""
    made = [*tools, *(_loaded(point.name, point.load) for point in entry_points(group=GROUP))]
    seen: set[str] = set()
    for tool in made:
        name = str(getattr(tool, "name", ""))
        if not isinstance(tool, Tool):
            raise ConfigurationError(
                f"{type(tool).__name__} is no tool.", hint="Subclass Tool: see docs/tasks.md."
            )
        if not NAME.fullmatch(name) or name in (DONE, THINK):
            raise ConfigurationError(
                f"'{name[:60]}' is no name of a tool.",
                hint="Names are of small letters, digits and _, begin with a letter, and are not done or think.",
            )
        if name in BUILT_IN or name in seen:
            raise ConfigurationError(f"There are two tools '{name}'.", hint="Give yours another name.")
        if not tool.read_only:
            raise ConfigurationError(
                f"The tool '{name}' says that it writes.",
                hint="Tools of a task only read: see docs/tasks.md.",
            )
        if not (isinstance(tool.arguments, type) and issubclass(tool.arguments, BaseModel)):
            raise ConfigurationError(
                f"The arguments of the tool '{name}' are no pydantic model.", hint="See docs/tasks.md."
            )
        if "tool" in tool.arguments.model_fields:
            raise ConfigurationError(
                f"An argument of the tool '{name}' is called 'tool'.", hint="Give it another name."
            )
        seen.add(name)
    return tuple(made)


def _loaded(name: str, load: Any) -> Tool:
    try:
        with contained():
            return cast(Tool, load()())
    except Exception as error:
        raise ConfigurationError(
            f"The tool '{name}' cannot be loaded: {told(error)}.",
            hint="Reinstall the package that brings it.",
        ) from error


@dataclass(frozen=True, slots=True)
class Toolbox:
    """``tools`` by name; ``timeout`` is in seconds, the longest of any use."""

    tools: Mapping[str, Tool]
    calls: Calls
    timeout: float

    @property
    def form(self) -> type[Step]:
        """The type of a step: its actions name these tools."""
        fields = tuple((tool.name, tool.arguments) for tool in self.tools.values())
        return _form(fields)

    def described(self) -> list[str]:
        """A line for each tool."""
        return [
            f"{tool.name}({', '.join(tool.arguments.model_fields)}): {tool.description}"
            for tool in self.tools.values()
        ]

    def outside_descriptions(self) -> list[str]:
        """A line for each tool of which somebody else says what it does."""
        return [
            f"{tool.name}: {tool.outside_description}"
            for tool in self.tools.values()
            if tool.outside_description
        ]

    def arguments(self, action: BaseModel) -> tuple[Tool, BaseModel]:
        """The tool that an action names, and its arguments. Raises `ToolError`."""
        name = str(getattr(action, "tool", ""))
        tool = self.tools.get(name)
        if tool is None:
            raise ToolError(
                f"There is no tool '{name[:40]}' for this task.", hint=f"There are: {', '.join(self.tools)}."
            )
        given = action.model_dump(exclude_none=True)
        wanted = {key: value for key, value in given.items() if key in tool.arguments.model_fields}
        try:
            return tool, tool.arguments.model_validate(wanted)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"])) or "the arguments"
            raise ToolError(f"{name} cannot be used so: {place}: {first['msg']}.") from None

    async def use(self, tool: Tool, arguments: BaseModel, view: TaskView) -> ToolResult:
        """What a tool gives, under its deadline; a passing failure is tried once more. An error of one that had ``asked``
        somebody says so. Raises `ToolError`, `StoreError`
        and what stops a run."""
        try:
            return await self._once(tool, arguments, view)
        except ToolError as error:
            if not error.data.get("transient"):
                raise
        return await self._once(tool, arguments, view)

    async def _once(self, tool: Tool, arguments: BaseModel, view: TaskView) -> ToolResult:
        seconds = min(tool.timeout, self.timeout)
        try:
            result = await self.calls(tool, arguments, view, timeout=seconds)
        except (ToolError, StoreError, StopResearch, asyncio.CancelledError):
            raise
        except TimeoutError:
            raise ToolError(f"{tool.name} gave nothing within {seconds:g} s.", asked=True) from None
        except DeepResearchError as error:
            transient = error.data.get("trouble") in ("transient", "slow", "connect")
            raise ToolError(error.problem, hint=error.hint, transient=transient, asked=True) from error
        except Exception as error:
            raise ToolError(f"{tool.name} failed: {told(error)}.", asked=True) from error
        if not isinstance(result, ToolResult):
            raise ToolError(f"{tool.name} gave a {type(result).__name__} and no ToolResult.")
        return await off_loop(len(result.text) // TEXT_UNIT_CHARS, _bounded, result)


def _bounded(result: ToolResult) -> ToolResult:
    """What a tool gave, with its own words and what names things cut and cleaned. Its sources are bounded where they are
    collected. A link whose address is too long is none: a part of one is another."""
    return whole(
        result.model_copy(
            update={
                "text": clean(cut(result.text, MAX_TEXT_CHARS)),
                "links": tuple(map(_bounded_link, filter(_is_bounded, result.links[:MAX_LINKS]))),
                "notes": bounded_notes(result.notes),
                "unread": bounded_unread(result.unread),
            }
        )
    )


def _is_bounded(link: Link) -> bool:
    return max(len(link.address), len(link.text_at or "")) <= MAX_ADDRESS_CHARS


def _bounded_link(link: Link) -> Link:
    return link.model_copy(
        update={
            "title": bounded_line(link.title, MAX_TITLE_CHARS),
            "snippet": bounded_line(link.snippet, MAX_FACT_CHARS),
            "provider": bounded_line(link.provider, MAX_NAME_CHARS),
        }
    )


@lru_cache(maxsize=64)
def _form(tools: tuple[tuple[str, type[BaseModel]], ...]) -> type[Step]:
    """One type for all actions, with the fields of every tool: flat, so that a model which writes plain lines can give
    it. What a tool makes of its fields it checks itself."""
    fields: dict[str, Any] = {}
    users: dict[str, list[str]] = {}
    told_of: dict[str, str] = {}
    for name, arguments in tools:
        for key, field in arguments.model_fields.items():
            users.setdefault(key, []).append(name)
            told_of.setdefault(key, field.description or key)
            fields.setdefault(key, field.annotation)
            if fields[key] != field.annotation:
                fields[key] = str
    names = (*(name for name, _ in tools), THINK, DONE)
    choices: Any = Literal[names]
    definitions: dict[str, Any] = {"tool": (choices, Field(description="what to do"))}
    for key, kind in fields.items():
        what_for = f"for {', '.join(users[key])}: {told_of[key]}"
        definitions[key] = (kind | None, Field(default=None, description=what_for))
    action: Any = create_model("Action", **definitions)
    wanted = f"what to do now, at most {MOST_AT_ONCE} side by side; done alone"
    return create_model(
        "Step", __base__=Step, actions=(list[action], Field(default_factory=list, description=wanted))
    )
