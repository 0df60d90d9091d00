"""How many tokens of sources a model reads for each that is quoted: ``python tests/benchmarks/reading_tokens.py``.

Over the sample corpus and, where its folder is named, over a manual (``tests/evals/fetch_manuals.py`` gets one):

    python tests/evals/fetch_manuals.py tests/data/large_manual_questions.toml /tmp/manuals
    python tests/benchmarks/reading_tokens.py /tmp/manuals/postgres tests/data/large_manual_questions.toml

Each question is researched with ``read_sections``, without it, and with ``model_triage`` beside it, by a scripted model:
the reader quotes every passage that holds the answer and stands nearest to the words of the question; asked about a
doubtful source it wants the sections, so that whatever such a request can find is found. Printed are the tokens of
sources that were sent, what asking takes beside them, those for each source that is quoted, and how many of the quotes
that could be made of whole sources were sent.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from prompt_reading import blocks, reading

from deep_research import DeepResearch
from deep_research.budget.tokens import Counter
from deep_research.models.base import ModelCall
from deep_research.retrieval.ranking import TermScanner
from deep_research.testing.models import ScriptedProvider
from deep_research.text.term_weights import coverage
from deep_research.text.words import content_words, question_terms

SAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "corpus"
SAMPLE_QUESTIONS = Path(__file__).parents[1] / "data" / "corpus_questions.toml"
AROUND = 600  # characters before and after an answer that have to speak of the question
NEAR = 0.75  # of the words of the question that stand around the best answer, around another to be quoted
COUNT = Counter().expected


MODES: dict[str, dict[str, bool]] = {
    "sections": {"read_sections": True},
    "whole": {"read_sections": False},
    "asked": {"read_sections": True, "model_triage": True},
}


@dataclass(frozen=True)
class Asked:
    """``documents`` are those that answer, where that is known; else all that hold an answer may."""

    text: str
    answers: tuple[str, ...]
    documents: tuple[str, ...] = ()


@dataclass
class Sum:
    """``quotes`` that were sent of those that ``could`` be made; ``doubted`` are the tokens of what was shown of so many
    ``doubtful`` sources, beside ``tokens``."""

    questions: int = 0
    tokens: int = 0
    doubted: int = 0
    doubtful: int = 0
    quoted: int = 0
    quotes: int = 0
    could: int = 0
    missed: list[str] = field(default_factory=list)

    @property
    def per_source(self) -> float:
        return (self.tokens + self.doubted) / max(1, self.quoted)


def gold(asked: Asked, texts: dict[str, str]) -> dict[str, str]:
    """Of each source the passage with an answer that has most of the words of the question, where it has nearly as many
    as the best of all; by the source's address."""
    wanted, scanner = question_terms(asked.text), TermScanner(content_words(asked.text))
    found: dict[str, tuple[float, str]] = {}
    for address, text in texts.items():
        if asked.documents and Path(address).name not in asked.documents:
            continue
        for answer in asked.answers:
            for match in re.finditer(re.escape(answer), text, re.IGNORECASE):
                near = text[max(0, match.start() - AROUND) : match.end() + AROUND]
                share = coverage(wanted, scanner.present(near))
                start, end = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.end())
                line = text[
                    max(start, match.start() - 120) : min(end if end >= 0 else len(text), match.end() + 60)
                ]
                if share > found.get(address, (-1.0, ""))[0]:
                    found[address] = (share, line)
    best = max((share for share, _ in found.values()), default=0.0)
    return {address: line for address, (share, line) in found.items() if share and share >= NEAR * best}


def measured(corpus: Path, questions: Sequence[Asked]) -> dict[str, Sum]:
    """In each of the modes."""
    sums = {mode: Sum() for mode in MODES}
    with tempfile.TemporaryDirectory() as home:  # the documents are indexed once
        for asked in questions:
            for mode, settings in MODES.items():
                _add(corpus, asked, settings, sums[mode], home)
    return sums


def _add(corpus: Path, asked: Asked, settings: dict[str, bool], told: Sum, home: str) -> None:
    """Adds what one run takes."""
    prompts: list[str] = []

    def answer(call: ModelCall) -> Any:
        said = call.messages[-1].content
        if call.form is not None and call.form.name == "Choices":
            shown = [label for label in blocks(said) if label.startswith("source ")]
            told.doubted += COUNT(call.system + said)
            told.doubtful += len(shown)
            return {"choices": [{"source": label.split()[1], "read": "sections"} for label in shown]}
        if call.form is None or call.form.name != "Reading":
            return json.loads(reading(said, call.form.json_schema)) if call.form else reading(said, None)
        prompts.append(said)
        return {"findings": []}

    provider = ScriptedProvider(answer)
    provider.probed = False
    engine = DeepResearch(
        model=[provider],
        corpus=[corpus],
        store="memory",
        data_dir=home,
        max_iterations=1,
        gate_retries=0,
        **settings,
    )
    result = engine.run(asked.text)
    texts = {s.url or s.id: engine.text(s) for s in result.state.sources if s.content_hash}
    wanted = gold(asked, texts)
    sent = [
        body for prompt in prompts for label, body in blocks(prompt).items() if label.startswith("source ")
    ]
    by_address = {
        match[1]: body for body in sent if (match := re.search(r"^Address: (.*)$", body, re.MULTILINE))
    }
    told.questions += 1
    told.tokens += sum(map(COUNT, sent))
    told.could += len(wanted)
    for address, line in wanted.items():
        if " ".join(line.split()) in " ".join(by_address.get(address, "").split()):
            told.quotes += 1
            told.quoted += 1
        else:
            told.missed.append(f"{asked.text} [{address}: {line.strip()[:80]}]")


def sample_questions() -> list[Asked]:
    every = tomllib.loads(SAMPLE_QUESTIONS.read_text(encoding="utf-8"))["question"]
    return [Asked(q["question"], (q["answer"],), tuple(q["documents"])) for q in every]


def manual_questions(path: Path, manual: str) -> list[Asked]:
    every = tomllib.loads(path.read_text(encoding="utf-8"))["question"]
    return [Asked(q["text"], tuple(q["answer"])) for q in every if q["manual"] == manual]


@pytest.mark.bench
def test_less_is_read_for_each_source_that_is_quoted_and_no_quote_is_lost() -> None:
    sums = measured(SAMPLE, sample_questions())
    sections, whole = sums["sections"], sums["whole"]
    print(f"{sections.per_source:,.0f} tokens for each source against {whole.per_source:,.0f}")
    assert sections.per_source <= 0.6 * whole.per_source
    assert sections.quotes == sections.could == whole.quotes


def main(arguments: Sequence[str]) -> None:
    sets = {"sample corpus": (SAMPLE, sample_questions())}
    if arguments:
        folder = Path(arguments[0])
        sets[folder.name] = (folder, manual_questions(Path(arguments[1]), folder.name))
    for name, (corpus, questions) in sets.items():
        sums = measured(corpus, questions)
        for mode, told in sums.items():
            settings = ", ".join(f"{key}={str(value).lower()}" for key, value in MODES[mode].items())
            doubtful = f", {told.doubted:,} more for asking about {told.doubtful}" if told.doubtful else ""
            print(
                f"{name}, {settings}: {told.questions} questions, {told.tokens:,} tokens of"
                f" sources{doubtful}, {told.per_source:,.0f} for each of {told.quoted} quoted; {told.quotes} of"
                f" {told.could} quotes sent"
            )
            for line in told.missed:
                print(f"  not sent: {line}")
        print(f"  ratio {sums['sections'].per_source / max(1.0, sums['whole'].per_source):.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])
