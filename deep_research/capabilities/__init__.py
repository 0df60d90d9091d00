"""A supervisor of capabilities: agents elsewhere and here, of which each does one thing and says when it is done. Names
are loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deep_research.capabilities.capability import (
        AgentMessage,
        Capability,
        CapabilityAnswer,
        CapabilityRequest,
        completed,
    )
    from deep_research.capabilities.capability_supervisor import CapabilitySupervisor
    from deep_research.capabilities.discovery import (
        AgentService,
        Discovery,
        adiscover,
        discover,
        read_services,
    )
    from deep_research.capabilities.document_creator import DocumentCreator
    from deep_research.capabilities.local_research import LocalResearch
    from deep_research.capabilities.plan import CapabilityPlan, PlanStatus
    from deep_research.capabilities.plan_folder import PlanFolder

__all__ = [
    "AgentMessage",
    "AgentService",
    "Capability",
    "CapabilityAnswer",
    "CapabilityPlan",
    "CapabilityRequest",
    "CapabilitySupervisor",
    "Discovery",
    "DocumentCreator",
    "LocalResearch",
    "PlanFolder",
    "PlanStatus",
    "adiscover",
    "completed",
    "discover",
    "read_services",
]

_HOMES = {
    **dict.fromkeys(
        ("AgentMessage", "Capability", "CapabilityAnswer", "CapabilityRequest", "completed"), "capability"
    ),
    "CapabilitySupervisor": "capability_supervisor",
    **dict.fromkeys(("AgentService", "Discovery", "adiscover", "discover", "read_services"), "discovery"),
    "DocumentCreator": "document_creator",
    "LocalResearch": "local_research",
    **dict.fromkeys(("CapabilityPlan", "PlanStatus"), "plan"),
    "PlanFolder": "plan_folder",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value
