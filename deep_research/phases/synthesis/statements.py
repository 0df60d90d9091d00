"""Findings as statements of a report: each said once, with all that say it. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from deep_research.evidence.agreement import name_others, numbers
from deep_research.evidence.debris import is_debris, standing_alone, without_marks
from deep_research.evidence.examples import is_example, shown
from deep_research.evidence.listing import ENTERED
from deep_research.evidence.rows import unlabelled
from deep_research.evidence.text import NEGATIONS, content_stems, words
from deep_research.report.markup import escaped
from deep_research.state import ConfidenceLevel, Finding, Source, SourceQuality

REPEATED = 0.8  # of the shorter one's words, for two statements to say the same
SURER = 0.03  # of relevance that a step of confidence is worth
BETTER = 0.01  # that one of quality is
_QUALITIES = (SourceQuality.LOW, SourceQuality.UNKNOWN, SourceQuality.MEDIUM, SourceQuality.HIGH)
_STRENGTH = {level: rank for rank, level in enumerate(ConfidenceLevel)}


@dataclass(slots=True)
class Statement:
    """A finding, and those that only repeat it."""

    finding: Finding
    repeats: list[Finding]

    @property
    def source(self) -> str:
        return self.finding.source_ids[0] if self.finding.source_ids else ""

    @property
    def sources(self) -> frozenset[str]:
        return frozenset(i for finding in (self.finding, *self.repeats) for i in finding.source_ids)

    @property
    def start(self) -> int:
        return self.finding.quotes[0].start if self.finding.quotes else 0

    @property
    def ids(self) -> list[str]:
        return [self.finding.id, *(f.id for f in self.repeats)]

    @property
    def text(self) -> str:
        """One or more sentences in the source's words, safe inside Markdown."""
        text = escaped(standing_alone(without_marks(self.finding.content)))
        if text.endswith((".)", "!)", "?)")):  # the end of a remark that began before
            return text if "(" in text else text[:-1]
        if text.endswith(":") and self.example:
            return text
        return text if text[-1:] in ".!?…\"”'" else f"{text.rstrip(':')}."

    @property
    def example(self) -> str:
        """The code that shows it, in a block of its own; empty where there is none."""
        return next((shown(quote.quote) for quote in self.finding.quotes if is_example(quote.quote)), "")

    @property
    def length(self) -> int:
        """In words, without its reference."""
        return len(self.finding.content.split())


def statements(
    findings: Iterable[Finding], sources: Iterable[Source] = (), things: Sequence[str] = ()
) -> list[Statement]:
    """The findings that say something, most relevant first; what one before says already is added to that as a
    repeat, but not what it says of another of the ``things`` that are compared."""
    apart = [set(content_stems(thing)) for thing in things]
    kept: list[Statement] = []
    sizes: list[int] = []
    holding: dict[str, list[int]] = defaultdict(list)
    better = {source.id: _QUALITIES.index(source.quality) for source in sources}
    for finding in sorted(findings, key=partial(_rank, better=better)):
        if says_nothing(finding):
            continue
        said = unlabelled(finding.content)
        stems = set(content_stems(said))
        shared = Counter(place for stem in stems for place in holding[stem])
        for place, count in sorted(shared.items(), key=lambda item: (-item[1], item[0]))[:4]:
            known = kept[place].finding
            if apart and _are_of_two(apart, stems, set(content_stems(unlabelled(known.content)))):
                continue
            if count >= REPEATED * min(len(stems), sizes[place]) and _repeats(finding, known):
                kept[place].repeats.append(finding)
                break
        else:
            for stem in stems:
                holding[stem].append(len(kept))
            sizes.append(len(stems))
            kept.append(Statement(finding, []))
    return kept


def _are_of_two(things: Sequence[set[str]], one: set[str], other: set[str]) -> bool:
    """Whether one of two statements, by their stems, names a thing that the other does not."""
    return any((thing <= one) != (thing <= other) for thing in things)


def says_nothing(finding: Finding) -> bool:
    """Whether a finding is of what belongs to the page, such as a caption or a notice."""
    return is_debris(unlabelled(finding.content))


def _rank(finding: Finding, better: Mapping[str, int]) -> tuple[float, float]:
    """Of findings that are about as near to the question the surer comes first, and that of the better source: an office
    before hearsay."""
    of = max((better.get(i, 0) for i in finding.source_ids), default=0)
    sure = SURER * _STRENGTH[finding.confidence] + BETTER * of
    return -finding.relevance - sure, -finding.relevance


def _repeats(new: Finding, known: Finding) -> bool:
    """Whether a statement brings no number that the known one has not, does not deny it, and is of the same things: two
    entries of a list are not."""
    return (
        not new.category == known.category == ENTERED
        and numbers(new.content) <= numbers(known.content)
        and _denied(new) == _denied(known)
        and not name_others(new.content, known.content)
    )


def _denied(finding: Finding) -> bool:
    return any(w.casefold() in NEGATIONS for w in words(unlabelled(finding.content)))


def within(room: int, told: Iterable[Statement]) -> list[Statement]:
    """The best that fit into ``room`` words, at least one: a long one that does not fit leaves its place to the
    next."""
    chosen: list[Statement] = []
    used = passed = 0
    heard: set[str] = set()
    for statement in told:
        length = statement.length + (
            statement.source not in heard
        )  # one reference for all that a source says
        if chosen and used + length > room:
            passed += 1
            if passed > 40 or room - used < 8:
                break
            continue
        chosen.append(statement)
        used += length
        heard.add(statement.source)
    return chosen
