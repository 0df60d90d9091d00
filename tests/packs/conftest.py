from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # test files are imported by path and find no neighbours

from packed_runs import Held, members_of, researched

from deep_research.packs import pack_run


@pytest.fixture(scope="session")
def run() -> tuple[str, Held]:
    """The id of a run whose report has claims, and what holds it."""
    run_id, rows, texts = researched()
    return run_id, Held(rows, texts)


@pytest.fixture(scope="session")
def packed(run: tuple[str, Held], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("packed") / "run.zip"
    pack_run(run[1], run[0], path)  # type: ignore[arg-type]
    return path


@pytest.fixture(scope="session")
def members(packed: Path) -> dict[str, bytes]:
    return members_of(packed)
