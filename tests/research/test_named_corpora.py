"""A run chooses its documents by name, and keeps them wherever it goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deep_research import DeepResearch, RunStatus
from deep_research.assembly.named_corpora import UPLOADS, named_corpora

pytestmark = pytest.mark.timed

QUESTION = "Who built the tower of Mole?"


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    made = {}
    for name, builder in (("north", "Ann Mole"), ("south", "Ben Hare")):
        folder = made[name] = tmp_path / name
        folder.mkdir()
        (folder / f"{name}.md").write_text(f"# Towers\n\nThe tower of Mole was built in 1811 by {builder}.")
    return made


def engine(tmp_path: Path, folders: dict[str, Path], **more: Any) -> DeepResearch:
    return DeepResearch(named_corpora=folders, data_dir=tmp_path / "data", local_only=True, **more)


@pytest.mark.parametrize("elsewhere", ["north", None], ids=["another corpus", "no corpus"])
def test_a_submitted_run_keeps_the_documents_that_it_chose(
    tmp_path: Path, folders: dict[str, Path], elsewhere: str | None
) -> None:
    with engine(tmp_path, folders) as client:
        run_id = client.submit(QUESTION, corpora=["south"])
    corpus = {"corpus": folders[elsewhere]} if elsewhere else {}
    with engine(tmp_path, folders, **corpus) as worker:
        assert worker.work(once=True) == 1
        result = worker.result(run_id)
        assert result.status is RunStatus.COMPLETED
        assert [source.url for source in result.sources] == ["south.md"]


def test_a_worker_that_does_not_know_the_name_says_so(tmp_path: Path, folders: dict[str, Path]) -> None:
    with engine(tmp_path, folders) as client:
        run_id = client.submit(QUESTION, corpora=["south"])
    with engine(tmp_path, {"north": folders["north"]}) as worker:
        worker.work(once=True)
        status = worker.status(run_id)
        assert (status.status, status.reason) == (RunStatus.ABORTED, "config")
        assert "Unknown corpus 'south'" in str(status.message)


def test_an_uploaded_folder_is_a_corpus_and_a_name_of_the_settings_goes_first(
    tmp_path: Path, folders: dict[str, Path]
) -> None:
    for name in ("north", "west", ".hidden", "A b"):
        (tmp_path / "data" / UPLOADS / name).mkdir(parents=True)
    (tmp_path / "data" / UPLOADS / "west" / "west.md").write_text("The tower of Mole was built by Cy Rook.")
    with engine(tmp_path, folders) as client:
        known = named_corpora(client.settings.settings)
        assert sorted(known) == ["north", "south", "west"]
        assert known["north"] == folders["north"]
        assert [source.url for source in client.run(QUESTION, corpora="west").sources] == ["west.md"]
