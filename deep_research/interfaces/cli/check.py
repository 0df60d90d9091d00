"""What `doctor` finds, one line each."""

from __future__ import annotations

from dataclasses import dataclass

OK, NOTE, BROKEN = "ok", "note", "broken"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at: ``state`` is ok, note or broken."""

    name: str
    state: str
    detail: str
