"""Searching: the provider contract and its implementations, one file each."""

from deep_research.sources.search.base import SearchProvider, SearchRequest, SearchResult

__all__ = ["SearchProvider", "SearchRequest", "SearchResult"]
