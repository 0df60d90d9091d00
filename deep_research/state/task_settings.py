"""The settings of tasks, which each run records."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from deep_research.setting_fields import Names, SettingGroup


class TaskSettings(SettingGroup):
    """The limits of tasks in a run with ``gathering="agents"``, and what tasks may search and use.

    Attributes:
        max_waves: Most waves of tasks in an iteration, 1 to 10.
        max_steps: Steps that an agent may take in one attempt at a task, 0 to 100.
        max_retries: Times that a task may be repeated; None: ``max_supervisor_retries``.
        max_tokens, max_usd, max_seconds: Tokens, dollars and seconds of an attempt.
        sources: What tasks may search: ``corpus``, ``web``, names of your data sources; empty: everything.
        tools: Tools that tasks may use, by name; empty: all.
        public_after_private: Whether tasks may use the web after they saw private data.

    Raises `SettingsError` for a value out of its bounds, and `UnknownNameError`.

    Example:
        engine.run("Who built Bell Rock?", gathering="agents", tasks=TaskSettings(max_steps=5))
    """

    group_name: ClassVar[str] = "tasks"

    max_waves: int = Field(
        default=3,
        ge=1,
        le=10,
        description="Most waves of tasks in an iteration. After each wave the supervisor's model reads all "
        "answers and may send out more tasks; `1`: only the tasks of the plan.",
    )
    max_steps: int = Field(
        default=8, ge=0, le=100, description="Steps that an agent may take in one attempt at a task."
    )
    max_retries: int | None = Field(
        default=None,
        ge=0,
        le=10,
        description="Times that a task may be repeated; unset: `max_supervisor_retries`.",
    )
    max_tokens: int | None = Field(
        default=None, ge=0, description="Tokens after which an attempt at a task takes no further step."
    )
    max_usd: float | None = Field(
        default=None, ge=0, description="Dollars after which an attempt at a task takes no further step."
    )
    max_seconds: float = Field(
        default=600.0,
        ge=0,
        le=86_400,
        description="Seconds after which an attempt at a task takes no further step.",
    )
    sources: Names = Field(
        default=(),
        description="What tasks may search: `corpus`, `web`, names of your data sources; empty: everything.",
    )
    tools: Names = Field(default=(), description="Tools that tasks may use, by name; empty: all.")
    public_after_private: bool = Field(
        default=False,
        description="Let tasks search the web and read its pages after they saw private data.",
    )
