"""Chaos tests kill processes, not power: where there is memory to keep files in, they do not wait for a disk."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # test files are imported by path and find no neighbours

MEMORY = Path("/dev/shm")


@pytest.fixture
def folder() -> Iterator[Path]:
    base = MEMORY if os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="deep-research-", dir=base) as made:
        yield Path(made)
