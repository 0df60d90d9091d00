"""A witness outside the engine: what was called, on disk before it was answered.

A process that is killed cannot deny what it did: each line was appended and synced before the call went on.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from deep_research.sources.search import SearchRequest, SearchResult
from deep_research.testing import ScriptedSearch


@dataclass(frozen=True, slots=True)
class Call:
    """One call. ``unit`` names the piece of work, ``given`` is a digest of all that the double was told."""

    unit: str
    given: str
    pid: int


class Witness:
    """``Witness(path)``; any number of processes may write to one file."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def note(self, unit: str, given: str = "") -> None:
        line = json.dumps(asdict(Call(unit, given, os.getpid()))) + "\n"
        fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, line.encode())
            os.fsync(fd)
        finally:
            os.close(fd)

    def calls(self) -> list[Call]:
        """All calls so far, in the order they were made."""
        if not self.path.exists():
            return []
        return [Call(**json.loads(line)) for line in self.path.read_text().splitlines()]

    async def see(self, handoff: Any) -> None:
        """Note what an agent was handed: ``scripted_agents(before=witness.see)``."""
        self.note(unit_of(handoff), digest(handoff))


class WitnessedSearch(ScriptedSearch):
    """A scripted search whose calls are noted in the file ``witness``."""

    def __init__(self, answers: Any = None, *, witness: Path | str, **options: Any) -> None:
        super().__init__(answers, **options)
        self._witness = Witness(witness)

    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        self._witness.note(f"search:{request.query}", str(request.limit))
        return await super().search(request)


def unit_of(handoff: Any) -> str:
    """The piece of work that a handoff asks for, the same after a crash as before."""
    name = f"{handoff.current_phase}:{handoff.iteration}"
    if queries := _texts(handoff, "sub_queries"):
        return f"{name}:{' | '.join(queries)}"
    if sources := [source.id for source in getattr(handoff, "sources", ())]:
        return f"{name}:{','.join(sources)}" if handoff.current_phase == "analysis" else name
    return name


def _texts(handoff: Any, field: str) -> Sequence[str]:
    return [item for item in getattr(handoff, field, ()) if isinstance(item, str)]


def digest(told: BaseModel) -> str:
    """A digest of a handoff, without the run's random id."""
    data = told.model_dump(exclude={"research_id"})
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=_plain).encode()).hexdigest()[:12]


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, set | frozenset) else str(value)
