"""Fetching pages of the open web without being led anywhere else."""

from deep_research.sources.fetch.client import Fetched, Fetcher, FetchLimits
from deep_research.sources.fetch.guard import Refused, Target, is_public, target_of

__all__ = ["FetchLimits", "Fetched", "Fetcher", "Refused", "Target", "is_public", "target_of"]
