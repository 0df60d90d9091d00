"""The arguments of the engine beside settings: objects, and names that stand for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deep_research.assembly.model_choice import Models
from deep_research.errors import SettingsError
from deep_research.memory import Memory
from deep_research.phases.gathering.source_reading import Pages
from deep_research.phases.gathering.tasks.tool import Tool
from deep_research.sources.search import SearchProvider
from deep_research.state import AgentRole, Permissions
from deep_research.store import Store
from deep_research.supervisor.hooks import Gates, SupervisorHooks
from deep_research.supervisor.orchestrator import SupervisorOrchestrator

ALL = Permissions()
MakeSupervisor = type[SupervisorOrchestrator] | Callable[..., SupervisorOrchestrator]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineArguments:
    """None where nothing was handed over: then the settings say, or the defaults do."""

    model: Models | None = None
    models: Mapping[str, Models] | None = None
    agents: Mapping[AgentRole | str, Any] | None = None
    search: Sequence[SearchProvider | str] | None = None
    pages: Pages | None = None
    tools: Sequence[Tool] | None = None
    data_sources: Mapping[str, SearchProvider] | None = None
    hooks: SupervisorHooks | None = None
    gates: Gates | None = None
    supervisor: MakeSupervisor | None = None
    store: Store | None = None
    memory: Memory | None = None
    provider_id: str | None = None  # of one run
    corpora: tuple[str, ...] = ()  # of one run
    permissions: Permissions = ALL  # of the user of one run


def chosen_hooks(hooks: SupervisorHooks | None) -> SupervisorHooks:
    """Raises `SettingsError`."""
    if hooks is not None and not isinstance(hooks, SupervisorHooks):
        raise SettingsError(
            "hooks must be a SupervisorHooks.", hint="Subclass it, or pass functions: SupervisorHooks(…)."
        )
    return hooks or SupervisorHooks()


def checked_supervisor(make: MakeSupervisor | None) -> MakeSupervisor:
    """What makes the supervisor of each run. Raises `SettingsError`."""
    if make is None:
        return SupervisorOrchestrator
    if not callable(make) or (isinstance(make, type) and not issubclass(make, SupervisorOrchestrator)):
        raise SettingsError(
            "supervisor must be a subclass of SupervisorOrchestrator, or a function that returns one.",
            hint="The engine calls it for each run: supervisor(phases, **parts).",
        )
    return make
