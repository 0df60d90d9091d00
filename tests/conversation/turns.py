"""Turns of a conversation in processes that die: what a child of a `warm_parent.WarmParent` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kills import MortalStore, warm_up

from deep_research import DeepResearch
from deep_research.errors import RunNotFoundError

__all__ = ["ask", "warm_up"]

CORPUS = Path(__file__).resolve().parents[2] / "docs" / "examples" / "corpus"


def ask(database: str, question: str | None = None, *, kill: list[Any] | None = None) -> dict[str, Any]:
    """Ask a question in the session ``towers``, or go on with its last run; and show the session."""
    store = MortalStore(database, kill=kill)
    store.open()
    settings = {"data_dir": str(Path(database).parent), "local_only": True, "corpus": CORPUS}
    with DeepResearch(store=store, **settings) as engine:  # type: ignore[arg-type]
        if question is not None:
            engine.session("towers").ask(question, remember=True)
        elif engine.status(last := engine.list(session="towers")[0].research_id).status != "completed":
            engine.resume(last)
        return {"commits": store.commits, "turns": shown(engine), "memory": remembered(engine)}


def remembered(engine: DeepResearch) -> list[tuple[str, str, str]]:
    return sorted((entry.kind.value, entry.text, entry.words) for entry in engine.memory_list())


def shown(engine: DeepResearch) -> list[Any]:
    """The turns of the session without what two runs of one question do not share."""
    try:
        turns = engine.session_turns("towers")
    except RunNotFoundError:
        return []
    return [turn.model_dump(mode="json", exclude={"research_id", "at"}) for turn in turns]
