"""The claims of a draft, until the report can be written: checked, judged, repaired once, and marked where they fail. A
claim that nothing carries gets another reference, the source's own words, or new ones of a model, which is asked once for
all of them; or it goes.

What a model says is in the log before it is used; the rest follows from the draft, the state and the saved texts, and is
done again after a crash."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from deep_research.calls import TEXT_UNIT_CHARS, off_loop
from deep_research.errors import ContentMissingError
from deep_research.models.language_model import LanguageModel
from deep_research.patterns import regex
from deep_research.phases.base import noted
from deep_research.phases.synthesis.handoff import FailedClaim, JudgeScope, RepairOutput
from deep_research.phases.synthesis.judge import CLAIMS_AT_ONCE, Judge
from deep_research.provenance.quotes import readable, with_end_mark
from deep_research.report.checking import Checker
from deep_research.report.draft_claims import visible_text
from deep_research.report.judging import known_judgements
from deep_research.report.markup import escaped
from deep_research.report.references import PARTLY, UNSUPPORTED, ids_in, marks_in, unmarked, without_marks
from deep_research.report.report_document import Document
from deep_research.state import (
    Claim,
    ClaimBasis,
    ClaimKind,
    ClaimVerdict,
    Draft,
    Finding,
    Judgement,
    Repair,
    RepairKind,
    Span,
)
from deep_research.state.events import ClaimsJudged, ReportDrafted
from deep_research.state.journal import Journal
from deep_research.state.records import OF_REPORT
from deep_research.text import unspaced
from deep_research.text.plain import plainly
from deep_research.verification.support import MIN_SUPPORTED_SHARE

MAX_STAND_IN_WORDS = 60  # words of a sentence that stands in for a claim
MAX_REPAIR_CHARS = 600
_BLOCK_MARK = regex(r"\A(?:[#>*+-]+[ \t]+|\d{1,3}[.)][ \t]+|`{3,})+")

DRAFT_UNIT = 30  # characters of a draft, of which each sentence is compared dozens of times
TEXTS_UNIT = 2_000  # of texts that are checked against, in the time of one small item
DOUBTFUL_MARGIN = 0.1  # above the least score of what is supported, up to which it is doubtful
Repairs = Callable[[tuple[FailedClaim, ...], tuple[Finding, ...]], Awaitable[RepairOutput | None]]


def repaired_by_code(draft: str, claims: Sequence[Claim], checker: Checker) -> tuple[str, tuple[Repair, ...]]:
    """The draft with what code can mend of the claims that fail. A claim whose words another finding carries refers to
    that one; one that its sources say otherwise, or say less of, gives way to their words; a sentence that cites nothing,
    and that nothing comes near to, goes. The rest stays as it is, with what the judge alone finds wanting."""
    occurrences = Counter(plainly(claim.text) for claim in claims)
    left = Counter(claim.heading for claim in claims)
    changes: dict[Span, str] = {}
    repairs: list[Repair] = []
    for claim in claims:
        if claim.code_verdict is ClaimVerdict.SUPPORTED or not checker.fails(claim):
            continue
        repair, words = _mended(claim, draft, checker, occurrences, alone=left[claim.heading] < 2)
        if repair is None:
            continue
        if repair.kind is RepairKind.REMOVED:
            left[claim.heading] -= 1
        occurrences[plainly(repair.after)] += 1
        changes[claim.place] = words
        repairs.append(repair)
    return _rewritten(draft, changes), tuple(repairs)


def _mended(
    claim: Claim, draft: str, checker: Checker, said: Mapping[str, int], *, alone: bool
) -> tuple[Repair | None, str]:
    """What is done to one claim, and what stands in its place in the draft."""
    others = tuple(i for i in checker.cited.repeated(claim.text) if i not in claim.finding_ids)
    bearing = _bearing(claim, others, draft, checker)
    if bearing:
        stands = draft[claim.place.start : claim.place.end]
        repair = Repair(kind=RepairKind.CITED, before=claim.text, after=claim.text, reasons=claim.reasons)
        return repair, _with_reference(without_marks(stands).strip(), bearing)
    if claim.kind is ClaimKind.CELL:
        return None, ""
    for finding_id in (*claim.finding_ids, *others):
        quote = checker.cited.nearest(claim.text, finding_id)
        words = readable(quote.quote) if quote else ""
        if words and unspaced.size(words) <= MAX_STAND_IN_WORDS:
            if not said[plainly(words)]:
                after = with_end_mark(words)
                repair = Repair(
                    kind=RepairKind.REWORDED, before=claim.text, after=after, reasons=claim.reasons
                )
                return repair, _with_reference(escaped(after), (finding_id,))
            if not alone:  # it would be said twice
                return _removal(claim), ""
    cites = bool(claim.finding_ids) and not claim.inherited
    return (None, "") if cites or alone else (_removal(claim), "")


def _bearing(claim: Claim, others: tuple[str, ...], draft: str, checker: Checker) -> tuple[str, ...]:
    """Other findings whose sources carry the claim, by themselves or with those that it cites."""
    for cites in (others, (*claim.finding_ids, *others)):
        support, evidence = checker.said_by(cites, claim, draft)
        if others and support.verdict is ClaimVerdict.SUPPORTED:
            bearers = {quote.source_id for quote in evidence}
            return tuple(i for i in cites if bearers.intersection(checker.cited.source_ids(i)))
    return ()


def _removal(claim: Claim) -> Repair:
    return Repair(kind=RepairKind.REMOVED, before=claim.text, reasons=claim.reasons)


def _with_reference(words: str, finding_ids: Iterable[str]) -> str:
    return f"{words} [{', '.join(finding_ids)}]"


def repaired_by_model(
    draft: str, claims: Sequence[Claim], words: Mapping[str, str], by: str
) -> tuple[str, tuple[Repair, ...]]:
    """The draft with a model's words for some claims, by their ids. A cell keeps its place: it is never removed."""
    changes: dict[Span, str] = {}
    repairs: list[Repair] = []
    for claim in claims:
        after = _fitting(words.get(claim.id))
        if after is None or (claim.kind is ClaimKind.CELL and not after):
            continue
        after = changes[claim.place] = unmarked(after)
        plain_text = without_marks(after).strip()
        same = plainly(plain_text) == plainly(claim.text)
        kind = RepairKind.CITED if same else RepairKind.REWORDED if after else RepairKind.REMOVED
        repairs.append(Repair(kind=kind, before=claim.text, after=plain_text, by=by, reasons=claim.reasons))
    return _rewritten(draft, changes), tuple(repairs)


