"""The summary begins with the statement that holds what is asked, and after an answer comes nothing that says less."""

import pytest

from deep_research.evidence.expecting import expected_answer, fits
from deep_research.evidence.listing import listed
from deep_research.evidence.text import question_terms, stem
from deep_research.evidence.themes import heading
from deep_research.phases.analysis import AnalyzerInput, SourceText
from deep_research.phases.analysis.extractive import analyze
from deep_research.phases.synthesis import SynthesizerInput
from deep_research.phases.synthesis.extractive import draft
from deep_research.state import ConfidenceLevel, DeepResearchPhase, Finding, SubQuery

RUN = {"research_id": "deepres-000000000000", "iteration": 1}


def summary(question, *told, parts=()):
    """The summary that is made of statements with their relevance, each of the part of that number or of none."""
    findings = tuple(
        Finding(
            id=f"find-{n}",
            content=content,
            confidence=ConfidenceLevel.LOW,
            source_ids=("src-1",),
            sub_query_id=f"subq-{part}",
            relevance=relevance,
        )
        for n, (content, relevance, part) in enumerate(told)
    )
    queries = tuple(
        SubQuery(id=f"subq-{n}", query=query, priority=1, iteration=1, index=n)
        for n, query in enumerate((question, *parts))
    )
    report = draft(
        SynthesizerInput(
            original_query=question,
            current_phase=DeepResearchPhase.SYNTHESIS,
            max_iterations=1,
            finding_count=len(findings),
            gap_count=0,
            has_research_brief=False,
            findings=findings,
            sub_queries=queries,
            **RUN,
        )
    )
    return report.partition("## Summary\n\n")[2].partition("\n\n##")[0]


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("How high is the Mole?", "The Mole is 40 m high.", "The Mole is the highest of all."),
        ("What is a mist lamp?", "A mist lamp is a light for fog.", "The mist lamp stood in Orrel."),
        ("How old is the Mole?", "The Mole was founded in 1611.", "The Mole stands on a headland."),
    ],
)
def test_what_holds_the_value_or_the_definition_leads_what_is_a_little_nearer(question, answer, other):
    assert summary(question, (other, 0.8, 0), (answer, 0.7, 0)).startswith(answer)


def test_what_holds_the_value_but_is_much_farther_does_not_lead():
    told = summary(
        "How high is the Mole?", ("It is the highest tower.", 0.9, 0), ("It cost 40 m of rope.", 0.5, 0)
    )
    assert told.startswith("It is the highest tower.")


def test_each_part_of_a_question_is_answered_first_by_what_it_asks_for():
    told = summary(
        "Which engineer built the Mole and how long did the Mole take?",
        ("The Mole stands on a rock of 15 metres.", 0.9, 2),
        ("The engineer Orrel drilled the rock.", 0.6, 1),
        ("It was fourteen years of building.", 0.6, 0),
        parts=("Which engineer built the Mole", "how long did the Mole take"),
    )
    assert told.startswith("The engineer Orrel drilled the rock. It was fourteen years of building.")


def test_beside_a_measure_nothing_is_found_that_has_less_of_the_question_and_no_measure():
    texts = (
        ("Orrel tower", "The Orrel tower at Ghent is 40 m tall."),
        ("Moving the tower", "The contract for Orrel went to a company of movers."),
    )
    handoff = AnalyzerInput(
        original_query="How tall is the Orrel tower at Ghent?",
        current_phase=DeepResearchPhase.ANALYSIS,
        source_count=2,
        high_quality_sources=0,
        sources=tuple(
            SourceText(id=f"src-{n}", title=title, content=text) for n, (title, text) in enumerate(texts)
        ),
        **RUN,
    )
    assert [finding.content for finding in analyze(handoff).findings] == [texts[0][1]]


def test_how_tall_something_is_is_no_distance():
    tall, far = (
        expected_answer("How tall is the Orrel tower?"),
        expected_answer("How far is the Orrel tower?"),
    )
    away = "The Orrel is a rock about 14 miles off."
    assert not fits(tall, away)
    assert fits(far, away)
    assert fits(tall, "The tower is 49 metres tall.")


def test_heights_are_no_published_widths(draft_of):
    said = [
        ("The Orrel tower is 49 metres tall.", 0, 0.9),
        ("The Orrel tower has 100 feet of stone.", 1, 0.8),
    ]
    assert "## Published figures" not in draft_of("How wide is the Orrel tower?", said, ("A", "B"))


def test_what_is_missing_counts_where_it_is_how_something_is():
    assert question_terms("What happens when a lamp is missing?")["miss"] == 1.0
    assert question_terms("What missing lamps are there?")["miss"] < 1.0


def test_a_family_is_known_by_its_name():
    wanted = listed("Which lamps did the Orrel family build?")
    assert wanted is not None
    assert wanted.said == frozenset({stem("build")})


def test_a_heading_keeps_a_name_that_opens_with_a_small_letter():
    assert heading("uLamp") == "uLamp"
    assert heading("lamps of Orrel") == "Lamps of Orrel"


def test_a_stray_backtick_does_not_make_code_of_what_stands_behind_it(draft_of):
    said = [
        ("Nobody knows what ` is for in the harbour.", 0, 0.9),
        ("Type this to light it: `lamp on`", 1, 0.8),
    ]
    report = draft_of("How do I light it?", said, ("A", "B"))
    assert "what &#96; is" in report
    assert "`lamp on`." in report
