"""Whether reports answer: where in its body a report holds the answer, whether it refuses, and how well it knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from deep_research.patterns import regex
from deep_research.state import question_parts
from evals import metrics
from evals.baselines import BEST, PlainSearch
from evals.datasets import Question
from evals.outcomes import Outcome
from evals.reports import report_body

AT = (60, 70, 90, 120, 150, 165, 300)  # words of the body
FOUND = 10  # sources that are looked at for what was found
BINS = 5  # of equal count, for calibration
_ARTICLES = frozenset({"a", "an", "the"})
_WORD = regex(r"\w+")
_END = regex(r"(?<=[^\s.]{3}[.!?])[\"'”’»)\]*]*(?:\s\[\d[\d, ]*\])?(?=\s|$)")

Answered = Sequence[tuple[Question, Sequence[Outcome]]]


def folded(text: str) -> str:
    """The words of a text in lower case, without articles and punctuation, each between blanks."""
    words = (word for word in _WORD.findall(text.lower()) if word not in _ARTICLES)
    return f" {' '.join(words)} "


def holds(text: str, answers: Sequence[str]) -> bool:
    """Whether one of the accepted short answers stands in a text."""
    inside = folded(text)
    return any(folded(answer) in inside for answer in answers if folded(answer).strip())


def is_yes_or_no(answers: Sequence[str]) -> bool:
    """Such a question is not asked: a report says yes or no in the words of its sources."""
    return any(answer.strip(" .").lower() in ("yes", "no") for answer in answers)


def first_sentence(body: str) -> str:
    """To the first end mark that follows a word of three letters; of a first line without one the whole line."""
    line = next((line for line in body.splitlines() if line.strip()), "")
    end = _END.search(line)
    return line[: end.start()] if end else line


def first_paragraph(body: str) -> str:
    return body.strip().partition("\n\n")[0]


def first_words(body: str, count: int) -> str:
    return " ".join(body.split()[:count])


def _parts(body: str) -> Iterator[tuple[str, str]]:
    yield "first_sentence", first_sentence(body)
    yield "first_paragraph", first_paragraph(body)
    for count in AT:
        yield f"at_{count}", first_words(body, count)
    yield "report", body


def report_figures(answered: Answered) -> dict[str, float]:
    """Figures of the reports. A question without ``answers`` counts where refusing is measured; so does the second
    outcome of a question that has one, of its run without the evidence."""
    known = [(question, outcomes[0]) for question, outcomes in answered if question.answers]
    held = [
        {part: holds(text, question.answers) for part, text in _parts(report_body(outcome.report))}
        for question, outcome in known
    ]
    figures = {part: metrics.mean(one[part] for one in held) for part, _ in _parts("")}
    figures["words_mean"] = metrics.mean(len(report_body(outcome.report).split()) for _, outcome in known)
    nothing = [outcomes[0] for question, outcomes in answered if not question.answers]
    without = [outcomes[1] for _, outcomes in answered if len(outcomes) > 1]
    figures["refused"] = metrics.mean(_refused(outcome) for _, outcome in known)
    figures["said_no"] = metrics.mean(
        outcome.answered == question_parts.AnswerCoverage.NO for _, outcome in known
    )
    figures["said_yes"] = metrics.mean(
        outcome.answered == question_parts.AnswerCoverage.YES for _, outcome in known
    )
    told = [outcome.probability for _, outcome in known]
    untrue = [outcome.probability for outcome in (without or nothing)]
    if untrue:
        figures["refused_unanswerable"] = metrics.mean(_refused(outcome) for outcome in (without or nothing))
        figures["said_yes_unanswerable"] = metrics.mean(
            outcome.answered == question_parts.AnswerCoverage.YES for outcome in (without or nothing)
        )
        figures["auroc"] = metrics.auroc(told, untrue)
    figures["calibration"] = metrics.calibration_error(
        BINS, [*zip(told, (one["report"] for one in held), strict=True), *((p, False) for p in untrue)]
    )
    return figures


def source_figures(answered: Answered, texts: Mapping[str, str]) -> dict[str, float]:
    """The share of answers that stand in the first sources, and in those that the report cites."""
    known = [(question, outcomes[0]) for question, outcomes in answered if question.answers]

    def share(addresses: Callable[[Outcome], Sequence[str]]) -> float:
        return metrics.mean(
            any(holds(texts.get(address, ""), question.answers) for address in addresses(outcome))
            for question, outcome in known
        )

    return {f"sources@{FOUND}": share(lambda o: o.sources[:FOUND]), "cited": share(lambda o: o.cited)}


def plain_figures(answered: Answered, plain: PlainSearch) -> dict[str, float]:
    """What the best passages of a plain search hold, at their words: of the best one, three, five; and of the best five
    cut at half of their words."""
    questions = [question for question, _ in answered if question.answers]
    found = [plain.best(question.text, max(BEST), without=question.without) for question in questions]
    figures: dict[str, float] = {}
    for count in BEST:
        texts = [" ".join(passages[:count]) for passages in found]
        figures[f"plain_best_{count}"] = metrics.mean(
            holds(text, question.answers) for text, question in zip(texts, questions, strict=True)
        )
        figures[f"plain_best_{count}_words_mean"] = metrics.mean(len(text.split()) for text in texts)
    return figures


def _refused(outcome: Outcome) -> bool:
    return not outcome.report
