"""The searches that an agent proposes, and what of them may leave: the one place that all queries of a model pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from deep_research.evidence.disclosure import askable
from deep_research.logs import get_log
from deep_research.state import Record

log = get_log("asking")

Change = Callable[[str], str]


class Proposal(Record):
    """An answer that may propose searches. ``notes`` are what a reader of the report should know."""

    notes: tuple[str, ...] = ()

    def with_queries(self, change: Change) -> Self:
        """The same with each query changed, and without those that become empty."""
        raise NotImplementedError


class Asked:
    """What may be asked of the queries of one answer. ``kept`` and ``dropped`` count them."""

    def __init__(self, question: str, instructions: str | None) -> None:
        self._question = question
        self._instructions = instructions
        self.kept = self.dropped = 0

    def __call__(self, query: str) -> str:
        text = askable(query, self._question, self._instructions)
        self.kept += bool(text)
        self.dropped += bool(query.strip()) and not text
        return text

    def note(self, role: str) -> tuple[str, ...]:
        """What is told of those that were dropped."""
        if not self.dropped:
            return ()
        log.warning("queries_dropped", agent=role, queries=self.dropped)
        many = "A search" if self.dropped == 1 else f"{self.dropped} searches"
        were = "was" if self.dropped == 1 else "were"
        return (
            f"{many} that the {role} proposed {were} not made: nothing but addresses or instructions was in it.",
        )
