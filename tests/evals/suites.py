"""The evaluations: which data each reads, how its runs are set up, and what is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from evals import metrics
from evals.answer_scores import is_yes_or_no, plain_figures, report_figures, source_figures
from evals.baselines import PlainSearch, windows
from evals.datasets import (
    CORPUS,
    Dataset,
    Nugget,
    Question,
    corpus_texts,
    text_of,
    texts,
    texts_of,
)
from evals.outcomes import BARE, Outcome, Task
from evals.reports import NuggetJudge

# Each question with the outcomes of its tasks, in order.
Answered = Sequence[tuple[Question, Sequence[Outcome]]]
Measure = Callable[[Answered], dict[str, float]]

# What the runs are set up with, by the names of docs/settings.md; ``--set`` goes before it.
_ITERATED: Mapping[str, Any] = {"max_iterations": 3, "max_sub_queries": 5, "max_searches": 12}
SETTINGS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        # Twelve searches find no more than eight, see docs/evals.md.
        "wiki-multihop": {**_ITERATED, "max_searches": 8, "max_sources_per_query": 8},
        "gaps": {**_ITERATED, "max_sources_per_query": 8},
        "scifact": {**_ITERATED, "max_sources_per_query": 10},
        "coverage": {**_ITERATED, "max_sources_per_query": 50, "report_words": 550},
        "passages": {},
        "articles": {},
        "manuals": {},
        "foreign": {},
    }
)
FIRST_STAGE = 10  # results of the plain search


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """One evaluation. ``read`` makes a question of a record, None of one that is not asked; ``measuring`` gives the
    function that measures, which may need the corpus: a file of documents, or a folder of them where its name does not
    end in ``.jsonl``. ``untitled`` says whether it can be run without titles, ``first_stage`` and ``report`` what else an
    outcome is to hold, ``held_out`` whether each question is answered by weights that never saw it."""

    name: str
    folder: str
    questions: str
    read: Callable[[Mapping[str, Any]], Question | None]
    tasks: Callable[[Question], tuple[Task, ...]]
    measuring: Callable[[Dataset], Measure]
    corpus: str = CORPUS
    untitled: bool = False
    first_stage: bool = False
    report: bool = False
    held_out: bool = False

    @property
    def settings(self) -> Mapping[str, Any]:
        return SETTINGS[self.name]


def _multihop(record: Mapping[str, Any]) -> Question:
    groups = record["evidence"]
    if not isinstance(groups, list) or not groups:
        raise TypeError("evidence is no list of groups")
    return Question(
        id=text_of(record, "_id"),
        text=text_of(record, "text"),
        dataset=text_of(record, "dataset"),
        gold=tuple(frozenset(texts(group, "a group of evidence")) for group in groups),
    )


def _decomposed(record: Mapping[str, Any]) -> Question | None:
    return _multihop(record) if record.get("decomposition") else None


def _claim(record: Mapping[str, Any]) -> Question | None:
    cited = texts_of(record, "cited_doc_ids")
    if not cited:
        return None
    return Question(id=text_of(record, "_id"), text=text_of(record, "claim"), gold=_singly(cited))


def _topic(record: Mapping[str, Any]) -> Question:
    nuggets = record["nuggets"]
    if not isinstance(nuggets, list) or not all(isinstance(nugget, dict) for nugget in nuggets):
        raise TypeError("nuggets is no list of objects")
    return Question(
        id=text_of(record, "_id"),
        text=text_of(record, "text"),
        gold=_singly(texts_of(record, "gold")),
        nuggets=tuple(Nugget(text_of(n, "text"), text_of(n, "importance") == "vital") for n in nuggets),
    )


def _answerable(record: Mapping[str, Any]) -> Question | None:
    answers = texts_of(record, "answer")
    if is_yes_or_no(answers):
        return None
    evidence = record.get("evidence") or []
    return Question(
        id=text_of(record, "_id"),
        text=text_of(record, "text"),
        dataset=text_of(record, "dataset") if "dataset" in record else "",
        gold=tuple(frozenset(texts(group, "a group of evidence")) for group in evidence),
        answers=tuple(answers),
        without=frozenset(texts(record.get("without") or [], "without")),
    )


def _of_folder(record: Mapping[str, Any]) -> Question:
    """Of a question file over several folders, which are told apart in the figures."""
    text, folder = text_of(record, "text"), text_of(record, "manual")
    return Question(
        id=f"{folder}: {text}",
        text=text,
        dataset=folder,
        answers=tuple(texts_of(record, "answer")),
        folder=folder,
    )


def _singly(ids: Iterable[str]) -> tuple[frozenset[str], ...]:
    return tuple(frozenset({one}) for one in dict.fromkeys(ids))


def _once(question: Question) -> tuple[Task, ...]:
    return (Task(id=question.id, text=question.text, without=question.without, folder=question.folder),)


def _with_and_without_all(question: Question) -> tuple[Task, ...]:
    """Over the whole corpus and, where there is an answer, without all that shows it."""
    if not question.answers:
        return _once(question)
    evidence = frozenset[str]().union(*question.gold)
    return (*_once(question), Task(id=f"{question.id}{BARE}", text=question.text, without=evidence))


def _with_and_without(question: Question) -> tuple[Task, ...]:
    """Over the whole corpus, and without what holds the last piece of evidence."""
    rest = Task(id=f"{question.id}{BARE}", text=question.text, without=question.gold[-1])
    return (*_once(question), rest)


def _found(answered: Answered) -> dict[str, float]:
    ranked = [(outcome.sources, question.gold) for question, (outcome,) in answered]
    return {
        "hits@10": metrics.mean(metrics.hits_at(10, *one) for one in ranked),
        "mrr@10": metrics.mean(metrics.mrr_at(10, *one) for one in ranked),
        "all@4": metrics.mean(metrics.all_at(4, *one) for one in ranked),
        "all@10": metrics.mean(metrics.all_at(10, *one) for one in ranked),
    }


def _ordered(answered: Answered) -> dict[str, float]:
    return {
        "ndcg@10": metrics.mean(metrics.ndcg_at(10, o.sources, q.gold) for q, (o,) in answered),
        "first_stage_ndcg@10": metrics.mean(
            metrics.ndcg_at(10, o.first_stage, q.gold) for q, (o,) in answered
        ),
    }


def _told_apart(answered: Answered) -> dict[str, float]:
    whole = [outcomes[0].completeness for _, outcomes in answered]
    short = [outcomes[1].completeness for _, outcomes in answered]
    return {
        "auroc": metrics.auroc(whole, short),
        "completeness_whole": metrics.mean(whole),
        "completeness_short": metrics.mean(short),
    }


def _of_ids(measure: Measure) -> Callable[[Dataset], Measure]:
    """For figures that need no texts."""
    return lambda _: measure


def _covered(data: Dataset) -> Measure:
    judge = NuggetJudge.over(data.corpus)

    def measure(answered: Answered) -> dict[str, float]:
        verdicts = [
            (nugget.vital, covered)
            for question, (outcome,) in answered
            for nugget, covered in judge.verdicts(outcome.report, question.nuggets)
        ]
        cited = [
            metrics.precision_recall(outcome.cited, frozenset[str]().union(*question.gold))
            for question, (outcome,) in answered
        ]
        return {
            "nuggets": metrics.mean(covered for _, covered in verdicts),
            "nuggets_vital": metrics.mean(covered for vital, covered in verdicts if vital),
            "cited_precision": metrics.mean(precision for precision, _ in cited),
            "cited_recall": metrics.mean(recall for _, recall in cited),
        }

    return measure


def _answered_in(data: Dataset) -> Measure:
    found = dict(corpus_texts(data.corpus))
    parts = (
        ((address, title, part) for address, (title, text) in found.items() for part in windows(text))
        if data.corpus.is_dir()
        else ((address, title, text) for address, (title, text) in found.items())
    )
    plain = PlainSearch(parts)
    texts = {address: f"{title}\n{text}" for address, (title, text) in found.items()}

    def measure(answered: Answered) -> dict[str, float]:
        return {
            **report_figures(answered),
            **source_figures(answered, texts),
            **plain_figures(answered, plain),
        }

    return measure


def _over_folders(name: str) -> Suite:
    """Questions over folders of documents, as the product's own local corpus reads them."""
    return Suite(
        name=name,
        folder=name,
        questions="questions",
        read=_of_folder,
        tasks=_once,
        measuring=_of_ids(report_figures),
        corpus="",
        report=True,
        held_out=True,
    )


