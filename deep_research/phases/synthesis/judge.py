"""The judge: a model that sees a claim and the passages that were found for it, and says whether they carry it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import BaseModel, Field

from deep_research.budget.request_bounds import CLAIMS_AT_ONCE
from deep_research.errors import WorkError
from deep_research.evidence.support import SUPPORTED
from deep_research.models.language_model import LanguageModel
from deep_research.phases.prompting import RULES, Aliases, Message, Room, asked, one_line
from deep_research.phases.synthesis.handoff import JudgeScope
from deep_research.report.checking import judged_as
from deep_research.state import Claim, ClaimBasis, ClaimVerdict, Judgement

EACH_OUTPUT = 90  # tokens of an answer for each claim, thoughts included
MOST_OUTPUT = EACH_OUTPUT * CLAIMS_AT_ONCE
LEAST_OUTPUT = 1_000
NEAR = 0.1  # above the least score of what is supported, up to which it is doubtful
LONGEST_PASSAGE = 600  # characters

SYSTEM = f"""\
You judge whether passages carry claims. Each claim (C1, C2 …) stands with the passages that a search found for \
it in the sources that it cites. Take the passages at their word, and nothing that you know yourself.
- supported: the passages say all of it, in whatever words.
- partial: they say a part of it, and nothing against the rest.
- contradicted: they say otherwise.
- unsupported: they do not say it.
A figure, a date, a name or a denial that differs is no detail. Give for each claim its name, the verdict, and in a few \
words why.

{RULES}"""


class JudgedClaim(BaseModel):
    claim: str = Field(description="its name, such as C1")
    verdict: ClaimVerdict
    reason: str = ""


class JudgedClaims(BaseModel):
    claims: list[JudgedClaim]


def to_judge(claims: Iterable[Claim], scope: JudgeScope) -> list[Claim]:
    """The claims that a judge is asked about. What the log bears out needs none."""
    open_ = (c for c in claims if c.judgement is None and c.basis is ClaimBasis.SOURCES)
    return [c for c in open_ if scope is JudgeScope.ALL or is_doubtful(c)]


def is_doubtful(claim: Claim) -> bool:
    """Whether the verdict of code is one that people often do not share: partial, unsupported, or supported by several
    sentences together or not far above the least."""
    if claim.checked is ClaimVerdict.SUPPORTED:
        return len(claim.evidence) > 1 or claim.score < SUPPORTED + NEAR
    return claim.checked is not ClaimVerdict.CONTRADICTED


async def judged(claims: Sequence[Claim], model: LanguageModel, day: str = "") -> dict[str, Judgement]:
    """What the model says of each claim, by `judged_as`; ``day`` is what it is told of the date. What it
    cannot be asked, or says nothing usable of, is unchecked."""
    told: dict[str, Judgement] = {}
    for start in range(0, len(claims), CLAIMS_AT_ONCE):
        told |= await _judged(claims[start : start + CLAIMS_AT_ONCE], model, day)
    return told


async def _judged(claims: Sequence[Claim], model: LanguageModel, day: str) -> dict[str, Judgement]:
    most = max(LEAST_OUTPUT, EACH_OUTPUT * len(claims))
    try:
        answer, message = await asked(
            model,
            SYSTEM,
            most,
            JudgedClaims,
            lambda room: _Asked(claims, day, room),
            size=sum(len(quote.quote) for claim in claims for quote in claim.evidence),
        )
    except WorkError as error:
        return {judged_as(claim): Judgement(reason=error.problem, model=model.name) for claim in claims}
    given: dict[str, Judgement] = {}
    for item in answer.claims:
        key = message.names.id(item.claim)
        if key is not None:
            given.setdefault(
                key, Judgement(verdict=item.verdict, reason=one_line(item.reason)[:300], model=model.name)
            )
    silent = Judgement(reason="The judge said nothing of it.", model=model.name)
    return {judged_as(claim): given.get(claim.id, silent) for claim in claims}


class _Asked(Message):
    """The message, with the names of the claims in it."""

    def __init__(self, claims: Sequence[Claim], day: str, room: Room) -> None:
        super().__init__(room)
        self.names = Aliases("C", [claim.id for claim in claims])
        self.add(day)
        self.add("Claims and the passages that were found for them:")
        lines = [
            f"{name} {one_line(_told(claim))}\n{_passages(claim)}"
            for claim, name in zip(claims, self.names.names.values(), strict=True)
        ]
        self.material("claims", "\n".join(self.lines(lines, 1.0, "the claims when they were judged")))


def _told(claim: Claim) -> str:
    return f"({claim.heading}): {claim.text}" if claim.heading else f": {claim.text}"


def _passages(claim: Claim) -> str:
    shown = [one_line(quote.quote)[:LONGEST_PASSAGE] for quote in claim.evidence]
    return "\n".join(f'  - "{each}"' for each in shown) or "  - (nothing was found)"
