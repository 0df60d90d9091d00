"""Whether a report answers is told by where the answer stands in it; a plain search over the same texts stands beside."""

from __future__ import annotations

import asyncio
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from deep_research.errors import UnknownNameError, UsageError
from deep_research.retrieval.ranker import COLUMNS, default_ranker
from deep_research.settings import Settings, load_settings
from evals import ALL, GROUPS, SUITES, Figures, evaluate, evaluate_group
from evals.answer_scores import (
    first_paragraph,
    first_sentence,
    first_words,
    holds,
    is_yes_or_no,
    report_figures,
)
from evals.baselines import PlainSearch, windows
from evals.command_line import as_json
from evals.datasets import Question
from evals.eval_data import PAGES, write_lines
from evals.folds import fold_ranker
from evals.metrics import calibration_error
from evals.outcomes import Outcome
from evals.reports import report_body

pytestmark = pytest.mark.usefixtures("warm_workers")
REPORT = """# Who built it?

*Read with caution: this report rests on 2 findings.*

## Summary

The tower off Arbroath is old. [1] Robert Stevenson, Jr. built it in 1810. [2, 3]

It is 35 metres tall. [1]

## Gaps and limits

- Nothing was found on John Smeaton.

## References

1. Bell Rock. w1
"""


@pytest.mark.parametrize(
    ("text", "answers", "held"),
    [
        ("It was Robert Stevenson.", ["robert stevenson"], True),
        ("It was the Robert-Stevenson!", ["A Robert Stevenson"], True),
        ("It was Robert Louis Stevenson.", ["Robert Stevenson"], False),
        ("It was in 18101.", ["1810"], False),
        ("It was in 1810.", ["1812", "1810"], True),
        ("Nothing.", ["the"], False),
        ("Nothing.", [], False),
    ],
)
def test_an_answer_is_held_whatever_its_case_articles_and_punctuation(
    text: str, answers: list[str], held: bool
) -> None:
    assert holds(text, answers) is held


def test_the_parts_of_a_body_leave_out_headings_references_and_what_a_report_says_of_itself() -> None:
    body = report_body(REPORT)
    assert first_sentence(body) == "The tower off Arbroath is old."
    assert first_paragraph(body) == "The tower off Arbroath is old. Robert Stevenson, Jr. built it in 1810."
    assert first_words(body, 3) == "The tower off"
    assert "Smeaton" not in body
    assert "w1" not in body


def test_figures_tell_where_answers_stand_and_what_was_refused() -> None:
    def asked(at: str, *answers: str) -> Question:
        return Question(id=at, text=at, answers=answers)

    sure, unsure = (Outcome(id="x", report=REPORT, probability=p) for p in (0.9, 0.2))
    figures = report_figures(
        [
            (asked("a", "Robert Stevenson"), [sure]),
            (asked("b", "35 metres"), [sure]),
            (asked("c", "Smeaton"), [unsure]),
            (asked("d", "Arbroath"), [Outcome(id="d", status="aborted")]),
            (asked("e"), [Outcome(id="e", status="aborted")]),
        ]
    )
    assert figures["first_sentence"] == 0
    assert figures["first_paragraph"] == 0.25
    assert figures["report"] == 0.5
    assert figures["refused"] == 0.25
    assert figures["refused_unanswerable"] == 1
    assert figures["auroc"] == 0.875


def test_a_probability_that_is_always_right_has_no_calibration_error() -> None:
    told = [(0.0, False)] * 10 + [(0.5, n % 2 == 0) for n in range(10)] + [(1.0, True)] * 10
    assert calibration_error(3, told) == 0
    assert calibration_error(3, [(1.0, False)] * 9) == 1
    assert calibration_error(5, []) == 0


@pytest.mark.parametrize(
    ("answers", "is_one"), [(["yes"], True), (["No."], True), (["Yes Minister"], False), ([], False)]
)
def test_questions_that_are_answered_by_yes_or_no_are_known(answers: list[str], is_one: bool) -> None:
    assert is_yes_or_no(answers) is is_one


def test_a_plain_search_counts_the_title_and_can_do_without_documents() -> None:
    plain = PlainSearch((at, title, text) for at, (title, text) in PAGES.items())
    assert plain.best("Who was John Smeaton?", 1)[0].startswith("John Smeaton was")
    assert not plain.best("Smeaton", 3, without=frozenset({"w3", "w4"}))
    assert plain.best('Who "said" AND OR (this) *?', 2)  # nothing in a question is an operator


def test_windows_lie_within_paragraphs() -> None:
    text = f"# Head\n\n{'a ' * 100}\n\n## Part\n\nshort one"
    assert [len(window.split()) for window in windows(text)] == [60, 60, 2]


