"""An evaluation runs the engine, keeps what is finished, and measures all of it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from deep_research.errors import UnknownNameError, UsageError
from deep_research.settings import Settings, load_settings
from evals import SUITES, Figures, Progress, evaluate, suite_named
from evals.datasets import Question
from evals.evaluation import _by_set, _sample
from evals.fingerprints import source_hash
from evals.outcomes import Outcome, Task
from evals.workers import Setup, carry_out

pytestmark = pytest.mark.usefixtures("warm_workers")
REAL_DATA = os.environ.get("EVAL_DATA", "")  # the folder of the real data sets, if there is one


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_of("wiki-multihop", tmp_path)


def settings_of(suite: str, folder: Path) -> Settings:
    overrides = {**SUITES[suite].settings, "data_dir": str(folder / "home")}
    return load_settings(overrides=overrides).settings


def evaluated(suite: str, data: Path, folder: Path, **options: Any) -> Figures:
    return asyncio.run(evaluate(SUITES[suite], data, settings_of(suite, folder), **{"jobs": 1, **options}))


def without_times(figures: Figures) -> dict[str, dict[str, float]]:
    timed = ("seconds", "searching")
    return {s: {m: v for m, v in f.items() if not m.startswith(timed)} for s, f in figures.sets.items()}


def test_the_engine_finds_what_is_plainly_there(data: Path, tmp_path: Path) -> None:
    figures = evaluated("wiki-multihop", data, tmp_path, jobs=2)
    assert figures.errors == {}
    assert list(figures.sets) == ["all", "one", "two"]
    every = figures.sets["all"]
    assert (every["questions"], every["hits@10"], every["all@10"], every["failed"]) == (4, 1.0, 1.0, 0)
    assert figures.sets["one"]["questions"] == 2
    assert 0 < every["seconds_p50"] <= every["seconds_p95"]
    assert every["searching_ms_p50"] > 0
    assert 1 <= every["searches_mean"] <= every["searches_max"] <= 12


def test_a_second_call_does_nothing_again_and_a_fresh_one_everything(data: Path, tmp_path: Path) -> None:
    told: list[Progress] = []
    first = evaluated("scifact", data, tmp_path, limit=1)
    again = evaluated("scifact", data, tmp_path, progress=told.append)
    assert told[0] == Progress(done=1, kept=1, total=2)
    assert told[-1] == Progress(done=2, kept=1, total=2)
    assert first.sets["all"]["questions"] == 1
    told.clear()
    assert evaluated("scifact", data, tmp_path, progress=told.append) == again
    assert told == [Progress(done=2, kept=2, total=2)]
    told.clear()
    fresh = evaluated("scifact", data, tmp_path, progress=told.append, fresh=True)
    assert told[0].kept == 0
    assert without_times(fresh) == without_times(again)


def test_other_data_and_other_settings_are_other_runs(data: Path, tmp_path: Path) -> None:
    evaluated("scifact", data, tmp_path, limit=1)
    with (data / "scifact" / "corpus.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"_id": "w7", "text": "One more."}\n')
    evaluated("scifact", data, tmp_path, limit=1)
    overrides = {**SUITES["scifact"].settings, "data_dir": str(tmp_path / "home"), "max_iterations": 1}
    other = load_settings(overrides=overrides).settings
    asyncio.run(evaluate(SUITES["scifact"], data, other, jobs=1, limit=1))
    assert len(list((tmp_path / "home" / "evals").glob("scifact-*.jsonl"))) == 3


def test_one_step_claims_are_measured_after_one_search_and_at_the_end(data: Path, tmp_path: Path) -> None:
    every = evaluated("scifact", data, tmp_path).sets["all"]
    assert every["questions"] == 2
    assert every["first_stage_ndcg@10"] == 1.0
    assert every["ndcg@10"] == 1.0


def test_a_report_covers_what_it_says(data: Path, tmp_path: Path) -> None:
    every = evaluated("coverage", data, tmp_path).sets["all"]
    assert (every["nuggets"], every["nuggets_vital"]) == (0.5, 1.0)
    assert every["cited_recall"] >= 0.5


def test_every_question_on_gaps_is_run_with_and_without_its_last_evidence(data: Path, tmp_path: Path) -> None:
    figures = evaluated("gaps", data, tmp_path)
    (kept,) = (tmp_path / "home" / "evals").glob("gaps-*.jsonl")
    assert len(kept.read_text("utf-8").splitlines()) == 4
    assert figures.sets["all"]["questions"] == 2
    assert 0 <= figures.sets["all"]["auroc"] <= 1


def test_without_the_last_evidence_that_passage_is_not_found(data: Path, tmp_path: Path) -> None:
    from evals.outcomes import OutcomeFile

    evaluated("gaps", data, tmp_path)
    (path,) = (tmp_path / "home" / "evals").glob("gaps-*.jsonl")
    file = OutcomeFile(path)
    file.close()
    assert "w2" in file.kept["q3"].sources
    assert not {"w2", "w5"} & set(file.kept["q3 without"].sources)


def test_a_run_that_fails_is_told_not_kept_and_tried_again(data: Path, tmp_path: Path) -> None:
    questions = data / "scifact" / "claims-dev.jsonl"
    with questions.open("a", encoding="utf-8") as file:
        file.write('{"_id": "c4", "claim": "  ", "cited_doc_ids": ["w1"]}\n')
    told: list[Progress] = []
    for kept in (0, 2):
        figures = evaluated("scifact", data, tmp_path, progress=told.append)
        assert "The question is empty" in figures.errors["c4"]
        assert figures.sets["all"]["failed"] == 1
        assert figures.sets["all"]["ndcg@10"] == pytest.approx(2 / 3)
        assert told[-1].kept == kept


def test_a_smaller_sample_is_part_of_a_larger_one_and_the_order_of_the_file_changes_nothing() -> None:
    questions = [Question(id=f"q{n}", text="?", gold=()) for n in range(50)]
    assert _sample(questions, 10) == _sample(questions[::-1], 20)[:10]
    assert len(_sample([*questions, *questions], None)) == 50


def test_one_question_set_is_only_shown_as_all() -> None:
    answered = [(Question(id="q", text="?", dataset="one", gold=()), [Outcome(id="q")])]
    assert list(_by_set(answered, lambda _: {})) == ["all"]


def test_wrong_use_is_refused(data: Path, settings: Settings) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'scifact'"):
        suite_named("scifacts")
    with pytest.raises(UsageError, match="not run without titles"):
        asyncio.run(evaluate(SUITES["scifact"], data, settings, titles=False))
    (data / "scifact" / "claims-dev.jsonl").write_text("\n", encoding="utf-8")
    with pytest.raises(UsageError, match="no question"):
        asyncio.run(evaluate(SUITES["scifact"], data, settings))


def test_the_hash_of_the_code_can_be_that_of_some_rooms() -> None:
    assert source_hash() == source_hash()
    assert len({source_hash(), source_hash("evidence"), source_hash("evidence", "sources")}) == 3


@pytest.mark.parametrize("suite", ["scifact", "wiki-multihop"])
def test_a_run_over_an_index_that_has_gone_is_a_failure_of_that_run(tmp_path: Path, suite: str) -> None:
    setup = Setup(
        suite=suite, corpus=tmp_path / "gone.db", titles=True, settings=settings_of(suite, tmp_path)
    )
    recorded: list[Outcome] = []
    asyncio.run(carry_out([Task(id="a", text="Who?")], setup, 1, recorded.append))
    assert [outcome.id for outcome in recorded] == ["a"]
    assert "index is gone" in recorded[0].error


@pytest.mark.slow
@pytest.mark.skipif(
    not Path(REAL_DATA or "absent", "wiki-multihop").is_dir(), reason="EVAL_DATA names no data"
)
def test_the_real_data_can_be_read_and_asked(tmp_path: Path) -> None:
    for name in SUITES:
        figures = evaluated(name, Path(REAL_DATA), tmp_path, limit=2)
        assert (figures.errors, figures.sets["all"]["questions"]) == ({}, 2)
