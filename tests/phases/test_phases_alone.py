"""Each phase by itself over a journal in memory, as docs/testing.md shows it."""

import asyncio

import pytest

from deep_research import (
    DeepResearchPhase,
    DeepResearchState,
    Finding,
    Gap,
    RunOptions,
    SearchProvider,
    SearchResult,
    Source,
    SourceQuality,
    SubQuery,
)
from deep_research.errors import AgentError, HandoffError, SearchError
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
from deep_research.state import Budget, ConfidenceLevel, QualityUpdate, Quote, Span, SubQueryStatus
from deep_research.state.journal import Content, MemoryJournal

QUERIES = (
    SubQuery(id="subq-a", query="who built it", index=0),
    SubQuery(id="subq-b", query="how tall is it", index=1),
)


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
        return self.answer(handoff) if callable(self.answer) else self.answer


class Library(SearchProvider):
    name = "library"

    def __init__(self, answers):
        self.answers = answers
        self.calls = []

    async def search(self, request):
        self.calls.append(request.query)
        answer = self.answers.get(request.query, [])
        if isinstance(answer, Exception):
            raise answer
        return answer


def page(name, text="A text about towers.", **fields):
    return SearchResult(address=name, title=name, text=text, **fields)


def run(phase, state, **journal):
    recorder = MemoryJournal(state.model_copy(update={"phase": phase.phase}), **journal)
    asyncio.run(phase.run(recorder.state, recorder))
    return recorder


# Planning


def test_a_plan_becomes_sub_queries_by_priority_without_repeats():
    planner = Agent(
        PlannerOutput(
            research_brief="  A brief. ",
            sub_queries=(
                PlannedQuery(query="second  thing", priority=2),
                PlannedQuery(query="first thing", priority=1),
                PlannedQuery(query="First Thing", priority=3),
            ),
        )
    )
    state = run(PlanningPhase(planner), DeepResearchState(query="q")).state
    assert [s.query for s in state.sub_queries] == ["first thing", "second thing"]
    assert [s.index for s in state.sub_queries] == [0, 1]
    assert state.research_brief == "A brief."
    assert state.phase_done


def test_a_plan_that_was_made_is_not_made_again():
    planner = Agent(None)
    run(PlanningPhase(planner), DeepResearchState(query="q", phase_done=True))
    assert planner.asked == []


def test_a_new_plan_supersedes_what_was_not_searched_and_keeps_what_was():
    searched = QUERIES[0].model_copy(update={"status": SubQueryStatus.COMPLETED})
    planner = Agent(PlannerOutput(research_brief="b", sub_queries=(PlannedQuery(query="another"),)))
    state = run(
        PlanningPhase(planner), DeepResearchState(query="q", sub_queries=(searched, QUERIES[1]))
    ).state
    assert [s.status for s in state.sub_queries] == ["completed", "superseded", "pending"]
    assert planner.asked[0].earlier_queries == ("who built it",)


def test_an_answer_given_as_a_mapping_is_validated():
    planner = Agent({"research_brief": "b", "sub_queries": [{"query": "from a mapping"}]})
    assert (
        run(PlanningPhase(planner), DeepResearchState(query="q")).state.sub_queries[0].query
        == "from a mapping"
    )


@pytest.mark.parametrize("answer", [None, "prose", {"sub_queries": "x"}, {"research_brief": "b"}])
def test_an_answer_of_another_shape_is_a_handoff_error(answer):
    with pytest.raises(HandoffError, match="PlannerOutput"):
        run(PlanningPhase(Agent(answer)), DeepResearchState(query="q"))


def test_what_an_agent_raises_becomes_an_agent_error_that_names_it():
    with pytest.raises(AgentError, match="planner failed: ZeroDivisionError: by zero"):
        run(PlanningPhase(Agent(ZeroDivisionError("by zero"))), DeepResearchState(query="q"))


