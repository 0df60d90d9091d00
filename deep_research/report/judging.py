"""Which verdict counts: that of code, or that of the judge's model where texts back it. Pure."""

from __future__ import annotations

from deep_research.evidence.support import EXACT, SourceText, check
from deep_research.report.cited import Cited
from deep_research.state import Claim, ClaimVerdict, DeepResearchState, Judgement
from deep_research.state.identity import claim_id

V = ClaimVerdict
_CERTAIN = (V.SUPPORTED, V.CONTRADICTED)  # of code, without a judge


def verdicts(checked: ClaimVerdict, judgement: Judgement | None) -> tuple[ClaimVerdict, ClaimVerdict]:
    """The verdict that counts where the judge's quotes back it, and where they do not."""
    if judgement is None:
        return checked, checked
    if judgement.verdict is None:
        left = checked if checked in _CERTAIN else V.UNCHECKED
        return left, left
    if judgement.verdict is V.SUPPORTED:
        return V.SUPPORTED, checked
    own = V.SUPPORTED if checked is V.SUPPORTED else judgement.verdict
    return own, own


def judged(claim: Claim, judgement: Judgement | None, cited: Cited) -> Claim:
    """The claim with what the judge says of it: its verdict counts as `verdicts` says, and the passages that decide are
    shown."""
    if judgement is None:
        return claim
    backed, alone = verdicts(claim.checked, judgement)
    verdict = backed if backed is alone or _is_backed(claim, judgement, cited) else alone
    shown = judgement.quotes if judgement.quotes and verdict is judgement.verdict else claim.evidence
    return claim.model_copy(update={"judgement": judgement, "verdict": verdict, "evidence": shown})


def _is_backed(claim: Claim, judgement: Judgement, cited: Cited) -> bool:
    """Whether the quotes stand in sources that the claim cites, and have with their titles and headings every figure,
    unit, date and name of it."""
    sources = {source.id: source for source in cited.sources(claim.finding_ids)}
    quotes = [quote for quote in judgement.quotes if quote.source_id in sources and cited.holds(quote)]
    if not quotes:
        return False
    texts = [SourceText(quote.quote, title=cited.context(quote)) for quote in quotes]
    found = check(claim.text, texts, most=len(texts) * 4)
    return not any(reason.aspect in EXACT for reason in found.reasons)


def key_of(claim: Claim) -> str:
    """By what a judgement is kept: the words of a claim, its heading, and what it cites."""
    return claim_id(f"{claim.heading} {claim.text} {claim.finding_ids}", 0)


def known_judgements(state: DeepResearchState) -> dict[str, Judgement]:
    """The judgements of this draft, and of claims of the report before it that stand in it again, by their keys."""
    earlier = {claim.judgement.key: claim.judgement for claim in state.claims if claim.judgement is not None}
    return earlier | state.judgements
