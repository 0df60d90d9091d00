"""The settings: one strict, frozen model. Names, defaults and bounds stand here and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from deep_research.errors import SettingsError
from deep_research.setting_fields import (
    ARGUMENT,
    Name,
    Names,
    display_value,
    explain,
    flatten,
    nest,
    origin_note,
    with_values,
)
from deep_research.settings.groups import (
    ContentArchiveSettings,
    FetchSettings,
    QualitySettings,
    RateLimits,
    ReadingSettings,
    SummarizationSettings,
    WindowSettings,
)
from deep_research.settings.mcp_servers import McpServers
from deep_research.settings.values import (
    Addresses,
    AnyPath,
    Day,
    EffortByRole,
    NamedPaths,
    NamesByRole,
    Paths,
    TokensByRole,
    user_data_dir,
)
from deep_research.state import Budget, RunOptions, TaskSettings
from deep_research.state.run import SubQueryCount


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
        "searches and words; `auto`: `quick` for a question that asks one thing, otherwise `standard`; a "
        "quick run without an answer continues as `standard`.",
    )
    gathering: Literal["search", "agents"] = Field(
        default="search",
        description="How the engine works on sub-queries. `search`: one search each; `agents`: tasks of agents "
        "that use tools step by step, with a reviewer.",
    )
    tasks: TaskSettings = TaskSettings()
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
    on_budget_exhausted: Literal["report", "ask"] = Field(
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
    revise_with_critic: bool = Field(
        default=True,
        description="Have a model review each report that a model wrote, and revise it, once in an iteration.",
    )
    cheap_model: bool = Field(
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
    rate_limits: RateLimits = RateLimits()
    window: WindowSettings = WindowSettings()
    reading: ReadingSettings = ReadingSettings()
    protected_sources: Names = Field(
        default=(),
        description="Sites, beginnings of addresses and documents that the engine never drops and prefers.",
    )
    summarization: SummarizationSettings = SummarizationSettings()
    content_archive: ContentArchiveSettings = ContentArchiveSettings()
    max_question_chars: int = Field(
        default=20_000, ge=1, le=200_000, description="Longest question, in characters."
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
    auto_resume: bool = Field(
        default=False,
        description="Have the engine continue parked runs whose time has come, as long as it lives.",
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
    max_rewordings: int = Field(
        default=1,
        ge=0,
        le=3,
        description="Times that the engine rewords a search without useful results.",
    )
    fetch: FetchSettings = FetchSettings()
    quality: QualitySettings = QualitySettings()
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
        default_factory=user_data_dir, description="Folder of the database and all saved files."
    )
    preset: str = Field(default="default", description="Named set of values to start from.")
    log_level: Literal["debug", "info", "warning", "error"] | None = Field(
        default=None, description="Least severe log lines to print on stderr; unset: none."
    )
    log_format: Literal["text", "json"] = Field(default="text", description="Format of log lines.")
    lease_ttl: float = Field(
        default=15.0, gt=0, le=3_600, description="Seconds after which a silent owner loses its run."
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
            raise explain(error, cls, origins) from None
        # Else a request could never take what it may.
        if settings.unit_timeout is not None and settings.unit_timeout < settings.operation_timeout:
            raise SettingsError(
                f"unit_timeout must be at least operation_timeout ({settings.operation_timeout:g}), got "
                f"{settings.unit_timeout:g}{origin_note(origins, 'unit_timeout', 'operation_timeout')}.",
                setting="unit_timeout",
            )
        return settings

    def run_options(self, **per_run: Any) -> RunOptions:
        """The options of one run: these settings, and over them what the caller gave for this run.

        Takes every field of `RunOptions`; None means not given. Members of a group, and caps of a ``budget``, go over
        those among the settings one by one. Raises `UnknownNameError` and `SettingsError` as `load_settings` does.
        """
        own = flatten(RunOptions, per_run, kind="option")
        origins = dict.fromkeys(own, ARGUMENT)
        budget = self._budget(own.pop("budget", None))
        shared = {
            path: value for path, value in own.items() if path.partition(".")[0] in Settings.model_fields
        }
        settings_of_run = with_values(self, shared, {"origins": origins})
        settings = {name: value for name, value in settings_of_run if name in RunOptions.model_fields}
        try:
            return RunOptions(**nest(own) | settings | {"budget": budget})
        except ValidationError as error:
            raise explain(error, RunOptions, origins) from None

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
            raise explain(error, Budget, dict.fromkeys(Budget.model_fields, ARGUMENT)) from None
        return own.model_copy(update={name: cap for name, cap in caps.items() if getattr(own, name) is None})
