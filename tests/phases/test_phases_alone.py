"""Each phase by itself over a journal in memory, as docs/testing.md shows it."""

import asyncio

import pytest
from phases.builders import Found, finding, source

from deep_research.errors import AgentError, HandoffError, PhaseStateError, SearchError, UsageError
from deep_research.phases.analysis import (
    AnalysisPhase,
    AnalyzedFinding,
    AnalyzedGap,
    AnalyzedQuote,
    AnalyzerOutput,
)
from deep_research.phases.analysis.handoff import SurveyOutput
from deep_research.phases.analysis.source_texts import MATCHED
from deep_research.phases.base import WorkLimits
from deep_research.phases.gathering import GatheringPhase, SearchGatherer
from deep_research.phases.planning import PlannedQuery, PlannerOutput, PlanningPhase
from deep_research.phases.refinement import RefinementPhase
from deep_research.phases.synthesis import SynthesisPhase, SynthesizerOutput
from deep_research.sources.search import SearchResult
from deep_research.state import (
    Budget,
    ConfidenceLevel,
    DeepResearchPhase,
    DeepResearchState,
    Gap,
    QualityUpdate,
    Quote,
    RunOptions,
    SourceQuality,
    Span,
    SubQuery,
    SubQueryStatus,
)
from deep_research.state.journal import MemoryJournal
from deep_research.testing import ScriptedAgent, scripted_agents

P = DeepResearchPhase
QUERIES = (
    SubQuery(id="subq-a", query="who built it"),
    SubQuery(id="subq-b", query="how tall is it", index=1),
)
SEARCHED = QUERIES[0].model_copy(update={"status": SubQueryStatus.COMPLETED})
MORE = SubQuery(id="subq-more", query="more of it", index=9, iteration=2)


class Agent:
    """Answers with what it is given, and remembers what it was asked."""

    deterministic = False

    def __init__(self, answer):
        self.answer = answer
        self.asked = []

    async def __call__(self, handoff):
        self.asked.append(handoff)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def run(phase, *, texts=(), **state):
    at = DeepResearchState(**{"query": "q", "phase": phase.phase, **state})
    journal = MemoryJournal(at, texts=texts)
    asyncio.run(phase.run(journal.state, journal))
    return journal


# Where a phase may work


@pytest.mark.parametrize("at", P)
@pytest.mark.parametrize(
    "kind", [PlanningPhase, GatheringPhase, AnalysisPhase, SynthesisPhase, RefinementPhase]
)
def test_a_phase_refuses_a_state_that_stands_elsewhere_and_names_the_event_to_record(kind, at):
    worker = kind(scripted_agents()["planner"] if kind is PlanningPhase else ScriptedAgent([]))
    journal = MemoryJournal(DeepResearchState(query="q", phase=at, phase_done=True))
    if at is kind.phase:
        asyncio.run(worker.run(journal.state, journal))
        return
    with pytest.raises(PhaseStateError) as refused:
        asyncio.run(worker.run(journal.state, journal))
    back = kind is GatheringPhase and at in (P.ANALYSIS, P.SYNTHESIS, P.REFINEMENT)
    event = "iteration.started" if back else "phase.started"
    assert refused.value.data == {"phase": kind.phase.value, "stands_at": at.value, "event": event}
    told = f"Record {event} before: `await journal.enter(DeepResearchPhase.{kind.phase.name})`"
    assert told in str(refused.value)
    assert journal.events == []
    asyncio.run(journal.enter(kind.phase))
    assert journal.events[0].name == event
    worker.check_place(journal.state)


def test_entering_a_phase_records_its_dispatch_and_a_further_iteration_begins_with_its_sub_queries():
    journal = MemoryJournal(DeepResearchState(query="q"))
    asyncio.run(journal.enter("gathering"))
    (decision,) = journal.state.decisions
    assert (decision.agent, decision.action) == ("gatherer", "execute_gathering")
    assert (journal.state.status, journal.state.phase) == ("running", P.GATHERING)
    journal = MemoryJournal(DeepResearchState(query="q", phase=P.REFINEMENT))
    asyncio.run(journal.enter(P.GATHERING, sub_queries=[MORE]))
    assert [event.name for event in journal.events] == ["iteration.started", "phase.started"]
    assert journal.state.iteration == 2
    assert journal.state.pending_sub_queries() == (MORE,)


