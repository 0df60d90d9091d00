"""Members of a run to verify, from a pack or from a store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from deep_research.state import Record


class Failure(Record):
    """One thing that is not as it should be: ``place`` is a member of the pack, or a claim, or a quote."""

    place: str
    what: str

    @property
    def line(self) -> str:
        return f"{self.place}: {self.what}"


class Evidence(ABC):
    """``research_id`` is the run's; ``checker`` as the manifest says it."""

    research_id: str
    checker: str

    @abstractmethod
    def names(self) -> frozenset[str]:
        """The members, without the manifest."""

    @abstractmethod
    def member(self, name: str) -> bytes:
        """Raises `DeepResearchError` for one that is not there, or not as the manifest has it."""

    def faults(self) -> Iterator[Failure]:
        """What is wrong with the members as files."""
        yield from ()
