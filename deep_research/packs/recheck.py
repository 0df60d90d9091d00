"""The verdicts of a report, made again from its draft and the saved texts, and held against those that it has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from deep_research.packs.evidence import Failure
from deep_research.state import Claim, DeepResearchState
from deep_research.state.events import ReportWritten

SCORE_WITHIN = 1e-6


class Check(Protocol):
    """Makes the claims of a draft with their verdicts, from the saved texts by their hash. ``partial`` says that the
    report was put together because the run was stopped."""

    def __call__(
        self, draft: str, state: DeepResearchState, texts: Mapping[str, str], *, partial: bool
    ) -> tuple[Claim, ...]: ...


def recomputed(
    draft: str, state: DeepResearchState, texts: Mapping[str, str], *, partial: bool
) -> tuple[Claim, ...]:
    """The claims of a draft with their verdicts, by code alone. ``texts`` are the saved ones, by their hash."""
    from deep_research.report.checking import checked_claims  # brings the rules of all languages along

    return checked_claims(draft, state, texts, partial=partial)


@dataclass(frozen=True, slots=True)
class Comparison:
    """``differing`` are the verdicts that a checker of another version gives otherwise, which is no damage;
    ``own`` is our checker, by name and version."""

    failures: tuple[Failure, ...]
    differing: tuple[Failure, ...]
    own: str


def compared(
    report: ReportWritten, state: DeepResearchState, texts: Mapping[str, str], check: Check
) -> Comparison:
    # A report that is put together at a stop is checked against its quotes alone.
    partial = report.metadata.partial
    ours = check(report.draft, state, {} if partial else texts, partial=partial)
    own = next((claim.checker for claim in ours), "")
    failures: list[Failure] = []
    differing: list[Failure] = []
    theirs = {claim.id: claim for claim in report.claims}
    same = {claim.checker for claim in report.claims} <= {own}
    for claim in ours:
        was = theirs.pop(claim.id, None)
        found = ["is not among those of the report"] if was is None else list(_differences(was, claim))
        kept = failures if (same if was is None else was.checker == claim.checker) else differing
        kept += [Failure(place=f"claim {claim.id}", what=what) for what in found]
    for claim in theirs.values():
        kept = failures if not own or claim.checker == own else differing
        kept.append(Failure(place=f"claim {claim.id}", what="is not in the draft"))
    return Comparison(tuple(failures), tuple(differing), own)


def _differences(was: Claim, claim: Claim) -> Iterator[str]:
    if was.checked is not claim.checked:
        yield f"was found {was.checked}, and is {claim.checked}"
    elif abs(was.score - claim.score) > SCORE_WITHIN:
        yield f"has another score than {was.score:.6f}"
    elif was.reasons != claim.reasons:
        yield "has other reasons"
    elif was.evidence != claim.evidence:
        yield "rests on other passages"
