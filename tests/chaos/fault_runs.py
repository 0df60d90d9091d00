"""Whole runs while one agent's model service has a fault: how they end, what is kept, what was asked and paid. The
server's log is the truth."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from prompt_reading import blocks, reading
from servers import Fault, ModelServer, Served
from servers.fault_expectations import SLOW_KINDS

from deep_research import DeepResearch, ResearchResult, RunStatus
from deep_research.limits import Gate, Gates
from deep_research.models.model_pool import Shared
from deep_research.models.openai_chat import OpenAIChat
from deep_research.models.profiles import Price, Profile
from deep_research.models.retry import MAX_REQUESTS, Persistence
from deep_research.models.structured import Abilities
from deep_research.sources.search import SearchRequest, SearchResult
from deep_research.state import AbortReason, SourceQuality
from deep_research.state.events import ReportWritten
from deep_research.testing import ScriptedSearch

QUESTION = "In which year were the lighthouse towers of the northern coast told of?"
ROLES = {
    "planner": "You plan research.",
    "analyzer": "You read sources for a piece of research",
    "synthesizer": "You write the report of a piece of research",
    "refiner": "You judge what is missing in a piece of research",
    "supervisor": "You supervise a piece of research",
}
MERGER = "Several readers have read different sources"
# The field by which `reading` knows what is asked for, also where a request says so in its text only.
_FIELDS = {
    "planner": "sub_queries",
    "analyzer": "quality_updates",
    "refiner": "gap_analysis",
    "supervisor": "quality_assessment",
}
CONFIG = frozenset(("401", "402", "400", "413"))
SHORT = 0.5  # seconds of an operation, where the fault is that it takes too long
_COASTS = ("northern", "eastern", "southern")
_MARK = re.compile("[0-9a-f]{16}")
_ALIEN = re.compile(
    r"Bad Gateway|Certainly!|unexpected|Error code|rate limit|cannot help|status \d", re.IGNORECASE
)
_NOTES = re.compile(r"\n## (?:Limits of this research|Gaps and limits)\n.*?(?=\n## |\Z)", re.DOTALL)


def found(request: SearchRequest) -> list[SearchResult]:
    """Long pages, one to a reading: two at first, another one in the second round."""
    coasts = _COASTS[2:] if "further" in request.query else _COASTS[:2]
    return [
        SearchResult(
            address=f"https://example.org/{coast}",
            title=f"The {coast} coast",
            text="".join(
                f"The lighthouse towers of the {coast} coast were told of in the year 1{n}{k:02}. "
                for k in range(60)
            ),
            quality=SourceQuality.HIGH,
        )
        for n, coast in enumerate(coasts, _COASTS.index(coasts[0]))
    ]


def answer(served: Served) -> str:
    """What a good model says to any of our agents, in whatever form it is asked."""
    role = role_of(served)
    prompt = _prompt(served)
    if role == "synthesizer":
        return reading(prompt, None)
    schema = {"properties": {_FIELDS.get(role, "same"): {}}}
    data = json.loads(reading(prompt, schema))
    if role == "analyzer":
        coast = min(re.findall(r"The (\w+) coast$", prompt, re.M))  # one to a reading, but for tight caps
        data["gaps"] = [_gap(coast)]
    if role == "merger" and "iteration 2" not in prompt and "keepers" not in prompt:
        data["gaps"] = [_gap(coast) for coast in sorted(set(re.findall(r"The (\w+) coast", prompt)))[:2]]
    return json.dumps(data)


def _gap(coast: str) -> dict[str, Any]:
    return {"description": f"Who kept the {coast} towers?", "suggested_queries": [f"{coast} keepers"]}


def role_of(served: Served) -> str:
    return next((role for role, words in ROLES.items() if words in served.text), "merger")


def _prompt(served: Served) -> str:
    """What the agent said: the first message after the instructions."""
    return next(message["content"] for message in served.messages if message["role"] == "user")


def unit_of(served: Served) -> str:
    """What a request is a part of: its role and its material, whatever its mark and form."""
    prompt = _prompt(served)
    phase = re.search(r"^Phase: .*$", prompt, re.M)
    return _MARK.sub("", json.dumps([role_of(served), phase.group() if phase else "", blocks(prompt)]))


class _Impatient(Gates):
    """Gates that nobody is kept waiting at."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: dict[str, Gate] = {}

    def gate(self, name: str, *, at_once: int, per_minute: float | None = None) -> Gate:
        return self._kept.setdefault(name, _Open(at_once))


