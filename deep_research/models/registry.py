"""Models by name: ``anthropic:MODEL``, ``openai:MODEL``, ``ollama:MODEL``, ``openai-compatible:MODEL@URL``. Packages join
with services of their own through the entry-point group ``deep_research.models``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points

from deep_research.errors import ConfigurationError, DeepResearchError, UnknownNameError
from deep_research.logs import redact
from deep_research.models.base import ModelProvider
from deep_research.models.profiles import built_in
from deep_research.patterns import regex

GROUP = "deep_research.models"

# service -> "module:Class"; strings, so that looking a name up loads no SDK. A class is called with the model's name
# and, where the name has one, ``base_url``.
SERVICES: dict[str, str] = {
    "anthropic": "deep_research.models.anthropic:AnthropicMessages",
    "ollama": "deep_research.models.ollama:Ollama",
    "openai": "deep_research.models.openai:OpenAIResponses",
    "openai-compatible": "deep_research.models.openai_chat:OpenAIChat",
    "replay": "deep_research.models.recording:Replay",
}
_URL = regex(r"@(?=[A-Za-z][A-Za-z0-9+.-]*://)")
# What is meant for an address, and has no http:// before it.
_BARE_URL = regex(r"@((?:localhost|[\w.-]+:\d{1,5}|\[[0-9a-fA-F:]+\]|[\w-]+(?:\.[\w-]+)+(?=/))(?:[:/].*)?)$")


@dataclass(frozen=True, slots=True)
class ModelName:
    """A name in its parts. ``base_url`` is where else than at its usual place the service is."""

    service: str
    model: str
    base_url: str | None = None

    def __str__(self) -> str:
        return f"{self.service}:{self.model}"


def known_services() -> dict[str, str]:
    """All services with where they are found."""
    return {**{point.name: point.value for point in entry_points(group=GROUP)}, **SERVICES}


def parse_name(name: str, services: Mapping[str, str] | None = None) -> ModelName:
    """The parts of a name. Raises `UnknownNameError`, `ConfigurationError`."""
    services = known_services() if services is None else services
    name = name.strip()
    if not name.isprintable():
        raise ConfigurationError(
            f"The model name '{ascii(redact(name))[1:-1]}' has invalid characters.",
            hint="Write it as SERVICE:MODEL.",
        )
    service, colon, rest = name.partition(":")
    if not colon or not rest.strip():
        raise _incomplete(redact(name), services)
    if service not in services:
        raise UnknownNameError.of("model service", redact(service), services, where=f"'{redact(name)}'")
    model, *url = _URL.split(rest.strip(), maxsplit=1)
    if not model:
        raise _incomplete(redact(name), services)
    if service != "replay" and not url and (bare := _BARE_URL.search(model)):
        raise ConfigurationError(
            f"The address in '{redact(name)}' has no http:// or https://.",
            hint=f"Write '{service}:{redact(model[: bare.start()])}@http://{redact(bare.group(1))}'.",
        )
    return ModelName(service, model, url[0] if url else None)


def make_model_provider(name: str) -> ModelProvider:
    """A new provider for the model of that name. Raises `UnknownNameError`, and `ConfigurationError` when the service
    cannot be used, for want of a key for example."""
    services = known_services()
    parts = parse_name(name, services)
    module, _, attribute = services[parts.service].partition(":")
    more = {"base_url": parts.base_url} if parts.base_url else {}
    try:
        made = getattr(import_module(module), attribute)(parts.model, **more)
    except DeepResearchError:
        raise
    except (ImportError, AttributeError, TypeError) as error:
        raise ConfigurationError(
            f"The model service '{parts.service}' cannot be loaded: {error}.",
            hint="Reinstall its package.",
            service=parts.service,
        ) from error
    if not isinstance(made, ModelProvider):
        raise ConfigurationError(
            f"The model service '{parts.service}' is not a ModelProvider.",
            hint="Subclass deep_research.models.ModelProvider.",
            service=parts.service,
        )
    return made


def _incomplete(name: str, services: Mapping[str, str]) -> ConfigurationError:
    """The service is missing, or the model."""
    service, colon, _ = name.partition(":")
    if colon and service in services:
        return ConfigurationError(f"'{name}' names no model.", hint=f"Write it as {service}:MODEL.")
    if not colon and service in services:
        return ConfigurationError(f"'{name}' is a service.", hint=f"Say which model: {service}:MODEL.")
    of = next((key for key in built_in() if (own := key.partition(":")[2]) and name.startswith(own)), None)
    return ConfigurationError(
        f"'{name}' has no service.",
        hint=f"Did you mean '{of.partition(':')[0]}:{name}'?" if of else "Write it as SERVICE:MODEL.",
    )
