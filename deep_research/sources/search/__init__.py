"""Searching: the provider contract and its implementations, one file each."""

from deep_research.sources.search.base import (
    Scholarly,
    SearchFilters,
    SearchProvider,
    SearchRequest,
    SearchResult,
    SourceType,
    Trouble,
    search_failure,
)

__all__ = [
    "Scholarly",
    "SearchFilters",
    "SearchProvider",
    "SearchRequest",
    "SearchResult",
    "SourceType",
    "Trouble",
    "search_failure",
]
