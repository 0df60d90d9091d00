"""Makes the databases of ``tests/data/golden``, and beside each what stands in it:

    python tests/golden/make_databases.py

Before 0.1.0 they are made anew with every change of a shape. From 0.1.0 on a database is made once by each release, and
never again: what stands in it is what people have on their disks. The sample corpus beside the package is what the runs
without a model search.
"""

from __future__ import annotations

import gzip
import json
import multiprocessing
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import deep_research
from deep_research import Budget, DeepResearch, ResearchResult, SupervisorHooks
from deep_research.errors import SearchError, StopResearch
from deep_research.models.base import ModelCall
from deep_research.sources.search import SearchRequest, SearchResult
from deep_research.state import DeepResearchPhase, SourceQuality, SupervisorAction
from deep_research.supervisor.hooks import Verdict
from deep_research.testing import FakeClock, ScriptedSearch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from kills import MortalStore
from parking import parking_hooks
from prompt_reading import ReadingModel

DATABASES = Path(__file__).resolve().parents[1] / "data" / "golden"
CORPUS = Path(deep_research.__file__).resolve().parents[1] / "docs" / "examples" / "corpus"
TALL = "How tall is the Cape Hatteras lighthouse?"
MANY = "Who designed the Bell Rock lighthouse, what did it cost, and who painted it in 1931?"
ELSEWHERE = json.dumps({"host": "elsewhere/0/0", "pid": 4711, "started": "1", "token": "golden"})
KILLS = 20  # commits, after one of which a process dies
PROFILE = '["reading:m"]\ncontext = 60000\noutput = 8000\nprice = { input = 1.0, output = 4.0 }\n'
COASTS = ("northern", "eastern", "southern")


class Gaping(ReadingModel):
    """Reads like `ReadingModel`, and names a gap the first time it reads, so that there is something to refine."""

    def answer(self, call: ModelCall) -> str:
        text = super().answer(call)
        fields = call.form.json_schema.get("properties", {}) if call.form else {}
        first = "earlier gaps" not in call.messages[-1].content.lower()
        if "quality_updates" in fields and first:
            gap = {
                "description": "Who kept the towers?",
                "suggested_queries": ["further keepers of the towers"],
            }
            return json.dumps({**json.loads(text), "gaps": [gap]})
        return text


class Babbling(ReadingModel):
    """Talks where data is wanted."""

    service = "babbling"

    def answer(self, call: ModelCall) -> str:
        return "I would rather not."


def found(request: SearchRequest) -> list[SearchResult]:
    coasts = COASTS[2:] if "further" in request.query else COASTS[:2]
    return [
        SearchResult(
            address=f"https://example.org/{coast}",
            title=f"The {coast} coast",
            text="".join(
                f"The towers of the {coast} coast were told of in the year 1{n}{k:02}. " for k in range(40)
            ),
            quality=SourceQuality.HIGH,
        )
        for n, coast in enumerate(coasts, COASTS.index(coasts[0]))
    ]


def partly(request: SearchRequest) -> list[SearchResult]:
    if "figures" in request.query:
        raise SearchError("The service gave an answer that is none.", trouble="malformed")
    return found(request)


def advising() -> SupervisorHooks:
    """One hook advises, one fails, one asks for a phase again."""
    asked: list[str] = []

    def gate(state: Any, phase: Any, validation: Any) -> Verdict | None:
        if phase is DeepResearchPhase.SYNTHESIS and not asked:
            asked.append("once")
            return Verdict(action=SupervisorAction.RETRY, rationale="Once more.", guidance="Say it in feet.")
        return None

    def failing(state: Any, phase: Any) -> None:
        raise ValueError("this hook is broken")

    return SupervisorHooks(
        think_pause=lambda state, prompt: "Mind the old surveys.", gate=gate, after_phase=failing
    )


def stopping(phase: DeepResearchPhase) -> SupervisorHooks:
    def stop(state: Any, at: Any) -> None:
        if at is phase:
            raise StopResearch("Enough.")

    return SupervisorHooks(before_phase=stop)


@dataclass
class Making:
    """A folder with one database, and the label of each run in it."""

    folder: Path
    with_model: bool
    labels: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def engine(
        self, hooks: SupervisorHooks | None = None, *, kill: Sequence[Any] | None = None, **more: Any
    ) -> Iterator[DeepResearch]:
        store = MortalStore(self.folder / "runs.db", kill=kill)
        common = {
            "store": store,
            "hooks": hooks,
            "clock": FakeClock(),
            "data_dir": self.folder,
            "max_concurrent": 1,
        }
        profiles = self.folder / "models.toml"
        profiles.write_text(PROFILE, encoding="utf-8")
        own: dict[str, Any] = {"corpus": CORPUS}
        if self.with_model:
            own = {"model": Gaping(), "search": [ScriptedSearch(found)], "model_file": profiles}
        with closing(store), DeepResearch(**{**common, **own, **more}) as research:
            yield research

    def make(
        self,
        label: str,
        question: str,
        hooks: SupervisorHooks | None = None,
        answer: str | None = None,
        **more: Any,
    ) -> None:
        """``answer`` is given at the one pause of the run."""
        run_options = {
            name: more.pop(name) for name in ("budget", "system_prompt", "user_id") if name in more
        }
        with self.engine(hooks, **more) as research:
            result = research.run(question, **run_options)
            if answer is not None:
                result = research.resume(result.research_id, answer=answer)
        self.labels[result.research_id] = label
        print(f"{label:32} {result.status} {result.reason or ''} {result.message or ''}"[:150])

    def interrupt(self, question: str, after: int) -> None:
        child = multiprocessing.get_context("spawn").Process(
            target=_killed, args=(str(self.folder), self.with_model, question, after)
        )
        child.start()
        child.join()
        with closing(sqlite3.connect(self.folder / "runs.db")) as db:
            for run_id, phase in db.execute("SELECT run_id, phase FROM runs").fetchall():
                if run_id not in self.labels:
                    self.labels[run_id] = f"interrupted after commit {after}, {phase}"
                    print(self.labels[run_id], child.exitcode)


