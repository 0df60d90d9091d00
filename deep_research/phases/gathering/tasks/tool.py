"""The contract of a tool, what an agent of a task may use, and how it is used. Tools only read.

::

    class Glossary(Tool):
        name = "glossary"
        description = "Say what a word of the company means."
        arguments = Word  # a pydantic model: class Word(BaseModel): word: str

        async def __call__(self, arguments: Word, view: TaskView) -> ToolResult:
            meaning = MEANINGS.get(arguments.word)
            if meaning is None:
                raise ToolError(f"No meaning of '{arguments.word}' is known.")
            return ToolResult(sources=(GatheredSource(title=arguments.word, content=meaning),))

    DeepResearch(tools=[Glossary()], gathering="agents")

What is to be quoted in a report has to come as a source: its text is saved then. A tool is given names (S3, L12) that the
engine gave, never addresses that a model wrote.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Any, ClassVar, Literal, Protocol, TypeVar, cast

from pydantic import BaseModel, Field, ValidationError

from deep_research.calls import TEXT_UNIT_CHARS, Calls, contained, off_loop
from deep_research.errors import (
    ConfigurationError,
    DeepResearchError,
    StopResearch,
    StoreError,
    ToolError,
    bounded_line,
)
from deep_research.logs import cut, describe_error
from deep_research.models.characters import whole
from deep_research.models.coercion import coerced
from deep_research.models.tool_calls import ToolCall, ToolSpec
from deep_research.patterns import regex
from deep_research.phases.gathering.collecting import bounded_notes, bounded_unread
from deep_research.phases.gathering.handoff import GatheredSource, Unread
from deep_research.sources.search.fields import (
    MAX_ADDRESS_CHARS,
    MAX_FACT_CHARS,
    MAX_NAME_CHARS,
    MAX_TITLE_CHARS,
)
from deep_research.state import Record, Source, SourceKind, Span
from deep_research.text.plain import clean

NAME = regex(r"[a-z][a-z0-9_]{0,39}")
BUILT_IN = ("search", "fetch", "look_up", "outline", "find", "read_more")  # that every task has
TIMEOUT = 60.0  # seconds that one use may take, where the tool says nothing else
_Arguments = TypeVar("_Arguments", bound=BaseModel)
GROUP = "deep_research.tools"
DONE, THINK = "done", "think"  # are no tools: the first ends a task, the second is a turn that calls nothing
MAX_TEXT_CHARS = 100_000  # of a tool's own words
MAX_LINKS = 500
MAX_CALLS_PER_STEP = 4  # uses of one step
MAX_THOUGHT_CHARS = 1_000  # characters that are kept of what an agent thinks aloud


class Link(Record):
    """A result whose text nobody has read: what a service says of it. ``text_at`` is where its text is, if not at its
    address. The agent knows it by a name, and nothing else fetches it. ``origin`` is the site whose page named it, empty:
    it was found by a search; ``private``: a private source gave it. The engine sets both."""

    address: str
    title: str
    snippet: str = ""
    kind: SourceKind = SourceKind.WEB
    text_at: str | None = None
    published: date | None = None
    relevance: float | None = None
    provider: str = ""
    origin: str = ""
    private: bool = False


class Shown(Record):
    """A part of a source that the task has already, which the agent is shown."""

    source_id: str
    span: Span


class ToolResult(Record):
    """The result of a tool.

    Args:
        text: The tool's own words to the agent. Agents cannot quote them.
        sources: Sources with their texts. Agents see their ``passages``, or the beginning, at most ``excerpt``
            characters of each.
        excerpts: Parts of sources that the run already has.
        unread: Pages that could not be read.
        private: Names of private sources that gave a part of it.
        searches, fetches: What the tool asked of services, as the caps count it.

    Example:
        return ToolResult(text="42")
    """

    text: str = ""
    sources: tuple[GatheredSource, ...] = ()
    links: tuple[Link, ...] = ()
    excerpts: tuple[Shown, ...] = ()
    unread: tuple[Unread, ...] = ()
    notes: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    excerpt: int = Field(default=0, ge=0, description="0: as many as of what a search finds")
    searches: int = Field(default=0, ge=0)
    failed_searches: int = Field(default=0, ge=0)
    fetches: int = Field(default=0, ge=0)


class TaskView(Protocol):
    """What a tool may look at: the task's question, the names of what it may search, and what it has found so far."""

    @property
    def question(self) -> str: ...

    @property
    def data_sources(self) -> Sequence[str]: ...

    def source(self, name: str) -> Source:
        """The source of that name, such as S3. Raises `ToolError`."""

    def link(self, name: str) -> Link:
        """The link of that name, such as L12. Raises `ToolError`."""

    def shown_to(self, source_id: str) -> int:
        """Up to where a source was shown, in code points."""

    async def text(self, source_id: str) -> str:
        """The saved text of a source. Raises `ToolError`."""


