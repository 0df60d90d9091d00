"""kill -9 at every commit of a turn: session and memory are the undisturbed ones."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from warm_parent import WarmParent

sys.path.insert(0, str(Path(__file__).parent))  # test files are imported by path and find no neighbours
pytestmark = pytest.mark.timed

FIRST = "How tall is Cape Hatteras Lighthouse?"


@pytest.fixture(scope="module")
def parent() -> Iterator[WarmParent]:
    with WarmParent("kills", "turns") as warm:
        yield warm


def asked(parent: WarmParent, folder: Path, question: str | None, **more: Any) -> Any:
    return parent.run("turns:ask", database=folder / "runs.db", question=question, **more)


@pytest.mark.parametrize(
    ("question", "searches"), [("And how old is it?", False), ("What does Trinity House do?", True)]
)
def test_a_turn_killed_at_any_commit_ends_as_the_undisturbed_one(
    parent: WarmParent, tmp_path: Path, question: str, searches: bool
) -> None:
    begun, whole = tmp_path / "begun", tmp_path / "whole"
    begun.mkdir()
    asked(parent, begun, FIRST).ok()
    shutil.copytree(begun, whole)
    undisturbed = asked(parent, whole, question).ok()
    assert len(undisturbed["turns"]) == 2
    assert (undisturbed["turns"][1]["searches"] > 0) is searches
    assert undisturbed["commits"] >= 6
    assert undisturbed["memory"]
    for number in range(1, undisturbed["commits"] + 1):
        for moment in ("before", "after"):
            killed = tmp_path / f"{number}-{moment}"
            shutil.copytree(begun, killed)
            assert asked(parent, killed, question, kill=[number, moment]).killed_by == 9
            left = asked(parent, killed, None).ok()
            if len(left["turns"]) == 1:  # it died before the turn was there: it is asked again
                assert (number, moment) == (1, "before")
                left = asked(parent, killed, question).ok()
            assert left["turns"] == undisturbed["turns"], (number, moment)
            assert left["memory"] == undisturbed["memory"], (number, moment)
