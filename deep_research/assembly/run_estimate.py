"""From the parts of an engine and the options of a run to what the run may take, and how long the answers of each role's
model may be.

Documents are searched as the run will search them, by its plan or by one that is made without a model; what a model
would read of what is found is counted. Of the web nothing is asked: there the usual stands for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from deep_research.assembly.content import content_rules
from deep_research.assembly.engine_parts import CORPUS_AGE_SECONDS, Parts
from deep_research.assembly.usual_requests import HIGH, LOW, UsualRequests, Work, tokens_of
from deep_research.budget.estimate import AT_ONCE, Estimate, Range, RoleModel, estimate, text_output
from deep_research.budget.tokens import Counter
from deep_research.errors import ConfigurationError, WorkError
from deep_research.logs import describe_error, get_log
from deep_research.phases import summarizing
from deep_research.phases.analysis import AnalysisPhase, ExtractiveAnalyzer
from deep_research.phases.analysis import llm as reading
from deep_research.phases.base import WorkLimits
from deep_research.phases.gathering import GatheringPhase, SearchGatherer
from deep_research.phases.gathering.tasks import agent, task_review
from deep_research.phases.planning import ExtractivePlanner, PlanningPhase
from deep_research.phases.planning import llm as planning
from deep_research.phases.prompting import output_for
from deep_research.phases.refinement import llm as refining
from deep_research.phases.synthesis import judge, sections
from deep_research.state import (
    PHASE_TO_AGENT,
    Budget,
    DeepResearchPhase,
    DeepResearchState,
    ModelRole,
    RunOptions,
    SubQuery,
)
from deep_research.state.events import PlanMade, RunCreated
from deep_research.state.journal import MemoryJournal
from deep_research.state.run import AUTO, MAX_SUB_QUERIES
from deep_research.supervisor import reflection

SOURCES_SHARE = 0.7  # of the room of a request that reads
MIN_QUERIES = 2  # of a plan
USUAL_TOKENS = (250, 900)  # that are read of a page of the web, at the low and the high end
MORE_READ_RATIO = 1.3  # times as much as code foresees, at the high end: a model plans otherwise
LESS_READ_RATIO = 0.5
PAGES_PER_SOURCE = 2  # times as many pages are looked at as are wanted
TOOL_USES_PER_STEP = 4  # of tools in a step of a task
log = get_log("estimate")


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The sources of which something is read in the first round, and how many tokens that is."""

    sources: int
    tokens: int


async def estimated(
    parts: Parts, question: str, options: RunOptions, sub_queries: Sequence[SubQuery] = ()
) -> Estimate:
    """By the plan of the run, where there is one. Nobody is asked; documents are brought up to date as before a run."""
    models = _role_models(parts, options)
    rehearsal = await _foresee(parts, question, options, sub_queries) if models else None
    reader = models.get(ModelRole.ANALYZER)
    planned = len(sub_queries) or await _planned(parts, question, options)
    work = Work(
        options=options,
        settings=parts.settings,
        queries=planned,
        call=min(reading.CALL_TOKENS, int(reader.room * SOURCES_SHARE)) if reader else 0,
        prompt=tokens_of(question) + tokens_of(options.system_prompt or ""),
    )
    shorter = replace(work, queries=planned if sub_queries else MIN_QUERIES)
    return estimate(
        list(UsualRequests(_with_material(shorter, parts, rehearsal, at_most=False), models, LOW)),
        list(UsualRequests(_with_material(work, parts, rehearsal, at_most=True), models, HIGH)),
        list(models.values()),
        iterations=work.iterations,
        searches=_searches(parts, work),
        fetches=_fetches(parts, work),
        budget=options.budget,
    )


