"""Support of a statement by texts: how much of it a few sentences hold, and what they contradict. Pure."""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import groupby, pairwise

from deep_research.provenance.attribution import unattributed
from deep_research.retrieval.candidates import MAX_CANDIDATE_CHARS
from deep_research.state import Aspect, ClaimVerdict, Discrepancy
from deep_research.text.language import vocabulary
from deep_research.text.passages import sentences
from deep_research.text.plain import plainly
from deep_research.text.statements import Kind, Statement, Token
from deep_research.text.term_weights import inverse_frequency
from deep_research.text.units import measured
from deep_research.verification.discrepancies import ASPECTS, discrepancies
from deep_research.verification.evidence_text import EvidencePool, EvidenceText, Place
from deep_research.verification.exchanges import exchanges
from deep_research.verification.restatement import restatement

MAX_STATEMENT_CHARS = 10_000
MAX_SENTENCES = 3  # that may carry a statement together
MIN_SUPPORTED_SHARE = 0.35  # the least score of what is supported
MIN_PARTIAL_SHARE = 0.35  # the least share of what is carried in part
MIN_NEAR_SHARE = 0.2  # the least share by which anything is near a statement
MIN_SAME_SHARE = 0.5  # the least share of a sentence whose other words count as said of the same
MIN_CONTRADICTED_SHARE = 0.75  # the least share of one that contradicts, but for what it says otherwise
PAIR_WEIGHT = 0.5  # how much neighbouring words count that stand in one sentence, against 1 for all words
FEW_WORDS = 2  # words of a statement; one of so few is believed by half, for any text may have them
LACKING_WEIGHT = 0.6  # what the score is multiplied by for each number that is not there, and for each name
ELSEWHERE_WEIGHT = 0.9  # for each name or date that stands elsewhere in the texts
DIFFERENT_WEIGHT = 0.8  # for each aspect in which the nearest sentence differs
NEAREST_SHARE = (
    0.9  # of the share of the nearest sentence: others that share as much may be the one that is meant
)
SPECIFIC = frozenset(Aspect) - {Aspect.WORDS, Aspect.ORDER, Aspect.LANGUAGE}  # that a text has to have
EXACT = frozenset((Aspect.NUMBER, Aspect.UNIT, Aspect.DATE, Aspect.ENTITY))  # of which only one can be right
BELOW = MIN_SUPPORTED_SHARE - 1e-6  # the score of what would be supported but for a reason
_KINDS = ((Aspect.SCOPE, "scope"), (Aspect.CAUSE, "causing"), (Aspect.FRAME, "framing"))
_MAX_NEAREST = 4
_MAX_CHOSEN_FROM = 64


@dataclass(frozen=True, slots=True)
class Support:
    """The verdict on a statement. ``score`` (0 to 1, no probability) is how well it is carried; ``share`` (0 to 1) is how
    much of the weight of its words the sentences at ``places`` hold, the one that holds most first; ``reasons`` say what
    keeps it from being supported."""

    verdict: ClaimVerdict
    score: float
    share: float
    reasons: tuple[Discrepancy, ...] = ()
    places: tuple[Place, ...] = ()


def is_doubted(verdict: ClaimVerdict, reasons: Iterable[Discrepancy], *, language: str = "") -> bool:
    """Whether something should not be said so: nothing carries it, the texts say otherwise, or a figure, date, name or
    denial of it stands in none of them. Where ``language`` has a capital on every noun, one that is missing is no
    name."""
    if verdict in (ClaimVerdict.CONTRADICTED, ClaimVerdict.UNSUPPORTED):
        return True
    specific = SPECIFIC - {Aspect.ENTITY} if vocabulary(language).marks.nouns else SPECIFIC
    return any(reason.aspect in specific for reason in reasons)


