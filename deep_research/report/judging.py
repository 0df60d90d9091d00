"""Choice of the verdict that counts: that of code, or that of the judge's model where texts back it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from deep_research.report.citation_resolver import CitationResolver
from deep_research.state import Aspect, Claim, ClaimVerdict, DeepResearchState, Judgement, Quote
from deep_research.state.identity import claim_id
from deep_research.text.language import written_in
from deep_research.verification.evidence_text import EvidenceText
from deep_research.verification.support import EXACT, MAX_SENTENCES, MAX_STATEMENT_CHARS, check

V = ClaimVerdict
FIGURES = frozenset((Aspect.NUMBER, Aspect.UNIT, Aspect.DATE))
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


def judged(claim: Claim, judgement: Judgement | None, cited: CitationResolver) -> Claim:
    """The claim with what the judge says of it: its verdict counts as `verdicts` says, and the passages that decide are
    shown."""
    if judgement is None:
        return claim
    backed, alone = verdicts(claim.code_verdict, judgement)
    quotes = _standing(claim, judgement, cited)
    is_backed = backed is not alone and _bear(claim, quotes, cited)
    verdict = backed if is_backed or backed is alone else alone
    decides = bool(quotes) and verdict is judgement.verdict and (is_backed or verdict is not V.SUPPORTED)
    shown = quotes if decides else claim.evidence
    return claim.model_copy(update={"judgement": judgement, "verdict": verdict, "evidence": shown})


def _standing(claim: Claim, judgement: Judgement, cited: CitationResolver) -> tuple[Quote, ...]:
    """Those of the judge's quotes that stand in sources which the claim cites."""
    ids = {source.id for source in cited.sources(claim.finding_ids)}
    return tuple(quote for quote in judgement.quotes if quote.source_id in ids and cited.holds(quote))


def _bear(claim: Claim, quotes: Sequence[Quote], cited: CitationResolver) -> bool:
    """Whether the sentences of quotes, with their titles and headings, have every figure, unit, date and name of a
    claim."""
    if not quotes or len(claim.text) > MAX_STATEMENT_CHARS:
        return False
    texts = [EvidenceText(cited.sentences(quote), title=cited.context(quote)) for quote in quotes]
    found = check(claim.text, texts, language=written_in(claim.text), most=len(texts) * MAX_SENTENCES)
    if any(text.written_in != written_in(claim.text) for text in texts if text.written_in):
        return not any(
            reason.aspect in FIGURES for reason in found.reasons
        )  # names are spelled otherwise there
    return not any(reason.aspect in EXACT for reason in found.reasons)


def key_of(claim: Claim) -> str:
    """By what a judgement is kept: the words of a claim, its heading, and what it cites."""
    return claim_id(f"{claim.heading} {claim.text} {claim.finding_ids}", 0)


def known_judgements(state: DeepResearchState) -> dict[str, Judgement]:
    """The judgements of this draft, and of claims of the report before it that stand in it again, by their keys."""
    given = [claim.judgement for claim in state.claims if claim.judgement is not None]
    # A claim about which it could not be asked is asked about again with the next draft.
    return {one.key: one for one in given if one.verdict is not None} | state.judgements
