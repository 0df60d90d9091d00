"""The settings that belong together, as objects. Those of tasks are in `deep_research.state.task_settings`."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from deep_research.setting_fields import Form, Name, Names, SettingGroup
from deep_research.settings.values import AnyPath, Sizes

_PROXY = Form("off, environment or the address of an HTTP proxy, http://HOST:PORT")


class FetchSettings(SettingGroup):
    """How the engine fetches and reads pages.

    Attributes:
        enabled: Whether it reads the pages that searches find.
        timeout: Seconds for fetching and reading one page.
        concurrency, per_host: Pages at a time, of all sites and of one.
        proxy: ``off``, ``environment``, or ``http://HOST:PORT``.
        max_bytes: Largest page or file.
        respect_robots: Whether it skips pages that the robots.txt of their site forbids.
        contact: Your page or mail address, which sites and some services receive.
        workers: Processes that read pages, PDFs and office files.
        cpu_seconds: Seconds of processor time for reading one page or file.

    Raises `SettingsError` for a value out of its bounds, and `UnknownNameError`.

    Example:
        DeepResearch(fetch=FetchSettings(timeout=10, contact="ann@example.org"))
    """

    group_name: ClassVar[str] = "fetch"

    enabled: bool = Field(
        default=True,
        description="Read the pages that searches find; otherwise use only what services say of them.",
    )
    timeout: float = Field(
        default=30.0, gt=0, le=600, description="Seconds for fetching and reading one page."
    )
    concurrency: int = Field(
        default=32, ge=1, le=256, description="Pages that this process reads at a time, over all runs."
    )
    per_host: int = Field(
        default=4, ge=1, le=64, description="Pages of one site that the engine reads at a time."
    )
    proxy: Annotated[str, _PROXY] = Field(
        default="off",
        pattern=r"^(?:off|environment|http://\S+)$",
        repr=False,  # its address may hold a password
        description="Proxy for reading pages: off, environment (HTTPS_PROXY, HTTP_PROXY, NO_PROXY), or "
        "http://HOST:PORT.",
    )
    max_bytes: int = Field(
        default=10_000_000, ge=10_000, le=50_000_000, description="Largest page or file to fetch, in bytes."
    )
    respect_robots: bool = Field(
        default=True, description="Skip pages that the robots.txt of their site forbids."
    )
    contact: Name | None = Field(
        default=None,
        description="Your page or mail address, which sites and some services receive.",
    )
    workers: int = Field(
        default=2, ge=1, le=64, description="Processes that read pages, PDFs and office files."
    )
    cpu_seconds: float = Field(
        default=10.0,
        gt=0,
        le=600,
        description="Seconds of processor time for reading one page or file; it may take twelve times as long by "
        "the clock.",
    )


class ReadingSettings(SettingGroup):
    """How much of its sources a model reads.

    Attributes:
        tokens: Tokens of sources that a model reads in one round.
        sections: Whether it reads only the relevant sections.
        triage: Whether it is asked about sources that the engine would nearly have read.

    Raises `SettingsError` for a value out of its bounds, and `UnknownNameError`.

    Example:
        DeepResearch(reading=ReadingSettings(tokens=50_000))
    """

    group_name: ClassVar[str] = "reading"

    tokens: int = Field(
        default=100_000,
        ge=1_000,
        le=100_000_000,
        description="Tokens of sources that a model reads in one round; the engine condenses the rest to fit.",
    )
    sections: bool = Field(
        default=True,
        description="Have a model read only the relevant sections of sources, without lists and indexes; "
        "otherwise all that fits.",
    )
    triage: bool = Field(
        default=False,
        description="Ask the analyzer's model, once in a round, about sources that the engine would nearly have "
        "read; it sees their titles, headings and best passages.",
    )


class WindowSettings(SettingGroup):
    """How the engine fits prompts into the windows of models.

    Attributes:
        enabled: Whether it fits content into the window; otherwise a request that is too long fails.
        safety_margin: Fraction of a window to leave free for counting errors, 0 to 0.9.
        runtime: Where the engine runs.
        runtime_overhead: Tokens to leave free for the surroundings; None: the value of ``runtime``.
        model_tokens: Windows of models in tokens, by model.
        allow_dropping: Whether the least important content may be left out.

    Raises `SettingsError` for a value out of its bounds, and `UnknownNameError`.

    Example:
        DeepResearch(window=WindowSettings(model_tokens={"ollama:qwen3": 32_768}))
    """

    group_name: ClassVar[str] = "window"

    enabled: bool = Field(
        default=True,
        description="Fit content into the window by importance; otherwise a request that is too long fails.",
    )
    safety_margin: float = Field(
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
        description="Tokens to leave free for the surroundings; unset: the value of `window.runtime`.",
    )
    model_tokens: Sizes = Field(
        default_factory=dict,
        description="Windows of models in tokens, which override the known ones; in a variable "
        "`ollama:qwen3=32768`.",
    )
    allow_dropping: bool = Field(
        default=False,
        description="Leave out the least important content if there is no room; otherwise keep something of each "
        "source.",
    )


class SummarizationSettings(SettingGroup):
    """How a model shortens long texts, by choosing sentences.

    Attributes:
        model: Models that choose; the engine asks the next one if one cannot answer. Empty: code chooses.
        timeout: Seconds for shortening one text.
        cache: Whether the engine remembers the chosen sentences.

    Raises `SettingsError` for a value out of its bounds, and `UnknownNameError`.

    Example:
        DeepResearch(summarization=SummarizationSettings(model="ollama:qwen3"))
    """

    group_name: ClassVar[str] = "summarization"

    model: Names = Field(
        default=(),
        description="Language models that choose which sentences of a long text to keep; the engine asks the next "
        "one if one cannot answer. Empty: code chooses.",
    )
    timeout: float = Field(default=60.0, gt=0, le=3_600, description="Seconds for shortening one text.")
    cache: bool = Field(default=True, description="Remember the chosen sentences instead of asking again.")


class ContentArchiveSettings(SettingGroup):
    """Whether, where and how long the engine keeps the originals of texts that it dropped or cut.

    Attributes:
        enabled: Whether it keeps them.
        ttl_hours: Hours to keep them.
        dir: Their folder; None: ``archive`` in ``data_dir``.

    Raises `SettingsError` for a value out of its bounds, and `UnknownNameError`.

    Example:
        DeepResearch(content_archive=ContentArchiveSettings(enabled=True, ttl_hours=24))
    """

    group_name: ClassVar[str] = "content_archive"

    enabled: bool = Field(
        default=False,
        description="Keep the originals of texts that were dropped, or cut to a fifth or less, as files.",
    )
    ttl_hours: float = Field(default=168.0, gt=0, le=87_600, description="Hours to keep these files.")
    dir: AnyPath | None = Field(
        default=None, description="Folder of these files; unset: `archive` in `data_dir`."
    )


class QualitySettings(SettingGroup):
    """Sites, beginnings of addresses and documents of high, medium and low quality.

    Raises `SettingsError` for a value that is no list of names, and `UnknownNameError`.

    Example:
        DeepResearch(quality=QualitySettings(high="nasa.gov", low=["example.com", "example.net"]))
    """

    group_name: ClassVar[str] = "quality"

    high: Names = Field(
        default=(), description="Sites, beginnings of addresses and documents of high quality."
    )
    medium: Names = Field(default=(), description="The same for medium quality.")
    low: Names = Field(default=(), description="The same for low quality.")


class RateLimits(SettingGroup):
    """How many requests the engine sends to a service, over all runs.

    Attributes:
        model_concurrency: Requests to one model service at a time.
        model_requests_per_minute: Requests to one model service in a minute.
        search_requests_per_minute: Requests to one search service in a minute.

    Raises `SettingsError` for a value out of its bounds, and `UnknownNameError`.

    Example:
        DeepResearch(rate_limits=RateLimits(model_concurrency=4))
    """

    group_name: ClassVar[str] = "rate_limits"

    model_concurrency: int = Field(
        default=16, ge=1, le=1_000, description="Requests to one model service at a time, over all runs."
    )
    model_requests_per_minute: float | None = Field(
        default=None, gt=0, description="Requests to one model service in a minute, over all runs."
    )
    search_requests_per_minute: float | None = Field(
        default=None, gt=0, description="Requests to one search service in a minute, over all runs."
    )
