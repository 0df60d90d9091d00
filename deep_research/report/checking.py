"""What carries each claim of a draft: its words are set against the saved texts of the sources that it cites. Pure.

A claim that cites nothing is set against what is cited next to it, then against the findings that it repeats; one that
tells of the research itself, against the log of the run. What a quote says word for word needs no more looking.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from deep_research.evidence.passages import sentences
from deep_research.evidence.quotation import readable
from deep_research.evidence.sites import host_of
from deep_research.evidence.statements import Reader, reader
from deep_research.evidence.support import (
    SENTENCES,
    SOME,
    SPECIFIC,
    SourceText,
    Support,
    check,
    is_doubted,
    plainly,
    written_in,
)
from deep_research.evidence.vocabulary import vocabulary
from deep_research.patterns import regex
from deep_research.report.claims import DraftClaim, draft_claims
from deep_research.report.own_lines import own_lines
from deep_research.state import (
    Aspect,
    Claim,
    ClaimBasis,
    ClaimKind,
    ClaimVerdict,
    DeepResearchState,
    Discrepancy,
    Finding,
    Judgement,
    Quote,
    Source,
)
from deep_research.state.identity import claim_id

CHECKER = "support 1"  # raised with whatever changes a verdict
_WORD = regex(r"\w+")
MOST_SENTENCES = (
    12  # that carry a claim together; three, or as many as the findings that it cites have quotes
)
WORDS_OF_A_CELL = 2  # that say something without their row
REPEATED = 3  # findings that a claim without a reference may repeat
NEARLY = 0.5  # of the words of what is said to be unknown, that a gap has


def checked_claims(
    draft: str,
    state: DeepResearchState,
    texts: Mapping[str, str],
    judgements: Mapping[str, Judgement] | None = None,
) -> tuple[Claim, ...]:
    """The claims of a draft with what carries them. ``texts`` are saved texts by their hash; of a source whose text is
    not among them its quotes alone are looked at. ``judgements`` are those of the judge, by claim."""
    return Checker(state, texts).claims(draft, judgements or {})


@dataclass(frozen=True, slots=True)
class _Text:
    """A text that claims are set against: the saved one of a source from ``base`` on."""

    source: Source
    content_hash: str
    text: str
    base: int
    prepared: SourceText

    def quote(self, start: int, end: int) -> Quote:
        return Quote(
            source_id=self.source.id,
            quote=self.text[start:end],
            start=self.base + start,
            end=self.base + end,
            content_hash=self.content_hash,
        )


@dataclass(frozen=True, slots=True)
class _Carried:
    """What was found of a claim, and in which findings."""

    support: Support
    evidence: tuple[Quote, ...] = ()
    finding_ids: tuple[str, ...] = ()
    basis: ClaimBasis = ClaimBasis.SOURCES
    inherited: bool = False

    @property
    def is_supported(self) -> bool:
        return self.support.verdict is ClaimVerdict.SUPPORTED


_NOTHING = Support(ClaimVerdict.UNSUPPORTED, 0.0, 0.0)
_BY_THE_LOG = _Carried(Support(ClaimVerdict.SUPPORTED, 1.0, 1.0), basis=ClaimBasis.RUN)


@dataclass
class Checker:
    """Checks the claims of one run. ``texts`` may grow while it is used: they are read when they are needed."""

    state: DeepResearchState
    texts: Mapping[str, str]
    _prepared: dict[str, _Text] = field(default_factory=dict)

    def claims(self, draft: str, judgements: Mapping[str, Judgement]) -> tuple[Claim, ...]:
        """Every claim of the draft with its verdict."""
        language = written_in(draft)
        every = draft_claims(draft)
        lines = self._own_lines(every)
        seen: Counter[str] = Counter()
        made: list[Claim] = []
        for told in every:
            carried = self._carried(told, language, lines)
            if carried is None:
                continue
            said = " ".join((plainly(told.text), *told.cites))
            made.append(_claim(told, carried, claim_id(said, seen[said]), judgements))
            seen[said] += 1
        return tuple(made)

    def needed(self, draft: str) -> tuple[str, ...]:
        """The hashes of the texts that the draft has to be set against, of those that it does not have."""
        language = written_in(draft)
        every = draft_claims(draft)
        lines = self._own_lines(every)
        wanted: dict[str, None] = {}
        for told in every:
            cites = told.cites or told.near
            if plainly(told.text) in lines or self._literal(told, cites):
                continue
            bearers = cites if told.cites else (*cites, *self._repeated(told, language))
            wanted |= dict.fromkeys(bearers)
        return self.missing(wanted)

    def missing(self, finding_ids: Iterable[str]) -> tuple[str, ...]:
        """The hashes of the texts that these findings quote, of those that it does not have."""
        hashes = (source.content_hash for source in self._sources(finding_ids))
        return tuple(dict.fromkeys(each for each in hashes if each and each not in self.texts))

    def support(
        self, text: str, cites: Sequence[str], language: str = ""
    ) -> tuple[Support, tuple[Quote, ...]]:
        """What the sources of some findings say of a statement, and the passages that hold most of it."""
        texts = [text_ for source in self._sources(cites) for text_ in self._texts_of(source, cites)]
        quotes = sum(len(self._by_id[i].quotes) for i in cites if i in self._by_id)
        most = min(MOST_SENTENCES, max(SENTENCES, quotes))
        found = check(text, [each.prepared for each in texts], language=language, most=most)
        return found, tuple(
            texts[place.source].quote(place.span.start, place.span.end) for place in found.places
        )

    def nearest(self, text: str, finding_id: str) -> Quote | None:
        """The sentence of a finding's quotes that says most of a statement, where it says enough of it."""
        texts = [
            self._text(self._known[quote.source_id], quote.content_hash, quote.quote, quote.start)
            for quote in (self._by_id[finding_id].quotes if finding_id in self._by_id else ())
            if quote.source_id in self._known
        ]
        found = check(text, [each.prepared for each in texts])
        if found.share < SOME or not found.places:
            return None
        best = found.places[0]
        return texts[best.source].quote(best.span.start, best.span.end)

    def source_ids(self, finding_id: str) -> tuple[str, ...]:
        """The sources that a finding quotes."""
        return tuple(source.id for source in self._sources((finding_id,)))

    def repeated(self, text: str, language: str = "") -> tuple[str, ...]:
        """The findings that a statement repeats, the nearest first."""
        found = check(text, [prepared for _, prepared in self._findings], language=language)
        if found.share < SOME:
            return ()
        return tuple(dict.fromkeys(self._findings[p.source][0].id for p in found.places))[:REPEATED]

    def fails(self, claim: Claim) -> bool:
        """Whether a report should not say it so: nothing carries it, its sources say otherwise, or a figure, date, name
        or denial of it stands in none of them. The judge's word counts before that of the code."""
        if claim.judgement is not None and claim.judgement.verdict is not None:
            return claim.verdict in (ClaimVerdict.UNSUPPORTED, ClaimVerdict.CONTRADICTED)
        return is_doubted(claim.verdict, claim.reasons, language=self._language)

    @cached_property
    def _language(self) -> str:
        """That of most texts that were quoted."""
        quotes = (quote.quote for finding in self.state.findings for quote in finding.quotes)
        votes = Counter(filter(None, map(written_in, quotes)))
        return max(votes, key=lambda each: votes[each], default="")

    # How a claim is carried

    def _carried(self, told: DraftClaim, language: str, lines: frozenset[str]) -> _Carried | None:
        """None where it says nothing that could be looked for."""
        if not told.cites and plainly(told.text) in lines:
            return _BY_THE_LOG
        if told.cites:
            return self._by(told, told.cites, language, inherited=False)
        if not self._reader(language).read(told.text).tokens:
            return None
        near = self._by(told, told.near, language, inherited=True) if told.near else None
        if near is not None and near.is_supported:
            return near
        return self._elsewhere(told, near, language)

    def _by(
        self, told: DraftClaim, cites: tuple[str, ...], language: str, *, inherited: bool
    ) -> _Carried | None:
        findings = tuple(i for i in cites if i in self._by_id)
        if (quote := self._literal(told, cites)) is not None:
            whole = Support(ClaimVerdict.SUPPORTED, 1.0, 1.0)
            return _Carried(whole, (quote,), findings, inherited=inherited)
        if not self._reader(language).read(told.text).tokens:
            return None
        if self._names_source(told, cites):
            return _Carried(Support(ClaimVerdict.SUPPORTED, 1.0, 1.0), (), findings, inherited=inherited)
        found, evidence = self._of_cell(told, cites, language)
        return _Carried(found, evidence, findings, inherited=inherited)

    def _of_cell(
        self, told: DraftClaim, cites: tuple[str, ...], language: str
    ) -> tuple[Support, tuple[Quote, ...]]:
        """Of a cell what the sources say of it and of its row; of one that says something by itself, a value with its
        unit or several words, what they say of that, where they have nothing against the row."""
        found, evidence = self.support(_statement(told), cites, language)
        few = len(self._reader(language).keys(told.text)) < WORDS_OF_A_CELL
        if found.verdict is ClaimVerdict.SUPPORTED or told.kind is not ClaimKind.CELL or few:
            return found, evidence
        alone = self.support(told.text, cites, language)
        against = found.verdict is ClaimVerdict.CONTRADICTED or any(
            reason.aspect in SPECIFIC for reason in found.reasons
        )
        return (found, evidence) if against else alone

    def _names_source(self, told: DraftClaim, cites: Iterable[str]) -> bool:
        """Whether a cell is the title or the date of the source that it refers to."""
        if told.kind is not ClaimKind.CELL:
            return False
        sources = self._sources(cites)
        names = {plainly(source.title) for source in sources}
        return plainly(told.text) in names | {str(source.published) for source in sources if source.published}

    def _elsewhere(self, told: DraftClaim, near: _Carried | None, language: str) -> _Carried:
        """Of a claim that cites nothing: what the findings that it repeats rest on; else what the log says of it."""
        best = near
        if repeated := self._repeated(told, language):
            found, evidence = self.support(_statement(told), repeated, language)
            again = _Carried(found, evidence, repeated, inherited=True)
            if again.is_supported or best is None or found.score > best.support.score:
                best = again
        if best is not None and best.is_supported:
            return best
        if self._tells_of_a_lack(told, language):
            return self._lack(told, language)
        return best or _Carried(_NOTHING)

    def _lack(self, told: DraftClaim, language: str) -> _Carried:
        """What is said to be unknown: a gap of the run has to tell it; where none does it is no more than likely."""
        marks = vocabulary(language).marks
        lacking = marks.lacking | marks.looked
        of = _WORD.sub(lambda word: "" if word[0].casefold() in lacking else word[0], told.text)
        found = check(of, [self._open], language=language)
        specific = any(r.aspect in (Aspect.NUMBER, Aspect.DATE) for r in found.reasons)
        if found.share >= NEARLY and not specific:
            return _BY_THE_LOG
        reasons = (Discrepancy(aspect=Aspect.WORDS, claimed=told.text),)
        verdict = ClaimVerdict.UNSUPPORTED if specific else ClaimVerdict.PARTIAL
        return _Carried(Support(verdict, 0.0, found.share, reasons), basis=ClaimBasis.RUN)

    def _tells_of_a_lack(self, told: DraftClaim, language: str) -> bool:
        """Whether it says of something that it is not known, by its own words or those of its heading."""
        marks = vocabulary(language).marks
        words = set(_WORD.findall(f"{told.heading} {told.text}".casefold()))
        denies = any(mark.denies for mark in self._reader(language).read(told.text).marks)
        return bool(words & marks.lacking) or (denies and bool(words & marks.looked))

    # What it is set against

    @cached_property
    def _by_id(self) -> dict[str, Finding]:
        return {finding.id: finding for finding in self.state.findings}

    @cached_property
    def _known(self) -> dict[str, Source]:
        return {source.id: source for source in self.state.sources}

    @cached_property
    def _open(self) -> SourceText:
        """What was asked and what the run did not find."""
        return SourceText("\n\n".join((self.state.query, *(gap.description for gap in self.state.gaps))))

    @cached_property
    def _findings(self) -> list[tuple[Finding, SourceText]]:
        made = []
        for finding in self.state.findings:
            title = " ".join(_about(source) for source in self._sources((finding.id,)))
            quotes = "\n\n".join((finding.content, *(quote.quote for quote in finding.quotes)))
            made.append((finding, SourceText(quotes, title=title)))
        return made

    @cached_property
    def _quoted(self) -> dict[str, dict[str, Quote]]:
        """Of each finding the sentences of its quotes, as they are compared word for word."""
        return {finding.id: dict(_sentences(finding.quotes)) for finding in self.state.findings}

    def _own_lines(self, every: Iterable[DraftClaim]) -> frozenset[str]:
        cited = {i for told in every for i in told.cites}
        lines = list(own_lines(self.state, cited))
        parts = (line[span.start : span.end] for line in lines for span in sentences(line))
        return frozenset(map(plainly, (*lines, *parts)))

    def _literal(self, told: DraftClaim, cites: Iterable[str]) -> Quote | None:
        """Where a quote of these findings or sources says the very words."""
        key = plainly(told.text)
        for cited in cites:
            quoted = self._quoted.get(cited)
            if quoted is None:
                quoted = self._quoted_of_source(cited)
            if key in quoted:
                return quoted[key]
        return None

    def _quoted_of_source(self, source_id: str) -> dict[str, Quote]:
        quotes = (q for f in self.state.findings for q in f.quotes if q.source_id == source_id)
        return dict(_sentences(quotes))

    def _repeated(self, told: DraftClaim, language: str) -> tuple[str, ...]:
        return self.repeated(_statement(told), language)

    def _sources(self, cites: Iterable[str]) -> list[Source]:
        """Those that findings or sources with these ids are."""
        ids: dict[str, None] = {}
        for cited in cites:
            finding = self._by_id.get(cited)
            quoted = [q.source_id for q in finding.quotes] if finding else [cited]
            ids |= dict.fromkeys(quoted or (finding.source_ids if finding else ()))
        return [self._known[i] for i in ids if i in self._known]

    def _texts_of(self, source: Source, cites: Iterable[str]) -> Iterator[_Text]:
        """The saved text of a source, or where that is not at hand the quotes from it."""
        if source.content_hash and source.content_hash in self.texts:
            yield self._text(source, source.content_hash, self.texts[source.content_hash], 0)
            return
        cited = set(cites)
        for finding in self.state.findings:
            if finding.id in cited or source.id in cited:
                for quote in finding.quotes:
                    if quote.source_id == source.id:
                        yield self._text(source, quote.content_hash, quote.quote, quote.start)

    def _text(self, source: Source, content_hash: str, text: str, base: int) -> _Text:
        key = f"{source.id} {content_hash} {base} {len(text)}"
        if key not in self._prepared:
            self._prepared[key] = _Text(
                source, content_hash, text, base, SourceText(text, title=_about(source))
            )
        return self._prepared[key]

    def _reader(self, language: str) -> Reader:
        return reader(language or self._language)


