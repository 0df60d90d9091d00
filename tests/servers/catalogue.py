"""The lists of models that services give."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from servers.openai_common import CREATED

_DATE = "2026-01-01T00:00:00Z"


def models(names: Sequence[str], wanted: str, context: int | None, *, anthropic: bool) -> dict[str, Any]:
    """All models, or the ``wanted`` one, as Anthropic or OpenAI lists them; without
    ``context`` nothing of their windows."""
    form = _anthropic if anthropic else _openai
    if wanted:
        return form(wanted, context)
    data = [form(name, context) for name in names]
    if anthropic:
        return {"data": data, "has_more": False, "first_id": names[0], "last_id": names[-1]}
    return {"object": "list", "data": data}


def _anthropic(name: str, context: int | None) -> dict[str, Any]:
    return {
        "type": "model",
        "id": name,
        "display_name": name.title(),
        "created_at": _DATE,
        "lifecycle": "active",
        **({} if context is None else {"max_input_tokens": context, "max_tokens": context // 2}),
    }


def _openai(name: str, context: int | None) -> dict[str, Any]:
    """``max_model_len`` is where vLLM says how long a context may be."""
    return {
        "id": name,
        "object": "model",
        "created": CREATED,
        "owned_by": "testing",
        **({} if context is None else {"max_model_len": context}),
    }


def ollama_tags(names: Sequence[str]) -> dict[str, Any]:
    details = {"format": "gguf", "family": "testing", "parameter_size": "1B", "quantization_level": "Q4_K_M"}
    entry = {"modified_at": _DATE, "size": 1_000_000_000, "digest": "0" * 64, "details": details}
    return {"models": [{"name": name, "model": name, **entry} for name in names]}


def ollama_details(name: str, context: int, abilities: Collection[str]) -> dict[str, Any]:
    capabilities = ["completion", *(["tools"] if "tools" in abilities else [])]
    return {
        "modelfile": f"FROM {name}",
        "parameters": "",
        "template": "{{ .Prompt }}",
        "details": {"format": "gguf", "family": "testing", "parameter_size": "1B"},
        "model_info": {"general.architecture": "testing", "testing.context_length": context},
        "capabilities": capabilities,
        "modified_at": _DATE,
    }
