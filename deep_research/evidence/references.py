"""Where a text points to for more, near what is quoted of it: sections, other pages, links. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from deep_research.patterns import regex
from deep_research.state import Reference, Span

AROUND = 500  # characters before and after a passage
MOST = 6  # of a source
LONGEST = 120  # characters of a reference
_SEE = (
    r"(?:see(?: also)?|refer to|cf\."
    r"|(?:described|explained|discussed|documented|covered|listed|given|found) (?:further )?in"
    r"|details (?:are )?in|siehe(?: auch)?|vgl\.|voir(?: aussi)?|v[ée]ase(?: tambi[ée]n)?|vedi(?: anche)?)"
)
_UNIT = (
    r"(?:sections?|chapters?|appendix|part|§|Abschnitt|Kapitel|Anhang|chapitre"
    r"|secci[óo]n|cap[íi]tulo|sezione|capitolo)"
)
_SECTION = regex(
    rf"\b{_SEE}:?\s+(?:the\s+)?(?P<target>{_UNIT}\s*[“\"]?(?:[A-Z]?\d+(?:\.\w+)*|[A-Z](?:\.\d+)*)\b)",
    re.IGNORECASE,
)
_LINK = regex(
    rf"\b{_SEE}\b[^.\n\[\]]{{0,60}}\[(?P<name>[^\]\n]{{2,80}})\]\((?P<target>[^)\s]{{2,200}})\)",
    re.IGNORECASE,
)
# A name in quote marks, or words with capitals: anything else is part of a sentence.
_NAMED = regex(
    r"(?:\bSee|(?<=[(,;:])\s?see)(?: also)?:?\s+(?:the\s+)?(?P<target>[“\"][^”\"\n]{3,80}[”\"]"
    r"|[A-Z][\w-]+(?:\s+(?:(?:of|and|the|for|to|in)\s+)?[A-Z][\w-]+)*)"
)


def references(source_id: str, text: str, spans: Iterable[Span]) -> tuple[Reference, ...]:
    """What the surroundings of some passages point to, in the order of the text, each once."""
    found: dict[str, Reference] = {}
    for start, end in _surroundings(text, spans):
        for match in _matches(text[start:end]):
            target = " ".join(match["target"].strip(' “”"').split())
            said = " ".join(match.group().split())[:LONGEST]
            made = Reference(source_id=source_id, text=said, target=target)
            found.setdefault(target.casefold(), made)
    return tuple(found.values())[:MOST]


def _surroundings(text: str, spans: Iterable[Span]) -> Iterator[tuple[int, int]]:
    """Those of all passages, what overlaps as one."""
    last: tuple[int, int] | None = None
    for span in sorted(spans, key=lambda span: span.start):
        start, end = max(0, span.start - AROUND), min(len(text), span.end + AROUND)
        if last is not None and start <= last[1]:
            last = last[0], max(last[1], end)
            continue
        if last is not None:
            yield last
        last = start, end
    if last is not None:
        yield last


def _matches(text: str) -> list[re.Match[str]]:
    taken: list[re.Match[str]] = []
    for pattern in (_LINK, _SECTION, _NAMED):
        for match in pattern.finditer(text):
            if not any(match.start() < known.end() and known.start() < match.end() for known in taken):
                taken.append(match)
    return sorted(taken, key=lambda match: match.start())
