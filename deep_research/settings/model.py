"""The settings: one strict, frozen model. Names, defaults and bounds stand here and nowhere else."""

from __future__ import annotations

import types
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, Self, Union, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import ErrorDetails

from deep_research.errors import SettingsError, UnknownNameError
from deep_research.settings.mcp_servers import McpServers
from deep_research.settings.values import (
    EVERY_SETTING,
    Addresses,
    AnyPath,
    Day,
    EffortByRole,
    Name,
    NamedPaths,
    Names,
    NamesByRole,
    Paths,
    Sizes,
    TokensByRole,
    display_value,
    plain,
)
from deep_research.state import Budget, RunOptions
from deep_research.state.run import SubQueryCount


def _user_data_dir() -> Path:
    import platformdirs  # here, because importing the package must stay cheap

    return platformdirs.user_data_path("deep-research", appauthor=False)


class Settings(BaseModel):
    """Every option of the engine. Sizes are in characters, bytes or counts as named, times in seconds.

    Build it with `load_settings`, which knows files, environment and presets. Wrong names raise
    `UnknownNameError`, wrong values `SettingsError`, never pydantic's own error.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    max_iterations: int = Field(
        default=3, ge=1, le=10, description="Rounds of searching and writing in one run."
    )
    max_sub_queries: SubQueryCount = Field(
        default=5,
        description="Most sub-queries of a plan; `auto`: the planner decides how many.",
    )
    max_sources_per_query: int = Field(
        default=5, ge=1, le=50, description="Sources that each sub-query keeps."
    )
    max_concurrent: int = Field(
        default=5, ge=1, le=32, description="Sub-queries that one run searches at a time."
    )
    gate_retries: int = Field(
        default=1,
        ge=0,
        le=3,
        description="Times that the engine repeats a phase whose result its gate blocks.",
    )
    max_supervisor_retries: int = Field(
        default=2, ge=0, le=10, description="Times that the supervisor or a hook may repeat a phase."
    )
    depth: Literal["quick", "standard", "deep", "auto"] = Field(
        default="standard",
        description="How thorough the research is. `quick`: one search and about 150 words; `deep`: more rounds, "
        "searches and words; `auto`: `quick` for a question that asks one thing, otherwise, or "
        "without an answer, `standard`.",
    )
    gathering: Literal["search", "agents"] = Field(
        default="search",
        description="How the engine works on sub-queries. `search`: one search each; `agents`: tasks of agents "
        "that use tools step by step, with a reviewer.",
    )
    max_waves: int = Field(
        default=3,
        ge=1,
        le=10,
        description="Most waves of tasks in an iteration. After each wave the supervisor's model reads all "
        "answers and may send out more tasks; `1`: only the tasks of the plan.",
    )
    max_task_steps: int = Field(
        default=8, ge=0, le=100, description="Steps that an agent may take in one attempt at a task."
    )
    max_task_retries: int | None = Field(
        default=None,
        ge=0,
        le=10,
        description="Times that a task may be repeated; unset: `max_supervisor_retries`.",
    )
    max_task_tokens: int | None = Field(
        default=None, ge=0, description="Tokens after which an attempt at a task takes no further step."
    )
    max_task_usd: float | None = Field(
        default=None, ge=0, description="Dollars after which an attempt at a task takes no further step."
    )
    max_task_seconds: float = Field(
        default=600.0,
        ge=0,
        le=86_400,
        description="Seconds after which an attempt at a task takes no further step.",
    )
    task_sources: Names = Field(
        default=(),
        description="What tasks may search: `corpus`, `web`, names of your data sources; empty: everything.",
    )
    task_tools: Names = Field(default=(), description="Tools that tasks may use, by name; empty: all.")
    task_public_after_private: bool = Field(
        default=False,
        description="Let tasks search the web and read its pages after they saw private data.",
    )
    approve_plan: bool = Field(
        default=False,
        description="Park the run with its plan before it searches, until you approve or change the plan.",
    )
    clarify: Literal["never", "when_unsure"] = Field(
        default="never",
        description="Whether a run asks one question before it searches if the question is unclear.",
    )
    remember: bool = Field(
        default=False,
        description="Whether runs write their findings, and what users say about themselves, to the user's "
        "memory.",
    )
    session_tokens: int = Field(
        default=2_000,
        ge=200,
        le=50_000,
        description="Tokens of the summary of a conversation for planner and writer; the oldest turns go first.",
    )
    on_cap: Literal["report", "ask"] = Field(
        default="report",
        description="What a run does at a cap: write the report from what it has, or park and ask for more.",
    )
    report_words: int = Field(
        default=800, ge=100, le=20_000, description="Target length of the report, in words."
    )
    min_supported: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="Least share of supported claims; with fewer the run gives no report.",
    )
    judge: Literal["off", "doubtful", "all"] = Field(
        default="all",
        description="Which claims a model judges: none, those of which code is not sure, or all. The analyzer's "
        "model judges, unless `models` names one for the role `judge`.",
    )
    system_prompt: str | None = Field(
        default=None, description="Instructions for every agent, added to its own."
    )
    language: Name | None = Field(
        default=None, description="Language in which a model writes the report; unset: that of the question."
    )
    audience: Name | None = Field(
        default=None,
        description="Readers for whom a model writes the report, such as `engineers new to the field`.",
    )
    reflection: Literal["never", "on_failure", "always"] = Field(
        default="on_failure",
        description="When the supervisor's model reflects on a phase: never, when the gate blocked it, or always.",
    )
    on_outage: Literal["park", "extractive"] = Field(
        default="park",
        description="What a run does if it reaches no model: park, or continue with the extractive agents.",
    )
    critique: bool = Field(
        default=True,
        description="Have a model review each report that a model wrote, and revise it, once in an iteration.",
    )
    economy: bool = Field(
        default=False,
        description="Use the cheaper sibling of a model to read sources and to reflect.",
    )
    source_types: Names = Field(
        default=(),
        description="Kinds of sources to search: `web`, `academic`, `news`, `document`; empty: all.",
    )
    since: Day | None = Field(default=None, description="First publication date, such as `2024-01-01`.")
    until: Day | None = Field(default=None, description="Last publication date.")
    as_of: Day | None = Field(
        default=None,
        description="Date whose knowledge counts: the run uses no later page, and no web page without a date.",
    )
    domains: Names = Field(
        default=(),
        description="The only web sites to use, such as `example.org`, with everything below them.",
    )
    not_domains: Names = Field(default=(), description="Web sites not to use.")
    source_language: Name | None = Field(
        default=None, description="Language that services search, as a code such as `de`."
    )
    max_searches: int | None = Field(
        default=None,
        ge=0,
        description="Cap on the searches of a run; the run then writes the report from what it has.",
    )
    max_fetches: int | None = Field(
        default=None,
        ge=0,
        description="Cap on the pages that a run requests over the network; the report says what was not read.",
    )
    max_seconds: float | None = Field(
        default=None,
        gt=0,
        description="Cap on the seconds of work of a run, over all processes that resume it; the run then writes "
        "the report.",
    )
    max_usd: float | None = Field(
        default=None, ge=0, description="Cap on the dollars of a run; needs the price of every model."
    )
    max_tokens: int | None = Field(
        default=None, ge=0, description="Cap on the tokens of a run, input and output together."
    )
    max_model_calls: int | None = Field(
        default=None, ge=0, description="Cap on the requests of a run to language models."
    )
    model: Names = Field(
        default=(),
        description="Language models for all agents, such as `anthropic:MODEL`; the engine asks the next one if "
        "one cannot answer. Empty: the extractive agents.",
    )
    models: NamesByRole = Field(
        default_factory=dict,
        description="Models by role, which override `model`; in a variable "
        "`analyzer=ollama:MODEL,planner=openai:MODEL`.",
    )
    effort: EffortByRole = Field(
        default_factory=dict,
        description="How hard models think: `low`, `medium` or `high`, for all or by role, as "
        "`planner=medium,all=low`. Unset: `high` for planner, supervisor and refiner, `medium` for "
        "task_agent, synthesizer and judge, `low` for the rest.",
    )
    thinking_tokens: TokensByRole = Field(
        default_factory=dict,
        description="Tokens that models may think before an answer, in addition to the answer; for all or by "
        "role. Unset or 0: the default of the service.",
    )
    model_file: AnyPath | None = Field(
        default=None,
        description="File (TOML) with windows, limits and prices of models, which overrides the built-in ones.",
    )
    record_models: AnyPath | None = Field(
        default=None, description="File to which the engine writes all requests to models, for `replay:FILE`."
    )
    service_concurrency: int = Field(
        default=16, ge=1, le=1_000, description="Requests to one model service at a time, over all runs."
    )
    service_requests_per_minute: float | None = Field(
        default=None, gt=0, description="Requests to one model service in a minute, over all runs."
    )
    token_safety_margin: float = Field(
        default=0.15,
        ge=0,
        le=0.9,
        description="Fraction of a model's window to leave free for counting errors.",
    )
    runtime: Literal["direct-api", "gemini-cli", "codex", "cursor", "claude-code"] = Field(
        default="direct-api",
        description="Where the engine runs; sets the tokens to leave free for the surroundings.",
    )
    runtime_overhead: int | None = Field(
        default=None,
        ge=0,
        le=10_000_000,
        description="Tokens to leave free for the surroundings; unset: the value of `runtime`.",
    )
    model_context_overrides: Sizes = Field(
        default_factory=dict,
        description="Windows of models in tokens, which override the known ones; in a variable "
        "`ollama:qwen3=32768`.",
    )
    token_management_enabled: bool = Field(
        default=True,
        description="Fit content into the window by importance; otherwise a request that is too long fails.",
    )
    reading_tokens: int = Field(
        default=100_000,
        ge=1_000,
        le=100_000_000,
        description="Tokens of sources that a model reads in one round; the engine condenses the rest to fit.",
    )
    read_sections: bool = Field(
        default=True,
        description="Have a model read only the relevant sections of sources, without lists and indexes; "
        "otherwise all that fits.",
    )
    section_relevance: float = Field(
        default=0.45,
        ge=0,
        le=1,
        description="How relevant a section must be, compared with the best one, for a model to read it; a lower "
        "value reads more.",
    )
    model_triage: bool = Field(
        default=False,
        description="Ask the analyzer's model, once in a round, about sources that the engine would nearly have "
        "read; it sees their titles, headings and best passages.",
    )
    protected: Names = Field(
        default=(),
        description="Sites, beginnings of addresses and documents that the engine never drops and prefers.",
    )
    summarization_provider: Name | None = Field(
        default=None,
        description="Model that chooses which sentences of a long text to keep; unset: code chooses.",
    )
    summarization_providers: Names = Field(
        default=(), description="Models that replace it if it cannot answer, in this order."
    )
    summarization_timeout: float = Field(
        default=60.0, gt=0, le=3_600, description="Seconds for shortening one text."
    )
    summarization_cache_enabled: bool = Field(
        default=True, description="Remember the chosen sentences instead of asking again."
    )
    allow_content_dropping: bool = Field(
        default=False,
        description="Leave out the least important content if there is no room; otherwise keep something of each "
        "source.",
    )
    content_archive_enabled: bool = Field(
        default=False,
        description="Keep the originals of texts that were dropped, or cut to a fifth or less, as files.",
    )
    content_archive_ttl_hours: float = Field(
        default=168.0, gt=0, le=87_600, description="Hours to keep these files."
    )
    research_archive_dir: AnyPath | None = Field(
        default=None, description="Folder of these files; unset: `archive` in `data_dir`."
    )
    max_question_chars: int = Field(
        default=20_000, ge=1, le=200_000, description="Longest question, in characters."
    )
    max_source_bytes: int = Field(
        default=2_000_000,
        ge=1_000,
        le=50_000_000,
        description="Longest text to keep of one source, in bytes.",
    )
    max_file_bytes: int = Field(
        default=10_000_000,
        ge=10_000,
        le=50_000_000,
        description="Largest local file to read, in bytes.",
    )
    operation_timeout: float = Field(
        default=120.0,
        gt=0,
        le=3_600,
        description="Seconds for one search, one agent call, or one request to a model.",
    )
    unit_timeout: float | None = Field(
        default=None,
        gt=0,
        le=36_000,
        description="Seconds for all requests for one answer of a model, with the waits between them; at least "
        "`operation_timeout`. Unset: 2.5 times that.",
    )
    task_timeout: float = Field(
        default=1_800.0,
        gt=0,
        le=86_400,
        description="Seconds of work for a whole run, over all processes that resume it; parked time does not "
        "count.",
    )
    wakes: bool = Field(
        default=False,
        description="Have the engine continue parked runs whose time has come, as long as it lives.",
    )
    wake_interval: float = Field(
        default=30.0, gt=0, le=86_400, description="Seconds between checks for such runs."
    )
    hook_timeout: float = Field(default=60.0, gt=0, le=3_600, description="Seconds for one hook.")
    strict_hooks: bool = Field(
        default=False,
        description="End the run if a hook fails, and raise its exception; otherwise ignore the hook and add a "
        "notice.",
    )
    corpus: Paths = Field(default=(), description="Files and folders of local documents to search.")
    named_corpora: NamedPaths = Field(
        default_factory=dict,
        description="Named sets of files and folders, which a run may choose instead of `corpus` with its option "
        '`corpora`; in a variable `{"handbook": "/srv/handbook"}`.',
    )
    users_file: AnyPath | None = Field(
        default=None,
        description="TOML file with the users and what each may use; the engine refuses a user that is not in it."
        " Unset: every user may use everything.",
    )
    dense_model: Name | None = Field(
        default=None,
        description="Sentence-embedding model that helps to rank local documents; needs the extra `dense`.",
    )
    search: Names = Field(
        default=(),
        description="What to search, in order of preference: names of services, `web` for all that are ready, "
        "`corpus` for the documents. Empty: the documents, or without documents the services that "
        "have a key.",
    )
    local_only: bool = Field(
        default=False,
        description="Never use the network: no service, no page, and only models on this machine.",
    )
    search_urls: Addresses = Field(
        default_factory=dict,
        description="Addresses of search services that replace the usual ones; in a variable "
        "`searxng=http://127.0.0.1:8888`.",
    )
    mcp_servers: McpServers = Field(
        default_factory=dict,
        description="MCP servers by name, for searches and as tools of tasks: see docs/mcp.md; in a variable as "
        "JSON.",
    )
    search_fanout: int = Field(
        default=1,
        ge=1,
        le=10,
        description="Services that each search asks for one kind of source; the engine merges their results.",
    )
    search_requests_per_minute: float | None = Field(
        default=None, gt=0, description="Requests to one search service in a minute, over all runs."
    )
    max_rewordings: int = Field(
        default=1,
        ge=0,
        le=3,
        description="Times that the engine rewords a search without useful results.",
    )
    fetch_pages: bool = Field(
        default=True,
        description="Read the pages that searches find; otherwise use only what services say of them.",
    )
    fetch_timeout: float = Field(
        default=30.0, gt=0, le=600, description="Seconds for fetching and reading one page."
    )
    fetch_concurrency: int = Field(
        default=32, ge=1, le=256, description="Pages that this process reads at a time, over all runs."
    )
    fetch_proxy: str = Field(
        default="off",
        pattern=r"^(?:off|environment|http://\S+)$",
        repr=False,  # its address may hold a password
        description="Proxy for reading pages: off, environment (HTTPS_PROXY, HTTP_PROXY, NO_PROXY), or "
        "http://HOST:PORT.",
    )
    fetch_per_host: int = Field(
        default=4, ge=1, le=64, description="Pages of one site that the engine reads at a time."
    )
    max_page_bytes: int = Field(
        default=10_000_000, ge=10_000, le=50_000_000, description="Largest page or file to fetch, in bytes."
    )
    respect_robots: bool = Field(
        default=True, description="Skip pages that the robots.txt of their site forbids."
    )
    contact: Name | None = Field(
        default=None,
        description="Your page or mail address, which sites and some services receive.",
    )
    extraction_workers: int = Field(
        default=2, ge=1, le=64, description="Processes that read pages, PDFs and office files."
    )
    extraction_timeout: float = Field(
        default=10.0,
        gt=0,
        le=600,
        description="Seconds of processor time for reading one page or file; it may take twelve times as long by "
        "the clock.",
    )
    high_quality: Names = Field(
        default=(), description="Sites, beginnings of addresses and documents of high quality."
    )
    medium_quality: Names = Field(default=(), description="The same for medium quality.")
    low_quality: Names = Field(default=(), description="The same for low quality.")
    store: Literal["sqlite", "memory"] = Field(
        default="sqlite",
        description="Where the engine keeps runs: a database in `data_dir`, or only this process.",
    )
    memory: Name = Field(
        default="sqlite",
        description="Where the engine keeps memories of users: `sqlite`, a file in `data_dir`; `volatile`, only "
        "this process; or the name of a memory from a package.",
    )
    data_dir: AnyPath = Field(
        default_factory=_user_data_dir, description="Folder of the database and all saved files."
    )
    preset: str = Field(default="default", description="Named set of values to start from.")
    log_level: Literal["debug", "info", "warning", "error"] | None = Field(
        default=None, description="Least severe log lines to print on stderr; unset: none."
    )
    log_format: Literal["text", "json"] = Field(default="text", description="Format of log lines.")
    lease_ttl: float = Field(
        default=15.0, gt=0, le=3_600, description="Seconds after which a silent owner loses its run."
    )
    heartbeat: float = Field(
        default=5.0,
        gt=0,
        le=1_800,
        description="Seconds between renewals of a lease; at most half of `lease_ttl`.",
    )
    control_interval: float = Field(
        default=0.05, gt=0, le=10, description="Seconds between checks for commands to a run."
    )
    max_active_runs: int = Field(
        default=200, ge=1, le=10_000, description="Runs that one process works on at a time; others wait."
    )

    @model_validator(mode="wrap")
    @classmethod
    def _in_our_words(
        cls, values: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        origins: Mapping[str, str] = (info.context or {}).get("origins", {})
        try:
            settings = handler(values)
        except ValidationError as error:
            raise explained(error, cls, origins) from None
        # One missed beat must not cost the lease.
        if settings.heartbeat > settings.lease_ttl / 2:
            raise SettingsError(
                f"heartbeat must be at most half of lease_ttl ({settings.lease_ttl:g}), got "
                f"{settings.heartbeat:g}{_from(origins, 'heartbeat', 'lease_ttl')}.",
                setting="heartbeat",
            )
        # Else a request could never take what it may.
        if settings.unit_timeout is not None and settings.unit_timeout < settings.operation_timeout:
            raise SettingsError(
                f"unit_timeout must be at least operation_timeout ({settings.operation_timeout:g}), got "
                f"{settings.unit_timeout:g}{_from(origins, 'unit_timeout', 'operation_timeout')}.",
                setting="unit_timeout",
            )
        return settings

    def run_options(self, **per_run: Any) -> RunOptions:
        """The options of one run: these settings, and over them what the caller gave for this run.

        Takes every field of `RunOptions`; None means not given. A ``budget`` goes over the caps among the settings
        one by one. Raises `UnknownNameError` and `SettingsError` as `load_settings` does.
        """
        given = {name: value for name, value in per_run.items() if value is not None}
        for name in given:
            if name not in RunOptions.model_fields:
                raise UnknownNameError.of("option", plain(name), RunOptions.model_fields)
        origins = dict.fromkeys(given, "argument")
        shared = {name: given.get(name, value) for name, value in self if name in RunOptions.model_fields}
        chosen = Settings.model_validate(dict(self) | shared, context={"origins": origins})
        options = given | {name: getattr(chosen, name) for name in shared}
        try:
            return RunOptions(**options | {"budget": self._budget(given.get("budget"))})
        except ValidationError as error:
            raise explained(error, RunOptions, origins) from None

    def _budget(self, over: object) -> Budget:
        caps: dict[str, Any] = {
            name: value for name, value in self if name in Budget.model_fields and name != "max_iterations"
        }
        if over is None:
            return Budget(**caps)
        if not isinstance(over, Budget | Mapping):
            raise SettingsError(
                f"budget must be a Budget, got {display_value(over)} (from argument).", setting="budget"
            )
        try:
            own = Budget.model_validate(over)
        except ValidationError as error:
            raise explained(error, Budget, dict.fromkeys(Budget.model_fields, "argument")) from None
        return own.model_copy(update={name: cap for name, cap in caps.items() if getattr(own, name) is None})


_WORDS: dict[object, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a text",
    Path: "a path",
    date: "a day such as 2026-01-31",
}
_FORMS = {
    "fetch_proxy": "off, environment or the address of an HTTP proxy, http://HOST:PORT",
    "search_urls": "a table of addresses by service",
    "named_corpora": "a table of paths by name",
    "mcp_servers": "a table of servers by name, each a table",
    "models": "a table of model names by role",
    "effort": "low, medium or high, or a table of these by role",
    "thinking_tokens": "a whole number, 0 at least, or a table of these by role",
    "model_context_overrides": "a table of tokens, 1,000 at least, by model",
}


def kind(model: type[BaseModel], name: str) -> object:
    """The type of a field without None and annotations: ``int``, ``float``, ``str``, ``Path``, ``date``, a Literal,
    or ``tuple[item, ...]``."""
    annotation: object = model.model_fields[name].annotation
    if get_origin(annotation) in (Union, types.UnionType):
        annotation = next(part for part in get_args(annotation) if part is not type(None))
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def optional(model: type[BaseModel], name: str) -> bool:
    return type(None) in get_args(model.model_fields[name].annotation)


def bounds(name: str, model: type[BaseModel] = Settings) -> str:
    """The limits of a field in words, such as «between 1 and 10», «one of 'text', 'json'» or «between 2 and 20 or
    'auto'»; "" without."""
    if get_origin(kind(model, name)) is Literal:
        return "one of " + ", ".join(f"'{choice}'" for choice in get_args(kind(model, name)))
    field = model.model_fields[name]
    parts = get_args(field.annotation) if get_origin(field.annotation) in (Union, types.UnionType) else ()
    inner = [each for part in parts for info in get_args(part)[1:] for each in getattr(info, "metadata", ())]
    words = [f" or '{word}'" for part in parts if get_origin(part) is Literal for word in get_args(part)]
    limits: dict[str, float] = {}
    for constraint in (*field.metadata, *inner):
        for key in ("ge", "gt", "le"):
            if (limit := getattr(constraint, key, None)) is not None:
                limits[key] = limit
    low = f"above {limits['gt']}" if "gt" in limits else f"at least {limits['ge']}" if "ge" in limits else ""
    if "ge" in limits and "le" in limits:
        return f"between {limits['ge']} and {limits['le']}{''.join(words)}"
    return " and ".join(part for part in (low, f"at most {limits['le']}" if "le" in limits else "") if part)


def explained(
    error: ValidationError, model: type[BaseModel], origins: Mapping[str, str]
) -> SettingsError | UnknownNameError:
    """Pydantic's first complaint in one line of ours. ``origins`` says where each value came from."""
    details = error.errors(include_url=False)[0]
    name = str(details["loc"][0]) if details["loc"] else ""
    if details["type"] == "extra_forbidden":
        return UnknownNameError.of("setting", plain(name), model.model_fields, listed=EVERY_SETTING)
    wanted = _wanted(details, model, name)
    return SettingsError(
        f"{name} must be {wanted}, got {display_value(details['input'])}{_from(origins, name)}.", setting=name
    )


def _wanted(details: ErrorDetails, model: type[BaseModel], name: str) -> str:
    limits = bounds(name, model)
    if limits and details["type"].startswith(("greater_than", "less_than", "literal")):
        return limits
    sort = kind(model, name)
    if name in _FORMS:
        return _FORMS[name]
    if get_origin(sort) is tuple:
        item = get_args(sort)[0]
        return "a list of paths" if Path in (item, *get_args(item)) else "a list of names"
    return " ".join(part for part in (_WORDS.get(sort, ""), limits) if part) or "of its type"


def _from(origins: Mapping[str, str], *names: str) -> str:
    """« (from X)» for the first of the names that was set by someone."""
    for name in names:
        if origins.get(name, "default") != "default":
            return f" (from {origins[name]})"
    return ""
