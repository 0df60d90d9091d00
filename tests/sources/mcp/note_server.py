"""A server of notes, made with the package ``mcp``, over stdin and stdout: ``python note_server.py``.

``NOTES`` in its environment is a JSON list of objects that its searches give; ``NOTES_LOG`` a file to which it writes its
process id and a line for each call.
"""

from __future__ import annotations

import json
import os
import time
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

TEXT = "The Orm lighthouse was built in 1811 by Ada Brook of Hull. The tower of the Orm lighthouse is 90 feet tall."
READS = ToolAnnotations(read_only_hint=True)
USUAL = [{"url": "https://notes.example/orm", "title": "Orm", "snippet": TEXT}]


def log(line: str) -> None:
    if path := os.environ.get("NOTES_LOG"):
        with open(path, "a") as file:
            file.write(line + "\n")


def note_server() -> MCPServer:
    server = MCPServer("notes", version="1")

    @server.tool(annotations=READS)
    def search_notes(query: str) -> dict[str, Any]:
        """Searches the notes of the company."""
        log(f"search_notes {query}")
        return {"results": json.loads(os.environ.get("NOTES", "null")) or USUAL}

    @server.tool(annotations=READS)
    def read_note(title: str, pages: int = 1) -> str:
        """Reads one note."""
        log(f"read_note {title} {pages}")
        if title == "none":
            raise ValueError("There is no such note.")
        return TEXT

    @server.tool()
    def forget_note(title: str) -> str:
        """Forgets a note."""
        log(f"forget_note {title}")
        return "gone"

    @server.tool(annotations=READS)
    def environment(query: str) -> str:
        """Says what it sees of the environment."""
        return json.dumps({"text": json.dumps(dict(os.environ))})

    @server.tool(annotations=READS)
    def slow(query: str) -> str:
        """Takes its time."""
        log("slow")
        time.sleep(600)
        return "late"

    @server.tool(annotations=READS)
    def tree(query: list[str]) -> str:
        """Takes what no agent can give."""
        return "tree"

    return server


if __name__ == "__main__":
    log(f"pid {os.getpid()}")
    note_server().run("stdio")
