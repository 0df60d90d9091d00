"""What tasks work with, whatever the run: data sources, reading, tools of the caller, rules for what does not fit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from deep_research.budget.content_budget import DEFAULTS, ContentRules
from deep_research.errors import UnknownNameError
from deep_research.phases.gathering.source_reading import Reading
from deep_research.phases.gathering.tasks.data_sources import DataSources
from deep_research.phases.gathering.tasks.tool import BUILT_IN, Tool
from deep_research.state import DeepResearchState, TaskFinding, TaskReview, TaskState

Overrule = Callable[[DeepResearchState, TaskState, TaskFinding], Awaitable[TaskReview | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskParts:
    """``rules`` are those of content that does not fit a window; ``by_model`` says that a model works on tasks."""

    sources: DataSources = field(default_factory=DataSources)
    reading: Reading = field(default_factory=Reading)
    tools: Sequence[Tool] = ()
    rules: ContentRules = DEFAULTS
    by_model: bool = False

    @property
    def tool_names(self) -> tuple[str, ...]:
        return (*BUILT_IN, *(tool.name for tool in self.tools))

    def check(self, sources: Sequence[str], tools: Sequence[str]) -> None:
        """Raises `UnknownNameError` for a data source or a tool that there is not."""
        allowed(sources, self.sources.names, "data source")
        allowed(tools, self.tool_names, "tool")


def allowed(wanted: Sequence[str], known: Sequence[str], kind: str) -> tuple[str, ...]:
    """Those of ``known`` that are wanted, all where none is named. Raises `UnknownNameError`."""
    for name in wanted:
        if name not in known:
            raise UnknownNameError.of(kind, name, known)
    return tuple(name for name in known if not wanted or name in wanted)
