"""What a client's model reads of the tools is pinned: other words are other instructions to it, and a deliberate act."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from deep_research.mcp_server.protocol_server import INSTRUCTIONS, TEMPLATES, described
from deep_research.mcp_server.research_tools import TOOLS

PINNED = {
    "instructions": "3477256261ae41c6",
    "report": "338a8117eeb6b04f",
    "source": "201cc234a09fa953",
    "research": "d8c8153150ae97ef",
    "research_start": "cb31d57f0d813868",
    "research_status": "d1325a9a996b8235",
    "research_report": "9655479314504165",
    "research_answer": "c6f48bbf471eca7f",
    "research_steer": "05af7b4bf4e8fdd3",
    "research_cancel": "891171d7cf723dd5",
    "research_list": "900a4a653a1843c1",
    "source_text": "e19bd1f1b8686088",
}


def texts(schema: Any, place: str = "") -> Iterator[str]:
    """The descriptions in a schema, each with where it stands."""
    if isinstance(schema, list):
        for each in schema:
            yield from texts(each, place)
    elif isinstance(schema, dict):
        if isinstance(schema.get("description"), str):
            yield f"{place}: {schema['description']}"
        for name, each in sorted(schema.items()):
            yield from texts(each, f"{place}/{name}")


def pin(*words: str) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]


def test_descriptions_change_by_intent_alone():
    pins = {"instructions": pin(INSTRUCTIONS)}
    pins |= {each.name: pin(each.description or "") for each in TEMPLATES}
    for name, tool in TOOLS.items():
        pins[name] = pin(tool.description, *texts(described(tool).input_schema))
    changed = sorted(name for name in PINNED.keys() | pins if PINNED.get(name) != pins.get(name))
    assert not changed, (
        f"The words of {', '.join(changed)} have changed. Read them as a model will that has nothing else to go by;"
        f" if they are meant so, put this into tests/mcp_server/test_tool_descriptions.py:\nPINNED = {pins!r}"
    )
