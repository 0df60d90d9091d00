"""What a report may cite: looks up findings, quotes and saved texts by id, and checks how far they support a statement.
Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import accumulate

from deep_research.patterns import regex
from deep_research.provenance.quotes import Prepared, announced_by, locate, readable
from deep_research.provenance.sites import host_of
from deep_research.report.cells import Row
from deep_research.retrieval.candidates import STEP
from deep_research.state import DeepResearchState, Finding, Quote, Source
from deep_research.text.language import language_of, written_in
from deep_research.text.passages import sentences
from deep_research.text.plain import plainly
from deep_research.text.rows import headers, split_cells
from deep_research.text.statements import likeness
from deep_research.verification.evidence_text import EvidenceText
from deep_research.verification.support import MAX_SENTENCES, MIN_PARTIAL_SHARE, Support, check

# Sentences that together carry a claim: up to three, or up to the number of quotes of the findings it cites.
MAX_CLAIM_SENTENCES = 12
REPEATED = 3  # findings that a statement without a reference may repeat
MAX_VERDICTS = 4_000  # in the cache, of some 6 KB each
_BETWEEN = "\n\n"  # findings
_MARKED_UP = regex(r"[|\n¶]")  # what `readable` writes in another way
# Cache: what the same texts say of the same statement. A draft is checked several times, the next draft repeats most of
# it, and not all texts of a run stay prepared.
_VERDICTS: dict[
    tuple[str, tuple[tuple[str, str], ...], str, int, bool], tuple[Support, tuple[Quote, ...]]
] = {}


@dataclass(frozen=True, slots=True)
class _Text:
    """A text that claims are set against: the saved one of a source from ``base`` on."""

    source: Source
    content_hash: str
    text: str
    base: int

    @property
    def key(self) -> str:
        """Cache key of this text. It hashes the text itself, since a pack may state a wrong ``content_hash``."""
        return f"{self.source.id} {self.content_hash} {self.base} {len(self.text)} {hash(self.text)}"

    def quote(self, start: int, end: int) -> Quote:
        return Quote(
            source_id=self.source.id,
            quote=self.text[start:end],
            start=self.base + start,
            end=self.base + end,
            content_hash=self.content_hash,
        )


@dataclass(frozen=True, slots=True)
class _Found:
    """Findings of one language in one text, and where each begins in it."""

    prepared: EvidenceText
    starts: tuple[int, ...]
    ids: tuple[str, ...]

    @classmethod
    def of(cls, told: Sequence[tuple[str, str]]) -> _Found:
        sizes = (len(said) + len(_BETWEEN) for _, said in told)
        starts = tuple(accumulate(sizes, initial=0))[:-1]
        return cls(EvidenceText(_BETWEEN.join(said for _, said in told)), starts, tuple(i for i, _ in told))

    def finding_at(self, place: int) -> str:
        return self.ids[bisect_right(self.starts, place) - 1]


@dataclass
class CitationResolver:
    """What the findings and sources of a run say. ``texts`` are saved texts by their hash; they may grow while this is
    used: they are read when they are needed. Of a source whose text is not among them its quotes alone are looked at."""

    state: DeepResearchState
    texts: Mapping[str, str]
    _prepared: Prepared[EvidenceText] = field(default_factory=Prepared[EvidenceText])
    _sentences_quoted: dict[str, dict[str, Quote]] = field(default_factory=dict)
    _rows: dict[tuple[str, str], tuple[Row, ...]] = field(default_factory=dict)

    def missing(self, finding_ids: Iterable[str]) -> tuple[str, ...]:
        """The hashes of the texts that these findings quote, of those that it does not have."""
        hashes = (source.content_hash for source in self.sources(finding_ids))
        return tuple(dict.fromkeys(each for each in hashes if each and each not in self.texts))

    def support(
        self, text: str, cites: Sequence[str], language: str = "", *, strict: bool = True
    ) -> tuple[Support, tuple[Quote, ...]]:
        """What the sources of some findings say of a statement, and the passages that hold most of it. ``strict`` as in
        `check`."""
        texts = [text_ for source in self.sources(cites) for text_ in self._texts_of(source, cites)]
        quotes = sum(len(self.findings[i].quotes) for i in cites if i in self.findings)
        most = min(MAX_CLAIM_SENTENCES, max(MAX_SENTENCES, quotes))
        key = text, tuple((each.key, about(each.source)) for each in texts), language, most, strict
        if (said := _VERDICTS.get(key)) is None:
            found = check(
                text, [self._prepare(each) for each in texts], language=language, most=most, strict=strict
            )
            passages = (texts[place.source].quote(place.span.start, place.span.end) for place in found.places)
            said = found, tuple(passages)
            if len(_VERDICTS) >= MAX_VERDICTS:
                _VERDICTS.clear()
            _VERDICTS[key] = said
        return said

    def rows(self, words: str, cites: Sequence[str]) -> list[Row]:
        """The rows of tables with all of some words, in the sources of some findings, of which the columns are named."""
        found: list[Row] = []
        for source in self.sources(cites):
            for text in self._texts_of(source, cites):
                key = words, text.key
                if key not in self._rows:
                    self._rows[key] = tuple(
                        Row(tuple(header), tuple(split_cells(text.text[start:end])), text.quote(start, end))
                        for start, end in self._prepare(text).rows_with(words)
                        if (header := headers(text.text, start, end))
                    )
                found += self._rows[key]
        return found

    def nearest(self, text: str, finding_id: str) -> Quote | None:
        """The sentence of a finding's quotes that says most of a statement, where it says enough of it."""
        texts = [
            _Text(self._sources_by_id[quote.source_id], quote.content_hash, quote.quote, quote.start)
            for quote in (self.findings[finding_id].quotes if finding_id in self.findings else ())
            if quote.source_id in self._sources_by_id
        ]
        found = check(text, [self._prepare(each) for each in texts])
        if not found.places:
            return None
        best = texts[found.places[0].source]
        quote = best.quote(found.places[0].span.start, found.places[0].span.end)
        return quote if likeness(text, quote.quote, about(best.source)) >= MIN_PARTIAL_SHARE else None

    def source_ids(self, finding_id: str) -> tuple[str, ...]:
        """The sources that a finding quotes."""
        return tuple(source.id for source in self.sources((finding_id,)))

    def repeated(self, text: str, language: str = "") -> tuple[str, ...]:
        """The findings that a statement repeats, the nearest first."""
        found = check(text, [each.prepared for each in self._finding_texts], language=language)
        if found.share < MIN_PARTIAL_SHARE:
            return ()
        ids = (self._finding_texts[place.source].finding_at(place.span.start) for place in found.places)
        return tuple(dict.fromkeys(ids))[:REPEATED]

    def word_for_word(self, text: str, cites: Iterable[str]) -> Quote | None:
        """Where a quote of these findings or sources says the very words."""
        key = plainly(text)
        return next((quote for cited in cites if (quote := self._quotes(cited).get(key))), None)

    @cached_property
    def language(self) -> str:
        """That of most texts that were quoted."""
        quotes = (quote.quote for finding in self.state.findings for quote in finding.quotes)
        votes = Counter(filter(None, map(written_in, quotes)))
        return max(votes, key=lambda each: votes[each], default="")

    @cached_property
    def findings(self) -> dict[str, Finding]:
        return {finding.id: finding for finding in self.state.findings}

    @cached_property
    def _sources_by_id(self) -> dict[str, Source]:
        return {source.id: source for source in self.state.sources}

    @cached_property
    def _finding_texts(self) -> list[_Found]:
        """What the findings and their quotes say, one text for each language."""
        told: dict[str, list[tuple[str, str]]] = {}
        for finding in self.state.findings:
            said = "\n\n".join(dict.fromkeys((finding.content, *(quote.quote for quote in finding.quotes))))
            told.setdefault(language_of(said), []).append((finding.id, said))
        return [_Found.of(each) for each in told.values()]

    def _quotes(self, cited: str) -> dict[str, Quote]:
        """The sentences that a finding or source is quoted with, as they are compared word for word."""
        if cited not in self._sentences_quoted:
            finding = self.findings.get(cited)
            every = finding.quotes if finding else self._quotes_from.get(cited, ())
            section = finding.heading.rpartition(STEP)[2] if finding else ""
            lead = announced_by(every) if finding else ""
            self._sentences_quoted[cited] = dict(_sentences(every, section, lead))
        return self._sentences_quoted[cited]

    @cached_property
    def _quotes_from(self) -> Mapping[str, list[Quote]]:
        """All quotes by their source."""
        found: dict[str, list[Quote]] = {}
        for finding in self.state.findings:
            for quote in finding.quotes:
                found.setdefault(quote.source_id, []).append(quote)
        return found

    def sources(self, cites: Iterable[str]) -> list[Source]:
        """The sources behind these ids: those that a finding quotes, or the source itself."""
        ids: dict[str, None] = {}
        for cited in cites:
            finding = self.findings.get(cited)
            quoted = [q.source_id for q in finding.quotes] if finding else [cited]
            ids |= dict.fromkeys(quoted or (finding.source_ids if finding else ()))
        return [self._sources_by_id[i] for i in ids if i in self._sources_by_id]

    def _texts_of(self, source: Source, cites: Iterable[str]) -> Iterator[_Text]:
        """The saved text of a source, or where that is not at hand the quotes from it."""
        if source.content_hash and source.content_hash in self.texts:
            yield _Text(source, source.content_hash, self.texts[source.content_hash], 0)
            return
        own = {q for i in cites if i in self.findings for q in self.findings[i].quotes}
        for quote in self._quotes_from.get(source.id, ()):
            if quote in own or source.id in cites:
                yield _Text(source, quote.content_hash, quote.quote, quote.start)

    def locate(self, words: str, cites: Iterable[str]) -> Quote | None:
        """Where the sources of some findings have these words; None where none has."""
        for source in self.sources(cites):
            for text in self._texts_of(source, tuple(cites)):
                found = locate(words, text.text, source_id=source.id, content_hash=text.content_hash)
                if found is not None:
                    return text.quote(found.start, found.start + len(found.quote))
        return None

    def holds(self, quote: Quote) -> bool:
        """Whether a quote stands in the saved text of its source, or where that is not at hand in a finding's quote."""
        text = self.texts.get(quote.content_hash)
        if text is not None:
            return text[quote.start : quote.start + len(quote.quote)] == quote.quote
        return any(quote.quote in known.quote for known in self._quotes_from.get(quote.source_id, ()))

    def sentences(self, quote: Quote) -> str:
        """The sentences of its source in which a quote stands; the quote where the text is not at hand."""
        text = self.texts.get(quote.content_hash)
        if text is None:
            return quote.quote
        prepared = self._prepare(_Text(self._sources_by_id[quote.source_id], quote.content_hash, text, 0))
        start, end = prepared.around(quote.start, quote.start + len(quote.quote))
        return text[start:end]

    def context(self, quote: Quote) -> str:
        """What the words of a quote need not say: what their source is called, and the heading over them."""
        source = self._sources_by_id[quote.source_id]
        text = self.texts.get(quote.content_hash)
        if text is None:
            return about(source)
        heading = self._prepare(_Text(source, quote.content_hash, text, 0)).heading_at(quote.start)
        return f"{about(source)} {heading}"

    def quotes_of(self, finding_ids: Iterable[str]) -> list[Quote]:
        """The quotes of some findings, each once."""
        return list(
            dict.fromkeys(q for i in finding_ids if i in self.findings for q in self.findings[i].quotes)
        )

    def title(self, source_id: str) -> str:
        """What a source is called."""
        return self._sources_by_id[source_id].title if source_id in self._sources_by_id else ""

    def _prepare(self, text: _Text) -> EvidenceText:
        return self._prepared.of(
            text.key, text.text, partial(EvidenceText, title=text.source.title, about=about(text.source))
        )


