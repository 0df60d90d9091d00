"""A server of a process of its own, over an engine whose agents answer from a script: ``python scripted_server.py HOME``.

The arguments after HOME are the fields of `ServerOptions` and of `RequestLimits` as JSON; ``pause``: seconds that writing
a report takes, or ``pause_once`` the first one of HOME alone; ``corpus``: documents to answer from in place of the
script; ``witness``: a file in which all calls are noted; ``wait``: seconds that a response is waited for.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from witness import Witness, unit_of

from deep_research import DeepResearch
from deep_research.server import openai_routes, researcher_routes
from deep_research.server.request_gate import RequestLimits
from deep_research.server.serving import ServerOptions, serve
from deep_research.server.token_file import TokenFile
from deep_research.state import AgentRole
from deep_research.testing import ScriptedSearch, scripted_agents

CALL_SECONDS = 0.15


def slowly(agent: Any, pause: float, reached: Path, *, once: bool = False) -> Any:
    """An agent that takes its time, or ``once`` its first time; the file ``reached`` says that it began."""

    async def answer(handoff: Any) -> Any:
        is_quick = once and reached.exists()
        reached.touch()
        await asyncio.sleep(0 if is_quick else pause)
        return await agent(handoff)

    answer.deterministic = True  # type: ignore[attr-defined]
    return answer


def witnessed(witness: Witness) -> dict[str, Any]:
    """Doubles that take a while, and note on disk what they are asked, of which run."""

    async def note(handoff: Any) -> None:
        witness.note(f"{handoff.original_query}|{unit_of(handoff)}")
        await asyncio.sleep(CALL_SECONDS)

    async def before(request: Any) -> None:
        witness.note(f"search:{request.query}")
        await asyncio.sleep(CALL_SECONDS)

    return {
        "search": [ScriptedSearch(before=before)],
        "agents": scripted_agents(without=["gatherer"], before=note),
    }


async def main(home: Path, given: dict[str, Any]) -> None:
    agents = scripted_agents(without=["gatherer"])
    corpus, witness = given.pop("corpus", None), given.pop("witness", None)
    if pause := given.pop("pause", 0):
        agents[AgentRole.SYNTHESIZER] = slowly(agents[AgentRole.SYNTHESIZER], pause, home / "reached")
    if pause := given.pop("pause_once", 0):
        writer = agents[AgentRole.SYNTHESIZER]
        agents[AgentRole.SYNTHESIZER] = slowly(writer, pause, home / "reached", once=True)
    if "tokens" in given:
        given["tokens"] = TokenFile(Path(given["tokens"]))
    if wait := given.pop("wait", None):
        openai_routes.WAIT_SECONDS = researcher_routes.WAIT_SECONDS = wait
    limits = RequestLimits(**given.pop("limits", {}))
    options = ServerOptions(**{"port": 0, "limits": limits, **given})
    made: dict[str, Any] = {"search": [ScriptedSearch()], "agents": agents}
    if witness is not None:
        made = witnessed(Witness(witness))
    if corpus is not None:
        made = {"corpus": corpus, "local_only": True}
    async with DeepResearch(data_dir=home, **made) as engine:
        await serve(engine, options, on_listening=lambda address: print(address, flush=True))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), json.loads(sys.argv[2])))
