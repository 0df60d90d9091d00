"""A synthesizer without a model: an evidence brief. First the answer in a source's own words and how sure it is, then the
passages that bear on it under their sources, best first; figures that differ side by side; what was not found. Pure, but
for the thread it runs in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from math import exp

from deep_research.calls import off_loop
from deep_research.patterns import regex
from deep_research.phases.steering_queries import new_words
from deep_research.phases.synthesis.conflicts import conflicts, published
from deep_research.phases.synthesis.handoff import SynthesizerInput, SynthesizerOutput
from deep_research.provenance.quality import RANKS
from deep_research.provenance.quotes import (
    BREAKS_OFF,
    ITEM_MARK,
    announced_by,
    readable,
    shortened,
    with_end_mark,
)
from deep_research.report.markup import code_block, escaped, is_code
from deep_research.report.report_document import Block, BlockKind, Document
from deep_research.report.report_notices import (
    ALL_WITHDRAWN,
    GAPS,
    IN_OTHER_WORDS,
    IN_THEIR_WORDS,
    MOST_WORDS,
    SURE,
    gap_line,
    left_out,
    parted,
)
from deep_research.retrieval.candidates import STEP
from deep_research.retrieval.parsed_question import parse_question
from deep_research.retrieval.selection import DEFAULT_WORDS, FLOOR_WEIGHT
from deep_research.state import ConfidenceLevel, Finding, Source
from deep_research.text import unspaced
from deep_research.text.language import Vocabulary
from deep_research.verification.comparison import Figure, figures
from deep_research.verification.finding_clusters import level_of

DOUBTFUL_WORDS = 250  # shown of what comes near where it is unlikely that it holds the answer
# If no length was asked for, findings below this share of the best one's relevance are not shown.
MIN_RELEVANCE_SHARE = exp(-FLOOR_WEIGHT)
ANSWER_WORDS = 75
MAX_TITLE = 200  # characters
OTHERS = "Further findings"
WITHDRAWN = "From works that were retracted"
# What parts a sentence from the next one, or from an item; and an item from the next.
_NEXT_ITEM = regex(ITEM_MARK)
_BETWEEN = regex(rf"\s*|{ITEM_MARK}")
_OF_STEPS = ("gate:planning", "gate:analysis")  # what the supervisor is advised of, in terms of the engine


class ExtractiveSynthesizer:
    deterministic = True
    extractive = True
    name = "extractive synthesizer"

    async def __call__(self, handoff: SynthesizerInput) -> SynthesizerOutput:
        report = await off_loop(len(handoff.findings), draft, handoff)
        question = handoff.original_query
        idle = (w for w in handoff.steering if not any(has_word_of(f, w, question) for f in handoff.findings))
        return SynthesizerOutput(report=report, unfollowed=tuple(idle))


def draft(handoff: SynthesizerInput, *, notice: str = "") -> str:
    """The report's text with ids for references; ``notice`` is a line to stand on top of it. The wanted length is that of
    the passages: headings, differing figures, limits and references come on top."""
    sources = {source.id: source for source in handoff.sources}
    sound, withdrawn = parted(_ordered(handoff.findings, sources), handoff.sources)
    ordered = _first(sound or withdrawn, handoff)
    selection = within(handoff.words, ordered)
    title = shortened(" ".join(handoff.original_query.split()), MAX_TITLE)
    blocks = [Block.heading(1, escaped(title))]
    if notice:
        blocks.append(Block.notice(notice))
    if selection and not sound:
        blocks.append(Block.notice(ALL_WITHDRAWN))
    inquiry = handoff.question
    finding_ids = {finding.id for finding in selection}
    differing = [c for c in handoff.contradictions if not finding_ids.isdisjoint(c.finding_ids)]
    if selection and (inquiry.is_topic or inquiry.subject):
        blocks += _passages(selection, sources, inquiry.words)
    elif selection:
        best = {v.finding_ids[0] for v in handoff.verdicts if v.finding_ids}
        answers = [f for f in selection if f.id in best and f.rank is not None] or selection[:1]
        steered = [
            f for f in selection[: len(handoff.steering)] if _is_steered_to(f, handoff) and f not in answers
        ]
        numbers = figures(
            inquiry, sound or withdrawn, {source.id: source.title for source in handoff.sources}
        )
        answers = _led(answers, numbers, sound or withdrawn)
        figures_table, left = published(numbers, handoff.contradictions, handoff.findings, handoff.sources)
        differing = [contradiction for contradiction in left if contradiction in differing]
        blocks += [
            Block.heading(2, "Answer"),
        ]
        for finding in steered:
            blocks += _cited_blocks([_best_sentences(finding, inquiry.words)], [finding])
        blocks += [*_answer(answers, inquiry.words), *figures_table]
        blocks += _passages(selection, sources, inquiry.words, answers)
    blocks += conflicts(differing, handoff.findings, handoff.sources)
    if sound and withdrawn:
        blocks += [Block.heading(2, WITHDRAWN), *_paragraphs(within(handoff.words // 4, withdrawn))]
    uncited = sum(f.rank is None for f in sound) - sum(f.rank is None for f in selection) if sound else 0
    return Document.of([*blocks, *_limits(handoff, uncited)]).markdown


def _ordered(findings: Iterable[Finding], sources: Mapping[str, Source]) -> list[Finding]:
    """Ranked passages as they rank, then what has no rank: the nearer to the question the sooner, of those as near that
    of the better source."""

    def better(finding: Finding) -> int:
        qualities = (sources[i].quality for i in finding.source_ids if i in sources)
        return max(map(RANKS.index, qualities), default=0)

    return sorted(findings, key=lambda f: (f.rank is None, f.rank or 0, -f.relevance, -better(f)))


def _first(findings: Sequence[Finding], handoff: SynthesizerInput) -> list[Finding]:
    """The findings, and before all others the best one for each steer."""
    first: dict[str, Finding] = {}
    for steer in handoff.steering:
        best = next((f for f in findings if has_word_of(f, steer, handoff.original_query)), None)
        if best is not None:
            first.setdefault(best.id, best)
    return [*first.values(), *(f for f in findings if f.id not in first)]


def _is_steered_to(finding: Finding, handoff: SynthesizerInput) -> bool:
    return any(has_word_of(finding, steer, handoff.original_query) for steer in handoff.steering)


def has_word_of(finding: Finding, steer: str, question: str) -> bool:
    """Whether it has one of the new words of a steer."""
    words = parse_question(question).words
    new = {term for word in new_words(steer, question) for term in words.terms(word)}
    return not new.isdisjoint(words.terms(finding.content))


def within(words: int, findings: Sequence[Finding]) -> list[Finding]:
    """The best that fit into ``words``, at least one. Where no length was asked for, only those that are not far below
    the best, and the fewer the less likely they hold the answer, but `DOUBTFUL_WORDS` of them. One that is too long
    leaves its place to the next."""
    selection: list[Finding] = []
    asked_for = words != DEFAULT_WORDS
    if not asked_for and findings and findings[0].probability is not None:
        words = max(DOUBTFUL_WORDS, round(words * findings[0].probability))
    earlier_texts: set[tuple[str, ...]] = set()
    for finding in findings:
        if (
            selection
            and not asked_for
            and finding.rank is not None
            and finding.relevance < MIN_RELEVANCE_SHARE
        ):
            continue
        size = unspaced.size(finding.content)
        if finding.rank is not None or finding.source_ids not in earlier_texts:
            size += 1  # its reference
        if not selection or size <= words:
            selection.append(finding)
            earlier_texts.add(finding.source_ids)
            words -= size
    return selection


def _led(answers: Sequence[Finding], told: Sequence[Figure], findings: Iterable[Finding]) -> list[Finding]:
    """The answers, and in place of one that gives one of several figures the one that gives the first of them."""
    if not told:
        return list(answers)
    figure_findings = {figure.finding for figure in told}
    lead = next(f for f in findings if f.id == told[0].finding)
    return list({f.id: f for f in (lead if f.id in figure_findings else f for f in answers)}.values())


def _answer(best: Sequence[Finding], words: Vocabulary) -> Iterator[Block]:
    """The best sentence for each part of the question, and how sure the least sure of them is."""
    doubts = [f.probability for f in best if f.probability is not None]
    level = level_of(min(doubts)) if doubts else ConfidenceLevel.HIGH
    # What has no marked sentence is a window of a plain search.
    sure = MOST_WORDS if level is ConfidenceLevel.LOW and not best[0].highlights else SURE[level]
    for finding in best:
        yield from _cited_blocks([_best_sentences(finding, words)], [finding])
    if sure:
        yield Block.notice(sure)


def _best_sentences(best: Finding, words: Vocabulary) -> str:
    """The best sentence of a passage, after what its first word points back to, and the next ones where they were chosen
    too or it does not stand without them, an item after the heading it stands under and what announces it; of a row or of
    code all of it."""
    quote = best.quotes[0] if best.quotes else None
    if quote is None or not best.highlights or " | " in quote.quote or is_code(quote.quote):
        return _whole(best)
    first, *others = best.highlights
    start, end = first.start - quote.start, first.end - quote.start
    for span in others:
        after = span.end - quote.start
        if _BETWEEN.fullmatch(quote.quote, end, span.start - quote.start) is not None:
            end = after if unspaced.size(quote.quote[start:after]) <= ANSWER_WORDS else end
    if (
        words.opening(quote.quote[start:end]) in words.pointing
        and unspaced.size(quote.quote[:end]) <= ANSWER_WORDS
    ):
        start = 0  # what it points back to stands before it
    front = best.content[: max(0, best.content.rfind(readable(quote.quote)))]
    is_broken = end == len(quote.quote) and best.content.endswith(BREAKS_OFF)
    goes_on = BREAKS_OFF if is_broken or (front and _NEXT_ITEM.match(quote.quote, end)) else ""
    return f"{front}{readable(quote.quote, start, end)}{goes_on}"


def _passages(
    findings: Sequence[Finding],
    sources: Mapping[str, Source],
    words: Vocabulary,
    answers: Sequence[Finding] = (),
) -> Iterator[Block]:
    """The findings under what they are about or the title of their source, and their section; the passage of an answer
    only where it says more than that."""
    groups: dict[str, dict[str, list[Finding]]] = {}
    for finding in findings:
        if finding not in answers or _says_more(finding, words, findings):
            section = finding.heading.rpartition(STEP)[2]
            groups.setdefault(_about(finding, sources), {}).setdefault(section, []).append(finding)
    for about, sections in groups.items():
        yield Block.heading(2, escaped(about))
        for section, inside in sections.items():
            if section and section != about:
                yield Block.heading(3, escaped(section))
            yield from _paragraphs([_under(f, section) for f in inside])


def _says_more(answer: Finding, words: Vocabulary, others: Iterable[Finding]) -> bool:
    """Whether its passage says twice as much as it, and is no part of another."""
    is_part = any(answer.content in other.content for other in others if other is not answer)
    return not is_part and len(answer.content) > 2 * len(_best_sentences(answer, words))


def _under(finding: Finding, section: str) -> Finding:
    """An item, or the answer to a question, without its heading, which stands over it."""
    heading = f"{section} " if section.endswith("?") else f"{section}: "
    content = finding.content.removeprefix(heading) if section else finding.content
    return finding.model_copy(update={"content": content})


def _about(finding: Finding, sources: Mapping[str, Source]) -> str:
    source = sources.get(finding.source_ids[0]) if finding.source_ids else None
    return finding.category or (source.title if source and source.title.strip() else OTHERS)


def _paragraphs(findings: Sequence[Finding]) -> Iterator[Block]:
    """Each ranked passage and each piece of code by itself; statements without rank that rest on the same sources in one
    paragraph."""
    for _, group in groupby(
        findings, key=lambda f: f.source_ids if f.rank is None and not _code(f) else f.id
    ):
        together = list(group)
        yield from _cited_blocks([_whole(f) for f in together], together)


def _cited_blocks(texts: Sequence[str], findings: Sequence[Finding]) -> Iterator[Block]:
    """Outside texts with the references they rest on. Code, which comes alone, has its reference in front, behind what
    announces it."""
    cites = [finding.id for finding in findings]
    if is_code(texts[0]):
        yield Block.paragraph(escaped(announced_by(findings[0].quotes)) or "Example", cites)
        yield Block(BlockKind.CODE, code_block(texts[0]))
    else:
        yield Block.paragraph(" ".join(with_end_mark(escaped(text)) for text in texts), cites)


def _whole(finding: Finding) -> str:
    return _code(finding) or finding.content


def _code(finding: Finding) -> str:
    """Code as it stands in its source; empty for words."""
    quote = finding.quotes[0].quote if finding.quotes else ""
    return quote if is_code(quote) else ""


def _limits(handoff: SynthesizerInput, uncited: int) -> Iterable[Block]:
    lines = [escaped(gap_line(gap)) for gap in handoff.gaps if not gap.addressed]
    lines += [escaped(notice.line) for notice in handoff.notices if notice.name not in _OF_STEPS]
    if uncited:
        lines.append(left_out(uncited))
    lines.append(IN_OTHER_WORDS if handoff.read_by_model else IN_THEIR_WORDS)
    return [Block.heading(2, GAPS), *Block.items(list(dict.fromkeys(lines)))]