class Tool(ABC):
    """A tool that agents of tasks can use. Subclass it and implement `__call__` (docs/tasks.md).

    Attributes:
        arguments: A pydantic model of plain fields (texts, numbers, booleans), each with a description.
        timeout: Seconds for one use.
        searches, fetches: The most searches and pages that one use requests; the engine refuses a use for which the
            caps leave no room.
        reads_on: A second use with the same arguments shows more, until it raises `ToolError`.
        private: The tool gives private results and sends its arguments to no outside service. A task that saw such a
            result asks no public service (docs/tasks.md).
        outside_description: A description by somebody else, such as an MCP server; agents see it as outside data.

    Example:
        class Multiply(Tool):
            name = "multiply"
            description = "Multiplies two numbers."
            arguments = Factors

            async def __call__(self, arguments: Factors, view: TaskView) -> ToolResult:
                return ToolResult(text=str(arguments.a * arguments.b))
    """

    name: ClassVar[str]
    description: ClassVar[str]
    arguments: ClassVar[type[BaseModel]]
    read_only: ClassVar[bool] = True
    timeout: ClassVar[float] = TIMEOUT
    searches: ClassVar[int] = 0
    fetches: ClassVar[int] = 0
    reads_on: ClassVar[bool] = False
    private: ClassVar[bool] = False
    outside_description: ClassVar[str] = ""

    @abstractmethod
    async def __call__(self, arguments: Any, view: TaskView) -> ToolResult:
        """Raises `ToolError` for what it cannot do; whatever else it raises is told to the agent as a failure."""


class Fact(BaseModel):
    """A statement with one quote; several with the same content carry it together."""

    content: str = Field(description="the statement, understandable by itself")
    source: str = Field(description="name of the source that carries it, such as S1")
    quote: str = Field(description="the words of the source, copied letter by letter")
    confidence: Literal["low", "medium", "high"] = "low"


class TaskEnd(BaseModel):
    """The arguments of the tool that ends a task."""

    answer: str | None = Field(default=None, description="the answer to the task, in a few sentences")
    facts: list[Fact] = Field(default_factory=list, description="the facts it rests on, each with a quote")
    worth_reading: list[str] = Field(
        default_factory=list,
        description="names of sources, such as S1, that should be read whole for the report",
    )
    missing: list[str] = Field(default_factory=list, description="what could not be found")
    ask_owner: str | None = Field(
        default=None,
        description="a question that only who ordered the research can answer, where all hangs on it",
    )


def checked_tools(tools: Iterable[Tool]) -> tuple[Tool, ...]:
    """Tools that a caller handed over, and those that packages bring through the entry-point group. Raises
    `ConfigurationError` for what is no tool, writes, has no usable name or one that another has."""
    all_tools = [*tools, *(_loaded(point.name, point.load) for point in entry_points(group=GROUP))]
    names: set[str] = set()
    for tool in all_tools:
        if problem := _problem_of(tool, names):
            raise ConfigurationError(problem[0], hint=problem[1])
        names.add(tool.name)
    return tuple(all_tools)


def _problem_of(tool: object, names: Container[str]) -> tuple[str, str] | None:
    """Why tasks cannot use a tool beside those of these ``names``, and what to do about it."""
    name, see = str(getattr(tool, "name", "")), "see docs/tasks.md."
    if not isinstance(tool, Tool):
        return f"{type(tool).__name__} is not a Tool.", f"Subclass Tool: {see}"
    if not NAME.fullmatch(name) or name in (DONE, THINK):
        hint = "Use small letters, digits and _, begin with a letter, and avoid done and think."
        return f"'{name[:60]}' is not a name for a tool.", hint
    if name in BUILT_IN or name in names:
        return f"There are two tools '{name}'.", "Give yours another name."
    if not tool.read_only:
        return f"The tool '{name}' declares that it writes.", f"Tools of a task may only read: {see}"
    arguments: Any = tool.arguments
    if not (isinstance(arguments, type) and issubclass(arguments, BaseModel)):
        return f"The arguments of the tool '{name}' are not a pydantic model.", see.capitalize()
    if "tool" in arguments.model_fields:
        return f"An argument of the tool '{name}' is called 'tool'.", "Give it another name."
    return None


