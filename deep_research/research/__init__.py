"""The engine as an embedder holds it. Names are loaded when first used: who only looks at runs needs no engine."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deep_research.research.engine import DeepResearch
    from deep_research.research.packed_run import PackedRun, open_pack
    from deep_research.research.result import ResearchResult
    from deep_research.research.run_control import ResearchHandle
    from deep_research.research.run_summary import RunDetail, RunSummary
    from deep_research.research.runs import Runs

_HOMES = {
    "DeepResearch": "engine",
    "PackedRun": "packed_run",
    "ResearchHandle": "run_control",
    "ResearchResult": "result",
    "RunDetail": "run_summary",
    "RunSummary": "run_summary",
    "Runs": "runs",
    "open_pack": "packed_run",
}

__all__ = [
    "DeepResearch",
    "PackedRun",
    "ResearchHandle",
    "ResearchResult",
    "RunDetail",
    "RunSummary",
    "Runs",
    "open_pack",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
