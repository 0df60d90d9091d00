"""From the parts of an engine and the options of a run to what the run may take, and how long the answers of each role's
model may be."""

from __future__ import annotations

from collections.abc import Mapping

from deep_research.assembly.engine_parts import Parts
from deep_research.budget.estimate import Estimate, estimate
from deep_research.budget.metered import ModelRoles
from deep_research.budget.report_cost import AT_ONCE, text_output
from deep_research.budget.request_bounds import Kind, Kinds, Scale
from deep_research.budget.tokens import BYTES_A_TOKEN, Counter
from deep_research.phases import summarizing
from deep_research.phases.analysis import llm as reading
from deep_research.phases.analysis import lost_quotes, merged_readings, reading_choice
from deep_research.phases.gathering.tasks import agent, reviewer
from deep_research.phases.planning import llm as planning
from deep_research.phases.prompting import output_for
from deep_research.phases.refinement import llm as refining
from deep_research.phases.synthesis import claim_verification, repair, sections
from deep_research.settings import Settings
from deep_research.state import PHASE_TO_AGENT, DeepResearchPhase, ModelRole, RunOptions
from deep_research.supervisor import clarifying, reflection

OF_SOURCES = 0.7  # of the room of a request that reads
WORDS_OF_A_CLAIM = 6  # at least, as a rule
EVERYTHING = 1_000_000_000  # tokens


def estimated(parts: Parts, settings: Settings, question: str, options: RunOptions) -> Estimate:
    """Nothing is read, and nobody is asked."""
    kinds = _kinds(parts, settings, options)
    tasks = options.gathering == "agents"
    cap = options.budget.max_iterations
    scale = Scale(
        iterations=min(options.max_iterations, cap) if cap else options.max_iterations,
        sub_queries=options.max_sub_queries,
        steps=options.max_task_steps if tasks else 0,
        retries=options.task_retries if tasks else 0,
        sources=options.max_sources_per_query,
        searched_again=settings.max_rewordings if parts.sources.services else 0,
        first_look=int(kinds.plan is not None and parts.sources.gatherer.asks_web),
        pages=settings.fetch_pages and any(not service.local for service in parts.sources.services),
        prompt=Counter().expected(question) + Counter().expected(options.system_prompt or ""),
        reading=settings.reading_tokens if settings.token_management_enabled else EVERYTHING,
        batch=min(reading.CALL_TOKENS, int(kinds.read.room * OF_SOURCES)) if kinds.read else 0,
        part=summarizing.PART_TOKENS,
        text=int(settings.max_source_bytes / BYTES_A_TOKEN),
        budget=options.budget,
    )
    return estimate(scale, kinds)


def _kinds(parts: Parts, settings: Settings, options: RunOptions) -> Kinds:
    asked = {
        ModelRole(PHASE_TO_AGENT[phase].value)
        for phase, worker in parts.phases.items()
        if phase is not DeepResearchPhase.GATHERING and getattr(worker.agent, "uses_model", False)
    }
    if settings.reflection != "never" or options.clarify != "never":
        asked.add(ModelRole.SUPERVISOR)

    if ModelRole.ANALYZER in asked and parts.models.by_role.get(ModelRole.SUMMARIZER):
        asked.add(ModelRole.SUMMARIZER)

    if parts.models.by_role.get(ModelRole.JUDGE):
        asked.add(ModelRole.JUDGE)
    if options.gathering == "agents" and parts.models.chain_of(ModelRole.TASK_AGENT):
        asked |= {ModelRole.TASK_AGENT, ModelRole.REVIEWER}

    words = options.report_words
    long, most = _in_parts(words), answer_tokens(words)

    def kind(role: ModelRole, output: int | None = None) -> Kind | None:
        return _kind(parts.models, role, output or most[role]) if role in asked else None

    def part(output: int) -> Kind | None:
        return kind(ModelRole.SYNTHESIZER, output) if long else None

    return Kinds(
        plan=kind(ModelRole.PLANNER),
        step=kind(ModelRole.TASK_AGENT),
        review=kind(ModelRole.REVIEWER),
        read=kind(ModelRole.ANALYZER),
        decide=kind(ModelRole.ANALYZER, reading_choice.MOST_OUTPUT) if _triages(settings) else None,
        requote=kind(ModelRole.ANALYZER, lost_quotes.MOST_OUTPUT),
        merge=kind(ModelRole.ANALYZER, merged_readings.MOST_OUTPUT),
        write=None if long else kind(ModelRole.SYNTHESIZER),
        outline=part(sections.OUTLINE_OUTPUT),
        section=part(text_output(sections.section_words(words))),
        frame=part(text_output(sections.FRAME_WORDS)),
        refine=kind(ModelRole.REFINER),
        revise=kind(ModelRole.SYNTHESIZER, text_output(min(words, AT_ONCE))),
        critique=settings.critique,
        repair=kind(ModelRole.SYNTHESIZER, repair.MOST_OUTPUT),
        judge=kind(ModelRole.JUDGE),
        claims=words // WORDS_OF_A_CLAIM,
        advise=kind(ModelRole.SUPERVISOR) if settings.reflection != "never" else None,
        clarify=kind(ModelRole.SUPERVISOR, clarifying.MOST_OUTPUT) if options.clarify != "never" else None,
        shorten=kind(ModelRole.SUMMARIZER),
        advise_always=settings.reflection == "always",
        sections=sections.MOST_SECTIONS if long else 0,
    )


def _triages(settings: Settings) -> bool:
    """Whether a model is asked about sources that code is not sure of."""
    return settings.token_management_enabled and settings.read_sections and settings.model_triage


def _kind(roles: ModelRoles, role: ModelRole, most: int) -> Kind | None:
    """By the first model of the chain, which answers as a rule; what is sent must fit all of them."""
    chain = roles.chain_of(role)
    if not chain:
        return None
    model = roles.pool.language_model(chain)
    output = output_for(model, most)
    return Kind(
        role=role,
        model=model.name,
        room=roles.window(model.profile, output).input,
        output=output,
        price=roles.pool.profile(chain[0]).price,
    )


def answer_tokens(report_words: int) -> Mapping[ModelRole, int]:
    """Tokens, thoughts included, for a report of so many words, or the largest part of it that is written at once."""
    report = text_output(report_words)
    if _in_parts(report_words):
        report = sections.longest_output(report_words)
    return {
        ModelRole.PLANNER: planning.MOST_OUTPUT,
        ModelRole.ANALYZER: reading.MOST_OUTPUT,
        ModelRole.TASK_AGENT: agent.MOST_OUTPUT,
        ModelRole.REVIEWER: reviewer.MOST_OUTPUT,
        ModelRole.SUMMARIZER: summarizing.MOST_OUTPUT,
        ModelRole.SYNTHESIZER: report,
        ModelRole.JUDGE: claim_verification.MOST_OUTPUT,
        ModelRole.REFINER: refining.MOST_OUTPUT,
        ModelRole.SUPERVISOR: reflection.MOST_OUTPUT,
    }


def _in_parts(report_words: int) -> bool:
    """Whether a report is planned and then written in sections."""
    return report_words > AT_ONCE
