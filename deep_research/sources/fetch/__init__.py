"""Fetching pages of the open web without being led anywhere else."""

from deep_research.sources.fetch.cache import NoPages, SavedPage, SavedPages
from deep_research.sources.fetch.client import Fetched, Fetcher, FetchLimits
from deep_research.sources.fetch.guard import Refused, Target, is_public, target_of
from deep_research.sources.fetch.hosts import Hosts
from deep_research.sources.fetch.pages import Extractor, WebPage, WebPages
from deep_research.sources.fetch.robots import Robots

__all__ = [
    "Extractor",
    "FetchLimits",
    "Fetched",
    "Fetcher",
    "Hosts",
    "NoPages",
    "Refused",
    "Robots",
    "SavedPage",
    "SavedPages",
    "Target",
    "WebPage",
    "WebPages",
    "is_public",
    "target_of",
]
