"""What a host may choose, where each choice came from, and one place that reads it all."""

from deep_research.settings.model import Settings, bounds
from deep_research.settings.sources import (
    UNSET,
    ResolvedSettings,
    env_variable,
    load_settings,
    preset_names,
    preset_values,
    setting_from_text,
)

__all__ = [
    "UNSET",
    "ResolvedSettings",
    "Settings",
    "bounds",
    "env_variable",
    "load_settings",
    "preset_names",
    "preset_values",
    "setting_from_text",
]
