"""One request to a model for new words for all claims that nothing carries."""

from __future__ import annotations

from pydantic import BaseModel, Field

from deep_research.budget.content_budget import DEFAULTS, ContentRules
from deep_research.budget.report_cost import text_output
from deep_research.models.language_model import LanguageModel
from deep_research.phases.prompting import RULES, Aliases, Message, Room, asked, manner, one_line, opening
from deep_research.phases.synthesis.handoff import FailedClaim, RepairedClaim, RepairInput, RepairOutput
from deep_research.phases.synthesis.model_drafts import with_ids

OF_FINDINGS, OF_CLAIMS = 0.5, 0.4  # of the room
MOST_AT_ONCE = 40  # claims
WORDS = 40  # of a claim, at most, and what stands around it
MOST_OUTPUT = text_output(MOST_AT_ONCE * WORDS)
LONGEST_QUOTE = 500  # characters

SYSTEM = f"""\
Some statements (C1, C2 …) of a report are not carried by the sources that they cite. For each you are told why, and the \
findings (F1, F2 …) that come nearest, with what their sources say word for word. Give each statement anew:
- in words that the quotes of the findings carry fully, no stronger than they are, with the names of these findings \
behind it in square brackets, like this [F2];
- unchanged, but with the names of other findings, where these carry it;
- or as an empty text, where no finding carries anything of it: then it goes.
One sentence each, without headings or lists.

{RULES}"""


class Reworded(BaseModel):
    claim: str = Field(description="its name, such as C1")
    text: str = Field(description="the statement as it should be, with references; empty: it goes")


class RewordedClaims(BaseModel):
    claims: list[Reworded]


async def repair(handoff: RepairInput, model: LanguageModel, rules: ContentRules = DEFAULTS) -> RepairOutput:
    """What the model makes of the claims, of the first `MOST_AT_ONCE`. One that it gives without a reference to a finding
    stays as it was."""
    handoff = handoff.model_copy(update={"claims": handoff.claims[:MOST_AT_ONCE]})
    output = text_output(WORDS * len(handoff.claims))
    answer, message = await asked(
        model, SYSTEM, output, RewordedClaims, lambda room: _Asked(handoff, room), rules
    )
    made: dict[str, str] = {}
    for item in answer.claims:
        key = message.claims.id(item.claim)
        if key is None or key in made:
            continue
        text, cites = with_ids(one_line(item.text).lstrip("#-*> "), message.findings)
        if cites or not text.strip():
            made[key] = text.strip()
    return RepairOutput(
        claims=tuple(RepairedClaim(claim_id=key, text=text) for key, text in made.items()), by=model.name
    )


class _Asked(Message):
    """The message, with the names of the claims and findings in it."""

    def __init__(self, handoff: RepairInput, room: Room) -> None:
        super().__init__(room)
        self.findings = Aliases("F", [finding.id for finding in handoff.findings])
        self.claims = Aliases("C", [claim.claim_id for claim in handoff.claims])
        opening(self, handoff)
        self.add("What was found:")
        told = [
            f'{name}: {one_line(finding.content)} — "{_quoted(finding.quotes[0].quote)}"'
            if finding.quotes
            else f"{name}: {one_line(finding.content)}"
            for finding, name in zip(handoff.findings, self.findings.names.values(), strict=True)
        ]
        self.material("findings", "\n".join(self.lines(told, OF_FINDINGS, "the findings")))
        self.add("The statements that are to be given anew:")
        claims = [
            f"{name}{_cites(claim, self.findings)}: {one_line(claim.text)} — {_why(claim)}"
            for claim, name in zip(handoff.claims, self.claims.names.values(), strict=True)
        ]
        self.material("statements", "\n".join(self.lines(claims, OF_CLAIMS, "the claims to be repaired")))
        self.add(manner(handoff))


def _quoted(text: str) -> str:
    return one_line(text)[:LONGEST_QUOTE]


def _cites(claim: FailedClaim, names: Aliases) -> str:
    known = [names.names[i] for i in claim.finding_ids if i in names.names]
    return f" (cites {', '.join(known)})" if known else " (cites nothing)"


def _why(claim: FailedClaim) -> str:
    reasons = [
        f"{r.aspect.value}: it says “{r.claimed}”" + (f", the source “{r.found}”" if r.found else "")
        for r in claim.reasons
    ]
    return one_line("; ".join(reasons)) or "no finding says it"
