"""The agents without a model: what they find, miss and write."""

import asyncio
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phases.builders import finding as known
from phases.builders import handoff, in_order, source_texts

from deep_research.phases.analysis import AnalyzerInput
from deep_research.phases.analysis.extractive_analyzer import analyze
from deep_research.phases.refinement import ExtractiveRefiner, RefinerInput
from deep_research.phases.synthesis import SynthesizerInput
from deep_research.phases.synthesis.extractive_synthesizer import draft
from deep_research.state import Contradiction, Gap, Notice, Source, SourceQuality, SubQuery


def read(question, *texts):
    queries = (SubQuery(id="subq-0", query=question),)
    handed = handoff(
        AnalyzerInput, original_query=question, sub_queries=queries, sources=source_texts(*texts)
    )
    findings = analyze(handed).findings
    for each in findings:
        quote, text = each.quotes[0], texts[int(each.source_ids[0].removeprefix("src-"))][1]
        assert text[quote.start : quote.start + len(quote.quote)] == quote.quote
    return findings


MOLE = (
    "The tower of Mole",
    "# The tower of Mole\n\nThe tower was begun in 1809. It was built by Ann Mole. She was 30 years old.\n\n"
    "## Figures\n\nWhat | Value\nHeight | 35 m\n\nThe tower is 35 metres tall. Ships see it from afar.",
)


@pytest.mark.parametrize(
    "question",
    ["How tall is the tower of Mole?", "<b>How tall</b> is the [tower of Mole](http://x.example/y)?"],
    ids=["plain", "with markup around"],
)
def test_the_sentence_that_answers_is_the_finding_and_no_head_of_a_table(question):
    assert "35" in read(question, MOLE)[0].content
    rows = "Tower | Height | Builder\nMole tower | 35 m | Ann Mole\n\nTall tower of Mole\n---------\n"
    contents = [f.content for f in read("How tall is the Mole tower?", ("Towers", rows))]
    assert "Tower: Mole tower; Height: 35 m; Builder: Ann Mole" in contents
    assert not any("Tower, Height" in c or "--" in c for c in contents)


ODD = [
    "",
    "x" * 5000,
    "a | b | c\n" * 50,
    "灯台は岩の上に建つ。高さは三十五メートル。",
    "שלום " * 40,
    "e\u0301" * 300,
]


@settings(max_examples=60)
@given(
    st.text(min_size=1, max_size=80).filter(str.strip),
    st.lists(st.one_of(st.text(max_size=400), st.sampled_from(ODD)), max_size=4),
)
def test_whatever_is_read_every_quote_is_exact(question, texts):
    read(question, *[("A title", text) for text in texts])


TOPIC = tuple(f"{a}{b}" for a in ("lamp", "tower", "reef", "storm", "bell", "fog", "ship") for b in "abcdefg")
REQUEST = ". ".join(f"Of the {word} and of the {TOPIC[n - 1]} we ask" for n, word in enumerate(TOPIC))


@pytest.mark.parametrize("written", [str, str.lower], ids=["with capitals", "without"])
def test_a_broad_request_is_covered_by_sentences_of_many_sources(written):
    seen, unseen = (
        [
            f" {word} and a ".join(TOPIC[(n + k) % len(TOPIC)] for k in range(at, at + 4))
            for n in range(0, 48, 4)
        ]
        for at, word in ((0, ""), (4, ""))
    )
    texts = [
        written(f"Here a {one} were seen. A {other} was not.")
        for one, other in zip(seen, unseen, strict=True)
    ]
    findings = read(REQUEST, *((f"Text {n}", text) for n, text in enumerate(texts)))
    assert len(findings) > len(texts)
    assert len({f.source_ids for f in findings}) >= 8
    assert [f.relevance for f in findings] == sorted((f.relevance for f in findings), reverse=True)


def test_a_broad_request_about_something_else_gives_no_finding():
    said = "Bread number {} is baked with flour, and we ask for it at the lampa."
    assert read(REQUEST, *((f"Text {n}", said.format(n)) for n in range(9))) == ()


# Reports


def written(question="Where does *it* stand?", **fields):
    return draft(handoff(SynthesizerInput, original_query=question, **fields))


def finding(number, content="", relevance=0.5, source="src-1"):
    content = content or f"Statement number {number}"
    return known(number, content, relevance=relevance, source_ids=(source,))


def body(report):
    """The lines of a report that say what was found: neither headings nor notices."""
    text = report.split("## Gaps and limits")[0]
    return [line for line in text.splitlines() if line and not line.startswith(("#", "*"))]


def test_a_report_answers_first_and_says_nothing_twice():
    findings = tuple(finding(n, relevance=n / 10) for n in range(6))
    report = written(findings=findings)
    assert in_order(report, "Statement number 5", "Statement number 0")
    for item in findings:
        assert report.count(f"{item.content}.") == report.count(item.id) == 1


