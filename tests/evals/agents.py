"""How well a model does the work of each agent: every golden handoff is worked on once, and what comes of it is measured.

This is the way to judge a prompt: change it, and see which figures move, with the model that is to be used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import fmean
from typing import Any, TypeVar

from pydantic import BaseModel

from deep_research.assembly import make_models
from deep_research.budget.content_budget import DEFAULTS
from deep_research.budget.metered import ModelRoles, RunModels
from deep_research.errors import DeepResearchError
from deep_research.models.base import Message, ModelCall
from deep_research.models.language_model import Answer, LanguageModel
from deep_research.models.profiles import Profile
from deep_research.models.stream import OnPiece
from deep_research.patterns import regex
from deep_research.phases.analysis import AnalysisPhase
from deep_research.phases.analysis.llm import LLMAnalyzer
from deep_research.phases.base import Phase
from deep_research.phases.planning import PlanningPhase
from deep_research.phases.planning.llm import LLMPlanner
from deep_research.phases.refinement import RefinementPhase
from deep_research.phases.refinement.llm import LLMRefiner
from deep_research.phases.synthesis import SynthesisPhase
from deep_research.phases.synthesis.handoff import JudgeScope
from deep_research.phases.synthesis.llm import LLMSynthesizer
from deep_research.report.references import unmarked
from deep_research.report.report_document import Document
from deep_research.settings import Settings
from deep_research.state import DeepResearchPhase, DeepResearchState, ModelRole
from deep_research.state.journal import MemoryJournal
from deep_research.supervisor.decisions import reflection_prompt
from deep_research.supervisor.phase_work import VALIDATORS
from deep_research.supervisor.reflection import Reflection, reflect
from deep_research.text.language import language_of
from evals.evaluation import ALL, Figures, Progress
from evals.golden import BY_HAND, PHASES, ByHand, Golden, golden

NAME = "agents"
AT_ONCE = 4  # cases that are worked on side by side
WITHIN = (0.6, 1.4)  # of the wanted length, that a report may have
ALIKE = 0.8  # of the words of two sentences that say the same
SHORTEST = 6  # words of a sentence that counts as said twice

_Object = TypeVar("_Object", bound=BaseModel)
_SENTENCE = regex(r"[^.!?\n]+[.!?\n]?")
_WORD = regex(r"\w+")
_AGENTS: dict[str, tuple[Callable[..., Phase], Callable[..., Any]]] = {
    "planner": (PlanningPhase, LLMPlanner),
    "analyzer": (AnalysisPhase, LLMAnalyzer),
    "synthesizer": (partial(SynthesisPhase, judge=JudgeScope.OFF), LLMSynthesizer),
    "refiner": (RefinementPhase, LLMRefiner),
}


async def evaluate_agents(
    settings: Settings,
    *,
    limit: int | None = None,
    jobs: int | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Figures:
    """The figures of all golden handoffs, of the model of each role in ``settings``; without one those of the answers
    written by hand, which are what a good model would give."""
    cases = golden()[:limit]
    roles = make_models(settings)
    by_hand = replace(roles, pool=replace(roles.pool, profiles={**roles.pool.profiles, **BY_HAND}))
    slots = asyncio.Semaphore(jobs or AT_ONCE)
    figures: dict[str, dict[str, float]] = {}
    errors: dict[str, str] = {}

    async def work(case: Golden) -> None:
        async with slots:
            own = roles if roles.chain or roles.by_role else replace(by_hand, chain=(ByHand(case),))
            figures[case.id], error = await _figures(case, own)
        if error:
            errors[case.id] = error
        progress(Progress(done=len(figures), kept=0, total=len(cases)))

    try:
        await asyncio.gather(*(work(case) for case in cases))
    finally:
        await roles.pool.aclose()
    sets = {ALL: [figures[case.id] for case in cases]}
    for agent in dict.fromkeys(case.agent for case in cases):
        sets[agent] = [figures[case.id] for case in cases if case.agent == agent]
    return Figures(
        suite=NAME,
        titles=True,
        jobs=jobs or AT_ONCE,
        sets={name: _means(rows) for name, rows in sets.items()},
        errors=errors,
    )


@dataclass(slots=True)
class _Told:
    """Hands a model on and remembers what it was asked, and how many requests each object took."""

    inner: LanguageModel
    objects: list[int] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def profile(self) -> Profile:
        return self.inner.profile

    def room(self, output: int) -> int:
        return self.inner.room(output)

    async def text(self, call: ModelCall, *, on_piece: OnPiece | None = None) -> Answer[str]:
        self.asked.append(_text_of(call))
        return await self.inner.text(call, on_piece=on_piece)

    async def object(self, call: ModelCall, answer: type[_Object]) -> Answer[_Object]:
        self.asked.append(_text_of(call))
        self.objects.append(0)
        place = len(self.objects) - 1
        given = await self.inner.object(call, answer)
        self.objects[place] = given.requests
        return given

    async def turn(self, call: ModelCall) -> Answer[Message]:
        self.asked.append(_text_of(call))
        return await self.inner.turn(call)


def _text_of(call: ModelCall) -> str:
    return " ".join("\n".join(call.texts).split())


class _Models(RunModels):
    """The models of a run, each remembered."""

    def __init__(self, roles: ModelRoles, journal: MemoryJournal) -> None:
        super().__init__(roles, journal)
        self.told: list[_Told] = []

    def model(self, role: ModelRole, phase: DeepResearchPhase, *, steered: bool = True) -> LanguageModel:
        self.told.append(_Told(super().model(role, phase, steered=steered)))
        return self.told[-1]


async def _figures(case: Golden, roles: ModelRoles) -> tuple[dict[str, float], str]:
    """The figures of one case, and why it failed if it did. A figure that says nothing of an agent is left out."""
    journal = case.journal()
    models = _Models(roles, journal)
    error = ""
    thought: Reflection | None = None
    try:
        if case.agent in PHASES:
            phase_of, agent_of = _AGENTS[case.agent]
            agent = agent_of(replace(DEFAULTS, model_triage=True)) if case.model_triage else agent_of()
            await phase_of(agent).run(journal.state, journal, models)
        else:
            phase = journal.state.phase
            model = models.model(ModelRole.SUPERVISOR, phase)
            thought = await reflect(
                journal.state,
                phase,
                VALIDATORS[phase](journal.state),
                model,
                reflection_prompt(journal.state, phase),
            )
    except DeepResearchError as failure:
        error = failure.problem
    state = journal.state
    objects = [requests for told in models.told for requests in told.objects]
    figures: dict[str, float] = {} if error else measured(case, state, thought)
    if error:
        figures["coverage"] = 0.0
    if case.told or case.untold:
        asked = "\n".join(text for told in models.told for text in told.asked)
        figures["told"] = fmean([x in asked for x in case.told] + [x not in asked for x in case.untold])
    if objects:
        figures["first_try"] = fmean(requests == 1 for requests in objects)
    figures["failed"] = float(bool(error))
    figures["requests"] = float(state.usage.model_calls)
    figures["input_tokens"] = float(state.usage.input_tokens)
    figures["output_tokens"] = float(state.usage.output_tokens)
    return figures, error


def measured(case: Golden, state: DeepResearchState, thought: Reflection | None = None) -> dict[str, float]:
    """What can be said of an outcome by itself. Pure."""
    said = _said(case, state, thought)
    folded = " ".join(said.split()).casefold()
    wanted = [any(word.casefold() in folded for word in fact) for fact in case.facts]
    wanted += [word.casefold() not in folded for word in case.never]
    figures = {"coverage": fmean(wanted), "repetition": repetition(said)}
    if case.held:
        figures["held"] = fmean(word.casefold() not in folded for word in case.held)
    if case.agent != "supervisor":
        figures["language"] = float(language_of(said) == case.written_in)
    metadata = state.report_metadata
    if case.agent == "analyzer":
        figures["citations"] = _share(len(state.findings), state.unfounded + state.unknown_ids)
    elif case.agent == "synthesizer" and metadata is not None:
        figures["citations"] = _share(metadata.citations_count, metadata.removed_references)
        if not case.short:
            figures["length"] = float(WITHIN[0] <= metadata.word_count / case.words <= WITHIN[1])
        if case.draft:
            figures["kept"] = _kept(case, state)
    elif case.agent == "refiner" and case.gaps:
        figures["citations"] = _share(len(state.gap_analysis), state.unknown_ids)
    elif case.agent == "planner":
        planned = len(state.current_sub_queries())
        figures["length"] = float(2 <= planned <= state.max_sub_queries)
    return figures


def repetition(text: str) -> float:
    """The share of the sentences that say what an earlier one says."""
    earlier: list[set[str]] = []
    again = 0
    for match in _SENTENCE.finditer(text):
        words = set(_WORD.findall(match.group().casefold()))
        if len(words) >= SHORTEST:
            again += any(len(words & other) >= ALIKE * len(words | other) for other in earlier)
            earlier.append(words)
    return again / len(earlier) if earlier else 0.0


def _said(case: Golden, state: DeepResearchState, thought: Reflection | None) -> str:
    """What the agent gave, as text."""
    names = {gap.id: f"G{n}" for n, gap in enumerate(state.gaps, 1)}
    if thought is not None:
        return "\n".join([thought.rationale, *thought.quality_assessment.weaknesses, thought.guidance])
    if case.agent == "planner":
        return "\n".join([state.research_brief or "", *(s.query for s in state.current_sub_queries())])
    if case.agent == "analyzer":
        found = [f"{finding.content} ({finding.confidence})" for finding in state.findings]
        filled = [f"(fills {names[gap.id]})" for gap in state.gaps if gap.addressed]
        against = [f"(contradiction: {conflict.description})" for conflict in state.contradictions]
        addresses = {page.url for page in case.pages}
        pages = {source.id: source for source in state.sources if source.url in addresses}
        rated = [f"({page.title}: {page.quality})" for page in pages.values()]
        triage = state.reading.triage if state.reading else ()
        read = [f"(read of {pages[x.source_id].title}: {x.extent})" for x in triage if x.source_id in pages]
        return "\n".join([*found, *filled, *against, *rated, *read])
    if case.agent == "synthesizer":
        return (state.report or "").split("\n## References")[0]
    lines = [state.recommendation.rationale if state.recommendation else "", *state.report_improvements]
    lines += [f"({each.kind}: {each.heading}: {each.sentence} {each.advice})" for each in state.remarks]
    for gap in state.gap_analysis:
        lines += [query.query for query in gap.follow_up_queries]
        lines += [] if gap.addressable else [f"({names[gap.gap_id]} cannot be filled)"]
    going_on = state.recommendation is not None and state.recommendation.should_iterate
    return "\n".join([*lines, "(another round)" if going_on else "(no further round)"])


def _kept(case: Golden, state: DeepResearchState) -> float:
    """The share of the sections that nobody remarked on which are in the report as they were."""
    remarked = {remark.heading for remark in case.remarks}
    now = {
        section.heading: section.markdown.strip()
        for section in Document.read(unmarked(state.report_draft)).sections
    }
    draft = Document.read(case.draft_of(case.journal().state.findings))
    before = [each for each in draft.sections if each.heading]
    return fmean(
        now.get(each.heading) == each.markdown.strip() for each in before if each.heading not in remarked
    )


def _share(right: int, wrong: int) -> float:
    return right / (right + wrong) if right + wrong else 0.0


def _means(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    """Means of the figures that a row has; failures are counted."""
    order = (
        "citations",
        "coverage",
        "repetition",
        "length",
        "kept",
        "language",
        "held",
        "told",
        "first_try",
        "requests",
        "input_tokens",
        "output_tokens",
    )
    means = {name: fmean(row[name] for row in rows if name in row) for name in order if _any(rows, name)}
    return {"cases": len(rows), "failed": int(sum(row["failed"] for row in rows)), **means}


def _any(rows: Sequence[dict[str, float]], name: str) -> bool:
    return any(name in row for row in rows)
