"""The checks of `doctor` that follow from the settings: models, search, servers, tokens and the archive."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deep_research.errors import ConfigurationError, DeepResearchError, ModelError, RemoteError
from deep_research.presentation import phrases
from deep_research.settings import Settings
from deep_research.state import ModelRole
from deep_research.state.setup import ROLES_WITH_OWN_MODEL_ONLY

if TYPE_CHECKING:
    from deep_research.budget.metered import ModelRoles
    from deep_research.models.model_pool import ModelPool
    from deep_research.models.profiles import Profile
    from deep_research.sources.mcp import McpConnection
    from deep_research.sources.search.policy import Service
    from deep_research.sources.search.service_choice import ServiceChoice

OK, NOTE, BROKEN = "ok", "note", "broken"
MIN_CONTENT_SHARE = 0.25  # of a window; what is left of it for content below that is a note
_PROBE_QUERY = "lighthouse"
_TOKENS = "tokens"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at: ``state`` is ok, note or broken."""

    name: str
    state: str
    detail: str


# Models


def models(settings: Settings, *, probe: bool) -> Iterator[Check]:
    """Yield the known services, then one check for each chosen model and one for its probe result. ``probe`` sends
    requests now."""
    from deep_research.assembly import make_models
    from deep_research.models.registry import known_services

    yield Check("models", OK, f"services known: {', '.join(sorted(known_services()))}")
    chains = {"": settings.model, **settings.models}
    if not any(chains.values()):
        yield Check("models", OK, "no model: the extractive agents need none")
        return
    roles = make_models(settings)
    for role, chain in chains.items():
        for name in chain:
            yield from _model(roles.pool, name, role, probe=probe)


def _model(pool: ModelPool, name: str, role: str, *, probe: bool) -> Iterator[Check]:
    try:
        provider, profile = pool.provider(name), pool.profile(name)
    except DeepResearchError as error:
        yield Check("model", BROKEN, str(error))
        return
    of = f" for the {role}" if role else ""
    problem: ModelError | None = None
    if probe:
        try:
            asyncio.run(_probed_model(pool, name))
        except ModelError as error:
            problem = error
        profile = pool.profile(name)  # with the window that the server says it has
    yield Check("model", OK, f"{provider.identity}{of}: {_profile(profile)}")
    if problem is not None:
        yield Check("model", BROKEN, f"{problem}")
        return
    report = pool.probes.known_probe().get(provider.identity)
    if report is not None:
        works = [rung for rung, usable in report.rungs.items() if usable]
        ways = f"answers by {', '.join(works)}" if works else "gives no usable object"
        fails = ", ".join(rung for rung, usable in report.rungs.items() if not usable)
        ways += f"; not by {fails}" if fails else ""
        ways += "" if report.usage else "; does not count tokens"
        asked = f"asked {report.at:%Y-%m-%d}, {report.seconds:.1f} s"
        yield Check("model", OK if works else NOTE, f"{report.name}: {ways} ({asked})")
    elif provider.probed and profile.forms is None:
        yield Check("model", NOTE, f"{provider.identity}: not asked yet; doctor --probe does")


async def _probed_model(pool: ModelPool, name: str) -> None:
    from deep_research.models.probe import probe
    from deep_research.models.retry import Persistence

    provider = pool.provider(name)
    try:
        await pool.windows.ask(provider)
        report = await probe(
            provider, pool.profile(name), pool.common.abilities, Persistence(), seconds=pool.timeout
        )
        pool.probes.remember(report)
    finally:
        await pool.aclose()


def _profile(profile: Profile) -> str:
    price = profile.price
    cost = "price unknown"
    if price is not None:
        cost = f"${price.input:g} and ${price.output:g} a million tokens in and out"
        cost = cost if price.input or price.output else "free"
    dated = f" ({profile.as_of:%Y-%m-%d})" if profile.as_of and price and price.input else ""
    return f"window {profile.context:,}, answers to {profile.output:,} tokens; {cost}{dated}"


# Search


def search(settings: Settings, *, probe: bool) -> Iterator[Check]:
    """One line for what a run would search, another for each service. ``probe`` asks each that a run would ask."""
    from deep_research.sources.search.combined_search import listed
    from deep_research.sources.search.service_choice import services_in_order

    if settings.local_only:
        yield _local_only(settings)
        return
    choice = chosen_services(settings)
    names = (["the documents"] if settings.corpus else []) + [service.name for service in choice.services]
    nothing = "nothing to search yet: add --corpus PATH, --sample or --search web"
    yield Check("search", OK if names else NOTE, f"a run asks {listed(names)}" if names else nothing)
    by_name = {service.name: service for service in choice.services}
    for name in services_in_order(settings.search_urls):
        yield _service(name, settings, is_named=name in settings.search)
        if probe and name in by_name:
            yield asyncio.run(_probed_service(by_name[name]))


