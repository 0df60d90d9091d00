"""The ledger: which reference number stands for which source, and which quotes it rests on.

Agents refer to what they were given by id, ``[find-…]`` or ``[src-…]``. The ledger turns ids into numbers in the
order of first mention; an id that was never given, or a source that no quote supports, is taken out and counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from deep_research.patterns import regex
from deep_research.report.references import ID, MARK, ids_in
from deep_research.state import Citation, Finding, Source

_OPENING = regex(r"[ \t>*+.)\d-]*")  # what may stand before a definition in its line
_ENDS = regex(rf"[.,;?)]*(?:\s|\Z)|\[{ID}")


class Ledger:
    """Fill it by `number`; then ``citations`` and ``sources`` hold what the text refers to."""

    def __init__(self, findings: Iterable[Finding], sources: Iterable[Source]) -> None:
        self._findings = {f.id: f for f in findings}
        self._sources = {s.id: s for s in sources}
        self._by_source: dict[str, list[Finding]] = {}
        for finding in self._findings.values():
            for quote in finding.quotes:
                self._by_source.setdefault(quote.source_id, []).append(finding)
        self._numbers: dict[str, int] = {}
        self._citations: dict[tuple[int, int, int], Citation] = {}
        self.removed = 0

    def number(self, text: str) -> str:
        """The text with numbers in place of ids."""
        return MARK.sub(self._replace, text)

    @property
    def sources(self) -> list[tuple[int, Source]]:
        return [(number, self._sources[source_id]) for source_id, number in self._numbers.items()]

    @property
    def citations(self) -> tuple[Citation, ...]:
        return tuple(sorted(self._citations.values(), key=lambda c: (c.number, c.start)))

    def _replace(self, match: re.Match[str]) -> str:
        numbers: set[int] = set()
        for mark in ids_in(match.group(1)):
            cited = self._cite(mark)
            self.removed += not cited
            numbers |= cited
        if not numbers:  # what it kept apart may not become one, such as "<" and "img"
            return "" if _ENDS.match(match.string, match.end()) else " "
        # What follows may not make a link of the number; a colon at the beginning of a line not of all like it.
        follows = match.string[match.end() : match.end() + 1]
        opens = _OPENING.fullmatch(
            match.string, match.string.rfind("\n", 0, match.start()) + 1, match.start()
        )
        after = " " if follows == "(" else "\\" if follows == ":" and opens else ""
        return f" [{', '.join(map(str, sorted(numbers)))}]{after}"

    def _cite(self, mark: str) -> set[int]:
        if mark in self._findings:
            return self._cite_quotes(self._findings[mark], only=None)
        supporting = self._by_source.get(mark, ())
        return self._cite_quotes(supporting[0], only=mark) if supporting else set()

    def _cite_quotes(self, finding: Finding, only: str | None) -> set[int]:
        numbers = set()
        for quote in finding.quotes:
            if quote.source_id not in self._sources or only not in (None, quote.source_id):
                continue
            number = self._numbers.setdefault(quote.source_id, len(self._numbers) + 1)
            numbers.add(number)
            self._citations.setdefault(
                (number, quote.start, quote.end),
                Citation(
                    number=number,
                    source_id=quote.source_id,
                    finding_id=finding.id,
                    quote=quote.quote,
                    start=quote.start,
                    end=quote.end,
                    content_hash=quote.content_hash,
                ),
            )
        return numbers
