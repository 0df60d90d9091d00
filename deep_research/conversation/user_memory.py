"""The user's memory in a run: the entries that agents are shown, and those that the run writes."""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Sequence
from functools import cache
from typing import Literal

from pydantic import BaseModel, Field

from deep_research.budget.metered import RunModels
from deep_research.errors import DeepResearchError, StopResearch, StoreError
from deep_research.logs import describe_error, get_log
from deep_research.memory import Memory, MemoryEntry, MemoryKind
from deep_research.memory.base import storable
from deep_research.memory.entry import GIVEN, MAX_TEXT_CHARACTERS
from deep_research.models.base import MEMORY_LABEL
from deep_research.phases.handoff import MemoryNote
from deep_research.phases.prompting import OF_QUESTION, RULES, Message, Room, ask_model, one_line
from deep_research.report.discoveries import Discovery, discoveries
from deep_research.state import DeepResearchState, MemoryRef, ModelRole
from deep_research.state.identity import normalised
from deep_research.state.journal import Clock, utc_now
from deep_research.state.records import ANSWERED, STEERED
from deep_research.text.language import LANGUAGES
from deep_research.text.words import WORD

MAX_NOTES = 40  # of profile and preferences, the latest first, that a run is shown
MAX_EPISODES = 5  # that are nearest to the question
MAX_LEARNED = 5  # entries of the user's own words that one run leaves
MAX_LEARNED_CHARS = 300
MAX_EPISODE_CHARS, MAX_TITLE_CHARS = 1_500, 200
MAX_OUTPUT_TOKENS = 800  # thoughts included
KNOWN_SHARE = 0.3  # of the room

log = get_log("memory")

SYSTEM = f"""\
You keep notes on a user of a research engine. You see what the user wrote, and the notes there are. Give what the \
user says of themselves that will matter for later research: who they are (profile), and how they want reports \
(preferences). Each note is one short sentence in the user's language, with the words of the user it rests on, \
letter by letter.

Note nothing that is not said in the user's words, nothing that holds for this question alone, nothing that is noted \
already, and no secret such as a password or a number of an account. Most messages give no note.

{RULES}"""


class Note(BaseModel):
    kind: Literal["profile", "preferences"]
    text: str = Field(description="one short sentence about the user")
    words: str = Field(description="the user's words it rests on, letter by letter")


class Notes(BaseModel):
    """What the model notes of a user."""

    notes: list[Note] = Field(default_factory=list, max_length=50)


class UserMemory:
    """The memory of users as runs read and write it."""

    def __init__(self, memory: Memory, clock: Clock = utc_now) -> None:
        self._memory = memory
        self._clock = clock

    async def load(self, state: DeepResearchState) -> tuple[MemoryRef, ...]:
        """The entries that the agents of a run are shown. A memory that cannot be read is no reason to stop."""
        user = state.options.user_id

        def entries() -> list[MemoryEntry]:
            notes = self._memory.list(user, kinds=GIVEN, limit=MAX_NOTES)
            episodes = self._memory.search(
                user, state.query, kinds=(MemoryKind.EPISODES,), limit=MAX_EPISODES
            )
            return [*notes, *(entry for entry in episodes if entry.run_id != state.research_id)]

        try:
            return tuple(map(_ref, await asyncio.to_thread(entries)))
        except DeepResearchError as error:
            log.warning("not_loaded", error=describe_error(error))
            return ()

    async def texts(self, notes: Sequence[MemoryNote]) -> tuple[MemoryNote, ...]:
        """The notes with their texts; without one that was edited or forgotten since the run began."""

        def filled_notes() -> tuple[MemoryNote, ...]:
            filled = []
            for note in notes:
                try:
                    entry = self._memory.get(note.user_id, note.id)
                except DeepResearchError as error:
                    log.info("not_shown", error=error.code)
                    continue
                if entry.hash == note.hash:
                    filled.append(note.model_copy(update={"text": entry.text, "day": entry.at.date()}))
            return tuple(filled)

        return await asyncio.to_thread(filled_notes)

    async def write(self, state: DeepResearchState, models: RunModels | None) -> tuple[MemoryRef, ...]:
        """Leave what a completed run found, and what its user said of themselves. Done twice it is as done once. Raises
        `Halted`, and what a memory raises."""
        entries = [
            *(
                _episode(state, discovery, number, self._clock)
                for number, discovery in enumerate(_own_discoveries(state), 1)
            ),
            *await self._learned(state, models),
        ]
        if not entries:
            return ()
        clean_entries = storable(entries)
        await asyncio.to_thread(self._memory.put, clean_entries)
        return tuple(map(_ref, clean_entries))

    async def _learned(self, state: DeepResearchState, models: RunModels | None) -> list[MemoryEntry]:
        """What the user says of themselves, in the user's own words; none without a model for it."""
        if models is None or not models.roles.chain_of(ModelRole.MEMORY):
            return []
        words = _own_words(state)
        user = state.options.user_id
        notes = await asyncio.to_thread(self._memory.list, user, kinds=GIVEN, limit=MAX_NOTES)
        model = models.model(ModelRole.MEMORY, state.phase)
        try:
            answer, _ = await ask_model(
                model, SYSTEM, MAX_OUTPUT_TOKENS, Notes, lambda room: _message(words, notes, room)
            )
        except (StoreError, StopResearch):
            raise
        except Exception as error:  # a provider may be anybody's, and the run is done
            log.warning("nothing_learned", error=describe_error(error))
            return []
        own = [entry for entry in notes if entry.run_id == state.research_id]  # of a run that was killed here
        noted = {normalised(entry.text) for entry in notes if entry not in own}
        learned: dict[str, MemoryEntry] = {}
        for note in answer.notes:
            text = one_line(note.text)[:MAX_LEARNED_CHARS].strip()
            key = normalised(text)
            if not text or key in noted or key in learned or not _says(words, note.words):
                continue
            learned[key] = MemoryEntry(
                id=f"{state.research_id}:user:{len(learned) + 1}",
                user_id=user,
                kind=MemoryKind(note.kind),
                text=text,
                words=one_line(note.words)[:MAX_LEARNED_CHARS],
                run_id=state.research_id,
                at=self._clock(),
            )
            if len(learned) == MAX_LEARNED:
                break
        return list(learned.values())