def _loaded(name: str, load: Any) -> Tool:
    try:
        with contained():
            return cast(Tool, load()())
    except Exception as error:
        raise ConfigurationError(
            f"The tool '{name}' cannot be loaded: {describe_error(error)}.",
            hint="Reinstall its package.",
        ) from error


@dataclass(frozen=True, slots=True)
class Toolbox:
    """``tools`` by name; ``timeout`` is in seconds, the longest of any use."""

    tools: Mapping[str, Tool]
    calls: Calls
    timeout: float

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as a model is offered them, with the one that ends the task."""
        ends = _spec(DONE, "End the task. It is called alone.", TaskEnd)
        return (*(_spec(tool.name, tool.description, tool.arguments) for tool in self.tools.values()), ends)

    def outside_descriptions(self) -> list[str]:
        """A line for each tool of which somebody else says what it does."""
        return [
            f"{tool.name}: {tool.outside_description}"
            for tool in self.tools.values()
            if tool.outside_description
        ]

    def arguments(self, call: ToolCall) -> tuple[Tool, BaseModel]:
        """The tool that a call names, and its arguments. Raises `ToolError`."""
        tool = self.tools.get(call.name)
        if tool is None:
            raise ToolError(
                f"There is no tool '{call.name[:40]}' for this task.",
                hint=f"There are: {', '.join(self.tools)}.",
            )
        return tool, _validated(call, tool.arguments)

    def end(self, call: ToolCall) -> TaskEnd:
        """What a call of `DONE` ends the task with. Raises `ToolError`."""
        return _validated(call, TaskEnd)

    async def use(self, tool: Tool, arguments: BaseModel, view: TaskView) -> ToolResult:
        """What a tool gives, under its deadline; a passing failure is tried once more. An error of one that had ``asked``
        somebody says so. Raises `ToolError`, `StoreError` and what stops a run."""
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
            raise ToolError(f"{tool.name} failed: {describe_error(error)}.", asked=True) from error
        if not isinstance(result, ToolResult):
            raise ToolError(f"{tool.name} gave a {type(result).__name__} and no ToolResult.")
        return await off_loop(len(result.text) // TEXT_UNIT_CHARS, _bounded, result)


def _bounded(result: ToolResult) -> ToolResult:
    """What a tool gave, with its own words and what names things cut and cleaned. Its sources are bounded where they are
    collected. A link whose address is too long is none: a part of one is another."""
    longest = {"title": MAX_TITLE_CHARS, "snippet": MAX_FACT_CHARS, "provider": MAX_NAME_CHARS}
    links = tuple(
        link.model_copy(
            update={name: bounded_line(getattr(link, name), most) for name, most in longest.items()}
        )
        for link in result.links[:MAX_LINKS]
        if max(len(link.address), len(link.text_at or "")) <= MAX_ADDRESS_CHARS
    )
    own = {"text": clean(cut(result.text, MAX_TEXT_CHARS)), "links": links}
    notes = {"notes": bounded_notes(result.notes), "unread": bounded_unread(result.unread)}
    return whole(result.model_copy(update=own | notes))


@lru_cache(maxsize=256)
def _spec(name: str, description: str, arguments: type[BaseModel]) -> ToolSpec:
    schema = {key: value for key, value in arguments.model_json_schema().items() if key != "description"}
    return ToolSpec(name=name, description=description, parameters=schema)


def _validated(call: ToolCall, arguments: type[_Arguments]) -> _Arguments:
    """Arguments as a model means them: what it leaves empty it leaves out, and what no tool has is passed over."""
    if call.problem:
        raise ToolError(call.problem)
    fields = arguments.model_fields
    values = {name: value for name, value in call.arguments.items() if name in fields and value is not None}
    try:
        return arguments.model_validate(coerced(values, arguments))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the arguments"
        raise ToolError(f"{call.name} cannot be used so: {place}: {first['msg']}.") from None