class _Open(Gate):
    def pause(self, seconds: float) -> None:
        pass


def engine(
    server: ModelServer, *, seconds: float = 60.0, role: str = "", price: Price | None = None, **more: Any
) -> DeepResearch:
    """A new one, that knows nothing of the model yet and does not sleep. ``price`` is that of the model, ``more`` goes to
    the engine as it is."""
    provider = OpenAIChat("model-1", base_url=f"{server.base_url}/v1")
    research = DeepResearch(
        model=provider,
        search=[ScriptedSearch(found)],
        store="memory",
        max_iterations=2,
        max_sub_queries=2,
        reflection="always" if role == "supervisor" else "never",
        operation_timeout=seconds,
        # Of long sources all is read, in several calls; faults of the judge are tried with the claims of a draft.
        **{"reading": {"sections": False}, "judge": "off"} | more,
    )
    pool = research._parts.models.pool
    pool.common = Shared(gates=_Impatient(), abilities=Abilities())
    pool.profiles = {provider.name: Profile(forms=("schema", "tool"), price=price)}
    pool.persistence = Persistence(sleep=_no_sleep, chance=lambda: 0.0)
    return research


async def _no_sleep(_seconds: float) -> None:
    await asyncio.sleep(0)


@dataclass(frozen=True, slots=True)
class Cell:
    """``outcome``: model, extractive, parked or config; ``requests`` of the struck role until then."""

    kind: str
    role: str
    forever: bool
    outcome: str
    requests: int
    wrong: tuple[str, ...] = ()

    def __str__(self) -> str:
        times = "for ever" if self.forever else "once"
        return f"{self.kind} {times} at the {self.role}: {self.outcome}, {'; '.join(self.wrong)}"


