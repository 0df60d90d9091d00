"""The key discoveries of a run: what its report says and its sources bear out, most telling first. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date

from deep_research.state import Claim, ClaimBasis, ClaimVerdict, ConfidenceLevel, Finding, Record, Source
from deep_research.state.identity import normalised

MAX_DISCOVERIES = 7
_BY_CONFIDENCE = {level: place for place, level in enumerate(reversed(ConfidenceLevel))}


class Discovery(Record):
    """A claim of the report that its sources support: its words, where they are from and of what day that is, and how
    sure the finding behind it is. ``number`` is its reference in the report, None where it has none of its own."""

    claim_id: str
    text: str
    source_id: str
    title: str
    url: str | None = None
    published: date | None = None
    confidence: ConfidenceLevel
    number: int | None = None


def discoveries(
    claims: Iterable[Claim], findings: Iterable[Finding], sources: Iterable[Source]
) -> tuple[Discovery, ...]:
    """At most seven, one of a finding, in the order of the report: those of the surest and best findings."""
    by_id = {finding.id: finding for finding in findings}
    known = {source.id: source for source in sources}
    chosen: dict[str, tuple[Claim, Finding, str]] = {}
    seen: set[str] = set()
    for claim in claims:
        finding = next((by_id[name] for name in claim.finding_ids if name in by_id), None)
        source_id = next((quote.source_id for quote in claim.evidence if quote.source_id in known), None)
        words = normalised(claim.text)
        if not _counts(claim) or finding is None or source_id is None or words in seen:
            continue
        seen.add(words)
        chosen.setdefault(finding.id, (claim, finding, source_id))
    best = sorted(chosen.values(), key=lambda each: _worth(*each[:2]))[:MAX_DISCOVERIES]
    return tuple(_discoveries(best, known))


def _counts(claim: Claim) -> bool:
    return (
        claim.verdict is ClaimVerdict.SUPPORTED and claim.basis is ClaimBasis.SOURCES and not claim.is_marked
    )


def _worth(claim: Claim, finding: Finding) -> tuple[float, ...]:
    rank = float("inf") if finding.rank is None else finding.rank
    return _BY_CONFIDENCE[finding.confidence], rank, -finding.relevance, -claim.score, claim.place.start


def _discoveries(
    best: Sequence[tuple[Claim, Finding, str]], sources: dict[str, Source]
) -> Iterator[Discovery]:
    for claim, finding, source_id in sorted(best, key=lambda each: each[0].place.start):
        source = sources[source_id]
        yield Discovery(
            claim_id=claim.id,
            text=" ".join(claim.text.split()),
            source_id=source_id,
            title=source.title,
            url=source.url,
            published=source.published,
            confidence=finding.confidence,
            number=claim.numbers[0] if claim.numbers else None,
        )


def in_one_paragraph(found: Sequence[Discovery]) -> str:
    """The discoveries as one paragraph, with the numbers of their references."""
    return " ".join(
        f"{each.text} [{each.number}]" if each.number is not None else each.text for each in found
    )
