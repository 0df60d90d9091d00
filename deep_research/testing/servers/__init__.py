"""Model services on loopback that speak the real wire formats and fail when told to."""

from deep_research.testing.servers.exchange import Answer, Served, Usage
from deep_research.testing.servers.faults import FAULT_KINDS, Fault
from deep_research.testing.servers.server import ModelServer
from deep_research.testing.servers.service import ABILITIES

__all__ = ["ABILITIES", "FAULT_KINDS", "Answer", "Fault", "ModelServer", "Served", "Usage"]
