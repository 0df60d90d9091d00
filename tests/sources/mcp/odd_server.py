"""A server that does what no good one does, over stdin and stdout, without any package: ``python odd_server.py DEED…``.

It speaks the protocol as it was before 2026. ``ODD_LOG`` in its environment is a file to which it writes its process id
and a line for each call; ``ODD_RESULTS`` one with a JSON list of results (or whole lines, as texts), of which each call
takes the next; ``ODD_TOOLS`` the tools as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

DEEDS = set(sys.argv[1:])
READS = {"readOnlyHint": True}
QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
TOOLS = [
    {"name": "search", "description": "Searches.", "inputSchema": QUERY, "annotations": READS},
    {"name": "wipe", "description": "Wipes.", "inputSchema": QUERY, "annotations": READS},
]


def log(line: str) -> None:
    if path := os.environ.get("ODD_LOG"):
        with open(path, "a") as file:
            file.write(line + "\n")


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def answer(message: dict[str, Any], result: Any) -> None:
    say(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))


def called(message: dict[str, Any]) -> None:
    log("call " + json.dumps(message["params"], sort_keys=True))
    if "hang-call" in DEEDS or ("hang-first-call" in DEEDS and not os.path.exists(os.environ["ODD_ONCE"])):
        if "ODD_ONCE" in os.environ:
            open(os.environ["ODD_ONCE"], "w").close()
        time.sleep(600)
    if "die-call" in DEEDS:
        os._exit(3)
    if "flood" in DEEDS:
        while True:
            sys.stdout.write("x" * 65536)
    if "large" in DEEDS:
        answer(message, {"content": [{"type": "text", "text": "x" * 10_000_000}]})
        return
    if path := os.environ.get("ODD_RESULTS"):
        with open(path) as file:
            results = json.load(file)
        with open(os.environ["ODD_LOG"]) as file:  # of all processes: some results end one
            calls = sum(line.startswith("call ") for line in file)
        result = results[(calls - 1) % len(results)]
        if isinstance(result, str):
            say(result.replace("ID", json.dumps(message["id"])))
        else:
            answer(message, result)
        return
    answer(message, {"content": [{"type": "text", "text": "The tower is 90 feet tall."}]})


def main() -> None:
    log(f"pid {os.getpid()}")
    if "stubborn" in DEEDS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "child" in DEEDS:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        log(f"pid {child.pid}")
    if "noise" in DEEDS:
        say("Server is ready!")
        say("\x1b[31m[]{}\x00")
    if "hang-connect" in DEEDS:
        time.sleep(600)
    for line in sys.stdin:
        message = json.loads(line)
        method = message.get("method")
        if "id" not in message:
            continue
        log(str(method))
        if method == "initialize":
            if "deny" in DEEDS:
                say(
                    json.dumps(
                        {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32603, "message": "No."}}
                    )
                )
                continue
            info = {"name": "odd", "version": "1"}
            version = message["params"]["protocolVersion"]
            answer(message, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
        elif method == "tools/list":
            if "hang-list" in DEEDS:
                time.sleep(600)
            tools = json.loads(os.environ.get("ODD_TOOLS", "null")) or TOOLS
            more = {"nextCursor": "again"} if "endless-list" in DEEDS else {}
            answer(message, {"tools": tools, **more})
        elif method == "tools/call":
            called(message)
        else:
            say(
                json.dumps(
                    {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "No."}}
                )
            )
    if "stubborn" in DEEDS:
        time.sleep(600)


main()