def check(
    statement: str,
    sources: Sequence[EvidenceText],
    *,
    language: str = "",
    most: int = MAX_SENTENCES,
    strict: bool = True,
) -> Support:
    """What the texts say of a statement: of each of its sentences, and of all together. ``language`` is what it is
    written in, where that is known: of texts in another one only figures can be compared, which carry nothing alone.
    Up to ``most`` sentences may carry it together. What is not ``strict``, such as a cell of a table, has no order of its
    own to be held to. Nothing carries a statement of more than 10,000 characters.

    Example:
        check("The tower is 900 feet tall.", [EvidenceText("The tower is 90 feet tall.")]).verdict  # contradicted
    """
    if len(statement) > MAX_STATEMENT_CHARS:
        return _together(())
    found = [
        best
        for piece in _pieces(statement)
        if (best := _best(piece, sources, language, most, strict=strict)) is not None
    ]
    return _together(found)


def _pieces(statement: str) -> Iterator[str]:
    for span in sentences(statement):
        for start in range(span.start, span.end, MAX_CANDIDATE_CHARS):
            yield statement[start : min(span.end, start + MAX_CANDIDATE_CHARS)]


def _best(
    sentence: str, sources: Sequence[EvidenceText], language: str, most: int, *, strict: bool
) -> Support | None:
    """By the texts of that language which carry it best; None where it says nothing that could be looked for."""

    def other(n: int) -> bool:
        return bool(language and sources[n].written_in) and sources[n].written_in != language

    def group_of(n: int) -> tuple[bool, str]:
        return other(n), sources[n].language

    found: list[Support] = []
    for (in_other, _), group in groupby(sorted(range(len(sources)), key=group_of), key=group_of):
        pool = EvidencePool({n: sources[n] for n in group})
        told = unattributed(sentence, pool.reader, pool.about, pool.language)
        claim = pool.reader.read(told, pool.is_plain)
        if claim.tokens:
            comparison = _Comparison(claim, pool, most, strict=strict)
            found.append(comparison.in_another_language() if in_other else comparison.support())
    return max(found, key=lambda one: (one.verdict is ClaimVerdict.SUPPORTED, one.score), default=None)


def _together(found: Sequence[Support]) -> Support:
    verdicts = {support.verdict for support in found}
    if not found:
        verdict = ClaimVerdict.UNSUPPORTED
    elif ClaimVerdict.CONTRADICTED in verdicts:
        verdict = ClaimVerdict.CONTRADICTED
    else:
        verdict = verdicts.pop() if len(verdicts) == 1 else ClaimVerdict.PARTIAL
    return Support(
        verdict=verdict,
        score=min((support.score for support in found), default=0.0),
        share=min((support.share for support in found), default=0.0),
        reasons=tuple(dict.fromkeys(reason for support in found for reason in support.reasons)),
        places=tuple(dict.fromkeys(place for support in found for place in support.places)),
    )


