"""The claims of a draft, until the report can be written: checked, judged, repaired once, and marked where they fail.

What a model says is in the log before it is used; the rest follows from the draft, the state and the saved texts, and is
done again after a crash.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

from deep_research.calls import TEXT_UNIT, off_loop
from deep_research.errors import ContentMissingError
from deep_research.evidence.support import SUPPORTED
from deep_research.models.language_model import LanguageModel
from deep_research.phases.base import noted
from deep_research.phases.synthesis.handoff import FailedClaim, JudgeScope, RepairOutput
from deep_research.phases.synthesis.judge import CLAIMS_AT_ONCE, Judge
from deep_research.phases.synthesis.repair import marked, repaired_by_code, repaired_by_model
from deep_research.report.checking import Checker
from deep_research.report.draft_claims import shown
from deep_research.report.judging import known_judgements
from deep_research.state import (
    Claim,
    ClaimBasis,
    ClaimVerdict,
    Draft,
    Finding,
    Judgement,
    Repair,
)
from deep_research.state.events import ClaimsJudged, ReportDrafted
from deep_research.state.journal import Journal
from deep_research.state.records import OF_REPORT

DRAFT_UNIT = 30  # characters of a draft, of which each sentence is compared dozens of times
CHARACTERS = 2_000  # of texts that are checked against, in the time of one small item
NEAR = 0.1  # above the least score of what is supported, up to which it is doubtful

Repairs = Callable[[tuple[FailedClaim, ...], tuple[Finding, ...]], Awaitable[RepairOutput | None]]


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
        claims = await self._checked(draft.text, checker)
        if draft.repairs is None:
            draft = await self._repaired(draft, _new_in(draft, claims), checker)
            claims = await self._checked(draft.text, checker)
        failing = [claim for claim in claims if checker.fails(claim)]
        if failing:
            text = await off_loop(len(draft.text) // TEXT_UNIT, marked, draft.text, failing)
            draft = draft.model_copy(update={"text": text})
            claims = await self._checked(draft.text, checker)
        return draft, tuple(map(with_repair(draft.repairs or ()), claims))

    async def _checked(self, text: str, checker: Checker) -> tuple[Claim, ...]:
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
        said = len(text) // DRAFT_UNIT + sum(len(finding.content) for finding in findings) // TEXT_UNIT
        return len(findings) + said + sum(map(len, self._texts.values())) // CHARACTERS

    def _known_judgements(self) -> dict[str, Judgement]:
        return known_judgements(self.journal.state)

    async def _load(self, hashes: Sequence[str]) -> None:
        """A text that is not there any more is no word against a claim: its quotes are looked at alone."""
        try:
            self._texts |= dict(zip(hashes, await self.journal.texts(hashes), strict=True))
        except ContentMissingError:
            for each in hashes if len(hashes) > 1 else ():
                await self._load((each,))

    async def _repaired(self, draft: Draft, claims: Sequence[Claim], checker: Checker) -> Draft:
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
            item.claim_id: await off_loop(len(item.text) // TEXT_UNIT, self.withheld, item.text)
            for item in answer.claims
        }
        size = self._work(draft.text)
        text, repairs = await off_loop(size, repaired_by_model, draft.text, failing, words, answer.by)
        await self._load(await off_loop(size, checker.needed, text))
        size = self._work(text)
        # Nobody judges before what the model made is in the log.
        every = await off_loop(size, checker.claims, text, self._known_judgements())
        left = [claim for claim in _new_in(draft, every) if claim.text not in _made(repairs)]
        text, more = await off_loop(size, repaired_by_code, text, left, checker)
        draft = draft.model_copy(update={"text": text, "repairs": (*repairs, *more)})
        await self.journal.record(ReportDrafted(draft=draft))
        return draft


def _new_in(draft: Draft, claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Of a revision the claims of the sections that are new in it: the others were repaired before, and stay."""
    if draft.revised is None:
        return tuple(claims)
    fresh = {shown(heading) for heading in draft.revised}
    return tuple(claim for claim in claims if claim.heading.partition(" > ")[0] in fresh)


def _made(repairs: Sequence[Repair]) -> frozenset[str]:
    """The words that repairs made: they are repaired once."""
    return frozenset(repair.after for repair in repairs)


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
    if claim.checked is ClaimVerdict.SUPPORTED:
        return len(claim.evidence) > 1 or claim.score < SUPPORTED + NEAR
    return claim.checked is not ClaimVerdict.CONTRADICTED
