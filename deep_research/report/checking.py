"""Check of the claims of a draft against the saved texts of the sources that it cites. Pure.

A claim that cites nothing is set against what is cited next to it, then against the findings that it repeats; one that
tells of the research itself, against the log of the run. What a quote says word for word needs no more looking.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

from deep_research.patterns import regex
from deep_research.report.cells import misplaced, placed
from deep_research.report.citation_resolver import CitationResolver
from deep_research.report.draft_claims import DraftClaim, draft_claims
from deep_research.report.judging import judged, key_of
from deep_research.report.report_notices import FIXED, GAPS, gap_lines, is_told_together, own_lines
from deep_research.report.source_statements import is_borne_out
from deep_research.retrieval.parsed_question import expected
from deep_research.state import (
    Aspect,
    Claim,
    ClaimBasis,
    ClaimKind,
    ClaimVerdict,
    DeepResearchState,
    Discrepancy,
    Judgement,
    Quote,
    Span,
)
from deep_research.state.identity import claim_id
from deep_research.text.language import vocabulary, written_in
from deep_research.text.passages import sentences
from deep_research.text.plain import plainly
from deep_research.text.statements import Kind, Reader, reader
from deep_research.verification.evidence_text import EvidenceText
from deep_research.verification.restatement import LONG_WORDS
from deep_research.verification.support import (
    BELOW,
    FEW_WORDS,
    MAX_STATEMENT_CHARS,
    SPECIFIC,
    Support,
    check,
    is_doubted,
)

CHECKER = "support 6"  # raised with whatever changes a verdict
_WORD = regex(r"\w+")
WORDS_OF_A_CELL = 2  # that say something without their row
_FIGURES = (Aspect.NUMBER, Aspect.DATE)
NEARLY = 0.5  # of the words of what is said to be unknown, that a gap has


Progress = Callable[[int, int], None]
_NOTHING = Support(ClaimVerdict.UNSUPPORTED, 0.0, 0.0)


def checked_claims(
    draft: str,
    state: DeepResearchState,
    texts: Mapping[str, str],
    judgements: Mapping[str, Judgement] | None = None,
    *,
    partial: bool = False,
    progress: Progress | None = None,
) -> tuple[Claim, ...]:
    """The claims of a draft with what carries them. ``texts`` are saved texts by their hash; of a source whose text is
    not among them its quotes alone are looked at. ``judgements`` are those of the judge, by claim. ``partial`` says
    that the report is put together because the run was stopped. ``progress`` is called with how many claims are checked,
    and how many there are."""
    return Checker(state, texts, partial=partial).claims(draft, judgements or {}, progress)


@dataclass(frozen=True, slots=True)
class _SupportResult:
    """What was found of a claim, and in which findings."""

    support: Support
    evidence: tuple[Quote, ...] = ()
    finding_ids: tuple[str, ...] = ()
    basis: ClaimBasis = ClaimBasis.SOURCES
    inherited: bool = False

    @property
    def is_supported(self) -> bool:
        return self.support.verdict is ClaimVerdict.SUPPORTED


@dataclass(frozen=True)
class _Draft:
    """A draft as it is looked at: what it claims, in which language, and which lines the log bears out."""

    claims: list[DraftClaim]
    language: str
    own_lines: frozenset[str]
    gap_lines: frozenset[str]

    def is_untrue_of_the_run(self, told: DraftClaim) -> bool:
        """Whether a claim is a line of the engine that holds of other runs."""
        return not told.cites and plainly(told.text) in _fixed_lines() - self.own_lines

    @cached_property
    def cells(self) -> dict[Span, DraftClaim]:
        """Those of its tables, by their places."""
        return {told.place: told for told in self.claims if told.kind is ClaimKind.CELL}

    def tells_of_the_run(self, told: DraftClaim) -> bool:
        """Whether a claim is a line of the engine on the research itself, where it stands."""
        key = plainly(told.text)
        return not told.cites and (key in self.own_lines or (told.heading == GAPS and key in self.gap_lines))


_BY_THE_LOG = _SupportResult(Support(ClaimVerdict.SUPPORTED, 1.0, 1.0), basis=ClaimBasis.RUN)


@dataclass
class Checker:
    """Checks the claims of one run. ``texts`` may grow while it is used: they are read when they are needed.
    ``partial`` is for a report that is put together because the run was stopped: no other may say so."""

    state: DeepResearchState
    texts: Mapping[str, str]
    partial: bool = False
    resolver: CitationResolver = field(init=False)
    _drafts: dict[str, _Draft] = field(default_factory=dict)
    _repeats: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.cited = CitationResolver(self.state, self.texts)

    def claims(
        self, draft: str, judgements: Mapping[str, Judgement], progress: Progress | None = None
    ) -> tuple[Claim, ...]:
        """Every claim of the draft with its verdict."""
        read = self._read(draft)
        seen: Counter[str] = Counter()
        made: list[Claim] = []
        for number, told in enumerate(read.claims, start=1):
            carried = self._carried(told, read)
            if progress is not None:
                progress(number, len(read.claims))
            if carried is None:
                continue
            said = " ".join((plainly(told.text), *told.cites))
            claim = _claim(told, carried, claim_id(said, seen[said]))
            made.append(judged(claim, judgements.get(key_of(claim)), self.cited))
            seen[said] += 1
        return tuple(made)

    def needed(self, draft: str) -> tuple[str, ...]:
        """The hashes of the texts that the draft has to be set against, of those that it does not have."""
        read = self._read(draft)
        wanted: dict[str, None] = {}
        for told in read.claims:
            cites = told.cites or told.near
            if read.tells_of_the_run(told) or self.cited.word_for_word(told.text, cites):
                continue
            bearers = cites if told.cites else (*cites, *self._repeated(told, read.language))
            wanted |= dict.fromkeys(bearers)
        return self.cited.missing(wanted)

    def _read(self, draft: str) -> _Draft:
        if draft not in self._drafts:
            every = draft_claims(draft)
            cited = {i for told in every for i in told.cites}
            own = _lines(own_lines(self.state, cited, partial=self.partial))
            own |= {plainly(told.text) for told in every if is_told_together(self.state, told.text)}
            self._drafts[draft] = _Draft(every, written_in(draft), own, _lines(gap_lines(self.state)))
        return self._drafts[draft]

    def fails(self, claim: Claim) -> bool:
        """Whether a report should not say it so: nothing carries it, its sources say otherwise, or a figure, date, name
        or denial of it stands in none of them."""
        return claim.verdict is not ClaimVerdict.SUPPORTED and is_doubted(
            claim.verdict, claim.reasons, language=self.cited.language
        )

    def said_by(self, cites: tuple[str, ...], claim: Claim, draft: str) -> tuple[Support, tuple[Quote, ...]]:
        """What the sources of some findings say of a claim of the draft, which may cite others: of a cell with its row,
        in its column."""
        told = self._read(draft).cells.get(claim.place)
        if told is None:
            return self.cited.support(claim.text, cites)
        return self._in_place(told, cites, *self._of_cell(told, cites, self._read(draft).language))

    # How a claim is carried

    def _carried(self, told: DraftClaim, draft: _Draft) -> _SupportResult | None:
        """None where it says nothing that could be looked for."""
        language = draft.language
        if draft.tells_of_the_run(told):
            return _BY_THE_LOG
        if draft.is_untrue_of_the_run(told):
            reason = Discrepancy(aspect=Aspect.WORDS, claimed=told.text)
            return _SupportResult(replace(_NOTHING, reasons=(reason,)), basis=ClaimBasis.RUN)
        if told.cites:
            return self._by(told, told.cites, language, inherited=False)
        if len(told.text) > MAX_STATEMENT_CHARS:
            return _SupportResult(_NOTHING)
        if not self._reader(language).read(told.text).tokens:
            return None
        near = self._by(told, told.near, language, inherited=True) if told.near else None
        if near is not None and (near.is_supported or _is_denied_in_its_row(told, near)):
            return near
        return self._elsewhere(told, near, language)

    def _by(
        self, told: DraftClaim, cites: tuple[str, ...], language: str, *, inherited: bool
    ) -> _SupportResult | None:
        findings = tuple(i for i in cites if i in self.cited.findings)
        if (quote := self.cited.word_for_word(told.text, cites)) is not None:
            whole = Support(ClaimVerdict.SUPPORTED, 1.0, 1.0)
            return _SupportResult(whole, (quote,), findings, inherited=inherited)
        if not self._reader(language).read(told.text).tokens:
            return None
        if self._names_source(told, cites):
            return _SupportResult(
                Support(ClaimVerdict.SUPPORTED, 1.0, 1.0), (), findings, inherited=inherited
            )
        found, evidence = self._in_place(told, cites, *self._of_cell(told, cites, language))
        carried = _SupportResult(found, evidence, findings, inherited=inherited)
        if carried.is_supported or inherited:
            return carried
        return self._of_sources(told, language, cites) or carried

    def _in_place(
        self, told: DraftClaim, cites: tuple[str, ...], found: Support, evidence: tuple[Quote, ...]
    ) -> tuple[Support, tuple[Quote, ...]]:
        """What was found of a cell, where no table of its sources has it, or another value, in its place: that of its row
        under its heading, or the other way round."""
        heading = told.heading.rpartition(" > ")[2]
        if told.kind is not ClaimKind.CELL or not told.row or plainly(told.row) in self._titles(cites):
            return found, evidence
        for name, column in ((told.row, heading), (heading, told.row)):
            rows = self.cited.rows(name, cites)
            if (row := placed(told.text, name, column, rows)) is not None:
                return Support(ClaimVerdict.SUPPORTED, 1.0, 1.0), tuple(dict.fromkeys((row, *evidence)))
            if found.verdict is ClaimVerdict.CONTRADICTED:
                continue
            others = self.cited.rows(f"{column} {told.text}", cites)
            wrong = misplaced(told.text, name, column, rows, others)
            if wrong is not None:
                against = replace(
                    found,
                    verdict=ClaimVerdict.CONTRADICTED,
                    score=min(found.score, BELOW),
                    reasons=(wrong.reason,),
                )
                return against, tuple(dict.fromkeys((wrong.quote, *evidence)))
        return found, evidence

    def _of_cell(
        self, told: DraftClaim, cites: tuple[str, ...], language: str
    ) -> tuple[Support, tuple[Quote, ...]]:
        """Of a cell what the sources say of it and of its row; of one that says something by itself, a value with its
        unit or several words, what they say of that, where they have nothing against the row. A row that is headed by
        the title of a source tells who says it, and of what no more than the source does."""
        strict = told.kind is not ClaimKind.CELL or len(_WORD.findall(told.text)) >= LONG_WORDS
        if told.kind is ClaimKind.CELL and plainly(told.row) in self._titles(cites):
            return self.cited.support(told.text, cites, language, strict=strict)
        found, evidence = self.cited.support(_statement(told), cites, language, strict=strict)
        few = len(self._reader(language).keys(told.text)) < WORDS_OF_A_CELL
        if found.verdict is ClaimVerdict.SUPPORTED or told.kind is not ClaimKind.CELL or few:
            return found, evidence
        alone = self.cited.support(told.text, cites, language, strict=strict)
        against = found.verdict is ClaimVerdict.CONTRADICTED or any(
            reason.aspect in SPECIFIC for reason in found.reasons
        )
        return (found, evidence) if against else alone

    def _names_source(self, told: DraftClaim, cites: Iterable[str]) -> bool:
        """Whether a cell is the title or the date of the source that it refers to."""
        if told.kind is not ClaimKind.CELL:
            return False
        dates = {str(source.published) for source in self.cited.sources(cites) if source.published}
        return plainly(told.text) in self._titles(cites) | dates

    def _titles(self, cites: Iterable[str]) -> set[str]:
        return {plainly(source.title) for source in self.cited.sources(cites)}

    def _elsewhere(self, told: DraftClaim, near: _SupportResult | None, language: str) -> _SupportResult:
        """Of a claim that cites nothing: what the findings that it repeats rest on; else what the log says of it."""
        best = near
        if repeated := self._repeated(told, language):
            found, evidence = self._of_cell(told, repeated, language)
            found, evidence = self._in_place(told, repeated, found, evidence)
            again = _SupportResult(found, evidence, repeated, inherited=True)
            if again.is_supported or best is None or found.score > best.support.score:
                best = again
        if best is not None and best.is_supported:
            return best
        of_run = self._lack(told, language) or self._of_sources(told, language)
        return of_run or best or _SupportResult(_NOTHING)

    def _of_sources(
        self, told: DraftClaim, language: str, cites: tuple[str, ...] = ()
    ) -> _SupportResult | None:
        """What is said of the sources of the report as such, where that is known of them; None of any other claim."""
        sources = self.cited.sources(cites or self.cited.findings)
        if not is_borne_out(told.text, sources, self.state.sources, self._reader(language)):
            return None
        return replace(_BY_THE_LOG, finding_ids=tuple(i for i in cites if i in self.cited.findings))

    def _lack(self, told: DraftClaim, language: str) -> _SupportResult | None:
        """What is said to be unknown: a gap of the run has to tell it; where none does it is no more than likely. Under a
        heading of what is open it has to be a question or a denial. None of what says no such thing."""
        marks = vocabulary(language).marks
        says = self._tells_of_a_lack(told, language)
        if not says and marks.lacking.isdisjoint(_WORD.findall(told.heading.casefold())):
            return None
        lacking = marks.lacking | marks.looked
        of = _WORD.sub(lambda word: "" if word[0].casefold() in lacking else word[0], told.text)
        found = check(of, [self._open], language=language)
        names = {
            t.word
            for t in self._reader(language).read(told.text).tokens
            if t.kind is Kind.NAME and not (t.opens or marks.nouns)
        }
        specific = any(
            (r.aspect in SPECIFIC and r.claimed in names) or r.aspect in _FIGURES for r in found.reasons
        )
        if found.share >= NEARLY and not specific:
            return _BY_THE_LOG
        if not says and not expected(told.text, vocabulary(language)):
            return None
        reasons = (Discrepancy(aspect=Aspect.WORDS, claimed=told.text),)
        verdict = ClaimVerdict.UNSUPPORTED if specific else ClaimVerdict.PARTIAL
        return _SupportResult(Support(verdict, 0.0, found.share, reasons), basis=ClaimBasis.RUN)

    def _tells_of_a_lack(self, told: DraftClaim, language: str) -> bool:
        """Whether it says of something that it is not known: in so many words, or as a denial among what is open."""
        marks = vocabulary(language).marks
        own = set(_WORD.findall(told.text.casefold()))
        under = set(_WORD.findall(told.heading.casefold()))
        denies = any(mark.denies for mark in self._reader(language).read(told.text).marks)
        return bool(own & marks.lacking) or (
            denies and not (own.isdisjoint(marks.looked) and under.isdisjoint(marks.lacking | marks.looked))
        )

    @cached_property
    def _open(self) -> EvidenceText:
        """What was asked and what the run did not find."""
        return EvidenceText("\n\n".join((self.state.query, *(gap.description for gap in self.state.gaps))))

    def _repeated(self, told: DraftClaim, language: str) -> tuple[str, ...]:
        key = _statement(told), language
        if len(key[0]) > MAX_STATEMENT_CHARS:
            return ()
        if len(self._reader(language).read(key[0]).tokens) < FEW_WORDS:
            return ()  # one word may stand anywhere
        if key not in self._repeats:
            self._repeats[key] = self.cited.repeated(*key)
        return self._repeats[key]

    def _reader(self, language: str) -> Reader:
        return reader(language or self.cited.language)


def _is_denied_in_its_row(told: DraftClaim, near: _SupportResult) -> bool:
    """Whether what a row cites says otherwise than a cell of it: that is what its reader looks at. A sentence may be of
    another source than the next reference."""
    return told.kind is ClaimKind.CELL and near.support.verdict is ClaimVerdict.CONTRADICTED


def _lines(told: Iterable[str]) -> frozenset[str]:
    """Lines and their sentences, as they are compared."""
    every = list(told)
    parts = (line[span.start : span.end] for line in every for span in sentences(line))
    return frozenset(map(plainly, (*every, *parts)))


@cache
def _fixed_lines() -> frozenset[str]:
    return _lines(FIXED)


def _statement(told: DraftClaim) -> str:
    """What is looked for: of a cell with what it is said of."""
    return f"{told.row}: {told.text}" if told.kind is ClaimKind.CELL and told.row else told.text


def _claim(told: DraftClaim, carried: _SupportResult, key: str) -> Claim:
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
        verdict=verdict,
        code_verdict=verdict,
        checker=CHECKER,
        score=round(carried.support.score, 4),
        share=round(carried.support.share, 4),
        reasons=carried.support.reasons,
        evidence=carried.evidence,
        is_marked=told.is_marked,
    )