@pytest.mark.timed
def test_an_agent_that_takes_too_long_is_an_agent_error():
    class Slow:
        deterministic = True

        async def __call__(self, handoff):
            await asyncio.Event().wait()

    phase = PlanningPhase(Slow(), limits=WorkLimits(operation_timeout=0.01))
    with pytest.raises(AgentError, match="longer than"):
        run(phase, DeepResearchState(query="q"))


def test_a_plain_function_is_an_agent_too():
    def plan(handoff):
        return PlannerOutput(research_brief="b", sub_queries=(PlannedQuery(query="from a function"),))

    assert (
        run(PlanningPhase(plan), DeepResearchState(query="q")).state.sub_queries[0].query == "from a function"
    )


# Gathering


def test_every_pending_sub_query_is_searched_and_recorded_as_its_own_unit():
    library = Library({"who built it": [page("a.md")], "how tall is it": [page("b.md")]})
    journal = run(
        GatheringPhase(SearchGatherer([library])), DeepResearchState(query="q", sub_queries=QUERIES)
    )
    assert sorted(library.calls) == ["how tall is it", "who built it"]
    assert [e.name for e in journal.events] == ["sub_query.completed"] * 2
    assert [s.url for s in journal.state.sources] == ["a.md", "b.md"]


def test_a_sub_query_that_was_searched_is_not_searched_again():
    library = Library({"how tall is it": [page("b.md")]})
    done = QUERIES[0].model_copy(update={"status": SubQueryStatus.COMPLETED})
    run(
        GatheringPhase(SearchGatherer([library])),
        DeepResearchState(query="q", sub_queries=(done, QUERIES[1])),
    )
    assert library.calls == ["how tall is it"]


def test_one_failing_search_leaves_the_others_their_results():
    library = Library({"who built it": SearchError("It is down."), "how tall is it": [page("b.md")]})
    state = run(
        GatheringPhase(SearchGatherer([library])), DeepResearchState(query="q", sub_queries=QUERIES)
    ).state
    assert [s.status for s in state.sub_queries] == ["failed", "completed"]
    assert state.sub_queries[0].error == "It is down."
    assert len(state.sources) == 1
    assert (state.usage.searches, state.usage.failed_searches) == (2, 1)


def test_the_next_provider_is_asked_when_the_first_cannot_answer():
    broken = Library({"who built it": OSError("no route")})
    spare = Library({"who built it": [page("a.md")]})
    state = run(
        GatheringPhase(SearchGatherer([broken, spare])),
        DeepResearchState(query="q", sub_queries=QUERIES[:1]),
    ).state
    assert len(state.sources) == 1
    assert "library failed: OSError: no route" in state.notices[0].message


def test_a_source_that_two_sub_queries_found_is_kept_once_under_the_first():
    library = Library({q.query: [page("same.md")] for q in QUERIES})
    for order in (QUERIES, QUERIES[::-1]):
        state = run(
            GatheringPhase(SearchGatherer([library]), limits=WorkLimits(max_concurrent=1)),
            DeepResearchState(query="q", sub_queries=order),
        ).state
        assert [s.sub_query_id for s in state.sources] == ["subq-a"]
        assert state.duplicates_skipped == 1


def test_never_more_searches_at_a_time_than_allowed():
    class Counting(SearchProvider):
        name = "counting"
        running = most = 0

        async def search(self, request):
            self.running += 1
            self.most = max(self.most, self.running)
            await asyncio.sleep(0)
            self.running -= 1
            return []

    counting = Counting()
    many = tuple(SubQuery(id=f"subq-{n}", query=f"query {n}", index=n) for n in range(12))
    run(
        GatheringPhase(SearchGatherer([counting]), limits=WorkLimits(max_concurrent=3)),
        DeepResearchState(query="q", sub_queries=many),
    )
    assert counting.most == 3