def _fitting(words: str | None) -> str | None:
    """New words as a sentence in the place of another: one line with an end, no block, row or mark. None where they
    cannot be one."""
    if words is None or not words.strip():
        return words and ""
    line = _BLOCK_MARK.sub("", " ".join(unmarked(words).split())).replace("|", ",")
    plain_line = without_marks(line).strip()
    if not plain_line or len(plain_line) > MAX_REPAIR_CHARS:
        return None
    ids = ", ".join(dict.fromkeys(i for match in marks_in(line) for i in ids_in(match.group())))
    whole = with_end_mark(plain_line)
    return f"{whole[:-1]} [{ids}]{whole[-1]}" if ids else whole


def with_marks(draft: str, claims: Iterable[Claim]) -> str:
    """The draft with a mark after each of these claims."""
    return _rewritten(
        draft,
        {c.place: f"{draft[c.place.start : c.place.end]} {_mark(c)}" for c in claims if not c.is_marked},
    )


def _mark(claim: Claim) -> str:
    return PARTLY if claim.verdict in (ClaimVerdict.PARTIAL, ClaimVerdict.UNCHECKED) else UNSUPPORTED


def _rewritten(draft: str, changes: Mapping[Span, str]) -> str:
    return Document.read(draft).rewritten(changes).markdown if changes else draft


