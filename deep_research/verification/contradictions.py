"""Findings that cannot all be right: what they say of one thing, with who says it and what is better supported. Pure.

Each finding speaks in its own words and, where these have other figures, in those of its quotes. What sentences of
different sources say differently (`deep_research.verification.comparison`) is joined: all that tell of one thing are one
contradiction, however many they are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, islice
from math import fsum

from deep_research.provenance.independence import preferred, voices
from deep_research.provenance.near_duplicates import SimilarSets
from deep_research.state import Contradiction, ContradictionSide, Finding, Quote, Source
from deep_research.state.identity import contradiction_id
from deep_research.text.language import ENGLISH
from deep_research.text.passages import sentences
from deep_research.text.statements import ComparedValue, StatementView, reader, sides
from deep_research.text.term_weights import rarity
from deep_research.text.words import words
from deep_research.verification.comparison import (
    Conflict,
    conflict_between,
    is_aligned,
    kinds_in_agreement,
    likeness,
    share_words,
)
from deep_research.verification.finding_clusters import numbers

MAX_FILED = 40  # sentences that a kind of value, an event or a pair of words leads to
MAX_COMPARED = 8  # pairs of sentences in which a finding is compared with earlier ones, the nearest first
MAX_STANCES = 100  # of a contradiction, beyond which no other is looked for that says the same
ALIKE_SHARE = 0.5  # of the words of two sentences that are aligned
TITLE_SHARE = 0.5  # of the weight of a title, more than which the other has to have


_Place = tuple[int, int]  # an utterance and a sentence of it


@dataclass(frozen=True, slots=True)
class _Utterance:
    """What a finding says, or what its quotes of one source say instead. ``titles`` are the words of each of its sources'
    titles, ``words`` are these and its own."""

    finding: Finding
    sides: tuple[StatementView, ...]
    source_ids: tuple[str, ...]
    titles: tuple[frozenset[str], ...]
    words: frozenset[str]
    is_verbatim: bool


@dataclass(frozen=True, slots=True)
class _Voiced:
    """What one sentence of an utterance tells, and the sources that say so."""

    utterance: int
    sentence: int
    value: ComparedValue
    source_ids: tuple[str, ...]

    @property
    def key(self) -> tuple[int, int, int]:
        return self.utterance, self.sentence, self.value.start


def contradictions(findings: Iterable[Finding], sources: Iterable[Source] = ()) -> tuple[Contradiction, ...]:
    """What findings of different sources say differently, each thing once with all that tell of it."""
    known = {source.id: source for source in sources}
    said = list(_utterances(list(findings), known))
    found: dict[str, Contradiction] = {}
    for about, of, group in _join_conflicts(_conflicts(said)):
        made = _contradiction(about, of, group, said, known)
        if made is not None:
            found.setdefault(made.id, made)
    return tuple(found.values())


def _utterances(findings: Sequence[Finding], sources: Mapping[str, Source]) -> Iterator[_Utterance]:
    keys = reader(ENGLISH).keys
    for finding in findings:
        titles = tuple(keys(sources[i].title) for i in finding.source_ids if i in sources)
        quoted = [(q.source_id, q.quote) for q in finding.quotes]
        content = _plainly(finding.content)
        is_verbatim = any(content in _plainly(quote) for _, quote in quoted)
        every = keys(f"{finding.heading} {finding.content}").union(*titles)
        made = _Utterance(
            finding, _under(finding), finding.source_ids, tuple(filter(None, titles)), every, is_verbatim
        )
        yield made
        own = numbers(finding.content)
        for source_id in dict.fromkeys(i for i, _ in quoted):
            quotes = [quote for i, quote in quoted if i == source_id]
            nearest = _nearest(finding.content, quotes)
            if not any(content in _plainly(quote) for quote in quotes) and numbers(nearest) - own:
                told = _with_names(sides(nearest), made.sides)
                yield replace(made, sides=told, source_ids=(source_id,))


def _plainly(text: str) -> str:
    return " ".join(text.casefold().split())


def _under(finding: Finding) -> tuple[StatementView, ...]:
    """Its sentences; those without a year are of the years in its heading."""
    years = frozenset(year for side in sides(finding.heading) for year in side.years)
    return tuple(replace(s, years=s.years or years) for s in sides(finding.content))


def _nearest(content: str, quotes: Sequence[str]) -> str:
    """The sentence of the quotes that has most of the words of a statement."""
    own = _words(content)
    every = [quote[s.start : s.end] for quote in quotes for s in sentences(quote)]
    return max(every, key=lambda text: len(own & _words(text)), default="")


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in words(text))


def _with_names(told: Sequence[StatementView], content: Sequence[StatementView]) -> tuple[StatementView, ...]:
    """The sentences of a quote, which are of what the statement names: "It is 900 feet tall"."""
    names = frozenset(name for side in content for name in side.names)
    subject = frozenset(word for side in content for word in side.subject)
    return tuple(s if s.names else replace(s, names=names, subject=s.subject | subject) for s in told)


def _conflicts(said: Sequence[_Utterance]) -> Iterator[tuple[Conflict, _Voiced, _Voiced]]:
    holding = Counter(key for utterance in said for key in utterance.words)
    weights = {key: rarity(len(said), count) for key, count in holding.items()}
    agreed_kinds: dict[tuple[int, int], frozenset[str]] = {}
    for (i, m), (j, n) in _candidates(said):
        a, b = said[i], said[j]
        if (len(a.source_ids) == 1 and a.source_ids == b.source_ids) or not _of_one_thing(
            a, b, m, n, weights
        ):
            continue
        if (i, j) not in agreed_kinds:
            agreed_kinds[i, j] = kinds_in_agreement(a.sides, b.sides)
        conflict = conflict_between(a.sides[m], b.sides[n], agreed_kinds[i, j])
        if conflict is None:
            continue
        one = _Voiced(i, m, conflict.ours, _say_so(a, conflict.ours))
        other = _Voiced(j, n, conflict.theirs, _say_so(b, conflict.theirs))
        if one.source_ids and other.source_ids and not set(one.source_ids) & set(other.source_ids):
            yield conflict, one, other


def _candidates(said: Sequence[_Utterance]) -> Iterable[tuple[_Place, _Place]]:
    """Pairs of sentences that may differ: of one kind of value or event, or of nearly the same words. Their number is
    linear in that of the findings, whatever these say."""
    places = [(i, n) for i, utterance in enumerate(said) for n in range(len(utterance.sides))]
    groups: dict[str, list[_Place]] = defaultdict(list)
    for i, n in places:
        for mark in sorted(_marks(said[i].sides[n])):
            groups[mark].append((i, n))
    pairs = {pair: None for group in groups.values() for pair in combinations(group[:MAX_FILED], 2)}
    places = [(i, n) for i, n in places if is_aligned(said[i].sides[n])]
    keys = [said[i].sides[n].keys for i, n in places]
    similar = SimilarSets(keys, least=ALIKE_SHARE, most=MAX_FILED)
    for at, place in enumerate(places):
        near = similar.near(keys[at])
        pairs.update(dict.fromkeys((places[other], place) for other in near[:MAX_FILED]))
        similar.add(keys[at], at)
    return _nearest_pairs((pair for pair in pairs if pair[0][0] != pair[1][0]), said)


def _nearest_pairs(
    pairs: Iterable[tuple[_Place, _Place]], said: Sequence[_Utterance]
) -> list[tuple[_Place, _Place]]:
    """In order, those that are compared: of each utterance with earlier ones, the pairs whose sentences are most
    alike."""
    ranked: list[tuple[float, _Place, _Place]] = []
    for (i, m), (j, n) in pairs:
        a, b = said[i].sides[m], said[j].sides[n]
        if share_words(a, b):
            ranked.append((-likeness(a, b), (i, m), (j, n)))
    taken: Counter[int] = Counter()
    kept = []
    for _, one, other in sorted(ranked):
        if (
            taken[other[0]] < MAX_COMPARED
        ):  # how often the earlier is compared does not matter: many may differ from it
            taken[other[0]] += 1
            kept.append((one, other))
    return sorted(kept)


def _marks(side: StatementView) -> set[str]:
    """What a sentence may be in conflict about in whatever words."""
    return {q.kind for q in side.values} | {f"year {event}" for event in side.events if len(side.years) == 1}


def _of_one_thing(a: _Utterance, b: _Utterance, m: int, n: int, weights: Mapping[str, float]) -> bool:
    """Whether what they stand under is one thing: most of a title of one, by how rare its words are, is said in the
    other; a copy under another title takes nothing from that. A statement in an agent's own words names what it is of."""
    if not a.titles or not b.titles or a.finding is b.finding:
        return True
    if a.sides[m].names & b.sides[n].names and not a.is_verbatim and not b.is_verbatim:
        return True

    def weight(keys: Iterable[str]) -> float:
        return fsum(weights[key] for key in keys)

    pairs = [(title, b.words) for title in a.titles] + [(title, a.words) for title in b.titles]
    return any(weight(title & every) > TITLE_SHARE * weight(title) for title, every in pairs)


