"""The servers that a set-up sends requests to, and the keys that go with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from deep_research.addresses import is_loopback, is_same_server, server_of
from deep_research.budget.metered import ModelRoles
from deep_research.patterns import regex
from deep_research.settings import Settings
from deep_research.sources.search.policy import Service
from deep_research.state import ModelRole
from deep_research.state.setup import ROLES, ROLES_WITH_OWN_MODEL_ONLY

FOUND_SITES = "sites that are found"
_VARIABLE_PART = regex(r"\{\w{1,40}\}")  # of an address, such as the language of an edition


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """A server and what it is asked for. ``key`` is the variable of the environment whose key is sent along, "" where
    none is; ``is_own``: the server is the service's own, and not one that somebody named in its place; ``is_here``: it is
    this machine."""

    server: str
    uses: tuple[str, ...]
    key: str = ""
    is_own: bool = True
    is_here: bool = False

    @property
    def is_stranger(self) -> bool:
        """Whether a key, or what is researched, goes to another server than the service's own."""
        return not self.is_own and not (self.is_here and not self.key)


def destinations(
    settings: Settings, roles: ModelRoles, services: Sequence[Service]
) -> tuple[Destination, ...]:
    """One for each server, of models, searches, pages and the embedding model. Objects that were handed over are among
    them where they say where they ask. Raises as `ModelPool.provider`."""
    return tuple(
        _merge(
            (
                *_of_models(roles),
                *_of_searches(services),
                *_of_mcp_servers(settings),
                *_of_pages(settings, services),
            )
        )
    )


def _merge(destinations: Iterable[Destination]) -> Iterable[Destination]:
    """Those that differ only in their use as one."""
    by_server: dict[Destination, tuple[str, ...]] = {}
    for each in destinations:
        place = replace(each, uses=())
        by_server[place] = tuple(dict.fromkeys((*by_server.get(place, ()), *each.uses)))
    return [replace(place, uses=uses) for place, uses in by_server.items()]


def _of_models(roles: ModelRoles) -> Iterator[Destination]:
    active_roles = (
        {*ROLES, ModelRole.JUDGE, *ROLES_WITH_OWN_MODEL_ONLY} if roles.asked is None else roles.asked
    )
    chains = {
        role: tuple(
            roles.by_role.get(role, ()) if role in ROLES_WITH_OWN_MODEL_ONLY else roles.chain_of(role)
        )
        for role in ModelRole
        if role in active_roles
    }
    is_one = len({chain for chain in chains.values() if chain}) == 1
    for role, chain in chains.items():
        for each in chain:
            provider = roles.pool.provider(each)
            use = "models" if is_one else role.value
            yield from _at(provider.base_url, provider.own_url, provider.sent_key, use)


def _of_searches(services: Sequence[Service]) -> Iterator[Destination]:
    for service in services:
        base_url, own_url, key = (
            str(getattr(service.provider, name, "") or "") for name in ("base_url", "url", "sent_key")
        )
        yield from _at(base_url, own_url, key, service.name)


def _of_mcp_servers(settings: Settings) -> Iterator[Destination]:
    """Those whose tools agents of tasks may use. A program that is started here says nothing of where it asks."""
    for name, server in settings.mcp_servers.items():
        if server.url and server.callable_tools and not settings.local_only:
            yield from _at(server.url, server.url, server.token_variable or "", f"tools of {name}")


def _of_pages(settings: Settings, services: Sequence[Service]) -> Iterator[Destination]:
    if settings.fetch.enabled and any(not getattr(service.provider, "local", False) for service in services):
        proxy = settings.fetch.proxy
        by = f", by {server_of(proxy)}" if "://" in proxy else ""
        yield Destination(server=f"{FOUND_SITES}{by}", uses=("pages",))


def _at(url: str, own_url: str, key: str, use: str) -> Iterator[Destination]:
    if url:
        yield Destination(
            server=_VARIABLE_PART.sub("*", server_of(url)),
            uses=(use,),
            key=key,
            is_own=bool(own_url) and is_same_server(url, own_url),
            is_here=is_loopback(url),
        )