@dataclass
class ClaimWork:
    """The work on the claims of one draft. ``judge`` and ``scope`` are who judges what; ``repairs`` asks the writer's
    model for new words, and gives None where there is none to ask, or where it failed: then it says so in
    ``problems``; ``withheld`` cuts out of these what nobody may tell."""

    journal: Journal
    repairs: Repairs
    problems: list[str] = field(default_factory=list)
    withheld: Callable[[str], str] = str
    judge: LanguageModel | None = None
    scope: JudgeScope = JudgeScope.ALL
    _texts: dict[str, str] = field(default_factory=dict)

    async def finished(self, draft: Draft) -> tuple[Draft, tuple[Claim, ...]]:
        """The draft with its claims repaired and marked, and these claims."""
        checker = Checker(self.journal.state, self._texts)
        claims = await self._check(draft.text, checker)
        if draft.repairs is None:
            draft = await self._repair(draft, _new_in(draft, claims), checker)
            claims = await self._check(draft.text, checker)
        failing = [claim for claim in claims if checker.fails(claim)]
        if failing:
            text = await off_loop(len(draft.text) // TEXT_UNIT_CHARS, with_marks, draft.text, failing)
            draft = draft.model_copy(update={"text": text})
            claims = await self._check(draft.text, checker)
        return draft, tuple(map(with_repair(draft.repairs or ()), claims))

    async def _check(self, text: str, checker: Checker) -> tuple[Claim, ...]:
        """Its claims with their verdicts; those that the judge is to see are judged."""
        await self._load(await off_loop(self._work(text), checker.needed, text))
        size = self._work(text)
        claims = await off_loop(size, checker.claims, text, self._known_judgements())
        if self.judge is None:
            return claims
        for_judge = _to_judge(claims, self.scope)
        if not for_judge:
            return claims
        judge = Judge(self.judge, self.journal.state, checker.cited, size)
        for start in range(0, len(for_judge), CLAIMS_AT_ONCE):
            judgements, parts = await judge.judge(for_judge[start : start + CLAIMS_AT_ONCE])
            await self.journal.record(ClaimsJudged(judgements=judgements, parts=parts))
        return await off_loop(size, checker.claims, text, self._known_judgements())

    def _work(self, text: str) -> int:
        """How much there is to compare, in small items: the draft, the findings, and the texts of sources."""
        findings = self.journal.state.findings
        units = len(text) // DRAFT_UNIT + sum(len(finding.content) for finding in findings) // TEXT_UNIT_CHARS
        return len(findings) + units + sum(map(len, self._texts.values())) // TEXTS_UNIT

    def _known_judgements(self) -> dict[str, Judgement]:
        return known_judgements(self.journal.state)

    async def _load(self, hashes: Sequence[str]) -> None:
        """A text that is not there any more is no word against a claim: its quotes are looked at alone."""
        try:
            self._texts |= dict(zip(hashes, await self.journal.texts(hashes), strict=True))
        except ContentMissingError:
            for each in hashes if len(hashes) > 1 else ():
                await self._load((each,))

    async def _repair(self, draft: Draft, claims: Sequence[Claim], checker: Checker) -> Draft:
        """By one request to the writer's model for all claims that fail; without one, by code. What a model made, and
        that it failed, is recorded; what code makes comes out the same."""
        failing = [claim for claim in claims if checker.fails(claim)]
        if not failing:
            return draft.model_copy(update={"repairs": ()})
        many = len(failing) * len(self.journal.state.findings)
        findings = await off_loop(many + self._work(draft.text), _near, failing, checker)
        await self._load(checker.cited.missing(finding.id for finding in findings))
        answer = await self.repairs(tuple(map(_failed, failing)), findings)
        if answer is None:
            text, repairs = await off_loop(
                self._work(draft.text), repaired_by_code, draft.text, claims, checker
            )
            draft = draft.model_copy(update={"text": text, "repairs": repairs})
            if self.problems:  # nobody is asked again
                await self.journal.record(ReportDrafted(draft=draft), *noted(self.problems, OF_REPORT))
            return draft
        words = {
            item.claim_id: await off_loop(len(item.text) // TEXT_UNIT_CHARS, self.withheld, item.text)
            for item in answer.claims
        }
        size = self._work(draft.text)
        text, repairs = await off_loop(size, repaired_by_model, draft.text, failing, words, answer.by)
        await self._load(await off_loop(size, checker.needed, text))
        size = self._work(text)
        # Nobody judges before what the model made is in the log.
        every = await off_loop(size, checker.claims, text, self._known_judgements())
        new_texts = {repair.after for repair in repairs}  # once
        left = [claim for claim in _new_in(draft, every) if claim.text not in new_texts]
        text, more = await off_loop(size, repaired_by_code, text, left, checker)
        draft = draft.model_copy(update={"text": text, "repairs": (*repairs, *more)})
        await self.journal.record(ReportDrafted(draft=draft))
        return draft


def _new_in(draft: Draft, claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Of a revision the claims of the sections that are new in it: the others were repaired before, and stay."""
    if draft.revised is None:
        return tuple(claims)
    fresh = {visible_text(heading) for heading in draft.revised}
    return tuple(claim for claim in claims if claim.heading.partition(" > ")[0] in fresh)


def _near(failing: Sequence[Claim], checker: Checker) -> tuple[Finding, ...]:
    """The findings that the failing claims cite or repeat."""
    ids = dict.fromkeys(
        i for claim in failing for i in (*claim.finding_ids, *checker.cited.repeated(claim.text))
    )
    return tuple(finding for finding in checker.state.findings if finding.id in ids)


def _failed(claim: Claim) -> FailedClaim:
    return FailedClaim(
        claim_id=claim.id,
        text=claim.text,
        heading=claim.heading,
        finding_ids=claim.finding_ids,
        reasons=claim.reasons,
    )


def with_repair(repairs: Sequence[Repair]) -> Callable[[Claim], Claim]:
    """Gives a claim the words that stood there before its repair."""
    before = {repair.after: repair.before for repair in repairs if repair.after != repair.before}
    return lambda claim: claim.model_copy(update={"was": before.get(claim.text, "")})


def _to_judge(claims: Iterable[Claim], scope: JudgeScope) -> list[Claim]:
    """The claims that a judge is asked about. What the log bears out needs none."""
    open_ = (c for c in claims if c.judgement is None and c.basis is ClaimBasis.SOURCES)
    return [c for c in open_ if scope is JudgeScope.ALL or _is_doubtful(c)]


def _is_doubtful(claim: Claim) -> bool:
    """Whether the verdict of code is one that people often do not share: partial, unsupported, or supported by several
    sentences together or not far above the least."""
    if claim.code_verdict is ClaimVerdict.SUPPORTED:
        return len(claim.evidence) > 1 or claim.score < MIN_SUPPORTED_SHARE + DOUBTFUL_MARGIN
    return claim.code_verdict is not ClaimVerdict.CONTRADICTED
