"""Findings say what was asked, and read by themselves."""

import pytest

from deep_research.evidence.question import QuestionKind, is_broad, kind_of
from deep_research.evidence.quoting import best_quote, expected_answer
from deep_research.evidence.ranking import Passage
from deep_research.evidence.text import question_terms
from deep_research.phases.analysis import AnalyzerInput, SourceText
from deep_research.phases.analysis.extractive import analyze
from deep_research.phases.synthesis import SynthesizerInput
from deep_research.phases.synthesis.extractive import draft
from deep_research.state import ConfidenceLevel, DeepResearchPhase, Finding, Span

RUN = {"research_id": "deepres-000000000000", "iteration": 1}


def quoted(question, text, context=()):
    quote = best_quote(
        text,
        Passage(0, Span(start=0, end=len(text)), {}),
        question_terms(question),
        set(context),
        expected_answer(question),
    )
    return "" if quote is None else text[quote.start : quote.end]


def found(question, *texts):
    sources = tuple(
        SourceText(id=f"src-{n}", title=title, content=text) for n, (title, text) in enumerate(texts)
    )
    handoff = AnalyzerInput(
        original_query=question,
        current_phase=DeepResearchPhase.ANALYSIS,
        source_count=len(sources),
        high_quality_sources=0,
        sources=sources,
        **RUN,
    )
    return [finding.content for finding in analyze(handoff).findings]


LAMP = (
    "The mist lamp of Orrel was built in 1907.",
    "## How the mist lamp works\n\nInside a tube are four rods. All grow with the warmth of the air. "
    "But daylight warms the black one more. It pushes a lever, and shuts the gas.",
)


def test_an_explanation_under_its_heading_is_quoted_whole():
    question = "How does the mist lamp work?"
    assert quoted(question, "\n\n".join(LAMP)).startswith("Inside a tube are four rods.")
    assert quoted(question, "\n\n".join(LAMP)).endswith("shuts the gas.")


def test_a_year_answers_only_beside_a_word_of_the_question():
    text = "That son was Robert Orrel (1772), born in Ghent. Robert later married. His best work is the Mole Rock tower."
    assert "1772" not in quoted("When was the Mole Rock light first shown?", text)


def test_a_reason_answers_in_words_of_its_own():
    text = (
        "The sea was cutting away the rock beneath it, so that it shook. Money was there too. "
        "When the new one was ready, the tower of Orrel was taken down."
    )
    assert "so that it shook" in quoted("Why was the tower of Orrel replaced?", text)


def test_what_a_heading_dates_is_quoted_with_its_year():
    text = (
        "## The tower of 1803\n\nA light was wanted. Congress voted for it. It was first lit in 1803. "
        "The tower was of sandstone, 90 feet tall. It had no stair."
    )
    assert quoted("How tall is the Orrel tower?", text) == (
        "Congress voted for it. It was first lit in 1803. The tower was of sandstone, 90 feet tall."
    )


@pytest.mark.parametrize("opening", ["From that year", "In 1543 it", "The same list"])
def test_a_quote_takes_along_what_its_opening_points_back_to(opening):
    text = f"The old tower of Orrel fell in the war. {opening} gives no tower a height of 70 metres."
    assert quoted("What height has the tower of 70 metres?", text) == text


def test_the_line_above_an_entry_is_no_term_when_it_ends_another_entry():
    text = "- 1998 — The last in Ghent.\n  (One page has\n  another date)\n- 2023 — The keeper of Orrel Light retires."
    assert quoted("When did the keeper of Orrel Light retire?", text) == (
        "2023 — The keeper of Orrel Light retires."
    )


def test_a_cost_is_an_expense_and_a_sum_of_money():
    text = "The Orrel lighthouse is 156 feet tall. A old account puts the whole expense at £86,977."
    assert "£86,977" in quoted("How much did the Orrel lighthouse cost?", text, {"orrel", "lighthous"})


def test_what_only_has_the_right_names_is_left_out_beside_an_answer():
    contents = found(
        "When was the Mole Rock light first shown?",
        ("Mole Rock", "The light of Mole Rock was first shown on 1 February 1811."),
        ("A family", "Robert had four sons and a dog. The best known work of his is Mole Rock."),
    )
    assert contents == ["The light of Mole Rock was first shown on 1 February 1811."]


def test_a_broad_request_has_one_meaning():
    long = " ".join(f"word{n}" for n in range(40))
    assert (is_broad(long), kind_of(long)) == (True, QuestionKind.SURVEY)
    assert not is_broad("word " * 80)


def test_a_report_tells_how_many_findings_were_no_more_than_captions():
    def finding(name, content):
        return Finding(
            id=name,
            content=content,
            confidence=ConfidenceLevel.LOW,
            source_ids=("src-1",),
            relevance=0.9,
            iteration=1,
        )

    report = draft(
        SynthesizerInput(
            original_query="How tall is the tower of Orrel?",
            current_phase=DeepResearchPhase.SYNTHESIS,
            max_iterations=1,
            finding_count=2,
            gap_count=0,
            has_research_brief=False,
            findings=(
                finding("find-1", "The tower is 40 m tall."),
                finding("find-2", "Figure 3: the tower, 40 m."),
            ),
            **RUN,
        )
    )
    assert "Figure 3" not in report
    assert "- Findings left out because they are captions, notices or markup: 1." in report
