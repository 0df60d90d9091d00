"""Discovery of capabilities: asks services for their offers, and adds those of packages and of this engine."""

from __future__ import annotations

import asyncio
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import httpx
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from deep_research.addresses import is_loopback
from deep_research.calls import run_here
from deep_research.capabilities.capability import Capability
from deep_research.capabilities.offers import NAME_PATTERN, AgentOffers, CapabilityOffer, OwnPath
from deep_research.capabilities.remote_capability import CALL_SECONDS, MAX_ANSWER_BYTES, RemoteCapability
from deep_research.capabilities.research_contract import RESEARCH
from deep_research.client.connection import Connection
from deep_research.errors import ConfigurationError, DeepResearchError
from deep_research.files import read_regular
from deep_research.logs import register_secret

GROUP = "deep_research.capabilities"
URL_VARIABLE, TOKEN_VARIABLE = "RESEARCHER_SERVICE_URL", "RESEARCHER_SERVICE_TOKEN"
DEFAULT_URL = "http://localhost:8001"
MAX_FILE_BYTES = 1_000_000
DISCOVERY_SECONDS, PROBE_SECONDS = 10.0, 1.0
CONNECT_SECONDS = 10.0
MAX_CALL_TRIES = (
    9  # of a request to a service that is not reached: about 20 seconds, while it may start again
)

_Name = Annotated[str, Field(pattern=NAME_PATTERN)]


def _address(url: str) -> str:
    """Raises `ValueError`."""
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise ValueError(str(error)) from None
    if parts.scheme not in ("http", "https") or not parts.host or parts.query or parts.fragment:
        raise ValueError("It is not an address such as http://localhost:8001.")
    if parts.userinfo:
        raise ValueError("An address cannot hold a password; use token_variable.")
    return url


