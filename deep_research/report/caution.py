"""What a report says before its first sentence where it rests on little. Decided by code, from what it cites. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deep_research.evidence.independence import voices
from deep_research.patterns import regex
from deep_research.state import Finding, Source, SourceQuality

ENOUGH_FINDINGS = 3
OPENING = "Read with caution: this report rests on"
_NUMBERS = ("nothing that was found", "1 finding", "2 findings")
_TITLE = regex(r"\A#[ \t][^\n]*\n*")


def caution(findings: Iterable[Finding], sources: Sequence[Source]) -> str:
    """The sentence for a report that cites these findings, out of the ``sources`` of its run; empty where they are
    enough: three findings, two voices, and a source of more than low quality."""
    cited = list(findings)
    quotes = [quote for finding in cited for quote in finding.quotes]
    ids = {quote.source_id for quote in quotes}
    held = [source for source in sources if source.id in ids]
    told = [_NUMBERS[len(cited)]] if len(cited) < ENOUGH_FINDINGS else []
    if held and len(voices(held, quotes)) == 1:
        told.append("one source alone" if len(held) == 1 else "sources that speak with one voice")
    qualities = {source.quality for source in held}
    if SourceQuality.LOW in qualities and qualities <= {SourceQuality.LOW, SourceQuality.UNKNOWN}:
        told.append("no source of more than low quality")
    return f"{OPENING} {_listed(told)}." if told else ""


def with_caution(body: str, sentence: str) -> str:
    """The report with the sentence after its title, once."""
    if not (body and sentence) or sentence in body:
        return body
    title = _TITLE.match(body)
    end = title.end() if title else 0
    before = f"{body[:end].rstrip()}\n\n" if end else ""
    return f"{before}*{sentence}*\n\n{body[end:]}".strip()


def _listed(told: Sequence[str]) -> str:
    *before, last = told
    return f"{', on '.join(before)}, and on {last}" if before else last
