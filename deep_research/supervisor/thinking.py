"""The supervisor's model, thinking about finished phases: at once where its advice is for doing a phase again, beside the
next phases where the gate was passed, so that nobody waits for it."""

from __future__ import annotations

import asyncio

from deep_research.budget.metered import RunModels
from deep_research.errors import ModelError, RunStateError, StopResearch, StoreError
from deep_research.logs import get_log, told
from deep_research.models.failures import Verdict
from deep_research.models.language_model import LanguageModel
from deep_research.state import DeepResearchPhase, Limit, ModelRole, RunStatus, SupervisorAction
from deep_research.state.events import DecisionMade, LimitReached
from deep_research.state.journal import Clock, Journal
from deep_research.supervisor.moves import given
from deep_research.supervisor.reflection import Reflection, reflect, reflected
from deep_research.supervisor.review import Review

ORIGIN = "supervisor"
# After these the run may end, so what is thought is waited for.
_LAST = (DeepResearchPhase.SYNTHESIS, DeepResearchPhase.REFINEMENT)
_IN_VAIN = (Verdict.TRANSIENT, Verdict.PARK, Verdict.FATAL)  # the service does not answer, or not us
_ORDER = tuple(DeepResearchPhase)
log = get_log("thinking")


class Thinking:
    """The reflections of one run. ``when`` is never, on_failure or always."""

    def __init__(self, models: RunModels | None, when: str, clock: Clock) -> None:
        has_model = models is not None and bool(models.roles.chain_of(ModelRole.SUPERVISOR))
        self._models = models if has_model and when != "never" else None
        self._always = when == "always"
        self._clock = clock
        self._beside: set[asyncio.Task[None]] = set()

    async def after(self, journal: Journal, review: Review) -> None:
        """Think about a finished phase, as far as that is wanted. Advice for the next attempt is put into the review."""
        failed = review.action is not SupervisorAction.PROCEED
        if self._models is None or not (failed or self._always) or review.action is SupervisorAction.ABORT:
            return
        model = self._models.model(ModelRole.SUPERVISOR, review.phase)
        if failed or review.phase in _LAST:
            await self._collected()
            thought = await self._think(journal, review, model)
            if thought and thought.guidance.strip():
                review.guidance.append((thought.guidance.strip(), ORIGIN))
            return
        task = asyncio.create_task(self._think_beside(journal, review, model))
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    async def end(self) -> None:
        """The run stops here: what is not thought to its end comes too late."""
        for task in self._beside:
            task.cancel()
        await self._collected()

    async def _collected(self) -> None:
        await asyncio.gather(*self._beside, return_exceptions=True)

    async def _think(self, journal: Journal, review: Review, model: LanguageModel) -> Reflection | None:
        """The reflection, recorded; None where there is none: advice is no work, and the run goes on without."""
        state = journal.state
        try:
            thought = await reflect(state, review.phase, review.validation, model)
        except (StoreError, StopResearch):
            raise
        except Exception as error:  # a provider may be anybody's
            log.warning("no_reflection", error=told(error))
            if isinstance(error, ModelError) and error.verdict in _IN_VAIN and self._models is not None:
                self._models = None  # four requests after each phase would be as much in vain
                await journal.record(LimitReached(limit=_without_advice(error)))
            return None
        decision = reflected(thought, review.phase, state.iteration, self._clock())
        await journal.record(DecisionMade(action=SupervisorAction(thought.action), decision=decision))
        return thought

    async def _think_beside(self, journal: Journal, review: Review, model: LanguageModel) -> None:
        """The advice goes to the phase after the one that is at work when it comes."""
        try:
            thought = await self._think(journal, review, model)
            state = journal.state
            if thought is None or not thought.guidance.strip() or state.status is not RunStatus.RUNNING:
                return
            if state.phase is not _ORDER[-1]:
                following = _ORDER[_ORDER.index(state.phase) + 1]
                await journal.record(given(following, state.iteration, thought.guidance.strip(), ORIGIN))
        except (
            StoreError,
            RunStateError,
        ) as error:  # the phase beside it meets the same, and is the one to tell
            log.warning("no_reflection", error=told(error))


def _without_advice(error: ModelError) -> Limit:
    message = (
        f"The supervisor's model does not answer ({error.problem}); the research goes on without its advice."
    )
    return Limit(name="model", message=message)
