"""Build the search services, the corpus and the page reader from the settings."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deep_research.assembly.mcp_choice import McpConnections
from deep_research.calls import Calls
from deep_research.errors import ConfigurationError, MissingKeyError, SettingsError, UnknownNameError
from deep_research.phases.gathering import SearchGatherer
from deep_research.phases.gathering.source_reading import Pages, SourceReader
from deep_research.provenance.quality import QualityLists
from deep_research.settings import Settings
from deep_research.sources.documents import LocalCorpus
from deep_research.sources.extract import Extractor
from deep_research.sources.extract.readers import unloadable
from deep_research.sources.search import SearchProvider, SourceType
from deep_research.sources.search.policy import Service
from deep_research.sources.search.service_choice import CORPUS, ServiceChoice, choose_services
from deep_research.state import Permissions
from deep_research.store import Store

if TYPE_CHECKING:
    from deep_research.sources.extract import Document
    from deep_research.sources.fetch.cache import SavedPage
    from deep_research.sources.fetch.hosts import Hosts
    from deep_research.sources.fetch.pages import WebPages

# Shares of `operation_timeout`: for one request to a service, so that another can still answer; and after which the
# gatherer uses what it has read.
_REQUEST_TIME_SHARE, _PATIENCE_TIME_SHARE = 0.4, 0.8
Close = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where evidence comes from. Call each of ``per_loop`` to release what the running loop holds; it may be called
    again. ``missing`` are services that were named and lack a key."""

    gatherer: SearchGatherer
    services: Sequence[Service]
    missing: Sequence[MissingKeyError]
    corpus: LocalCorpus | None
    extractor: Extractor
    per_loop: Sequence[Close]

    @property
    def can_search(self) -> bool:
        """Whether there is anything to search."""
        return bool(self.services or self.corpus)

    def check_certificates(self) -> None:
        """Raises `ConfigurationError` if the certificate files in the environment cannot be read and an HTTP service is
        used: without them none answers."""
        if all(service.local for service in self.services):
            return
        # What searches documents alone needs no HTTP.
        from deep_research.models.clients import CERTIFICATES, tls
        from deep_research.sources.search.web_service import HttpSearch

        if any(isinstance(service.provider, HttpSearch) for service in self.services) and any(
            map(os.environ.get, CERTIFICATES)
        ):
            tls()

    def check_kinds(self, kinds: Sequence[str]) -> None:
        """Raises `UnknownNameError` for a source type that no service has."""
        declared = {str(kind) for service in self.services for kind in service.types}
        declared |= {SourceType.DOCUMENT.value} if self.corpus else set()
        for kind in kinds:
            if declared and kind not in declared:
                raise UnknownNameError.of("source type", kind, declared, where="what is searched")


def make_sources(
    settings: Settings,
    search: Sequence[SearchProvider | str],
    *,
    beside: Iterable[SearchProvider] = (),
    pages: Pages | None = None,
    store: Store,
    calls: Calls,
    extractor: Extractor,
    permissions: Permissions,
    connections: McpConnections,
) -> Sources:
    """``beside``: providers that only tasks search; their pages are read too. ``pages`` reads pages in place of the
    engine's own reader. Leaves out the sources that ``permissions`` exclude. Raises `UnknownNameError`,
    `ConfigurationError`."""
    corpus = make_corpus(settings, extractor) if _may_search_documents(permissions) else None
    choice = _permitted(_services(settings, search, calls, connections), permissions)
    web = any(not getattr(each, "local", True) for each in (*choice.services, *beside))
    own = make_pages(settings, store, extractor) if web and settings.fetch.enabled else None
    if pages is not None and not callable(getattr(pages, "read", None)):
        raise ConfigurationError(
            f"{pages!r} reads no pages.", hint="Give an object with a method `async read(url)`."
        )
    gatherer = SearchGatherer(
        choice.services,
        corpus=corpus,
        rewordings=settings.max_rewordings,
        reading=SourceReader(pages=(pages or own) if own else None, lists=_lists(settings)),
        notes=[
            *(f"{error.problem} {error.hint}" for error in choice.missing),
            *(f"Texts may be missing: {line}." for line in (unloadable() if corpus or own else ())),
        ],
        calls=calls,
        timeout=settings.operation_timeout * _REQUEST_TIME_SHARE,
        patience=settings.operation_timeout * _PATIENCE_TIME_SHARE,
    )
    return Sources(
        gatherer=gatherer,
        services=choice.services,
        missing=choice.missing,
        corpus=corpus,
        extractor=extractor,
        per_loop=[
            connections.aclose,  # all at once
            *(provider.aclose for provider in choice.new_providers),
            *([own.aclose] if own else []),
        ],
    )


