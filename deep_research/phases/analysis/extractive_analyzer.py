"""An analyzer without a model: the passages that rank best are the findings.

Every sentence, list item, row and piece of code of the sources is a candidate; a linear ranker scores it by a few
columns, and a diverse choice takes the best. A batch chooses among its own, the survey among all of the run, so what
the batches chose stands only until then. The survey also follows the sources like a trail from name to name, and tells
the names of the question that no source has.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from deep_research.phases.analysis.best_passages import ChosenPassages, best_passages, steering_passages
from deep_research.phases.analysis.broad_requests import broad_findings
from deep_research.phases.analysis.handoff import (
    AnalyzedFinding,
    AnalyzedGap,
    AnalyzerInput,
    AnalyzerOutput,
    SourceText,
    SurveyInput,
    SurveyOutput,
)
from deep_research.phases.steering_plan import gap_of, searched
from deep_research.retrieval.multi_hop import Item, Trails, asked_terms, follow
from deep_research.retrieval.parsed_question import ParsedQuestion
from deep_research.retrieval.ranker import Ranker
from deep_research.state import (
    AnswerStatus,
    Finding,
    FirstLook,
    Gap,
    Mention,
    PartVerdict,
    SubQuery,
    SubQueryStatus,
)
from deep_research.state.identity import gap_id
from deep_research.text.names import key, question_names, runs, spelled
from deep_research.text.statements import reader
from deep_research.text.words import AskedWords

BATCH_WORDS = 300  # that a batch chooses, for a report that has to do without the survey

LATER = 3  # follow-ups in each round after the first
SETTLED = 0.7  # of the question held by sources that belong together, for no search to follow
MENTIONS = 16  # of a source whose provider names none

NOTHING = "Nothing was found about "
MORE = "There may be more to find on: "
OURS = (NOTHING, MORE)  # how the gaps begin that are named here

T = TypeVar("T")


class ExtractiveAnalyzer:
    """The work runs in a thread; between documents it looks whether it should stop."""

    deterministic = True
    name = "extractive analyzer"
    batch_bytes = 8_000_000
    reads_again = True

    def __init__(self, ranker: Ranker | None = None) -> None:
        self._ranker = ranker

    async def __call__(self, handoff: AnalyzerInput) -> AnalyzerOutput:
        return await _stoppable(lambda stop: analyze(handoff, stop, self._ranker))

    async def survey(self, handoff: SurveyInput) -> SurveyOutput:
        return await _stoppable(lambda stop: self._survey(handoff, stop))

    def _survey(self, handoff: SurveyInput, stop: threading.Event) -> SurveyOutput:
        """What all sources together say: their order and what to ask next, and of all their passages the best."""
        trails = _follow_sources(handoff)
        if handoff.question.is_broad:
            best, idle = steering_passages(handoff.question, _steering(handoff), handoff.whole, self._ranker)
            looked = survey(handoff, trails).model_copy(update={"findings": tuple(best)})
            return _with_unfollowed(looked, handoff, idle)
        order = sorted(handoff.whole, key=lambda source: -trails.scores.get(source.id, 0.0))
        selection = _choose_findings(handoff, order, handoff.words, self._ranker, stop)
        if not selection.findings:  # what earlier rounds chose is what comes nearest
            looked = survey(handoff, trails, verdicts=_as_it_stands(selection.verdicts, handoff))
            return _with_unfollowed(looked, handoff, selection.idle)
        looked = survey(handoff, trails, selection.findings, selection.verdicts).model_copy(
            update={
                "findings": tuple(selection.findings),
                "dropped": tuple(f.id for f in handoff.findings if f.rank is not None),
            }
        )
        return _with_unfollowed(looked, handoff, selection.idle)


async def _stoppable(work: Callable[[threading.Event], T]) -> T:
    """What ``work`` answers in a thread; it is told to stop when nobody waits for it any more."""
    stop = threading.Event()
    try:
        return await asyncio.to_thread(work, stop)
    except asyncio.CancelledError:
        stop.set()
        raise


def analyze(
    handoff: AnalyzerInput, stop: threading.Event | None = None, ranker: Ranker | None = None
) -> AnalyzerOutput:
    """The findings of one batch. Pure, but that it gives up when ``stop`` is set."""
    if handoff.question.is_broad:
        return AnalyzerOutput(findings=tuple(broad_findings(handoff, stop)))
    return AnalyzerOutput(
        findings=tuple(_choose_findings(handoff, handoff.sources, BATCH_WORDS, ranker, stop).findings)
    )


def _choose_findings(
    handoff: AnalyzerInput | SurveyInput,
    sources: Sequence[SourceText],
    words: int,
    ranker: Ranker | None,
    stop: threading.Event | None,
) -> ChosenPassages:
    """For the question, its parts, and all guidance so far."""
    return best_passages(
        handoff.question,
        sources,
        words,
        parts=handoff.parts,
        steering=_steering(handoff),
        ranker=ranker,
        stop=stop,
    )


def _steering(handoff: AnalyzerInput | SurveyInput) -> tuple[str, ...]:
    gaps = handoff.open_gaps if isinstance(handoff, AnalyzerInput) else handoff.gaps
    return tuple(dict.fromkeys((*searched(handoff.sub_queries, gaps), *handoff.steering)))


def _as_it_stands(verdicts: Sequence[PartVerdict], handoff: SurveyInput) -> tuple[PartVerdict, ...]:
    """A part that passages of an earlier round serve, which the report will show, is not said to be found nowhere."""
    served: dict[str | None, list[str]] = {}
    for finding in sorted((f for f in handoff.findings if f.rank is not None), key=lambda f: f.rank or 0):
        served.setdefault(finding.part_id, []).append(finding.id)
    return tuple(
        verdict.model_copy(
            update={"verdict": AnswerStatus.PARTLY, "finding_ids": tuple(served[verdict.part_id])}
        )
        if verdict.verdict is AnswerStatus.NOT_FOUND and verdict.part_id in served
        else verdict
        for verdict in verdicts
    )


def _with_unfollowed(looked: SurveyOutput, handoff: SurveyInput, idle: Sequence[str]) -> SurveyOutput:
    """With the gaps of steers for which there is a passage, and those for which there is none; not where a cap did not
    allow their search: that is told."""
    followed_gaps = {gap_id(gap_of(steer)) for steer in _steering(handoff) if steer not in idle}
    filled = (gap.id for gap in handoff.gaps if not gap.addressed and gap.id in followed_gaps)
    waiting = {s.rationale for s in handoff.sub_queries if s.status is SubQueryStatus.PENDING}
    return looked.model_copy(
        update={
            "addressed_gap_ids": (*looked.addressed_gap_ids, *filled),
            "unfollowed": tuple(steer for steer in idle if steer not in waiting),
        }
    )


def survey(
    handoff: SurveyInput,
    trails: Trails | None = None,
    findings: Sequence[AnalyzedFinding | Finding] | None = None,
    verdicts: Sequence[PartVerdict] = (),
) -> SurveyOutput:
    """What all sources together say. An analyzer that chooses among all of them follows their ``trails`` first, and gives
    the ``findings`` that it chose in place of those that stand, with its ``verdicts`` on the parts. Pure."""
    trails = trails or _follow_sources(handoff)
    all_findings = handoff.findings if findings is None else findings
    inquiry = handoff.question
    queries = _follow_ups(trails, handoff)
    # What a broad request asks in full no source has, and searching for its rest brings other subjects.
    broad = all_findings and (inquiry.is_broad or inquiry.subject)
    # What asks nothing, as a claim does, is told in one place or nowhere: where its names lead, other subjects are.
    asks = bool(inquiry.expects) or "?" in inquiry.text
    searching = asks and trails.coverage < SETTLED
    is_answered = all(verdict.verdict is not AnswerStatus.NOT_FOUND for verdict in verdicts)
    missing = () if broad else _gaps(handoff, inquiry, queries if searching else (), answered=is_answered)
    return SurveyOutput(
        scores={source: round(score, 6) for source, score in trails.scores.items()},
        gaps=missing,
        addressed_gap_ids=() if handoff.read_by_model else _addressed(missing, handoff.gaps),
        follow_ups=queries if not broad and (missing or not is_answered) else (),
        completeness=round(min(1.0, trails.coverage), 4),
        verdicts=tuple(verdicts),
    )


def _follow_sources(handoff: SurveyInput) -> Trails:
    """How the sources of a run hang together."""
    look = handoff.first_look or FirstLook()
    return follow(
        asked_terms(handoff.question, look.words, question_names(handoff.original_query, look)),
        _items(handoff.sources, handoff.sub_queries),
        naming=frozenset(s.index for s in handoff.sub_queries if s.iteration == 1 and s.index),
        following=frozenset(s.index for s in handoff.sub_queries if s.iteration > 1),
    )


def _addressed(found: Sequence[AnalyzedGap], gaps_: Sequence[Gap]) -> tuple[str, ...]:
    """The gaps of ours that are none any more: those that would not be named again."""
    still = {gap.description for gap in found}
    ours = (gap for gap in gaps_ if not gap.addressed and gap.description.startswith(OURS))
    return tuple(gap.id for gap in ours if gap.description not in still)


def _items(sources: Sequence[SourceText], sub_queries: Iterable[SubQuery]) -> list[Item]:
    ranks: dict[str, dict[int, int]] = defaultdict(dict)
    for sub_query in sub_queries:
        for rank, source_id in enumerate(sub_query.source_ids):
            ranks[source_id][sub_query.index] = rank
    unnamed = [s for s in sources if not s.mentions]
    own = dict(zip((s.id for s in unnamed), _mentions(unnamed), strict=True))
    return [
        Item(
            id=source.id,
            title=source.title,
            text=source.content,
            mentions=source.mentions or own[source.id],
            ranks=ranks[source.id],
        )
        for source in sources
    ]


def _mentions(sources: Sequence[SourceText]) -> list[tuple[Mention, ...]]:
    """The names in texts of which no provider knows how telling they are: rarer among these texts, more telling."""
    names_of = [dict.fromkeys(name for _, name in runs(source.content)) for source in sources]
    holding = Counter(name for names in names_of for name in names)
    return [
        tuple(
            sorted(
                (Mention(name=name, weight=round(holding[name] ** -0.5, 4)) for name in names),
                key=lambda mention: (-mention.weight, mention.name),
            )[:MENTIONS]
        )
        for names in names_of
    ]


def _follow_ups(trails: Trails, handoff: SurveyInput) -> tuple[str, ...]:
    """The best leads as queries, fewer in later rounds. Nothing is asked twice."""
    query_keys = {key(s.query) for s in handoff.sub_queries}
    fresh: dict[str, str] = {}
    for lead in trails.leads:
        fresh.setdefault(key(lead.query), lead.query)
    queries = [query for query_key, query in fresh.items() if query_key and query_key not in query_keys]
    return tuple(queries[: min(LATER if handoff.iteration > 1 else handoff.follow_ups, handoff.follow_ups)])


def _gaps(
    handoff: SurveyInput, inquiry: ParsedQuestion, queries: Sequence[str], *, answered: bool
) -> tuple[AnalyzedGap, ...]:
    """Names that no source has; while ``queries`` may find more of a question that something answers, that they may."""
    if unknown := _unknown(handoff, inquiry):
        return (AnalyzedGap(description=f"{NOTHING}{_either(unknown)}.", priority=2),)
    if queries and answered and len(inquiry.parts) == 1:
        return (AnalyzedGap(description=f"{MORE}{inquiry.text}", priority=2),)
    return ()


def _unknown(handoff: SurveyInput, inquiry: ParsedQuestion) -> list[str]:
    """The names that no source has in its whole text, nor a compound with one, as the question spells them; of one within
    another, the shorter."""
    names = question_names(handoff.original_query, handoff.first_look or FirstLook())
    keys = reader(inquiry.language).keys
    texts = {s.id: f"{s.title}\n{s.content}" for s in (*handoff.sources, *handoff.whole)}
    source_keys = frozenset[str]().union(*map(keys, texts.values()))
    lacking = {mention.name: keys(mention.name) - source_keys for mention in names}
    question_keys = frozenset[str]().union(*lacking.values())
    spellings = (
        AskedWords(question_keys, question_keys, inquiry.words, inquiry.text, [source_keys]).among(
            source_keys
        )
        if question_keys
        else question_keys
    )
    unknown = [name for name, missing in lacking.items() if not missing <= spellings]
    short = [n for n in unknown if not any(f" {o} " in f" {n} " for o in unknown if o != n)]
    return spelled(handoff.original_query, *sorted(short, key=key(handoff.original_query).find))


def _either(names: Sequence[str]) -> str:
    quotations = [f"“{name}”" for name in names]
    return f"{', '.join(quotations[:-1])} or {quotations[-1]}" if len(quotations) > 1 else quotations[0]