class AgentService(BaseModel):
    """A service with capabilities, as the user names it. ``token_variable`` is the variable of the environment with the
    token for it. ``capabilities`` are those that are used, by name; empty: all that it offers. What it does not offer by
    ``GET /capabilities`` is asked at ``path``. ``read_only`` are those that are asked without an approval."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: Annotated[str, AfterValidator(_address), Field(max_length=2_000)]
    token_variable: str | None = None
    capabilities: tuple[_Name, ...] = ()
    read_only: tuple[_Name, ...] = ()
    path: OwnPath = "/graph/invoke"
    seconds: Annotated[float, Field(gt=0, le=86_400)] = CALL_SECONDS


class _ServicesFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    agents: Annotated[list[AgentService], Field(max_length=50)]


@dataclass(frozen=True, slots=True)
class Discovery:
    """``capabilities`` by name; ``notes`` are lines about services that cannot be used, or not for all they offer."""

    capabilities: Mapping[str, Capability]
    notes: Sequence[str] = field(default_factory=list)


def read_services(path: Path) -> list[AgentService]:
    """The services of a TOML file with one table ``[[agents]]`` each. Raises `ConfigurationError`.

    Example:
        [[agents]]
        url = "http://documents.example:8002"
        token_variable = 'DOCUMENTS_TOKEN'
        capabilities = ["create_document"]
    """
    try:
        text = read_regular(path, MAX_FILE_BYTES).decode("utf-8-sig")
        return _ServicesFile.model_validate(tomllib.loads(text)).agents
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        problem = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    except (OSError, ValueError) as error:
        problem = str(error)
    raise ConfigurationError(f"{path} cannot be used: {problem}.", hint="See docs/capabilities.md.")


async def adiscover(
    services: Iterable[AgentService] = (), *, local: Iterable[Capability] = (), local_only: bool = False
) -> Discovery:
    """Ask services what they offer: first that of ``RESEARCHER_SERVICE_URL``, then those that are given. Of two with one
    name the first one is used; the ``local`` ones come last, and those that packages bring before them. Where nobody
    offers research and the variable is not set, what answers at port 8001 of this machine is asked for it, without a
    token. Raises `ConfigurationError`, also where ``local_only`` is set and a service is not on this machine.

    Example:
        found = await adiscover(read_services(Path("agents.toml")), local=[DocumentCreator(Path("."))])
    """
    url = os.environ.get(URL_VARIABLE)
    every_service = [*([_researcher(url)] if url else []), *services]
    for service in every_service:
        if local_only and not is_loopback(service.url):
            raise ConfigurationError(
                f"local_only is set, and {service.url} is not on this machine.", hint="Remove one of them."
            )
    discoveries = await asyncio.gather(*map(_offered, every_service))
    capabilities: dict[str, Capability] = {}
    notes: list[str] = []
    for each in discoveries:
        notes += each.notes
        for name, capability in each.capabilities.items():
            if name in capabilities:
                notes.append(
                    f"'{name}' of {capability.place} is not used: {capabilities[name].place} has it."
                )
            else:
                capabilities[name] = capability
    for capability in (*_of_packages(), *local):
        capabilities.setdefault(capability.name, capability)
    if not url and RESEARCH not in capabilities:
        usual = AgentService(url=DEFAULT_URL, capabilities=(RESEARCH,))
        capabilities |= (await _offered(usual, is_probe=True)).capabilities
    return Discovery(capabilities, notes)


def discover(
    services: Iterable[AgentService] = (), *, local: Iterable[Capability] = (), local_only: bool = False
) -> Discovery:
    """`adiscover`, for callers without an event loop."""
    return run_here(adiscover(services, local=local, local_only=local_only))


def _researcher(url: str) -> AgentService:
    try:
        return AgentService(url=url, token_variable=TOKEN_VARIABLE)
    except ValidationError:
        raise ConfigurationError(
            f"{URL_VARIABLE} is not an address of a service: '{url[:80]}'.", hint=f"For example {DEFAULT_URL}"
        ) from None


async def _offered(service: AgentService, *, is_probe: bool = False) -> Discovery:
    """Of a ``is_probe``, an address that nobody named, nothing is said or used where nobody offers anything."""
    own_offers = {name: CapabilityOffer(name=name, invoke=service.path) for name in service.capabilities}
    try:
        offered = await _ask(service, PROBE_SECONDS if is_probe else DISCOVERY_SECONDS)
        offers = {offer.name: offer for offer in offered.capabilities}
        notes = [f"{service.url} does not offer '{name}'." for name in own_offers if name not in offers]
        selection = [offers[name] for name in own_offers or offers if name in offers]
    except (DeepResearchError, ValueError) as error:
        why = (
            error.problem
            if isinstance(error, DeepResearchError)
            else "its answer is no list of capabilities."
        )
        # A service of LangServe has no such list: what the user named is asked all the same.
        selection = [] if is_probe else list(own_offers.values())
        notes = [] if is_probe or selection else [f"Nothing of {service.url} is used: {why}"]
        notes += [f"{service.url} does not say what it offers: {why}"] * bool(selection)
    return Discovery({offer.name: _remote(service, offer) for offer in selection}, notes)


async def _ask(service: AgentService, seconds: float) -> AgentOffers:
    async with _connection(service, seconds, tries=1 if seconds == PROBE_SECONDS else 3) as connection:
        try:
            async with asyncio.timeout(seconds):
                body = await connection.body("GET", "/capabilities")
        except TimeoutError:
            raise ConfigurationError("it does not answer.", hint="Check that service.") from None
        return AgentOffers.model_validate_json(body)


def _remote(service: AgentService, offer: CapabilityOffer) -> RemoteCapability:
    read_only = offer.read_only or offer.name in service.read_only
    return RemoteCapability(
        offer.model_copy(update={"read_only": read_only}),
        # What may change something is sent once: not every service remembers the key of a call.
        lambda: _connection(service, service.seconds, tries=MAX_CALL_TRIES if read_only else 1),
        service.url,
        seconds=service.seconds,
    )


def _connection(service: AgentService, seconds: float, *, tries: int) -> Connection:
    token = os.environ.get(service.token_variable, "") if service.token_variable else ""
    if token:
        register_secret(token)
    return Connection(
        service.url,
        token,
        timeout=httpx.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds)),
        tries=tries,
        max_answer_bytes=MAX_ANSWER_BYTES,
    )


def _of_packages() -> list[Capability]:
    """Raises `ConfigurationError`."""
    capabilities = []
    for point in entry_points(group=GROUP):
        module, _, attribute = point.value.partition(":")
        try:
            capability = getattr(import_module(module), attribute)()
        except (ImportError, AttributeError, TypeError) as error:
            raise ConfigurationError(
                f"The capability '{point.name}' cannot be loaded: {error}.",
                hint="Reinstall the package that brings it.",
            ) from error
        if not isinstance(capability, Capability):
            raise ConfigurationError(
                f"The capability '{point.name}' is no Capability.",
                hint="Subclass deep_research.capabilities.Capability.",
            )
        capabilities.append(capability)
    return capabilities