@pytest.mark.parametrize(("at", "to"), [(P.PLANNING, P.GATHERING), (P.SYNTHESIS, P.REFINEMENT)])
def test_sub_queries_where_no_iteration_begins_are_refused(at, to):
    journal = MemoryJournal(DeepResearchState(query="q", phase=at))
    with pytest.raises(UsageError, match="No iteration begins"):
        asyncio.run(journal.enter(to, sub_queries=[MORE]))
    assert journal.events == []


# Planning


def planned(answer, **state):
    return run(PlanningPhase(answer), **state).state


def queries(*found, brief="b"):
    return PlannerOutput(
        research_brief=brief, sub_queries=tuple(PlannedQuery(query=q, priority=p) for q, p in found)
    )


def test_a_plan_becomes_sub_queries_by_priority_without_repeats():
    plan = queries(("second  thing", 2), ("first thing", 1), ("First Thing", 3), brief="  A brief. ")
    state = planned(Agent(plan))
    assert [(s.query, s.index) for s in state.sub_queries] == [("first thing", 0), ("second thing", 1)]
    assert state.research_brief == "A brief."
    assert state.phase_done


def test_a_new_plan_supersedes_what_was_not_searched_and_keeps_what_was():
    planner = Agent(queries(("another", 1)))
    state = planned(planner, sub_queries=(SEARCHED, QUERIES[1]))
    assert [s.status for s in state.sub_queries] == ["completed", "superseded", "pending"]
    assert planner.asked[0].earlier_queries == ("who built it",)
    planned(done := Agent(None), phase_done=True)  # a plan that was made is not made again
    assert done.asked == []


@pytest.mark.parametrize("answer", [None, "prose", {"sub_queries": "x"}, {"research_brief": "b"}])
def test_an_answer_is_validated_and_one_of_another_shape_is_a_handoff_error(answer):
    state = planned(Agent({"research_brief": "b", "sub_queries": [{"query": "from a mapping"}]}))
    assert state.sub_queries[0].query == "from a mapping"
    with pytest.raises(HandoffError, match="PlannerOutput"):
        planned(Agent(answer))


@pytest.mark.timed
def test_an_agent_that_takes_too_long_or_raises_is_an_agent_error_that_names_it():
    async def slow(handoff):
        await asyncio.Event().wait()

    with pytest.raises(AgentError, match="longer than"):
        run(PlanningPhase(slow, limits=WorkLimits(operation_timeout=0.01)))
    with pytest.raises(AgentError, match="planner failed: ZeroDivisionError: by zero"):
        planned(Agent(ZeroDivisionError("by zero")))


# Gathering


def page(name, text="A text about towers.", **fields):
    return SearchResult(address=name, title=name, text=text, **fields)


ONE_EACH = {"who built it": [page("a.md")], "how tall is it": [page("b.md")]}


def gathered(*providers, sub_queries=QUERIES, limits=None, **options):
    phase = GatheringPhase(SearchGatherer([*providers]), limits=limits or WorkLimits())
    return run(phase, sub_queries=sub_queries, options=RunOptions(**options))


def test_every_pending_sub_query_is_searched_and_recorded_as_its_own_unit():
    provider = Found(by_query=ONE_EACH)
    journal = gathered(provider)
    assert sorted(provider.asked) == ["how tall is it", "who built it"]
    assert [e.name for e in journal.events] == ["sub_query.completed"] * 2
    assert [s.url for s in journal.state.sources] == ["a.md", "b.md"]
    gathered(again := Found(by_query=ONE_EACH), sub_queries=(SEARCHED, QUERIES[1]))
    assert again.asked == ["how tall is it"]


def test_one_failing_search_leaves_the_others_their_results():
    state = gathered(Found(by_query={**ONE_EACH, "who built it": SearchError("It is down.")})).state
    assert [s.status for s in state.sub_queries] == ["failed", "completed"]
    assert state.sub_queries[0].error == "It is down."
    assert len(state.sources) == 1
    assert (state.usage.searches, state.usage.failed_searches) == (2, 1)


def test_the_next_provider_is_asked_when_the_first_cannot_answer():
    broken = Found(by_query={"who built it": OSError("no route")})
    state = gathered(broken, Found(by_query=ONE_EACH), sub_queries=QUERIES[:1]).state
    assert len(state.sources) == 1
    assert "found failed: OSError: no route" in state.notices[0].message


def test_never_more_searches_at_a_time_than_allowed():
    many = tuple(SubQuery(id=f"subq-{n}", query=f"query {n}", index=n) for n in range(12))
    provider = Found(by_query={})
    gathered(provider, sub_queries=many, limits=WorkLimits(max_concurrent=3))
    assert provider.most == 3


