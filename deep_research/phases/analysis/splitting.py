"""The sentences of whole sources, which several ways to answer look through."""

from __future__ import annotations

from deep_research.evidence.passages import sentences
from deep_research.phases.analysis.handoff import SourceText
from deep_research.state import Span


class Split:
    """Splits each source once, when the first asks for it. It lives as long as one analysis."""

    def __init__(self) -> None:
        self._told: dict[str, list[Span]] = {}

    def __call__(self, source: SourceText) -> list[Span]:
        if source.id not in self._told:
            self._told[source.id] = sentences(source.content)
        return self._told[source.id]
