"""From an agent's draft to the finished report: numbers, safe Markdown, references, metadata."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from deep_research.patterns import regex
from deep_research.provenance.independence import originals
from deep_research.provenance.quotes import shortened
from deep_research.report.ledger import Ledger
from deep_research.report.markup import (
    address,
    escaped,
    file_name,
    linkable,
    plain,
    safe,
    without_formulas,
)
from deep_research.report.references import PARTLY, UNSUPPORTED, unmarked
from deep_research.report.report_document import Block, BlockKind, Document
from deep_research.report.report_notices import caution
from deep_research.state import (
    Aspect,
    Citation,
    Claim,
    ClaimVerdict,
    ConfidenceSummary,
    Finding,
    ReportMetadata,
    Source,
)
from deep_research.text import unspaced
from deep_research.verification.support import SPECIFIC

REFERENCES = "References"
OPPOSING = frozenset((Aspect.POLARITY, Aspect.COMPARISON))
SHOWN_CLAIM = 80  # characters of a claim whose mark is explained
EXPLAINED_PARTLY = f"*{PARTLY} stands after what the cited sources say only in part:*"
EXPLAINED = f"*{UNSUPPORTED} stands after what the cited sources do not say, or say otherwise.*"
_MAX_AUTHORS = 3
_READ = {"abstract": "abstract", "extract": "as its search service gives it"}  # what of a source was read
_ID = regex(r"(?:find|src|gap|subq)-[0-9a-f]{12}")


def finished(
    draft: str,
    findings: Sequence[Finding],
    sources: Sequence[Source],
    *,
    writer: str,
    partial: bool = False,
    claims: Sequence[Claim] = (),
) -> tuple[str, ReportMetadata, tuple[Citation, ...]]:
    """The report with numbered references, its metadata and its citations; one that rests on little says so first. The
    marks of its ``claims`` are explained below it. An empty draft stays empty."""
    ledger = Ledger(findings, sources)
    body = _ID.sub(
        "…", ledger.number(plain(draft))
    )  # an id in the midst of a sentence tells a reader nothing
    body = safe(body.strip(), {s.url for s in sources if s.url}).strip()
    cited: dict[int, list[int]] = {}
    for citation in ledger.citations:
        cited.setdefault(citation.number, []).append(citation.start)
    references = without_formulas(
        "\n".join(
            f"{number}. {reference(source, cited.get(number, ()), copy_of=copy_of)}"
            for number, source, copy_of in _copies(ledger.sources)
        )
    )
    ids = {citation.finding_id for citation in ledger.citations}
    shown = Document.read(body)
    if sentence := caution((f for f in findings if f.id in ids), sources):
        shown = shown.after_title(Block.notice(sentence))
    shown = shown.with_blocks(_explained(body, claims))
    if references:
        shown = shown.with_blocks((Block.heading(2, REFERENCES), Block(BlockKind.ITEM, f"{references}\n")))
    report = shown.markdown
    metadata = ReportMetadata(
        sections=tuple(shown.headings),
        word_count=unspaced.size(unmarked(body)),
        citations_count=len(ledger.citations),
        confidence_summary=ConfidenceSummary.of(findings),
        writer=writer,
        partial=partial,
        removed_references=ledger.removed,
    )
    return report, metadata, ledger.citations


def _copies(numbered: Sequence[tuple[int, Source]]) -> Iterator[tuple[int, Source, int | None]]:
    """Each source with the number of the one whose text it has, where that is another."""
    numbers = {source.id: number for number, source in numbered}
    first = originals(source for _, source in numbered)
    for number, source in numbered:
        same = numbers[first[source.id]]
        yield number, source, same if same != number else None


def reference(source: Source, cited: Sequence[int] = (), *, copy_of: int | None = None) -> str:
    """One line that names a source and where it is, and of a work its authors and where it appeared; of a document with
    pages also on which ones the text is that begins at the offsets ``cited``, and which ones could not be read."""
    title = escaped(source.title).rstrip(".")
    if source.metadata.get("retracted"):
        title += " (retracted)"
    if venue := escaped(source.metadata.get("venue", "")).rstrip("."):
        authors = escaped(_author_names(source.metadata.get("author", "")))
        title = f"{authors}: {title}{_stop(title)} {venue}" if authors else f"{title}{_stop(title)} {venue}"
    where = source.url or ""
    place = f"<{address(where)}>" if linkable(where) else file_name(where)
    published = f" ({source.published.isoformat()})" if source.published else ""
    leaves = _leaves(source, cited)
    if (read := source.metadata.get("read")) in _READ:
        leaves += f", {_READ[read]}"
    if unread := source.metadata.get("unread"):
        leaves += f", {escaped(unread.partition(':')[0])} not read"
    if copy_of is not None:
        leaves += f", the same text as {copy_of}"
    named = f"{title}{published}"
    return f"{named}{_stop(named)} {place}{leaves}" if place else f"{named}{leaves}{_stop(named + leaves)}"


def _explained(body: str, claims: Sequence[Claim]) -> Iterator[Block]:
    """What the marks of a report mean, and of each claim that its sources bear out in part what they do not have."""
    if UNSUPPORTED in body:
        yield Block(BlockKind.NOTICE, EXPLAINED)
    if PARTLY in body:
        partly = (
            c for c in claims if c.is_marked and c.verdict in (ClaimVerdict.PARTIAL, ClaimVerdict.UNCHECKED)
        )
        lines = (f"- “{escaped(shortened(c.text, SHOWN_CLAIM))}”: {escaped(lack_of(c))}." for c in partly)
        yield Block(BlockKind.NOTICE, "\n".join((EXPLAINED_PARTLY, *lines)))


def lack_of(claim: Claim) -> str:
    """What no passage of its sources has of a claim, in a few words."""
    reasons = [reason for reason in claim.reasons if reason.aspect in SPECIFIC]
    alone = [f"“{r.claimed}”" for r in reasons if not r.in_source]
    other = [
        f"says the opposite of “{r.in_source}”"
        if r.aspect in OPPOSING
        else f"has “{r.claimed}”, its source “{r.in_source}”"
        for r in reasons
        if r.in_source
    ]
    missing = claim.judgement.missing if claim.judgement is not None else ""
    if not reasons and missing:
        alone.append(f"“{missing}”")
    return "; ".join(
        [*dict.fromkeys(other), *([f"no passage has {', '.join(dict.fromkeys(alone))}"] if alone else [])]
    )


def _stop(text: str) -> str:
    return "" if text[-1:] in "?!" else "."


def _author_names(authors: str) -> str:
    """Three authors at most by name."""
    names = authors.split(", ")
    return authors if len(names) <= _MAX_AUTHORS else f"{names[0]} and others"


def _leaves(source: Source, cited: Sequence[int]) -> str:
    """The pages that hold the offsets: by what they are called, as slides and sheets are, else by their numbers, counted
    from 1."""
    numbers = sorted({max(1, bisect_right(source.pages, start)) for start in cited}) if source.pages else []
    labels = source.metadata.get("page_labels", "").split("\n")
    if numbers and labels[0] and len(labels) >= len(source.pages):
        return "".join(f", {escaped(labels[number - 1])}" for number in numbers)
    told = ", ".join(map(str, numbers))
    return f", {'p.' if len(numbers) == 1 else 'pp.'} {told}" if told else ""
