"""A run whose model writes what nothing says, so that its claims are judged and repaired; killed at chosen commits. What
a child of a `WarmParent` does."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import kills
from prompt_reading import ReadingModel
from witness import Witness

from deep_research.models.base import ModelCall
from deep_research.research import DeepResearch
from deep_research.sources.search import SearchProvider, SearchRequest, SearchResult
from deep_research.testing.doubles import FakeClock

QUESTION = "Who built the Orm lighthouse of granite?"
TEXT = (
    "The Orm lighthouse of granite was built in 1811 by Ada Brook. The lamp of the Orm lighthouse burned whale oil."
    " The tower of the Orm lighthouse was painted white."
)
FALSE = "The Orm lighthouse was built in 1822 by Carl Moor"


class Shelf(SearchProvider):
    name = "shelf"

    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        return [SearchResult(address="orm.md", title="The Orm Light", text=TEXT)]


class Liar(ReadingModel):
    """Answers as `ReadingModel` does, but for a false sentence in the report; what it is asked is witnessed first."""

    def __init__(self, model: str, witness: str) -> None:
        super().__init__(model)
        self._witness = Witness(witness)

    def answer(self, call: ModelCall) -> str:
        said = call.messages[-1].content
        kills.note_prompt(self._witness, call, f"{self.model}:{call.label or call.system[:24]}")
        fields = (call.form.json_schema.get("properties") or {}) if call.form else {}
        if self.model == "judge":
            return _judged(said)
        if "claims" in fields:
            return json.dumps(
                {"claims": [{"claim": "C1", "text": "Upon granite Ada Brook raised it in 1811 [F1]."}]}
            )
        if call.form is None:
            return super().answer(call).replace("## Findings", f"{FALSE} [F1].\n\n## Findings")
        return super().answer(call)


def _judged(said: str) -> str:
    names = re.findall(r"^(C\d+) (.*)$", said, re.M)
    verdicts = {True: "contradicted", False: "supported"}
    given = [{"claim": n, "verdict": verdicts["1822" in t], "quotes": ["P1"]} for n, t in names]
    return json.dumps({"verdicts": given})


def research(
    database: str, witness: str, *, research_id: str | None = None, kill: Sequence[Any] | None = None
) -> dict[str, Any]:
    """Start a run, or resume one. Says what came of it."""
    store = kills.MortalStore(database, kill=kill)
    engine = DeepResearch(
        store=store,
        search=[Shelf()],
        model=Liar("writer", witness),
        models={"judge": Liar("judge", witness)},
        judge="all",
        clock=FakeClock(),
        max_iterations=1,
        max_concurrent=1,
        data_dir=str(Path(database).parent),
    )
    result = engine.resume(research_id) if research_id else engine.run(QUESTION)
    return {
        **kills.shown(result, store),
        "claims": [claim.model_dump(mode="json") for claim in result.claims],
        "repairs": [repair.model_dump(mode="json") for repair in result.repairs],
        "notices": [notice.message for notice in result.notices],
        "events": [event.name for event in engine.events(result.research_id)],
    }
