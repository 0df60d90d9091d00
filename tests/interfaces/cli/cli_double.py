"""The command line over a search that needs no network: ``python cli_double.py BEHAVIOUR ARGUMENT…``.

Every search is noted in the file that WITNESS names, before it is answered.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from deep_research.interfaces.cli.main import main
from deep_research.research import DeepResearch
from deep_research.sources.search import SearchProvider, SearchRequest, SearchResult
from deep_research.state import SourceQuality

QUESTION = "Who built the Bell Rock lighthouse? How tall is its tower?"
PAGES = {
    "bell-rock": "Robert Stevenson built the Bell Rock lighthouse. Its tower is 35 metres tall.",
    "tower": "The tower of the Bell Rock lighthouse is 35 metres tall. It was lit in 1811.",
    "arbroath": "The Bell Rock lies 18 km from Arbroath. The lighthouse was built from 1807 to 1810.",
}
RED = "\x1b[31m"


@dataclass(frozen=True)
class Done:
    """A finished command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        return json.loads(self.err)["error"]


class Double(SearchProvider):
    """Answers from `PAGES`; ``wait`` is asked before each answer with the number of searches so far."""

    name = "double"

    def __init__(
        self,
        wait: Callable[[int], float] = lambda _: 0.0,
        *,
        empty: bool = False,
        failing: Exception | None = None,
    ) -> None:
        self._failing = failing
        self._wait = wait
        self._empty = empty
        self.queries: list[str] = []

    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        self.queries.append(request.query)
        if witness := os.environ.get("WITNESS"):
            with Path(witness).open("a", encoding="utf-8") as file:
                file.write(f"{request.query}\n")
        await asyncio.sleep(self._wait(len(self.queries)))
        if self._failing:
            raise self._failing
        if self._empty:
            return []
        return [
            SearchResult(
                address=f"https://example.org/{name}",
                title=f"{RED}About {name}, 灯台",
                text=text,
                relevance=0.9,
                quality=SourceQuality.HIGH,
            )
            for name, text in PAGES.items()
        ][: request.limit]


BEHAVIOURS: dict[str, Callable[[], SearchProvider]] = {
    "quick": Double,
    "second-hangs": lambda: Double(lambda number: 600.0 if number > 1 else 0.0),
    "steady": lambda: Double(lambda _: 0.3),
}

if __name__ == "__main__":
    double = BEHAVIOURS[sys.argv[1]]()
    sys.exit(main(sys.argv[2:], engine=partial(DeepResearch, search=[double])))
