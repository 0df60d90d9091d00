"""Findings say what was asked, and read by themselves."""

import pytest

from deep_research.evidence.expecting import expected_answer
from deep_research.evidence.question import QuestionKind, is_broad, kind_of
from deep_research.evidence.quoting import best_quote
from deep_research.evidence.ranking import Passage
from deep_research.evidence.reading import readable
from deep_research.evidence.text import question_terms
from deep_research.phases.analysis import AnalyzerInput, SourceText
from deep_research.phases.analysis.extractive import analyze
from deep_research.phases.synthesis import SynthesizerInput
from deep_research.phases.synthesis.extractive import draft
from deep_research.state import ConfidenceLevel, DeepResearchPhase, Finding, Span, SubQuery

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


def test_a_list_is_quoted_with_what_announces_it_and_reads_as_one_sentence():
    text = "For the tower of Orrel two papers give two totals:\n\n- one of 1911: £79,000;\n- the other: £90,000.\n\nMore."
    said = quoted("How much did the tower of Orrel cost?", text)
    assert readable(said) == (
        "For the tower of Orrel two papers give two totals: one of 1911: £79,000; the other: £90,000."
    )
    numbered = "To light the lamp of Orrel, do this:\n\n1. Open it\n2. Light it\n"
    assert readable(numbered) == "To light the lamp of Orrel, do this: (1) Open it; (2) Light it"


def test_no_goes_with_the_question_it_answers():
    text = (
        "Who kept it?\n\nBob.\n\nWas there a meal at the Orrel lamp?\n"
        "No. Those who say so read a poem of 1912.\n\nAre there bees?\nNo."
    )
    assert quoted("Was there a half-eaten meal at the Orrel lamp?", text) == (
        "Was there a meal at the Orrel lamp?\nNo. Those who say so read a poem of 1912."
    )


def test_a_line_that_begins_with_a_year_is_no_item_of_a_list():
    text = "The poem of Orrel was printed in\n1911. Moore said nothing of it."
    assert "printed in\n1911." in quoted("When was the poem of Orrel printed?", text)


def test_a_quote_goes_back_to_whom_it_speaks_of():
    text = "Ann Mole was a Swedish engineer. She led a firm. Her inventions lit Orrel without a keeper."
    assert quoted("Who lit Orrel with inventions?", text) == text


def test_a_reason_stands_beside_what_it_is_the_reason_of():
    text = (
        "In 1935 the lamp of Orrel was moved inland. The beach grew again. Then the sea returned. "
        "Sandbags only bought time."
    )
    assert "the sea returned" in quoted("Why was the lamp of Orrel moved?", text)


def test_lines_of_code_are_not_quoted():
    text = (
        "Read the Orrel file so:\n\n```\norrel = read_orrel(file)\nfor row in orrel: print(row)\n```\n\n"
        "The Orrel file has one row for each lamp."
    )
    assert quoted("How do I read an Orrel file?", text) == "The Orrel file has one row for each lamp."


def test_of_a_decade_only_its_years_are_told():
    contents = found(
        "Which lamps were made automatic in the 1990s?",
        ("Orrel", "On 10 April 1990 the lamp of Orrel was made automatic."),
        ("Ghent", "The lamp of Ghent was made automatic in 1936."),
    )
    assert contents == ["On 10 April 1990 the lamp of Orrel was made automatic."]


def test_what_a_program_calls_something_is_a_name():
    terms = question_terms("Which exceptions can lamp() and mist.lit and max_rows raise?")
    assert {word for word, weight in terms.items() if weight == 2.0} == {
        "lamp",
        "mist",
        "light",
        "max_row",
    }


def test_what_was_followed_up_is_as_near_to_the_question_as_what_led_to_it():
    question = "How is the lamp of Orrel lit at night?"
    queries = [
        SubQuery(id="subq-0", query=question, index=0, iteration=1),
        SubQuery(id="subq-1", query="Ghent night", index=1, iteration=2),
    ]
    handoff = AnalyzerInput(
        original_query=question,
        current_phase=DeepResearchPhase.ANALYSIS,
        source_count=2,
        high_quality_sources=0,
        sources=(
            SourceText(id="src-0", title="Orrel", content="The lamp of Orrel is lit by hand at night."),
            SourceText(id="src-1", title="Ghent", content="At night the shops of Ghent stay open for long."),
        ),
        sub_queries=tuple(queries),
        research_id="deepres-000000000000",
        iteration=2,
    )
    near = {f.source_ids[0]: f.relevance for f in analyze(handoff).findings}
    assert near.get("src-1", 0.0) < 0.5 * near["src-0"]


def test_a_report_leaves_out_what_is_far_from_the_question_unless_it_holds_what_is_asked_for():
    def said(number, content, relevance):
        return Finding(
            id=f"find-{number:012x}",
            content=content,
            confidence=ConfidenceLevel.LOW,
            source_ids=("src-1",),
            sub_query_id="subq-0",
            relevance=relevance,
        )

    report = draft(
        SynthesizerInput(
            original_query="What did the lamp cost?",
            current_phase=DeepResearchPhase.SYNTHESIS,
            max_iterations=3,
            finding_count=3,
            gap_count=0,
            has_research_brief=True,
            findings=(
                said(1, "The lamp of Orrel was dear.", 0.8),
                said(2, "The glass alone was £412.", 0.45),
                said(3, "Bees fly to the lamp.", 0.45),
            ),
            **RUN,
        )
    )
    assert "£412" in report
    assert "Bees" not in report


def test_a_sum_of_money_answers_without_the_word_for_it():
    contents = found(
        "How much did the Orrel tower cost?",
        ("Orrel", "The cost of the Orrel tower was £79,000."),
        (
            "Papers",
            "For the Orrel tower, finished in 1904, papers give two totals:\n\n- one: £79,000;\n- the other: £90,000.",
        ),
    )
    assert any("£90,000" in content for content in contents)


def test_what_uses_the_name_that_a_program_gives_is_nearer():
    contents = found(
        "Which exceptions can lamp() raise?",
        ("Guide", "Calling lamp('x') raises ValueError, as exceptions go."),
        ("Tour", "A lamp in the tower may raise exceptions to the rule."),
    )
    assert contents[0].startswith("Calling lamp('x')")


def test_a_quote_takes_nothing_from_another_paragraph_for_a_so():
    text = (
        "## The lime\n\nThe good ones left clay. Those that failed left almost nothing.\n\n"
        "So the clay in the stone was what mattered. A lime of this kind is now called orrel lime."
    )
    assert quoted("What is orrel lime?", text).startswith("So the clay")
