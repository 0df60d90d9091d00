"""A run whose long report is written in sections, gone over once more, criticised and revised; killed at chosen commits.
What a child of a `WarmParent` does."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import kills
from prompt_reading import ReadingModel, blocks, findings_of
from witness import Witness

from deep_research.models.base import ModelCall, OnText, Reply
from deep_research.research import DeepResearch
from deep_research.sources.search import SearchProvider, SearchRequest, SearchResult
from deep_research.testing.doubles import FakeClock

QUESTION = "Who built the Orm lighthouse of granite?"
WORDS = 2_000  # more than are written at once
SAID = (
    "The Orm lighthouse of granite was built in 1811 by Ada Brook.",
    "The lamp of the Orm lighthouse burned whale oil for many years.",
    "The tower of the Orm lighthouse was painted white in summer.",
    "The reef under the Orm lighthouse is of granite and basalt.",
    "The keepers of the Orm lighthouse lived on the reef in winter.",
    "The bell of the Orm lighthouse was cast in Lisbon for the tower.",
)
# Texts of two sentences each, of which the reader makes a finding each.
SHELF = [" ".join(SAID[n : n + 2]) for n in range(0, len(SAID), 2)]
REMARK = {
    "kind": "unclear",
    "sentence": "",
    "heading": "The lamp",
    "advice": "Say what the lamp burned before all else.",
}
Sleep = Callable[[float], Awaitable[None]]


class Shelf(SearchProvider):
    name = "shelf"

    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        return [
            SearchResult(
                address=f"orm{n}.md",
                title=f"The Orm Light, part {n}",
                text=text,
                published=date(2019, 3, n + 1),
            )
            for n, text in enumerate(SHELF)
        ]


class Reviser(ReadingModel):
    """Writes a report of two sections, criticises and revises it; ``seconds`` is how long an answer takes, ``critical``
    whether it has something to remark. What it is asked is witnessed first, where there is a ``witness``; ``kinds`` are
    what it was asked for, in turn."""

    def __init__(
        self, witness: str = "", *, critical: bool = True, seconds: float = 0.0, sleep: Sleep | None = None
    ) -> None:
        super().__init__("writer")
        self._witness = Witness(witness) if witness else None
        self._critical = critical
        self._wait = (seconds, sleep)
        self.kinds: list[str] = []

    async def send(self, call: ModelCall, on_text: OnText | None = None) -> Reply:
        seconds, sleep = self._wait
        if sleep is not None:
            await sleep(seconds)
        return await super().send(call, on_text)

    def answer(self, call: ModelCall) -> str:
        said = call.messages[-1].content
        if self._witness is not None:
            kills.note_prompt(self._witness, call)
        fields = (call.form.json_schema.get("properties") or {}) if call.form else {}
        self.kinds.append(next(iter(fields), call.label))
        if "sections" in fields:
            names = list(findings_of(said))
            half = len(names) // 2
            heads = (("The lamp", names[:half]), ("The tower", names[half:]))
            sections = [{"heading": h, "purpose": f"{h}.", "findings": found} for h, found in heads]
            return json.dumps({"title": "The Orm", "sections": sections})
        if "answer" in fields:
            return json.dumps({"answer": "Ada Brook built it.", "open": "What it cost is not told."})
        if "gap_analysis" in fields:
            told = json.loads(super().answer(call))
            return json.dumps(told | {"remarks": [REMARK] if self._critical else []})
        if call.label in ("last pass", "revision"):
            return _turned(blocks(said)["report"])
        return super().answer(call)


def _turned(report: str) -> str:
    """The lamp's section with its paragraphs in the other order."""
    body = report.partition("## The lamp\n\n")[2].partition("\n\n## ")[0].split("\n\n")
    return "\n\n".join(["## The lamp", *reversed(body)])


def research(
    database: str, witness: str, *, research_id: str | None = None, kill: Sequence[Any] | None = None
) -> dict[str, Any]:
    """Start a run, or resume one. Says what came of it."""
    store = kills.MortalStore(database, kill=kill)
    engine = DeepResearch(
        store=store,
        search=[Shelf()],
        model=Reviser(witness),
        judge="off",
        clock=FakeClock(),
        report_words=WORDS,
        max_iterations=1,
        max_concurrent=1,
        data_dir=str(Path(database).parent),
    )
    result = engine.resume(research_id) if research_id else engine.run(QUESTION)
    return {
        **kills.shown(result, store),
        "claims": [claim.model_dump(mode="json") for claim in result.claims],
        "notices": [notice.message for notice in result.notices],
        "events": [event.name for event in engine.events(result.research_id)],
    }