@dataclass(slots=True)
class _Trial:
    wrong: list[str] = field(default_factory=list)

    def must(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self.wrong.append(otherwise)


def tried(
    server: ModelServer, kind: str, role: str, *, forever: bool, clean: str, seconds: float = SHORT
) -> Cell:
    """One run with the fault, and its resumption without it where it did not complete. ``clean`` is the report of a
    run without faults; ``seconds`` an operation may take where the fault is that it takes too long."""
    slow = kind in SLOW_KINDS
    server.clear()
    server.faults = [
        Fault(
            kind,
            match=ROLES[role],
            times=None if forever else 1,
            interval=0.05 if slow else 0.0005,
            patience=seconds * 2,
            size=50_000,
        )
    ]
    trial = _Trial()
    with engine(server, seconds=seconds if slow else 60.0, role=role) as research:
        first = research.run(QUESTION)
        log = server.log
        outcome = _judged(trial, first, log, kind, clean)
        written = [e for e in research.events(first.research_id) if isinstance(e, ReportWritten)]
        for event in written if first.status is RunStatus.COMPLETED else ():
            trial.wrong.extend(_cut(event.report))
        if first.status is not RunStatus.COMPLETED:
            server.faults = []
            second = research.resume(first.research_id)
            _judge_resumed(trial, first, second, log, server.log[len(log) :], clean)
        else:
            second = first
        _judge_books(trial, second, server)
    trial.must(any(served.fault for served in log), "the fault never struck")
    struck = sum(role_of(served) == role for served in log)
    return Cell(kind, role, forever, outcome, struck, tuple(trial.wrong))


def _judged(trial: _Trial, result: ResearchResult, log: Sequence[Served], kind: str, clean: str) -> str:
    units = Counter(map(unit_of, log))
    for unit, count in units.items():
        trial.must(count <= MAX_REQUESTS, f"{count} requests for {unit[:60]}")
    if result.status is RunStatus.PARKED:
        trial.must(
            result.state.parking is not None and result.state.parking.until is not None, "no time to resume"
        )
        trial.must(result.report is None or not _flaws(result, clean), "parked with a flawed report")
        return "parked"
    if result.status is RunStatus.ABORTED:
        trial.must(result.reason is AbortReason.CONFIG, f"aborted for {result.reason}: {result.message}")
        trial.must(kind in CONFIG, f"a {kind} ends the run: {result.message}")
        return "config"
    trial.must(result.status is RunStatus.COMPLETED, f"ended as {result.status}")
    trial.wrong.extend(_flaws(result, clean))
    fell = any(notice.name == "agent" for notice in result.notices)
    return "extractive" if fell else "model"


def _flaws(result: ResearchResult, clean: str) -> list[str]:
    """What is wrong with a report: empty, cut, with an error in its text, with references to nothing."""
    report = result.report or ""
    flaws = [] if report.strip() and result.citations else ["an empty report"]
    body = _NOTES.sub("", report.partition("\n## References\n")[0])
    if _ALIEN.search(body):
        flaws.append(f"a report with an error in it: {_ALIEN.search(body)}")
    flaws += _cut(report)
    by_model = result.report_metadata is not None and result.report_metadata.writer == "synthesizer"
    told = any(notice.name == "agent" for notice in result.notices)
    if by_model and not told and not set(_headings(clean)) <= set(_headings(report)):
        flaws.append(f"a report without some of its sections: {_headings(report)}")
    if not by_model and "could not do its work" not in report:
        flaws.append("a report that does not say who wrote it")
    return flaws


def _cut(report: str) -> list[str]:
    body = _NOTES.sub("", report.partition("\n## References\n")[0])
    lines = [
        line
        for line in body.splitlines()
        if line and not line.startswith("#") and line.rstrip("*")[-1:] not in (".", "]", "|")
    ]
    return [f"a report that is cut: {line[-40:]}" for line in lines]


def _headings(report: str) -> list[str]:
    return re.findall(r"^##? .*$", report, re.M)


def _judge_resumed(
    trial: _Trial,
    first: ResearchResult,
    second: ResearchResult,
    before: Iterable[Served],
    after: Iterable[Served],
    clean: str,
) -> None:
    trial.must(
        second.status is RunStatus.COMPLETED, f"resumed, it ended as {second.status}: {second.message}"
    )
    trial.wrong.extend(_flaws(second, clean))
    for name in ("sources", "findings"):
        kept = {item.id for item in getattr(second, name)}
        lost = {item.id for item in getattr(first, name)} - kept
        trial.must(not lost, f"{name} lost: {lost}")
    done = {unit_of(served) for served in before if served.fault is None and served.status == 200}
    again = [unit for served in after if (unit := unit_of(served)) in done]
    trial.must(not again, f"finished units asked again: {[unit[:60] for unit in again]}")


def _judge_books(trial: _Trial, result: ResearchResult, server: ModelServer) -> None:
    usage, bill = result.usage, server.billed
    trial.must(
        usage.model_calls == len(server.log), f"{usage.model_calls} booked of {len(server.log)} requests"
    )
    if not any(served.maybe for served in server.log):
        booked, paid = (usage.input_tokens, usage.output_tokens), (bill.input, bill.output)
        trial.must(booked == paid, f"booked {booked}, paid {paid}")
    else:
        trial.must(
            usage.input_tokens >= bill.input and usage.output_tokens >= bill.output, "more paid than booked"
        )


_SHORT = {"model": "M", "extractive": "x", "parked": "P", "config": "C"}


def table(cells: Sequence[Cell]) -> str:
    """Outcome and requests of the struck agent, once and for ever. M: its model did it in the end; x: the extractive
    agent; P: parked and resumed; C: aborted(config) and resumed; ! what is wrong, told below."""
    roles = list(dict.fromkeys(cell.role for cell in cells))
    lines = [f"{'fault':<18}" + "".join(f"{role:<13}" for role in roles)]
    for kind in dict.fromkeys(cell.kind for cell in cells):
        shown = []
        for role in roles:
            mine = [c for c in cells if (c.kind, c.role) == (kind, role)]
            shown.append(" ".join(f"{_SHORT[c.outcome]}{c.requests}{'!' * bool(c.wrong)}" for c in mine))
        lines.append(f"{kind:<18}" + "".join(f"{text:<13}" for text in shown))
    wrong = [f"WRONG {cell}" for cell in cells if cell.wrong]
    return "\n".join([*lines, f"{len(cells)} runs, {len(wrong)} of them wrong", *wrong])


def undisturbed(server: ModelServer, **more: Any) -> ResearchResult:
    server.clear()
    with engine(server, **more) as research:
        return research.run(QUESTION)
