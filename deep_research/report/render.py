"""From an agent's draft to the finished report: safe Markdown, numbers, references, metadata.

A draft is text from outside: its links and images may not lead anywhere that was not a source of the run, and
it may bring no HTML.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache

from deep_research.evidence.copies import Originals
from deep_research.report.ledger import MARK, Ledger
from deep_research.state import (
    Citation,
    ConfidenceLevel,
    ConfidenceSummary,
    Finding,
    ReportMetadata,
    Source,
)

REFERENCES = "References"
_MOST_AUTHORS = 3
_HEADING = re.compile(r"^##+[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
# Bounded, so that a row of open brackets is not read to its end from each of them.
_IMAGE = re.compile(r"!\[([^\[\]\n]{0,500})\]\([^)\n]{0,2500}\)")
_LINK = re.compile(r"(?<![\\!])\[([^\[\]\n]{0,500})\]\(\s{0,8}<?([^)\s>]{0,2000})>?[^)\n]{0,500}\)")
_AUTOLINK = re.compile(r"<((?:https?|mailto|ftp):[^>\s]*)>", re.IGNORECASE)
_BARE = re.compile(r"\b(https?|ftp):(//[^\s<>\0]*[^\s<>\0.,;:!?)\]])", re.IGNORECASE)
_HOST = re.compile(r"\b(www)(?=\.[^\s.])", re.IGNORECASE)  # many renderers make a link of it
_SUSPECT = ("](", "]:", "![", "<", "://", "\0")  # without any of these there is nothing to break
# A block of code that every reader of Markdown begins and ends at the same places, if there are no other fences.
_FENCED = re.compile(r"(?:(?<=\n\n)|\A)```[\w+-]{0,20}\n(?:(?:(?!```|~~~)[^\n])*\n){1,400}```(?=\n\n|\n?\Z)")
_FENCES = ("```", "~~~")
_KEPT = re.compile(r"\0(\d+)\0")
_DEFINITION = re.compile(r"^[ ]{0,3}\[[^\]\n]+\]:.*$", re.MULTILINE)
# A character after an even number of backslashes is one that Markdown heeds.
_HEEDED = r"(?<!\\)((?:\\\\)*)"
_ESCAPED = r"\1\\\2"
_TAG = re.compile(rf"{_HEEDED}(<)(?=[A-Za-z/!?])")
_TARGET = re.compile(rf"{_HEEDED}(\])(?=\()")
_PICTURE = re.compile(rf"{_HEEDED}(!)(?=\[)")
_LABEL = re.compile(r"\]:")
_ACTIVE = re.compile(rf"{_HEEDED}([\[\]]|<(?=[A-Za-z/!?]))")
_LINKABLE = re.compile(r"https?://[^/\\\s<>()\[\]][^\\\s<>()\[\]\0]*\Z", re.IGNORECASE)
_ID = re.compile(r"(?:find|src|gap|subq)-[0-9a-f]{12}")
_OPENING = re.compile(r"^(\d{0,9})(?=#{1,6}\s|[-+*]\s|>|(?<=\d)[.)]\s)")


def finished(
    draft: str,
    findings: Sequence[Finding],
    sources: Sequence[Source],
    *,
    writer: str,
    partial: bool = False,
) -> tuple[str, ReportMetadata, tuple[Citation, ...]]:
    """The report with numbered references, its metadata and its citations. An empty draft stays empty."""
    body = safe(draft.strip(), {s.url for s in sources if s.url})
    ledger = Ledger(findings, sources)
    body = _ID.sub(
        "…", ledger.number(body)
    ).strip()  # an id in the midst of a sentence tells a reader nothing
    cited: dict[int, list[int]] = {}
    for citation in ledger.citations:
        cited.setdefault(citation.number, []).append(citation.start)
    references = "\n".join(
        f"{number}. {reference(source, cited.get(number, ()), copy_of=copy_of)}"
        for number, source, copy_of in _copies(ledger.sources)
    )
    report = f"{body}\n\n## {REFERENCES}\n\n{references}\n" if references else body
    metadata = ReportMetadata(
        sections=tuple(_HEADING.findall(_FENCED.sub("", report))),
        word_count=len(body.split()),
        citations_count=len(ledger.citations),
        confidence_summary=summary(findings),
        writer=writer,
        partial=partial,
        removed_references=ledger.removed,
    )
    return report, metadata, ledger.citations


def _copies(numbered: Sequence[tuple[int, Source]]) -> Iterator[tuple[int, Source, int | None]]:
    """Each source with the number of the first one before it that has the same text."""
    by_hash: dict[str, int] = {}
    originals, by_place = Originals(), dict[int, int]()
    for number, source in numbered:
        hashes = [h for h in (source.content_hash, source.snapshot_hash) if h]
        first = next((by_hash[h] for h in hashes if h in by_hash), None)
        if first is None and source.fingerprint:
            first = by_place.setdefault(originals.place_of(source.fingerprint), number)
        for text in hashes:
            by_hash.setdefault(text, number if first is None else first)
        yield number, source, first if first != number else None


def reference(source: Source, cited: Sequence[int] = (), *, copy_of: int | None = None) -> str:
    """One line that names a source and where it is, and of a work its authors and where it appeared; of a document with
    pages also on which ones the text is that begins at the offsets ``cited``, and which ones could not be read."""
    title = escaped(source.title).rstrip(".")
    if source.metadata.get("retracted"):
        title += " (retracted)"
    if venue := escaped(source.metadata.get("venue", "")).rstrip("."):
        authors = escaped(_named(source.metadata.get("author", "")))
        title = f"{authors}: {title}{_stop(title)} {venue}" if authors else f"{title}{_stop(title)} {venue}"
    where = source.url or ""
    if re.match(r"https?://[^/\\\s<>]", where):
        place = f"<{where}>" if not re.search(r"[<>\s]", where) else escaped(where)
    else:
        place = escaped(where)
    published = f" ({source.published.isoformat()})" if source.published else ""
    leaves = _leaves(source, cited)
    if source.metadata.get("read") == "abstract":
        leaves += ", abstract"
    if unread := source.metadata.get("unread"):
        leaves += f", {escaped(unread.partition(':')[0])} not read"
    if copy_of is not None:
        leaves += f", the same text as {copy_of}"
    named = f"{title}{published}"
    return f"{named}{_stop(named)} {place}{leaves}".strip() if place else f"{named}{leaves}."


def _stop(text: str) -> str:
    return "" if text[-1:] in "?!" else "."


def _named(authors: str) -> str:
    """Three authors at most by name."""
    names = authors.split(", ")
    return authors if len(names) <= _MOST_AUTHORS else f"{names[0]} and others"


def _leaves(source: Source, cited: Sequence[int]) -> str:
    """The numbers of the pages that hold the offsets, counted from 1."""
    numbers = sorted({bisect_right(source.pages, start) for start in cited}) if source.pages else []
    told = ", ".join(str(max(1, number)) for number in numbers)
    return f", {'p.' if len(numbers) == 1 else 'pp.'} {told}" if told else ""


def summary(findings: Sequence[Finding]) -> ConfidenceSummary:
    levels = [f.confidence for f in findings]
    return ConfidenceSummary(
        high=sum(x in (ConfidenceLevel.HIGH, ConfidenceLevel.CONFIRMED) for x in levels),
        medium=sum(x is ConfidenceLevel.MEDIUM for x in levels),
        low=sum(x in (ConfidenceLevel.LOW, ConfidenceLevel.SPECULATION) for x in levels),
    )


@lru_cache(maxsize=4096)  # each iteration's report names the sources of all before it
def escaped(text: str) -> str:
    """Outside text for use inside Markdown: one line, no links, no HTML, no heading or list of its own."""
    line = _broken(" ".join(text.replace("\0", "").split()))
    return _OPENING.sub(r"\1\\", _ACTIVE.sub(_ESCAPED, line))


def safe(draft: str, allowed: set[str]) -> str:
    """The draft without images, HTML, reference definitions, and links to anything but the run's sources.

    Links to sources are set aside first, as are references, and code in blocks, in which Markdown heeds nothing;
    whatever could make another link is then broken by a backslash. A link is kept as text and address alone: whatever
    else stands in it may be a link of its own.
    """
    draft = draft.replace("\0", "")
    kept: list[str] = []

    def keep(link: str) -> str:
        kept.append(link)
        return f"\0{len(kept) - 1}\0"

    if not any(fence in _FENCED.sub("", draft) for fence in _FENCES):
        draft = _FENCED.sub(lambda m: keep(m.group(0)), draft)
    if not any(mark in draft for mark in _SUSPECT):
        return _HOST.sub(r"\1\\", draft)
    allowed = {url for url in allowed if _LINKABLE.match(url)}

    def link(match: re.Match[str]) -> str:
        text, url = match.groups()
        shown = _TAG.sub(_ESCAPED, _broken(text))
        return keep(f"[{shown}]({url})") if url in allowed else text

    def restored(match: re.Match[str]) -> str:
        return _KEPT.sub(restored, kept[int(match.group(1))])

    draft = MARK.sub(lambda m: keep(m.group(0)), draft)
    draft = _IMAGE.sub(r"\1", _DEFINITION.sub("", draft))
    draft = _LINK.sub(link, draft)
    draft = _AUTOLINK.sub(lambda m: keep(m.group(0)) if m.group(1) in allowed else m.group(1), draft)
    draft = _BARE.sub(lambda m: keep(m.group(0)) if m.group(0) in allowed else m.group(0), draft)
    draft = _LABEL.sub(r"]\:", _broken(draft))
    for heeded in (_TARGET, _PICTURE, _TAG):
        draft = heeded.sub(_ESCAPED, draft)
    return _KEPT.sub(restored, draft)


def _broken(text: str) -> str:
    """The text without addresses that a renderer would make links of."""
    return _HOST.sub(r"\1\\", _BARE.sub(r"\1\:\2", text))
