"""From settings to language models: which does what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from deep_research.addresses import is_loopback
from deep_research.budget.metered import ModelRoles
from deep_research.budget.tokens import Reasoning
from deep_research.errors import ConfigurationError, UnknownNameError
from deep_research.models.base import ModelProvider
from deep_research.models.model_pool import ModelPool, Named
from deep_research.models.profiles import read_profiles, with_windows
from deep_research.phases.base import Phase
from deep_research.settings import Settings
from deep_research.state import DeepResearchPhase, ModelRole

Models = (
    Named | Sequence[Named]
)  # one model, or a chain of which each is asked when the one before cannot answer
_SIMPLE = (ModelRole.ANALYZER, ModelRole.SUPERVISOR)  # much text and small questions


def make_models(
    settings: Settings, model: Models | None = None, models: Mapping[str, Models] | None = None
) -> ModelRoles:
    """Which models do what. Raises `UnknownNameError`, `ConfigurationError`, `SettingsError`."""
    models = models or {}
    own = read_profiles(settings.model_file) if settings.model_file else {}
    pool = ModelPool(
        profiles=with_windows(own, settings.window.model_tokens),
        at_once=settings.rate_limits.model_concurrency,
        per_minute=settings.rate_limits.model_requests_per_minute,
        record=settings.record_models,
        timeout=settings.operation_timeout,
        unit_timeout=settings.unit_timeout,
        data_dir=settings.data_dir if settings.store == "sqlite" else None,
    )
    known = [role.value for role in ModelRole]
    for role in models:
        if role not in known:
            raise UnknownNameError.of("model role", str(role), known)
    by_role: dict[ModelRole, Sequence[Named]] = {
        ModelRole(role): names for role, names in settings.models.items()
    }
    if settings.summarization.model:
        by_role.setdefault(ModelRole.SUMMARIZER, settings.summarization.model)
    by_role |= {ModelRole(role): _chain(given) for role, given in models.items()}
    chain = settings.model if model is None else _chain(model)
    if settings.cheap_model and chain and (cheaper := pool.profile(chain[0]).cheaper):
        by_role = dict.fromkeys(_SIMPLE, (cheaper, *chain)) | by_role
    if settings.judge == "off":
        by_role.pop(ModelRole.JUDGE, None)
    elif ModelRole.ANALYZER in by_role:
        by_role.setdefault(ModelRole.JUDGE, by_role[ModelRole.ANALYZER])
    return ModelRoles(
        pool=pool,
        chain=chain,
        by_role=by_role,
        margin=settings.window.safety_margin,
        runtime=settings.window.runtime,
        overhead=settings.window.runtime_overhead,
        reasoning=Reasoning(settings.effort, settings.thinking_tokens),
    )


def _chain(given: Models) -> tuple[Named, ...]:
    chain = (given,) if isinstance(given, str | ModelProvider) else tuple(given)
    for model in chain:
        if not isinstance(model, str | ModelProvider):
            raise ConfigurationError(
                f"{model!r} is no model.", hint="Give a name such as 'anthropic:MODEL', or a ModelProvider."
            )
    return chain


def ready(roles: ModelRoles, *, local_only: bool) -> None:
    """Makes every model that is named: a wrong name or a missing key is told now, not in the middle of a run. Raises
    `UnknownNameError`, `ConfigurationError`."""
    for chain in (roles.chain, *roles.by_role.values()):
        for each in chain:
            provider = roles.pool.provider(each)
            if local_only and not _is_here(each, provider):
                raise ConfigurationError(
                    f"local_only is set, and the model '{provider.name}' is not on this machine.",
                    hint="Use a model on this machine, such as ollama:MODEL, or none.",
                )


def _is_here(given: Named, provider: ModelProvider) -> bool:
    """Whether asking it stays on this machine, as far as it shows. A user who passes a provider knows where
    it asks."""
    if provider.base_url:
        return is_loopback(provider.base_url)
    return provider.service == "replay" or not isinstance(given, str)


def with_asked_roles(roles: ModelRoles, phases: Mapping[DeepResearchPhase, Phase]) -> ModelRoles:
    """The same, with which roles are asked. A model that nobody asks would be a mistake that costs nothing and
    surprises. Raises `ConfigurationError`."""
    users = {ModelRole(p.role.value) for p in phases.values() if p.spec.uses_model}
    # The last three in runs with tasks.
    asked = users | {ModelRole.JUDGE, ModelRole.TASK_AGENT, ModelRole.REVIEWER, ModelRole.SUPERVISOR}
    if ModelRole.ANALYZER in users:
        asked.add(ModelRole.SUMMARIZER)
    idle = [role.value for role in roles.by_role if role not in asked and role not in _SIMPLE]
    if idle:
        raise ConfigurationError(
            f"No agent uses the model of the role {idle[0]}.",
            hint=f"These roles use models: {', '.join(sorted(asked)) or 'none here'}.",
        )
    if roles.chain and not users:
        raise ConfigurationError(
            "No agent uses the language model, since you gave all agents.",
            hint="Give an agent with uses_model, or remove the model.",
        )
    return replace(roles, asked=frozenset(asked))
