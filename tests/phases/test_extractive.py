"""The agents without a model: what they plan, find, miss and write."""

import asyncio
import re
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deep_research.phases.analysis import AnalyzerInput, SourceText
from deep_research.phases.analysis.extractive_analyzer import analyze
from deep_research.phases.refinement import ExtractiveRefiner, RefinerInput
from deep_research.phases.synthesis import SynthesizerInput
from deep_research.phases.synthesis.extractive_synthesizer import draft
from deep_research.state import (
    ConfidenceLevel,
    Contradiction,
    DeepResearchPhase,
    Finding,
    Gap,
    Notice,
    Source,
    SourceQuality,
    SubQuery,
)

RUN = {"research_id": "deepres-000000000000", "iteration": 1}


def read(question, *texts, queries=None, **fields):
    handoff = AnalyzerInput(
        original_query=question,
        current_phase=DeepResearchPhase.ANALYSIS,
        source_count=len(texts),
        high_quality_sources=0,
        sub_queries=tuple(
            SubQuery(id=f"subq-{n}", query=q, index=n, iteration=fields.get("iteration", 1))
            for n, q in enumerate(queries or [question])
        ),
        sources=tuple(
            SourceText(id=f"src-{n}", title=title, content=text) for n, (title, text) in enumerate(texts)
        ),
        **{**RUN, **fields},
    )
    return analyze(handoff)


MOLE = (
    "The tower of Mole",
    "# The tower of Mole\n\nThe tower was begun in 1809. It was built by Ann Mole. She was 30 years old.\n\n"
    "## Figures\n\nWhat | Value\nHeight | 35 m\n\nThe tower is 35 metres tall. Ships see it from afar.",
)


def test_the_sentence_that_answers_is_the_finding_with_its_exact_place():
    output = read("How tall is the tower of Mole?", MOLE)
    best = output.findings[0]
    assert "35" in best.content
    for finding in output.findings:
        quote = finding.quotes[0]
        assert MOLE[1][quote.start :].startswith(quote.quote)


def test_reading_stops_between_documents_when_asked():
    stop = threading.Event()
    stop.set()
    handoff = AnalyzerInput(
        original_query="q tower",
        current_phase=DeepResearchPhase.ANALYSIS,
        source_count=1,
        high_quality_sources=0,
        sources=(SourceText(id="src-0", title="t", content="tower"),),
        **RUN,
    )
    assert analyze(handoff, stop).findings == ()


ODD = st.one_of(
    st.text(max_size=400),
    st.sampled_from(
        [
            "",
            "x" * 5000,
            "a | b | c\n" * 50,
            "灯台は岩の上に建つ。高さは三十五メートル。",
            "שלום " * 40,
            "e\u0301" * 300,
        ]
    ),
)


@settings(max_examples=60)
@given(st.text(min_size=1, max_size=80).filter(str.strip), st.lists(ODD, max_size=4))
def test_whatever_is_read_every_quote_is_exact(question, texts):
    output = read(question, *[("A title", text) for text in texts])
    for finding in output.findings:
        quote = finding.quotes[0]
        text = texts[int(finding.source_ids[0].removeprefix("src-"))]
        assert text[quote.start : quote.start + len(quote.quote)] == quote.quote


def written(question="Where does *it* stand?", **fields):
    made = {"max_iterations": 3, "finding_count": 0, "gap_count": 0, "has_research_brief": True, **fields}
    return draft(
        SynthesizerInput(
            original_query=question, current_phase=DeepResearchPhase.SYNTHESIS, **{**RUN, **made}
        )
    )


def finding(number, relevance=0.5, **fields):
    return Finding(
        id=f"find-{number:012x}",
        content=f"Statement number {number}",
        confidence=ConfidenceLevel.MEDIUM,
        source_ids=("src-1",),
        relevance=relevance,
        **fields,
    )


def test_a_report_answers_first_and_says_nothing_twice():
    findings = tuple(finding(n, relevance=n / 10) for n in range(6))
    report = written(findings=findings)
    assert report.index("Statement number 5") < report.index("Statement number 0")
    for item in findings:
        assert report.count(f"{item.content}.") == report.count(item.id) == 1


