"""A pack opens as a run that is only read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from packed_runs import QUESTION, TEXT

from deep_research import DeepResearch, ResearchResult, open_pack
from deep_research.errors import (
    ContentMissingError,
    RunNotFoundError,
    StoreReadOnlyError,
    UsageError,
)
from deep_research.packs import Pack, PackStore
from deep_research.state.events import decode_log
from deep_research.store import Owner
from deep_research.testing import ScriptedSearch


def test_it_has_the_events_the_state_the_result_and_the_texts_of_the_run(run: Any, packed: Path) -> None:
    run_id, store = run
    with open_pack(packed) as opened:
        assert opened.research_id == opened.manifest.research_id == run_id
        assert opened.events == decode_log(store.rows)
        assert isinstance(opened.result, ResearchResult)
        assert opened.result.status == "completed"
        assert opened.result.query == opened.state.query == QUESTION
        assert opened.text(opened.result.sources[0]) == TEXT
        for citation in opened.result.citations:
            assert opened.text(citation)[citation.start : citation.end] == citation.quote
        with pytest.raises(ContentMissingError):
            opened.text("0" * 64)
        with pytest.raises(UsageError):
            opened.text(7)  # type: ignore[arg-type]


def test_whatever_looks_at_runs_can_look_at_it(run: Any, packed: Path) -> None:
    with open_pack(packed) as opened, DeepResearch(store=opened.store, search=[ScriptedSearch()]) as research:
        (listed,) = research.list(status="completed", text="bell rock")
        assert dict(listed).items() <= dict(research.status(run[0])).items()
        assert research.status(run[0]).answers == opened.result.answers != ()
        assert (listed.sources, listed.answer_coverage) == (1, opened.result.answer_coverage)
        assert research.result(run[0]) == opened.result
        assert research.report(run[0]) == opened.result.report
        assert research.events(run[0], after=3) == opened.events[3:]
        assert research.list(status="parked") == []
        with pytest.raises(RunNotFoundError):
            research.status("deepres-0123456789ab")


@pytest.mark.parametrize(
    "act",
    [
        lambda research, run_id: research.run(QUESTION),
        lambda research, run_id: research.delete(run_id),
    ],
    ids=["run", "delete"],
)
def test_an_engine_over_a_pack_writes_nothing(run: Any, packed: Path, act: Any) -> None:
    before = packed.read_bytes()
    with open_pack(packed) as opened, DeepResearch(store=opened.store, search=[ScriptedSearch()]) as research:
        with pytest.raises(StoreReadOnlyError):
            act(research, run[0])
        assert len(research.list()) == 1
    assert packed.read_bytes() == before


def test_every_write_is_refused_with_one_error(run: Any, packed: Path) -> None:
    with Pack(packed) as pack:
        store = PackStore(pack)
        for write in (
            lambda: store.submit([]),
            lambda: store.acquire(run[0], Owner.here("t")),
            lambda: store.enqueue_command(run[0], "cancel"),
            lambda: store.delete(run[0]),
        ):
            with pytest.raises(StoreReadOnlyError, match="is an evidence pack, which is read-only"):
                write()