def about(source: Source) -> str:
    """What a text need not say of itself: its title, who published it where, and when."""
    told = [source.title, source.metadata.get("author", ""), source.metadata.get("venue", "")]
    if source.published:
        told.append(f"{source.published:%Y-%m-%d} {source.published:%B}")
    if host := host_of(source.url or ""):
        told.append(host.replace(".", " "))
    return " ".join(filter(None, told))


def _sentences(quotes: Sequence[Quote], section: str, lead: str) -> Iterator[tuple[str, Quote]]:
    """Each sentence by its words as they stand and, where that is another thing, as they read in a report: a row with its
    headers, an item after its section, of the first quote also after the ``lead`` that announces it."""
    sections = (f"{section}:", "") if section else ("",)
    for place, quote in enumerate(quotes):
        leads = (lead, "") if lead and place == 0 else ("",)
        fronts = [" ".join(filter(None, (under, led))) for under in sections for led in leads]
        spans = sentences(quote.quote)
        for start, end in dict.fromkeys(((0, len(quote.quote)), *((s.start, s.end) for s in spans))):
            words = quote.quote[start:end]
            part = quote.model_copy(
                update={"quote": words, "start": quote.start + start, "end": quote.start + end}
            )
            yield plainly(words), part
            shown = readable(quote.quote, start, end) if _MARKED_UP.search(words) else words
            for front in fronts:
                yield plainly(f"{front} {shown}"), part
