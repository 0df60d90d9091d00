"""What a dispatch decides: which agent does a phase, and the options that hold for it.

A dispatch is in the log before it is acted on, and is read from there, so a resumed run follows it as well. The options
that a supervisor changed stand apart among its ``inputs``; what it left as it was follows the run, which may be steered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from deep_research.errors import ConfigurationError
from deep_research.state import (
    PHASE_TO_AGENT,
    AgentDecision,
    DeepResearchPhase,
    DeepResearchState,
    RunOptions,
)
from deep_research.state.events import Event, Progress
from deep_research.state.journal import Content, Journal

EXTRACTIVE = "extractive"  # names the extractive agent of a phase, in place of its own
_OPTIONS = "options"
_OF_RUN = ("budget", "provider_id", "user_id", "session_id")  # no phase has its own


def with_options(decision: AgentDecision, default: AgentDecision, options: RunOptions) -> AgentDecision:
    """The decision with what it names other than by default among the options of a run. Raises `ConfigurationError` for a
    value that is none."""
    names = [name for name in RunOptions.model_fields if name not in _OF_RUN and name in decision.inputs]
    changed = {
        name: decision.inputs[name]
        for name in names
        if name not in default.inputs or decision.inputs[name] != default.inputs[name]
    }
    if not changed:
        return decision
    try:
        RunOptions.model_validate({**dict(options), **changed})
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        raise ConfigurationError(
            f"The dispatch to the {decision.agent} cannot be: {'.'.join(map(str, fault['loc']))}: {fault['msg']}.",
            hint="Its inputs may name options of a run, within their bounds.",
        ) from None
    return decision.model_copy(update={"inputs": {**decision.inputs, _OPTIONS: changed}})


def latest_dispatch(state: DeepResearchState, phase: DeepResearchPhase) -> AgentDecision | None:
    """The one by which the phase is being done."""
    action = f"execute_{phase.value}"
    return next((decision for decision in reversed(state.decisions) if decision.action == action), None)


def is_extractive(state: DeepResearchState, phase: DeepResearchPhase) -> bool:
    """Whether the phase was dispatched to the extractive agent."""
    decision = latest_dispatch(state, phase)
    return decision is not None and decision.agent == EXTRACTIVE


def is_unknown(decision: AgentDecision, phase: DeepResearchPhase) -> bool:
    """Whether the dispatch names an agent that there is not."""
    return decision.agent not in (PHASE_TO_AGENT[phase].value, EXTRACTIVE)


def phase_journal(journal: Journal, phase: DeepResearchPhase) -> Journal:
    """The journal as the agent of the phase sees it."""
    decision = latest_dispatch(journal.state, phase)
    options = decision.inputs.get(_OPTIONS) if decision is not None else None
    return PhaseJournal(journal, options) if options else journal


class PhaseJournal:
    """The journal of a run, whose state shows options of one phase."""

    def __init__(self, journal: Journal, options: dict[str, Any]) -> None:
        self._journal = journal
        self._options = options
        self._seen: tuple[DeepResearchState, DeepResearchState] | None = (
            None  # the run's, and with the options
        )

    @property
    def state(self) -> DeepResearchState:
        state = self._journal.state
        if self._seen is None or self._seen[0] is not state:
            options = RunOptions.model_validate({**dict(state.options), **self._options})
            self._seen = state, state.model_copy(update={"options": options})
        return self._seen[1]

    async def record(self, *events: Event, contents: Sequence[Content] = ()) -> None:
        await self._journal.record(*events, contents=contents)

    async def settle(self) -> None:
        await self._journal.settle()

    def check(self) -> None:
        self._journal.check()

    @property
    def watched(self) -> bool:
        return self._journal.watched

    def progress(self, note: Progress) -> None:
        self._journal.progress(note)

    async def texts(self, hashes: Sequence[str]) -> list[str]:
        return await self._journal.texts(hashes)