def test_a_cap_on_searches_stops_gathering_and_says_what_was_left_out():
    library = Library({q.query: [page(f"{q.id}.md")] for q in QUERIES})
    options = RunOptions(budget=Budget(max_searches=1))
    state = run(
        GatheringPhase(SearchGatherer([library])),
        DeepResearchState(query="q", sub_queries=QUERIES, options=options),
    ).state
    assert library.calls == ["who built it"]
    assert state.limits[0].name == "max_searches"
    assert state.limits[0].skipped == ("how tall is it",)


def test_a_text_too_long_to_keep_is_left_out_and_said():
    library = Library({"who built it": [page("big.md", "x" * 2000), page("small.md")]})
    state = run(
        GatheringPhase(SearchGatherer([library]), limits=WorkLimits(max_source_bytes=1000)),
        DeepResearchState(query="q", sub_queries=QUERIES[:1]),
    ).state
    assert [s.url for s in state.sources] == ["small.md"]
    assert "big.md" in state.notices[0].message


def test_no_more_sources_are_kept_than_a_sub_query_may_have():
    library = Library({"who built it": [page(f"{n}.md") for n in range(9)]})
    state = run(
        GatheringPhase(SearchGatherer([library])),
        DeepResearchState(query="q", sub_queries=QUERIES[:1], options=RunOptions(max_sources_per_query=4)),
    ).state
    assert [s.url for s in state.sources] == ["0.md", "1.md", "2.md", "3.md"]


def test_an_empty_search_is_retried_in_other_words_and_a_failed_one_as_it_was():
    empty = SubQuery(id="subq-x", query="what is the tower", status=SubQueryStatus.COMPLETED)
    failed = SubQuery(id="subq-y", query="the other", status=SubQueryStatus.FAILED, index=1)
    phase = GatheringPhase(SearchGatherer([]))
    retry = phase.retried(DeepResearchState(query="q", sub_queries=(empty, failed)), advised=False)
    assert [s.query for s in retry.sub_queries] == ["tower"]
    full = empty.model_copy(update={"source_ids": ("src-1",)})
    assert phase.retried(DeepResearchState(query="q", sub_queries=(full,)), advised=False) is None
    wordless = empty.model_copy(update={"query": "?"})
    assert phase.retried(DeepResearchState(query="?", sub_queries=(wordless,)), advised=False) is None


# Analysis

TEXT = "The tower was built in 1811.\nIt stands  on a reef."


def source(name="a", text=TEXT, **fields):
    return Source(
        id=f"src-{name}",
        sub_query_id="subq-a",
        title=name,
        url=f"{name}.md",
        quality=SourceQuality.HIGH,
        content_hash=Content.of(text).hash,
        length=len(text),
        **fields,
    )


def analyzed(content, quote, source_ids=("src-a",), **fields):
    quotes = tuple(AnalyzedQuote(source_id=i, quote=quote) for i in source_ids)
    return AnalyzedFinding(content=content, source_ids=source_ids, quotes=quotes, **fields)


def test_a_quote_is_found_in_the_saved_text_exactly_or_but_for_white_space():
    analyzer = Agent(
        AnalyzerOutput(
            findings=(
                analyzed("Built in 1811.", "built in 1811"),
                analyzed("On a reef.", "It stands on a reef."),
            )
        )
    )
    state = run(
        AnalysisPhase(analyzer), DeepResearchState(query="q", sources=(source(),)), texts=[TEXT]
    ).state
    for finding in state.findings:
        (quote,) = finding.quotes
        assert TEXT[quote.start : quote.end] == quote.quote
    assert state.findings[1].quotes[0].quote == "It stands  on a reef."


def test_a_quote_that_is_not_in_the_text_is_dropped():
    analyzer = Agent(AnalyzerOutput(findings=(analyzed("Invented.", "built in 1911"),)))
    state = run(
        AnalysisPhase(analyzer), DeepResearchState(query="q", sources=(source(),)), texts=[TEXT]
    ).state
    assert state.findings[0].quotes == ()


