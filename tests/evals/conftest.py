from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # test files are imported by path and find no neighbours

from eval_data import write_data


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Small data sets in a folder of the test's own; nothing of whoever runs the tests."""
    for name in [name for name in os.environ if name.startswith("DEEP_RESEARCH_")]:
        monkeypatch.delenv(name)
    return write_data(tmp_path / "sets")
