"""Findings and the sources behind them as a model is told of them: a line each, and what stands around quotes.

The line of a source has who says it, when, and how good it is; findings refer to it by a short name, so that a title is
sent once. Copies of one text are one line."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from deep_research.calls import off_loop
from deep_research.errors import ContentMissingError
from deep_research.evidence.independence import originals, superseded
from deep_research.evidence.passages import blocks
from deep_research.evidence.sites import host_of
from deep_research.phases.prompting import one_line
from deep_research.report.references import ids_in, marks_in
from deep_research.state import Finding, Quote, Source, SourceKind, SourceQuality, Span
from deep_research.state.journal import Journal

LONGEST_TITLE = 120  # characters
LONGEST_AUTHOR = 60
LONGEST_QUOTE = 300  # of a quote beside its finding

MAX_PASSAGE_CHARS = 700  # characters of a passage
MAX_PASSAGES = 3  # passages of a finding
SENTENCES_UNIT = 2_000  # of a text that is cut into sentences in the time of one small item


@dataclass(frozen=True, slots=True)
class SourceNames:
    """The ``names`` (S1, S2 …) of sources by their ids, those of copies the same; ``lines`` tell of each name."""

    names: Mapping[str, str]
    lines: Mapping[str, str]

    def of(self, finding: Finding) -> tuple[str, ...]:
        """The names of the sources of a finding, each once."""
        return tuple(dict.fromkeys(self.names[i] for i in finding.source_ids if i in self.names))

    def told(self, findings: Iterable[Finding]) -> list[str]:
        """The lines of the sources of these findings, in the order of their names."""
        used = {name for finding in findings for name in self.of(finding)}
        return [f"{name}: {line}" for name, line in self.lines.items() if name in used]


NO_SOURCES = SourceNames({}, {})


def source_names(sources: Iterable[Source]) -> SourceNames:
    """Names for sources in their order."""
    every = list(sources)
    first = originals(every)
    names: dict[str, str] = {}
    lines: dict[str, str] = {}
    older = superseded(every)
    copies: dict[str, list[Source]] = {}
    for source in every:
        copies.setdefault(first[source.id], []).append(source)
    for number, (original, group) in enumerate(copies.items(), 1):
        name = f"S{number}"
        names |= {source.id: name for source in group}
        lines[name] = _line(next(source for source in group if source.id == original), group)
    for source_id, later in older.items():
        if (name := names[source_id]) != names[later]:
            lines[name] += f", an older version of {names[later]}"
    return SourceNames(names, lines)


def finding_forms(finding: Finding, named: SourceNames, sources: Mapping[str, Source]) -> tuple[str, ...]:
    """What is told of a finding, with its quote and without."""
    many = len(finding.source_ids)
    said_by = named.of(finding) or (f"{many} source{'s' * (many != 1)}",)
    about = ", ".join((finding.confidence.value, *said_by))
    behind = [sources[name] for name in finding.source_ids if name in sources]
    if behind and all(source.metadata.get("retracted") for source in behind):
        about += ", from a work that was retracted"
    theme = f"; {one_line(finding.category)}" if finding.category else ""
    said = f"({about}{theme}): {one_line(finding.content)}"
    quote = one_line(finding.quotes[0].quote) if finding.quotes else ""
    is_new = quote and len(quote) <= LONGEST_QUOTE and quote not in finding.content
    return (f'{said} — "{quote}"', said) if is_new else (said,)


def with_quotes(finding: Finding, around: Sequence[str], named: SourceNames, said: str) -> str:
    """What is ``said`` of a finding with its quotes, each as its source has it with what stands ``around`` it; "" where
    nothing does."""
    if not any(around):
        return ""
    told: dict[str, None] = {}
    for quote, passage in zip(finding.quotes, around, strict=False):
        text = one_line(passage or quote.quote)
        told.setdefault(f'{named.names.get(quote.source_id, "a source")} has: "{text}"')
    return f"{said} — {'; '.join(told)}"


def with_names(draft: str, names: Mapping[str, str]) -> str:
    """The draft as a model reads it: names in place of the ids that it was given."""

    def written(match: re.Match[str]) -> str:
        known = [names[each] for each in ids_in(match.group()) if each in names]
        return f" [{', '.join(known)}]" if known else ""

    pieces, here = [], 0
    for match in marks_in(draft):
        pieces += [draft[here : match.start()], written(match)]
        here = match.end()
    return "".join((*pieces, draft[here:]))


def _line(source: Source, group: list[Source]) -> str:
    told = [
        f"“{one_line(source.title)[:LONGEST_TITLE]}”",
        one_line(source.metadata.get("author", ""))[:LONGEST_AUTHOR],
        one_line(source.metadata.get("venue", ""))[:LONGEST_AUTHOR] or _site(source),
        source.published.isoformat() if source.published else "no date",
        "document" if source.kind is SourceKind.DOCUMENT else "",
        f"{source.quality.value} quality" if source.quality is not SourceQuality.UNKNOWN else "",
        "primary" if source.metadata.get("primary") else "",
        "retracted" if source.metadata.get("retracted") else "",
    ]
    others = list(dict.fromkeys(filter(None, (_site(copy) for copy in group if copy is not source))))
    if len(group) > 1:
        told.append(f"copied {len(group) - 1} times" + (f" ({', '.join(others[:3])})" if others else ""))
    return ", ".join(filter(None, told))


def _site(source: Source) -> str:
    """The host of a page, or where a document lies."""
    address = source.url or ""
    return one_line(host_of(address).removeprefix("www.") or address)[:LONGEST_TITLE]


async def around_quotes(findings: Iterable[Finding], journal: Journal) -> dict[str, tuple[str, ...]]:
    """For each finding what stands around its first quotes, by its id; none of one around whose quotes nothing stands.
    Texts are loaded one at a time, and dropped."""
    quoted: dict[str, list[Finding]] = {}
    for finding in findings:
        for each in dict.fromkeys(quote.content_hash for quote in finding.quotes):
            quoted.setdefault(each, []).append(finding)
    around: dict[str, tuple[str, ...]] = {}
    for content_hash, quoting in quoted.items():
        try:
            (text,) = await journal.texts((content_hash,))
        except ContentMissingError:  # what is not there any more has no passages
            continue
        made = await off_loop(len(text) // SENTENCES_UNIT, passages, quoting, {content_hash: text})
        for key, more in made.items():  # the quotes of a finding may stand in several texts
            known = around.get(key, ("",) * len(more))
            around[key] = tuple(a or b for a, b in zip(known, more, strict=True))
    return {key: texts for key, texts in around.items() if any(texts)}


def passages(findings: Iterable[Finding], texts: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """For each finding the passages of its first quotes, by its id; ``texts`` are saved texts by their hash. A quote
    whose text is not there has none."""
    every = list(findings)
    wanted = {quote.content_hash for finding in every for quote in finding.quotes[:MAX_PASSAGES]}
    pieces = {key: _Pieces(texts[key]) for key in wanted if key in texts}
    return {
        finding.id: tuple(
            pieces[quote.content_hash].around(quote) if quote.content_hash in pieces else ""
            for quote in finding.quotes[:MAX_PASSAGES]
        )
        for finding in every
    }


class _Pieces:
    """A text and where its sentences are."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._spans = [
            Span(start=start, end=end) for block in blocks(text) for start, end in block.sentences(text)
        ]
        self._starts = [span.start for span in self._spans]

    def around(self, quote: Quote) -> str:
        """The quote with as many whole sentences before and after it as there is room for, in turn; "" where that is no
        more than the quote."""
        first = max(0, bisect_right(self._starts, quote.start) - 1)
        last = max(first, bisect_right(self._starts, quote.end - 1) - 1)
        if not self._spans or quote.end - quote.start > MAX_PASSAGE_CHARS:
            return ""
        start, end = min(quote.start, self._spans[first].start), max(quote.end, self._spans[last].end)
        grew = True
        while grew:
            grew = False
            if last + 1 < len(self._spans) and self._spans[last + 1].end - start <= MAX_PASSAGE_CHARS:
                last, grew = last + 1, True
                end = self._spans[last].end
            if first and end - self._spans[first - 1].start <= MAX_PASSAGE_CHARS:
                first, grew = first - 1, True
                start = self._spans[first].start
        passage = self._text[start:end]
        return passage if len(passage) <= MAX_PASSAGE_CHARS and len(passage) > quote.end - quote.start else ""