def _killed(folder: str, with_model: bool, question: str, after: int) -> None:
    with Making(Path(folder), with_model).engine(
        kill=(after, "after"), max_sub_queries=3, max_iterations=2
    ) as research:
        research.run(question)


def make(making: Making) -> None:
    question = (
        "In which year were the lighthouse towers of the northern coast told of?"
        if making.with_model
        else MANY
    )
    making.make("completed", question if making.with_model else TALL)
    making.make(
        "completed in two rounds", question, max_iterations=2, user_id="somebody", system_prompt="Be exact."
    )
    making.make("completed, advised", question, advising(), max_iterations=1)
    for phase in DeepResearchPhase:
        making.make(
            f"parked after {phase}", question, parking_hooks("think_pause", phases=(phase,)), max_iterations=2
        )
    analysis = parking_hooks("think_pause", phases=(DeepResearchPhase.ANALYSIS,))
    making.make("completed, answered", question, analysis, answer="Say who paid for it.", max_iterations=1)
    making.make("aborted at SYNTHESIS, partial", question, stopping(DeepResearchPhase.SYNTHESIS))
    making.make("aborted at GATHERING", question, stopping(DeepResearchPhase.GATHERING))
    making.make("completed within a cap", question, budget=Budget(max_searches=1))
    if making.with_model:
        making.make("completed after a fallback", question, model=[Babbling("b"), Gaping()])
        making.make("ended, the model being of no use", question, model=Babbling("b"))
        making.make("completed without one search", question, search=[ScriptedSearch(partly)])
        making.make("completed without money", question, budget=Budget(max_usd=0.000001))
    else:
        making.make("aborted without evidence", "What is the melting point of tungsten carbide?")
    for after in range(2, KILLS, 2):
        making.interrupt(question, after)


def seen(result: ResearchResult, label: str, last_seq: int) -> dict[str, Any]:
    """What everybody may rely on of a run, whatever version reads it."""
    parking = result.state.parking
    return {
        "label": label,
        "query": result.query,
        "status": result.status.value,
        "reason": result.reason.value if result.reason else None,
        "last_seq": last_seq,
        "waiting_for": parking.waiting_for if parking else None,
        "report": result.report,
        "sources": [[s.id, s.title, s.url, s.quality.value, s.content_hash] for s in result.sources],
        "findings": [[f.id, f.content, list(f.source_ids)] for f in result.findings],
        "gaps": [[g.id, g.description, g.addressed] for g in result.gaps],
        "citations": [
            [c.number, c.source_id, c.quote, c.start, c.end, c.content_hash] for c in result.citations
        ],
        "tokens": [result.usage.input_tokens, result.usage.output_tokens],
        "searches": result.usage.searches,
        "iterations": result.iterations,
    }


def expected(making: Making) -> list[dict[str, Any]]:
    with making.engine() as research:
        return [
            seen(research.result(run_id), label, research.events(run_id)[-1].seq)
            for run_id, label in sorted(making.labels.items(), key=lambda item: item[1])
        ]


def disown(database: Path) -> None:
    """What names this machine goes; a run that was interrupted says a process that is long gone."""
    with closing(sqlite3.connect(database, isolation_level=None)) as db:
        db.execute("UPDATE runs SET owner = ?, lease_until = 0 WHERE owner IS NOT NULL", (ELSEWHERE,))
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute("VACUUM")


def main() -> None:
    kinds: dict[str, bool] = {"keyless": False, "model": True}
    for kind, with_model in kinds.items():
        with tempfile.TemporaryDirectory() as folder:
            making = Making(Path(folder), with_model)
            make(making)
            database = Path(folder) / "runs.db"
            disown(database)
            runs = dict(
                zip(sorted(making.labels, key=making.labels.__getitem__), expected(making), strict=True)
            )
            disown(database)
            with (
                database.open("rb") as raw,
                gzip.GzipFile(DATABASES / f"{kind}.db.gz", "wb", mtime=0) as packed,
            ):
                shutil.copyfileobj(raw, packed)
            (DATABASES / f"{kind}.json").write_text(
                json.dumps(runs, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
            )


if __name__ == "__main__":
    main()
