"""From settings and what was handed over to what tasks work with."""

from __future__ import annotations

from deep_research.assembly.content import content_rules
from deep_research.assembly.given import Given
from deep_research.assembly.source_choice import Sources
from deep_research.budget.metered import ModelRoles
from deep_research.calls import Calls
from deep_research.errors import ConfigurationError
from deep_research.phases.gathering.tasks.data_sources import DataSources
from deep_research.phases.gathering.tasks.resources import TaskParts
from deep_research.phases.gathering.tasks.tool import NAME
from deep_research.phases.gathering.tasks.toolbox import checked_tools
from deep_research.settings import Settings
from deep_research.sources.search import SearchProvider
from deep_research.sources.search.combined_search import CORPUS, WEB
from deep_research.sources.search.policy import Service
from deep_research.state import ModelRole

_ONE_REQUEST = 0.4  # of the time that one operation may take


def make_tasks(
    settings: Settings, given: Given, found: Sources, roles: ModelRoles, calls: Calls
) -> TaskParts:
    """Raises `ConfigurationError` for a tool or a data source that cannot be used."""
    own = {}
    for name, provider in (given.data_sources or {}).items():
        if not NAME.fullmatch(str(name)) or name in (CORPUS, WEB):
            raise ConfigurationError(
                f"'{str(name)[:60]}' is no name of a data source.",
                hint="Names are of small letters, digits and _, begin with a letter, and are not corpus or web.",
            )
        if not isinstance(provider, SearchProvider):
            raise ConfigurationError(
                f"The data source '{name}' is no SearchProvider.", hint="Subclass SearchProvider."
            )
        if settings.local_only and not provider.local:
            raise ConfigurationError(
                f"local_only is set, and the data source '{name}' is not on this machine.",
                hint="Leave it out, or leave local_only out.",
            )
        own[name] = Service.of(provider, calls=calls, timeout=settings.operation_timeout * _ONE_REQUEST)
    return TaskParts(
        sources=DataSources(pool=found.gatherer.pool, own=own),
        reading=found.gatherer.reading,
        tools=checked_tools(given.tools or ()),
        rules=content_rules(settings),
        by_model=bool(roles.chain_of(ModelRole.TASK_AGENT)),
    )
