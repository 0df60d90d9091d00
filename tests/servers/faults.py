"""What can go wrong with a model service, by name, and when it does."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from deep_research.errors import UnknownNameError


class Stage(Enum):
    """Where in an exchange a fault strikes. Only ``REFUSAL`` and ``SILENCE`` come before a model has been paid."""

    REFUSAL = "an error status"
    SILENCE = "no reply"
    GATEWAY = "a reply that no model wrote"
    ANSWER = "another answer, sent as it should be"
    DELIVERY = "a good answer, sent badly"
    STREAM = "a stream that breaks"


_STAGES: dict[Stage, tuple[str, ...]] = {
    Stage.REFUSAL: (
        "429",
        "429-after-0",
        "429-after-7",
        "429-after-3600",
        "429-after-nan",
        "429-after-minus-5",
        "429-after-date",
        "429-after-ms",
        "500",
        "503",
        "529",
        "401",
        "402",
        "400",
        "413",
        "408",
    ),
    Stage.SILENCE: ("reset", "close", "hang"),
    Stage.GATEWAY: ("html-200", "null", "empty-object"),
    Stage.ANSWER: (
        "truncated-json",
        "prose",
        "wrong-schema",
        "empty",
        "refusal",
        "length",
        "content-filter",
        "huge",
        "duplicate-ids",
        "out-of-order-ids",
    ),
    Stage.DELIVERY: ("drip-body", "drip-headers", "short-body", "bad-json"),
    Stage.STREAM: (
        "sse-cut-clean",
        "sse-cut-abrupt",
        "sse-reset",
        "sse-hang",
        "sse-bad-json",
        "sse-error",
        "sse-slow",
    ),
}
_STAGE_OF = {kind: stage for stage, kinds in _STAGES.items() for kind in kinds}

FAULT_KINDS: tuple[str, ...] = tuple(_STAGE_OF)
"""All 43 names. `docs/contributing.md` says what each does."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong, ``times`` times (None: for ever) after ``skip`` requests that it could have hit.

    Hits requests whose path starts with ``path`` and whose body holds ``match``; without ``path``, those that ask
    for an answer (not counting, nor lists of models). What else can be told, all optional:

    ``retry_after``: the header of an error status, over that of the kind. ``code`` and ``message``: in the body of
    an error. ``interval``: seconds between two bytes of a drip, or two events of a slow stream. ``patience``:
    seconds after which a hang or a drip is cut. ``after``: whole events that a broken stream still sends, half of
    them by default. ``size``: characters of a huge answer. ``billed``: whether the request is charged, over what
    the kind says.
    """

    kind: str
    path: str | None = None
    match: str | None = None
    skip: int = 0
    times: int | None = 1
    retry_after: str | None = field(default=None, kw_only=True)
    code: str | None = field(default=None, kw_only=True)
    message: str | None = field(default=None, kw_only=True)
    interval: float = field(default=0.02, kw_only=True)
    patience: float = field(default=300.0, kw_only=True)
    after: int | None = field(default=None, kw_only=True)
    size: int = field(default=2_000_000, kw_only=True)
    billed: bool | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.kind not in _STAGE_OF:
            raise UnknownNameError.of("fault", self.kind, FAULT_KINDS)

    @property
    def stage(self) -> Stage:
        return _STAGE_OF[self.kind]

    @property
    def status(self) -> int:
        """The HTTP status, 200 unless the kind is an error."""
        return int(self.kind[:3]) if self.stage is Stage.REFUSAL else 200

    def could_hit(self, path: str, body: str, *, generates: bool) -> bool:
        if not generates and self.stage in (Stage.ANSWER, Stage.STREAM):
            return False
        here = generates if self.path is None else path.startswith(self.path)
        return here and (self.match is None or self.match in body)


class Schedule:
    """Faults in order; the first whose turn it is strikes. Each counts the requests it could have hit. Thread-safe."""

    def __init__(self, faults: Iterable[Fault | str] = ()) -> None:
        self.faults = [Fault(fault) if isinstance(fault, str) else fault for fault in faults]
        self._seen = [0] * len(self.faults)
        self._struck = [0] * len(self.faults)
        self._gate = threading.Lock()

    def take(self, path: str, body: str, *, generates: bool) -> Fault | None:
        with self._gate:
            for index, fault in enumerate(self.faults):
                if not fault.could_hit(path, body, generates=generates):
                    continue
                self._seen[index] += 1
                spent = fault.times is not None and self._struck[index] >= fault.times
                if self._seen[index] > fault.skip and not spent:
                    self._struck[index] += 1
                    return fault
        return None
