"""The claims of a report with their verdicts, made again from its draft, the saved texts and what the judge said, and
compared with those that it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from deep_research.packs.evidence import Failure
from deep_research.state import Claim, DeepResearchState
from deep_research.state.events import ReportWritten

MAX_SCORE_DIFFERENCE = 1e-6
# Numbers and blocks are those of the report, which is rendered again; the id and the checker say what is compared at all.
_COMPARED = frozenset(
    {"id", "checker", "code_verdict", "verdict", "score", "share", "reasons", "evidence", "numbers", "block"}
)


class Check(Protocol):
    """Makes the claims of a draft with their verdicts, from the saved texts by their hash. ``partial`` says that the
    report was put together because the run was stopped."""

    def __call__(
        self, draft: str, state: DeepResearchState, texts: Mapping[str, str], *, partial: bool
    ) -> tuple[Claim, ...]: ...


def recomputed(
    draft: str,
    state: DeepResearchState,
    texts: Mapping[str, str],
    *,
    partial: bool,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Claim, ...]:
    """The claims of a draft with their verdicts, by code alone. ``texts`` are the saved ones, by their hash; ``progress``
    is called with how many claims are checked, and how many there are."""
    from deep_research.report.checking import checked_claims  # brings the rules of all languages along

    return checked_claims(draft, state, texts, partial=partial, progress=progress)


@dataclass(frozen=True, slots=True)
class Comparison:
    """``differing`` are the verdicts that a checker of another version gives otherwise, which is no damage;
    ``own`` is our checker, by name and version."""

    failures: tuple[Failure, ...]
    differing: tuple[Failure, ...]
    own: str


def compared(
    report: ReportWritten,
    before: DeepResearchState,
    state: DeepResearchState,
    texts: Mapping[str, str],
    check: Check,
) -> Comparison:
    """The claims of the report beside our own. It was written in the state ``before``, and checked in ``state``."""
    # A report that is put together at a stop is checked against its quotes alone.
    partial = report.metadata.partial
    ours = check(report.draft, state, {} if partial else texts, partial=partial)
    own = next((claim.checker for claim in ours), "")
    failures: list[Failure] = []
    differing: list[Failure] = []
    theirs = {claim.id: claim for claim in report.claims}
    same = {claim.checker for claim in report.claims} <= {own}
    for claim in _judged(ours, report, before, state, texts):
        was = theirs.pop(claim.id, None)
        differences = ["is not among those of the report"] if was is None else list(_differences(was, claim))
        target = failures if (same if was is None else was.checker == claim.checker) else differing
        target += [Failure(place=f"claim {claim.id}", what=what) for what in differences]
    for claim in theirs.values():
        target = failures if not own or claim.checker == own else differing
        target.append(Failure(place=f"claim {claim.id}", what="is not in the draft"))
    return Comparison(tuple(failures), tuple(differing), own)


def _judged(
    claims: tuple[Claim, ...],
    report: ReportWritten,
    before: DeepResearchState,
    state: DeepResearchState,
    texts: Mapping[str, str],
) -> tuple[Claim, ...]:
    """The claims with what the log has of the judge, and with their words before the repair. Of a report that was put
    together at a stop nobody judges any, and none is repaired."""
    from deep_research.phases.synthesis.repair import with_repair
    from deep_research.report.citation_resolver import CitationResolver
    from deep_research.report.judging import judged, key_of, known_judgements

    if report.metadata.partial:
        return claims
    judgements, repair = known_judgements(before), with_repair(report.repairs)
    resolver = CitationResolver(state, texts)
    return tuple(repair(judged(claim, judgements.get(key_of(claim)), resolver)) for claim in claims)


def _differences(was: Claim, claim: Claim) -> Iterator[str]:
    if was.code_verdict is not claim.code_verdict:
        yield f"was found {was.code_verdict}, and is {claim.code_verdict}"
    elif was.verdict is not claim.verdict:
        yield f"counts as {was.verdict}, and is {claim.verdict}"
    elif (
        abs(was.score - claim.score) > MAX_SCORE_DIFFERENCE
        or abs(was.share - claim.share) > MAX_SCORE_DIFFERENCE
    ):
        yield f"has another score than {was.score:.6f}, {was.share:.6f}"
    elif was.reasons != claim.reasons:
        yield "has other reasons"
    elif was.evidence != claim.evidence:
        yield "rests on other passages"
    else:
        yield from (
            f"has another {name}"
            for name, value in claim
            if name not in _COMPARED and getattr(was, name) != value
        )
