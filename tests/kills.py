"""Killing an engine before or after a chosen commit, and what must hold whatever was killed.

`warm_up` and `research` run in children of a `warm_parent.WarmParent`; the rest looks at what a killed process left.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
import re
import shutil
import signal
import socket
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warm_parent import Exit, WarmParent
from witness import Witness, WitnessedSearch

from deep_research.errors import RunBusyError
from deep_research.models.base import ModelCall
from deep_research.research import DeepResearch, ResearchResult
from deep_research.sources.search import SearchRequest, SearchResult
from deep_research.state import DeepResearchState, Record, RunStatus
from deep_research.state import events as ev
from deep_research.state.reducer import Fold
from deep_research.store.sqlite import SQLiteStore
from deep_research.store.writer import Writer
from deep_research.testing.casts import scripted_agents
from deep_research.testing.doubles import FakeClock, codeword, results

QUESTION = "Who kept the light?"
_FENCE = re.compile(r"[0-9a-f]{16}")  # another one in each prompt


class MortalStore(SQLiteStore):
    """A store whose process dies before or after its n-th commit: ``kill=(n, "before")``."""

    def __init__(self, path: Path | str, *, kill: Sequence[Any] | None = None) -> None:
        super().__init__(path)
        self.commits = 0
        self.kill = tuple(kill) if kill else None
        self._writer_class = functools.partial(_MortalWriter, self)

    def die_at(self, *moment: int | str) -> None:
        if moment == self.kill:
            os.kill(os.getpid(), signal.SIGKILL)


class _MortalWriter(Writer):
    def __init__(self, store: MortalStore, *given: Any) -> None:
        self._store = store
        super().__init__(*given)

    def commit_transaction(self, db: sqlite3.Connection) -> None:
        store = self._store
        store.die_at(store.commits + 1, "before")
        super().commit_transaction(db)
        store.commits += 1
        store.die_at(store.commits, "after")


# What a child does


def warm_up() -> None:
    """Import and build what the engine puts off until it is first used."""
    importlib.import_module("deep_research.research.runner")
    kinds: list[type[Record]] = [Record]
    for kind in kinds:
        kinds += kind.__subclasses__()
        kind.model_rebuild()
    ev.decode("run.completed", 1, ev.encode(ev.RunCompleted()))


def research(
    database: str,
    witness: str,
    *,
    research_id: str | None = None,
    kill: Sequence[Any] | None = None,
    max_concurrent: int = 1,
    gate: int | None = None,
    **script: Any,
) -> dict[str, Any]:
    """Start a run, or resume one; ``gate`` is a port to wait at before resuming. Says what came of it."""
    store = MortalStore(database, kill=kill)
    engine = DeepResearch(
        store=store,
        search=[WitnessedSearch(_uneven, witness=witness)],
        agents=scripted_agents(without=["gatherer"], before=Witness(witness).see, **script),
        clock=FakeClock(),
        max_concurrent=max_concurrent,
        max_sub_queries=20,
        max_iterations=10,
        data_dir=str(Path(database).parent),
    )
    store.open()
    if gate is not None:
        _wait_at(gate)
    try:
        result = engine.resume(research_id) if research_id else engine.run(QUESTION)
    except RunBusyError:
        return {"status": "busy", "commits": store.commits}
    return {
        **shown(result, store),
        "citations": [citation.model_dump(mode="json") for citation in result.citations],
        "findings": [finding.model_dump(mode="json") for finding in result.findings],
        "gaps": [gap.model_dump(mode="json") for gap in result.gaps],
        "sources": [source.id for source in result.sources],
    }


def shown(result: ResearchResult, store: MortalStore) -> dict[str, Any]:
    """What every child tells of its run."""
    return {
        "research_id": result.research_id,
        "status": result.status.value,
        "message": result.message,
        "report": result.report,
        "commits": store.commits,
    }


def note_prompt(witness: Witness, call: ModelCall, name: str = "") -> None:
    """Has a witness told what a model is asked, the same for the same prompt."""
    asked = hashlib.sha256(_FENCE.sub("", call.messages[-1].content).encode()).hexdigest()[:12]
    witness.note(f"{name or call.label or call.system[:24]}:{asked}", asked)


def _uneven(request: SearchRequest) -> list[SearchResult]:
    """Two pages a query, of sizes that differ, so that batches of sources differ too."""
    more = len(codeword(request.query).replace("a", "")) % 4
    return results(request.query, 2, size=300 + 250 * more)


def _wait_at(gate: int) -> None:
    with socket.create_connection(("127.0.0.1", gate), timeout=300) as connection:
        connection.recv(1)


# Whose children they are


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs in children of a ``parent``, by the function ``research`` of a ``module``, each in a folder of its own."""

    parent: WarmParent
    module: str

    def research(self, folder: Path, **more: Any) -> Exit:
        folder.mkdir(exist_ok=True)
        target = f"{self.module}:research"
        return self.parent.run(target, database=folder / "runs.db", witness=folder / "calls", **more)


