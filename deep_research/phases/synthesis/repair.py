"""What becomes of claims that nothing carries: another reference, the source's own words, or none. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from deep_research.evidence import unspaced
from deep_research.evidence.quotation import ended, readable
from deep_research.evidence.support import plainly
from deep_research.patterns import regex
from deep_research.report.checking import Checker
from deep_research.report.draft_claims import UNSUPPORTED, unmarked
from deep_research.report.ledger import ids_in, marks_in, without_marks
from deep_research.report.markup import escaped
from deep_research.state import Claim, ClaimKind, ClaimVerdict, Repair, RepairKind, Span

LONGEST = 60  # words of a sentence that stands in for a claim
LONGEST_REPAIR = 600  # characters
_BLOCK_MARK = regex(r"\A(?:[#>*+-]+[ \t]+|\d{1,3}[.)][ \t]+|`{3,})+")
_EMPTY_ITEM = regex(r"^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]*(?:\n|\Z)", re.MULTILINE)
_BLANK_LINES = regex(r"\n{3,}")


def repaired_by_code(draft: str, claims: Sequence[Claim], checker: Checker) -> tuple[str, tuple[Repair, ...]]:
    """The draft with what code can mend of the claims that fail. A claim whose words another finding carries refers to
    that one; one that its sources say otherwise, or say less of, gives way to their words; a sentence that cites nothing,
    and that nothing comes near to, goes. The rest stays as it is, with what the judge alone finds wanting."""
    said = Counter(plainly(claim.text) for claim in claims)
    left = Counter(claim.heading for claim in claims)
    changes: dict[Span, str] = {}
    repairs: list[Repair] = []
    for claim in claims:
        if claim.checked is ClaimVerdict.SUPPORTED or not checker.fails(claim):
            continue
        repair, words = _mended(claim, draft, checker, said, alone=left[claim.heading] < 2)
        if repair is None:
            continue
        if repair.kind is RepairKind.REMOVED:
            left[claim.heading] -= 1
        said[plainly(repair.after)] += 1
        changes[claim.place] = words
        repairs.append(repair)
    return rewritten(draft, changes), tuple(repairs)


def _mended(
    claim: Claim, draft: str, checker: Checker, said: Mapping[str, int], *, alone: bool
) -> tuple[Repair | None, str]:
    """What is done to one claim, and what stands in its place in the draft."""
    others = tuple(i for i in checker.cited.repeated(claim.text) if i not in claim.finding_ids)
    bearing = _bearing(claim, others, draft, checker)
    if bearing:
        stands = draft[claim.place.start : claim.place.end]
        repair = Repair(kind=RepairKind.CITED, before=claim.text, after=claim.text, reasons=claim.reasons)
        return repair, _cited(without_marks(stands).strip(), bearing)
    if claim.kind is ClaimKind.CELL:
        return None, ""
    for finding_id in (*claim.finding_ids, *others):
        quote = checker.cited.nearest(claim.text, finding_id)
        words = readable(quote.quote) if quote else ""
        if words and unspaced.size(words) <= LONGEST:
            if not said[plainly(words)]:
                after = ended(words)
                repair = Repair(
                    kind=RepairKind.REWORDED, before=claim.text, after=after, reasons=claim.reasons
                )
                return repair, _cited(escaped(after), (finding_id,))
            if not alone:  # it would be said twice
                return _removal(claim), ""
    cites = bool(claim.finding_ids) and not claim.inherited
    return (None, "") if cites or alone else (_removal(claim), "")


def _bearing(claim: Claim, others: tuple[str, ...], draft: str, checker: Checker) -> tuple[str, ...]:
    """Other findings whose sources carry the claim, by themselves or with those that it cites."""
    for cites in (others, (*claim.finding_ids, *others)):
        found, evidence = checker.said_by(cites, claim, draft)
        if others and found.verdict is ClaimVerdict.SUPPORTED:
            bearers = {quote.source_id for quote in evidence}
            return tuple(i for i in cites if bearers.intersection(checker.cited.source_ids(i)))
    return ()


def _removal(claim: Claim) -> Repair:
    return Repair(kind=RepairKind.REMOVED, before=claim.text, reasons=claim.reasons)


def _cited(words: str, finding_ids: Iterable[str]) -> str:
    return f"{words} [{', '.join(finding_ids)}]"


def repaired_by_model(
    draft: str, claims: Sequence[Claim], words: Mapping[str, str], by: str
) -> tuple[str, tuple[Repair, ...]]:
    """The draft with a model's words for some claims, by their ids. A cell keeps its place: it is never removed."""
    changes: dict[Span, str] = {}
    repairs: list[Repair] = []
    for claim in claims:
        after = _fitting(words.get(claim.id))
        if after is None or (claim.kind is ClaimKind.CELL and not after):
            continue
        after = changes[claim.place] = unmarked(after)
        shown = without_marks(after).strip()
        same = plainly(shown) == plainly(claim.text)
        kind = RepairKind.CITED if same else RepairKind.REWORDED if after else RepairKind.REMOVED
        repairs.append(Repair(kind=kind, before=claim.text, after=shown, by=by, reasons=claim.reasons))
    return rewritten(draft, changes), tuple(repairs)


def _fitting(words: str | None) -> str | None:
    """New words as a sentence in the place of another: one line with an end, no block, row or mark. None where they
    cannot be one."""
    if words is None or not words.strip():
        return words and ""
    line = _BLOCK_MARK.sub("", " ".join(unmarked(words).split())).replace("|", ",")
    said = without_marks(line).strip()
    if not said or len(said) > LONGEST_REPAIR:
        return None
    ids = ", ".join(dict.fromkeys(i for match in marks_in(line) for i in ids_in(match.group())))
    whole = ended(said)
    return f"{whole[:-1]} [{ids}]{whole[-1]}" if ids else whole


def marked(draft: str, claims: Iterable[Claim]) -> str:
    """The draft with a mark after each of these claims."""
    return rewritten(
        draft,
        {c.place: f"{draft[c.place.start : c.place.end]} {UNSUPPORTED}" for c in claims if not c.marked},
    )


def rewritten(draft: str, changes: Mapping[Span, str]) -> str:
    """The draft with other words in some places; items of which nothing is left go."""
    pieces, here = [], 0
    for place in sorted(changes, key=lambda place: place.start):
        words = changes[place]
        pieces += [draft[here : place.start], words]
        here = place.end
        while not words and draft[here : here + 1] in (" ", "\t"):  # that parted it from the next
            here += 1
    made = "".join((*pieces, draft[here:]))
    if "" in changes.values():
        made = _BLANK_LINES.sub("\n\n", _EMPTY_ITEM.sub("", made))
    return made
