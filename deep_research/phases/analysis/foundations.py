"""Whether the quotes of a finding carry its words, and the words of its sources in their place. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from deep_research.evidence.language import language_of
from deep_research.evidence.passages import sentences
from deep_research.evidence.plain import plainly
from deep_research.evidence.quotes import Prepared, quote_at, readable
from deep_research.evidence.sentences import CLOSING, END_MARKS
from deep_research.evidence.statements import Kind, likeness, reader
from deep_research.evidence.support import SENTENCES, SOME, SourceText, Support, check, is_doubted
from deep_research.state import Quote, Source, Span

LONGEST_FINDING = 2_000  # characters of a statement that an agent made in its own words
AROUND = LONGEST_FINDING  # characters in which the sentences of a quote begin and end


class Titled(Protocol):
    """A source."""

    @property
    def title(self) -> str: ...


class WholeTexts:
    """The whole texts of sources, by id: each is prepared when a finding is first set against it, and those that were
    used last are kept for the other findings of a batch. ``texts`` are those of the ``sources``, by id."""

    def __init__(self, sources: Mapping[str, Titled], texts: Mapping[str, str]) -> None:
        self._sources = sources
        self._texts = texts
        self._prepared = Prepared[SourceText]()

    def of(self, source_id: str) -> SourceText:
        make = partial(SourceText, title=self.title(source_id))
        return self._prepared.of(source_id, self._texts[source_id], make)

    def title(self, source_id: str) -> str:
        return self._sources[source_id].title


@dataclass(frozen=True, slots=True)
class Foundation:
    """What carries the words of a finding: its quotes, with the sentences ``beside`` them, each by the id of its source.
    Where nothing does, ``doubts`` say of which of its sentences, and why."""

    beside: tuple[tuple[str, Span], ...] = ()
    doubts: tuple[Support, ...] = ()

    @property
    def lacking(self) -> tuple[str, ...]:
        """The words that nothing has, each once."""
        reasons = (reason.claimed for doubt in self.doubts for reason in doubt.reasons)
        return tuple(dict.fromkeys(filter(None, reasons)))


@dataclass(frozen=True, slots=True)
class Passage:
    """The words of a quote, and the ``sentences`` of its source in which they stand."""

    source_id: str
    words: str
    sentences: str

    @classmethod
    def at(cls, source_id: str, text: str, start: int, end: int) -> Passage:
        """That of a text."""
        span = _whole_sentences(text, start, end)
        return cls(source_id, text[start:end], text[span.start : span.end])


def foundation(content: str, quotes: Sequence[Passage], wholes: WholeTexts, language: str = "") -> Foundation:
    """Of a finding with one quote at least. A fragment carries nothing that its sentence does not: the denial may stand
    before it. ``language`` is that of the words of the finding."""
    if any(plainly(content) == plainly(quote.words) for quote in quotes):
        return Foundation()
    most = max(SENTENCES, len(quotes))

    def carry(texts: Sequence[str]) -> bool:
        pairs = zip(texts, quotes, strict=True)
        held = [SourceText(text, title=wholes.title(quote.source_id)) for text, quote in pairs]
        return not _doubts(content, held, language, most)[0]

    words, around = [quote.words for quote in quotes], [quote.sentences for quote in quotes]
    if carry(words) and (words == around or carry(around)):
        return Foundation()
    ids = list(dict.fromkeys(quote.source_id for quote in quotes))
    doubts, whole = _doubts(content, list(map(wholes.of, ids)), language)
    if doubts:
        return Foundation(doubts=tuple(doubts))
    return Foundation(beside=tuple((ids[place.source], place.span) for place in whole.places))


def founded(
    content: str,
    quotes: Sequence[Quote],
    sources: Mapping[str, Source],
    texts: Mapping[str, str],
    *,
    language: str = "",
    wholes: WholeTexts | None = None,
    may_reword: bool = True,
) -> tuple[str, tuple[Quote, ...]] | None:
    """The words of a finding, and its quotes. Words that the quotes carry stand. Where another sentence of their sources
    does, that is quoted as well. Else they give way to the sentences of the quotes that come near, where they
    ``may``; None where none comes near. ``texts`` are those of the sources, by id; ``language`` is that of the words.
    ``wholes`` are what findings of the same sources share."""
    if not quotes:
        return None
    wholes = WholeTexts(sources, texts) if wholes is None else wholes
    passages = [Passage.at(q.source_id, texts[q.source_id], q.start, q.end) for q in quotes]
    found = foundation(content, passages, wholes, language)
    if found.doubts:
        return _reworded(content, quotes, sources, texts) if may_reword else None
    further = [
        quote_at(span, texts[source_id], source_id, sources[source_id].content_hash or "")
        for source_id, span in found.beside
    ]
    return content, (*quotes, *(q for q in further if not any(_holds(known, q) for known in quotes)))


def _doubts(
    content: str, texts: Sequence[SourceText], language: str, most: int = SENTENCES
) -> tuple[list[Support], Support]:
    """What texts do not carry of the words of a finding: of all together, and of each of its sentences; and what they
    hold of all together."""
    whole = check(content, texts, language=language, most=most)
    parts = [content[span.start : span.end] for span in sentences(content)]
    each = [check(part, texts, language=language, most=most) for part in parts] if len(parts) > 1 else []
    doubted = [one for one in (whole, *each) if is_doubted(one.verdict, one.reasons, language=language)]
    return doubted, whole


def _reworded(
    content: str, quotes: Sequence[Quote], sources: Mapping[str, Source], texts: Mapping[str, str]
) -> tuple[str, tuple[Quote, ...]] | None:
    """The sentences of the quotes that come near the words, joined, and these as quotes before the others. A fragment
    that says nothing by itself takes nobody's place."""
    said: dict[str, Quote] = {}
    for quote in quotes:
        text, source = texts[quote.source_id], sources[quote.source_id]
        span = _whole_sentences(text, quote.start, quote.end)
        words = readable(text, span.start, span.end)
        whole = quote_at(span, text, source.id, source.content_hash or "")
        near = (
            likeness(content, whole.quote, source.title),
            likeness(quote.quote, content, source.title),
        )
        if max(near) >= SOME and _stands_alone(words, content):
            said.setdefault(words, whole)
    if not said:
        return None
    others = (q for q in quotes if not any(_holds(whole, q) for whole in said.values()))
    return " ".join(said), (*said.values(), *others)