def _statement(told: DraftClaim) -> str:
    """What is looked for: of a cell with what it is said of."""
    return f"{told.row}: {told.text}" if told.kind is ClaimKind.CELL and told.row else told.text


def _about(source: Source) -> str:
    """What a text need not say of itself: its title, who published it where, and when."""
    told = [source.title, source.metadata.get("author", ""), source.metadata.get("venue", "")]
    if source.published:
        told.append(f"{source.published:%Y-%m-%d} {source.published:%B}")
    if host := host_of(source.url or ""):
        told.append(host.replace(".", " "))
    return " ".join(filter(None, told))


def _sentences(quotes: Iterable[Quote]) -> Iterator[tuple[str, Quote]]:
    for quote in quotes:
        yield plainly(readable(quote.quote)), quote
        for span in sentences(quote.quote):
            part = quote.model_copy(
                update={
                    "quote": quote.quote[span.start : span.end],
                    "start": quote.start + span.start,
                    "end": quote.start + span.end,
                }
            )
            yield plainly(part.quote), part
            yield plainly(readable(quote.quote, span.start, span.end)), part


def _claim(told: DraftClaim, carried: _Carried, key: str, judgements: Mapping[str, Judgement]) -> Claim:
    judgement = judgements.get(key)
    verdict = carried.support.verdict
    return Claim(
        id=key,
        text=told.text,
        kind=told.kind,
        heading=told.heading,
        place=told.place,
        finding_ids=carried.finding_ids,
        inherited=carried.inherited,
        basis=carried.basis,
        verdict=judgement.verdict if judgement is not None and judgement.verdict else verdict,
        checked=verdict,
        checker=CHECKER,
        score=round(carried.support.score, 4),
        share=round(carried.support.share, 4),
        reasons=carried.support.reasons,
        evidence=carried.evidence,
        judgement=judgement,
        marked=told.marked,
    )
