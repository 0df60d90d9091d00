"""The journal: the one way a phase tells what it did.

`Journal` is what phases and the supervisor are handed. `MemoryJournal` is the whole of it without a store: for a run
that need not outlive its process, and for one phase alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from deep_research.errors import ContentMissingError, LogDamagedError, UsageError
from deep_research.state.events import Event, IterationStarted, PhaseStarted, Progress
from deep_research.state.identity import sha256_hex
from deep_research.state.phases import PHASE_TO_AGENT, DeepResearchPhase
from deep_research.state.records import AgentDecision, SubQuery
from deep_research.state.reducer import Fold
from deep_research.state.run import DeepResearchState
from deep_research.state.transitions import opens_iteration

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class PageHead:
    """Where and when a page was fetched: ``url`` as asked for, ``found_at`` after redirects, and the response headers
    that matter, by name in lower case."""

    url: str
    found_at: str
    at: datetime
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Content:
    """A text to be kept, named by the sha256 of its UTF-8 bytes; or the bytes of a page as it was fetched."""

    hash: str
    body: bytes
    media_type: str = "text/plain"
    page: PageHead | None = None

    @classmethod
    def of(cls, text: str) -> Content:
        body = text.encode("utf-8", "replace")
        return cls(sha256_hex(body), body)

    @classmethod
    def of_page(cls, body: bytes, media_type: str, page: PageHead | None) -> Content:
        return cls(sha256_hex(body), body, media_type or "application/octet-stream", page)


class Journal(Protocol):
    """Records finished units of one run."""

    @property
    def state(self) -> DeepResearchState:
        """The state after everything recorded so far."""

    async def record(self, *events: Event, contents: Sequence[Content] = ()) -> None:
        """Store all of it as one unit. On return it is durable, applied, and visible to watchers."""

    async def settle(self) -> None:
        """Wait until everything handed in so far is on disk and in the state."""

    def check(self) -> None:
        """Asked before a unit begins, and before anything is paid for. Raises `Halted` where somebody wants the run to
        stand still."""

    @property
    def watched(self) -> bool:
        """Whether anybody would hear what `progress` tells."""

    def progress(self, note: Progress) -> None:
        """Tell watchers something that is not worth keeping."""

    async def texts(self, hashes: Sequence[str]) -> list[str]:
        """The saved texts of these hashes, in their order. Raises `ContentMissingError`."""


class MemoryJournal:
    """A journal without a store: ``await AnalysisPhase(agent).run(state, MemoryJournal(state))``.

    ``events`` and ``notes`` hold what was recorded; ``texts`` gives the saved texts a phase will ask for. Without a
    ``state`` it is empty, and opens with `RunCreated`.
    """

    def __init__(
        self, state: DeepResearchState | None = None, *, texts: Iterable[str] = (), clock: Clock = utc_now
    ) -> None:
        self._fold = Fold(state)
        self._clock = clock
        self._contents = {c.hash: c.body for c in map(Content.of, texts)}
        self.events: list[Event] = []
        self.notes: list[Progress] = []

    @property
    def state(self) -> DeepResearchState:
        return self._fold.snapshot()

    async def record(self, *events: Event, contents: Sequence[Content] = ()) -> None:
        self._contents.update((c.hash, c.body) for c in contents)
        for event in events:
            stamped = event.model_copy(update={"seq": self._fold.seq + 1, "at": self._clock()})
            self._fold.apply(stamped)
            self.events.append(stamped)

    async def enter(self, phase: DeepResearchPhase | str, *, sub_queries: Sequence[SubQuery] = ()) -> None:
        """Make the machine stand at a phase, so that it can be worked on: what the supervisor records between phases.
        From a later phase to GATHERING is a new iteration, which searches ``sub_queries``. Raises `UsageError` for them
        where no iteration begins."""
        phase, state = DeepResearchPhase(phase), self.state
        iterating = opens_iteration(state.phase, phase)
        if sub_queries and not iterating:
            raise UsageError(
                f"No iteration begins between {state.phase} and {phase}.",
                hint="Sub-queries come with the plan, or with a further iteration.",
            )
        iteration = state.iteration + iterating
        decision = AgentDecision(
            agent=PHASE_TO_AGENT[phase].value,
            action=f"execute_{phase.value}",
            rationale="Entered by hand.",
            inputs={"research_id": state.research_id, "current_phase": phase.value, "iteration": iteration},
            timestamp=self._clock(),
        )
        events: list[Event] = [PhaseStarted(phase=phase, iteration=iteration, decision=decision)]
        if iterating:
            events.insert(0, IterationStarted(iteration=iteration, sub_queries=tuple(sub_queries)))
        await self.record(*events)

    async def settle(self) -> None:
        """Nothing is ever under way here."""

    def check(self) -> None:
        """Nobody else has a say here."""

    @property
    def watched(self) -> bool:
        return True

    def progress(self, note: Progress) -> None:
        self.notes.append(note)

    async def texts(self, hashes: Sequence[str]) -> list[str]:
        for content_hash in hashes:
            if content_hash not in self._contents:
                raise missing(content_hash)
        return [self._contents[content_hash].decode() for content_hash in hashes]


def readable(body: bytes) -> str:
    """A saved text. Raises `LogDamagedError` when it is none."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise LogDamagedError(
            f"A saved text cannot be read ({error.reason}).",
            hint="Restore the database from a backup, or delete the run.",
        ) from error


def missing(content_hash: str) -> ContentMissingError:
    return ContentMissingError(
        f"No saved text {content_hash[:12]}….",
        hint="Texts are saved with the sources of a run; check the hash or the data directory.",
        content_hash=content_hash,
    )
