"""A client that starts a server and asks it a question, until it is killed: ``python client_to_kill.py HOME``."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from mcp_server_process import TOWER, connected, scripted


async def main(home: Path) -> None:
    async with connected(scripted(home, {"pause": 600})) as client:
        await client.call_tool("research", {"question": TOWER})


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