def chosen_services(settings: Settings) -> ServiceChoice:
    """What a run would ask. Raises `UnknownNameError`, `ConfigurationError`."""
    from deep_research.assembly.mcp_choice import McpConnections
    from deep_research.calls import Calls
    from deep_research.sources.search.service_choice import choose_services

    return choose_services(
        settings.search,
        documents=bool(settings.corpus),
        urls=settings.search_urls,
        calls=Calls(),
        timeout=settings.operation_timeout,
        per_minute=settings.rate_limits.search_requests_per_minute,
        connect=McpConnections(settings.mcp_servers).connection,
    )


def _local_only(settings: Settings) -> Check:
    from deep_research.sources.search.service_choice import CORPUS

    elsewhere = [name for name in settings.search if name != CORPUS]
    if elsewhere:
        return Check("search", BROKEN, f"local_only is set, and '{elsewhere[0]}' is not on this machine")
    if not settings.corpus:
        return Check("search", NOTE, "nothing to search yet: local_only is set; add --corpus PATH")
    return Check("search", OK, "only the documents: local_only is set")


def _service(name: str, settings: Settings, *, is_named: bool) -> Check:
    from deep_research.sources.search.providers import needs
    from deep_research.sources.search.service_choice import has_key

    variables = needs(name)
    where = f", at {settings.search_urls[name]}" if name in settings.search_urls else ""
    missing = () if name in settings.search_urls and len(variables.required) == 1 else variables.missing()
    if missing:
        return Check(name, BROKEN if is_named else OK, f"not ready: set {' and '.join(missing)}")
    if has_key(name):
        return Check(name, OK, f"ready, with a key{where}")
    optional = f"; {' or '.join(variables.optional)} may be set" if variables.optional else ""
    return Check(name, OK, f"ready, needs no key{where}{optional}")


async def _probed_service(service: Service) -> Check:
    from deep_research.sources.search import SearchRequest

    began = time.monotonic()
    try:
        results = await service.search(SearchRequest(query=_PROBE_QUERY, limit=3), last=True)
    except DeepResearchError as error:
        return Check(service.name, BROKEN, str(error).removeprefix(f"{service.name}: "))
    finally:
        await service.provider.aclose()
    return Check(
        service.name,
        OK if results else NOTE,
        f"answered in {time.monotonic() - began:.1f} s with {phrases.count(len(results), 'result')}",
    )


# Servers


def destination_checks(settings: Settings) -> Iterator[Check]:
    """One line for each server that a run asks; a note where a key goes to another server than its service's own."""
    from deep_research.assembly import destinations, make_models

    # Wrong names and keys are already reported by `models` and `search`.
    with suppress(DeepResearchError):
        services = () if settings.local_only else chosen_services(settings).services
        for each in destinations(settings, make_models(settings), services):
            key = f", with {each.key}" if each.key else ""
            state = NOTE if each.is_stranger and each.key else OK
            yield Check("requests", state, f"{each.server} for {', '.join(each.uses)}{key}")


# Tokens


def windows(settings: Settings) -> Iterator[Check]:
    """One line for each role that has a model, and one for shortening texts."""
    from deep_research.assembly import make_models
    from deep_research.assembly.run_estimate import answer_tokens

    if not settings.model and not settings.models:
        yield Check(_TOKENS, OK, "no model, so no window to fit")
        return
    roles = make_models(settings)
    alike: dict[Check, list[str]] = {}
    for role, most in answer_tokens(settings.report_words).items():
        if roles.by_role.get(role) or (roles.chain and role not in ROLES_WITH_OWN_MODEL_ONLY):
            try:
                check = _window(roles, role, most, settings)
            except DeepResearchError as error:
                check = Check(_TOKENS, BROKEN, str(error))
            alike.setdefault(check, []).append(role.value)
    for check, of in alike.items():
        yield Check(_TOKENS, check.state, f"{', '.join(of)}: {check.detail}")
    # A wrong name is already reported with the role of the summarizer.
    with suppress(DeepResearchError):
        yield _shortening(roles, settings)


