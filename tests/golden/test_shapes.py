"""The shape of every event is pinned: what a version wrote is read for ever, and what is newer is told as newer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from pin_shapes import SHAPES, all_shapes, file_of, shape
from servers.instances import instance

from deep_research.errors import StoreVersionError
from deep_research.state import events as ev
from deep_research.state import shapes
from deep_research.store.base import StoredEvent
from deep_research.testing import sample_log

KINDS = sorted(ev.EVENT_TYPES)
PINNED = sorted(SHAPES.glob("*.json"))


@pytest.mark.parametrize("name", KINDS)
def test_an_event_has_the_shape_that_is_pinned_for_its_version(name: str) -> None:
    kind = ev.EVENT_TYPES[name]
    pinned = json.loads(file_of(name, kind.CURRENT).read_text(encoding="utf-8"))
    assert shape(kind) == pinned, (
        f"'{name}' differs from its pinned version {kind.CURRENT}: run python tests/golden/pin_shapes.py and "
        "make_databases.py; from 0.1.0 on raise its version and add the step to UPCASTS first"
    )


def test_the_hash_of_all_shapes_is_that_of_the_pinned_ones() -> None:
    assert all_shapes() == shapes.SHAPES


@pytest.mark.parametrize("name", KINDS)
def test_every_version_that_was_written_is_pinned_and_can_be_raised(name: str) -> None:
    kind = ev.EVENT_TYPES[name]
    assert kind.model_fields["version"].default == kind.CURRENT
    for version in range(1, kind.CURRENT + 1):
        assert file_of(name, version).exists()
        assert version == kind.CURRENT or (name, version) in ev.UPCASTS


@pytest.mark.parametrize("pinned", PINNED, ids=[path.stem for path in PINNED])
def test_an_event_of_any_pinned_shape_is_read(pinned: Any) -> None:
    name, _, version = pinned.stem.rpartition("@")
    schema = json.loads(pinned.read_text(encoding="utf-8"))
    body = json.dumps({**instance(schema), "type": name, "version": int(version)}).encode()
    event = ev.decode(name, int(version), body)
    assert event.version == type(event).CURRENT


def nested(value: Any) -> Iterator[dict[str, Any]]:
    """Every record in an event; what agents say in their own words (of a decision: inputs, outputs) may have any key."""
    if isinstance(value, dict):
        yield value
        for key, inner in value.items():
            if key not in ("inputs", "outputs", "words", "metadata", "scores", "sent"):
                yield from nested(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from nested(inner)


LOG = sample_log("refinement", done=True, iteration=3)


@pytest.mark.parametrize("event", LOG, ids=[f"{event.seq}-{event.name}" for event in LOG])
def test_a_field_or_value_that_only_a_newer_package_knows_is_told_as_newer(event: ev.Event) -> None:
    body = json.loads(ev.encode(event))
    for number in range(len(list(nested(body)))):
        newer = json.loads(ev.encode(event))
        list(nested(newer))[number]["later"] = 1
        with pytest.raises(StoreVersionError, match=re.escape("later'")):
            ev.decode(event.name, event.version, json.dumps(newer).encode())
    if "phase" in body:
        with pytest.raises(StoreVersionError, match="phase"):
            ev.decode(event.name, event.version, json.dumps({**body, "phase": "reviewing"}).encode())


def test_a_log_that_goes_on_in_a_newer_version_is_not_called_damaged_for_what_stands_before() -> None:
    """An order of events that this package does not know may stand before the first event of a newer shape."""
    rows = [StoredEvent(e.seq, e.name, e.version, ev.encode(e)) for e in LOG]
    rows[1] = StoredEvent(2, "run.completed", 1, b"{damaged")
    rows.append(StoredEvent(len(rows) + 1, "page.turned", 1, b"{}"))
    with pytest.raises(StoreVersionError, match="Upgrade"):
        ev.decode_log(rows)