def test_conflicts_stand_side_by_side_and_open_gaps_and_limits_are_named():
    one, other = finding(1), finding(2)
    report = written(
        findings=(one, other),
        contradictions=(
            Contradiction(id="contra-1", description="They differ.", finding_ids=(one.id, other.id)),
        ),
        gaps=(
            Gap(id="gap-1", description="Not found: the cost"),
            Gap(id="gap-2", description="Not found: the age", addressed=True),
        ),
        notices=(Notice(name="sources", message="One text was too long."),),
    )
    assert f"- They differ. [{one.id}, {other.id}]" in report
    assert "- Not found: the cost" in report
    assert "the age" not in report
    assert "- One text was too long." in report


def test_of_statements_that_are_as_near_the_one_of_the_better_source_comes_first():
    forum = Source(id="src-1", sub_query_id="subq-1", title="Forum", quality=SourceQuality.LOW)
    office = Source(id="src-2", sub_query_id="subq-1", title="Office", quality=SourceQuality.HIGH)
    hearsay, figure = finding(1), finding(2).model_copy(update={"source_ids": ("src-2",)})
    report = written(findings=(hearsay, figure), sources=(forum, office))
    assert report.index("Statement number 2") < report.index("Statement number 1")
    nearer = finding(3, relevance=0.9)
    report = written(findings=(figure, nearer), sources=(forum, office))
    assert report.index("Statement number 3") < report.index("Statement number 2")


RETRACTED = Source(id="src-2", sub_query_id="subq-1", title="Withdrawn", metadata={"retracted": "yes"})


def test_what_only_a_retracted_work_says_stands_apart_and_answers_nothing():
    withdrawn = finding(1, relevance=0.9).model_copy(update={"source_ids": ("src-2",)})
    report = written(findings=(withdrawn, finding(2)), sources=(RETRACTED,))
    assert report.index("Statement number 2") < report.index("## From works that were retracted")
    assert report.index("## From works that were retracted") < report.index("Statement number 1")


def test_a_report_that_rests_on_retracted_works_alone_says_so_first():
    withdrawn = finding(1).model_copy(update={"source_ids": ("src-2",)})
    report = written(findings=(withdrawn,), sources=(RETRACTED,))
    assert report.index("It should not be relied on.") < report.index("## Answer")
    assert report.count("Statement number 1.") == 1


def test_a_report_keeps_its_length_and_says_what_it_left_out():
    report = written(findings=tuple(finding(n) for n in range(100)), words=100)
    assert "further findings are left out" in report


def test_the_refiner_goes_on_only_with_a_query_that_was_not_asked():
    handoff = RefinerInput(
        original_query="q",
        current_phase=DeepResearchPhase.REFINEMENT,
        gaps=(
            Gap(id="gap-1", description="a", suggested_queries=("asked before", "a new one")),
            Gap(id="gap-2", description="b", suggested_queries=("Asked  before",)),
        ),
        max_iterations=3,
        remaining_iterations=2,
        has_report_draft=True,
        earlier_queries=("asked before",),
        **RUN,
    )
    output = asyncio.run(ExtractiveRefiner()(handoff))
    assert [g.addressable for g in output.gap_analysis] == [True, False]
    assert output.gap_analysis[0].follow_up_queries[0].query == "a new one"
    assert output.iteration_recommendation.priority_gaps == ("gap-1",)


def test_markup_and_addresses_around_a_question_are_not_asked_about():
    output = read("<b>How tall</b> is the [tower of Mole](http://x.example/y)?", MOLE)
    assert "35" in output.findings[0].content


def test_the_first_row_of_a_table_and_rules_are_no_findings():
    table = (
        "Towers",
        "Tower | Height | Builder\nMole tower | 35 m | Ann Mole\n\nTall tower of Mole\n---------\n",
    )
    contents = [f.content for f in read("How tall is the Mole tower?", table).findings]
    assert "Tower: Mole tower; Height: 35 m; Builder: Ann Mole" in contents
    assert not any("Tower, Height" in c or "--" in c for c in contents)


