"""Choice of the search services: by name, or all that are ready."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deep_research.calls import Calls
from deep_research.errors import ConfigurationError, MissingKeyError
from deep_research.sources.search.base import SearchProvider
from deep_research.sources.search.policy import Service
from deep_research.sources.search.providers import known_providers, make_provider, needs

if TYPE_CHECKING:
    from deep_research.sources.mcp import McpConnection

# Names that stand for something else than one built-in service.
WEB = "web"  # all ready services
CORPUS = "corpus"  # the user's documents
MCP = "mcp:"  # prefix of a search service on an MCP server
_KEY = "_API_KEY"


@dataclass(frozen=True, slots=True)
class ServiceChoice:
    """``services`` in the order of preference; ``missing`` has an error for each named service that is not ready;
    ``new_providers`` are created from names; the caller closes them."""

    services: tuple[Service, ...] = ()
    missing: tuple[MissingKeyError, ...] = ()
    new_providers: tuple[SearchProvider, ...] = ()


def has_key(name: str, environment: Mapping[str, str] | None = None) -> bool:
    """Whether the environment has all required variables of the service, or, if it requires none, an optional API
    key."""
    variables = os.environ if environment is None else environment
    own_needs = needs(name)
    if own_needs.required:
        return not own_needs.missing(variables)
    return any(
        variables.get(variable, "").strip() for variable in own_needs.optional if variable.endswith(_KEY)
    )


def services_in_order(urls: Iterable[str] = ()) -> list[str]:
    """The names of all services: first those with a key, or with an address in ``urls``, then the others."""
    names_with_url = set(urls)
    return sorted(known_providers(), key=lambda name: not (name in names_with_url or has_key(name)))


def choose_services(
    names: Sequence[str | SearchProvider],
    *,
    documents: bool,
    urls: Mapping[str, str],
    calls: Calls,
    timeout: float,
    per_minute: float | None = None,
    contact: str | None = None,
    connect: Callable[[str], McpConnection] | None = None,
) -> ServiceChoice:
    """The services that ``names`` stand for. Without names: none if there are ``documents``; otherwise all ready
    services, if at least one has a key or an address, else none. ``timeout`` is in seconds, for one request; ``urls``
    are the addresses of services by name; ``contact`` goes to services that want one; ``connect`` gives the connection
    to an MCP server by its name, for services such as ``mcp:notes``.

    A service that lacks its key is skipped; if it was named, it is in ``missing``. Raises `UnknownNameError`,
    `ConfigurationError`.
    """
    for service in urls:
        needs(service)  # raises for a name that nobody has
    selection: list[str | SearchProvider] = []
    if not names and not documents:
        every = services_in_order(urls)
        selection += every if any(name in urls or has_key(name) for name in every) else []
    for name in names:
        selection += services_in_order(urls) if name == WEB else [name] if name != CORPUS else []
    services: list[Service] = []
    missing: list[MissingKeyError] = []
    providers: list[SearchProvider] = []
    for each in dict.fromkeys(selection):
        if not isinstance(each, str):
            services.append(
                Service.of(_check_provider(each), calls=calls, timeout=timeout, per_minute=per_minute)
            )
            continue
        try:
            provider = _make(each, urls, connect)
        except MissingKeyError as error:
            if each in names:
                missing.append(error)
            continue
        providers.append(provider)
        if contact and hasattr(provider, "contact"):
            provider.contact = contact
        endpoint = f"{each} {getattr(provider, 'account', urls.get(each, ''))}".strip()
        services.append(
            Service.of(provider, calls=calls, timeout=timeout, per_minute=per_minute, endpoint=endpoint)
        )
    return ServiceChoice(tuple(services), tuple(missing), tuple(providers))


def _make(
    name: str, urls: Mapping[str, str], connect: Callable[[str], McpConnection] | None
) -> SearchProvider:
    if connect is None or not name.startswith(MCP):
        return make_provider(name, base_url=urls.get(name))
    from deep_research.sources.search.mcp_search import McpSearch  # who has no server needs nothing of it

    return McpSearch(connect(name.removeprefix(MCP)))


def _check_provider(provider: SearchProvider) -> SearchProvider:
    if not callable(getattr(provider, "search", None)):
        raise ConfigurationError(
            f"{provider!r} is no search provider.", hint="Subclass SearchProvider and give an instance."
        )
    return provider
