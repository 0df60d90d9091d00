"""The composition root: from settings and arguments to the parts of an engine. Only here implementations are
chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deep_research.budget import ModelRoles
from deep_research.calls import Calls
from deep_research.errors import (
    ConfigurationError,
    NoSearchProviderError,
    SettingsError,
    UnknownNameError,
)
from deep_research.models.base import ModelProvider
from deep_research.models.pool import ModelPool, Named
from deep_research.models.profiles import read_profiles
from deep_research.phases.analysis import AnalysisPhase, ExtractiveAnalyzer
from deep_research.phases.analysis.llm import LLMAnalyzer
from deep_research.phases.base import Phase, WorkLimits
from deep_research.phases.gathering import GatheringPhase, SearchGatherer
from deep_research.phases.planning import ExtractivePlanner, PlanningPhase
from deep_research.phases.planning.llm import LLMPlanner
from deep_research.phases.refinement import ExtractiveRefiner, RefinementPhase
from deep_research.phases.refinement.llm import LLMRefiner
from deep_research.phases.synthesis import ExtractiveSynthesizer, SynthesisPhase
from deep_research.phases.synthesis.llm import LLMSynthesizer
from deep_research.settings import Settings
from deep_research.sources.documents import LocalCorpus
from deep_research.sources.documents.dense import load_stage
from deep_research.sources.search import SearchProvider
from deep_research.sources.search.registry import make_provider
from deep_research.state import PHASE_TO_AGENT, AgentRole, DeepResearchPhase, ModelRole
from deep_research.store import MemoryStore, SQLiteStore, Store
from deep_research.supervisor.gates import GatePolicy, Gates, policies
from deep_research.supervisor.hooks import SupervisorHooks

DATABASE = "runs.db"
CORPUS_AGE = 2.0  # seconds after which a new run looks for changed documents
Models = (
    Named | Sequence[Named]
)  # one model, or a chain of which each is asked when the one before cannot answer

CORPUS = "corpus"  # among the names of search providers: the local documents, which need no provider

_PHASES: dict[DeepResearchPhase, Callable[..., Phase[Any, Any]]] = {
    DeepResearchPhase.PLANNING: PlanningPhase,
    DeepResearchPhase.GATHERING: GatheringPhase,
    DeepResearchPhase.ANALYSIS: AnalysisPhase,
    DeepResearchPhase.SYNTHESIS: SynthesisPhase,
    DeepResearchPhase.REFINEMENT: RefinementPhase,
}
_THINKING: dict[DeepResearchPhase, Callable[[], Any]] = {
    DeepResearchPhase.PLANNING: LLMPlanner,
    DeepResearchPhase.ANALYSIS: LLMAnalyzer,
    DeepResearchPhase.SYNTHESIS: LLMSynthesizer,
    DeepResearchPhase.REFINEMENT: LLMRefiner,
}
_SIMPLE = (ModelRole.ANALYZER, ModelRole.SUPERVISOR)  # much text and small questions
_EXTRACTIVE: dict[DeepResearchPhase, Callable[[], Any]] = {
    DeepResearchPhase.PLANNING: ExtractivePlanner,
    DeepResearchPhase.ANALYSIS: ExtractiveAnalyzer,
    DeepResearchPhase.SYNTHESIS: ExtractiveSynthesizer,
    DeepResearchPhase.REFINEMENT: ExtractiveRefiner,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Everything an engine works with. ``searches`` says whether there is anything to search."""

    store: Store
    own_store: bool
    phases: Mapping[DeepResearchPhase, Phase[Any, Any]]
    fallbacks: Mapping[DeepResearchPhase, Phase[Any, Any]]
    hooks: SupervisorHooks
    gates: Mapping[DeepResearchPhase, GatePolicy]
    providers: Sequence[SearchProvider]
    corpus: LocalCorpus | None
    calls: Calls
    models: ModelRoles
    searches: bool

    def ready(self) -> None:
        """What must hold before a run is started; reads the corpus. Blocking.

        Raises `NoSearchProviderError`, `CorpusError`.
        """
        if not self.searches:
            raise NoSearchProviderError(
                "There is nothing to search.",
                hint="Give a folder of documents (corpus=…, --corpus PATH) or a search provider.",
            )
        if self.corpus is not None:
            self.corpus.prepare(max_age=CORPUS_AGE)


