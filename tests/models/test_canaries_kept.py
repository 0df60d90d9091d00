"""No key is in a byte that a run leaves behind, whatever goes wrong with its models: database, record, events, result."""

import logging
from urllib.parse import quote, quote_plus

import pytest
from servers import FAULT_KINDS, Fault, ModelServer

from deep_research import DeepResearch
from deep_research.models import Message, ModelCall
from deep_research.models.anthropic import AnthropicMessages
from deep_research.models.ollama import Ollama
from deep_research.models.openai import OpenAIResponses
from deep_research.models.openai_chat import OpenAIChat
from deep_research.models.retry import Persistence
from deep_research.phases.planning.handoff import PlannerOutput
from deep_research.testing import ScriptedSearch, scripted_agents

SERVICES = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "TAVILY_API_KEY", "GOOGLE_API_KEY", "compatible", "ollama")
SENT = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "compatible", "ollama")  # a service may quote what it was sent
KEYS = {name: f"canary+{name.lower()}/Zq%9x&w=3v" for name in SERVICES}
PLAN = {
    "research_brief": "What is known of towers, old and new, and how they were built.",
    "sub_queries": [
        {"query": "old towers", "rationale": "r", "priority": 1},
        {"query": "new towers", "rationale": "r", "priority": 2},
    ],
}


class Planner:
    uses_model = True
    deterministic = False

    async def __call__(self, handoff, model):
        call = ModelCall(messages=(Message(content=handoff.original_query),), max_output=300)
        return (await model.object(call, PlannerOutput)).value


def answer(served):
    return {"colour": "blue", "seen": ["the sun"]} if "clear sky" in served.text else PLAN


async def no_sleep(_seconds):
    pass


@pytest.mark.timed
@pytest.mark.slow
@pytest.mark.parametrize("kind", FAULT_KINDS)
def test_no_key_is_kept_over_all_faults(tmp_path, monkeypatch, caplog, kind):
    caplog.set_level(logging.DEBUG)
    for name in SERVICES[:4]:
        monkeypatch.setenv(name, KEYS[name])
    quoted = " ".join(KEYS[name] for name in SENT)
    fault = Fault(kind, times=None, interval=0.02, patience=2.0, size=10_000, message=f"Bad: {quoted}")
    with ModelServer(answer, faults=[fault]) as server:
        url = server.base_url
        chain = [
            OpenAIResponses("m", base_url=f"{url}/v1"),
            OpenAIChat("m", api_key=KEYS["compatible"], base_url=f"{url}/v1"),
            Ollama("m", api_key=KEYS["ollama"], base_url=url),
            AnthropicMessages("m", base_url=url),
        ]
        with DeepResearch(
            model=chain,
            agents={**scripted_agents(without=["gatherer"]), "planner": Planner()},
            search=[ScriptedSearch()],
            data_dir=tmp_path / "data",
            record_models=tmp_path / "record.jsonl",
            operation_timeout=0.5,
        ) as research:
            research._parts.models.pool.persistence = Persistence(sleep=no_sleep)
            result = research.run("What is known of towers?")
            told = [repr(event) for event in research.events(result.research_id)]
        assert server.log
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    seen = kept.decode("utf-8", "replace") + result.model_dump_json() + "".join(told) + caplog.text
    assert "model.settled" in seen
    for key in KEYS.values():
        for form in {key, quote(key), quote(key, safe=""), quote_plus(key)}:
            assert form not in seen
