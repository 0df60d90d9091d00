"""What the tests of phases share: a phase with a model over a journal in memory."""

import asyncio

import pytest

from deep_research.budget.metered import ModelRoles, RunModels
from deep_research.models.model_pool import ModelPool, Shared
from deep_research.models.profiles import Profile
from deep_research.models.retry import Persistence
from deep_research.state.journal import MemoryJournal

LARGE = Profile(context=200_000, output=32_000)


async def at_once(seconds):
    """No test waits for a service to be ready again."""


@pytest.fixture
def work():
    """Runs a phase with a provider; what was recorded is in the journal that it gives."""

    def run(phase, state, provider, *, texts=(), profile=LARGE, journal=None, by_role=None):
        journal = journal or MemoryJournal(state, texts=texts)
        provider.probed = False
        persistence = Persistence(sleep=at_once)
        pool = ModelPool(profiles={provider.name: profile}, common=Shared(), persistence=persistence)
        models = RunModels(ModelRoles(pool=pool, chain=(provider,), by_role=by_role or {}), journal)
        asyncio.run(phase.run(journal.state, journal, models))
        return journal

    return run
