"""An analyzer without a model: the passages that rank best are the findings.

Every sentence, list item, row and piece of code of the sources is a candidate; a linear ranker scores it by a few
columns, and a diverse choice takes the best. A batch chooses among its own, the survey among all of the run, so what
the batches chose stands only until then.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

from deep_research.evidence.inquiry import read_question
from deep_research.evidence.language import called, written_in
from deep_research.evidence.ranker import Ranker
from deep_research.phases.analysis.best_passages import Chosen, best_passages, wish_passages
from deep_research.phases.analysis.broad_requests import broad_findings
from deep_research.phases.analysis.handoff import (
    AnalyzerInput,
    AnalyzerOutput,
    SourceText,
    SurveyInput,
    SurveyOutput,
)
from deep_research.phases.analysis.survey import follow_sources, survey
from deep_research.phases.wishes import gap_of, searched
from deep_research.state import Found, Limit, PartVerdict, SubQueryStatus
from deep_research.state.identity import gap_id

LANGUAGE = "language"  # the name of the limit that tells of another one
LOOKED_AT = 4_000  # characters of a source by which its language is told
MOST_TONGUES = 2  # that are named
ALIKE = (
    {"da", "no", "sv"},
    {"es", "pt", "it"},
    {"zh", "ja"},
)  # languages that share many of their small words or signs
T = TypeVar("T")
BATCH_WORDS = 300  # that a batch chooses, for a report that has to do without the survey


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
        trails = follow_sources(handoff)
        if read_question(handoff.original_query).is_broad:
            found, left = wish_passages(handoff.original_query, _wishes(handoff), handoff.whole, self._ranker)
            looked = survey(handoff, trails).model_copy(update={"findings": tuple(found)})
            return _with_wishes(_with_tongues(looked, handoff), handoff, left)
        order = sorted(handoff.whole, key=lambda source: -trails.scores.get(source.id, 0.0))
        chosen = _chosen(handoff, order, handoff.words, self._ranker, stop)
        if not chosen.findings:  # what earlier rounds chose is what comes nearest
            looked = survey(handoff, trails, verdicts=_as_it_stands(chosen.verdicts, handoff))
            return _with_wishes(_with_tongues(looked, handoff), handoff, chosen.idle)
        looked = survey(handoff, trails, chosen.findings, chosen.verdicts).model_copy(
            update={
                "findings": tuple(chosen.findings),
                "dropped": tuple(f.id for f in handoff.findings if f.rank is not None),
            }
        )
        return _with_wishes(_with_tongues(looked, handoff), handoff, chosen.idle)


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
    if read_question(handoff.original_query).is_broad:
        return AnalyzerOutput(findings=tuple(broad_findings(handoff, stop)))
    return AnalyzerOutput(
        findings=tuple(_chosen(handoff, handoff.sources, BATCH_WORDS, ranker, stop).findings)
    )


def _chosen(
    handoff: AnalyzerInput | SurveyInput,
    sources: Sequence[SourceText],
    words: int,
    ranker: Ranker | None,
    stop: threading.Event | None,
) -> Chosen:
    """For the question, its parts, and all that was wished for so far."""
    return best_passages(
        handoff.original_query,
        sources,
        words,
        parts=handoff.parts,
        wishes=_wishes(handoff),
        ranker=ranker,
        stop=stop,
    )


def _wishes(handoff: AnalyzerInput | SurveyInput) -> tuple[str, ...]:
    gaps = handoff.open_gaps if isinstance(handoff, AnalyzerInput) else handoff.gaps
    return tuple(dict.fromkeys((*searched(handoff.sub_queries, gaps), *handoff.wishes)))


def _as_it_stands(verdicts: Sequence[PartVerdict], handoff: SurveyInput) -> tuple[PartVerdict, ...]:
    """A part that passages of an earlier round serve, which the report will show, is not said to be found nowhere."""
    served: dict[str | None, list[str]] = {}
    for finding in sorted((f for f in handoff.findings if f.rank is not None), key=lambda f: f.rank or 0):
        served.setdefault(finding.part_id, []).append(finding.id)
    return tuple(
        verdict.model_copy(update={"verdict": Found.PARTLY, "finding_ids": tuple(served[verdict.part_id])})
        if verdict.verdict is Found.NOT_FOUND and verdict.part_id in served
        else verdict
        for verdict in verdicts
    )


def _with_tongues(looked: SurveyOutput, handoff: SurveyInput) -> SurveyOutput:
    """With a word on it where no source is in the language of the question, as far as that is clear, and none has all of
    its words. Of a few words nobody can tell which of two languages they are that have many in common."""
    inquiry = read_question(handoff.original_query)
    asked = written_in(handoff.original_query)
    texts = [source.content for source in handoff.sources]
    told = Counter(filter(None, (written_in(text[:LOOKED_AT]) for text in texts)))
    near = next((group for group in ALIKE if asked in group), {asked})
    if not asked or not told or not near.isdisjoint(told):
        return looked
    if set(inquiry.terms).issubset(term for text in texts for term in inquiry.words.terms(text)):
        return looked
    languages = " and ".join(map(called, sorted(told, key=lambda each: (-told[each], each))[:MOST_TONGUES]))
    message = f"The question is in {called(asked)}, the sources are in {languages}: only words of both can be found."
    return looked.model_copy(update={"limits": (*looked.limits, Limit(name=LANGUAGE, message=message))})


def _with_wishes(looked: SurveyOutput, handoff: SurveyInput, idle: Sequence[str]) -> SurveyOutput:
    """With the gaps of wishes for which there is a passage, and those for which there is none; not where a cap did not
    allow their search: that is told."""
    done = {gap_id(gap_of(wish)) for wish in _wishes(handoff) if wish not in idle}
    filled = (gap.id for gap in handoff.gaps if not gap.addressed and gap.id in done)
    waiting = {s.rationale for s in handoff.sub_queries if s.status is SubQueryStatus.PENDING}
    return looked.model_copy(
        update={
            "addressed_gap_ids": (*looked.addressed_gap_ids, *filled),
            "unfollowed": tuple(wish for wish in idle if wish not in waiting),
        }
    )
