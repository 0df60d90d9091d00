"""The conversation that a run belongs to: its turns, what its question means after them, and what they saved."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from deep_research.budget.metered import RunModels
from deep_research.conversation.follow_up import read_follow_up
from deep_research.conversation.rewriting import rewrite
from deep_research.conversation.saved_evidence import matching_sources, saved_sources
from deep_research.conversation.turn import Turn, given_turn, turn_of
from deep_research.conversation.turn_summary import summary_of
from deep_research.errors import LogDamagedError, RunNotFoundError, SearchError, StoreVersionError
from deep_research.logs import describe_error, get_log
from deep_research.phases.gathering.handoff import GatheredSource
from deep_research.state import DeepResearchState, Exchange, FirstLook, Mention, Resolution
from deep_research.state.events import decode_log
from deep_research.state.reducer import fold
from deep_research.store import RunFilter, RunRow, Store

MAX_TURNS = 50  # of a conversation that a question is read after
MAX_TURNS_BACK = 10  # whose sources are looked through
MAX_KEPT = 200  # runs that are remembered by a process
UNRESOLVED = "Nothing in the conversation says what the question points to; it was researched as it stands."

log = get_log("conversation")
Look = Callable[[str], Awaitable[FirstLook | None]]


class Conversation:
    """Conversations over one store: runs of one user with one ``session_id``.

    ``look`` says what documents know of a text; ``tokens`` is how long a summary may be.
    """

    def __init__(self, store: Store, *, look: Look | None = None, tokens: int = 2_000) -> None:
        self._store = store
        self._look = look
        self._tokens = tokens
        self._states: OrderedDict[tuple[str, int], DeepResearchState] = OrderedDict()
        self._lock = threading.Lock()

    async def resolve(self, state: DeepResearchState, models: RunModels | None = None) -> Resolution | None:
        """What the question of a run means after the turns before it; None where it has none and needs none. Raises
        `Halted`, `StoreError`."""
        before = await asyncio.to_thread(self._before, state)
        # Who gives the turns says what was asked; the session has only what they saved.
        turns = await asyncio.to_thread(
            lambda: _given_turns(state.options.history) or [*map(turn_of, before)]
        )
        rewritten = await rewrite(state, turns, models, self._tokens) if turns else None
        if rewritten is not None:
            resolution = Resolution(
                user_message=state.query,
                question=rewritten.question,
                by="model",
                why=rewritten.why,
                is_resolved=rewritten.is_clear,
            )
        else:
            mentions = await self._mentions(state.query) if turns else ()
            reading = await asyncio.to_thread(read_follow_up, state.query, turns, mentions)
            why = "It points back to an earlier turn." if reading.points_back else "It stands by itself."
            resolution = Resolution(
                user_message=state.query, question=reading.question, is_resolved=reading.is_resolved, why=why
            )
        if not turns and resolution.is_resolved:
            return None
        resolution = resolution.model_copy(
            update={
                "turns": tuple(turn.research_id for turn in before),
                "summary": summary_of(turns, self._tokens),
            }
        )
        new_state = state.model_copy(update={"query": resolution.question, "resolution": resolution})
        return resolution.model_copy(update={"recalls": bool(await self.recall(new_state))})

    async def recall(self, state: DeepResearchState) -> tuple[GatheredSource, ...]:
        """The saved sources that have most of the question, best first. Raises `StoreError`."""

        def matched() -> tuple[GatheredSource, ...]:
            if state.resolution is None or state.options.depth == "deep":
                return ()  # who wants a question researched deeply wants more than what there is
            turns = self._turns(state.resolution.turns[-MAX_TURNS_BACK:])
            return matching_sources(self._store, saved_sources(state, reversed(turns)), state)

        return await asyncio.to_thread(matched)

    async def _mentions(self, question: str) -> Sequence[Mention]:
        """The names in a question that documents know, in whatever case they are written."""
        if self._look is None:
            return ()
        try:
            look = await self._look(question)
        except SearchError as error:  # the searches of the run say so
            log.warning("no_look", error=describe_error(error))
            return ()
        return look.names if look is not None else ()

    def _before(self, state: DeepResearchState) -> list[DeepResearchState]:
        """The last turns before a run, the oldest first: the runs that it follows one by one, or those of its session
        that were created before it. Blocking."""
        if state.options.previous_run_id is not None:
            return self._followed(state)
        session, user = state.options.session_id, state.options.user_id
        if session is None:
            return []
        try:
            cursor = self._store.run(state.research_id).cursor
        except RunNotFoundError:  # it is worked on in memory
            return []
        run_filter = RunFilter(user=user, session=session)
        rows = self._store.runs(
            filter=run_filter, after=cursor, limit=MAX_TURNS if user is not None else None
        )
        own = [row.run_id for row in rows if row.user_id == user]
        return self._turns(own[MAX_TURNS - 1 :: -1] if len(own) > MAX_TURNS else own[::-1])

    def _followed(self, state: DeepResearchState) -> list[DeepResearchState]:
        turns: list[DeepResearchState] = []
        previous = state.options.previous_run_id
        while previous is not None and len(turns) < MAX_TURNS:
            states = self._turns([previous])
            if not states or states[0].options.user_id != state.options.user_id:
                break
            turns += states
            previous = states[0].options.previous_run_id
        return turns[::-1]

    def _turns(self, run_ids: Sequence[str]) -> list[DeepResearchState]:
        """The runs of these that were let in. One that was deleted, or that cannot be read, is passed over. Blocking."""
        turns: list[DeepResearchState] = []
        for run_id in run_ids:
            with suppress(RunNotFoundError, LogDamagedError, StoreVersionError):
                turn = self._state(self._store.run(run_id))
                if turn.admission is None or turn.admission.safety_check:
                    turns.append(turn)
        return turns

    def _state(self, row: RunRow) -> DeepResearchState:
        key = row.run_id, row.last_seq
        with self._lock:
            if key in self._states:
                self._states.move_to_end(key)
                return self._states[key]
        state = fold(decode_log(self._store.read(row.run_id))).snapshot()
        with self._lock:
            self._states[key] = state
            while len(self._states) > MAX_KEPT:
                self._states.popitem(last=False)
        return state


def _given_turns(history: Sequence[Exchange]) -> list[Turn]:
    """Turns that are no runs: each question is read after those before it, as it was when it was asked."""
    turns: list[Turn] = []
    for exchange in history[-MAX_TURNS_BACK:]:
        turn = given_turn(exchange)
        turns.append(turn.model_copy(update={"question": read_follow_up(turn.user_message, turns).question}))
    return turns
