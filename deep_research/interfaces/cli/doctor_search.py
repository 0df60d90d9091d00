"""What `doctor` says of search: what would be asked, which services are ready, and what the others lack."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from deep_research.errors import DeepResearchError
from deep_research.interfaces.cli import text
from deep_research.interfaces.cli.check import BROKEN, NOTE, OK, Check
from deep_research.settings import Settings

if TYPE_CHECKING:
    from deep_research.sources.search.policy import Service
    from deep_research.sources.search.service_choice import Chosen

_PROBE = "lighthouse"


def search(settings: Settings, *, probe: bool) -> Iterator[Check]:
    """One line for what a run would search, another for each service. ``probe`` asks each that a run would ask."""
    from deep_research.sources.search.combined_search import listed
    from deep_research.sources.search.service_choice import in_order

    if settings.local_only:
        yield _local(settings)
        return
    found = chosen_services(settings)
    names = (["the documents"] if settings.corpus else []) + [service.name for service in found.services]
    if names:
        yield Check("search", OK, f"a run asks {listed(names)}")
    else:
        yield Check(
            "search",
            NOTE,
            "nothing to search yet: give documents with --corpus, or --sample, or search the web: --search web",
        )
    by_name = {service.name: service for service in found.services}
    for name in in_order(settings.search_urls):
        yield _state(name, settings, named=name in settings.search)
        if probe and name in by_name:
            yield asyncio.run(_asked(by_name[name]))


def chosen_services(settings: Settings) -> Chosen:
    """What a run would ask. Raises `UnknownNameError`, `ConfigurationError`."""
    from deep_research.calls import Calls
    from deep_research.sources.search.service_choice import chosen

    return chosen(
        settings.search,
        documents=bool(settings.corpus),
        urls=settings.search_urls,
        calls=Calls(),
        timeout=settings.operation_timeout,
        per_minute=settings.search_requests_per_minute,
    )


def _local(settings: Settings) -> Check:
    from deep_research.sources.search.service_choice import CORPUS

    elsewhere = [name for name in settings.search if name != CORPUS]
    if elsewhere:
        return Check("search", BROKEN, f"local_only is set, and '{elsewhere[0]}' is not on this machine")
    if not settings.corpus:
        return Check("search", NOTE, "nothing to search yet: local_only is set; give documents with --corpus")
    return Check("search", OK, "the documents alone: local_only is set")


def _state(name: str, settings: Settings, *, named: bool) -> Check:
    from deep_research.sources.search.providers import needs
    from deep_research.sources.search.service_choice import has_key

    wanted = needs(name)
    where = f", at {settings.search_urls[name]}" if name in settings.search_urls else ""
    missing = () if name in settings.search_urls and len(wanted.required) == 1 else wanted.missing()
    if missing:
        return Check(name, BROKEN if named else OK, f"not ready: set {' and '.join(missing)}")
    if has_key(name):
        return Check(name, OK, f"ready, with a key{where}")
    optional = f"; {' or '.join(wanted.optional)} may be set" if wanted.optional else ""
    return Check(name, OK, f"ready, needs no key{where}{optional}")


async def _asked(service: Service) -> Check:
    from deep_research.sources.search import SearchRequest

    began = time.monotonic()
    try:
        results = await service.search(SearchRequest(query=_PROBE, limit=3), last=True)
    except DeepResearchError as error:
        return Check(service.name, BROKEN, str(error).removeprefix(f"{service.name}: "))
    finally:
        await service.provider.aclose()
    return Check(
        service.name,
        OK if results else NOTE,
        f"answered in {time.monotonic() - began:.1f} s with {text.count(len(results), 'result')}",
    )
