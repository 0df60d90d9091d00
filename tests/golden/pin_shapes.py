"""Pins the shape of every event that has no file yet in ``tests/data/events``: ``python tests/golden/pin_shapes.py``.

A pinned shape is never written again. Where an event changed, raise its version first.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from deep_research.state.events import EVENT_TYPES, Event

SHAPES = Path(__file__).resolve().parents[1] / "data" / "events"
PROSE = ("title", "description")


def file_of(name: str, version: int) -> Path:
    return SHAPES / f"{name}@{version}.json"


def shape(kind: type[Event]) -> Any:
    """The JSON schema of an event, nested records, enumerations, defaults and bounds included, without its prose."""
    return _bare(kind.model_json_schema())


def _bare(schema: Any, *, names: bool = False) -> Any:
    """``names``: the keys are names of fields, so one called ``title`` is no prose."""
    if isinstance(schema, list):
        return [_bare(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _bare(value, names=key in ("properties", "$defs") and not names)
        for key, value in sorted(schema.items())
        if names or key not in PROSE
    }


def main() -> None:
    for name, kind in EVENT_TYPES.items():
        pinned = file_of(name, kind.CURRENT)
        if not pinned.exists():
            pinned.write_text(json.dumps(shape(kind), indent=1) + "\n", encoding="utf-8")
            print(f"pinned {pinned.name}")


if __name__ == "__main__":
    main()