def test_a_question_of_many_lines_makes_a_short_heading():
    heading = draft(
        SynthesizerInput(
            original_query="word " * 500,
            current_phase=DeepResearchPhase.SYNTHESIS,
            max_iterations=1,
            finding_count=0,
            gap_count=0,
            has_research_brief=False,
            **RUN,
        )
    ).splitlines()[0]
    assert len(heading) < 210


TOPIC = tuple(f"{a}{b}" for a in ("lamp", "tower", "reef", "storm", "bell", "fog", "ship") for b in "abcdefg")
REQUEST = ". ".join(f"Of the {word} and of the {TOPIC[n - 1]} we ask" for n, word in enumerate(TOPIC))


@pytest.mark.parametrize("written", [str, str.lower], ids=["with capitals", "without"])
def test_a_broad_request_is_covered_by_sentences_of_many_sources(written):
    ring = TOPIC + TOPIC
    texts = [
        (
            f"Text {n}",
            written(
                f"Here a {' and a '.join(ring[n : n + 4])} were seen. "
                f"A {' or a '.join(ring[n + 4 : n + 8])} was not."
            ),
        )
        for n in range(0, 48, 4)
    ]
    output = read(REQUEST, *texts)
    assert len(output.findings) > len(texts)
    assert len({f.source_ids for f in output.findings}) >= 8
    assert [f.relevance for f in output.findings] == sorted(
        (f.relevance for f in output.findings), reverse=True
    )


def test_a_broad_request_about_something_else_gives_no_finding():
    texts = [
        (f"Text {n}", f"Bread number {n} is baked with flour, and we ask for it at the lampa.")
        for n in range(9)
    ]
    assert read(REQUEST, *texts).findings == ()


def said(number, content, source="src-1", **fields):
    return finding(number, **fields).model_copy(update={"content": content, "source_ids": (source,)})


def body(report):
    """The lines of a report that say what was found: neither headings nor notices."""
    text = report.split("## Gaps and limits")[0]
    return [line for line in text.splitlines() if line and not line.startswith(("#", "*"))]


NAMES = (("Ada", "lamp", "first"), ("Bo", "bell", "last"), ("Cy", "tower", "best"))


def test_a_report_keeps_its_length_with_all_its_references():
    texts = (f"Of {a} {n} it is known that {b}{n} was {c}{n} of all" for a, b, c in NAMES for n in range(12))
    findings = tuple(said(n, text, f"src-{n % 4}", relevance=1.0 - n / 100) for n, text in enumerate(texts))
    report = written(findings=findings, words=120)
    words = " ".join(re.sub(r" \[[^\]]*\]", " []", line) for line in body(report)).split()
    assert 90 < len(words) <= 120


def test_sentences_of_one_source_stand_together_with_one_reference():
    one, other = (
        said(1, "The lamp burned oil.", relevance=0.9),
        said(2, "A keeper trimmed wicks.", relevance=0.8),
    )
    answer = said(3, "The tower stands on Mole.", relevance=1.0)
    _, line = body(written(findings=(answer, one, other)))
    assert line.startswith("The lamp burned oil. A keeper trimmed wicks. [")


def test_both_sides_of_a_conflict_are_named_with_their_words():
    one = said(1, "The tower of Mole is 57 m tall.")
    other = said(2, "The tower of Mole is 61 m tall.", "src-2")
    sources = tuple(Source(id=f"src-{n}", sub_query_id="q", title=f"Book {n}") for n in (1, 2))
    report = written(
        findings=(one, other),
        sources=sources,
        contradictions=(Contradiction(id="c", description="d", finding_ids=(one.id, other.id)),),
    )
    assert f"Book 1: 57 m [{one.id}]; Book 2: 61 m [{other.id}]" in report


def test_the_wanted_length_is_kept_within_a_tenth_when_there_is_enough_to_say():
    findings = tuple(
        said(n, f"Thing{n} of kind{n} stands beside place{n} near river{n} under sky{n}.", f"src-{n % 30}")
        for n in range(200)
    )
    for words in (150, 550):
        length = sum(len(line.split()) for line in body(written(findings=findings, words=words)))
        assert 0.9 * words <= length <= 1.1 * words
