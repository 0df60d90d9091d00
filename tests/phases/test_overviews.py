"""A subject that is named in few words: an overview of excerpts, a timeline in order of time."""

import asyncio

import pytest

from deep_research.evidence.question import QuestionKind, is_survey, kind_of, subject, wants_order_of_time
from deep_research.phases.analysis import AnalyzerInput, SourceText
from deep_research.phases.analysis.extractive import analyze
from deep_research.phases.planning import ExtractivePlanner, PlannerInput
from deep_research.phases.synthesis import SynthesizerInput
from deep_research.phases.synthesis.extractive import draft
from deep_research.state import ConfidenceLevel, DeepResearchPhase, Finding, Source

RUN = {"research_id": "deepres-000000000000", "iteration": 1}
HARBOUR = (
    "Mist lamps",
    "This page introduces the mist lamps of Orrel. It is kept by the harbour museum.\n\n"
    "## The oil lamps\n\nIn the oil lamps of the harbour the wick was trimmed by hand. It smoked. "
    "A boy cleaned the glass.",
)
LIST = (
    "The lamps of Orrel",
    "- 1907 — The first mist lamp is lit at Orrel.\n- 1890 — A gale.\n- 3 May 1921 — Ghent.\n"
    "- End of 1950 — The last lamp.",
)
OTHER = ("Bees", "Bees make honey in the summer of 1907. A hive holds thousands of them.")


def read(request, *texts):
    sources = tuple(
        SourceText(id=f"src-{n}", title=title, content=text) for n, (title, text) in enumerate(texts)
    )
    handoff = AnalyzerInput(
        original_query=request,
        current_phase=DeepResearchPhase.ANALYSIS,
        source_count=len(sources),
        high_quality_sources=0,
        sources=sources,
        **RUN,
    )
    findings = analyze(handoff).findings
    for finding in findings:
        for quote in finding.quotes:
            text = texts[int(quote.source_id.removeprefix("src-"))][1]
            assert text[quote.start : quote.start + len(quote.quote)] == quote.quote
    return findings


def report(request, *texts):
    findings = tuple(
        Finding(
            id=f"find-{n:012x}",
            content=f.content,
            confidence=ConfidenceLevel.LOW,
            source_ids=f.source_ids,
            relevance=f.relevance,
        )
        for n, f in enumerate(read(request, *texts))
    )
    sources = tuple(
        Source(id=f"src-{n}", title=title, sub_query_id="subq-0") for n, (title, _) in enumerate(texts)
    )
    return draft(
        SynthesizerInput(
            original_query=request,
            current_phase=DeepResearchPhase.SYNTHESIS,
            max_iterations=3,
            finding_count=len(findings),
            gap_count=0,
            has_research_brief=True,
            findings=findings,
            sources=sources,
            **RUN,
        )
    )


@pytest.mark.parametrize(
    ("request_", "of"),
    [
        ("lamps", "lamps"),
        ("mist lamps", "mist lamps"),
        ("Give me a short overview of the history of mist lamps", "mist lamps"),
        ("timeline of lamp automation", "lamp automation"),
        ("mist lamp history", "mist lamp"),
        ("Tell me about the mist lamps of Orrel.", "mist lamps of Orrel"),
        ("What is the history of Orrel?", "Orrel"),
    ],
)
def test_a_survey_is_told_by_its_form_and_is_of_what_is_left(request_, of):
    assert (kind_of(request_), subject(request_)) == (QuestionKind.SURVEY, of)


@pytest.mark.parametrize(
    "question",
    [
        "Who wrote a History of Orrel?",
        "Why?",
        "Tell me who built Orrel",
        "Aspirin kills bees.",
        "Compare lamps and bees",
        "list the lamps",
        "Give examples of lamps",
        "overview " * 300,
    ],
)
def test_what_asks_or_tells_something_is_no_survey(question):
    assert not is_survey(question)


def test_a_survey_is_searched_from_several_sides():
    handoff = PlannerInput(
        original_query="lamps", current_phase=DeepResearchPhase.PLANNING, max_sub_queries=5, **RUN
    )
    queries = [p.query for p in asyncio.run(ExtractivePlanner()(handoff)).sub_queries]
    assert queries[0] == "lamps"
    assert len(queries) == 5
    assert all(query.startswith("lamps") for query in queries)


def test_an_overview_begins_where_documents_and_sections_begin():
    contents = [f.content for f in read("mist lamps", HARBOUR, OTHER)]
    assert contents[0] == ("This page introduces the mist lamps of Orrel. It is kept by the harbour museum.")
    assert not any("honey" in content for content in contents)


def test_an_overview_of_what_no_source_is_about_finds_nothing():
    assert read("steam engines", HARBOUR, OTHER) == ()


def test_a_timeline_stands_in_order_of_time_with_all_entries_of_a_list_of_dates():
    assert wants_order_of_time("timeline of mist lamps")
    text = report("timeline of mist lamps", LIST, HARBOUR, OTHER)
    timeline = text.partition("## Timeline\n\n")[2].partition("\n\n")[0].splitlines()
    assert [line.partition(" —")[0] for line in timeline] == [
        "- 1890",
        "- 1907",
        "- 3 May 1921",
        "- End of 1950",
    ]
    assert "honey" not in text
    assert text.index("This page introduces") < text.index("## Timeline")
