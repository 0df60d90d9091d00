"""The contract of a tool: what an agent of a task may use. Tools only read.

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

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import date
from typing import Any, ClassVar, Protocol

from pydantic import BaseModel, Field

from deep_research.patterns import regex
from deep_research.phases.gathering.handoff import GatheredSource, Unread
from deep_research.state import Record, Source, SourceKind, Span

NAME = regex(r"[a-z][a-z0-9_]{0,39}")
BUILT_IN = ("search", "fetch", "look_up", "outline", "find", "read_more")  # that every task has
TIMEOUT = 60.0  # seconds that one use may take, where the tool says nothing else


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
