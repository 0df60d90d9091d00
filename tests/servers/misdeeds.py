"""What a fault does to an answer, and to the reply that carries it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from email.utils import formatdate
from typing import Any

from deep_research.testing.models import as_json
from servers.faults import Fault, Stage
from servers.http import Ending, Reply
from servers.openai_common import REFUSAL
from servers.server_exchange import PROSE, Called, Said
from servers.wire import Wire

_ENDINGS = {"reset": Ending.RESET, "close": Ending.CLOSED, "hang": Ending.HANGING}
_GATEWAY = {
    "html-200": (b"<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1></body></html>", "text/html"),
    "null": (b"null", "application/json"),
    "empty-object": (b"{}", "application/json"),
}
_IN_PIECES = 8


# Answers


def altered(said: Said, fault: Fault) -> Said:
    """Another answer, for a fault of the stage ``ANSWER``."""
    match fault.kind:
        case "truncated-json":
            return replace(said, text=_half(said.text), calls=cut_calls(said.calls))
        case "prose":
            return replace(said, text=PROSE, tool=None, calls=())
        case "wrong-schema":
            return replace(said, text=as_json({"unexpected": [1, {"shape": True}]}))
        case "empty":
            return replace(said, text="", reasoning="", tool=None, calls=())
        case "refusal":
            return replace(said, text=REFUSAL, stop="refusal", tool=None, calls=())
        case "length":
            return replace(said, text=_half(said.text), calls=cut_calls(said.calls), stop="length")
        case "content-filter":
            return replace(said, text=_half(said.text), stop="content-filter", tool=None, calls=())
        case "huge":
            return replace(said, text=_huge(said.text, fault.size))
        case "duplicate-ids":
            return replace(said, text=_with_lists(said.text, _duplicated))
        case "out-of-order-ids":
            return replace(said, text=_with_lists(said.text, _reversed))
    return said


def cut_calls(calls: Sequence[Called]) -> tuple[Called, ...]:
    """All but the last call, and that with half of its arguments."""
    return (*calls[:-1], *(replace(c, arguments=_half(str(c.arguments))) for c in calls[-1:]))


def _half(text: str) -> str:
    return text[: len(text) // 2]


def _huge(text: str, size: int) -> str:
    """Prose, or the same data with its first string grown."""
    try:
        data = json.loads(text)
    except ValueError:
        return (PROSE + " ") * (size // len(PROSE) + 1)
    grown, done = _grown(data, PROSE * (size // len(PROSE) + 1))
    return as_json(grown) if done else (PROSE + " ") * (size // len(PROSE) + 1)


def _grown(data: Any, more: str) -> tuple[Any, bool]:
    if isinstance(data, str):
        return data + more, True
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in list(pairs):
        grown, done = _grown(value, more)
        if done:
            data[key] = grown
            return data, True
    return data, False


def _with_lists(text: str, change: Callable[[list[Any]], list[Any]]) -> str:
    """JSON with ``change`` made to every list of objects with an id and every list of ids; prose stays."""
    try:
        data = json.loads(text)
    except ValueError:
        return text
    return as_json(_walked(data, "", change))


def _walked(data: Any, name: str, change: Callable[[list[Any]], list[Any]]) -> Any:
    if isinstance(data, Mapping):
        return {key: _walked(value, key, change) for key, value in data.items()}
    if isinstance(data, list):
        items = [_walked(item, name, change) for item in data]
        objects = all(isinstance(item, dict) and "id" in item for item in items)
        ids = name.endswith("ids") and all(isinstance(item, str) for item in items)
        return change(items) if items and (objects or ids) else items
    return data


def _duplicated(items: list[Any]) -> list[Any]:
    """All with the id of the first; one alone is there twice."""
    first = items[0]
    if len(items) == 1:
        return [first, first]
    return [{**item, "id": first["id"]} if isinstance(item, dict) else first for item in items]


def _reversed(items: list[Any]) -> list[Any]:
    return items[::-1]


# Replies


def spoiled(reply: Reply, fault: Fault, wire: Wire, *, closing: int) -> Reply:
    """What is sent in place of a good reply, of whose events the last ``closing`` end the answer."""
    match fault.stage:
        case Stage.REFUSAL:
            return refusal(fault, wire)
        case Stage.SILENCE:
            return Reply(silent=True, ending=_ENDINGS[fault.kind], patience=fault.patience)
        case Stage.GATEWAY:
            body, media = _GATEWAY[fault.kind]
            return Reply(pieces=(body,), media=media)
        case Stage.DELIVERY:
            return _badly_sent(replace(reply, patience=fault.patience), fault)
        case Stage.STREAM:
            return _broken(replace(reply, patience=fault.patience), fault, wire, closing)
    return reply


def refusal(fault: Fault, wire: Wire) -> Reply:
    body = as_json(wire.error(fault.status, fault.message, fault.code)).encode()
    return Reply(fault.status, (body,), headers=_retry_after(fault))


def _retry_after(fault: Fault) -> dict[str, str]:
    wait = fault.kind.removeprefix("429").removeprefix("-after-")
    if fault.retry_after is not None:
        return {"retry-after": fault.retry_after}
    if not fault.kind.startswith("429-"):
        return {}
    if wait == "ms":
        return {"retry-after-ms": "250"}
    words = {"minus-5": "-5", "date": formatdate(time.time() + 7, usegmt=True)}
    return {"retry-after": words.get(wait, wait)}


def _badly_sent(reply: Reply, fault: Fault) -> Reply:
    whole = b"".join(reply.pieces)
    match fault.kind:
        case "drip-body":
            bytewise = tuple(whole[at : at + 1] for at in range(len(whole)))
            return replace(reply, pieces=bytewise, pause=fault.interval)
        case "drip-headers":
            return replace(reply, slow_head=True, pause=fault.interval)
        case "short-body":
            return replace(reply, pieces=(whole[: len(whole) // 2],), length=len(whole), ending=Ending.CLOSED)
    if reply.chunked:
        return _with_bad_json(reply, len(reply.pieces) // 2)
    return replace(reply, pieces=(whole[: len(whole) * 2 // 3],))


def _broken(reply: Reply, fault: Fault, wire: Wire, closing: int) -> Reply:
    """A stream that breaks before it says how it ended; a body that breaks in the middle."""
    if not reply.chunked:
        if fault.kind == "sse-error":
            body = as_json(wire.error(503, fault.message, fault.code)).encode()
            return Reply(503, (body,))
        if fault.kind == "sse-bad-json":
            return _badly_sent(reply, fault)
        reply, closing = _in_pieces(reply), 1
    cut = fault.after if fault.after is not None else len(reply.pieces) // 2
    cut = max(0, min(cut, len(reply.pieces) - closing))
    start = replace(reply, pieces=reply.pieces[:cut])
    match fault.kind:
        case "sse-slow":
            return replace(reply, pause=fault.interval)
        case "sse-bad-json":
            return _with_bad_json(reply, cut)
        case "sse-error":
            return replace(start, pieces=(*start.pieces, wire.stream_error(fault.message, fault.code)))
        case "sse-reset":
            return replace(start, ending=Ending.RESET)
        case "sse-hang":
            return replace(start, ending=Ending.HANGING)
        case "sse-cut-clean" if reply.chunked:
            return start
    return replace(start, ending=Ending.CLOSED)


def _with_bad_json(reply: Reply, at: int) -> Reply:
    """The event at that place cut short; the rest follows as if nothing had been."""
    pieces = list(reply.pieces)
    event = pieces[at].rstrip(b"\n")
    pieces[at] = event[: len(event) * 2 // 3] + pieces[at][len(event) :]
    return replace(reply, pieces=tuple(pieces))


def _in_pieces(reply: Reply) -> Reply:
    whole = b"".join(reply.pieces)
    size = max(1, -(-len(whole) // _IN_PIECES))
    pieces = tuple(whole[at : at + size] for at in range(0, len(whole), size))
    return replace(reply, pieces=pieces, length=len(whole))
