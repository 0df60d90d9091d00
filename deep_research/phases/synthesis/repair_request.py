"""The request for new words for the claims of a draft that fail, one for all of them."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, Field

from deep_research.budget.content_budget import DEFAULTS, ContentRules
from deep_research.budget.estimate import text_output
from deep_research.models.language_model import LanguageModel
from deep_research.phases.prompting import RULES, Aliases, Message, Room, ask_model, manner, one_line, opening
from deep_research.phases.synthesis.handoff import FailedClaim, RepairedClaim, RepairInput, RepairOutput
from deep_research.phases.synthesis.model_drafts import with_ids
from deep_research.state import Aspect, Discrepancy, Finding

OF_FINDINGS, OF_CLAIMS = 0.5, 0.4  # of the room
MAX_CLAIMS_PER_REQUEST = 40  # claims
WORDS = 40  # of a claim, at most, and what stands around it
MAX_OUTPUT_TOKENS = text_output(MAX_CLAIMS_PER_REQUEST * WORDS)
MAX_QUOTE_CHARS = 500

SYSTEM = f"""\
Some statements (C1, C2 …) of a report are not carried by the sources that they cite, as far as a program can tell. For \
each you are told what it missed, and the findings (F1, F2 …) that come nearest, with all that is quoted of their \
sources. Compare, and give each statement anew:
- unchanged, with the names of other or further findings behind it in square brackets, like this [F2] or [F1, F4], \
where the quotes of these carry it: a true statement need not be given up;
- else in words that the quotes carry fully, no stronger than they are, with the names of these findings; keep its \
figures, names and conditions where the quotes have them, and say of what it speaks;
- or as an empty text, where no finding carries anything of it: then it goes.
One sentence each, without headings or lists.

{RULES}"""
# What is said of a difference, and what is added where the quotes have something in that place.
_THERE = "; there they have “{found}”"
_DIFFERENCES: Mapping[Aspect, tuple[str, str]] = {
    Aspect.NUMBER: ("the quotes do not have the number “{claimed}”", _THERE),
    Aspect.UNIT: ("the quotes do not have “{claimed}” in this unit", _THERE),
    Aspect.DATE: ("the quotes do not have the date “{claimed}”", _THERE),
    Aspect.ENTITY: ("the quotes do not name “{claimed}”", _THERE),
    Aspect.POLARITY: ("the quotes say the opposite of “{claimed}”", ": “{found}”"),
    Aspect.MODALITY: (
        "it is more or less certain here (“{claimed}”) than in the quotes",
        ", which say “{found}”",
    ),
    Aspect.COMPARISON: ("the quotes do not compare as “{claimed}” does", _THERE),
    Aspect.SCOPE: ("the quotes do not say that it holds of so many (“{claimed}”)", _THERE),
    Aspect.CAUSE: ("the quotes do not give this as the cause or the effect (“{claimed}”)", _THERE),
    Aspect.FRAME: ("the quotes do not say it as this view or on this condition (“{claimed}”)", _THERE),
    Aspect.WORDS: ("the quotes do not mention “{claimed}”", _THERE),
    Aspect.ORDER: ("the quotes have these words in other roles (“{claimed}”)", ": “{found}”"),
    Aspect.LANGUAGE: ("the quotes are in another language, so that only their meaning can be compared", ""),
}


class Reworded(BaseModel):
    claim: str = Field(description="its name, such as C1")
    text: str = Field(description="the statement as it should be, with references; empty: it goes")


class RewordedClaims(BaseModel):
    claims: list[Reworded]


async def repair(handoff: RepairInput, model: LanguageModel, rules: ContentRules = DEFAULTS) -> RepairOutput:
    """Ask the model to rewrite the claims, at most the first `MAX_CLAIMS_PER_REQUEST`. A claim that it returns without a
    reference to a finding stays as it was."""
    handoff = handoff.model_copy(update={"claims": handoff.claims[:MAX_CLAIMS_PER_REQUEST]})
    output = text_output(WORDS * len(handoff.claims))
    answer, message = await ask_model(
        model, SYSTEM, output, RewordedClaims, lambda room: _Asked(handoff, room), rules
    )
    replacements: dict[str, str] = {}
    for item in answer.claims:
        key = message.claims.id(item.claim)
        if key is None or key in replacements:
            continue
        text, cites = with_ids(one_line(item.text).lstrip("#-*> "), message.findings)
        if cites or not text.strip():
            replacements[key] = text.strip()
    return RepairOutput(
        claims=tuple(RepairedClaim(claim_id=key, text=text) for key, text in replacements.items()),
        by=model.name,
    )


class _Asked(Message):
    """The message, with the names of the claims and findings in it."""

    def __init__(self, handoff: RepairInput, room: Room) -> None:
        super().__init__(room)
        self.findings = Aliases("F", [finding.id for finding in handoff.findings])
        self.claims = Aliases("C", [claim.claim_id for claim in handoff.claims])
        opening(self, handoff)
        self.add("What was found:")
        claim_lines = [
            _with_quotes(name, finding)
            for finding, name in zip(handoff.findings, self.findings.names.values(), strict=True)
        ]
        self.material("findings", "\n".join(self.lines(claim_lines, OF_FINDINGS, "the findings")))
        self.add("The statements that are to be given anew:")
        claims = [
            f"{name}{_cites(claim, self.findings)}: {one_line(claim.text)} — {_why(claim)}"
            for claim, name in zip(handoff.claims, self.claims.names.values(), strict=True)
        ]
        self.material("statements", "\n".join(self.lines(claims, OF_CLAIMS, "the claims to be repaired")))
        self.add(manner(handoff))


def _cites(claim: FailedClaim, names: Aliases) -> str:
    labels = [names.names[i] for i in claim.finding_ids if i in names.names]
    return f" (cites {', '.join(labels)})" if labels else " (cites nothing)"


def _with_quotes(name: str, finding: Finding) -> str:
    """A finding with all of its quotes, a line each."""
    quotes = dict.fromkeys(one_line(quote.quote)[:MAX_QUOTE_CHARS] for quote in finding.quotes)
    return "\n".join((f"{name}: {one_line(finding.content)}", *(f"  quote: “{quote}”" for quote in quotes)))


def _why(claim: FailedClaim) -> str:
    """What keeps a claim from being supported, in words."""
    reasons = dict.fromkeys(map(_in_words, claim.reasons))
    return one_line("; ".join(reasons)) or "no finding says it"


def _in_words(reason: Discrepancy) -> str:
    """One difference between a claim and the quotes: ``the quotes do not mention “weekly”``."""
    missing, other = _DIFFERENCES[reason.aspect]
    sentence = missing.format(claimed=reason.claimed)
    return f"{sentence}{other.format(found=reason.in_source)}" if reason.in_source else sentence
