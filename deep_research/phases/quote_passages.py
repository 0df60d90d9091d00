"""What stands around quotes in their sources, for who writes of findings or judges them and has to know what they are
about."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping

from deep_research.calls import off_loop
from deep_research.errors import ContentMissingError
from deep_research.evidence.passages import blocks
from deep_research.state import Finding, Quote, Span
from deep_research.state.journal import Journal

LONGEST = 700  # characters of a passage
MOST = 3  # passages of a finding
CHARACTERS = 2_000  # of a text that is cut into sentences in the time of one small item


async def around_quotes(findings: Iterable[Finding], journal: Journal) -> dict[str, tuple[str, ...]]:
    """For each finding what stands around its first quotes, by its id; none of one around whose quotes nothing stands.
    Texts are loaded one at a time, and dropped."""
    quoted: dict[str, list[Finding]] = {}
    for finding in findings:
        for each in dict.fromkeys(quote.content_hash for quote in finding.quotes):
            quoted.setdefault(each, []).append(finding)
    around: dict[str, tuple[str, ...]] = {}
    for content_hash, quoting in quoted.items():
        try:
            (text,) = await journal.texts((content_hash,))
        except ContentMissingError:  # what is not there any more has no passages
            continue
        made = await off_loop(len(text) // CHARACTERS, passages, quoting, {content_hash: text})
        around |= {key: _joined(around.get(key, ()), made[key]) for key in made}
    return {key: texts for key, texts in around.items() if any(texts)}


def _joined(known: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    """The passages of a finding whose quotes stand in several texts."""
    return tuple(a or b for a, b in zip(known, more, strict=True)) if known else more


def passages(findings: Iterable[Finding], texts: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """For each finding the passages of its first quotes, by its id; ``texts`` are saved texts by their hash. A quote
    whose text is not there has none."""
    every = list(findings)
    wanted = {quote.content_hash for finding in every for quote in finding.quotes[:MOST]}
    pieces = {key: _Pieces(texts[key]) for key in wanted if key in texts}
    return {
        finding.id: tuple(
            pieces[quote.content_hash].around(quote) if quote.content_hash in pieces else ""
            for quote in finding.quotes[:MOST]
        )
        for finding in every
    }


class _Pieces:
    """A text and where its sentences are."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._spans = [
            Span(start=start, end=end) for block in blocks(text) for start, end in block.sentences(text)
        ]
        self._starts = [span.start for span in self._spans]

    def around(self, quote: Quote) -> str:
        """The quote with as many whole sentences before and after it as there is room for, in turn; "" where that is no
        more than the quote."""
        first = max(0, bisect_right(self._starts, quote.start) - 1)
        last = max(first, bisect_right(self._starts, quote.end - 1) - 1)
        if not self._spans or quote.end - quote.start > LONGEST:
            return ""
        start, end = min(quote.start, self._spans[first].start), max(quote.end, self._spans[last].end)
        grew = True
        while grew:
            grew = False
            if last + 1 < len(self._spans) and self._spans[last + 1].end - start <= LONGEST:
                last, grew = last + 1, True
                end = self._spans[last].end
            if first and end - self._spans[first - 1].start <= LONGEST:
                first, grew = first - 1, True
                start = self._spans[first].start
        passage = self._text[start:end]
        return passage if len(passage) <= LONGEST and len(passage) > quote.end - quote.start else ""