def test_a_cap_on_searches_stops_gathering_and_says_what_was_left_out():
    provider = Found(by_query=ONE_EACH)
    (limit,) = gathered(provider, budget=Budget(max_searches=1)).state.limits
    assert provider.asked == ["who built it"]
    assert (limit.name, limit.skipped) == ("max_searches", ("how tall is it",))


def test_no_more_sources_are_kept_than_a_sub_query_may_have_and_none_whose_text_is_too_long():
    provider = Found(
        by_query={"who built it": [page("big.md", "x" * 2000), *(page(f"{n}.md") for n in range(9))]}
    )
    few = {"sub_queries": QUERIES[:1], "limits": WorkLimits(max_source_bytes=1000)}
    state = gathered(provider, **few, max_sources_per_query=4).state
    assert [s.url for s in state.sources] == ["0.md", "1.md", "2.md"]
    assert "big.md" in state.notices[0].message


def test_an_empty_search_is_retried_in_other_words_and_a_failed_one_as_it_was():
    empty = SubQuery(id="subq-x", query="what is the tower", status=SubQueryStatus.COMPLETED)
    failed = SubQuery(id="subq-y", query="the other", status=SubQueryStatus.FAILED, index=1)
    full, wordless = (empty.model_copy(update=u) for u in ({"source_ids": ("src-1",)}, {"query": "?"}))
    phase = GatheringPhase(SearchGatherer([]))
    for found, words in (((empty, failed), ["tower"]), ((full,), None), ((wordless,), None)):
        retry = phase.retried(DeepResearchState(query="q", sub_queries=found), advised=False)
        assert (retry and [s.query for s in retry.sub_queries]) == words


# Analysis

TEXT = "The tower was built in 1811.\nIt stands  on a reef."


def of(name, text=TEXT):
    return source(1, text, id=f"src-{name}", title=name, url=f"{name}.md", quality=SourceQuality.HIGH)


def said(content, quote, source_ids=("src-a",)):
    quotes = tuple(AnalyzedQuote(source_id=i, quote=quote) for i in source_ids)
    return AnalyzedFinding(content=content, source_ids=source_ids, quotes=quotes)


def analyzed(*findings, sources=(), texts=(TEXT,), state=None, **more):
    sources = sources or (of("a"),)
    agent = Agent(AnalyzerOutput(findings=findings, **more))
    made = run(AnalysisPhase(agent), sources=sources, texts=texts, **(state or {})).state
    return made, agent


def test_a_quote_is_found_in_the_saved_text_exactly_or_but_for_white_space_and_dropped_if_it_is_not_in_it():
    quotes = "built in 1811", "It stands on a reef.", "built in 1911"
    state, _ = analyzed(*(said(f"Statement {n}.", quote) for n, quote in enumerate(quotes)))
    found = [quote for finding in state.findings for quote in finding.quotes]
    assert [quote.quote for quote in found] == ["built in 1811", "It stands  on a reef."]
    assert all(TEXT[quote.start : quote.end] == quote.quote for quote in found)
    assert state.findings[2].quotes == ()


def test_ids_that_were_not_given_are_dropped_and_a_quality_update_changes_the_source():
    updates = (QualityUpdate(source_id=f"src-{name}", quality=SourceQuality.LOW) for name in ("other", "a"))
    foreign = said("Foreign.", "built", ("src-other",))
    state, _ = analyzed(foreign, quality_updates=tuple(updates), addressed_gap_ids=("gap-other",))
    assert state.findings == ()
    assert state.sources[0].quality is SourceQuality.LOW
    assert state.phase_done
    _, agent = analyzed(sources=(of("a"), of("b")), state={"analyzed": frozenset({"src-a"})})
    assert [s.id for s in agent.asked[0].sources] == ["src-b"]  # the others were read


def test_findings_that_say_the_same_become_one_with_all_their_sources():
    texts = [TEXT + " " * n for n in range(3)]
    sources = tuple(of(name, text) for name, text in zip("abc", texts, strict=True))
    content = "The tower was built in 1811"
    ends = zip("abc", (".", "", "!"), strict=True)
    said_so = [said(f"{content}{end}", "built in 1811", (f"src-{name}",)) for name, end in ends]
    (finding,) = analyzed(*said_so, sources=sources, texts=texts)[0].findings
    assert finding.source_ids == ("src-a", "src-b", "src-c")
    assert finding.confidence is ConfidenceLevel.CONFIRMED


