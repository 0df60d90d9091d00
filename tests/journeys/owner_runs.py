"""A run whose owner has a say, killed at a chosen commit: what a child of a `WarmParent` does."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import kills
from prompt_reading import ReadingModel

from deep_research.interfaces.cli.main import main
from deep_research.research import DeepResearch

QUESTION = "Who built the tower of the Orm lighthouse, and what were its keepers, lens and bell?"
DOCUMENTS = {
    "tower.md": "# Tower\n\nThe tower of the Orm lighthouse was built in 1811 by Ada Brook of Hull.\n",
    "keepers.md": "# Keepers\n\nThe keepers of the Orm lighthouse were paid forty pounds a year until 1850.\n",
    "lens.md": "# Lens\n\nThe zanzibar lens of the Orm lighthouse was ground in Paris and lit in 1843.\n",
    "bell.md": "# Bell\n\nThe quillon bell of the Orm lighthouse was rung in fog every thirty seconds.\n",
}


def research(
    home: str, *, by_model: bool, research_id: str | None = None, kill: Sequence[Any] | None = None
) -> dict[str, Any]:
    """Start the run, which waits for the word on its plan, or go on with it."""
    corpus = Path(home) / "corpus"
    corpus.mkdir(exist_ok=True)
    for name, text in DOCUMENTS.items():
        (corpus / name).write_text(text, encoding="utf-8")
    store = kills.MortalStore(Path(home) / "runs.db", kill=kill)
    made = DeepResearch(
        store=store,
        corpus=corpus,
        model=ReadingModel() if by_model else None,
        data_dir=home,
        max_iterations=1,
        approve_plan=True,
        max_concurrent=1,
        reading={"sections": False},
    )
    with made:
        result = made.resume(research_id) if research_id else made.run(QUESTION)
        events = [event.name for event in made.events(result.research_id)]
    return {
        **kills.shown(result, store),
        "events": events,
        "searched": [s.query for s in result.state.sub_queries if s.status == "completed"],
    }


def prompt(argv: Sequence[str]) -> tuple[int, str, str]:
    """A command at the prompt: its exit code, and what it prints."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = main(list(argv))
    return code, out.getvalue(), err.getvalue()
