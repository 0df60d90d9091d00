from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # test files are imported by path and find no neighbours

from cli_double import Done, Double

from deep_research.interfaces.cli.main import main
from deep_research.logs import configure
from deep_research.research import DeepResearch


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty current folder, a data directory below it, and nothing of whoever runs the tests."""
    for name in [name for name in os.environ if name.startswith("DEEP_RESEARCH_")]:
        monkeypatch.delenv(name)
    for name in ("COLUMNS", "LINES", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("platformdirs.user_config_path", lambda *_, **__: tmp_path / "user-config")
    monkeypatch.setattr("platformdirs.user_data_path", lambda *_, **__: tmp_path / "user-data")
    monkeypatch.setenv("DEEP_RESEARCH_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    yield tmp_path / "data"
    configure(None)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """``cli("list", "--json")``: the command in this process, over a `Double` or the engine that is given."""

    def call(*argv: str, engine: Callable[..., DeepResearch] | None = None, **options: Any) -> Done:
        capsys.readouterr()
        factory = engine or partial(DeepResearch, **({"search": [Double()]} | options))
        code = main(argv, engine=factory)
        out, err = capsys.readouterr()
        return Done(int(code), out, err)

    return call


@pytest.fixture
def plain(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """The command as installed, with the real engine."""

    def call(*argv: str) -> Done:
        capsys.readouterr()
        code = main(argv)
        out, err = capsys.readouterr()
        return Done(int(code), out, err)

    return call
