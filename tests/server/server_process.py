"""A server in a process of its own, and raw connections to it."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

SCRIPT = Path(__file__).with_name("scripted_server.py")
PATIENCE = 120.0  # seconds for what takes one, on a machine that stands still


class ServerProcess:
    """``address`` is where it listens."""

    def __init__(self, home: Path, **given: Any) -> None:
        self._reached = home / "reached"
        self._process = subprocess.Popen(
            [sys.executable, str(SCRIPT), str(home), json.dumps(given)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)},
        )
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE)
        self.address = self._process.stdout.readline().strip() if ready else ""
        if not self.address:
            self._process.kill()
            raise AssertionError(self._process.communicate()[1])
        self.port = int(self.address.rpartition(":")[2])

    def client(self, **more: Any) -> httpx.Client:
        return httpx.Client(base_url=self.address, timeout=PATIENCE, trust_env=False, **more)

    def wait_for_report(self) -> None:
        """Until the agent that takes its ``pause`` to write a report has begun."""
        deadline = time.monotonic() + PATIENCE
        while not self._reached.exists():
            assert time.monotonic() < deadline, "no report was begun"
            time.sleep(0.01)

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def wait(self) -> tuple[int, str]:
        """The exit code, and what the process wrote on stderr."""
        _, err = self._process.communicate(timeout=PATIENCE)
        return self._process.returncode, err

    def peak_bytes(self) -> int:
        """The most memory that the process has held so far."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()

    @contextmanager
    def connected(self) -> Iterator[socket.socket]:
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            yield connection

    def status_of(self, chunks: Iterator[bytes]) -> int:
        """Send the bytes of a request while the server takes them, and give the status of its answer; 0 for none."""
        with self.connected() as connection:
            for chunk in chunks:
                try:
                    connection.sendall(chunk)
                except OSError:  # the server has had enough
                    break
                if select.select([connection], [], [], 0)[0]:
                    break
            try:
                answer = connection.recv(4096)
            except ConnectionError:
                return 0
        return int(answer.split()[1]) if answer else 0


@contextmanager
def server(home: Path, **given: Any) -> Iterator[ServerProcess]:
    process = ServerProcess(home, **given)
    try:
        yield process
    finally:
        process.close()