def assemble(
    settings: Settings,
    *,
    model: Models | None = None,
    models: Mapping[str, Models] | None = None,
    agents: Mapping[AgentRole | str, Any] | None = None,
    search: Sequence[SearchProvider | str] | None = None,
    hooks: SupervisorHooks | None = None,
    gates: Gates | None = None,
    store: Store | None = None,
) -> Parts:
    """Raises `UnknownNameError`, `ConfigurationError`."""
    calls = Calls()
    limits = WorkLimits(
        max_concurrent=settings.max_concurrent,
        operation_timeout=settings.operation_timeout,
        max_source_bytes=settings.max_source_bytes,
        calls=calls,
    )
    wanted = [p for p in (search or settings.search) if p != CORPUS]
    providers = [make_provider(p) if isinstance(p, str) else p for p in wanted]
    for provider in providers:
        if not callable(getattr(provider, "search", None)):
            raise ConfigurationError(
                f"{provider!r} is no search provider.", hint="Subclass SearchProvider and give an instance."
            )
    corpus = _corpus(settings)
    chosen = _agents(agents)
    roles = make_models(settings, model, models or {})
    for chain in (roles.chain, *roles.by_role.values()):
        for each in chain:
            roles.pool.provider(each)  # a wrong name or a missing key is told now, not in the middle of a run
    gatherer = SearchGatherer(providers, corpus=corpus, calls=calls, timeout=settings.operation_timeout)
    own = chosen.get(AgentRole.GATHERER)
    phases = {
        phase: make(
            chosen.get(PHASE_TO_AGENT[phase])
            or (gatherer if phase is DeepResearchPhase.GATHERING else _agent(phase, roles)),
            limits=limits,
        )
        for phase, make in _PHASES.items()
    }
    planner = phases[DeepResearchPhase.PLANNING].agent
    phases[DeepResearchPhase.PLANNING] = PlanningPhase(
        planner, limits=limits, look=gatherer.look if gatherer.looks else None
    )
    _used(roles, phases, settings)
    return Parts(
        store=store or make_store(settings),
        own_store=store is None,
        phases=phases,
        fallbacks={phase: _PHASES[phase](agent(), limits=limits) for phase, agent in _EXTRACTIVE.items()},
        hooks=_hooks(hooks),
        gates=policies(gates),
        providers=providers,
        corpus=corpus,
        calls=calls,
        models=roles,
        searches=bool(providers or corpus or own),
    )


def make_store(settings: Settings) -> Store:
    if settings.store == "memory":
        return MemoryStore()
    return SQLiteStore(
        settings.data_dir / DATABASE,
        lease_ttl=settings.lease_ttl,
        heartbeat=settings.heartbeat,
        control_interval=settings.control_interval,
    )


def _corpus(settings: Settings) -> LocalCorpus | None:
    if not settings.corpus:
        return None
    return LocalCorpus(
        settings.corpus,
        data_dir=settings.data_dir,
        max_text_bytes=settings.max_source_bytes,
        dense=load_stage(settings.dense_model) if settings.dense_model else None,
    )


def _agents(given: Mapping[AgentRole | str, Any] | None) -> dict[AgentRole, Any]:
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


def make_models(
    settings: Settings, model: Models | None = None, models: Mapping[str, Models] | None = None
) -> ModelRoles:
    """Which models do what. Raises `UnknownNameError`, `ConfigurationError`, `SettingsError`."""
    models = models or {}
    pool = ModelPool(
        profiles=read_profiles(settings.model_file) if settings.model_file else {},
        at_once=settings.service_concurrency,
        per_minute=settings.service_requests_per_minute,
        record=settings.record_models,
        timeout=settings.operation_timeout,
        data_dir=settings.data_dir if settings.store == "sqlite" else None,
    )
    known = [role.value for role in ModelRole]
    for role in models:
        if role not in known:
            raise UnknownNameError.of("model role", str(role), known)
    by_role: dict[ModelRole, Sequence[Named]] = {
        ModelRole(role): names for role, names in settings.models.items()
    }
    by_role |= {ModelRole(role): _chain(given) for role, given in models.items()}
    chain = settings.model if model is None else _chain(model)
    if settings.economy and chain and (cheaper := pool.profile(chain[0]).cheaper):
        by_role = dict.fromkeys(_SIMPLE, (cheaper, *chain)) | by_role
    return ModelRoles(
        pool=pool,
        chain=chain,
        by_role=by_role,
        margin=settings.token_safety_margin,
        runtime=settings.runtime,
    )


def _chain(given: Models) -> tuple[Named, ...]:
    chain = (given,) if isinstance(given, str | ModelProvider) else tuple(given)
    for model in chain:
        if not isinstance(model, str | ModelProvider):
            raise ConfigurationError(
                f"{model!r} is no model.", hint="Give a name such as 'anthropic:MODEL', or a ModelProvider."
            )
    return chain


def _agent(phase: DeepResearchPhase, roles: ModelRoles) -> Any:
    """The agent of ours that thinks with a model, where there is one for its role; else the extractive one."""
    role = ModelRole(PHASE_TO_AGENT[phase].value)
    return _THINKING[phase]() if roles.chain_of(role) else _EXTRACTIVE[phase]()


def _used(roles: ModelRoles, phases: Mapping[DeepResearchPhase, Phase[Any, Any]], settings: Settings) -> None:
    """A model that nobody asks would be a mistake that costs nothing and surprises."""
    users = {ModelRole(p.role.value) for p in phases.values() if getattr(p.agent, "uses_model", False)}
    asked = users | ({ModelRole.SUPERVISOR} if settings.reflection != "never" else set())
    idle = [role.value for role in roles.by_role if role not in asked and role not in _SIMPLE]
    if idle:
        raise ConfigurationError(
            f"Nothing asks the model of the {idle[0]}.",
            hint=f"Models are asked by: {', '.join(sorted(asked)) or 'nobody here'}.",
        )
    if roles.chain and not users:
        raise ConfigurationError(
            "No agent uses the language model: all of them were given.",
            hint="Give an agent that has uses_model, or leave the model out.",
        )


def _hooks(given: SupervisorHooks | None) -> SupervisorHooks:
    if given is not None and not isinstance(given, SupervisorHooks):
        raise SettingsError(
            "hooks must be a SupervisorHooks.", hint="Subclass it, or pass functions: SupervisorHooks(…)."
        )
    return given or SupervisorHooks()
