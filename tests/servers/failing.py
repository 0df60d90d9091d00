"""A server that fails as a conformance suite tells it."""

from __future__ import annotations

from typing import Any

from servers.faults import FAULT_KINDS, Fault
from servers.http import Ending, Reply
from servers.loopback import LoopbackServer


class FailingServer(LoopbackServer):
    """A `deep_research.testing.service_bench.Service`, for subclasses with ``faults`` and ``canned``."""

    fault_kinds = FAULT_KINDS
    faults: Any
    canned: Any

    def fail(self, kind: str = "", **details: Any) -> None:
        """The one fault from now on, with the details of a `Fault`; without a kind, none."""
        self.faults = [Fault(kind, **details)] if kind else []

    def send(
        self,
        status: int,
        pieces: tuple[bytes, ...] = (),
        media: str = "application/json",
        *,
        hangs: bool = False,
        **details: Any,
    ) -> None:
        """The reply to every request from now on, with the details of a `Reply`. ``hangs``: its connection stays open."""
        ending = Ending.HANGING if hangs else Ending.KEPT
        self.canned = Reply(status, pieces, media, ending=ending, **details)
