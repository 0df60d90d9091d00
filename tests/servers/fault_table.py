"""Every fault of a model service against every provider, as a table: is the verdict right, and at what cost.

What is checked of each cell is the server's word, not the engine's: how many requests came, what they cost, whether a
client can know that. Besides, the deadline is kept, and nothing is raised but our own errors.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from deep_research.errors import DeepResearchError, ModelError
from deep_research.models.base import Message, ModelCall, ModelProvider, StopReason, TokenUsage
from deep_research.models.failures import usage_of
from deep_research.models.language_model import Answer, SingleModel
from deep_research.models.profiles import Profile
from deep_research.models.retry import MAX_REQUESTS, REQUEST_TIMEOUTS_PER_UNIT, Persistence
from deep_research.models.structured import Abilities
from deep_research.models.tool_calls import ToolSpec
from deep_research.testing.pace import Pace
from servers import FAULT_KINDS, Fault, ModelServer, Served
from servers.fault_expectations import SLOW_KINDS, WAYS, Outcome, Way, expected
from servers.server_exchange import Answer as ServerAnswer
from servers.server_exchange import Called

LATE = 0.1  # seconds by which a deadline may be missed
SHORT, LONG = 0.2, 300.0  # seconds of a request: where it is what ends the unit, and where it is not
WIDTH = 80
_ASKED = {
    "text+stream+object+turn": "all",
    "text+object+turn": "whole",
    "object+turn": "forms",
    "text+stream": "texts",
    "text+object": "plain",
}
_LOOKS = (1, 1, 1, 4, 16, 64)  # at a cell that is wrong, each with so many deadlines: the machine may be busy
_STOPS = {StopReason.LENGTH: "short", StopReason.INCOMPLETE: "cut"}

Make = Callable[[str], ModelProvider]  # of the server's address


class Note(BaseModel):
    """What the server is asked for."""

    name: str
    ids: list[str]


DATA = {"name": "x" * 80, "ids": ["a1", "a2"]}
NOTE = ToolSpec(name="note", parameters=Note.model_json_schema())
CALLED = ServerAnswer("I note it.", calls=(Called("note", DATA),))
AS_OBJECT = {"thought": "I note it.", "calls": [{"tool": "note", **DATA}]}


@dataclass(frozen=True, slots=True)
class Subject:
    """A provider to be tried. ``says_refusals``: its service tells a refusal from an answer."""

    name: str
    make: Make
    says_refusals: bool = True


@dataclass(frozen=True, slots=True)
class Cell:
    """``wrong`` says what is not as it must be; empty where all is."""

    subject: str
    kind: str
    way: Way
    forever: bool
    outcome: Outcome
    wrong: tuple[str, ...] = ()

    def __str__(self) -> str:
        times = "for ever" if self.forever else "once"
        return f"{self.subject}, {self.way}, {self.kind} {times}: {self.outcome}; {'; '.join(self.wrong)}"


@dataclass(slots=True)
class _Seen:
    outcome: Outcome
    usage: TokenUsage
    seconds: float
    wrong: list[str] = field(default_factory=list)


def cells(
    subjects: Iterable[Subject], kinds: Sequence[str] = FAULT_KINDS, ways: Sequence[Way] = WAYS
) -> list[Cell]:
    """All of them, one after the other."""
    with asyncio.Runner() as runner:
        return [cell for subject in subjects for cell in _of_subject(runner, subject, kinds, ways)]


def _of_subject(
    runner: asyncio.Runner, subject: Subject, kinds: Sequence[str], ways: Sequence[Way]
) -> Iterator[Cell]:
    with ModelServer([DATA]) as server:
        provider = subject.make(server.base_url)
        for kind in kinds:
            for way in ways:
                wanted = expected(
                    kind,
                    way,
                    forms=len(provider.forms),
                    says_refusals=subject.says_refusals,
                    tools=provider.has_tools,
                )
                for forever in (False, True):
                    seen = _looked_at(runner, server, provider, kind, way, forever, wanted[forever])
                    yield Cell(subject.name, kind, way, forever, seen.outcome, tuple(seen.wrong))
        runner.run(provider.aclose())


def _looked_at(
    runner: asyncio.Runner,
    server: ModelServer,
    provider: ModelProvider,
    kind: str,
    way: Way,
    forever: bool,
    wanted: Outcome,
) -> _Seen:
    """What becomes of one call. Looked at again where it is wrong: a machine that stands still until the deadline sends
    nothing, and the server may read it when the next call is looked at. What a provider does wrong it does each time."""
    short = kind in SLOW_KINDS
    for times in _LOOKS:
        seconds = SHORT * times if short else LONG
        server.clear()
        server.answers = _turn if way == "turn" else [DATA]
        server.faults = [
            Fault(
                kind,
                times=None if forever else 1,
                interval=0.01 * times if kind in SLOW_KINDS else 0.0005,  # slow beside any deadline
                patience=LONG,
                size=50_000,
            )
        ]
        seen = runner.run(_asked(provider, way, seconds))
        if seen.seconds > seconds * REQUEST_TIMEOUTS_PER_UNIT + LATE:
            seen.wrong.append(f"took {seen.seconds:.2f} s of {seconds * REQUEST_TIMEOUTS_PER_UNIT:g}")
        _judge(seen, wanted, server.log)
        if not seen.wrong:
            break
    return seen


async def _asked(provider: ModelProvider, way: Way, seconds: float) -> _Seen:
    """One unit of work, whose waits take no time."""
    model = SingleModel(
        provider,
        Profile(context=100_000, output=10_000),
        abilities=Abilities(),
        persistence=Persistence(sleep=_no_sleep, chance=lambda: 0.0),
    )
    call = ModelCall(messages=(Message(content="Note it."),), max_output=1_000, timeout=seconds)
    pieces: list[str] = []
    try:
        async with Pace() as pace:
            answer = await _question(model, way, call, pieces)
    except ModelError as error:
        outcome = Outcome(error.verdict, int(error.data["requests"]))
        seen = _Seen(outcome, usage_of(error), pace.seconds)
        if error.data["maybe_billed"] is seen.usage.is_known:
            seen.wrong.append("maybe_billed does not fit the usage")
        return seen
    except DeepResearchError as error:
        return _Seen(Outcome(type(error).__name__, 0), TokenUsage(), 0.0)
    except Exception as error:
        return _Seen(Outcome(f"{type(error).__name__}!", 0), TokenUsage(), 0.0)
    seen = _Seen(Outcome(_STOPS.get(answer.stop, "ok"), answer.requests), answer.usage, pace.seconds)
    if way == "stream" and "".join(pieces) != answer.value:
        seen.wrong.append("what was streamed is not the answer")
    return seen


async def _question(model: SingleModel, way: Way, call: ModelCall, pieces: list[str]) -> Answer[Any]:
    def take(piece: str | None) -> None:
        if piece is None:
            pieces.clear()
        else:
            pieces.append(piece)

    if way == "object":
        return await model.object(call, Note)
    if way == "turn":
        return await model.turn(call.model_copy(update={"tools": (NOTE,)}))
    return await model.text(call, on_piece=take if way == "stream" else None)


def _turn(served: Served) -> ServerAnswer | dict[str, Any]:
    return CALLED if served.tools and served.tool is None else AS_OBJECT


async def _no_sleep(_seconds: float) -> None:
    await asyncio.sleep(0)


def _judge(seen: _Seen, wanted: Outcome, log: Sequence[Served]) -> None:
    """What the server says, held against what the unit says and what is wanted."""
    if seen.outcome != wanted:
        seen.wrong.append(f"wanted {wanted}")
    if len(log) != seen.outcome.requests:
        seen.wrong.append(f"the server had {len(log)} requests")
    if len(log) > MAX_REQUESTS:
        seen.wrong.append(f"more than {MAX_REQUESTS} requests")
    paid = [served.usage for served in log if served.usage is not None]
    in_doubt = any(served.maybe for served in log)
    if seen.usage.is_known is in_doubt:
        seen.wrong.append("the usage is known" if in_doubt else "the usage is not known")
    sums = tuple(sum(getattr(u, name) for u in paid) for name in ("input", "cached", "output"))
    booked = (seen.usage.input, seen.usage.cache_read, seen.usage.output)
    if not in_doubt and booked != sums:
        seen.wrong.append(f"booked {booked}, paid {sums}")
    if in_doubt and any(ours > paid_for for ours, paid_for in zip(booked, sums, strict=True)):
        seen.wrong.append(f"booked {booked}, though only {sums} was paid")


def table(found: Sequence[Cell]) -> str:
    """Verdict and requests of each fault, once and for ever; below, what is wrong. 80 columns."""
    subjects = list(dict.fromkeys(cell.subject for cell in found))
    size = (WIDTH - 25) // max(1, len(subjects)) - 1
    lines = [f"{'fault':<17} {'asked':<7}" + "".join(f" {name[:size]:<{size}}" for name in subjects)]
    for kind in dict.fromkeys(cell.kind for cell in found):
        rows: dict[str, list[str]] = {}
        for way in WAYS:
            shown = [_shown(found, subject, kind, way) for subject in subjects]
            row = "".join(f" {text:<{size}}" for text in shown)
            if any(shown):
                rows.setdefault(row, []).append(way)
        for row, ways in rows.items():
            lines.append(f"{kind:<17} {_ASKED.get('+'.join(ways), ways[0]):<7}{row}".rstrip())
    wrong = [cell for cell in found if cell.wrong]
    lines.append(f"{len(found)} cells, {len(wrong)} of them wrong; each: strikes once, for ever")
    return "\n".join([*lines, *(f"WRONG {cell}" for cell in wrong)])


def _shown(found: Sequence[Cell], subject: str, kind: str, way: Way) -> str:
    cells = [c for c in found if (c.subject, c.kind, c.way) == (subject, kind, way)]
    texts = [str(cell.outcome).replace(" ", "") + "!" * bool(cell.wrong) for cell in cells]
    return " ".join(dict.fromkeys(texts))
