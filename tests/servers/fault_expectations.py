"""What must come of every fault of a model service. A table, from what a caller needs to know: is there an answer, and
where there is none, does asking later help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Way = Literal["text", "stream", "object", "turn"]
WAYS: tuple[Way, ...] = ("text", "stream", "object", "turn")


@dataclass(frozen=True, slots=True)
class Outcome:
    """``verdict``: that of the error; "ok"; or "cut" and "short" for a text that is not whole and is said not to be, by
    the wire's fault or by its limit. ``requests``: how many it took."""

    verdict: str
    requests: int

    def __str__(self) -> str:
        return f"{_SHORT.get(self.verdict, self.verdict)} {self.requests}"


_SHORT = {"transient": "trans", "malformed": "malf", "refusal": "refus", "incomplete": "incom"}

_OK = Outcome("ok", 1)
_AGAIN = Outcome("ok", 2)
_REFUSED = Outcome("refusal", 1)
_OUTAGE = Outcome("transient", 4)
_FATAL = Outcome("fatal", 1)
_TIME_UP = Outcome("transient", 3)  # two whole ones and half of one are all the time that the unit has

# Each as (once, for ever).
_PASSING = (_AGAIN, _OUTAGE)
_HOPELESS = (_FATAL, _FATAL)
_SLOW = (_AGAIN, _TIME_UP)
_UNSEEN = (_OK, _OK)  # of a text nobody can tell; of an object it is nothing that its type forbids
_ALIKE: dict[str, tuple[Outcome, Outcome]] = {
    **dict.fromkeys(
        (
            *("429", "429-after-0", "429-after-7", "429-after-nan", "429-after-minus-5"),
            *("429-after-date", "429-after-ms", "500", "503", "529", "408", "reset", "close"),
            *("html-200", "null", "empty-object", "short-body", "bad-json"),
            *("sse-cut-clean", "sse-cut-abrupt", "sse-reset", "sse-bad-json", "sse-error"),
        ),
        _PASSING,
    ),
    **dict.fromkeys(("401", "402", "400", "413"), _HOPELESS),
    **dict.fromkeys(("hang", "drip-body", "drip-headers", "sse-hang"), _SLOW),
    **dict.fromkeys(("huge", "duplicate-ids", "out-of-order-ids", "sse-slow"), _UNSEEN),
    **dict.fromkeys(("truncated-json", "prose", "wrong-schema"), _UNSEEN),
    "429-after-3600": (Outcome("park", 1), Outcome("park", 1)),
    "empty": (_AGAIN, Outcome("malformed", 2)),
    "length": (_AGAIN, Outcome("short", 2)),
    **dict.fromkeys(("refusal", "content-filter"), (_REFUSED, _REFUSED)),
}
SLOW_KINDS = frozenset(kind for kind, outcomes in _ALIKE.items() if outcomes == _SLOW)


def expected(
    kind: str, way: Way, *, forms: int, says_refusals: bool, tools: bool = False
) -> tuple[Outcome, Outcome]:
    """What must come of a fault that strikes once, and for ever. ``forms``: how many ways of asking for an object the
    service has of its own; ``says_refusals``: it tells a refusal from an answer; ``tools``: it has calls of tools, so
    that a turn is an object only where these are refused or give nothing."""
    useless = Outcome("malformed", min(4, forms + 2))  # asked for in each way, once with what was wrong
    if way == "turn" and tools:
        special = {
            "400": (_AGAIN, Outcome("fatal", min(4, forms + 2))),
            "length": (_AGAIN, Outcome("length", 2)),
            "empty": (_AGAIN, useless),
        }
        return special.get(kind, _ALIKE[kind])
    if way == "turn":
        # A turn without calls is the last one, so one that is not whole is none.
        if kind == "truncated-json" or (kind == "content-filter" and not says_refusals):
            return _AGAIN, Outcome("malformed", 2)
        if kind == "length":  # what was cut off is asked for first, then all of it with more room
            return _AGAIN, Outcome("length", 4)
        way = "object"
    if way == "stream" and kind == "sse-cut-clean":
        return _AGAIN, Outcome("cut", 4)
    if way == "stream" and kind == "sse-hang":
        return _PASSING  # silence is given up before a request's time is over
    if kind in ("refusal", "content-filter") and not says_refusals:
        return (_AGAIN, useless) if way == "object" else _UNSEEN
    if way != "object":
        return _ALIKE[kind]
    if kind == "400":
        # It may be the form that is refused, so that it is asked for in other ways, down to JSON in the text.
        return _AGAIN, Outcome("fatal", forms + 1)
    if kind == "length":
        return _AGAIN, Outcome("length", 2)
    if kind in ("truncated-json", "prose", "wrong-schema", "empty"):
        return _AGAIN, useless
    return _ALIKE[kind]
