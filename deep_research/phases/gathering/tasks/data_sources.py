"""What tasks may search, by name: the run's documents, its services of the web, and sources of the caller's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deep_research.errors import SearchError
from deep_research.sources.search import SearchRequest
from deep_research.sources.search.combined_search import CORPUS, WEB, Found, SearchPool
from deep_research.sources.search.fusion import fused
from deep_research.sources.search.policy import Service


@dataclass(frozen=True, slots=True)
class DataSources:
    """``pool`` is what a run searches; ``own`` are those that were handed over, by name."""

    pool: SearchPool = field(default_factory=SearchPool)
    own: Mapping[str, Service] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """All there are, the documents first."""
        pool = ([CORPUS] if self.pool.corpus else []) + ([WEB] if self.pool.services else [])
        return (*pool, *self.own)

    @property
    def corpus_is_there(self) -> bool:
        return self.pool.corpus is not None

    async def search(self, request: SearchRequest, names: Sequence[str], *, spare: int = 1) -> Found:
        """Of the named ones, as one list. Raises `SearchError` where none of them answers."""
        lists: list[Found] = []
        problems: list[str] = []
        for pool in self._pools(names):
            try:
                lists.append(await pool.search(request, spare=spare))
            except SearchError as error:
                problems.append(error.problem)
        if not lists:
            raise SearchError(
                " ".join(problems) or "There is nothing that may be searched.",
                hint="Search another data source, or end the task with what there is.",
            )
        notes = tuple(note for found in lists for note in found.notes)
        failures = (*problems, *(failure for found in lists for failure in found.failures))
        if len(lists) == 1:
            return Found(lists[0].results, tuple(dict.fromkeys(failures)), notes)
        results = fused([found.results for found in lists])
        return Found(tuple(results), tuple(dict.fromkeys(failures)), tuple(dict.fromkeys(notes)))

    def _pools(self, names: Sequence[str]) -> list[SearchPool]:
        """The run's own pool with those lanes of it that are named, then one for each source that was handed over."""
        pools = []
        if pool := self.limited(names):
            pools.append(pool)
        pools += [SearchPool(services=(self.own[name],)) for name in names if name in self.own]
        return pools

    def limited(self, names: Sequence[str]) -> SearchPool | None:
        """The run's pool with what is named of it; None where nothing is."""
        pool = self.pool.limited(names)
        return pool if pool.corpus or pool.services else None
