"""A question has parts: each is found, found in part or not found, and the run says which."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from prompt_reading import ReadingModel, planned

from deep_research import DeepResearch, RunStatus
from deep_research.state import AnswerCoverage, AnswerStatus
from deep_research.testing import ScriptedSearch

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "docs" / "examples" / "corpus"
QUESTIONS = tomllib.loads((ROOT / "tests" / "data" / "part_questions.toml").read_text(encoding="utf-8"))[
    "question"
]


@pytest.fixture(scope="module")
def research(tmp_path_factory):
    with DeepResearch(corpus=CORPUS, store="memory", data_dir=tmp_path_factory.mktemp("home")) as engine:
        yield engine


def _marks(asked):
    """One of the forty is told of the size of a lens: a word that no source has ("shoe") counts no more than another."""
    known = asked["missing"] == "what was his shoe size"
    return [pytest.mark.sweep, *([pytest.mark.xfail(strict=True, raises=ValueError)] if known else [])]


@pytest.mark.parametrize(
    "asked",
    [
        *QUESTIONS[:40:13],
        *(pytest.param(q, marks=_marks(q)) for n, q in enumerate(QUESTIONS) if n % 13),
    ],
    ids=lambda asked: asked["missing"],
)
def test_of_several_parts_exactly_the_one_that_nothing_answers_is_named(research, asked):
    result = research.run(asked["question"])
    assert result.status is RunStatus.COMPLETED
    assert result.answer_coverage is AnswerCoverage.PARTLY
    (missing,) = result.state.not_found()
    assert missing.text.startswith(asked["missing"])
    assert result.message == f"Not found: {missing.text}."
    assert f"Not found: {missing.text}" in result.report
    found = [v for v in result.verdicts if v.verdict is not AnswerStatus.NOT_FOUND]
    assert len(found) == len(result.parts) - 1
    known = {finding.id for finding in result.findings}
    assert all(v.finding_ids and known.issuperset(v.finding_ids) for v in found)


def test_a_part_that_is_likely_is_found_whatever_the_form_of_its_answer(tmp_path):
    (tmp_path / "handbook.md").write_text(
        "# Staff handbook\n\n## First aid\n\nThe first aid box is in the kitchen, under the sink.\n\n## Travel\n\n"
        "Flights need the consent of the head of the department.\n"
    )
    with DeepResearch(corpus=tmp_path, store="memory", data_dir=tmp_path / "home") as engine:
        result = engine.run("Where is the first aid box and who repairs the lift?")
    assert [v.verdict for v in result.verdicts] == [AnswerStatus.PARTLY, AnswerStatus.NOT_FOUND]
    assert "in the kitchen" in result.report


def test_where_no_part_is_answered_the_run_says_so_and_gives_no_report(research):
    result = research.run("Who is the mayor of Port Lissel?")
    assert (result.status, result.reason, result.answer_coverage) == (
        "aborted",
        "no_evidence",
        AnswerCoverage.NO,
    )
    assert result.report is None
    assert "none of them says it" in result.message
    assert not any(gap.addressed for gap in result.gaps)


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("When was Boston Light first lit?", ["date"]),
        ("Who built Skerryvore and how tall is it?", ["person", "number"]),
        ("A short history of fog signals", [""]),
    ],
)
def test_parts_are_read_from_the_question_with_the_kind_of_answer(research, question, kinds):
    assert [part.expects for part in research.run(question).parts] == kinds


class Planner(ReadingModel):
    """Plans with parts of its own; ``silent`` reads nothing for one of them."""

    def answer(self, call):
        text = super().answer(call)
        if call.system.startswith("You plan research"):
            plan = planned(call.messages[-1].content)
            plan["parts"] = [
                {"text": "What is said about the tower?", "expects": ""},
                {"text": "Who owns the yacht?", "expects": "person"},
            ]
            plan["sub_queries"][0]["part"] = 1
            plan["sub_queries"][1]["part"] = 7  # none of the parts
            return json.dumps(plan)
        if call.system.startswith("You check a report"):
            checked = json.loads(text)
            checked["parts"][1].update(answered=False, claims=[])
            return json.dumps(checked)
        if call.system.startswith("You read sources"):
            read = json.loads(text)
            for finding in read["findings"]:
                finding["part"] = "P1"
            return json.dumps(read)
        return text


def test_the_planners_parts_and_what_the_analyzer_says_of_them_make_the_verdicts(tmp_path):
    model = Planner()
    with DeepResearch(
        model=[model], search=[ScriptedSearch()], data_dir=tmp_path, store="memory", max_iterations=1
    ) as research:
        result = research.run("What is said about the tower, and who owns the yacht?")
    assert [(p.text, p.expects) for p in result.parts] == [
        ("What is said about the tower?", ""),
        ("Who owns the yacht?", "person"),
    ]
    first, second = result.parts
    assert [s.part_id for s in result.state.sub_queries] == [first.id, None]
    assert {f.part_id for f in result.findings} == {first.id}
    assert [v.verdict for v in result.verdicts] == [AnswerStatus.ANSWERED, AnswerStatus.NOT_FOUND]
    assert result.answer_coverage is AnswerCoverage.PARTLY
    assert result.message == "Not found: Who owns the yacht."
    (gap,) = [gap for gap in result.gaps if gap.part_id == second.id]
    assert gap.description == "Not found: Who owns the yacht?"
    reading = next(c for c in model.calls if c.system.startswith("You read sources")).messages[-1].content
    assert "P2: Who owns the yacht?" in reading
