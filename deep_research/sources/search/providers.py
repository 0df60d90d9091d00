"""Search providers by name. Packages join through the entry-point group ``deep_research.search``."""

from __future__ import annotations

import inspect
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from deep_research.errors import ConfigurationError, DeepResearchError, UnknownNameError
from deep_research.sources.search.base import SearchProvider
from deep_research.sources.search.keys import OURS, Needs

GROUP = "deep_research.search"

# name -> "module:Class"; strings, so that looking a name up imports nothing else. In the order in which they are asked
# when nobody says which. A class is called without arguments, or with ``base_url``.
PROVIDERS: dict[str, str] = {
    "tavily": "deep_research.sources.search.tavily:Tavily",
    "google": "deep_research.sources.search.google:Google",
    "semantic_scholar": "deep_research.sources.search.semantic_scholar:SemanticScholar",
    "searxng": "deep_research.sources.search.searxng:SearXNG",
    "wikipedia": "deep_research.sources.search.wikipedia:Wikipedia",
    "openalex": "deep_research.sources.search.openalex:OpenAlex",
}


def known_providers() -> dict[str, str]:
    """All names with where they are found, ours first and in their order."""
    return PROVIDERS | {p.name: p.value for p in entry_points(group=GROUP) if p.name not in PROVIDERS}


def make_provider(name: str, *, base_url: str | None = None) -> SearchProvider:
    """A new provider of that name, its keys from the environment.

    Raises `UnknownNameError`, `MissingKeyError` when it needs what is not there, and `ConfigurationError` when it
    cannot be loaded.
    """
    make = _loaded(name)
    try:
        if base_url is not None and "base_url" not in inspect.signature(make).parameters:
            raise ConfigurationError(
                f"The search provider '{name}' has no other address.",
                hint="Leave its base URL out.",
                name=name,
            )
        provider = make() if base_url is None else make(base_url=base_url)
    except DeepResearchError:
        raise
    except (ImportError, AttributeError, TypeError) as error:
        raise _unloadable(name, error) from error
    if not isinstance(provider, SearchProvider):
        raise ConfigurationError(
            f"The search provider '{name}' is no SearchProvider.", hint="Subclass SearchProvider.", name=name
        )
    return provider


def needs(name: str) -> Needs:
    """The variables that the provider of that name wants, without making one; none where it does not say.

    Raises `UnknownNameError`, and `ConfigurationError` when it cannot be loaded.
    """
    if name in OURS:
        return OURS[name]
    own_needs = getattr(_loaded(name), "needs", None)
    return own_needs if isinstance(own_needs, Needs) else Needs()


def _loaded(name: str) -> Any:
    providers = known_providers()
    if name not in providers:
        raise UnknownNameError.of("search provider", name, providers)
    module, _, attribute = providers[name].partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise _unloadable(name, error) from error


def _unloadable(name: str, error: Exception) -> ConfigurationError:
    return ConfigurationError(
        f"The search provider '{name}' cannot be loaded: {error}.",
        hint="Reinstall the package that brings it.",
        name=name,
    )
