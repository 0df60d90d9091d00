"""The keywords of `DeepResearch` and of its runs, for editors and type checkers: the fields of the models of settings and
options, as callers may write them. A test holds them against the models, which check the values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal, TypedDict

from deep_research.budget.shared_budget import SharedBudget
from deep_research.settings.groups import (
    ContentArchiveSettings,
    FetchSettings,
    QualitySettings,
    RateLimits,
    ReadingSettings,
    SummarizationSettings,
    WindowSettings,
)
from deep_research.settings.mcp_servers import McpServer
from deep_research.state import Budget, Exchange, TaskSettings


class CommonArguments(TypedDict, total=False):
    """Of an engine, for all its runs, and of one run, where they go first."""

    max_iterations: int | None
    max_sub_queries: int | Literal["auto"] | None
    max_sources_per_query: int | None
    gate_retries: int | None
    max_supervisor_retries: int | None
    report_words: int | None
    depth: Literal["quick", "standard", "deep", "auto"] | None
    min_supported: float | None
    system_prompt: str | None
    language: str | None
    audience: str | None
    source_types: str | Sequence[str] | None
    since: date | str | None
    until: date | str | None
    as_of: date | str | None
    domains: str | Sequence[str] | None
    not_domains: str | Sequence[str] | None
    source_language: str | None
    protected_sources: str | Sequence[str] | None
    gathering: Literal["search", "agents"] | None
    tasks: TaskSettings | Mapping[str, Any] | None
    approve_plan: bool | None
    clarify: Literal["never", "when_unsure"] | None
    on_budget_exhausted: Literal["report", "ask"] | None
    remember: bool | None


class RunArguments(CommonArguments, total=False):
    """Of one run: the fields of `RunOptions`, and a budget that it draws on beside its own."""

    user_id: str | None
    session_id: str | None
    previous_run_id: str | None
    history: Sequence[Exchange | Mapping[str, str]] | None
    provider_id: str | None
    corpora: str | Sequence[str] | None
    metadata: Mapping[str, str] | None
    budget: Budget | None
    shared_budget: SharedBudget | None


class FilterArguments(TypedDict, total=False):
    """Of a listing: the fields of `RunFilter`, by the texts that are shown."""

    status: str | None
    user: str | None
    session: str | None
    text: str | None
    parked_kind: str | None
    due_before: datetime | str | None


class SettingArguments(CommonArguments, total=False):
    """Of an engine: the fields of `Settings` but those that `DeepResearch` takes as objects too."""

    max_concurrent: int | None
    judge: Literal["off", "doubtful", "all"] | None
    reflection: Literal["never", "on_failure", "always"] | None
    on_outage: Literal["park", "extractive"] | None
    revise_with_critic: bool | None
    cheap_model: bool | None
    max_searches: int | None
    max_fetches: int | None
    max_seconds: float | None
    max_usd: float | None
    max_tokens: int | None
    max_model_calls: int | None
    effort: Literal["low", "medium", "high"] | Mapping[str, Literal["low", "medium", "high"]] | None
    thinking_tokens: int | Mapping[str, int] | None
    model_file: Path | str | None
    record_models: Path | str | None
    rate_limits: RateLimits | Mapping[str, Any] | None
    window: WindowSettings | Mapping[str, Any] | None
    reading: ReadingSettings | Mapping[str, Any] | None
    summarization: SummarizationSettings | Mapping[str, Any] | None
    session_tokens: int | None
    content_archive: ContentArchiveSettings | Mapping[str, Any] | None
    max_question_chars: int | None
    max_file_bytes: int | None
    operation_timeout: float | None
    unit_timeout: float | None
    task_timeout: float | None
    auto_resume: bool | None
    hook_timeout: float | None
    strict_hooks: bool | None
    named_corpora: Mapping[str, Path | str] | None
    users_file: Path | str | None
    local_only: bool | None
    search_urls: Mapping[str, str] | None
    mcp_servers: Mapping[str, Mapping[str, Any] | McpServer] | None
    max_rewordings: int | None
    fetch: FetchSettings | Mapping[str, Any] | None
    quality: QualitySettings | Mapping[str, Any] | None
    data_dir: Path | str | None
    log_level: Literal["debug", "info", "warning", "error"] | None
    log_format: Literal["text", "json"] | None
    lease_ttl: float | None
    max_active_runs: int | None
