"""The evidence part of the prompts of writer and critic. It grows round by round and keeps its beginning, so that a
prompt cache can reuse it; only where a later source shows that two are copies of one does the beginning change.

Of each round it has the sources that came with it, each once with its passages, and the findings, under names that stay.
What a later round adds to a source or a finding that was told of before stands with that round.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from deep_research.budget.content_budget import Count
from deep_research.budget.estimate import PASSAGES
from deep_research.phases.evidence_lines import SourceNames, about_finding, source_names
from deep_research.phases.handoff import EvidenceInput, QuotePassage
from deep_research.phases.prompting import Message, listed, one_line
from deep_research.phases.quote_passages import MAX_PASSAGES, united, without
from deep_research.state import Finding, Source

SOURCES = "sources"  # labels of what is material
FINDINGS = "findings"
OF_SEARCHES = 0.06  # of the room
PASSAGE_TOKENS = 6  # around a passage
MAX_QUOTE_CHARS = 300  # of a quote that stands beside its source whatever the room for passages


@dataclass(frozen=True, slots=True)
class RoundEvidence:
    """What a round added: lines of ``sources``, those of each followed by its passages, and of ``findings``."""

    number: int
    sources: tuple[str, ...]
    findings: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join((*self.sources, *self.findings))


def add_evidence(
    message: Message,
    rounds: Iterable[RoundEvidence],
    what: str = "What was found",
    searches: Mapping[int, Sequence[str]] = MappingProxyType({}),
) -> None:
    """Adds all rounds, each the end of a beginning that later prompts repeat; ``searches`` are those of each round."""
    left = sorted(searches)
    for place, each in enumerate(rounds):
        in_round, of_round = (f" in round {each.number}", f" of round {each.number}") if place else ("", "")
        now, left = [n for n in left if n <= each.number], [n for n in left if n > each.number]
        _add_searches(message, now, searches)
        if each.sources:
            message.add(f"Where it was found{in_round}; these names are for you, and no references:")
            message.material(f"{SOURCES}{of_round}", "\n".join(each.sources))
        if each.findings:
            message.add(f"{what}{in_round}:")
            message.material(f"{FINDINGS}{of_round}", "\n".join(each.findings))
        message.cut()
    _add_searches(message, left, searches)


def _add_searches(message: Message, numbers: Iterable[int], searches: Mapping[int, Sequence[str]]) -> None:
    if lines := [line for number in numbers for line in searches[number]]:
        message.add(f"What was searched for, and why:\n{listed(lines)}")


def searches_by_round(handoff: EvidenceInput, message: Message) -> dict[int, list[str]]:
    """What was searched for, and why, by round: what a share of the room takes, from the first on."""
    explained = [s for s in handoff.sub_queries if s.rationale]
    lines = [f"{one_line(s.query)} — {one_line(s.rationale)}" for s in explained]
    fitting_lines = message.lines(lines, OF_SEARCHES, "the searches")
    by_round: dict[int, list[str]] = {}
    for place, line in enumerate(fitting_lines):
        by_round.setdefault(explained[min(place, len(explained) - 1)].iteration, []).append(line)
    return by_round


def in_order(handoff: EvidenceInput) -> tuple[Finding, ...]:
    """The findings in an order that stays when more are found: by rounds, then as their sources were found."""
    places = _Places(handoff)
    return tuple(sorted(handoff.findings, key=places.of))


class _Places:
    """When sources and findings were found."""

    def __init__(self, handoff: EvidenceInput) -> None:
        source_rounds = {i: number for number, ids in enumerate(handoff.source_rounds, 1) for i in ids}
        source_rounds |= {source.id: 1 for source in handoff.sources if source.id not in source_rounds}
        citation_rounds: dict[str, int] = {}  # the round of the first finding of each
        for finding in handoff.findings:
            for i in finding.source_ids:
                citation_rounds[i] = min(finding.iteration, citation_rounds.get(i, finding.iteration))
        self.round_of = {
            i: max(number, citation_rounds.get(i, number)) for i, number in source_rounds.items()
        }
        self.place = {
            i: place for place, i in enumerate(sorted(source_rounds, key=self.round_of.__getitem__))
        }

    def number(self, finding: Finding) -> int:
        """The round that shows a finding: its own, or that of its earliest source if that is later."""
        first = min((self.round_of[i] for i in finding.source_ids if i in self.round_of), default=1)
        return max(finding.iteration, first)

    def of(self, finding: Finding) -> tuple[int, int, int]:
        number = self.number(finding)
        then = [i for i in finding.source_ids if self.round_of.get(i, number + 1) <= number]
        at = min((self.place[i] for i in then), default=len(self.place))
        starts = (quote.start for quote in finding.quotes if self.place.get(quote.source_id) == at)
        return number, at, min(starts, default=0)


@dataclass(slots=True)
class EvidenceRounds:
    """Makes the rounds of evidence for a message: ``texts`` are the words of findings by their ids, ``names`` the names
    of these. ``count`` counts tokens, of which ``for_sources`` are for the lines of sources, ``for_passages`` for what
    stands below them."""

    handoff: EvidenceInput
    texts: Mapping[str, str]
    names: Mapping[str, str]
    count: Count
    for_sources: int
    for_passages: int
    is_short: bool = False  # whether a source was left without its line
    _lines: dict[str, str] = field(default_factory=dict)  # of sources that were told of, by their names
    _said_by: dict[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # of findings that were told of, by their ids
    _passages_shown: list[QuotePassage] = field(default_factory=list)
    _token_counts: dict[str, int] = field(default_factory=dict)

    def rounds(self, findings: Sequence[Finding]) -> tuple[RoundEvidence, ...]:
        """Those of the findings, which are in order."""
        places = _Places(self.handoff)
        sources = sorted(self.handoff.sources, key=lambda source: places.place[source.id])
        whole = source_names(sources)
        rounds = []
        for number in sorted({places.number(finding) for finding in findings}):
            then = [source for source in sources if places.round_of[source.id] <= number]
            names = source_names(then)
            if any(names.names[source.id] != whole.names[source.id] for source in then):
                names = whole  # a later source showed that two are copies of one: names go before what a cache keeps
            stand = [finding for finding in findings if places.number(finding) <= number]
            rounds.append(self._round(number, stand, names, {source.id: source for source in then}))
        return tuple(rounds)

    def _round(
        self, number: int, findings: Sequence[Finding], named: SourceNames, sources: Mapping[str, Source]
    ) -> RoundEvidence:
        round_lines = []
        for finding in findings:
            said_by = named.of(finding)
            if self._said_by.get(finding.id) != said_by:
                self._said_by[finding.id] = said_by
                about = about_finding(finding, named, sources)
                round_lines.append(f"{self.names[finding.id]} {about}: {self.texts[finding.id]}")
        passages = self._passages(findings, named)
        lines = []
        for line in named.lines_of(findings):
            name = line.partition(":")[0]
            if self._lines.get(name) != line:
                self.for_sources -= self.count(line)
                self.is_short |= self.for_sources < 0
                lines += [line if self.for_sources >= 0 else name]
                self._lines[name] = line
            elif name in passages:
                lines.append(f"{name}, told of above:")
            lines += [f"  has: “{text}”" for text in passages.get(name, ())]
        return RoundEvidence(number, tuple(lines), tuple(round_lines))

    def _passages(self, findings: Sequence[Finding], named: SourceNames) -> dict[str, list[str]]:
        """What is shown of each source, by its name, that was not shown before: all quotes first, then what stands around
        them, those of the first findings first."""
        by_source: dict[str, list[QuotePassage]] = {}
        spare = self.for_passages
        quotes = [
            QuotePassage.of(quote)
            for finding in findings
            for quote in finding.quotes[:MAX_PASSAGES]
            if len(quote.quote) <= MAX_QUOTE_CHARS and quote.quote not in self.texts[finding.id]
        ]
        windows = [each for finding in findings for each in self.handoff.passages.get(finding.id, ())]
        for candidates, most in ((quotes, spare), (windows, min(spare, PASSAGES))):
            left = most
            for passage in candidates:
                if passage.source_id not in named.names:
                    continue
                before = by_source.get(passage.content_hash, [])
                after = united([*before, *without(passage, self._passages_shown)])
                more = self._size(after) - self._size(before)
                if more <= min(left, spare):
                    by_source[passage.content_hash] = after
                    left, spare = left - more, spare - more
        self.for_passages = spare
        by_text: dict[str, list[str]] = {}
        for passages in by_source.values():
            self._passages_shown += passages
            for passage in passages:
                texts = by_text.setdefault(named.names[passage.source_id], [])
                if (text := one_line(passage.text)) and not any(text in other for other in texts):
                    texts.append(text)
        return by_text

    def _size(self, passages: Iterable[QuotePassage]) -> int:
        return sum(self._tokens(passage.text) + PASSAGE_TOKENS for passage in passages)

    def _tokens(self, text: str) -> int:
        if text not in self._token_counts:
            self._token_counts[text] = self.count(one_line(text))
        return self._token_counts[text]
