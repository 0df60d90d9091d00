"""Admission of a run: its user, their permissions, and the depth and scope of the research."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from math import ceil

from pydantic import Field

from deep_research.state.records import Record
from deep_research.state.spending import Budget


class Depth(StrEnum):
    """How thoroughly a question is researched. ``QUICK``: one search, one reading, a short report; ``DEEP``: more rounds,
    searches and words."""

    QUICK = "quick"
    STANDARD = "standard"
    DEEP = "deep"


class Scope(StrEnum):
    """What a question asks for: a few facts; a comparison of several things; an account of a whole field. Of the tasks,
    steps and words that the settings allow a run of agents takes `OF_SCOPE`."""

    LOOKUP = "lookup"
    COMPARISON = "comparison"
    SURVEY = "survey"


OF_SCOPE = {Scope.LOOKUP: 0.5, Scope.COMPARISON: 0.75, Scope.SURVEY: 1.0}


def scaled(most: int, scope: Scope | None) -> int:
    """So much of what the settings allow as a question of this scope needs.

    Example:
        scaled(8, Scope.LOOKUP)  # 4
    """
    return most if scope is None else ceil(most * OF_SCOPE[scope])


class Permissions(Record):
    """What a user's runs may use; None: whatever there is. ``sources`` are names of search services and data sources,
    ``corpus`` for the engine's documents, ``web`` for all services; ``kinds`` kinds of sources, ``corpora`` names of
    documents that a run may choose, ``tools`` names of tools of tasks, ``budget`` caps that no run passes."""

    sources: tuple[str, ...] | None = None
    kinds: tuple[str, ...] | None = None
    corpora: tuple[str, ...] | None = None
    tools: tuple[str, ...] | None = None
    budget: Budget | None = None

    def may_search(self, name: str, *, local: bool = False) -> bool:
        """Whether a search service or a data source may be asked; one that is not ``local`` is part of the web."""
        sources = self.sources
        return sources is None or name in sources or (not local and "web" in sources)

    def excess(self, budget: Budget, kinds: Collection[str] = ()) -> str:
        """What of a budget, or of kinds of sources, is more than the user may, in a few words; empty where nothing is."""
        for name, cap in self.budget or ():
            value = getattr(budget, name)
            if cap is not None and (value is None or value > cap):
                return f"{name} may be at most {cap:g}"
        if self.kinds is not None and (over := [kind for kind in kinds if kind not in self.kinds]):
            return f"sources of the kind {', '.join(over)} may not be used"
        return ""


class UserContext(Record):
    """A user as a `UserDirectory` knows them. ``language`` is the one that reports are written in where a run names none;
    ``role`` is the directory's own word."""

    name: str | None = None
    language: str | None = None
    role: str | None = None
    permissions: Permissions = Field(default_factory=Permissions)


class Admission(Record):
    """How a run was let in, or that it was not: ``safety_check`` is False for one that the ``admit`` hook refused, and
    ``reason`` says why. ``depth`` is how
    thoroughly it is researched at first, and ``depth_reason`` why."""

    safety_check: bool = True
    user: UserContext = Field(default_factory=UserContext)
    reason: str = ""
    depth: Depth = Depth.STANDARD
    depth_reason: str = ""
