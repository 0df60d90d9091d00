"""Whatever is changed in a pack is found, also where the pack was made anew, unless nothing that is read changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from changed_packs import changes, read
from packed_runs import members_of
from prompt_reading import ReadingModel

from deep_research import DeepResearch, open_pack
from deep_research.errors import DeepResearchError
from deep_research.sources.documents.folder import sample_corpus

SAMPLE = 11  # every so many changes
QUESTION = "Who built the Bell Rock lighthouse? How tall is its tower?"
MODELS = {"without a model": {}, "with a model and a judge": {"model": ReadingModel(), "judge": "all"}}


@pytest.fixture(scope="module", params=MODELS)
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "run.zip"
    given = dict(MODELS[request.param])
    if given:
        given["models"] = {"judge": ReadingModel("judge")}
    with DeepResearch(corpus=sample_corpus(), store="memory", search=["corpus"], **given) as research:
        research.pack(research.run(QUESTION).research_id, path)
    return path


def is_found(path: Path) -> bool:
    try:
        with open_pack(path) as run:
            return not run.verify().holds
    except DeepResearchError:
        return True


@pytest.mark.parametrize("every", [SAMPLE, pytest.param(1, marks=pytest.mark.sweep)])
def test_every_change_of_what_is_read_is_found(whole: Path, every: int, tmp_path: Path) -> None:
    members, seen = members_of(whole), read(whole)
    assert seen is not None
    assert not is_found(whole)
    kinds = list(changes(members))
    missed = []
    for change in kinds[::every]:
        path = change.write(tmp_path / "changed.zip", members)
        if not is_found(path) and (change.in_archive or read(path) != seen):
            missed.append(change.name)
    assert missed == []
    assert len(kinds) > 250
