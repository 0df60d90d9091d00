"""Discrepancies between a statement and a sentence of a text. Pure.

Both are aligned by the words that they share, and what stands between two shared words of the one is set against what
stands there in the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache

from deep_research.state import Aspect, Discrepancy
from deep_research.text.language import Marks
from deep_research.text.statements import Kind, Mark, Statement, Token
from deep_research.text.units import Quantity, measured

MAX_ALIGNED_TOKENS = 250  # tokens of a sentence; no sentence has more, and aligning takes the square of it
REACH_TOKENS = 4  # tokens between two shared ones, up to which both sides speak of one thing


ASPECTS: Mapping[Kind, Aspect] = {
    Kind.NUMBER: Aspect.NUMBER,
    Kind.DATE: Aspect.DATE,
    Kind.NAME: Aspect.ENTITY,
}
Quantities = Callable[[], tuple[Sequence[Quantity], Sequence[Quantity]]]  # of the statement, of the sentence


@dataclass(frozen=True, slots=True)
class StretchSide:
    """The tokens of one side of a stretch, and the marks among them and before the next shared token."""

    tokens: tuple[Token, ...]
    marks: tuple[Mark, ...]

    @property
    def words(self) -> dict[str, None]:
        """All its words in lower case, each once; dates are none."""
        told = (token.word.casefold() for token in self.tokens if token.kind is not Kind.DATE)
        return dict.fromkeys([*(mark.word for mark in self.marks), *told])

    @property
    def denies(self) -> bool:
        """A denial that is denied is none."""
        return sum(mark.denies for mark in self.marks) % 2 == 1


@dataclass(frozen=True, slots=True)
class Stretch:
    """What stands ``before`` and ``after`` the shared tokens that bound it, in the statement and in the sentence."""

    claimed: StretchSide
    in_source: StretchSide
    before: Token | None
    after: Token | None

    @property
    def is_near(self) -> bool:
        return len(self.claimed.tokens) <= REACH_TOKENS and len(self.in_source.tokens) <= REACH_TOKENS

    @property
    def is_end(self) -> bool:
        """Whether it is not between two shared tokens."""
        return self.before is None or self.after is None

    @property
    def is_denied(self) -> bool:
        """Whether the sentence has nothing here but a denial of what follows."""
        return self.in_source.denies and not self.in_source.tokens and not self.claimed.denies

    @property
    def goes_on(self) -> bool:
        """Whether the statement says more here, where the sentence has no words: a denial there is of that."""
        return self.is_end and self.claimed.denies and bool(self.claimed.tokens) and not self.in_source.tokens

    @property
    def excerpt(self) -> tuple[str, str]:
        """Both sides with the words around them."""
        first = [self.before.word] if self.before else []
        last = [self.after.word] if self.after else []
        one, other = (" ".join([*first, *side.words, *last]) for side in (self.claimed, self.in_source))
        return one, other


def discrepancies(
    claim: Statement,
    sentence: Statement,
    marks: Marks,
    *,
    inner: bool = False,
    pairs: Sequence[tuple[int, int]] | None = None,
) -> Iterator[Discrepancy]:
    """What the sentence says otherwise than the statement; ``inner``: between words that both have, where the statement
    goes on with something else. ``pairs`` are the places of the shared tokens, where they are known."""
    pairs = matched(claim, sentence) if pairs is None else pairs
    yield from _units(claim, sentence, pairs, marks)
    quantities = cache(lambda: (list(measured(claim.text)), list(measured(sentence.text))))
    said, keys = ({token.key for token in one.tokens} for one in (claim, sentence))
    for stretch in stretches(claim, sentence, pairs):
        if stretch.is_near and not (inner and stretch.is_end and not stretch.is_denied):
            yield from _specifics(stretch, quantities, said & keys)
            yield from _replaced_units(stretch, keys, marks)
            opposites = list(_comparisons(stretch, marks))
            denies = stretch.claimed.denies ^ _is_prefixed(stretch, marks)
            if denies == stretch.in_source.denies or stretch.goes_on:
                yield from opposites
            elif not opposites:  # what is denied of the opposite is the same
                yield _difference(Aspect.POLARITY, *stretch.excerpt)
            yield from _modality(stretch, marks)


def _difference(aspect: Aspect, claimed: str, found: str) -> Discrepancy:
    return Discrepancy(aspect=aspect, claimed=claimed, in_source=found)


def matched(claim: Statement, sentence: Statement) -> list[tuple[int, int]]:
    """The places of the shared tokens, in the order of both."""
    a, b = ([t.key for t in one.tokens[:MAX_ALIGNED_TOKENS]] for one in (claim, sentence))
    blocks = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    return [(block.a + n, block.b + n) for block in blocks for n in range(block.size)]


def stretches(claim: Statement, sentence: Statement, pairs: Sequence[tuple[int, int]]) -> Iterator[Stretch]:
    """All of a statement between its shared tokens, from its beginning to its end. The sentence may say more before and
    after, of which as much is looked at as the statement has there."""
    last = (len(claim.tokens), len(sentence.tokens))
    has_marks = bool(claim.marks or sentence.marks)
    for (a0, b0), (a1, b1) in zip([(-1, -1), *pairs], [*pairs, last], strict=True):
        if a1 - a0 == b1 - b0 == 1 and not has_marks:
            continue  # nothing stands between two tokens that follow one another on both sides
        low, high = b0 + 1, b1
        if a0 < 0:
            low = max(low, high - a1)
        if a1 == last[0]:
            high = min(high, low + a1 - a0 - 1)
        inserted = high - low - (a1 - a0 - 1)
        found = tuple(
            mark
            for mark in sentence.marks
            if low <= mark.place <= high
            and (mark.place < last[1] or high == last[1])
            # What else the sentence has there may be denied by itself.
            and (inserted <= 1 or mark.place == high)
            and not (a1 == last[0] and mark.place == high < last[1])
        )
        yield Stretch(
            StretchSide(claim.tokens[a0 + 1 : a1], tuple(m for m in claim.marks if a0 < m.place <= a1)),
            StretchSide(sentence.tokens[low:high], found),
            claim.tokens[a0] if a0 >= 0 else None,
            claim.tokens[a1] if a1 < last[0] else None,
        )


def _specifics(stretch: Stretch, quantities: Quantities, shared: Set[str]) -> Iterator[Discrepancy]:
    """Numbers, dates and names, where the sentence has others of the kind. Two numbers that both sides have, in another
    order, may each be said of the same as there."""
    for is_kind in (_is_number, _is_month, _is_name):
        claimed = [token for token in stretch.claimed.tokens if is_kind(token)]
        found = [token for token in stretch.in_source.tokens if is_kind(token)]
        if {t.key for t in claimed}.isdisjoint(t.key for t in found):
            for one, other in zip(claimed, found, strict=False):
                reordered = one.value is not None and {one.key, other.key} <= shared
                if not reordered and not _converts(one, other, quantities):
                    yield _difference(ASPECTS[one.kind], one.word, other.word)


def _replaced_units(stretch: Stretch, keys: Set[str], marks: Marks) -> Iterator[Discrepancy]:
    """Units that the sentence, which has ``keys``, has something else in place of."""
    ours = [
        token.word for token in stretch.claimed.tokens if token.word in marks.units and token.key not in keys
    ]
    others = [token.word for token in stretch.in_source.tokens]
    if ours and others:
        theirs = [word for word in others if word in marks.units]
        yield _difference(Aspect.UNIT, " ".join(ours), " ".join(theirs or others))


def _is_number(token: Token) -> bool:
    return token.value is not None


def _is_month(token: Token) -> bool:
    return token.is_month


def _is_name(token: Token) -> bool:
    return token.kind is Kind.NAME


def _converts(one: Token, other: Token, quantities: Quantities) -> bool:
    """Whether both are one value in different units, or rounded."""
    if one.value is None or other.value is None:
        return False
    ours, theirs = quantities()
    return any(q.agrees(r) for q in ours if q.value == one.value for r in theirs if r.value == other.value)


def _units(
    claim: Statement, sentence: Statement, pairs: Sequence[tuple[int, int]], marks: Marks
) -> Iterator[Discrepancy]:
    """What is told of a shared number, where that is a unit on either side."""
    for a, b in pairs:
        one, other = claim.tokens[a + 1 : a + 2], sentence.tokens[b + 1 : b + 2]
        if (
            claim.tokens[a].value is None
            or not one
            or not other
            or not one[0].is_joined
            or not other[0].is_joined
        ):
            continue
        if one[0].key != other[0].key and {one[0].word, other[0].word} & marks.units:
            number = claim.tokens[a].word
            yield _difference(Aspect.UNIT, f"{number} {one[0].word}", f"{number} {other[0].word}")


def _comparisons(stretch: Stretch, marks: Marks) -> Iterator[Discrepancy]:
    for one in stretch.claimed.words:
        for other in stretch.in_source.words:
            if marks.opposed(one, other) and one not in stretch.in_source.words:
                yield _difference(Aspect.COMPARISON, one, other)


def _is_prefixed(stretch: Stretch, marks: Marks) -> bool:
    """Whether one side has a word of the other with a prefix that turns it: "unprofitable"."""
    ours, theirs = ({token.key for token in side.tokens} for side in (stretch.claimed, stretch.in_source))
    return any(
        f"{prefix}{plain}" in turned
        for turned, others in ((ours, theirs), (theirs, ours))
        for plain in others - turned
        for prefix in marks.prefixes
    )


def _modality(stretch: Stretch, marks: Marks) -> Iterator[Discrepancy]:
    """What the sentence only supposes: the statement is surer, or does not say so."""
    claimed, found = stretch.claimed.words.keys(), stretch.in_source.words.keys()
    weak = found & marks.hedging - claimed
    if weak and (claimed & marks.certain - found or not claimed & marks.hedging):
        yield _difference(Aspect.MODALITY, stretch.excerpt[0], min(weak))
