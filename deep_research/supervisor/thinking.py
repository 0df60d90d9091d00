"""The supervisor's model, thinking about a finished phase before the next one starts."""

from __future__ import annotations

from deep_research.budget.metered import RunModels
from deep_research.errors import ModelError, StopResearch, StoreError
from deep_research.logs import get_log, told
from deep_research.models.failures import Verdict
from deep_research.phases.base import Phase
from deep_research.state import ModelRole, Notice, SupervisorAction
from deep_research.state.events import NoticeAdded
from deep_research.state.journal import Clock, Journal
from deep_research.state.records import OF_MODEL
from deep_research.supervisor.reflection import Reflection, reflect, reflected
from deep_research.supervisor.review import Review, consider

ORIGIN = "supervisor"
_IN_VAIN = (Verdict.TRANSIENT, Verdict.PARK, Verdict.FATAL)  # the service does not answer, or not us
log = get_log("thinking")


class Thinking:
    """The reflections of one run. ``when`` is never, on_failure or always."""

    def __init__(self, models: RunModels | None, when: str, clock: Clock) -> None:
        has_model = models is not None and bool(models.roles.chain_of(ModelRole.SUPERVISOR))
        self._models = models if has_model and when != "never" else None
        self._always = when == "always"
        self._clock = clock

    async def after(self, journal: Journal, review: Review, worker: Phase, prompt: str) -> None:
        """Think about a finished phase by the ``prompt``, as far as that is wanted: what the model advises and wants
        becomes part of the review."""
        failed = review.action is not SupervisorAction.PROCEED
        if self._models is None or not (failed or self._always) or review.action is SupervisorAction.ABORT:
            return
        thought = await self._think(journal, review, prompt)
        if thought is None:
            return
        state = journal.state
        advice = thought.guidance.strip()
        is_new = bool(advice) and advice not in state.steering_for(review.phase)
        followed = is_new and await worker.can_follow(advice, state)
        if advice:
            review.guidance.append((advice, ORIGIN))
        decision = reflected(thought, review.phase, state.iteration, self._clock())
        consider(review, decision, SupervisorAction(thought.action), state, worker, followed=followed)

    async def _think(self, journal: Journal, review: Review, prompt: str) -> Reflection | None:
        """None where nothing comes of it: advice is no work, and the run goes on without."""
        if self._models is None:
            return None
        model = self._models.model(ModelRole.SUPERVISOR, review.phase)
        try:
            return await reflect(journal.state, review.phase, review.validation, model, prompt)
        except (StoreError, StopResearch):
            raise
        except Exception as error:  # a provider may be anybody's
            log.warning("no_reflection", error=told(error))
            if isinstance(error, ModelError) and error.verdict in _IN_VAIN:
                self._models = None  # a request after each phase would be as much in vain
                await journal.record(NoticeAdded(notice=_without_advice(error)))
            return None


def _without_advice(error: ModelError) -> Notice:
    message = (
        f"The supervisor's model does not answer ({error.problem}); the research goes on without its advice."
    )
    return Notice(name=OF_MODEL, message=message)
