"""Whether the quotes of a finding carry its words; where they do not, what they say takes their place. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from deep_research.evidence.citations import quote_at
from deep_research.evidence.passages import sentences
from deep_research.evidence.prepared_texts import Prepared
from deep_research.evidence.quotation import readable
from deep_research.evidence.support import (
    SENTENCES,
    SOME,
    SourceText,
    Support,
    check,
    is_doubted,
    likeness,
    plainly,
)
from deep_research.state import Quote, Source, Span

AROUND = 1_000  # characters in which the sentences of a quote begin and end


class WholeTexts:
    """The whole texts of sources, by id: each is prepared when a finding is first set against it, and those that were
    used last are kept for the other findings of a batch. ``texts`` are those of the ``sources``, by id."""

    def __init__(self, sources: Mapping[str, Source], texts: Mapping[str, str]) -> None:
        self._sources = sources
        self._texts = texts
        self._prepared = Prepared[SourceText]()

    def of(self, source_id: str) -> SourceText:
        make = partial(SourceText, title=self._sources[source_id].title)
        return self._prepared.of(source_id, self._texts[source_id], make)


def founded(
    content: str,
    quotes: Sequence[Quote],
    sources: Mapping[str, Source],
    texts: Mapping[str, str],
    *,
    language: str = "",
    wholes: WholeTexts | None = None,
) -> tuple[str, tuple[Quote, ...]] | None:
    """The words of a finding, and its quotes. Words that the quotes carry stand. Where another sentence of their sources
    does, that is quoted as well. Else the words give way to those of the quote that comes nearest; None where none comes
    near. ``texts`` are those of the sources, by id; ``language`` is that of the words. ``wholes`` are what
    findings of the same sources share."""
    if not quotes:
        return None
    if any(plainly(content) == plainly(quote.quote) for quote in quotes):
        return content, tuple(quotes)
    held = [SourceText(quote.quote, title=sources[quote.source_id].title) for quote in quotes]
    most = max(SENTENCES, len(quotes))
    found = check(content, held, language=language, most=most)
    if _carried(content, found, held, language, most):
        return content, tuple(quotes)
    ids = list(dict.fromkeys(quote.source_id for quote in quotes))
    wholes = WholeTexts(sources, texts) if wholes is None else wholes
    prepared = [wholes.of(i) for i in ids]
    whole = check(content, prepared, language=language)
    if _carried(content, whole, prepared, language):
        further = []
        for place in whole.places:
            name = ids[place.source]
            quote = quote_at(place.span, texts[name], name, sources[name].content_hash or "")
            if not any(_holds(held_, quote) for held_ in quotes):
                further.append(quote)
        return content, (*quotes, *further)
    nearest = quotes[found.places[0].source] if found.places else quotes[0]
    source = sources[nearest.source_id]
    text = texts[nearest.source_id]
    whole_sentences = _whole_sentences(text, nearest.start, nearest.end)
    said = quote_at(whole_sentences, text, source.id, source.content_hash or "")
    near = (likeness(content, said.quote, source.title), likeness(nearest.quote, content, source.title))
    if max(near) < SOME:
        return None  # neither says anything of the other
    return readable(text, said.start, said.end), (said, *(q for q in quotes if not _holds(said, q)))


def _carried(
    content: str, found: Support, texts: Sequence[SourceText], language: str, most: int = SENTENCES
) -> bool:
    """Whether texts carry the words of a finding, of which all together ``found`` holds: each of its sentences."""
    parts = [content[span.start : span.end] for span in sentences(content)]
    each = [check(part, texts, language=language, most=most) for part in parts] if len(parts) > 1 else []
    return not any(is_doubted(one.verdict, one.reasons, language=language) for one in (found, *each))


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
