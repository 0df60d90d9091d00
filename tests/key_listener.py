"""A listener on loopback that keeps whatever is sent to it, and tells which keys it heard."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from key_leaks import leaks


class KeyListener:
    """Answers each request, of whatever method, with a ``status``, or with a redirect ``to`` an address. ``heard`` are
    the requests with their headers and bodies."""

    def __init__(self, *, status: int = 404, to: str = "") -> None:
        self.heard: list[str] = []
        listener = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                self.raw_requestline = self.rfile.readline(65_536)
                if not self.raw_requestline or not self.parse_request():
                    self.close_connection = True
                    return
                body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode("latin-1")
                listener.heard.append(f"{self.requestline}\n{self.headers}\n{body}")
                self.send_response(307 if to else status)
                if to:
                    self.send_header("location", to)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", "2")
                self.end_headers()
                self.wfile.write(b"{}")
                self.close_connection = self.close_connection or self.command == "CONNECT"

            def log_message(self, *_: object) -> None:
                """Nothing is printed."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def tunnels(self) -> set[str]:
        """The servers to which it was asked, as a proxy, for a tunnel."""
        return {line.split()[1] for line in self.heard if line.startswith("CONNECT ")}

    def keys(self, known: Mapping[str, str]) -> set[str]:
        """The names of the keys that were heard, in whatever form."""
        return {name for request in self.heard for name in leaks(request, known)}

    def __enter__(self) -> KeyListener:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(300)
