"""Detects options that no agent of a run supports. Pure.

Agents of ours support them by whether they ask a model; those that a caller handed over are taken to support all.
"""

from __future__ import annotations

from collections.abc import Iterator

from deep_research.assembly.engine_parts import Parts
from deep_research.setting_fields import fields_by_path, value_at
from deep_research.state import PHASE_TO_AGENT, AgentRole, DeepResearchPhase, ModelRole, Notice, RunOptions

OPTION = "option"  # the name of the notices that tell of them
_CONDENSING = (DeepResearchPhase.ANALYSIS, DeepResearchPhase.SYNTHESIS, DeepResearchPhase.REFINEMENT)


def without_effect(options: RunOptions, parts: Parts) -> tuple[Notice, ...]:
    """A notice for each option that was given and has no effect on a run that is worked on with these parts, with the
    reason."""
    reasons = dict(_reasons(parts, options))
    return tuple(
        Notice(name=OPTION, message=f"{name} has no effect: {reasons[name]}.")
        for name, field in fields_by_path(RunOptions).items()
        if name in reasons and value_at(options, name) != field.default
    )


def _reasons(parts: Parts, options: RunOptions) -> Iterator[tuple[str, str]]:
    """The reason why an option has no effect, by its name."""
    if not any(_supports(parts, phase) for phase in parts.phases) and not _reflects(parts):
        yield "system_prompt", "no agent works with a language model"
    if not _supports(parts, DeepResearchPhase.SYNTHESIS):
        words = "the report is written without a language model, in the words of its sources"
        yield "language", words
        yield "audience", words
    if options.gathering != "agents":
        words = "sub-queries are searched, and not worked on as tasks"
        for name in fields_by_path(RunOptions):
            if name.startswith("tasks.") and name != "tasks.max_seconds":
                yield name, words
    if not _keeps_language(parts):
        yield "source_language", "nothing that is searched can be asked for a language"
    if not any(_supports(parts, phase) for phase in _CONDENSING):
        yield "protected_sources", "nothing is shortened or left out for a language model"
    elif not parts.settings.window.enabled and not any(_is_own(parts, p) for p in _CONDENSING):
        yield "protected_sources", "window.enabled is off, so nothing is shortened or left out"


def _supports(parts: Parts, phase: DeepResearchPhase) -> bool:
    return _is_own(parts, phase) or parts.phases[phase].spec.uses_model


def _is_own(parts: Parts, phase: DeepResearchPhase) -> bool:
    """Whether the agent was handed over."""
    return PHASE_TO_AGENT[phase].value in parts.setup.agents


def _reflects(parts: Parts) -> bool:
    return bool(parts.models.chain_of(ModelRole.SUPERVISOR)) and parts.settings.reflection != "never"


def _keeps_language(parts: Parts) -> bool:
    return AgentRole.GATHERER.value in parts.setup.agents or any(
        getattr(service.provider, "keeps_language", False) for service in parts.sources.services
    )
