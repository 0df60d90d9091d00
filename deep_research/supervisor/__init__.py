"""The supervisor: it alone decides what runs next."""

from deep_research.supervisor.gates import GatePolicy
from deep_research.supervisor.hooks import Park, SupervisorHooks, Verdict
from deep_research.supervisor.orchestrator import SupervisorOrchestrator

__all__ = ["GatePolicy", "Park", "SupervisorHooks", "SupervisorOrchestrator", "Verdict"]
