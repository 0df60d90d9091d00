from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from multiprocessing import forkserver
from pathlib import Path

import pytest

from evals.eval_data import write_data


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Small data sets in a folder of the test's own; nothing of whoever runs the tests."""
    for name in [name for name in os.environ if name.startswith("DEEP_RESEARCH_")]:
        monkeypatch.delenv(name)
    return write_data(tmp_path / "sets")


@pytest.fixture(scope="module")
def warm_workers() -> Iterator[None]:
    """Worker processes are forked from one that has imported what they need; each is a process of its own as ever."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["evals.workers", "deep_research.research"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evals.workers.get_context", lambda _: context)
        yield
    forkserver._forkserver._stop()
