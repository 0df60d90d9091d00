"""A service with one capability, which notes each call in a file: ``python counting_service.py PORT LOG PAUSE``."""

from __future__ import annotations

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

OFFER = {"name": "count_words", "description": "Counts the words of the last answer.", "read_only": True}


class Handler(BaseHTTPRequestHandler):
    log: Path
    pause: float

    def do_GET(self) -> None:
        self._send({"capabilities": [OFFER]})

    def do_POST(self) -> None:
        state = json.loads(self.rfile.read(int(self.headers["content-length"])))["input"]
        with self.log.open("a") as file:
            file.write(f"{self.headers['idempotency-key']}\n")
        time.sleep(self.pause)
        data = {"words": len(state["messages"][-1]["content"].split())}
        content = json.dumps({"completed_capability": "count_words", "data": data})
        self._send({"output": {"messages": [{"type": "ai", "content": content}]}})

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _send(self, answer: object) -> None:
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    Handler.log, Handler.pause = Path(sys.argv[2]), float(sys.argv[3])
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()