async def _planned(parts: Parts, question: str, options: RunOptions) -> int:
    """How many sub-queries a plan may have; where the planner decides, as many as it makes of the question, if it asks
    nobody."""
    if options.max_sub_queries != AUTO:
        return options.max_sub_queries
    if parts.phases[DeepResearchPhase.PLANNING].spec.name != ExtractivePlanner.name:
        return MAX_SUB_QUERIES
    corpus, calls = parts.sources.corpus, parts.calls
    try:
        if corpus is not None:
            await calls(partial(corpus.prepare, max_age=CORPUS_AGE_SECONDS))
        journal = MemoryJournal()
        await journal.record(RunCreated(research_id="", query=question, options=options))
        await journal.enter(DeepResearchPhase.PLANNING)
        look = SearchGatherer(corpus=corpus, calls=calls).look
        await PlanningPhase(ExtractivePlanner(), limits=WorkLimits(calls=calls), look=look).run(
            journal.state, journal
        )
    except (ConfigurationError, WorkError) as error:  # the run will say so
        log.info("not_foreseen", error=describe_error(error))
        return MAX_SUB_QUERIES
    return len(journal.state.pending_sub_queries())


async def of_plan(parts: Parts, state: DeepResearchState) -> dict[str, Any]:
    """What a run may take by its plan, as data for who is to agree to it, and what it has taken by now."""
    forecast = await estimated(parts, state.query, state.options, state.pending_sub_queries())
    return {
        "searches": forecast.searches.model_dump(),
        "fetches": forecast.fetches.model_dump(),
        "model_calls": forecast.model_calls.model_dump(),
        "tokens": forecast.tokens.model_dump(),
        "usd": forecast.cost_usd.model_dump() if forecast.cost_usd is not None else None,
        "set_aside": forecast.set_aside.model_dump(include={"model_calls", "tokens", "cost_usd"}),
        "spent": {
            "model_calls": state.usage.model_calls,
            "tokens": state.usage.input_tokens + state.usage.output_tokens,
            "usd": state.usage.cost_usd,
        },
        "notes": list(forecast.notes),
    }


async def _foresee(
    parts: Parts, question: str, options: RunOptions, sub_queries: Sequence[SubQuery]
) -> Rehearsal | None:
    """What the documents have; None without any that can be searched."""
    if parts.sources.corpus is None:
        return None
    try:
        await parts.calls(partial(parts.sources.corpus.prepare, max_age=CORPUS_AGE_SECONDS))
        return await _rehearse(parts, question, options, sub_queries)
    except (ConfigurationError, WorkError) as error:  # the run will say so
        log.info("not_foreseen", error=describe_error(error))
        return None


async def _rehearse(
    parts: Parts, question: str, options: RunOptions, sub_queries: Sequence[SubQuery]
) -> Rehearsal:
    limits = WorkLimits(calls=parts.calls)
    gatherer = SearchGatherer(corpus=parts.sources.corpus, calls=parts.calls)
    journal = MemoryJournal()
    alone = options.model_copy(update={"gathering": "search", "budget": Budget()})
    await journal.record(RunCreated(research_id="", query=question, options=alone))
    await journal.enter(DeepResearchPhase.PLANNING)
    if sub_queries:
        await journal.record(PlanMade(research_brief="", sub_queries=tuple(sub_queries)))
    else:
        planner = PlanningPhase(ExtractivePlanner(), limits=limits, look=gatherer.look)
        await planner.run(journal.state, journal)
    await journal.enter(DeepResearchPhase.GATHERING)
    await GatheringPhase(gatherer, limits=limits).run(journal.state, journal)
    await journal.enter(DeepResearchPhase.ANALYSIS)
    phase = AnalysisPhase(ExtractiveAnalyzer(), limits=limits)
    counter = Counter(None, "4.0 bytes", 4.0)
    sizes = await phase.sizes(journal, content_rules(parts.settings), counter)
    return Rehearsal(len(sizes), sum(sizes.values()))


def _with_material(work: Work, parts: Parts, rehearsal: Rehearsal | None, *, at_most: bool) -> Work:
    """The work with what is read in the first round: of documents as rehearsed, of other sources as usual."""
    options, settings, sources, tokens = work.options, work.settings, 0, 0.0
    if rehearsal is not None:
        sources, tokens = (
            rehearsal.sources,
            rehearsal.tokens * (MORE_READ_RATIO if at_most else LESS_READ_RATIO),
        )
    if parts.sources.services or rehearsal is None:
        queries = _capped(work.queries, options.budget.max_searches)
        others = queries * options.max_sources_per_query if at_most else queries
        sources, tokens = sources + others, tokens + others * USUAL_TOKENS[at_most]
    most = settings.reading.tokens if settings.window.enabled else tokens
    cut = tokens if tokens > most else 0
    return replace(work, sources=sources, tokens=int(min(tokens, most)), cut=int(cut))