def _say_so(utterance: _Utterance, told: ComparedValue) -> tuple[str, ...]:
    """The sources of an utterance that say so: of several, those whose quotes have the figure."""
    if len(utterance.source_ids) < 2 or not any(map(str.isdigit, told.text)) or told.text.startswith("“"):
        return utterance.source_ids
    wanted = numbers(told.text)
    quoted = {q.source_id for q in utterance.finding.quotes}
    held = {q.source_id for q in utterance.finding.quotes if wanted <= numbers(q.quote)}
    return tuple(i for i in utterance.source_ids if i in held or i not in quoted)


def _join_conflicts(
    found: Iterable[tuple[Conflict, _Voiced, _Voiced]],
) -> Iterator[tuple[str, str, list[_Voiced]]]:
    """All that tell of one thing, in their order, with what they differ in and of what."""
    voiced: dict[tuple[int, int, int], _Voiced] = {}
    group_of: dict[tuple[int, int, int], int] = {}
    groups: dict[int, list[tuple[int, int, int]]] = {}
    latest: dict[int, tuple[int, str, str]] = {}  # of a group: when it last grew, and what it differs in
    for number, (conflict, one, other) in enumerate(found):
        held = sorted(
            {group_of[v.key] for v in (one, other) if v.key in group_of}, key=lambda g: latest[g][0]
        )
        _, *about = latest[held[-1]] if held else (number, conflict.about, conflict.of)
        into = max(held, key=lambda group: len(groups[group]), default=number)  # the fewer move
        moved = [v.key for v in (one, other) if v.key not in group_of]
        moved += [key for group in held if group != into for key in groups.pop(group)]
        groups.setdefault(into, []).extend(moved)
        group_of.update(dict.fromkeys(moved, into))
        latest[into] = (number, about[0], about[1])
        voiced.update({one.key: one, other.key: other})
    for group in sorted(groups, key=lambda group: latest[group][0]):
        yield *latest[group][1:], [voiced[key] for key in sorted(groups[group])]