def test_ids_that_were_not_given_are_dropped():
    analyzer = Agent(
        AnalyzerOutput(
            findings=(analyzed("Foreign.", "built", ("src-other",)),),
            quality_updates=(QualityUpdate(source_id="src-other", quality=SourceQuality.LOW),),
            addressed_gap_ids=("gap-other",),
        )
    )
    state = run(
        AnalysisPhase(analyzer), DeepResearchState(query="q", sources=(source(),)), texts=[TEXT]
    ).state
    assert state.findings == ()
    assert state.phase_done


def test_findings_that_say_the_same_become_one_with_all_their_sources():
    sources = (source("a"), source("b", TEXT + " "), source("c", TEXT + "  "))
    analyzer = Agent(
        AnalyzerOutput(
            findings=tuple(
                analyzed(f"The tower was built in 1811{end}", "built in 1811", (i,))
                for i, end in (("src-a", "."), ("src-b", ""), ("src-c", "!"))
            )
        )
    )
    state = run(
        AnalysisPhase(analyzer),
        DeepResearchState(query="q", sources=sources),
        texts=[TEXT, TEXT + " ", TEXT + "  "],
    ).state
    (finding,) = state.findings
    assert finding.source_ids == ("src-a", "src-b", "src-c")
    assert finding.confidence is ConfidenceLevel.CONFIRMED


def test_only_sources_that_were_not_read_are_given_to_the_analyzer():
    analyzer = Agent(AnalyzerOutput())
    state = DeepResearchState(query="q", sources=(source("a"), source("b")), analyzed=frozenset({"src-a"}))
    run(AnalysisPhase(analyzer), state, texts=[TEXT])
    assert [s.id for s in analyzer.asked[0].sources] == ["src-b"]


def test_batches_are_as_large_as_allowed_and_each_is_a_unit():
    sources = tuple(source(f"{n}", f"text number {n}" + "x" * 400) for n in range(5))
    journal = run(
        AnalysisPhase(Agent(AnalyzerOutput()), limits=WorkLimits(batch_bytes=900)),
        DeepResearchState(query="q", sources=sources),
        texts=[f"text number {n}" + "x" * 400 for n in range(5)],
    )
    batches = [e.source_ids for e in journal.events if e.name == "sources.analyzed"]
    assert sorted(map(len, batches)) == [1, 2, 2]
    assert sorted(i for b in batches for i in b) == sorted(s.id for s in sources)


@pytest.mark.parametrize(
    ("said", "addressed"), [("It was built by Robert Stevenson.", True), ("It was built of granite.", False)]
)
def test_a_gap_is_addressed_by_a_finding_of_the_kind_that_it_asks_for(said, addressed):
    gap = Gap(id="gap-1", description="who built it")
    found = AnalyzedFinding(content=said, source_ids=("src-a",))
    analyzer = Agent(
        AnalyzerOutput(
            findings=(found,), addressed_gap_ids=("gap-1",), gaps=(AnalyzedGap(description="new one"),)
        )
    )
    state = run(
        AnalysisPhase(analyzer),
        DeepResearchState(query="q", sources=(source(),), gaps=(gap,), iteration=2),
        texts=[TEXT],
    ).state
    assert [(g.description, g.addressed) for g in state.gaps] == [
        ("who built it", addressed),
        ("new one", False),
    ]
    assert bool(state.gaps[0].resolution) is addressed


def test_a_quality_update_changes_the_source():
    analyzer = Agent(
        AnalyzerOutput(quality_updates=(QualityUpdate(source_id="src-a", quality=SourceQuality.LOW),))
    )
    state = run(
        AnalysisPhase(analyzer), DeepResearchState(query="q", sources=(source(),)), texts=[TEXT]
    ).state
    assert state.sources[0].quality is SourceQuality.LOW


# Synthesis


