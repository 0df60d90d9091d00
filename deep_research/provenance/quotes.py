"""Quotes: finding them in their texts, how they read in a report, and to what more the text around them points. Pure.

What is found is always the text's own words: ``text[start:end] == quote``. A quote is looked for as it stands; then word
by word, see `alignment`; then, where "…" or "[...]" parts it, by its parts. Texts that are prepared for it take many
times their memory, so few are kept, see `Prepared`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Generic, TypeVar

from deep_research.patterns import regex
from deep_research.provenance.alignment import View
from deep_research.state import Quote, Reference, Span
from deep_research.text.plain import clean, unjoined
from deep_research.text.rows import clauses
from deep_research.text.sentences import CLOSING, END_MARKS

MAX_QUOTE_CHARS = 20_000  # characters of a quote that is looked for otherwise than as it stands
PARTS = 6  # of a quote, at most
NEAR_CHARS = 500  # characters between two parts that become one span: what was left out is short enough to be read along
# Content words of a part, and of one that is near the next: fewer stand in any text.
MIN_WORDS, MIN_NEAR_WORDS = 3, 2
_LEFT_OUT = regex(r"\[\s{0,9}(?:…|\.{3,9})\s{0,9}\]|\(\s{0,9}(?:…|\.{3,9})\s{0,9}\)|…|\.{3,}")

Wanted = tuple[str, str, int]  # a quote, the source that it is said to be of, and after which place of it

MAX_PREPARED_CHARS = 2_000_000  # characters of the texts that are kept prepared: about 20 MB

_RULE = regex(r"^[ \t]*([-=~^*_#])\1{3,}[ \t]*$", re.MULTILINE)  # what underlines a heading or parts sections
# A line of its own before an item that describes it.
_TERM = regex(r"(?:(?<=\n\n)|\A)(?P<term>[^\n]*[^\n:.!?])\n\n- ")
# The end of a paragraph that no mark ends, as of a byline, before one that opens with a capital.
_UNENDED = regex(r"(?<=[\w)\]\"”’»])[^\S\n]*\n[^\S\n]*\n\s*(?=(?P<next>[^\W\d_]))")
ANNOUNCING = regex(r"[:：][\s*_]*\Z")
_LABEL = r"[^\W\d_][\w .()/'’-]{0,30}: \S"  # how a line of a form begins
LABELLED = regex(_LABEL)
# The end of such a line before the next one.
_NEXT_LABEL = regex(rf"^([ \t]*{_LABEL}[^\n]*(?<=[^\s.,;:!?]))[ \t]*\n[ \t]*(?={_LABEL})", re.MULTILINE)
_ENDS = f"{END_MARKS}{CLOSING}:；"
BREAKS_OFF = " …"  # behind a list of which not all is shown
ITEM_MARK = r"\n\s*(?:[-*+•]|(?P<number>\d{1,3})[.)])[ \t]+"  # for a pattern
_ITEM = regex(ITEM_MARK)

AROUND_CHARS = 500  # characters before and after a passage, in which references are looked for
_MAX_REFERENCES = 6  # of a source
_MAX_REFERENCE_CHARS = 120  # characters of a reference
_SEE = (
    r"(?:see(?: also)?|refer to|cf\."
    r"|(?:described|explained|discussed|documented|covered|listed|given|found) (?:further )?in"
    r"|details (?:are )?in|siehe(?: auch)?|vgl\.|voir(?: aussi)?|v[ée]ase(?: tambi[ée]n)?|vedi(?: anche)?)"
)
UNIT = (
    r"(?:sections?|chapters?|appendix|part|§|Abschnitt|Kapitel|Anhang|chapitre"
    r"|secci[óo]n|cap[íi]tulo|sezione|capitolo)"
)
_SECTION = regex(
    rf"\b{_SEE}:?\s+(?:the\s+)?(?P<target>{UNIT}\s*[“\"]?(?:[A-Z]?\d+(?:\.\w+)*|[A-Z](?:\.\d+)*)\b)",
    re.IGNORECASE,
)
_LINK = regex(
    rf"\b{_SEE}\b[^.\n\[\]]{{0,60}}\[(?P<name>[^\]\n]{{2,80}})\]\((?P<target>[^)\s]{{2,200}})\)",
    re.IGNORECASE,
)
# A name in quote marks, or words with capitals: anything else is part of a sentence.
_NAMED = regex(
    r"(?:\bSee|(?<=[(,;:])\s?see)(?: also)?:?\s+(?:the\s+)?(?P<target>[“\"][^”\"\n]{3,80}[”\"]"
    r"|[A-Z][\w-]+(?:\s+(?:(?:of|and|the|for|to|in)\s+)?[A-Z][\w-]+)*)"
)

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

        There are several spans only where the quote leaves out more than `NEAR_CHARS` characters between two of its
        parts. A place after ``hint``, in the text of ``source_id``, is preferred."""
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
        if len(wanted) > MAX_QUOTE_CHARS:
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
        span = view.find(
            views[place], max(found[place].start, following - NEAR_CHARS - 2 * len(parts[place]))
        )
        if span is not None and found[place].start < span.start and span.end <= following:
            found[place] = span
    pieces = tuple(_join_spans(found))
    short = any(len(wanted.contents) < MIN_WORDS for wanted in views)
    least = min(len(wanted.contents) for wanted in views)
    return () if least < MIN_NEAR_WORDS or (short and len(pieces) > 1) else pieces


