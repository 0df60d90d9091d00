"""Search providers by name. Packages join through the entry-point group ``deep_research.search``."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points

from deep_research.errors import ConfigurationError, UnknownNameError
from deep_research.sources.search.base import SearchProvider

GROUP = "deep_research.search"

# name -> "module:Class"; strings, so that looking a name up imports nothing else.
PROVIDERS: dict[str, str] = {}


def known_providers() -> dict[str, str]:
    """All names with where they are found."""
    return {**{point.name: point.value for point in entry_points(group=GROUP)}, **PROVIDERS}


def make_provider(name: str) -> SearchProvider:
    """A new provider of that name. Raises `UnknownNameError`, `ConfigurationError` when it cannot be loaded."""
    known = known_providers()
    if name not in known:
        raise UnknownNameError.of("search provider", name, known)
    module, _, attribute = known[name].partition(":")
    try:
        made = getattr(import_module(module), attribute)()
    except (ImportError, AttributeError, TypeError) as error:
        raise ConfigurationError(
            f"The search provider '{name}' cannot be loaded: {error}.",
            hint="Reinstall the package that brings it.",
            name=name,
        ) from error
    if not isinstance(made, SearchProvider):
        raise ConfigurationError(
            f"The search provider '{name}' is no SearchProvider.", hint="Subclass SearchProvider.", name=name
        )
    return made
