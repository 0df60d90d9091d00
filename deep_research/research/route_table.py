"""The routes of the verbs, beside the table of operations: a test holds one against the other."""

from __future__ import annotations

from dataclasses import dataclass

_RUN = "/v1/runs/{research_id}"
_ENTRY = "/v1/memory/entries/{entry_id}"


@dataclass(frozen=True, slots=True)
class Route:
    """Where a verb is served. ``without`` are its parameters that a request cannot give."""

    method: str
    path: str
    status: int = 200
    without: tuple[str, ...] = ()


ROUTES = {
    "submit": Route("POST", "/v1/runs", 202),
    "list": Route("GET", "/v1/runs"),
    "status": Route("GET", _RUN),
    "delete": Route("DELETE", _RUN, 204),
    "result": Route("GET", f"{_RUN}/result"),
    "report": Route("GET", f"{_RUN}/report"),
    "events": Route("GET", f"{_RUN}/events"),
    "text": Route("GET", f"{_RUN}/sources/{{source_id}}/text", without=("source",)),
    "pack": Route("GET", f"{_RUN}/pack", without=("path", "force")),
    "verify": Route("GET", f"{_RUN}/verification", without=("progress",)),
    "cancel": Route("POST", f"{_RUN}/cancel", 202),
    "pause": Route("POST", f"{_RUN}/pause", 202),
    "resume": Route("POST", f"{_RUN}/resume", 202, without=("shared_budget",)),
    "steer": Route("POST", f"{_RUN}/steer", 202),
    "answer": Route("POST", f"{_RUN}/answer", 202, without=("run",)),
    "sessions": Route("GET", "/v1/sessions"),
    "session_turns": Route("GET", "/v1/sessions/turns"),
    "session_rename": Route("PUT", "/v1/sessions/title", 204),
    "session_delete": Route("DELETE", "/v1/sessions", 204),
    "waiting": Route("GET", "/v1/waiting"),
    "estimate": Route("POST", "/v1/estimate"),
    "memory_list": Route("GET", "/v1/memory"),
    "memory_add": Route("POST", "/v1/memory", 201),
    "memory_show": Route("GET", _ENTRY),
    "memory_edit": Route("PATCH", _ENTRY),
    "memory_export": Route("GET", "/v1/memory/export"),
    "memory_forget": Route("POST", "/v1/memory/forget"),
}
UNROUTED = {
    "run": "A request is answered at once: POST /v1/runs, and its events.",
    "start": "As run.",
    "work": "The process of the server works itself.",
    "wake": "The worker of the server wakes runs.",
    "drain": "The server drains when its process is asked to end.",
    "skipped": "It names files of the server's machine.",
}
