"""What `doctor` says of language models: which are chosen, what is known of them, and what they turned out to do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

from deep_research.errors import DeepResearchError, ModelError
from deep_research.interfaces.cli.check import BROKEN, NOTE, OK, Check
from deep_research.settings import Settings

if TYPE_CHECKING:
    from deep_research.models.model_pool import ModelPool
    from deep_research.models.profiles import Profile


def models(settings: Settings, *, probe: bool) -> Iterator[Check]:
    """One line for each chosen model, another for what a probe found. ``probe`` asks them now."""
    from deep_research.assembly import make_models
    from deep_research.models.registry import known_services

    yield Check("models", OK, f"services known: {', '.join(sorted(known_services()))}")
    chains = {"": settings.model, **settings.models}
    if not any(chains.values()):
        yield Check("models", OK, "none chosen: the extractive agents need none")
        return
    roles = make_models(settings)
    for role, chain in chains.items():
        for name in chain:
            yield from _one(roles.pool, name, role, probe=probe)


def _one(pool: ModelPool, name: str, role: str, *, probe: bool) -> Iterator[Check]:
    try:
        provider, profile = pool.provider(name), pool.profile(name)
    except DeepResearchError as error:
        yield Check("model", BROKEN, str(error))
        return
    of = f" for the {role}" if role else ""
    problem: ModelError | None = None
    if probe:
        try:
            asyncio.run(_asked(pool, name))
        except ModelError as error:
            problem = error
        profile = pool.profile(name)  # with the window that the server says it has
    yield Check("model", OK, f"{provider.identity}{of}: {_described(profile)}")
    if problem is not None:
        yield Check("model", BROKEN, f"{problem}")
        return
    found = pool.probes.known().get(provider.identity)
    if found is not None:
        works = [rung for rung, usable in found.rungs.items() if usable]
        state = OK if works else NOTE
        ways = f"answers by {', '.join(works)}" if works else "gives no object that can be used"
        fails = [rung for rung, usable in found.rungs.items() if not usable]
        yield Check(
            "model",
            state,
            f"{found.name}: {ways}"
            + (f"; not by {', '.join(fails)}" if fails else "")
            + ("" if found.usage else "; does not count tokens")
            + f" (asked {found.at:%Y-%m-%d}, {found.seconds:.1f} s)",
        )
    elif provider.probed and profile.forms is None:
        yield Check("model", NOTE, f"{provider.identity}: not asked yet; doctor --probe asks it")


async def _asked(pool: ModelPool, name: str) -> None:
    from deep_research.models.probe import probe
    from deep_research.models.retry import Persistence

    provider = pool.provider(name)
    try:
        await pool.windows.ask(provider)
        found = await probe(
            provider, pool.profile(name), pool.common.abilities, Persistence(), seconds=pool.timeout
        )
        pool.probes.remember(found)
    finally:
        await pool.aclose()


def _described(profile: Profile) -> str:
    price = profile.price
    cost = "price unknown"
    if price is not None:
        cost = f"${price.input:g} and ${price.output:g} a million tokens in and out"
        cost = cost if price.input or price.output else "free"
    dated = f" ({profile.as_of:%Y-%m-%d})" if profile.as_of and price and price.input else ""
    return f"window {profile.context:,}, answers to {profile.output:,} tokens; {cost}{dated}"
