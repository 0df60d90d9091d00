"""The process that works on a run, and whether it lives."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Owner:
    """A process that runs a run. ``started`` tells two processes with the same pid apart, ``token`` two
    engines of one process."""

    host: str
    pid: int
    started: str
    token: str

    @classmethod
    def here(cls, token: str) -> Owner:
        pid = os.getpid()
        return cls(host=_host(), pid=pid, started=_process_start(pid) or "", token=token)

    def dead(self) -> bool:
        """Whether the process is known to be gone; False when it cannot be known (another host)."""
        if self.host != _host():
            return False
        started = _process_start(self.pid)
        if started is not None:
            return started != self.started
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        return False

    def encode(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def decode(cls, text: str) -> Owner:
        """Raises `ValueError`, `TypeError` for anything but what `encode` gave."""
        owner = cls(**json.loads(text))
        texts = (owner.host, owner.started, owner.token)
        if not isinstance(owner.pid, int) or not all(isinstance(text, str) for text in texts):
            raise TypeError("an owner's fields have the wrong types")
        if not 0 < owner.pid < 2**31:
            raise ValueError("an owner's pid is out of range")
        return owner


def _host() -> str:
    """Host name, boot and pid namespace: a pid means something only within all three."""
    parts = [socket.gethostname()]
    boot = Path("/proc/sys/kernel/random/boot_id")
    namespace = Path("/proc/self/ns/pid")
    if boot.exists() and namespace.is_symlink():
        parts += [boot.read_text().strip()[:8], os.readlink(namespace)]
    return "/".join(parts)


def _process_start(pid: int) -> str | None:
    """When the process started, in ticks since boot; None where the system does not tell, empty for a process
    that has ended and was not waited for yet."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in ("Z", "X") else fields[19]
