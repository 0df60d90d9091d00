"""Every provider keeps every promise of the suite."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from servers import ModelServer

from deep_research.models.anthropic import AnthropicMessages
from deep_research.models.ollama import Ollama
from deep_research.models.openai import OpenAIResponses
from deep_research.models.openai_chat import OpenAIChat
from deep_research.testing.model_suite import MODEL, MODEL_CHECKS, Ability, Bench, Check, Subject, checks_for

pytestmark = pytest.mark.timed

SUBJECTS = {
    "anthropic": Subject(
        service=ModelServer,
        make=lambda url, key: AnthropicMessages(MODEL, api_key=key, base_url=url),
        lacks=frozenset({Ability.CONTEXT, Ability.TEMPERATURE}),
        optional=("effort", "cache_control", "strict"),
    ),
    "openai": Subject(
        service=ModelServer,
        make=lambda url, key: OpenAIResponses(MODEL, api_key=key, base_url=f"{url}/v1"),
        lacks=frozenset({Ability.CONTEXT, Ability.FLOOR}),
        optional=("temperature", "reasoning", "prompt_cache_key", "store"),
    ),
    "openai-compatible": Subject(
        service=ModelServer,
        make=lambda url, key: OpenAIChat(MODEL, api_key=key, base_url=f"{url}/v1"),
        lacks=frozenset({Ability.CONTEXT, Ability.FLOOR, Ability.KEY, Ability.TOOLS}),
        optional=("temperature", "reasoning_effort", "stream_options"),
    ),
    "ollama": Subject(
        service=ModelServer,
        make=lambda url, key: Ollama(MODEL, api_key=key, base_url=url),
        lacks=frozenset(Ability) - {Ability.CONTEXT, Ability.SERVICE, Ability.TEMPERATURE},
        optional=("think",),
    ),
}
ITEMS = [
    pytest.param(SUBJECTS[service], check, id=f"{service}-{check}")
    for service in SUBJECTS
    for check in checks_for(SUBJECTS[service])
]


@pytest.mark.parametrize(("subject", "check"), ITEMS)
def test_the_provider_keeps_the_promise(subject: Subject, check: Check) -> None:
    with Bench(subject) as bench:
        check(bench)


def test_the_suite_is_as_large_as_it_says() -> None:
    assert len(MODEL_CHECKS) >= 60
    assert len({check.name for check in MODEL_CHECKS}) == len(MODEL_CHECKS)


@pytest.mark.parametrize("service", SUBJECTS)
def test_what_a_service_lacks_is_all_its_provider_is_spared(service: str) -> None:
    spared = set(MODEL_CHECKS) - set(checks_for(SUBJECTS[service]))
    assert all(check.needs & SUBJECTS[service].lacks for check in spared)


def test_no_sdk_is_imported_before_its_provider() -> None:
    code = (
        "import sys, deep_research, deep_research.models.language_model, deep_research.models.clients_wire, "
        "deep_research.testing.model_suite; print(sorted({'anthropic', 'openai', 'httpx2'} & set(sys.modules)))"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
