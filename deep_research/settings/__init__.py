"""What a host may choose, where each choice came from, and one place that reads it all."""

from deep_research.settings.model import Settings, bounds
from deep_research.settings.sources import ResolvedSettings, env_variable, load_settings, preset_names

__all__ = ["ResolvedSettings", "Settings", "bounds", "env_variable", "load_settings", "preset_names"]