def found(name="1", **fields):
    quote = Quote(source_id="src-a", quote="built in 1811", start=14, end=27, content_hash="h")
    return Finding(
        id=f"find-00000000000{name}",
        content="Built in 1811.",
        confidence=ConfidenceLevel.MEDIUM,
        source_ids=("src-a",),
        quotes=(quote,),
        **fields,
    )


def test_ids_in_a_report_become_numbers_with_references_and_citations():
    writer = Agent(SynthesizerOutput(report="# T\n\n## S\n\nBuilt in 1811 [find-000000000001]."))
    state = run(
        SynthesisPhase(writer),
        DeepResearchState(query="q", sources=(source(),), findings=(found(),)),
    ).state
    assert "Built in 1811 [1]." in state.report
    assert r"1. a. a\.md" in state.report
    (citation,) = state.citations
    assert (citation.number, citation.source_id, citation.quote) == (1, "src-a", "built in 1811")
    assert state.report_metadata.sections == ("S", "References")
    assert state.report_metadata.confidence_summary.medium == 1


def test_a_reference_that_was_never_given_is_taken_out_and_counted():
    writer = Agent(SynthesizerOutput(report="# T\n\n## S\n\nTrue [find-00000000000f][src-00000000000f]."))
    state = run(
        SynthesisPhase(writer), DeepResearchState(query="q", sources=(source(),), findings=(found(),))
    ).state
    assert "True. [unsupported]" in state.report
    assert state.report_metadata.removed_references == 2


def test_the_synthesizer_is_given_findings_gaps_guidance_and_improvements():
    writer = Agent(SynthesizerOutput(report="x"))
    state = DeepResearchState(
        query="q",
        phase=DeepResearchPhase.SYNTHESIS,
        sources=(source(), source("b")),
        findings=(found(),),
        gaps=(Gap(id="gap-1", description="d"),),
        report_improvements=("shorter",),
        options=RunOptions(report_words=300, system_prompt="be brief"),
    )
    run(SynthesisPhase(writer), state)
    (handoff,) = writer.asked
    assert (handoff.finding_count, handoff.gap_count, handoff.words) == (1, 1, 300)
    assert [s.id for s in handoff.sources] == ["src-a"]
    assert handoff.improvements == ("shorter",)
    assert handoff.system_prompt == "be brief"


# Refinement


def test_a_flat_list_of_follow_ups_is_nested_under_its_gaps():
    refiner = Agent(
        {
            "gap_analysis": [{"gap_id": "gap-1", "severity": "critical"}, {"gap_id": "gap-foreign"}],
            "iteration_recommendation": {"should_iterate": True, "priority_gaps": ["gap-1", "gap-foreign"]},
            "follow_up_queries": [{"gap_id": "gap-1", "query": "the follow-up"}],
        }
    )
    state = run(
        RefinementPhase(refiner), DeepResearchState(query="q", gaps=(Gap(id="gap-1", description="d"),))
    ).state
    (analysis,) = state.gap_analysis
    assert analysis.follow_up_queries[0].query == "the follow-up"
    assert state.recommendation.priority_gaps == ("gap-1",)
    assert state.refined == 1


def test_what_is_surveyed_of_a_source_is_bounded_whatever_its_provider_calls_a_match():
    text = "The tower of Mole is 57 m tall. " * 10_000
    library = Library({"who built it": [page("all.md", text, passages=(Span(start=0, end=len(text)),))]})
    found = run(
        GatheringPhase(SearchGatherer([library])), DeepResearchState(query="q", sub_queries=QUERIES[:1])
    )
    agent = Agent(AnalyzerOutput())
    surveyed = []
    agent.survey = lambda handoff: surveyed.append(handoff) or SurveyOutput()
    run(AnalysisPhase(agent), found.state, texts=[text.strip(), text])
    assert [len(source.content) for source in surveyed[0].sources] == [MATCHED]