def _join_spans(parts: list[Span]) -> Iterator[Span]:
    """The parts, those that are near as one span with what stands between them."""
    start = parts[0].start
    for one, following in pairwise(parts):
        if following.start - one.end > NEAR_CHARS:
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

    def __init__(self, most: int = MAX_PREPARED_CHARS) -> None:
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


def readable(text: str, start: int = 0, end: int | None = None) -> str:
    """The quote ``text[start:end]`` as a sentence: one line, a row of a table with the headers of its columns (with
    commas, where they are not known), a term with a colon."""
    end = len(text) if end is None else end
    if told := clauses(text, start, end):
        return ". ".join((*(row.removesuffix(".") for row in told[:-1]), told[-1]))
    text = _TERM.sub(r"\g<term>: ", _RULE.sub("", text[start:end]))
    text = _NEXT_LABEL.sub(r"\1; ", _ITEM.sub(_inline, text))
    text = _UNENDED.sub(lambda end: ". " if end["next"].isupper() else " ", text)
    return " ".join(text.replace(" | ", ", ").replace("¶", "").split())


def announced_by(quotes: Sequence[Quote]) -> str:
    """What announces the first of a finding's quotes, as of an item or of code: those after it that stand before it in
    its source and end with a colon, of which the nearest comes first. Empty where none does."""

    def leads(quote: Quote) -> bool:
        first = quotes[0]
        is_before = quote.source_id == first.source_id and quote.end <= first.start
        return is_before and ANNOUNCING.search(quote.quote) is not None

    return " ".join(readable(quote.quote) for quote in reversed(list(takewhile(leads, quotes[1:]))))


def shortened(text: str, most: int) -> str:
    """A text of no more than so many characters, cut between words."""
    return text if len(text) <= most else f"{text[:most].rsplit(' ', 1)[0]} …"


def with_end_mark(text: str) -> str:
    """A text with a mark at its end."""
    return text if text[-1:] in _ENDS else f"{text}."


def _inline(mark: re.Match[str]) -> str:
    """What stands for the mark of an item in a running text."""
    before = mark.string[: mark.start()][-1:]
    between = " " if before in ",;:.!?，；：。！？" else "; "
    return f"{between}({mark['number']}) " if mark["number"] else between


def references(source_id: str, text: str, spans: Iterable[Span]) -> tuple[Reference, ...]:
    """What the surroundings of some passages point to, in the order of the text, each once."""
    found: dict[str, Reference] = {}
    for start, end in _surroundings(text, spans):
        for match in _matches(text[start:end]):
            target = " ".join(match["target"].strip(' “”"').split())
            said = " ".join(match.group().split())[:_MAX_REFERENCE_CHARS]
            made = Reference(source_id=source_id, text=said, target=target)
            found.setdefault(target.casefold(), made)
    return tuple(found.values())[:_MAX_REFERENCES]


def _surroundings(text: str, spans: Iterable[Span]) -> Iterator[tuple[int, int]]:
    """Those of all passages, what overlaps as one."""
    last: tuple[int, int] | None = None
    for span in sorted(spans, key=lambda span: span.start):
        start, end = max(0, span.start - AROUND_CHARS), min(len(text), span.end + AROUND_CHARS)
        if last is not None and start <= last[1]:
            last = last[0], max(last[1], end)
            continue
        if last is not None:
            yield last
        last = start, end
    if last is not None:
        yield last


def _matches(text: str) -> list[re.Match[str]]:
    taken: list[re.Match[str]] = []
    for pattern in (_LINK, _SECTION, _NAMED):
        for match in pattern.finditer(text):
            if not any(match.start() < known.end() and known.start() < match.end() for known in taken):
                taken.append(match)
    return sorted(taken, key=lambda match: match.start())
