"""`deep-research mcp` over an engine whose agents answer from a script: ``python scripted_mcp_server.py HOME``.

The second argument is JSON: ``pause``, seconds that writing the first report takes, before which the file ``reached`` of
HOME is made; ``noisy``: the writer and a hook print in every way there is; ``fails``: the writer raises; ``stuck``: a
thread of it does not end. The file ``pid`` has the number of the process.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

from deep_research import DeepResearch, SupervisorHooks
from deep_research.interfaces.cli.main import main
from deep_research.state import AgentRole
from deep_research.testing import ScriptedSearch, scripted_agents


def make_noise() -> None:
    print("printed on stdout")
    print('{"jsonrpc": "2.0", "id": 1, "result": {}}', flush=True)
    sys.stdout.buffer.write(b"bytes on stdout\n")
    os.write(1, b"written on descriptor 1\n")
    subprocess.run(["echo", "printed by a child"], check=True)
    warnings.warn("a warning", stacklevel=1)


def written(agent: Any, home: Path, given: dict[str, Any]) -> Any:
    """The writer of reports, as the arguments have it."""

    async def answer(handoff: Any) -> Any:
        is_first = not (home / "reached").exists()
        (home / "reached").touch()
        if given.get("noisy"):
            make_noise()
        if given.get("fails"):
            raise RuntimeError("the writer\nis broken")
        if given.get("stuck"):
            await asyncio.to_thread(threading.Event().wait)
        if is_first:
            await asyncio.sleep(given.get("pause", 0))
        return await agent(handoff)

    answer.deterministic = True  # type: ignore[attr-defined]
    return answer


def engine(home: Path, given: dict[str, Any], settings: dict[str, Any]) -> DeepResearch:
    if given.get("noisy"):
        make_noise()
    agents = scripted_agents(without=["gatherer"])
    agents[AgentRole.SYNTHESIZER] = written(agents[AgentRole.SYNTHESIZER], home, given)
    hooks = SupervisorHooks(after_phase=print) if given.get("noisy") else None
    return DeepResearch(**settings, search=[ScriptedSearch()], agents=agents, hooks=hooks)


if __name__ == "__main__":
    folder, asked = Path(sys.argv[1]), json.loads(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pid").write_text(str(os.getpid()))
    sys.exit(
        main(["mcp", "--data-dir", str(folder)], engine=lambda **settings: engine(folder, asked, settings))
    )
