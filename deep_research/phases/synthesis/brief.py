"""A synthesizer without a model: an evidence brief. First the answer in a source's own words, then the passages that bear
on it, under their sources, best first; then what was not found. Pure, but for the thread it runs in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deep_research.evidence.examples import is_example, shown
from deep_research.evidence.question import is_broad
from deep_research.phases.base import off_loop
from deep_research.phases.synthesis.conflicts import conflicts
from deep_research.phases.synthesis.extractive import draft
from deep_research.phases.synthesis.handoff import SynthesizerInput, SynthesizerOutput
from deep_research.report.markup import escaped
from deep_research.state import Finding, Source

DEFAULT_WORDS = 800
FLOOR = 0.082  # of the best one's relevance, below which nothing is shown where no length was asked for
ANSWER_WORDS = 75
SURE = 0.35
MODE = "Put together without a language model: every sentence is its source's own."


class BriefSynthesizer:
    deterministic = True
    name = "evidence brief"

    async def __call__(self, handoff: SynthesizerInput) -> SynthesizerOutput:
        return SynthesizerOutput(report=await off_loop(len(handoff.findings), brief, handoff))


def brief(handoff: SynthesizerInput, *, notice: str = "") -> str:
    """The report's text with ids for references; ``notice`` is a line to stand on top of it."""
    if is_broad(handoff.original_query):
        return draft(handoff, notice=notice)
    findings = sorted(handoff.findings, key=lambda f: (f.rank is None, f.rank or 0))
    kept = _within(findings, handoff.words)
    sources = {source.id: source for source in handoff.sources}
    blocks = [f"# {escaped(handoff.original_query)}"]
    if notice:
        blocks.append(f"*{notice}*")
    if kept:
        blocks += ["## Answer", _answer(kept[0]), *_doubt(kept[0])]
        blocks += _passages(kept, sources)
    blocks += conflicts(handoff.contradictions, handoff.findings, handoff.sources)
    return "\n\n".join([*blocks, *_limits(handoff)])


def _within(findings: Sequence[Finding], words: int) -> list[Finding]:
    """The best that fit; where no length was asked for, only those that are not far below the best."""
    kept: list[Finding] = []
    left = words
    for finding in findings:
        if kept and words == DEFAULT_WORDS and finding.rank is not None and finding.relevance < FLOOR:
            continue
        size = len(finding.content.split())
        if kept and size > left:
            continue
        kept.append(finding)
        left -= size
    return kept


def _answer(best: Finding) -> str:
    """The best sentence, and the next one where that was chosen too."""
    return f"{_shown(_told(best))} [{best.id}]"


def _told(best: Finding) -> str:
    """The words of the answer: of a row or of code all of it."""
    if not best.quotes or not best.marked or best.content != " ".join(best.quotes[0].quote.split()):
        return best.content
    quote = best.quotes[0]
    first, *others = best.marked
    after = next((s for s in others if 0 <= s.start - first.end < 3), None)
    end = (
        after.end
        if after
        and len(quote.quote[first.start - quote.start : after.end - quote.start].split()) <= ANSWER_WORDS
        else first.end
    )
    return quote.quote[first.start - quote.start : end - quote.start]


def _doubt(best: Finding) -> list[str]:
    if best.probability is None or best.probability >= SURE:
        return []
    return ["*No source that was found says this outright: it is what comes nearest.*"]


def _passages(kept: Sequence[Finding], sources: dict[str, Source]) -> list[str]:
    """Best first, each under the title of its source and its section; the answer's own only where it says more than the
    answer."""
    blocks: list[str] = []
    source_id = heading = ""
    for finding in kept:
        if finding is kept[0] and not _says_more(finding):
            continue
        title = sources[finding.source_ids[0]].title if finding.source_ids[0] in sources else ""
        if finding.source_ids[0] != source_id:
            blocks.append(f"## {escaped(title) or 'Further passages'}")
            source_id, heading = finding.source_ids[0], ""
        own = finding.heading.rpartition(" / ")[2]
        if own and own not in (title, heading):
            blocks.append(f"### {escaped(own)}")
            heading = own
        blocks.append(f"{_shown(_whole(finding))} [{finding.id}]")
    return blocks


def _says_more(best: Finding) -> bool:
    return len(best.content) > 2 * len(_told(best))


def _whole(finding: Finding) -> str:
    """Code as it stands in its source."""
    quote = finding.quotes[0].quote if finding.quotes else ""
    return quote if is_example(quote) else finding.content


def _shown(text: str) -> str:
    return shown(text) if is_example(text) else escaped(text)


def _limits(handoff: SynthesizerInput) -> Iterable[str]:
    lines = [f"- {escaped(gap.description)}" for gap in handoff.gaps if not gap.addressed]
    lines += [f"- {escaped(limit.line)}" for limit in handoff.limits]
    yield "## Gaps and limits"
    yield "\n".join([*dict.fromkeys(lines), f"- {MODE}"])
