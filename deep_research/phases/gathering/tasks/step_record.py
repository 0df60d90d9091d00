"""Recording a step of a task: what its tools gave becomes sources, saved texts and one event."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from deep_research.budget.metered import RunModels
from deep_research.budget.shared_budget import Purse
from deep_research.calls import off_loop
from deep_research.errors import ToolError
from deep_research.evidence.page_identity import canonical_url
from deep_research.logs import masked_value
from deep_research.models.language_model import LanguageModel
from deep_research.phases.base import WorkLimits
from deep_research.phases.gathering.caps import unread_notices
from deep_research.phases.gathering.collecting import Collected, collected, work_of
from deep_research.phases.gathering.handoff import GathererInput, Unread
from deep_research.phases.gathering.tasks.agent import LLMTaskAgent
from deep_research.phases.gathering.tasks.desk import Desk, Showing, failed, kept, use_of
from deep_research.phases.gathering.tasks.egress import sites_of
from deep_research.phases.gathering.tasks.tool import ToolResult
from deep_research.state import (
    DeepResearchPhase,
    ModelRole,
    Notice,
    Source,
    Task,
    TaskStep,
    TokenUsage,
    ToolUse,
)
from deep_research.state.events import Event, NoticeAdded, TaskStepped
from deep_research.state.identity import source_id
from deep_research.state.journal import Content, Journal

PHASE = DeepResearchPhase.GATHERING


@dataclass(frozen=True, slots=True)
class Workplace:
    """What attempts at tasks of one run share. ``by_model``: a model works on them, where there is one for that; ``told``
    are notes that the run has already."""

    journal: Journal
    limits: WorkLimits
    models: RunModels | None
    agent: LLMTaskAgent
    by_model: bool = True
    told: set[str] = field(default_factory=set)

    @property
    def purse(self) -> Purse:
        return self.models.purse if self.models is not None else Purse()

    @property
    def model(self) -> LanguageModel | None:
        if self.models is None or not self.by_model or not self.models.roles.chain_of(ModelRole.TASK_AGENT):
            return None
        return self.models.model(ModelRole.TASK_AGENT, PHASE)

    def cost(self, tokens: TokenUsage) -> float | None:
        """Dollars of what a model took, by the price of the first of its chain; None where that is not known."""
        if self.models is None:
            return 0.0
        roles = self.models.roles
        price = roles.pool.profile(roles.chain_of(ModelRole.TASK_AGENT)[0]).price
        return price.of(tokens) if price is not None else None


@dataclass(slots=True)
class Used:
    """One use of a tool that was tried. ``refused``: it could have told others what the task was shown; ``private`` are
    the names of private tools that were used."""

    tool: str
    arguments: Mapping[str, Any]
    result: ToolResult | None = None
    problem: str = ""
    refused: bool = False
    private: tuple[str, ...] = ()
    searches: int = 0  # that failed
    fetches: int = 0


async def kept_step(
    place: Workplace,
    task: Task,
    desk: Desk,
    step: TaskStep,
    uses: Sequence[Used],
    began: float,
    handoff: GathererInput | None = None,
) -> tuple[list[Event], list[Content], list[Showing]]:
    """What a step brought: its events, with the sources that came and what is told of those that could not be read; the
    texts that are saved; what its agent is shown. ``handoff`` is that of a search whose known sources do not count."""
    gain = _Gain(
        place, task, desk, handoff, held={source.id: source for source in place.journal.state.sources}
    )
    for use in uses:
        await gain.add(use)
    done = step.model_copy(
        update={
            **gain.of_step(uses),
            "seconds": round(asyncio.get_running_loop().time() - began, 3),
        }
    )
    stepped = TaskStepped(
        task_id=task.id, attempt=task.attempt, step=done, sources=tuple(gain.fresh.values())
    )
    new = [note for note in dict.fromkeys(gain.notes) if note not in place.told]
    place.told.update(new)
    notices: list[Event] = [NoticeAdded(notice=Notice(name="sources", message=note)) for note in new]
    notices += unread_notices(gain.unread, place.journal.state.options.budget.max_fetches)
    return [stepped, *notices], gain.contents, gain.showings


@dataclass(slots=True)
class _Gain:
    """The gain of one step, in a run that had the sources ``held`` before. ``fresh`` are the sources that are new to the
    task, ``sources`` the ids of all that came, ``private`` the names of private tools that were used."""

    place: Workplace
    task: Task
    desk: Desk
    handoff: GathererInput | None
    held: Mapping[str, Source]
    contents: list[Content] = field(default_factory=list)
    showings: list[Showing] = field(default_factory=list)
    uses: list[ToolUse] = field(default_factory=list)
    fresh: dict[str, Source] = field(default_factory=dict)
    sources: dict[str, None] = field(default_factory=dict)
    private: dict[str, None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)

    async def add(self, use: Used) -> None:
        """The use, one after the other: what is shown has the number that the desk gives it."""
        result, whole = use.result, dict[str, str]()
        if result is not None:
            try:
                whole = {s.source_id: await self.desk.read(s.source_id) for s in result.shown}
            except ToolError as error:
                use.problem, use.searches, use.fetches = str(error), result.searches, result.fetches
                use.result = result = None
        self.private |= dict.fromkeys((*use.private, *(result.private if result else ())))
        self.desk.egress.note(use.private)
        showing = failed(use.problem) if result is None else await self._show(result, whole)
        self.showings.append(showing)
        self.contents.append(kept(showing))
        arguments = masked_value(dict(use.arguments))
        self.uses.append(use_of(use.tool, arguments, showing, failed=result is None, refused=use.refused))

    async def _show(self, result: ToolResult, whole: Mapping[str, str]) -> Showing:
        """What the agent is shown of a result whose sources have these ``whole`` texts; its sources are kept."""
        known = self.handoff
        found = await off_loop(
            sum(map(work_of, result.sources)),
            collected,
            result.sources,
            sub_query_id=self.task.sub_query_id,
            known=known.known if known else frozenset(),
            most_new=known.max_sources_per_query if known else None,
            most_bytes=self.place.limits.max_source_bytes,
            first_rank=len(self.desk.sources),
        )
        found = apart(found, self.desk, self.held, by_model=known is None)
        self.fresh |= {s.id: s for s in found.sources if s.id not in self.desk.sources}
        self.sources |= dict.fromkeys(source.id for source in found.sources)
        self.sources |= dict.fromkeys(shown.source_id for shown in result.shown)
        notes = (*result.notes, *found.notes)
        self.notes += notes
        self.unread += result.unread
        self.contents += found.contents
        texts = {c.hash: c.body for c in found.contents}
        read = {s.id: texts[s.content_hash].decode() for s in found.sources if s.content_hash in texts}
        return self.desk.take(found.sources, {**whole, **read}, result.model_copy(update={"notes": notes}))

    def of_step(self, uses: Sequence[Used]) -> dict[str, Any]:
        """The fields of the step."""
        results = [use.result for use in uses if use.result is not None]
        links = [link for showing in self.showings for link in showing.links if link.origin]
        lost = sum(use.searches for use in uses)
        return {
            "uses": tuple(self.uses),
            "source_ids": tuple(self.sources),
            "private": tuple(self.private),
            "offered": tuple(site for link in links for site in sites_of(link)),
            "searches": sum(r.searches for r in results) + lost,
            "failed_searches": sum(r.failed_searches for r in results) + lost,
            "fetches": sum(r.fetches for r in results) + sum(use.fetches for use in uses),
        }


def apart(found: Collected, desk: Desk, held: Mapping[str, Source], *, by_model: bool) -> Collected:
    """Sources by address and text where a model works on tasks: who is shown another text of an address has another
    source, whichever task came first, so that quotes stand in the text that they were taken from. One that the task has
    is what it was. Where no model quotes, what the run has already (``held``) is what it is there."""
    sources = []
    saved = {content.hash for content in found.contents}
    for source in found.sources:
        known = desk.sources.get(source.id)
        own = source_id(f"{source.id} {source.content_hash}")
        if known is not None and known.content_hash == source.content_hash:
            sources.append(source)
        elif by_model or known is not None or own in held:
            sources.append(source.model_copy(update={"id": own}))
        elif source.content_hash in saved or source.id in held:
            sources.append(source)
        else:  # of an address that was read before nothing is saved again
            sources += [s for s in held.values() if _address(s) == _address(source)][:1]
    return replace(found, sources=tuple(sources))


def _address(source: Source) -> str:
    return canonical_url(source.url or "")


def step_of(events: Sequence[Event]) -> TaskStep:
    return next(event.step for event in events if isinstance(event, TaskStepped))