def test_conflicts_stand_side_by_side_and_open_gaps_and_limits_are_named():
    one, other = finding(1), finding(2)
    report = written(
        findings=(one, other),
        contradictions=(Contradiction(id="c", description="They differ.", finding_ids=(one.id, other.id)),),
        gaps=(
            Gap(id="gap-1", description="Not found: the cost"),
            Gap(id="gap-2", description="Not found: the age", addressed=True),
        ),
        notices=(Notice(name="sources", message="One text was too long."),),
    )
    for said in (
        f"- They differ. [{one.id}, {other.id}]",
        "- Not found: the cost",
        "- One text was too long.",
    ):
        assert said in report
    assert "the age" not in report


def test_both_sides_of_a_conflict_are_named_with_their_words():
    one, other = (
        finding(1, "The tower of Mole is 57 m tall."),
        finding(2, "The tower of Mole is 61 m tall.", source="src-2"),
    )
    sources = tuple(Source(id=f"src-{n}", sub_query_id="q", title=f"Book {n}") for n in (1, 2))
    conflict = Contradiction(id="c", description="d", finding_ids=(one.id, other.id))
    report = written(findings=(one, other), sources=sources, contradictions=(conflict,))
    assert f"Book 1: 57 m [{one.id}]; Book 2: 61 m [{other.id}]" in report


def test_of_statements_that_are_as_near_the_one_of_the_better_source_comes_first():
    forum = Source(id="src-1", sub_query_id="subq-1", title="Forum", quality=SourceQuality.LOW)
    office = Source(id="src-2", sub_query_id="subq-1", title="Office", quality=SourceQuality.HIGH)
    figure = finding(2, source="src-2")
    report = written(findings=(finding(1), figure), sources=(forum, office))
    assert in_order(report, "Statement number 2", "Statement number 1")
    report = written(findings=(figure, finding(3, relevance=0.9)), sources=(forum, office))
    assert in_order(report, "Statement number 3", "Statement number 2")


def test_what_only_a_retracted_work_says_stands_apart_and_answers_nothing_and_alone_warns_first():
    retracted = Source(id="src-2", sub_query_id="subq-1", title="Withdrawn", metadata={"retracted": "yes"})
    withdrawn = finding(1, relevance=0.9, source="src-2")
    report = written(findings=(withdrawn, finding(2)), sources=(retracted,))
    assert in_order(report, "Statement number 2", "## From works that were retracted", "Statement number 1")
    report = written(findings=(withdrawn,), sources=(retracted,))
    assert in_order(report, "It should not be relied on.", "## Answer")
    assert report.count("Statement number 1.") == 1


def test_a_question_of_many_lines_makes_a_short_heading():
    assert len(written("word " * 500).splitlines()[0]) < 210


NAMES = (("Ada", "lamp", "first"), ("Bo", "bell", "last"), ("Cy", "tower", "best"))


def test_a_report_keeps_its_length_with_all_its_references_and_says_what_it_left_out():
    assert "further findings are left out" in written(findings=tuple(map(finding, range(100))), words=100)
    texts = [f"Of {a} {n} it is known that {b}{n} was {c}{n} of all" for a, b, c in NAMES for n in range(12)]
    findings = tuple(finding(n, text, 1.0 - n / 100, f"src-{n % 4}") for n, text in enumerate(texts))
    lines = body(written(findings=findings, words=120))
    assert 90 < len(" ".join(re.sub(r" \[[^\]]*\]", " []", line) for line in lines).split()) <= 120
    thing = "Thing{0} of kind{0} stands beside place{0} near river{0} under sky{0}."
    findings = tuple(finding(n, thing.format(n), source=f"src-{n % 30}") for n in range(200))
    for words in (150, 550):
        length = sum(len(line.split()) for line in body(written(findings=findings, words=words)))
        assert 0.9 * words <= length <= 1.1 * words


def test_sentences_of_one_source_stand_together_with_one_reference():
    contents = "The tower stands on Mole.", "The lamp burned oil.", "A keeper trimmed wicks."
    _, line = body(written(findings=tuple(finding(n, c, 1.0 - n / 10) for n, c in enumerate(contents))))
    assert line.startswith("The lamp burned oil. A keeper trimmed wicks. [")


def test_the_refiner_goes_on_only_with_a_query_that_was_not_asked():
    gaps = (
        Gap(id="gap-1", description="a", suggested_queries=("asked before", "a new one")),
        Gap(id="gap-2", description="b", suggested_queries=("Asked  before",)),
    )
    output = asyncio.run(
        ExtractiveRefiner()(handoff(RefinerInput, gaps=gaps, earlier_queries=("asked before",)))
    )
    assert [g.addressable for g in output.gap_analysis] == [True, False]
    assert output.gap_analysis[0].follow_up_queries[0].query == "a new one"
    assert output.iteration_recommendation.priority_gaps == ("gap-1",)