class _Comparison:
    """A sentence of a statement against texts of one language."""

    def __init__(self, claim: Statement, pool: EvidencePool, most: int, *, strict: bool) -> None:
        self._strict = strict
        self._claim = claim
        self._pool = pool
        self._literal = plainly(claim.text)
        size = pool.size
        keys = dict.fromkeys(token.key for token in claim.tokens if pool.reader.tells(token.key))
        self._weights = {key: inverse_frequency(size, pool.count(key)) for key in keys}
        self._near = self._nearest()
        self._held = set(filter(pool.has_in_titles, keys))
        self._chosen = list(self._choose(most))
        self._held |= self._converted()

    def support(self) -> Support:
        different = self._differences()
        lacking = self._lacking()
        # A name may stand elsewhere in the text, where a sentence says "she", and a year above it.
        gone = [t for t in lacking if t.kind is Kind.NUMBER or not (t.opens or self._pool.count(t.key))]
        elsewhere = len(lacking) - len(gone)
        gone += self._of_other_rows()
        score = self._carried() * LACKING_WEIGHT ** len(gone) * ELSEWHERE_WEIGHT**elsewhere
        score *= DIFFERENT_WEIGHT ** len({one.aspect for one in different})
        share = self._share(self._held)
        reasons = [
            # What is said in other words may be as sure in others.
            *(
                one
                for one in different
                if one.aspect is not Aspect.MODALITY or self._is_restated(self._claim.text, exact=False)
            ),
            *(Discrepancy(aspect=ASPECTS[token.kind], claimed=token.word) for token in gone),
        ]
        if reasons:
            score = min(score, BELOW)
        if (not self._strict and not reasons and score >= MIN_SUPPORTED_SHARE) or self._is_restated(
            self._claim.text
        ):
            score = score if reasons else max(score, MIN_SUPPORTED_SHARE)
        else:
            exchanged = [] if reasons else self._exchanged()
            different += exchanged
            reasons += exchanged or self._unborne(reasons)
        return Support(
            self._verdict(
                share, different, reasons, is_lacking=any(not self._pool.count(token.key) for token in gone)
            ),
            score,
            share,
            tuple(dict.fromkeys(reasons)),
            tuple(map(self._pool.place, self._chosen)),
        )

    def in_another_language(self) -> Support:
        """Of a statement whose words the texts cannot have: what it gives of numbers and dates has to stand there."""
        figures = [token for token in self._claim.tokens if token.value is not None]
        gone = [t for t in figures if t.key not in self._held and not self._pool.count(t.key)]
        reasons = [Discrepancy(aspect=ASPECTS[token.kind], claimed=token.word) for token in gone]
        reasons.append(Discrepancy(aspect=Aspect.LANGUAGE))
        share = self._share(self._held)
        return Support(
            ClaimVerdict.UNSUPPORTED if gone else ClaimVerdict.PARTIAL,
            min(share, BELOW),
            share,
            tuple(dict.fromkeys(reasons)),
            tuple(map(self._pool.place, self._chosen)),
        )

    def _carried(self) -> float:
        """How much of the claim the chosen sentences hold, as words and as neighbours of one another; all of what stands
        there word for word."""
        if self._stands_so():
            return 1.0
        keys = list(self._weights)
        held = [self._pool.keys(at) for at in self._chosen]
        pairs = [({a, b}, self._weights[a] + self._weights[b]) for a, b in pairwise(keys)]
        whole = math.fsum(weight for _, weight in pairs)
        together = math.fsum(weight for pair, weight in pairs if any(pair <= keys for keys in held))
        share = self._share(self._held)
        paired = together / whole if whole else share
        return ((1.0 - PAIR_WEIGHT) * share + PAIR_WEIGHT * paired) * len(keys) / (len(keys) + FEW_WORDS)

    def _stands_so(self) -> bool:
        return any(self._literal in plainly(self._pool.read(at).text) for at in self._chosen)

    def _of_other_rows(self) -> list[Token]:
        """The numbers, dates and names that stand nowhere but in rows of tables about other things, where a row is about
        what the claim is about. What stands in more sentences than are filed may stand anywhere."""
        claimed = self._weights.keys()
        if (
            not any((row := self._pool.row_of(at)) and row <= claimed for at in self._near)
            or self._stands_so()
        ):
            return []

        def is_of_another(at: tuple[int, int]) -> bool:
            row = self._pool.row_of(at)
            return bool(row) and row.isdisjoint(claimed)

        return [
            token
            for token in self._claim.tokens
            if token.kind is not Kind.WORD
            and token.key in self._held
            and not self._pool.has_in_titles(token.key)
            and (holding := list(self._pool.filed(token.key)))
            and len(holding) == self._pool.count(token.key)
            and all(map(is_of_another, holding))
        ]

    def _is_restated(self, text: str, *, exact: bool = True) -> bool:
        """Whether it is a text's own statement: of one of its sentences, or of each of two that it joins. What is not
        ``exact`` may be said more or less surely."""
        places = list(dict.fromkeys((*self._near[:_MAX_NEAREST], *self._chosen)))

        def is_own(statement: str) -> bool:
            return any(self._pool.restates(statement, at, exact=exact) for at in places)

        joined = restatement(self._pool.language).parts(text)
        return is_own(text) or any(all(map(is_own, halves)) for halves in joined)

    def _exchanged(self) -> list[Discrepancy]:
        """Two parts in each other's place, where with both put back it is a text's own statement."""
        if not self._weights.keys() <= self._held:
            return []
        found = exchanges(self._claim, self._pool.language)
        return next(([wrong] for wrong, back in found if self._is_restated(back)), [])

    def _unborne(self, reasons: Sequence[Discrepancy]) -> list[Discrepancy]:
        """The words of the claim that no nearest or chosen sentence has. If they have all, and there is no other
        reason: that the claim's order is its own."""
        reads = restatement(self._pool.language).words
        nearest, chosen = (
            {word.word for at in places for word in reads(self._pool.read(at).text)}
            for places in (self._near[:1], self._chosen)
        )
        marks = self._pool.reader.vocabulary.marks
        known = nearest | chosen | (frozenset[str]() if nearest.isdisjoint(marks.saying) else marks.saying)
        said = {word for reason in reasons for word in reason.claimed.casefold().split()}
        found: dict[Aspect, list[str]] = {}
        unheld = self._weights.keys() - self._held
        framing = {token.key for token in self._claim.tokens if token.word in marks.framing}
        content = self._weights.keys() - framing
        share = self._weight(content & self._held) / (self._weight(content) or 1.0)
        kinds = _KINDS if share >= MIN_CONTRADICTED_SHARE else ()
        for each in {word.word: word for word in reads(self._claim.text)}.values():
            aspect = next((a for a, kind in kinds if each.word in getattr(marks, kind)), Aspect.WORDS)
            is_new = each.key in unheld if aspect is Aspect.WORDS else each.word not in known
            if is_new and each.word not in said:
                found.setdefault(aspect, []).append(each.word)
        made = [Discrepancy(aspect=aspect, claimed=" ".join(them)) for aspect, them in found.items()]
        return made or ([] if reasons else [Discrepancy(aspect=Aspect.ORDER)])

    def _verdict(
        self,
        share: float,
        different: Sequence[Discrepancy],
        reasons: Sequence[Discrepancy],
        *,
        is_lacking: bool,
    ) -> ClaimVerdict:
        if not reasons:
            return ClaimVerdict.SUPPORTED
        if any(one.aspect in EXACT for one in different) and self._is_alike(different):
            return ClaimVerdict.CONTRADICTED
        return ClaimVerdict.UNSUPPORTED if is_lacking or share < MIN_NEAR_SHARE else ClaimVerdict.PARTIAL

    def _is_alike(self, different: Sequence[Discrepancy]) -> bool:
        """Whether the nearest sentence speaks of the same, but for what it says otherwise."""
        shared = self._pool.keys(self._near[0])
        apart = {word for one in different for word in one.claimed.split()}
        same = {token.key for token in self._claim.tokens if token.word not in apart} | shared
        return self._weight(shared) >= MIN_CONTRADICTED_SHARE * self._weight(same)

    def _likeness(self, keys: Set[str]) -> float:
        """How much of the claim a sentence shares, but for numbers and dates."""
        whole = {t.key for t in self._claim.tokens if t.value is None} | keys
        return self._weight(keys) / (self._weight(whole) or 1.0)

    def _differences(self) -> list[Discrepancy]:
        """What the nearest sentence says otherwise; of several that are as near, what the one says that differs least.
        And what those say that the claim rests on beside it, where it holds nearly all of theirs."""
        nearest: list[tuple[int, int]] = []
        if self._near and self._likeness(self._pool.keys(self._near[0])) >= MIN_SAME_SHARE:
            least = NEAREST_SHARE * self._weight(self._pool.keys(self._near[0]))
            nearest = [at for at in self._near[:_MAX_NEAREST] if self._weight(self._pool.keys(at)) >= least]
        found: list[Discrepancy] = min(map(self._against, nearest), key=len, default=[])
        within = (at for at in self._chosen if at not in nearest and self._is_within(at))
        return [*found, *(one for at in within for one in self._against(at, inner=True))]

    def _against(self, at: tuple[int, int], *, inner: bool = False) -> list[Discrepancy]:
        """What a sentence says otherwise. What its text is about may stand there as "it"."""
        sentence = self._pool.read(at)
        vocabulary = self._pool.reader.vocabulary
        found = list(discrepancies(self._claim, sentence, vocabulary.marks, inner=inner))
        if vocabulary.leaning.isdisjoint(sentence.text.casefold().split()):
            return found
        about = {t.word for t in self._claim.tokens if self._pool.has_in_titles(t.key)}
        return [one for one in found if one.aspect is not Aspect.ENTITY or one.claimed not in about]

    def _is_within(self, at: tuple[int, int]) -> bool:
        """Whether the claim has nearly all words of a sentence: it says the same there, and more beside it."""
        keys = {t.key for t in self._pool.read(at).tokens if self._pool.reader.tells(t.key)}
        weights = {key: inverse_frequency(self._pool.size, self._pool.count(key)) for key in keys}
        held = math.fsum(weights[key] for key in sorted(keys & self._weights.keys()))
        return len(keys) > FEW_WORDS and held >= MIN_CONTRADICTED_SHARE * math.fsum(
            weights[key] for key in sorted(keys)
        )

    def _lacking(self) -> list[Token]:
        """The numbers, dates and names that none of the chosen sentences has."""
        unheld = self._weights.keys() - self._held
        return [token for token in self._claim.tokens if token.kind is not Kind.WORD and token.key in unheld]

    def _converted(self) -> set[str]:
        """The keys of values that the chosen sentences give in other units, and of their units."""
        ours = list(measured(self._claim.text))
        told = [q for at in self._chosen for q in measured(self._pool.read(at).text)] if ours else []
        agreed = [one for one in ours if any(one.agrees(other) for other in told)]
        values, units = {q.value for q in agreed}, " ".join(q.unit for q in agreed)
        keys = {token.key for token in self._claim.tokens if token.value in values}
        return (keys | self._pool.reader.keys(units)) & self._weights.keys()

    def _nearest(self) -> list[tuple[int, int]]:
        """The sentences that share most with the claim, of those that its words lead to."""
        found: list[tuple[float, tuple[int, int]]] = []
        for n, source in self._pool.sources.items():
            shared: dict[int, float] = defaultdict(float)
            for key, weight in self._weights.items():
                for place in source.filed(key):
                    shared[place] -= weight
            found += [(less, (n, place)) for place, less in shared.items()]
        near = [
            (-self._weight(self._pool.keys(at)), at) for _, at in heapq.nsmallest(_MAX_CHOSEN_FROM, found)
        ]
        return [at for _, at in sorted(near)]

    def _choose(self, most: int) -> Iterator[tuple[int, int]]:
        """The sentences that hold most of the claim together, each the one that adds most to those before."""
        for _ in range(most):
            left = [(key, weight) for key, weight in self._weights.items() if key not in self._held]
            adds = [(_sum(left, self._pool.keys(at)), at) for at in self._near]
            added, at = max(adds, key=lambda one: one[0], default=(0.0, (0, 0)))
            if added <= 0.0:
                return
            self._held |= self._pool.keys(at) & self._weights.keys()
            yield at

    def _share(self, keys: Container[str]) -> float:
        return self._weight(keys) / (self._weight(self._weights) or 1.0)

    def _weight(self, keys: Container[str]) -> float:
        return _sum(self._weights.items(), keys)


def _sum(weights: Iterable[tuple[str, float]], keys: Container[str]) -> float:
    """The weight of the keys; exact, so that their order does not matter."""
    return math.fsum([weight for key, weight in weights if key in keys])