def _searches(parts: Parts, work: Work) -> Range:
    """Other words are looked for in the first round alone; a plan may have a look at the web before it. A step of a task
    may make as many searches as it has uses."""
    options = work.options
    first_look = int(bool(parts.models.chain_of(ModelRole.PLANNER)) and parts.sources.gatherer.asks_web)
    planned, again = work.iterations * work.queries, work.settings.max_rewordings * work.queries
    if options.gathering == "agents":
        tries = options.tasks.max_waves * (1 + options.task_retries)
        planned, again = planned * options.tasks.max_steps * TOOL_USES_PER_STEP * tries, 0
    high = _capped(first_look + planned + again * bool(parts.sources.services), options.budget.max_searches)
    return Range(low=min(1, high), high=high)


def _fetches(parts: Parts, work: Work) -> Range:
    pages = work.settings.fetch.enabled and any(not service.local for service in parts.sources.services)
    page_count = PAGES_PER_SOURCE * work.iterations * work.queries * work.options.max_sources_per_query
    return Range(high=_capped(page_count, work.options.budget.max_fetches) if pages else 0)


def _capped(number: int, cap: int | None) -> int:
    return number if cap is None else min(number, cap)


def _role_models(parts: Parts, options: RunOptions) -> dict[ModelRole, RoleModel]:
    """The roles whose models are asked; by the first model of the chain, which answers as a rule."""
    return {
        role: _model(parts, role, answer_tokens(options.report_words)[role])
        for role in _roles(parts, options)
        if parts.models.chain_of(role)
    }


def _roles(parts: Parts, options: RunOptions) -> Iterator[ModelRole]:
    thinking = [
        ModelRole(PHASE_TO_AGENT[phase].value)
        for phase, worker in parts.phases.items()
        if phase is not DeepResearchPhase.GATHERING and worker.spec.uses_model
    ]
    yield from thinking
    leads = options.gathering == "agents" and options.tasks.max_waves > 1
    if parts.settings.reflection != "never" or options.clarify != "never" or leads:
        yield ModelRole.SUPERVISOR
    if ModelRole.ANALYZER in thinking and parts.models.by_role.get(ModelRole.SUMMARIZER):
        yield ModelRole.SUMMARIZER
    if parts.settings.judge != "off" and parts.models.chain_of(ModelRole.JUDGE):
        yield ModelRole.JUDGE
    if options.gathering == "agents":
        yield ModelRole.TASK_AGENT
        yield ModelRole.REVIEWER


def _model(parts: Parts, role: ModelRole, most: int) -> RoleModel:
    roles = parts.models
    chain = roles.chain_of(role)
    model = roles.pool.language_model(chain)
    output = output_for(model, most)
    return RoleModel(
        role=role,
        model=model.name,
        room=roles.window(model.profile, output).input,
        output=output,
        price=roles.pool.profile(chain[0]).price,
    )


def answer_tokens(report_words: int) -> Mapping[ModelRole, int]:
    """Tokens, thoughts included, for a report of so many words, or the largest part of it that is written at once."""
    report = text_output(report_words)
    if report_words > AT_ONCE:
        report = sections.longest_output(report_words)
    return {
        ModelRole.PLANNER: planning.MAX_OUTPUT_TOKENS,
        ModelRole.ANALYZER: reading.MAX_OUTPUT_TOKENS,
        ModelRole.TASK_AGENT: agent.MAX_OUTPUT_TOKENS,
        ModelRole.REVIEWER: task_review.MAX_OUTPUT_TOKENS,
        ModelRole.SUMMARIZER: summarizing.MAX_OUTPUT_TOKENS,
        ModelRole.SYNTHESIZER: report,
        ModelRole.JUDGE: judge.MAX_OUTPUT_TOKENS,
        ModelRole.REFINER: refining.MAX_OUTPUT_TOKENS,
        ModelRole.SUPERVISOR: max(reflection.MAX_OUTPUT_TOKENS, reflection.LEAD_OUTPUT_TOKENS),
    }
