"""What an embedder hands over beside settings: objects, which no name can make, and names in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deep_research.assembly.model_choice import Models
from deep_research.errors import ConfigurationError, SettingsError, UnknownNameError
from deep_research.phases.gathering.source_reading import Pages
from deep_research.phases.gathering.tasks.tool import Tool
from deep_research.sources.search import SearchProvider
from deep_research.state import AgentRole
from deep_research.store import Store
from deep_research.supervisor.gates import Gates
from deep_research.supervisor.hooks import SupervisorHooks


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
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
    store: Store | None = None
    provider_id: str | None = None  # of one run


def chosen_agents(given: Mapping[AgentRole | str, Any] | None) -> dict[AgentRole, Any]:
    """Raises `UnknownNameError`, `ConfigurationError`."""
    chosen: dict[AgentRole, Any] = {}
    roles = [role.value for role in AgentRole if role is not AgentRole.SUPERVISOR]
    for role, agent in (given or {}).items():
        if role not in roles:
            raise UnknownNameError.of("agent role", str(role), roles)
        if not callable(agent):
            raise ConfigurationError(
                f"The {role} is not callable.",
                hint="An agent is called with its handoff: see docs/agents.md.",
            )
        chosen[AgentRole(role)] = agent
    return chosen


def chosen_hooks(given: SupervisorHooks | None) -> SupervisorHooks:
    """Raises `SettingsError`."""
    if given is not None and not isinstance(given, SupervisorHooks):
        raise SettingsError(
            "hooks must be a SupervisorHooks.", hint="Subclass it, or pass functions: SupervisorHooks(…)."
        )
    return given or SupervisorHooks()