@contextmanager
def runs_of(module: str) -> Iterator[Runs]:
    with WarmParent("kills", module) as parent:
        yield Runs(parent, module)


def units(folder: Path, of: str = "calls") -> list[str]:
    """What the witness of the run in a folder saw."""
    return [call.unit for call in Witness(folder / of).calls()]


# What it left


@dataclass(frozen=True, slots=True)
class Remains:
    """A database as a killed process left it, looked at through a copy: looking would tidy the original up."""

    integrity: str
    runs: tuple[str, ...]
    seqs: tuple[int, ...]
    units: tuple[str, ...]
    state: DeepResearchState | None


def remains(database: Path, copy: Path) -> Remains:
    """Of a database with at most one run; ``copy`` is a folder to work in."""
    taken = copied(database, copy)
    with closing(sqlite3.connect(taken)) as db:
        (integrity,) = db.execute("PRAGMA integrity_check").fetchone()
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'runs'").fetchone():
            return Remains(integrity, (), (), (), None)
        runs = tuple(run_id for (run_id,) in db.execute("SELECT run_id FROM runs"))
        rows = db.execute("SELECT seq, type, version, body FROM events ORDER BY seq").fetchall()
    events = [ev.decode(kind, version, body) for _, kind, version, body in rows]
    units, fold = committed(events)
    return Remains(integrity, runs, tuple(row[0] for row in rows), units, fold.snapshot() if events else None)


def copied(database: Path, folder: Path) -> Path:
    """The database with its write-ahead log in another folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for suffix in ("", "-wal"):
        part = database.with_name(database.name + suffix)
        if part.exists():
            shutil.copyfile(part, folder / part.name)
    return folder / database.name


def committed(events: Sequence[ev.Event]) -> tuple[tuple[str, ...], Fold]:
    """The units of work that a log holds, named as a witness names them, and the state it folds to."""
    state = Fold()
    return tuple(unit for _, unit in commits(events, state)), state


def commits(events: Sequence[ev.Event], state: Fold | None = None) -> list[tuple[int, str]]:
    """The units of work that a log holds, each with the number of the event that holds it; ``state`` is what the log is
    folded to on the way, a new one by default.

    Example:
        [(4, "planning:1"), (5, "search:Who kept the light? part 1")]
    """
    state, units = state if state is not None else Fold(), []
    for event in events:
        state.apply(event)
        units += [(event.seq, unit) for unit in _unit(event, state)]
    return units


def _unit(event: ev.Event, state: Fold) -> list[str]:
    match event:
        case ev.SubQueryCompleted() | ev.SubQueryFailed():
            return [f"search:{state.sub_queries[event.sub_query_id].query}"]
        case ev.SourcesAnalyzed():
            return [f"analysis:{state.iteration}:{','.join(event.source_ids)}"]
        case ev.ReportWritten() if event.metadata.partial:  # what there was when the run was stopped
            return []
        case ev.PlanMade() | ev.ReportWritten() | ev.GapsAssessed():
            return [f"{state.phase}:{state.iteration}"]
    return []


def violations(
    before: Remains,
    after: Remains,
    witness: Witness,
    undisturbed: Witness,
    *,
    calls_before: int,
    allowed: int,
) -> list[str]:
    """What went wrong with a run that was killed and resumed; empty when nothing did.

    ``calls_before`` is how many calls the witness had seen at the kill; ``allowed`` is how many calls may be
    repeated in all.
    """
    calls, wanted = witness.calls(), undisturbed.calls()
    units, known = [c.unit for c in calls], {c.unit: c.given for c in wanted}
    repeated = len(units) - len(wanted)
    state = after.state
    found = {
        f"integrity_check: {before.integrity}, {after.integrity}": before.integrity != "ok"
        or after.integrity != "ok",
        "the log was not continued": after.seqs[: len(before.seqs)] != before.seqs,
        f"the log has gaps: {after.seqs}": after.seqs != tuple(range(1, len(after.seqs) + 1)),
        f"the run is {state and state.status}": state is None or state.status is not RunStatus.COMPLETED,
        f"committed units were called again: {set(before.units) & set(units[calls_before:])}": bool(
            set(before.units) & set(units[calls_before:])
        ),
        f"units were committed twice: {after.units}": len(set(after.units)) != len(after.units),
        f"{repeated} calls were repeated": not 0 <= repeated <= allowed,
        "other work was done": set(units) != set(known),
        f"agents were told other things: {[c for c in calls if known.get(c.unit) != c.given]}": any(
            known.get(c.unit) != c.given for c in calls
        ),
    }
    return [what for what, wrong in found.items() if wrong]
