"""The extractive survey: all sources of a run together, followed like a trail from name to name, and the names of the
question that no source has."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from deep_research.evidence.inquiry import Inquiry, read_question
from deep_research.evidence.multi_hop import Item, Trails, asked, follow
from deep_research.evidence.names import key, question_names, runs, spelled
from deep_research.evidence.statements import reader
from deep_research.evidence.words import AskedWords
from deep_research.phases.analysis.handoff import (
    AnalyzedFinding,
    AnalyzedGap,
    SourceText,
    SurveyInput,
    SurveyOutput,
)
from deep_research.state import Finding, FirstLook, Found, Gap, Mention, PartVerdict, SubQuery

LATER = 3  # follow-ups in each round after the first
SETTLED = 0.7  # of the question held by sources that belong together, for no search to follow
MENTIONS = 16  # of a source whose provider names none

NOTHING = "Nothing was found about "
MORE = "There may be more to find on: "
OURS = (NOTHING, MORE)  # how the gaps begin that are named here


def survey(
    handoff: SurveyInput,
    trails: Trails | None = None,
    findings: Sequence[AnalyzedFinding | Finding] | None = None,
    verdicts: Sequence[PartVerdict] = (),
) -> SurveyOutput:
    """What all sources together say. An analyzer that chooses among all of them follows their ``trails`` first, and gives
    the ``findings`` that it chose in place of those that stand, with its ``verdicts`` on the parts. Pure."""
    trails = trails or follow_sources(handoff)
    found = handoff.findings if findings is None else findings
    inquiry = read_question(handoff.original_query)
    queries = _follow_ups(trails, handoff)
    # What a broad request asks in full no source has, and searching for its rest brings other subjects.
    broad = found and (inquiry.is_broad or inquiry.subject)
    # What asks nothing, as a claim does, is told in one place or nowhere: where its names lead, other subjects are.
    asks = bool(inquiry.expects) or "?" in inquiry.text
    searching = asks and trails.held < SETTLED
    answered = all(verdict.verdict is not Found.NOT_FOUND for verdict in verdicts)
    missing = () if broad else _gaps(handoff, inquiry, queries if searching else (), answered=answered)
    return SurveyOutput(
        scores={source: round(score, 6) for source, score in trails.scores.items()},
        gaps=missing,
        addressed_gap_ids=() if handoff.read_by_model else _addressed(missing, handoff.gaps),
        follow_ups=queries if not broad and (missing or not answered) else (),
        completeness=round(min(1.0, trails.held), 4),
        verdicts=tuple(verdicts),
    )


def follow_sources(handoff: SurveyInput) -> Trails:
    """How the sources of a run hang together."""
    look = handoff.first_look or FirstLook()
    return follow(
        asked(
            read_question(handoff.original_query), look.words, question_names(handoff.original_query, look)
        ),
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
    named = [dict.fromkeys(name for _, name in runs(source.content)) for source in sources]
    holding = Counter(name for names in named for name in names)
    return [
        tuple(
            sorted(
                (Mention(name=name, weight=round(holding[name] ** -0.5, 4)) for name in names),
                key=lambda mention: (-mention.weight, mention.name),
            )[:MENTIONS]
        )
        for names in named
    ]


def _follow_ups(trails: Trails, handoff: SurveyInput) -> tuple[str, ...]:
    """The best leads as queries, fewer in later rounds. Nothing is asked twice."""
    known = {key(s.query) for s in handoff.sub_queries}
    fresh: dict[str, str] = {}
    for lead in trails.leads:
        fresh.setdefault(key(lead.query), lead.query)
    queries = [query for wanted, query in fresh.items() if wanted and wanted not in known]
    return tuple(queries[: min(LATER if handoff.iteration > 1 else handoff.follow_ups, handoff.follow_ups)])


def _gaps(
    handoff: SurveyInput, inquiry: Inquiry, queries: Sequence[str], *, answered: bool
) -> tuple[AnalyzedGap, ...]:
    """Names that no source has; while ``queries`` may find more of a question that something answers, that they may."""
    if unknown := _unknown(handoff, inquiry):
        return (AnalyzedGap(description=f"{NOTHING}{_either(unknown)}.", priority=2),)
    if queries and answered and len(inquiry.parts) == 1:
        return (AnalyzedGap(description=f"{MORE}{inquiry.text}", priority=2),)
    return ()


def _unknown(handoff: SurveyInput, inquiry: Inquiry) -> list[str]:
    """The names that no source has in its whole text, nor a compound with one, as the question spells them; of one within
    another, the shorter."""
    names = question_names(handoff.original_query, handoff.first_look or FirstLook())
    keys = reader(inquiry.language).keys
    texts = {s.id: f"{s.title}\n{s.content}" for s in (*handoff.sources, *handoff.whole)}
    held = frozenset[str]().union(*map(keys, texts.values()))
    lacking = {mention.name: keys(mention.name) - held for mention in names}
    asked = frozenset[str]().union(*lacking.values())
    written = AskedWords(asked, asked, inquiry.words, inquiry.text, [held]).among(held) if asked else asked
    unknown = [name for name, missing in lacking.items() if not missing <= written]
    short = [n for n in unknown if not any(f" {o} " in f" {n} " for o in unknown if o != n)]
    return spelled(handoff.original_query, *sorted(short, key=key(handoff.original_query).find))


def _either(names: Sequence[str]) -> str:
    quoted = [f"“{name}”" for name in names]
    return f"{', '.join(quoted[:-1])} or {quoted[-1]}" if len(quoted) > 1 else quoted[0]