def _contradiction(
    about: str, of: str, group: Sequence[_Voiced], said: Sequence[_Utterance], sources: Mapping[str, Source]
) -> Contradiction | None:
    stances: list[ComparedValue] = []  # the first that takes each
    made: dict[tuple[str, str, str], tuple[ContradictionSide, int]] = {}
    for voiced in group:
        utterance = said[voiced.utterance]
        taken = enumerate(islice(stances, MAX_STANCES))
        stance = next((n for n, told in taken if told.agrees(voiced.value)), len(stances))
        stances += [voiced.value] if stance == len(stances) else []
        for source_id in voiced.source_ids:
            side = _side(utterance, voiced, source_id, sources.get(source_id))
            made.setdefault((side.finding_id, source_id, side.wording), (side, stance))
    if len(stances) < 2:
        return None
    return contradiction_of(list(made.values()), [stance.text for stance in stances], about, of, sources)


def contradiction_of(
    told: Sequence[tuple[ContradictionSide, int]],
    stances: Sequence[str],
    about: str,
    of: str,
    sources: Mapping[str, Source],
) -> Contradiction:
    """The contradiction whose sides are ``told``, each with the place of what it says among the ``stances``."""
    sides_ = _with_voices([side for side, _ in told], sources)
    place, because = preferred(sides_, [stance for _, stance in told], sources)
    finding_ids = tuple(dict.fromkeys(side.finding_id for side in sides_))
    return Contradiction(
        id=contradiction_id((*finding_ids, about, *stances)),
        description=f"The sources give different {about}{f' for {of}' if of else ''}: {' against '.join(stances)}.",
        finding_ids=finding_ids,
        source_ids=tuple(dict.fromkeys(side.source_id for side in sides_)),
        about=about,
        of=of,
        sides=tuple(sides_),
        preferred=place,
        because=because,
    )