@pytest.fixture
def answers(data: Path) -> Path:
    folder = data / "answers"
    documents = [{"_id": at, "title": title, "text": text} for at, (title, text) in PAGES.items()]
    write_lines(folder / "passages" / "corpus.jsonl", documents)
    questions: list[dict[str, Any]] = [
        {
            "_id": "p1",
            "text": "Who built the Bell Rock lighthouse?",
            "dataset": "one",
            "answer": ["Robert Stevenson"],
        },
        {"_id": "p2", "text": "Is the Bell Rock lighthouse tall?", "dataset": "one", "answer": ["yes"]},
    ]
    for question in questions:
        question |= {"evidence": [["w1"]], "without": []}
    write_lines(folder / "passages" / "questions-dev.jsonl", questions)
    (folder / "articles").mkdir()
    for at, (title, text) in PAGES.items():
        (folder / "articles" / f"{at}.md").write_text(f"# {title}\n\n{text}\n", encoding="utf-8")
    asked = [
        {"_id": "a1", "text": "Where was John Smeaton born?", "answer": ["Austhorpe"]},
        {"_id": "a2", "text": "Where was the queen of Poland crowned?", "answer": []},
    ]
    write_lines(folder / "articles-questions-dev.jsonl", asked)
    return data


def settings(tmp_path: Path) -> Settings:
    return load_settings(overrides={"data_dir": tmp_path / "home"}).settings


@pytest.mark.parametrize(("lower", "without_column"), [(False, ""), (True, "kind")])
def test_both_sets_are_researched_and_told_side_by_side(
    answers: Path, tmp_path: Path, lower: bool, without_column: str
) -> None:
    each = {name: settings(tmp_path) for name in GROUPS["answers"]}
    figures = asyncio.run(
        evaluate_group("answers", answers, each, jobs=1, lower=lower, without_column=without_column)
    )
    assert not figures.errors
    assert list(figures.sets) == ["passages", "articles"]
    passages, articles = figures.sets["passages"], figures.sets["articles"]
    assert passages["questions"] == 1  # the other one is answered by yes
    assert articles["questions"] == 2
    assert passages["report"] == articles["report"] == 1
    assert articles["plain_best_1"] == 1
    assert articles["refused_unanswerable"] == 1


def test_what_no_evaluation_can_do_is_refused(answers: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="lower case"):
        asyncio.run(evaluate(SUITES["gaps"], answers, settings(tmp_path), lower=True))
    with pytest.raises(UnknownNameError, match="Did you mean 'rank'"):
        asyncio.run(evaluate(SUITES["articles"], answers, settings(tmp_path), without_column="rang"))
    with pytest.raises(UsageError, match="without a column"):
        asyncio.run(evaluate(SUITES["gaps"], answers, settings(tmp_path), without_column="rank"))


def test_figures_of_several_evaluations_have_none_of_all_of_them(answers: Path, tmp_path: Path) -> None:
    figures = Figures(suite="answers", titles=True, jobs=1, sets={"passages": {"report": 1.0}}, errors={})
    assert json.loads(as_json(figures))["sets"] == {"passages": {"report": 1.0}}
    assert ALL not in json.loads(as_json(figures))


def test_each_question_over_manuals_is_asked_of_its_own_folder(tmp_path: Path) -> None:
    home = tmp_path / "data" / "manuals"
    for name, (title, text) in {"rock": PAGES["w1"], "smith": PAGES["w3"]}.items():
        (home / name).mkdir(parents=True)
        (home / name / "page.md").write_text(f"# {title}\n\n{text}\n", encoding="utf-8")
    question = (
        '[[question]]\nmanual = "{}"\ntext = "Who built the Bell Rock?"\nanswer = ["Robert Stevenson"]\n'
    )
    (home / "questions.toml").write_text(question.format("rock") + question.format("smith"), encoding="utf-8")
    figures = asyncio.run(evaluate(SUITES["manuals"], tmp_path / "data", settings(tmp_path), jobs=1))
    assert not figures.errors
    assert list(figures.sets) == [ALL, "rock", "smith"]
    assert (figures.sets["rock"]["report"], figures.sets["smith"]["report"]) == (1, 0)
    assert "auroc" not in figures.sets[ALL]  # nothing is asked that has no answer


def test_a_question_is_answered_by_weights_that_never_saw_it() -> None:
    held = {name: fold_ranker(name) for name in ("0", "1", "2", "3", "4", "git", "gimp", "policy", "sqlite")}
    assert len({tuple(one.columns.values()) for one in held.values()}) == len(held)
    assert all(one.columns.keys() == COLUMNS.keys() for one in held.values())
    assert fold_ranker("faq-de") == default_ranker()


@pytest.mark.parametrize(("file", "least"), [("manual_questions", 120), ("foreign_questions", 40)])
def test_the_questions_over_manuals_can_be_read(file: str, least: int) -> None:
    data = tomllib.loads((Path(__file__).parents[1] / "data" / f"{file}.toml").read_text(encoding="utf-8"))
    questions = data["question"]
    assert len(questions) >= least
    assert {question["manual"] for question in questions} == set(data["manuals"])
    assert len({question["text"] for question in questions}) == len(questions)
    assert all(holds(answer, [answer]) for question in questions for answer in question["answer"])
