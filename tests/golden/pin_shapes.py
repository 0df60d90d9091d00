"""Pins the shape of every event in ``tests/data/events``, and the hash of all stored shapes in ``state/shapes.py``:

    python tests/golden/pin_shapes.py && python tests/golden/make_databases.py

Before 0.1.0 a changed shape is pinned anew in place, and the golden databases are made anew in the same commit. From
0.1.0 on a pinned shape is never written again: where an event changed, raise its version first.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from deep_research.packs.manifest import Manifest
from deep_research.state import shapes
from deep_research.state.events import EVENT_TYPES
from deep_research.state.identity import sha256_hex
from deep_research.state.records import Record
from deep_research.store.migrations import MIGRATIONS

SHAPES = Path(__file__).resolve().parents[1] / "data" / "events"
PROSE = ("title", "description")


def file_of(name: str, version: int) -> Path:
    return SHAPES / f"{name}@{version}.json"


def all_shapes() -> str:
    """The hash of every stored shape: events, tables, the manifest of packs. Its own default is no part of it."""
    manifest = shape(Manifest)
    manifest["properties"].pop("shapes")
    manifest["properties"].pop("package")
    stored = {name: shape(kind) for name, kind in EVENT_TYPES.items()}
    return sha256_hex(json.dumps([stored, MIGRATIONS, manifest], sort_keys=True).encode())


def shape(kind: type[Record]) -> Any:
    """The JSON schema of a record, nested records, enumerations, defaults and bounds included, without its prose."""
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
        text = json.dumps(shape(kind), indent=1) + "\n"
        pinned = file_of(name, kind.CURRENT)
        if not pinned.exists() or pinned.read_text(encoding="utf-8") != text:
            pinned.write_text(text, encoding="utf-8")
            print(f"pinned {pinned.name}")
    module = Path(shapes.__file__)
    text = module.read_text(encoding="utf-8")
    module.write_text(re.sub(r'(?m)^SHAPES = ".*"$', f'SHAPES = "{all_shapes()}"', text), encoding="utf-8")


if __name__ == "__main__":
    main()
