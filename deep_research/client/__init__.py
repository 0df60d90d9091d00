"""Clients of a server: the verbs of `DeepResearch` over HTTP, with the same results and errors."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deep_research.client.async_client import AsyncClient, AsyncRun
    from deep_research.client.plain_client import Client, Run

__all__ = ["AsyncClient", "AsyncRun", "Client", "Run"]

_HOMES = {
    "AsyncClient": "async_client",
    "AsyncRun": "async_client",
    "Client": "plain_client",
    "Run": "plain_client",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
