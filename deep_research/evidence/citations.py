"""Finding quotes in their texts. What is found is always the text's own words: ``text[start:end] == quote``. Pure.

A quote is looked for as it stands; then word by word, see `alignment`; then, where "…" or "[...]" parts it, by its parts.
Texts that are prepared for it take many times their memory, so few are kept, see `Prepared`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Generic, TypeVar

from deep_research.evidence.alignment import View
from deep_research.evidence.plain import clean, unjoined
from deep_research.patterns import regex
from deep_research.state import Quote, Span

LONGEST = 20_000  # characters of a quote that is looked for otherwise than as it stands
PARTS = 6  # of a quote, at most
NEAR = 500  # characters between two parts that become one span: what was left out is short enough to be read along
LEAST, LEAST_NEAR = 3, 2  # content words of a part, and of one that is near the next: fewer stand in any text
_LEFT_OUT = regex(r"\[\s{0,9}(?:…|\.{3,9})\s{0,9}\]|\(\s{0,9}(?:…|\.{3,9})\s{0,9}\)|…|\.{3,}")

Wanted = tuple[str, str, int]  # a quote, the source that it is said to be of, and after which place of it

MOST_PREPARED = 2_000_000  # characters of the texts that are kept prepared: about 20 MB

T = TypeVar("T")


class QuoteFinder:
    """Looks for quotes in several texts, given by the ids of their sources. A text is prepared when the first quote is
    not found in it as it stands, and few texts are kept prepared: who has many quotes looks for them `together` first.
    ``missed`` counts quotes that were found in none."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.missed = 0
        self._texts = texts
        self._views = Prepared[View]()
        self._places: dict[Wanted, tuple[str, tuple[Span, ...]] | None] = {}

    def together(self, quotes: Iterable[Wanted]) -> None:
        """Looks for many quotes text by text, so that each text is prepared twice at most. What `find` says of them
        afterwards is what it would have said."""
        left = [wanted for wanted in dict.fromkeys(quotes) if wanted not in self._places]
        for wanted in sorted(left, key=lambda wanted: wanted[1]):
            quote, name, hint = wanted
            spans = self.within(name, quote, hint) if name in self._texts else ()
            self._places[wanted] = (name, spans) if spans else None
        missing = [wanted for wanted in left if self._places[wanted] is None]
        for name in self._texts if missing else ():
            for wanted in missing:
                if self._places[wanted] is None and wanted[1] != name:
                    spans = self.within(name, wanted[0])
                    self._places[wanted] = (name, spans) if spans else None

    def find(self, quote: str, source_id: str, hint: int = 0) -> tuple[str, tuple[Span, ...]] | None:
        """The source that has the quote, ``source_id`` rather than another, and where; None where none has.

        There are several spans only where the quote leaves out more than `NEAR` characters between two of its parts. A
        place after ``hint``, in the text of ``source_id``, is preferred.
        """
        self.together([(quote, source_id, hint)])
        found = self._places[quote, source_id, hint]
        self.missed += found is None
        return found

    def within(self, source_id: str, quote: str, hint: int = 0) -> tuple[Span, ...]:
        """Where the quote is in one text; nothing where it is not."""
        text = self._texts[source_id]
        wanted = quote.strip()
        if not unjoined(wanted):
            return ()
        start = text.find(wanted, hint)
        if start < 0:
            start = text.find(wanted)
        if start >= 0:
            return (Span(start=start, end=start + len(wanted)),)
        if len(wanted) > LONGEST:
            return ()
        return _aligned(clean(wanted), self._views.of(source_id, text, View), hint)


def locate(quote: str, text: str, *, source_id: str, content_hash: str, hint: int = 0) -> Quote | None:
    """The passage of ``text`` that ``quote`` is, or None. The place nearest after ``hint`` is preferred.

    What is returned always holds ``text[start:end] == quote``: when the match was tolerant, its ``quote`` is the
    text's own wording. Of a quote in parts that are far apart it is the first part.
    """
    spans = QuoteFinder({source_id: text}).within(source_id, quote, hint)
    return quote_at(spans[0], text, source_id, content_hash) if spans else None


def quote_at(span: Span, text: str, source_id: str, content_hash: str) -> Quote:
    return Quote(
        source_id=source_id,
        quote=text[span.start : span.end],
        start=span.start,
        end=span.end,
        content_hash=content_hash,
    )


def _aligned(quote: str, view: View, hint: int) -> tuple[Span, ...]:
    whole = view.find(View(quote, view.language), hint)
    if whole is not None:
        return (whole,)
    parts = [part for part in _LEFT_OUT.split(quote) if any(map(str.isalnum, part))]
    if not 1 < len(parts) <= PARTS:
        return ()
    views = [View(part, view.language) for part in parts]
    found: list[Span] = []
    for wanted in views:
        span = view.find(wanted, found[-1].end if found else hint)
        if span is None or (found and span.start < found[-1].end):
            return ()
        found.append(span)
    for place in range(
        len(found) - 2, -1, -1
    ):  # of a part that stands in several places the one nearest to the next
        following = found[place + 1].start
        span = view.find(views[place], max(found[place].start, following - NEAR - 2 * len(parts[place])))
        if span is not None and found[place].start < span.start and span.end <= following:
            found[place] = span
    pieces = tuple(_joined(found))
    short = any(len(wanted.contents) < LEAST for wanted in views)
    least = min(len(wanted.contents) for wanted in views)
    return () if least < LEAST_NEAR or (short and len(pieces) > 1) else pieces


def _joined(parts: list[Span]) -> Iterator[Span]:
    """The parts, those that are near as one span with what stands between them."""
    start = parts[0].start
    for one, following in pairwise(parts):
        if following.start - one.end > NEAR:
            yield Span(start=start, end=one.end)
            start = following.start
    yield Span(start=start, end=parts[-1].end)


class Prepared(Generic[T]):
    """What was made of texts, by any key. Of the texts that are kept there are at most ``most`` characters in all, or
    one text that is longer.

    Example:
        views = Prepared[View]()
        views.of("S1", text, View)
    """

    def __init__(self, most: int = MOST_PREPARED) -> None:
        self._most = most
        self._held = 0
        self._made: dict[Hashable, tuple[T, int]] = {}  # the one that was used last comes last

    def of(self, key: Hashable, text: str, make: Callable[[str], T]) -> T:
        """What ``make`` makes of the text, or made of it before."""
        if key in self._made:
            found = self._made[key] = self._made.pop(key)
            return found[0]
        while self._made and self._held + len(text) > self._most:  # before there is one more
            self._held -= self._made.pop(next(iter(self._made)))[1]
        made = make(text)
        self._made[key] = made, len(text)
        self._held += len(text)
        return made

    def __len__(self) -> int:
        """How many texts are kept."""
        return len(self._made)
