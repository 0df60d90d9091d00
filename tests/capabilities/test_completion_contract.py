"""A message completes a capability only when it is the contract and nothing else."""

import json

import pytest
from scripted_capabilities import Scripted, by_name, sentence

from deep_research.capabilities import CapabilitySupervisor, PlanFolder, PlanStatus
from deep_research.capabilities.completion_contract import completed_capability

CONTRACT = '{"completed_capability": "research", "data": {"topic": "Bell Rock"}}'

LOOK_ALIKES = {
    "prose": "I have completed the research.",
    "prose that names the field": "completed_capability: research",
    "prose before": f"Here you are: {CONTRACT}",
    "prose after": f"{CONTRACT} Anything else?",
    "a code block": f"```json\n{CONTRACT}\n```",
    "a code block without a language": f"```\n{CONTRACT}\n```",
    "inline code": f"`{CONTRACT}`",
    "another case of the value": '{"completed_capability": "Research"}',
    "another case of the field": '{"Completed_Capability": "research"}',
    "another spelling of the field": '{"completedCapability": "research"}',
    "space in the value": '{"completed_capability": " research "}',
    "nested": '{"result": {"completed_capability": "research"}}',
    "nested in data": '{"data": {"completed_capability": "research"}}',
    "in a list": f"[{CONTRACT}]",
    "twice": f"{CONTRACT}\n{CONTRACT}",
    "a text of JSON": json.dumps(CONTRACT),
    "a list as the value": '{"completed_capability": ["research"]}',
    "an object as the value": '{"completed_capability": {"name": "research"}}',
    "true": '{"completed_capability": true}',
    "null": '{"completed_capability": null}',
    "a number": '{"completed_capability": 1}',
    "empty": '{"completed_capability": ""}',
    "no field": '{"data": {"research_summary": {}}}',
    "another capability": '{"completed_capability": "create_document"}',
    "the field twice": '{"completed_capability": "create_document", "completed_capability": "research"}',
    "single quotes": "{'completed_capability': 'research'}",
    "a trailing comma": '{"completed_capability": "research",}',
    "cut": '{"completed_capability": "research", "data": {',
    "a comment": '{"completed_capability": "research" /* done */}',
    "no JSON number": '{"completed_capability": "research", "data": NaN}',
    "nothing": "",
    "nested without an end": '{"completed_capability": "research", "data": '
    + "[" * 5_000
    + "]" * 5_000
    + "}",
    "a look-alike letter": '{"completed_capability": "r\u0435search"}',
    "a zero-width space": '{"completed_capability": "research\u200b"}',
}


def test_the_contract_alone_completes():
    assert completed_capability(CONTRACT) == "research"
    assert completed_capability(f"\n  {CONTRACT}\n") == "research"


@pytest.mark.parametrize("content", LOOK_ALIKES.values(), ids=LOOK_ALIKES)
def test_the_supervisor_advances_on_no_look_alike(content, tmp_path):
    research = Scripted("research", sentence(content))
    supervisor = CapabilitySupervisor(by_name(research), PlanFolder(tmp_path), max_retries=0)
    plan = supervisor.run("Who built Bell Rock?", steps=["research"])
    assert (plan.status, plan.index, plan.completed) == (PlanStatus.FAILED, 0, ())
    assert plan.messages[-1].content == content


def test_the_table_has_thirty_look_alikes():
    assert len(LOOK_ALIKES) >= 30
