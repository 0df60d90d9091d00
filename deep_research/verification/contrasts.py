"""Contradictions that a model sees between findings: what it says of them stands in these, or is left out. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from deep_research.provenance.quotes import shortened
from deep_research.state import Contradiction, ContradictionSide, Difference, Finding, Source
from deep_research.text.statements import sides as compared
from deep_research.text.words import content_stems
from deep_research.verification.contradictions import contradiction_of, quoted_part
from deep_research.verification.finding_clusters import numbers

MAX_SIDE_CHARS = 200  # characters of what a side says; more stands in its quote
ABOUT = {
    Difference.NUMBER: "figures",
    Difference.DATE: "dates",
    Difference.DIRECTION: "accounts",
    Difference.SCOPE: "accounts of different scope",
}
Stance = tuple[Finding, str]


def contrasted(
    stances: Sequence[Stance],
    differs: Difference,
    sources: Mapping[str, Source],
    *,
    of: str = "",
    by: str,
) -> Contradiction | None:
    """The contradiction between findings, each with what it says, as the model ``by`` put it. None unless two findings
    that are quoted say two things. Whatever the model wrote is kept only where it stands in the findings: a page that
    has one made up can have nothing said that is not quoted."""
    once = {finding.id: (finding, says) for finding, says in reversed(stances)}
    every = [once[key] for key in dict.fromkeys(finding.id for finding, _ in stances)]
    sides = [side for finding, says in every for side in _sides(finding, says, sources)]
    said = list(dict.fromkeys(side.wording for side in sides))
    if len(said) < 2 or len({side.finding_id for side in sides}) < 2:
        return None
    told = [(side, said.index(side.wording)) for side in sides]
    subject = _subject_name(of, [finding for finding, _ in every])
    found = contradiction_of(told, said, ABOUT[differs], subject, sources)
    return found.model_copy(update={"differs": differs, "by": by})


def _sides(finding: Finding, says: str, sources: Mapping[str, Source]) -> list[ContradictionSide]:
    """One for each source that is quoted for it."""
    made = []
    for source_id in dict.fromkeys(quote.source_id for quote in finding.quotes):
        quote = quoted_part(finding.quotes, source_id, says or finding.content, numbers(says))
        if quote is None:
            continue
        told = _plain(says)
        if (
            not told
            or _key(told) not in _key(f"{quote.quote} {finding.content}")
            or len(told) > MAX_SIDE_CHARS
        ):
            told = f"“{shortened(_plain(quote.quote), MAX_SIDE_CHARS)}”"
        values = [value for side in compared(told) for value in side.values]
        measured = values[0] if len(values) == 1 and values[0].low == values[0].high else None
        made.append(
            ContradictionSide(
                finding_id=finding.id,
                source_id=source_id,
                wording=told,
                quote=quote,
                value=measured.low.value if measured else None,
                unit=measured.unit if measured else "",
                published=sources[source_id].published if source_id in sources else None,
            )
        )
    return made


def _subject_name(subject: str, findings: Iterable[Finding]) -> str:
    """The subject as a model names it, where all its words stand in one of the findings."""
    wanted = set(content_stems(subject))
    known = any(wanted <= set(content_stems(finding.content)) for finding in findings)
    return _plain(subject) if wanted and known and len(subject) <= MAX_SIDE_CHARS else ""


def _plain(text: str) -> str:
    return " ".join(text.split()).strip(" .")


def _key(text: str) -> str:
    return _plain(text).casefold()


def join_contradictions(
    by_code: Iterable[Contradiction], told: Iterable[Contradiction]
) -> tuple[Contradiction, ...]:
    """What code found and what models did, each thing once: where both set the same two findings against each other, the
    one of code stands, with what the model says that differs."""
    every = {c.id: c for c in by_code}
    for item in sorted(told, key=lambda c: c.id):
        same = next((c for c in every.values() if len({*c.finding_ids} & {*item.finding_ids}) > 1), None)
        if same is None:
            every[item.id] = item
        elif same.differs is None:
            every[same.id] = same.model_copy(update={"differs": item.differs})
    return tuple(every.values())


def successors(before: Iterable[Finding], after: Sequence[Finding]) -> dict[str, str]:
    """Of each finding that was joined with another the id of that one, which has all its quotes; of one that stands its
    own."""
    standing = {finding.id for finding in after}
    heirs: dict[str, str] = {}
    for finding in before:
        if finding.id in standing:
            heirs[finding.id] = finding.id
            continue
        own = {(quote.source_id, quote.start, quote.end) for quote in finding.quotes}
        for other in after:
            if own and own <= {(quote.source_id, quote.start, quote.end) for quote in other.quotes}:
                heirs[finding.id] = other.id
                break
    return heirs


def carried(told: Iterable[Contradiction], heirs: Mapping[str, str]) -> tuple[Contradiction, ...]:
    """The contradictions with the findings that stand; those of which no two are left are none any more."""
    kept = []
    for item in told:
        sides = [
            side.model_copy(update={"finding_id": heirs[side.finding_id]})
            for side in item.sides
            if side.finding_id in heirs
        ]
        ids = tuple(dict.fromkeys(side.finding_id for side in sides))
        if len(ids) < 2:
            continue
        whole = len(sides) == len(item.sides)  # else the places have moved
        kept.append(
            item.model_copy(
                update={
                    "finding_ids": ids,
                    "source_ids": tuple(dict.fromkeys(side.source_id for side in sides)),
                    "sides": tuple(sides),
                    "preferred": item.preferred if whole else None,
                    "because": item.because if whole else "",
                }
            )
        )
    return tuple(kept)
