"""From bytes that nobody vouches for to readable text. Names are loaded when first used: the child process that
parses imports this package too, and has no use for most of it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deep_research.sources.extract.document import Document
    from deep_research.sources.extract.pool import Extractor

_HOMES = {
    "Document": "deep_research.sources.extract.document",
    "Extractor": "deep_research.sources.extract.pool",
}

__all__ = ["Document", "Extractor"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
