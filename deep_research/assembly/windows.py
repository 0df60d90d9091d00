"""From settings to how much of a model's window there is for what is sent."""

from __future__ import annotations

from deep_research.budget.metered import ModelRoles
from deep_research.budget.window import Window
from deep_research.models.profiles import Profile


def window(roles: ModelRoles, profile: Profile, output: int) -> Window:
    """The window for an answer of so many tokens, as requests of a run have it."""
    return Window.of(profile.context, min(output, profile.output), runtime=roles.runtime, margin=roles.margin)
