"""The caller's filters, applied to results whatever the service made of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from deep_research.provenance.sites import host_of
from deep_research.sources.search.base import SearchFilters, SearchResult
from deep_research.state import SourceKind


def fits(result: SearchResult, filters: SearchFilters) -> bool:
    """Whether nothing that is known of a result speaks against it. Documents of the user's own have no domain. A page
    that is still to be read may say its day itself: most services tell none."""
    web = result.kind is SourceKind.WEB
    undated = web and result.text is not None
    return in_time(result.published, filters, web=undated) and (
        not web or in_domains(result.address, filters)
    )


def in_time(published: date | None, filters: SearchFilters, *, web: bool = True) -> bool:
    if published is None:
        return not (web and filters.as_of)
    if filters.since and published < filters.since:
        return False
    return filters.latest is None or published <= filters.latest


def in_domains(url: str, filters: SearchFilters) -> bool:
    host = host_of(url)
    if filters.domains and not _within(host, filters.domains):
        return False
    return not _within(host, filters.not_domains)


def _within(host: str, domains: Iterable[str]) -> bool:
    return any(host == domain or host.endswith(f".{domain}") for domain in map(_plain, domains))


def _plain(domain: str) -> str:
    """A domain as people write it: with a scheme, a ``www.``, a ``*.`` or a slash."""
    plain = domain.strip().lower().partition("://")[2] or domain.strip().lower()
    return plain.partition("/")[0].removeprefix("*.").removeprefix("www.").strip(".")
