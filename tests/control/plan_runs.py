"""Runs that wait for the word on their plan, plans that they have, and edits of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from deep_research import DeepResearch
from deep_research.phases.planning.handoff import PlannedQuery, PlannerOutput
from deep_research.store import MemoryStore
from deep_research.testing import ScriptedSearch, scripted_agents

QUESTION = "What is known of the keepers of the light?"
SUBJECTS = (
    "keepers of the Bell Rock light",
    "lamps of the Skerryvore tower",
    "granite of the Orm quarry",
    "oil of the northern whalers",
    "boats of the Arbroath harbour",
    "wages of the signal masters",
    "storms of the winter of 1811",
    "Straße und Leuchtturm von Borkum",
    "灯台 の 守り人 の 記録",
    "bells of the fog stations",
)
PLANS = tuple(
    tuple(f"{subject} {n}" for n, subject in enumerate(SUBJECTS[first:] + SUBJECTS[:first]))[: 2 + first % 5]
    for first in range(10)
)


def engine(plan: Sequence[str], search: ScriptedSearch, **fields: Any) -> DeepResearch:
    """One whose planner plans what it is told, and that searches one after the other."""

    def planner(handoff: Any) -> PlannerOutput:
        queries = tuple(PlannedQuery(query=query, rationale=f"Why {query}.") for query in plan)
        return PlannerOutput(research_brief="What the keepers did.", sub_queries=queries)

    given = {"store": MemoryStore(), "max_concurrent": 1, "max_iterations": 1, "max_rewordings": 0, **fields}
    cast = scripted_agents(without=["gatherer"]) | {"planner": planner}
    return DeepResearch(agents=cast, search=[search], **given)


class Edits:
    """A generator of edits, which knows what a plan becomes by them without the code that is tested."""

    def __init__(self, seed: int, plan: Sequence[dict[str, Any]], most: int) -> None:
        self._chance = random.Random(seed)
        self._most = most
        self.lines: list[dict[str, Any]] = [{"id": each["id"]} for each in plan]
        self.queries: list[str] = [each["query"] for each in plan]
        self.of: list[int | None] = list(range(len(plan)))
        for number in range(self._chance.randrange(1, 7)):
            getattr(self, self._chance.choice(("drop", "add", "reword", "move", "back")))(number)

    def drop(self, _: int) -> None:
        if len(self.lines) > 1:
            place = self._chance.randrange(len(self.lines))
            for rows in (self.lines, self.queries, self.of):
                del rows[place]

    def add(self, number: int) -> None:
        if len(self.lines) < self._most:
            place = self._chance.randrange(len(self.lines) + 1)
            query = f"more on {self._chance.choice(SUBJECTS)} {number}{self._chance.randrange(10**6)}"
            self.lines.insert(place, {"query": f"  {query} ", "priority": self._chance.randrange(1, 4)})
            self.queries.insert(place, query)
            self.of.insert(place, None)

    def reword(self, number: int) -> None:
        place = self._chance.randrange(len(self.lines))
        query = f"in other words {self._chance.choice(SUBJECTS)} {number}{self._chance.randrange(10**6)}"
        self.lines[place] = {**self.lines[place], "query": query}
        self.queries[place] = query

    def move(self, _: int) -> None:
        start, end = (self._chance.randrange(len(self.lines)) for _ in range(2))
        for rows in (self.lines, self.queries, self.of):
            rows.insert(end, rows.pop(start))

    def back(self, _: int) -> None:
        for rows in (self.lines, self.queries, self.of):
            rows.reverse()
