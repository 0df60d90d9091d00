"""The settings of a host, the origin of each, and the one place that reads them."""

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
