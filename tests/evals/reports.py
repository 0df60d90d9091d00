"""Which nuggets a report covers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from math import log
from pathlib import Path

from deep_research.patterns import regex
from deep_research.report.report_notices import OPENING
from deep_research.sources.documents.terms import STOP_WORDS, stem
from deep_research.text.passages import sentences
from evals.datasets import Nugget, documents
from evals.metrics import nugget_coverage

WORDS = 550  # of the body that are looked at
SHARE = 0.55  # of a nugget's weight that makes it covered
SENTENCES = 3  # that may cover it together

_WORD = regex(r"[^\W_]+")
_HEADING = regex(r"(#{1,6})[ \t]+")
_NUMBERS = regex(r"[ \t]*\[\d+(?:,\s*\d+)*\]")
_NO_BODY = frozenset({"References", "Gaps and limits"})  # what these sections say is said of the report


class NuggetJudge:
    """Judges by the words of a nugget, each weighted by its inverse document frequency: ``frequencies`` are the
    documents that have a stem, of ``total``."""

    def __init__(self, frequencies: Mapping[str, int], total: int) -> None:
        self._frequencies = frequencies
        self._total = total

    @classmethod
    def over(cls, corpus: Path) -> NuggetJudge:
        """With the frequencies of a ``corpus.jsonl``. Raises `UsageError`."""
        frequencies: Counter[str] = Counter()
        total = 0
        for _, document in documents(corpus):
            frequencies.update(stems(f"{document.title}\n{document.text}"))
            total += 1
        return cls(frequencies, total)

    def weights(self, text: str) -> dict[str, float]:
        """The stems of a text that are no stop words, with what each tells."""
        counts = {word: self._frequencies.get(word, 0) for word in stems(text)}
        return {word: log(1 + (self._total - n + 0.5) / (n + 0.5)) for word, n in counts.items()}

    def verdicts(self, report: str, nuggets: Sequence[Nugget]) -> Iterator[tuple[Nugget, bool]]:
        """Each nugget, and whether the report covers it."""
        told = [stems(sentence) for sentence in body_sentences(report)]
        for nugget in nuggets:
            yield nugget, nugget_coverage(self.weights(nugget.text), told, SENTENCES) >= SHARE


def stems(text: str) -> AbstractSet[str]:
    """The stems of the words of a text that are no stop words."""
    return {stem(word) for word in _WORD.findall(text.lower()) if word not in STOP_WORDS}


def body_sentences(report: str, words: int = WORDS) -> list[str]:
    """The sentences of the first ``words`` words of a report's body: without its headings, its references, and what
    it says of itself (its gaps, how little it rests on). The numbers of references count as words, and are then left
    out."""
    text = _NUMBERS.sub("", _first(words, "\n".join(_body(report.splitlines()))))
    return [text[span.start : span.end] for span in sentences(text)]


def report_body(report: str) -> str:
    """A report without its headings, its references, the numbers of references, and what it says of itself (its gaps,
    how little it rests on)."""
    return _NUMBERS.sub("", "\n".join(_body(report.splitlines()))).strip()


def _body(lines: Iterable[str]) -> Iterator[str]:
    kept = True
    for line in lines:
        if heading := _HEADING.match(line):
            kept = line[heading.end() :].rstrip(" \t#") not in _NO_BODY
        yield line if kept and not heading and not line.startswith(f"*{OPENING}") else ""


def _first(count: int, text: str) -> str:
    for number, word in enumerate(re.finditer(r"\S+", text), 1):
        if number == count:
            return text[: word.end()]
    return text