def _window(roles: ModelRoles, role: ModelRole, most: int, settings: Settings) -> Check:
    from deep_research.phases.prompting import output_for

    model = roles.pool.language_model(roles.chain_of(role))
    window = roles.window(model.profile, output_for(model, most))
    origin = (
        "window.runtime_overhead" if settings.window.runtime_overhead is not None else settings.window.runtime
    )
    is_overridden = any(map(model.name.startswith, settings.window.model_tokens))
    override = " (window.model_tokens)" if is_overridden else ""
    summary = (
        f"{window.input:,} of the {window.context:,} tokens{override} of {model.name} are for"
        f" content: overhead {window.overhead:,} ({origin}), answer {window.output:,}, margin {100 * window.margin:g} %"
    )
    if not window.input:
        remedy = "lower window.runtime_overhead, or choose a model with a larger window"
        return Check(_TOKENS, BROKEN, f"{summary}. No request can be made: {remedy}")
    if window.input >= MIN_CONTENT_SHARE * window.context:
        return Check(_TOKENS, OK, summary)
    return Check(_TOKENS, NOTE, f"{summary}. That is less than a quarter: lower window.runtime_overhead")


def _shortening(roles: ModelRoles, settings: Settings) -> Check:
    """Who chooses what is kept of texts that are too long."""
    if not settings.window.enabled:
        return Check(_TOKENS, NOTE, "window.enabled is off: requests that do not fit a window fail")
    chain = roles.by_role.get(ModelRole.SUMMARIZER, ())
    who = ", then ".join(roles.pool.provider(name).name for name in chain)
    reading = f"a round reads {settings.reading.tokens:,} tokens of sources; more is shortened"
    return Check(_TOKENS, OK, f"{reading} by {who}" if who else f"{reading} without a model")


# Archive


def archive(settings: Settings) -> Iterator[Check]:
    """One line for the archive of what is left out, and what is wrong with it."""
    from deep_research.assembly import archive_folder, make_archive
    from deep_research.budget.accounting import LARGE_ARCHIVE

    folder, name = archive_folder(settings), "archive"
    entries = make_archive(settings).list()
    if not entries and not settings.content_archive.enabled:
        yield Check(name, OK, "off; content_archive.enabled would keep the originals of dropped texts")
        return
    size = sum(entry.size for entry in entries)
    retention = f"kept for {settings.content_archive.ttl_hours:g} hours"
    off = "" if settings.content_archive.enabled else "; content_archive.enabled is off"
    many = f"{phrases.count(len(entries), 'text')}, {phrases.in_bytes(size)}"
    yield Check(name, OK, f"{many} in {folder}, {retention}{off}")
    if size > LARGE_ARCHIVE:
        yield Check(name, NOTE, "it is large: lower content_archive.ttl_hours, then run archive clean")
    if settings.content_archive.enabled and not can_be_written(folder):
        yield Check(name, BROKEN, f"{folder} cannot be written; set content_archive.dir to another folder")


# MCP servers


def mcp_servers(settings: Settings, *, probe: bool) -> Iterator[Check]:
    """One line for each server; ``probe`` starts or asks it, and tells which of its tools may be called."""
    if settings.local_only:
        return
    from deep_research.assembly.mcp_choice import McpConnections

    connections = McpConnections(settings.mcp_servers)
    for name, server in settings.mcp_servers.items():
        try:
            connection = connections.connection(name)
        except ConfigurationError as error:
            yield Check(f"mcp:{name}", BROKEN, str(error))
            continue
        if not server.callable_tools:
            yield Check(f"mcp:{name}", NOTE, "not used: name the tools that may be called (tools)")
        elif probe:
            yield from asyncio.run(_probed_mcp_server(connection))
        else:
            yield Check(f"mcp:{name}", OK, f"may be asked for {', '.join(server.callable_tools)}")


async def _probed_mcp_server(connection: McpConnection) -> list[Check]:
    from deep_research.sources.mcp.mcp_listing import refusal

    place = f"mcp:{connection.name}"
    try:
        listed = await connection.tools()
    except RemoteError as error:
        return [Check(place, BROKEN, str(error).removeprefix(f"{place}: "))]
    finally:
        await connection.aclose()
    checks = []
    for name in connection.server.callable_tools:
        pinned = "pinned" if name in connection.server.pins else "not pinned"
        if why := refusal(connection.server, name, listed):
            checks.append(Check(place, NOTE, f"{name} is not called: {why}"))
        else:
            checks.append(Check(place, OK, f"{name} may be called, {pinned}: {listed[name].hash}"))
    return checks


# Paths


def nearest(folder: Path) -> Path:
    """The folder, or the nearest place above it that exists."""
    return next(place for place in (folder, *folder.parents) if place.exists())


def can_be_written(folder: Path) -> bool:
    return nearest(folder).is_dir() and os.access(nearest(folder), os.W_OK | os.X_OK)
