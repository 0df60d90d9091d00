"""What readers of a report are told of the sources as a whole."""

import pytest

from deep_research import DeepResearch
from deep_research.testing import ScriptedSearch

LINE = "the reader 'note' cannot be loaded (ImportError: no); reinstall the package that brings it"


@pytest.mark.parametrize("searched", ["folder", "results alone"])
def test_a_reader_that_cannot_be_loaded_is_told_of_a_run_that_reads_files_or_pages(
    tmp_path, monkeypatch, searched
):
    monkeypatch.setattr("deep_research.assembly.source_choice.unloadable", lambda: (LINE,), raising=False)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "towers.md").write_text("# Towers\n\nThe old tower was built of stone in 1312.\n")
    reads = (
        {"corpus": [tmp_path / "docs"], "search": ["corpus"]}
        if searched == "folder"
        else {"search": [ScriptedSearch()], "fetch": {"enabled": False}}
    )
    with DeepResearch(store="memory", data_dir=tmp_path / "data", **reads) as engine:
        result = engine.run("When was the old tower built?")
    told = [notice.message for notice in result.notices if "note" in notice.message]
    assert told == ([f"Texts may be missing: {LINE}."] if searched == "folder" else [])