def test_batches_are_as_large_as_allowed_and_each_is_a_unit():
    texts = [f"text number {n}" + "x" * 400 for n in range(5)]
    sources = tuple(of(str(n), text) for n, text in enumerate(texts))
    phase = AnalysisPhase(Agent(AnalyzerOutput()), limits=WorkLimits(batch_bytes=900))
    journal = run(phase, sources=sources, texts=texts)
    batches = [e.source_ids for e in journal.events if e.name == "sources.analyzed"]
    assert sorted(map(len, batches)) == [1, 2, 2]
    assert sorted(i for b in batches for i in b) == sorted(s.id for s in sources)


@pytest.mark.parametrize(
    ("told", "addressed"), [("It was built by Robert Stevenson.", True), ("It was built of granite.", False)]
)
def test_a_gap_is_addressed_by_a_finding_of_the_kind_that_it_asks_for(told, addressed):
    state = {"gaps": (Gap(id="gap-1", description="who built it"),), "iteration": 2}
    found = AnalyzedFinding(content=told, source_ids=("src-a",))
    more = {"addressed_gap_ids": ("gap-1",), "gaps": (AnalyzedGap(description="new one"),)}
    gaps = analyzed(found, state=state, **more)[0].gaps
    assert [(g.description, g.addressed) for g in gaps] == [("who built it", addressed), ("new one", False)]
    assert bool(gaps[0].resolution) is addressed


def test_what_is_surveyed_of_a_source_is_bounded_whatever_its_provider_calls_a_match():
    text = "The tower of Mole is 57 m tall. " * 10_000
    provider = Found(
        by_query={"who built it": [page("all.md", text, passages=(Span(start=0, end=len(text)),))]}
    )
    sources = gathered(provider, sub_queries=QUERIES[:1]).state.sources
    agent, surveyed = Agent(AnalyzerOutput()), []
    agent.survey = lambda handoff: surveyed.append(handoff) or SurveyOutput()
    run(AnalysisPhase(agent), sources=sources, sub_queries=QUERIES[:1], texts=[text.strip(), text])
    assert [len(source.content) for source in surveyed[0].sources] == [MATCHED]


# Synthesis and refinement

BUILT = Quote(source_id="src-a", quote="built in 1811", start=14, end=27, content_hash="h")
MEDIUM = ConfidenceLevel.MEDIUM
FOUND = finding(1, "Built in 1811.", source_ids=("src-a",), quotes=(BUILT,), confidence=MEDIUM)


def test_ids_in_a_report_become_numbers_and_those_that_were_never_given_are_taken_out_and_counted():
    report = "# T\n\n## S\n\nBuilt in 1811 [find-000000000001][find-00000000000f][src-00000000000f]."
    phase = SynthesisPhase(Agent(SynthesizerOutput(report=report)))
    state = run(phase, sources=(of("a"),), findings=(FOUND,)).state
    assert "Built in 1811 [1]." in state.report
    assert r"1. a. a\.md" in state.report
    (citation,) = state.citations
    assert (citation.number, citation.source_id, citation.quote) == (1, "src-a", "built in 1811")
    metadata = state.report_metadata
    assert (metadata.sections, metadata.removed_references) == (("S", "References"), 2)
    assert metadata.confidence_summary.medium == 1


def test_the_synthesizer_is_given_findings_gaps_guidance_and_improvements():
    writer = Agent(SynthesizerOutput(report="x"))
    known = {"sources": (of("a"), of("b")), "findings": (FOUND,), "gaps": (Gap(id="gap-1", description="d"),)}
    options = RunOptions(report_words=300, system_prompt="be brief")
    run(SynthesisPhase(writer), **known, report_improvements=("shorter",), options=options)
    (handoff,) = writer.asked
    assert (handoff.finding_count, handoff.gap_count, handoff.words) == (1, 1, 300)
    assert [s.id for s in handoff.sources] == ["src-a"]
    assert (handoff.improvements, handoff.system_prompt) == (("shorter",), "be brief")


def test_a_flat_list_of_follow_ups_is_nested_under_its_gaps():
    refiner = Agent(
        {
            "gap_analysis": [{"gap_id": "gap-1", "severity": "critical"}, {"gap_id": "gap-foreign"}],
            "iteration_recommendation": {"should_iterate": True, "priority_gaps": ["gap-1", "gap-foreign"]},
            "follow_up_queries": [{"gap_id": "gap-1", "query": "the follow-up"}],
        }
    )
    state = run(RefinementPhase(refiner), gaps=(Gap(id="gap-1", description="d"),)).state
    (analysis,) = state.gap_analysis
    assert analysis.follow_up_queries[0].query == "the follow-up"
    assert (state.recommendation.priority_gaps, state.refined) == (("gap-1",), 1)