def _side(utterance: _Utterance, voiced: _Voiced, source_id: str, source: Source | None) -> ContradictionSide:
    value = voiced.value.value
    measured = value if value is not None and value.low == value.high else None  # a range has no one value
    sentence = utterance.sides[voiced.sentence].text
    return ContradictionSide(
        finding_id=utterance.finding.id,
        source_id=source_id,
        wording=voiced.value.text,
        quote=quoted_part(utterance.finding.quotes, source_id, sentence, _figures(voiced.value)),
        value=measured.low.value if measured else None,
        unit=value.unit if value else "",
        published=source.published if source else None,
    )


def _figures(told: ComparedValue) -> frozenset[str]:
    measured = told.value is not None or any(map(str.isdigit, told.text))
    return numbers(told.text) if measured else frozenset()


def quoted_part(
    quotes: Iterable[Quote], source_id: str, sentence: str, wanted: frozenset[str] = frozenset()
) -> Quote | None:
    """The part of a source's quotes that says it: the sentence with the ``wanted`` figures that has most of the words
    of ``sentence``."""
    own = _words(sentence)
    best: tuple[tuple[bool, int], Quote, int, int] | None = None
    for quote in quotes:
        for start, end, figures, told_in in _sentences(quote.quote) if quote.source_id == source_id else ():
            rank = (wanted <= figures, len(own & told_in))
            if best is None or rank > best[0]:
                best = rank, quote, start, end
    if best is None:
        return None
    _, quote, start, end = best
    place = {"start": quote.start + start, "end": quote.start + end}
    return quote.model_copy(update={"quote": quote.quote[start:end], **place})


@lru_cache(maxsize=1024)
def _sentences(text: str) -> tuple[tuple[int, int, frozenset[str], frozenset[str]], ...]:
    """Where the sentences of a quote stand in it, each with its figures and its words."""
    return tuple(
        (s.start, s.end, numbers(said), _words(said))
        for s in sentences(text)
        for said in (text[s.start : s.end],)
    )


def _with_voices(told: Sequence[ContradictionSide], sources: Mapping[str, Source]) -> list[ContradictionSide]:
    """The sides, each with the number of the voice that it speaks with."""
    known = {side.source_id: sources[side.source_id] for side in told if side.source_id in sources}
    quotes = [side.quote for side in told if side.quote is not None]
    of = {source.id: n for n, group in enumerate(voices(known.values(), quotes)) for source in group}
    order: dict[int | str, int] = {}
    return [
        side.model_copy(
            update={"voice": order.setdefault(of.get(side.source_id, side.source_id), len(order))}
        )
        for side in told
    ]