def _ref(entry: MemoryEntry) -> MemoryRef:
    return MemoryRef(id=entry.id, kind=entry.kind.value, hash=entry.hash, user_id=entry.user_id)


def _own_discoveries(state: DeepResearchState) -> tuple[Discovery, ...]:
    """The discoveries of a run but for those by which a page speaks to its reader: "Remember that you may …"."""
    candidates = discoveries(state.claims, state.findings, state.sources)
    return tuple(each for each in candidates if not _speaks_to_reader(each.text))


def _speaks_to_reader(text: str) -> bool:
    return not _reader_words().isdisjoint(word.casefold() for word in WORD.findall(text))


@cache
def _reader_words() -> frozenset[str]:
    tables = tomllib.loads(LANGUAGES.read_text(encoding="utf-8"))
    return frozenset(
        word for table in tables.values() for word in table.get("speaking", {}).get("reader", "").split()
    )


def _episode(state: DeepResearchState, discovery: Discovery, number: int, clock: Clock) -> MemoryEntry:
    claim = next(claim for claim in state.claims if claim.id == discovery.claim_id)
    day = f", {discovery.published}" if discovery.published else ""
    return MemoryEntry(
        id=f"{state.research_id}:found:{number}",
        user_id=state.options.user_id,
        kind=MemoryKind.EPISODES,
        text=f"{discovery.text[:MAX_EPISODE_CHARS]} ({discovery.title[:MAX_TITLE_CHARS]}{day})",
        words=claim.evidence[0].quote[:MAX_TEXT_CHARACTERS],
        run_id=state.research_id,
        at=state.completed_at or clock(),
    )


def _own_words(state: DeepResearchState) -> str:
    """What the user wrote: the question, and what they said while the run went. Never what a page says."""
    question = state.resolution.user_message if state.resolution is not None else state.query
    steering = [guidance.text for guidance in state.guidance if guidance.origin in (STEERED, ANSWERED)]
    return "\n".join([question, *steering])


def _says(words: str, quote: str) -> bool:
    plain_quote = normalised(quote)
    return len(plain_quote) > 3 and plain_quote in normalised(words)


def _message(words: str, notes: Sequence[MemoryEntry], room: Room) -> Message:
    message = Message(room)
    lines = [f"{entry.kind}: {one_line(entry.text)}" for entry in notes]
    label = " ".join([MEMORY_LABEL, *(f"{entry.id}:{entry.hash}" for entry in notes)])
    message.listing("The notes there are:", label, lines, KNOWN_SHARE, "the notes")
    message.add("What the user wrote:")
    message.material("words", message.within(words, OF_QUESTION, "the words of the user"))
    return message
