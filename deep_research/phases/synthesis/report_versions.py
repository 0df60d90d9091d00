"""Two versions of a report: what of the earlier one still holds, and which of them is better. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from deep_research.evidence import unspaced
from deep_research.report.ledger import MARK, ids_in, marks_in
from deep_research.state import Citation, Claim, ClaimCounts, ClaimVerdict, Contradiction, Finding
from deep_research.state.parts import PartVerdict

WORTH = 4  # further claims that are supported, for each that nothing carries
TOO_SHORT, TOO_LONG = 0.5, 1.6  # of the wanted words


@dataclass(frozen=True, slots=True)
class Version:
    """What counts in a version: how many ``parts`` of the question it tells of, how many of its claims are
    ``supported`` and ``failing``, which ``share`` that is, how many ``conflicts`` it shows with two sides, and its
    ``words``."""

    parts: int
    supported: int
    failing: int
    conflicts: int
    words: int
    share: float = 1.0

    @classmethod
    def of(
        cls,
        draft: str,
        claims: Sequence[Claim],
        verdicts: Iterable[PartVerdict],
        contradictions: Iterable[Contradiction],
    ) -> Version:
        cited = {each for mark in marks_in(draft) for each in ids_in(mark.group())}
        return cls(
            parts=sum(bool(verdict.claim_ids) for verdict in verdicts),
            supported=sum(c.verdict is ClaimVerdict.SUPPORTED for c in claims),
            failing=sum(claim.marked for claim in claims),
            conflicts=sum(len(cited.intersection(c.finding_ids)) > 1 for c in contradictions),
            words=unspaced.size(draft),
            share=ClaimCounts.of(claims).share,
        )


def better(
    earlier: Version, new: Version, wanted: int, least: float | None = None
) -> tuple[bool, tuple[str, ...]]:
    """Whether the new version is to be kept, and why. In this order decide the ``least`` share of supported claims that
    its owner asks for, the parts of the question, claims that nothing carries, contradictions, a length that is far from
    the ``wanted`` words, and supported claims that are fewer and of a lesser share; where nothing does, the new one has
    the refiner's advice in it."""
    if least is not None and (new.share >= least) is not (earlier.share >= least):
        shares = f"{new.share:.0%} of its claims are supported, before {earlier.share:.0%}"
        return new.share >= least, (f"{shares}; {least:.0%} are asked for",)
    if new.parts != earlier.parts:
        return new.parts > earlier.parts, (
            f"it tells of {_counted(new.parts, 'part')}, before {earlier.parts}",
        )
    more = new.failing - earlier.failing
    gained = new.supported - earlier.supported
    if more > 0 and gained < WORTH * more:
        return False, (f"{_counted(new.failing, 'claim')} of it nothing carries, before {earlier.failing}",)
    if more < 0 and -gained < -WORTH * more:
        return True, (f"{_counted(new.failing, 'claim')} of it nothing carries, before {earlier.failing}",)
    if new.conflicts != earlier.conflicts:
        shows = f"it shows {_counted(new.conflicts, 'contradiction')}, before {earlier.conflicts}"
        return new.conflicts > earlier.conflicts, (shows,)
    if _is_off(new.words, wanted) != _is_off(earlier.words, wanted):
        length = f"it has {new.words} words of the {wanted} wanted, before {earlier.words}"
        return not _is_off(new.words, wanted), (length,)
    if gained < 0 and new.words < earlier.words * TOO_SHORT:
        return False, (
            f"it says less: {_counted(new.supported, 'supported claim')}, before {earlier.supported}",
        )
    if gained < 0 and new.share < earlier.share:
        shares = f"{new.share:.0%} of its claims are supported, before {earlier.share:.0%}"
        return False, (shares,)
    return True, (f"it has {_counted(new.supported, 'supported claim')}, before {earlier.supported}",)


def _is_off(words: int, wanted: int) -> bool:
    return not TOO_SHORT * wanted <= words <= TOO_LONG * wanted


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def carried_over(draft: str, citations: Iterable[Citation], findings: Sequence[Finding]) -> str:
    """The draft with the ids of findings that became part of others in place of theirs. A reference to a finding that
    stands no more goes."""
    standing = {finding.id for finding in findings}
    by_quote: dict[tuple[str, int, int], str] = {}
    for finding in findings:
        for quote in finding.quotes:
            by_quote.setdefault((quote.content_hash, quote.start, quote.end), finding.id)
    successors: dict[str, str] = {}
    for citation in citations:
        place = citation.content_hash, citation.start, citation.end
        if citation.finding_id not in standing and place in by_quote:
            successors.setdefault(citation.finding_id, by_quote[place])

    def renewed(mark: re.Match[str]) -> str:
        ids = ids_in(mark.group())
        kept = tuple(dict.fromkeys(_successor(each, standing, successors) for each in ids))
        if kept == ids:
            return mark.group()
        told = ", ".join(filter(None, kept))
        return f"{mark.group().partition('[')[0]}[{told}]" if told else ""

    return MARK.sub(renewed, draft)


def _successor(each: str, standing: set[str], successors: Mapping[str, str]) -> str:
    return each if each in standing or each.startswith("src-") else successors.get(each, "")
