"""The conformance suite, over the capabilities that come with the product and over one that breaks its promises."""

import itertools
import json
from pathlib import Path

import pytest
from scripted_capabilities import Scripted

from deep_research import DeepResearch
from deep_research.capabilities import CapabilityAnswer, DocumentCreator, LocalResearch, completed
from deep_research.testing import ScriptedSearch, scripted_agents
from deep_research.testing.capability_suite import CAPABILITY_CHECKS, CapabilitySubject

pytestmark = pytest.mark.timed

SUMMARY = {
    "topic": "Bell Rock",
    "summary": "Stevenson built it.",
    "key_points": ["It stands."],
    "sources": ["a.md"],
}
RESEARCH = json.dumps(
    {"completed_capability": "research", "data": {"research_summary": SUMMARY, "tool_used": True}}
)


@pytest.mark.parametrize("check", CAPABILITY_CHECKS, ids=str)
def test_create_document_keeps_every_promise(check, tmp_path):
    check(CapabilitySubject(make=lambda: DocumentCreator(tmp_path), messages=("Who built it?", RESEARCH)))


@pytest.mark.parametrize("check", CAPABILITY_CHECKS, ids=str)
def test_local_research_keeps_every_promise(check):
    with DeepResearch(store="memory", search=[ScriptedSearch()], agents=scripted_agents()) as engine:
        check(CapabilitySubject(make=lambda: LocalResearch(engine)))


_COUNT = itertools.count()
BROKEN = {
    "its_last_message_says_that_it_is_completed": Scripted("x", completed("y", {})),
    "its_messages_are_its_own_and_new": Scripted("x", completed("x", {}, message_id="request")),
    "a_repeated_key_gets_the_same_answer": None,
    "strange_conversations_are_an_answer_or_an_error_of_the_tree": Scripted("x", ValueError("odd")),
    "it_has_a_name_and_a_line_that_says_what_it_does": Scripted("Not A Name"),
}


class Counting(Scripted):
    async def invoke(self, request) -> CapabilityAnswer:
        return completed("x", {"count": next(_COUNT)})


@pytest.mark.parametrize("name", BROKEN)
def test_the_suite_finds_what_is_broken(name):
    (check,) = [check for check in CAPABILITY_CHECKS if check.name == name]
    broken = BROKEN[name] or Counting("x")
    with pytest.raises((AssertionError, ValueError)):
        check(CapabilitySubject(make=lambda: broken))


def test_a_package_brings_a_capability(monkeypatch):
    from importlib.metadata import EntryPoint

    from deep_research.capabilities import discover, discovery
    from deep_research.errors import ConfigurationError

    points = [EntryPoint("create_document", "test_capability_suite:PathlessCreator", discovery.GROUP)]
    monkeypatch.setattr(discovery, "entry_points", lambda group: points if group == discovery.GROUP else [])
    assert type(discover().capabilities["create_document"]).__name__ == "PathlessCreator"
    points[:] = [EntryPoint("x", "test_capability_suite:Nothing", discovery.GROUP)]
    with pytest.raises(ConfigurationError, match="cannot be loaded"):
        discover()
    points[:] = [EntryPoint("x", "pathlib:Path", discovery.GROUP)]
    with pytest.raises(ConfigurationError, match="is no Capability"):
        discover()


class PathlessCreator(DocumentCreator):
    def __init__(self) -> None:
        super().__init__(Path())
