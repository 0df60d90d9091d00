"""Doubles and conformance suites for those who embed or extend the engine. Nothing in the product imports it."""

from deep_research.testing.casts import scripted_agents
from deep_research.testing.doubles import FakeClock, MemoryJournal, ScriptedAgent, ScriptedSearch
from deep_research.testing.samples import sample_log, sample_state

__all__ = [
    "FakeClock",
    "MemoryJournal",
    "ScriptedAgent",
    "ScriptedSearch",
    "sample_log",
    "sample_state",
    "scripted_agents",
]
