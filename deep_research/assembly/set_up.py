"""From what an engine works with to its set-up: names and resolved values, and nothing that is secret or of this machine
alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import PurePath
from typing import Any
from urllib.parse import urlsplit

from deep_research.assembly.engine_arguments import EngineArguments, MakeSupervisor
from deep_research.assembly.source_choice import Sources
from deep_research.budget.metered import ModelRoles
from deep_research.logs import safe_name
from deep_research.models.model_pool import Named
from deep_research.models.registry import parse_name
from deep_research.phases.agent_contract import Agent
from deep_research.setting_fields import value_at
from deep_research.settings import Settings, path_of
from deep_research.state import DeepResearchPhase, NamedChoice, SetUp
from deep_research.state.setup import SETTINGS
from deep_research.supervisor.hooks import DECISION_HOOKS, GatePolicy, SupervisorHooks
from deep_research.supervisor.orchestrator import SupervisorOrchestrator

_MAX_NAME_CHARS = 200  # characters of a name that somebody else made


def set_up(
    settings: Settings,
    arguments: EngineArguments,
    roles: ModelRoles,
    sources: Sources,
    gates: Mapping[DeepResearchPhase, GatePolicy],
) -> SetUp:
    """All but the documents, which are not known before they are read."""
    own = {id(each) for each in arguments.search or () if not isinstance(each, str)}
    services = [
        NamedChoice(
            name=_name(service.name),
            address="" if id(service.provider) in own else told_of(settings.search_urls.get(service.name)),
            by_name=id(service.provider) not in own,
        )
        for service in sources.services
    ]
    return SetUp(
        provider_id=arguments.provider_id and safe_name(arguments.provider_id),
        named_corpora=arguments.corpora,
        model=tuple(map(_model, roles.chain)),
        models={role.value: tuple(map(_model, chain)) for role, chain in sorted(roles.by_role.items())},
        services=tuple(services),
        agents={str(role): _agent(agent) for role, agent in sorted((arguments.agents or {}).items())},
        hooks=_hooks(arguments.hooks),
        supervisor=_supervisor(arguments.supervisor),
        pages=None if arguments.pages is None else class_name(arguments.pages),
        gates={phase.value: policy.value for phase, policy in gates.items()},
        tools={_name(tool.name): class_name(tool) for tool in arguments.tools or ()},
        data_sources={
            _name(name): class_name(provider)
            for name, provider in sorted((arguments.data_sources or {}).items())
        },
        **{name: value_at(settings, path_of(name)) for name in SETTINGS},
    )


def _agent(agent: Any) -> str:
    return _name(agent.spec.name) if isinstance(agent, Agent) else class_name(agent)


def _model(model: Named) -> NamedChoice:
    """A file of recorded answers lies on one machine, and an address may hold a login: neither is written down."""
    if not isinstance(model, str):
        return NamedChoice(name=_name(model.name), by_name=False)
    parts = parse_name(model)
    if parts.service == "replay":
        return NamedChoice(name=_name(f"{parts.service}:{PurePath(parts.model).name}"), by_name=False)
    name, address = safe_name(str(parts)), told_of(parts.base_url)
    return NamedChoice(
        name=name, address=address, by_name=name == str(parts) and address == (parts.base_url or "")
    )


def told_of(address: str | None) -> str:
    """An address in which nothing may be secret: no login, no query. Else nothing."""
    try:
        parts = urlsplit(address or "")
    except ValueError:
        return ""
    secret = parts.username or parts.password or parts.query or parts.fragment
    return "" if not address or secret or safe_name(address) != address else address


def _hooks(hooks: SupervisorHooks | None) -> str | None:
    """The class, and which functions were handed to it. Functions that only look on change nothing of a run."""
    if hooks is None:
        return None
    functions = [name for name in DECISION_HOOKS if name in vars(hooks)]
    if type(hooks) is SupervisorHooks and not functions:
        return None
    return class_name(hooks) + (f"({', '.join(functions)})" if functions else "")


def _supervisor(make: MakeSupervisor | None) -> str | None:
    """None for our own."""
    return None if make in (None, SupervisorOrchestrator) else class_name(make)


def class_name(own: Any) -> str:
    """Of a function its own name, of a partial one that of the whole."""
    while isinstance(own, partial):
        own = own.func
    return _name(getattr(own, "__name__", None) or type(own).__name__)


def _name(name: object) -> str:
    return safe_name(" ".join(str(name).split())[:_MAX_NAME_CHARS])
