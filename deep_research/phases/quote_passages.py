"""What stands around the quotes of findings: windows of whole sentences in the saved texts, and windows of one text that
overlap or touch united into one passage."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

from deep_research.calls import off_loop
from deep_research.errors import ContentMissingError
from deep_research.phases.handoff import QuotePassage
from deep_research.state import Finding, Quote, Span
from deep_research.state.journal import Journal
from deep_research.text.passages import blocks

MAX_PASSAGE_CHARS = 700  # characters of a window
MAX_PASSAGES = 3  # quotes of a finding that have one
MAX_GAP_CHARS = 3  # between two windows that touch: what separates sentences and paragraphs
SENTENCES_UNIT = 2_000  # of a text that is cut into sentences in the time of one small item


async def around_quotes(findings: Iterable[Finding], journal: Journal) -> dict[str, tuple[QuotePassage, ...]]:
    """For each finding with quotes the windows of its first ones, by its id. Texts are loaded one at a time, and
    dropped."""
    findings_by_quote: dict[str, dict[str, Finding]] = {}
    around: dict[str, tuple[QuotePassage, ...]] = {}
    for finding in findings:
        around |= passages((finding,), {})
        for quote in finding.quotes[:MAX_PASSAGES]:
            findings_by_quote.setdefault(quote.content_hash, {})[finding.id] = finding
    for content_hash, quoting in findings_by_quote.items():
        try:
            (text,) = await journal.texts((content_hash,))
        except ContentMissingError:  # of what is not there any more there is the quote
            continue
        windows = await off_loop(
            len(text) // SENTENCES_UNIT, passages, quoting.values(), {content_hash: text}
        )
        for key, more in windows.items():  # the quotes of a finding may stand in several texts
            around[key] = tuple(
                new if new.content_hash == content_hash else earlier
                for earlier, new in zip(around[key], more, strict=True)
            )
    return around


def passages(findings: Iterable[Finding], texts: Mapping[str, str]) -> dict[str, tuple[QuotePassage, ...]]:
    """For each finding with quotes the windows of its first ones, by its id; ``texts`` are saved texts by their hash. A
    quote whose text is not there is its own window."""
    every = [finding for finding in findings if finding.quotes]
    hashes = {quote.content_hash for finding in every for quote in finding.quotes[:MAX_PASSAGES]}
    pieces = {key: _Pieces(texts[key]) for key in hashes if key in texts}
    return {
        finding.id: tuple(
            pieces[quote.content_hash].around(quote)
            if quote.content_hash in pieces
            else QuotePassage.of(quote)
            for quote in finding.quotes[:MAX_PASSAGES]
        )
        for finding in every
    }


def united(windows: Sequence[QuotePassage]) -> list[QuotePassage]:
    """The windows in the order of texts and places; those of one text that overlap or touch are one passage.

    >>> ab = Passage(source_id="s", content_hash="h", start=0, end=4, text="One.")
    >>> cd = Passage(source_id="s", content_hash="h", start=5, end=9, text="Two.")
    >>> [each.text for each in united([cd, ab])]
    ['One. Two.']
    """
    unions: list[QuotePassage] = []
    hashes = {hash_: place for place, hash_ in enumerate(dict.fromkeys(w.content_hash for w in windows))}
    for window in sorted(windows, key=lambda w: (hashes[w.content_hash], w.start, -w.end)):
        last = unions[-1] if unions and unions[-1].content_hash == window.content_hash else None
        if last is None or window.start > last.end + MAX_GAP_CHARS:
            unions.append(window)
        elif window.end > last.end:
            apart = " " if window.start > last.end else ""
            text = f"{last.text}{apart}{window.text[max(0, last.end - window.start) :]}"
            unions[-1] = last.model_copy(update={"end": window.end, "text": text})
    return unions


def without(window: QuotePassage, shown: Iterable[QuotePassage]) -> list[QuotePassage]:
    """What of a window stands in none of the passages ``shown``."""
    left = [window]
    for other in shown:
        if other.content_hash == window.content_hash:
            left = [piece for each in left for piece in _cut(each, other)]
    return [piece for piece in left if len(piece.text.strip()) > MAX_GAP_CHARS]


def _cut(window: QuotePassage, other: QuotePassage) -> list[QuotePassage]:
    """The parts of a window before and after another."""
    if other.end <= window.start or other.start >= window.end:
        return [window]
    parts = (window.start, other.start), (other.end, window.end)
    return [
        window.model_copy(
            update={
                "start": start,
                "end": end,
                "text": window.text[start - window.start : end - window.start],
            }
        )
        for start, end in parts
        if start < end
    ]


class _Pieces:
    """A text and where its sentences are."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._spans = [
            Span(start=start, end=end) for block in blocks(text) for start, end in block.sentences(text)
        ]
        self._starts = [span.start for span in self._spans]

    def around(self, quote: Quote) -> QuotePassage:
        """The quote with as many whole sentences before and after it as there is room for, in turn."""
        first = max(0, bisect_right(self._starts, quote.start) - 1)
        last = max(first, bisect_right(self._starts, quote.end - 1) - 1)
        if not self._spans or quote.end - quote.start > MAX_PASSAGE_CHARS:
            return QuotePassage.of(quote)
        start, end = min(quote.start, self._spans[first].start), max(quote.end, self._spans[last].end)
        grew = True
        while grew:
            grew = False
            if last + 1 < len(self._spans) and self._spans[last + 1].end - start <= MAX_PASSAGE_CHARS:
                last, grew = last + 1, True
                end = self._spans[last].end
            if first and end - self._spans[first - 1].start <= MAX_PASSAGE_CHARS:
                first, grew = first - 1, True
                start = self._spans[first].start
        if end - start > MAX_PASSAGE_CHARS:
            return QuotePassage.of(quote)
        return QuotePassage(
            source_id=quote.source_id,
            content_hash=quote.content_hash,
            start=start,
            end=end,
            text=self._text[start:end],
        )