def make_extractor(settings: Settings) -> Extractor:
    return Extractor(workers=settings.fetch.workers, cpu_seconds=settings.fetch.cpu_seconds)


def make_corpus(settings: Settings, extractor: Extractor) -> LocalCorpus | None:
    if not settings.corpus:
        return None
    return LocalCorpus(
        settings.corpus,
        data_dir=settings.data_dir,
        max_file_bytes=settings.max_file_bytes,
        extractor=extractor,
    )


def make_pages(settings: Settings, store: Store, extractor: Extractor) -> WebPages[Document]:
    """What reads pages of the web."""
    # Who searches documents alone needs nothing of this.
    from deep_research.sources.fetch.client import AGENT, Fetcher, FetchLimits
    from deep_research.sources.fetch.pages import WebPages
    from deep_research.sources.fetch.proxy import OFF, ProxyGuard, proxies
    from deep_research.sources.fetch.robots import Robots

    limits = FetchLimits(seconds=settings.fetch.timeout, bytes=settings.fetch.max_bytes)
    try:
        guard = ProxyGuard(proxies(settings.fetch.proxy)) if settings.fetch.proxy != OFF else None
    except ValueError as error:
        hint = "Set fetch.proxy to off, or to the address of an HTTP proxy."
        raise SettingsError(f"fetch.proxy cannot be used: {error}.", hint=hint) from None
    agent = f"{AGENT} ({settings.fetch.contact})" if settings.fetch.contact else AGENT
    fetcher = Fetcher(limits=limits, guard=guard, agent=agent)
    return WebPages(
        fetcher,
        Robots(fetcher),
        _hosts(settings.fetch.per_host),
        extractor,
        _StoredPages(store),
        respect_robots=settings.fetch.respect_robots,
        at_once=settings.fetch.concurrency,
    )


@functools.cache
def _hosts(at_once: int) -> Hosts:
    """What is known of sites is shared by all engines of the process: a site counts requests by who asks."""
    from deep_research.sources.fetch.hosts import Hosts

    return Hosts(at_once=at_once)


def _services(
    settings: Settings,
    search: Sequence[SearchProvider | str],
    calls: Calls,
    connections: McpConnections,
) -> ServiceChoice:
    if settings.local_only:
        for each in search:
            if each != CORPUS and not getattr(each, "local", False):
                name = each if isinstance(each, str) else getattr(each, "name", type(each).__name__)
                raise ConfigurationError(
                    f"local_only is set, and '{name}' is not on this machine.",
                    hint="Search only documents (--corpus PATH), or remove local_only.",
                )
    return choose_services(
        search,
        documents=bool(settings.corpus) or settings.local_only,
        urls=settings.search_urls,
        calls=calls,
        timeout=settings.operation_timeout * _REQUEST_TIME_SHARE,
        per_minute=settings.rate_limits.search_requests_per_minute,
        contact=settings.fetch.contact,
        connect=connections.connection,
    )


def _may_search_documents(permissions: Permissions) -> bool:
    """Whether documents may be searched."""
    source_types = permissions.kinds
    has_documents = source_types is None or SourceType.DOCUMENT.value in source_types
    return has_documents and permissions.may_search(CORPUS, local=True)


def _permitted(choice: ServiceChoice, permissions: Permissions) -> ServiceChoice:
    """The services that may be asked."""
    source_types = permissions.kinds
    may_web = source_types is None or bool(set(source_types) - {SourceType.DOCUMENT.value})
    services = tuple(
        service
        for service in choice.services
        if may_web and permissions.may_search(service.name, local=service.local)
    )
    return replace(choice, services=services)


def _lists(settings: Settings) -> QualityLists:
    return QualityLists(high=settings.quality.high, medium=settings.quality.medium, low=settings.quality.low)


class _StoredPages:
    """Pages that earlier runs saved, from the store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def latest(self, url: str) -> SavedPage | None:
        from deep_research.sources.fetch.cache import SavedPage

        page = await asyncio.to_thread(self._store.page, url)
        if page is None:
            return None
        return SavedPage(
            url=page.head.url,
            final_url=page.head.found_at,
            fetched_at=page.head.at,
            headers=dict(page.head.headers),
            body=page.body,
        )