def _stands_alone(words: str, content: str) -> bool:
    """Whether words of a source can take the place of a finding: a whole sentence can, and what has a name of the finding
    and, where that has figures, figures."""
    if words.rstrip(CLOSING)[-1:] in END_MARKS and not words.startswith("#"):
        return True
    reads = reader(language_of(words))
    keys = {token.key for token in reads.read(words).tokens}
    figures = {token.key for token in reads.read(words).tokens if token.value is not None}
    wanted = reads.read(content).tokens
    has_subject = any(token.kind is Kind.NAME and token.key in keys for token in wanted)
    return has_subject and bool(figures or all(token.value is None for token in wanted))


def _holds(one: Quote, other: Quote) -> bool:
    return one.source_id == other.source_id and one.start <= other.start and other.end <= one.end


def _whole_sentences(text: str, start: int, end: int) -> Span:
    """Where the sentences begin and end in which a passage stands."""
    first = text.rfind("\n\n", max(0, start - AROUND), start)
    last = text.find("\n\n", end, end + AROUND)
    begin = first + 2 if first >= 0 else max(0, start - AROUND)
    stop = last if last >= 0 else min(len(text), end + AROUND)
    inside = [span for span in sentences(text, begin, stop) if span.start < end and span.end > start]
    return Span(start=inside[0].start, end=inside[-1].end) if inside else Span(start=start, end=end)
