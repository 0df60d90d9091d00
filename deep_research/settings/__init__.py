"""The settings of a host, the origin of each, and the one place that reads them."""

from deep_research.setting_fields import UNSET
from deep_research.settings.model import Settings
from deep_research.settings.sources import (
    ResolvedSettings,
    env_variable,
    join_path,
    load_settings,
    path_of,
    paths_by_name,
    preset_names,
    preset_values,
    setting_from_text,
)

__all__ = [
    "UNSET",
    "ResolvedSettings",
    "Settings",
    "env_variable",
    "join_path",
    "load_settings",
    "path_of",
    "paths_by_name",
    "preset_names",
    "preset_values",
    "setting_from_text",
]