SUITES: Mapping[str, Suite] = MappingProxyType(
    {
        suite.name: suite
        for suite in (
            Suite(
                name="wiki-multihop",
                folder="wiki-multihop",
                questions="queries",
                read=_multihop,
                tasks=_once,
                measuring=_of_ids(_found),
                untitled=True,
            ),
            Suite(
                name="scifact",
                folder="scifact",
                questions="claims",
                read=_claim,
                tasks=_once,
                measuring=_of_ids(_ordered),
                first_stage=True,
            ),
            Suite(
                name="coverage",
                folder="deepscholar",
                questions="queries",
                read=_topic,
                tasks=_once,
                measuring=_covered,
                report=True,
            ),
            Suite(
                name="gaps",
                folder="wiki-multihop",
                questions="queries",
                read=_decomposed,
                tasks=_with_and_without,
                measuring=_of_ids(_told_apart),
                untitled=True,
            ),
            Suite(
                name="passages",
                folder="answers/passages",
                questions="questions",
                read=_answerable,
                tasks=_with_and_without_all,
                measuring=_answered_in,
                report=True,
                held_out=True,
            ),
            Suite(
                name="articles",
                folder="answers",
                questions="articles-questions",
                read=_answerable,
                tasks=_once,
                measuring=_answered_in,
                corpus="articles",
                report=True,
                held_out=True,
            ),
            _over_folders("manuals"),
            _over_folders("foreign"),
        )
    }
)
# Evaluations of several suites, whose figures are told side by side.
GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType({"answers": ("passages", "articles")})
