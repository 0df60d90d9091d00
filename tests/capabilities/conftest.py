from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # test files are imported by path and find no neighbours


@pytest.fixture(autouse=True)
def _no_services_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A researcher that happens to run here is no part of a test."""
    monkeypatch.setattr("deep_research.capabilities.discovery.DEFAULT_URL", "http://127.0.0.1:9")
    monkeypatch.delenv("RESEARCHER_SERVICE_URL", raising=False)
    monkeypatch.delenv("RESEARCHER_SERVICE_TOKEN", raising=False)
