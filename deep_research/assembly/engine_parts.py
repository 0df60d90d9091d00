"""The parts of an engine, put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from deep_research.assembly.content import content_rules, make_archive, tidy
from deep_research.assembly.destinations import Destination, destinations
from deep_research.assembly.engine_arguments import (
    EngineArguments,
    MakeSupervisor,
    checked_supervisor,
    chosen_hooks,
)
from deep_research.assembly.mcp_choice import McpConnections, tool_servers
from deep_research.assembly.model_choice import make_models, ready, with_asked_roles
from deep_research.assembly.set_up import class_name, set_up
from deep_research.assembly.source_choice import Sources, make_extractor, make_sources
from deep_research.budget.archive import Archive
from deep_research.budget.content_budget import ContentRules
from deep_research.budget.metered import ModelRoles
from deep_research.calls import Calls, contained
from deep_research.conversation.conversation import Conversation
from deep_research.conversation.user_memory import UserMemory
from deep_research.errors import ConfigurationError, NoSearchProviderError
from deep_research.logs import describe_error, get_log, safe_name
from deep_research.phases.base import Phase, WorkLimits
from deep_research.phases.gathering import GatheringPhase
from deep_research.phases.gathering.tasks.library import DataSources, TaskParts
from deep_research.phases.gathering.tasks.tool import NAME, checked_tools
from deep_research.phases.summarizing import Choices, Summarizer
from deep_research.phases.synthesis import JudgeScope
from deep_research.secret_values import Keyring
from deep_research.settings import Settings
from deep_research.sources.documents import Skipped
from deep_research.sources.documents.corpus import Standing
from deep_research.sources.search import SearchProvider
from deep_research.sources.search.combined_search import CORPUS, WEB
from deep_research.sources.search.policy import Service
from deep_research.state import (
    PHASE_TO_AGENT,
    AgentRole,
    CorpusChoice,
    DeepResearchPhase,
    ModelRole,
    RunOptions,
    SetUp,
)
from deep_research.state.journal import Clock, utc_now
from deep_research.store import Store
from deep_research.store.factory import make_store
from deep_research.supervisor.hooks import GatePolicy, SupervisorHooks, policies
from deep_research.supervisor.orchestrator import SupervisorOrchestrator
from deep_research.supervisor.phase_work import EXTRACTIVE_AGENTS, PHASE_TYPES, checked_agents

log = get_log("assembly")
CORPUS_AGE_SECONDS = 2.0  # seconds after which a new run looks for changed documents

# Loaded for a role that has a model: runs without one need nothing of them.
_THINKING: dict[DeepResearchPhase, tuple[str, str]] = {
    DeepResearchPhase.PLANNING: ("deep_research.phases.planning.llm", "LLMPlanner"),
    DeepResearchPhase.ANALYSIS: ("deep_research.phases.analysis.llm", "LLMAnalyzer"),
    DeepResearchPhase.SYNTHESIS: ("deep_research.phases.synthesis.llm", "LLMSynthesizer"),
    DeepResearchPhase.REFINEMENT: ("deep_research.phases.refinement.llm", "LLMRefiner"),
}
_ONE_REQUEST_SHARE = 0.4  # of the time that one operation may take


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parts:
    """Everything that runs of one set-up are worked on with. ``setup`` says what that is; the documents are known once it
    is `ready`, see `set_up_now`. ``searches`` says whether there is anything to search; ``providers`` are those
    that were handed over, and are closed with the engine. ``archive`` is None where what is left out is not kept."""

    settings: Settings
    setup: SetUp
    store: Store
    own_store: bool
    phases: Mapping[DeepResearchPhase, Phase]
    fallbacks: Mapping[DeepResearchPhase, Phase]
    hooks: SupervisorHooks
    make_supervisor: MakeSupervisor
    gates: Mapping[DeepResearchPhase, GatePolicy]
    providers: Sequence[SearchProvider]
    sources: Sources
    calls: Calls
    models: ModelRoles
    searches: bool
    local_only: bool = False
    archive: Archive | None = None
    conversation: Conversation | None = None
    memory: UserMemory | None = None
    connections: McpConnections = field(default_factory=lambda: McpConnections({}))
    keyring: Keyring = field(default_factory=Keyring)

    def ready(self) -> None:
        """What must hold before a run is started; reads the corpus. Blocking.

        Raises `NoSearchProviderError`, `CorpusError`, and `ConfigurationError` where certificates cannot be read.
        """
        if not self.searches:
            missing = " ".join(f"{error.problem} {error.hint}" for error in self.sources.missing)
            raise NoSearchProviderError(
                f"There is nothing to search. {missing}".strip(),
                hint="Give a folder of documents (corpus=…, --corpus PATH)"
                + ("." if self.local_only else ", or search the web (search='web', --search web)."),
            )
        self.sources.check_certificates()
        if self.sources.corpus is not None:
            with self.keyring.scope():
                self.sources.corpus.prepare(max_age=CORPUS_AGE_SECONDS)

    @property
    def set_up_now(self) -> SetUp:
        """The set-up with its documents, as they were when it was last `ready`."""
        corpora = tuple(
            CorpusChoice(name=safe_name(corpus.name), fingerprint=corpus.fingerprint)
            for corpus in self._standing
        )
        return self.setup.model_copy(update={"corpora": corpora})

    @property
    def places(self) -> tuple[str, ...]:
        """Where these documents are on this machine."""
        return tuple(corpus.place for corpus in self._standing)

    @property
    def _standing(self) -> Sequence[Standing]:
        return self.sources.corpus.standing if self.sources.corpus is not None else ()

    def check_kinds(self, kinds: Sequence[str]) -> None:
        """Raises `UnknownNameError` for a kind of sources that nothing which is searched declares; a gatherer of one's
        own knows its kinds itself."""
        if AgentRole.GATHERER.value not in self.setup.agents:
            self.sources.check_kinds(kinds)

    def check_tasks(self, options: RunOptions) -> None:
        """Raises `UnknownNameError` for a data source or a tool that tasks do not have, and `NoSearchProviderError` where
        only tasks could search."""
        worker = self.phases[DeepResearchPhase.GATHERING]
        assert isinstance(worker, GatheringPhase)
        worker.tasks.check(options.tasks.sources, options.tasks.tools)
        only_tasks = bool(worker.tasks.sources.own) and not self.sources.can_search
        if only_tasks and options.gathering != "agents" and AgentRole.GATHERER.value not in self.setup.agents:
            raise NoSearchProviderError(
                "Only data sources of tasks are given, and sub-queries are not tasks.",
                hint="Set gathering='agents' (--set gathering=agents).",
            )

    @property
    def destinations(self) -> tuple[Destination, ...]:
        """Where requests of runs of this set-up go."""
        return destinations(self.settings, self.models, self.sources.services)

    def skipped(self) -> Sequence[Skipped]:
        """Which local documents cannot be read. Blocking. Raises `CorpusError`."""
        corpus = self.sources.corpus
        return corpus.prepare(max_age=CORPUS_AGE_SECONDS).skipped if corpus is not None else ()

    def supervisor(self, **parts: Any) -> SupervisorOrchestrator:
        """One that walks a run of this set-up. Raises `ConfigurationError` if the class makes something else."""
        try:
            orchestrator = self.make_supervisor(
                self.phases,
                hooks=self.hooks,
                gates=self.gates,
                fallbacks=self.fallbacks,
                calls=self.calls,
                hook_timeout=self.settings.hook_timeout,
                strict_hooks=self.settings.strict_hooks,
                models=self.models,
                reflection=self.settings.reflection,
                on_outage=self.settings.on_outage,
                revise_with_critic=self.settings.revise_with_critic,
                conversation=self.conversation,
                memory=self.memory,
                **parts,
            )
        except TypeError as error:
            raise ConfigurationError(
                f"The supervisor {class_name(self.make_supervisor)} cannot be created: {error}.",
                hint="Give it the arguments of SupervisorOrchestrator: def __init__(self, *args, **parts).",
            ) from error
        if not isinstance(orchestrator, SupervisorOrchestrator):
            raise ConfigurationError(
                f"{class_name(self.make_supervisor)} made {type(orchestrator).__name__}, and no SupervisorOrchestrator.",
                hint="Subclass SupervisorOrchestrator.",
            )
        return orchestrator

    def tidy(self) -> None:
        """Before the first run: what has expired goes from the archive. Blocking."""
        if self.archive is not None:
            tidy(self.archive)

    async def disconnect(self) -> None:
        """Lets go of the connections of the running loop. What is asked for later opens them again."""
        for close in (*self.sources.per_loop, self.models.pool.aclose):
            try:
                with contained():
                    await close()
            except Exception as error:  # from a provider of the user: a connection is no reason to lose a run
                log.warning("connection_not_closed", error=describe_error(error))


def assemble(
    settings: Settings, arguments: EngineArguments, *, clock: Clock = utc_now, beside: Parts | None = None
) -> Parts:
    """``beside`` are parts of the same engine: the store, threads, processes and secrets are theirs.

    Raises `UnknownNameError`, `ConfigurationError`.
    """
    keyring = beside.keyring if beside else Keyring()
    with keyring.scope():
        return replace(_assembled(settings, arguments, clock, beside), keyring=keyring)


def _assembled(settings: Settings, arguments: EngineArguments, clock: Clock, beside: Parts | None) -> Parts:
    calls = beside.calls if beside else Calls()
    archive = make_archive(settings, clock=clock) if settings.content_archive.enabled else None
    memory = UserMemory(arguments.memory, clock) if arguments.memory is not None else None
    limits = WorkLimits(
        max_concurrent=settings.max_concurrent,
        operation_timeout=settings.operation_timeout,
        calls=calls,
        archive=archive,
        memories=memory.texts if memory is not None else None,
    )
    store = beside.store if beside else arguments.store or make_store(settings)
    agents, hooks = checked_agents(arguments.agents), chosen_hooks(arguments.hooks)
    roles = make_models(settings, arguments.model, arguments.models or {})
    ready(roles, local_only=settings.local_only)
    arguments = _permitted(arguments)
    connections = beside.connections if beside else McpConnections(settings.mcp_servers)
    sources = make_sources(
        settings,
        arguments.search or settings.search,
        beside=(arguments.data_sources or {}).values(),
        pages=arguments.pages,
        store=store,
        calls=calls,
        extractor=beside.sources.extractor if beside else make_extractor(settings),
        permissions=arguments.permissions,
        connections=connections,
    )
    tasks = _make_tasks(settings, arguments, sources, roles, calls, connections)
    look = sources.gatherer.look if sources.gatherer.looks else None
    conversation = Conversation(store, look=look, tokens=settings.session_tokens)
    phases = _phases(agents, sources, roles, limits, settings, tasks, conversation)
    roles = with_asked_roles(roles, phases)
    gates = policies(arguments.gates)
    return Parts(
        settings=settings,
        setup=set_up(settings, arguments, roles, sources, gates),
        store=store,
        own_store=arguments.store is None,
        phases=phases,
        fallbacks=_fallbacks(phases, sources, limits, tasks, conversation),
        hooks=hooks,
        make_supervisor=checked_supervisor(arguments.supervisor),
        gates=gates,
        providers=[
            *(each for each in arguments.search or () if not isinstance(each, str)),
            *(arguments.data_sources or {}).values(),
        ],
        sources=sources,
        calls=calls,
        models=roles,
        searches=bool(sources.can_search or AgentRole.GATHERER in agents or arguments.data_sources),
        local_only=settings.local_only,
        archive=archive,
        conversation=conversation,
        memory=memory,
        connections=connections,
    )


def _permitted(arguments: EngineArguments) -> EngineArguments:
    """Without the data sources and tools that the user may not use."""
    may = arguments.permissions
    data_sources = {
        name: each
        for name, each in (arguments.data_sources or {}).items()
        if may.may_search(name, local=True)
    }
    tools = [each for each in arguments.tools or () if may.tools is None or each.name in may.tools]
    return replace(arguments, data_sources=data_sources or None, tools=tools or None)


def _fallbacks(
    phases: Mapping[DeepResearchPhase, Phase],
    sources: Sources,
    limits: WorkLimits,
    tasks: TaskParts,
    conversation: Conversation,
) -> dict[DeepResearchPhase, Phase]:
    """The phases that work without a model, for when the models fail."""
    gathering = GatheringPhase(
        phases[DeepResearchPhase.GATHERING].agent,
        limits=limits,
        tasks=replace(tasks, by_model=False),
        recall=conversation.recall,
        **_looking(DeepResearchPhase.GATHERING, sources),
    )
    return {
        **{
            phase: PHASE_TYPES[phase](agent(), limits=limits, **_looking(phase, sources))
            for phase, agent in EXTRACTIVE_AGENTS.items()
        },
        DeepResearchPhase.GATHERING: gathering,
    }


def _phases(
    agents: Mapping[AgentRole, Any],
    sources: Sources,
    roles: ModelRoles,
    limits: WorkLimits,
    settings: Settings,
    tasks: TaskParts,
    conversation: Conversation,
) -> dict[DeepResearchPhase, Phase]:
    """Each with the agent that was chosen for it, else with ours."""
    rules = content_rules(settings)
    choices = Choices() if settings.summarization.cache else None
    own = {DeepResearchPhase.GATHERING: sources.gatherer}
    beside: dict[DeepResearchPhase, dict[str, Any]] = {
        phase: _looking(phase, sources) for phase in PHASE_TYPES
    }
    beside[DeepResearchPhase.GATHERING]["tasks"] = tasks
    beside[DeepResearchPhase.GATHERING]["recall"] = conversation.recall
    beside[DeepResearchPhase.SYNTHESIS]["judge"] = JudgeScope(settings.judge)
    beside[DeepResearchPhase.ANALYSIS]["summarizer"] = Summarizer(settings.summarization.timeout, choices)
    return {
        phase: make(
            agents.get(PHASE_TO_AGENT[phase]) or own.get(phase) or _agent(phase, roles, rules),
            limits=limits,
            **beside.get(phase, {}),
        )
        for phase, make in PHASE_TYPES.items()
    }


def _looking(phase: DeepResearchPhase, sources: Sources) -> dict[str, Any]:
    """By what a phase looks whether something can be found."""
    knows = {"knows": sources.gatherer.knows if sources.can_search else None}
    match phase:
        case DeepResearchPhase.PLANNING:
            gatherer = sources.gatherer
            return {
                "look": gatherer.look if gatherer.looks else None,
                "glance": gatherer.glance if gatherer.asks_web else None,
                **knows,
            }
        case DeepResearchPhase.GATHERING | DeepResearchPhase.REFINEMENT:
            return knows
        case _:
            return {}


def _agent(phase: DeepResearchPhase, roles: ModelRoles, rules: ContentRules) -> Any:
    """The agent of ours that thinks with a model, where there is one for its role; else the extractive one."""
    role = ModelRole(PHASE_TO_AGENT[phase].value)
    if not roles.chain_of(role):
        return EXTRACTIVE_AGENTS[phase]()
    module, name = _THINKING[phase]
    agent = getattr(import_module(module), name)
    return agent() if phase is DeepResearchPhase.PLANNING else agent(rules)


def _make_tasks(
    settings: Settings,
    arguments: EngineArguments,
    sources: Sources,
    roles: ModelRoles,
    calls: Calls,
    connections: McpConnections,
) -> TaskParts:
    """Raises `ConfigurationError` for a tool or a data source that cannot be used."""
    own = {}
    for name, provider in (arguments.data_sources or {}).items():
        if not NAME.fullmatch(str(name)) or name in (CORPUS, WEB):
            raise ConfigurationError(
                f"'{str(name)[:60]}' is not a name for a data source.",
                hint="Use small letters, digits and _, begin with a letter, and avoid corpus and web.",
            )
        if not isinstance(provider, SearchProvider):
            raise ConfigurationError(
                f"The data source '{name}' is no SearchProvider.", hint="Subclass SearchProvider."
            )
        if settings.local_only and not provider.local:
            raise ConfigurationError(
                f"local_only is set, and the data source '{name}' is not on this machine.",
                hint="Remove it, or remove local_only.",
            )
        own[name] = Service.of(provider, calls=calls, timeout=settings.operation_timeout * _ONE_REQUEST_SHARE)
    tools = checked_tools(arguments.tools or ())
    return TaskParts(
        sources=DataSources(pool=sources.gatherer.pool, own=own),
        reading=sources.gatherer.reading,
        tools=tools,
        servers=tool_servers(settings, connections, arguments.permissions, [tool.name for tool in tools]),
        rules=content_rules(settings),
        by_model=bool(roles.chain_of(ModelRole.TASK_AGENT)),
    )
