"""Who asks how something is done is shown the code that stands behind the answer."""

import pytest

from deep_research.phases.synthesis.paragraphs import paragraphs
from deep_research.phases.synthesis.statements import Statement
from deep_research.report.render import finished
from deep_research.state import ConfidenceLevel, Finding, Quote, Source

CODE = '```python\nwith open_lamp("http://orrel.example") as lamp:\n    lamp.light(matches[0])  # <b>\n```'
MANUAL = f"# Harbours\n\n## Lighting lamps\n\nPass the matches to light the lamp:\n\n{CODE}\n\nIt burns for a night.\n"


def test_the_code_is_a_quote_of_its_own(analyzed):
    first, *_ = analyzed("How do I light the lamp?", ("Harbours", MANUAL))
    assert first.content == "Pass the matches to light the lamp:"
    assert [quote.quote for quote in first.quotes] == ["Pass the matches to light the lamp:", CODE]


@pytest.mark.parametrize("question", ["What is lighting lamps?", "Who lights the lamp with matches?"])
def test_who_asks_something_else_is_shown_none(analyzed, question):
    for finding in analyzed(question, ("Harbours", MANUAL)):
        assert len(finding.quotes) == 1


def test_a_section_that_only_points_to_its_code_tells_it_with_that(analyzed):
    text = f"# Harbours\n\n## Lighting lamps\n\nSo how do you light a lamp? Like this:\n\n{CODE}\n"
    first, *_ = analyzed("How do I light lamps?", ("Harbours", text))
    assert first.content == "So how do you light a lamp? Like this:"
    assert first.quotes[1].quote == CODE


def test_what_says_little_of_the_question_is_shown_without_its_code(analyzed):
    aside = f"# Boats\n\nA boat with lamps is to be lit.\n\n{CODE}\n"
    found = analyzed("How do I light the lamp?", ("Harbours", MANUAL), ("Boats", aside))
    assert [len(f.quotes) for f in found if f.source_ids == ("src-1",)] in ([], [1])


def statement(content, *codes, start=0):
    quotes = tuple(
        Quote(source_id="src-000000000000", quote=q, start=start, end=start + len(q), content_hash="h")
        for q in (content, *codes)
    )
    return Statement(
        Finding(
            id=f"find-{start:012x}",
            content=content,
            confidence=ConfidenceLevel.LOW,
            source_ids=("src-000000000000",),
            quotes=quotes,
        ),
        [],
    )


def test_code_stands_right_behind_its_statement_and_other_statements_behind_it():
    blocks = paragraphs([statement("Light it:", CODE), statement("It burns.", start=9)])
    said, code, after = blocks
    assert said == "Light it: [find-000000000000]"
    assert code.splitlines()[1] == 'with open_lamp("http://orrel.example") as lamp:'
    assert after == "It burns. [find-000000000009]"


def test_a_report_shows_code_as_it_is_and_what_stands_around_it_made_safe():
    told = statement("Light <b>it</b>:", CODE)
    draft = "\n\n".join(["# How?", "## Summary", *paragraphs([told])])
    source = Source(id="src-000000000000", title="Manual", sub_query_id="subq-0")
    report, metadata, citations = finished(draft, [told.finding], [source], writer="w")
    assert (
        'with open_lamp("http://orrel.example") as lamp:\n        lamp.light(matches[0])  # <b>\n' in report
    )
    assert "Light &lt;b>it&lt;/b>: [1]" in report
    assert {citation.quote for citation in citations} == {"Light <b>it</b>:", CODE}
    assert metadata.sections == ("Summary", "References")


def test_a_comment_in_code_is_no_section():
    code = "```\n## Light it\nlamp\n```"
    told = statement("Light it:", code)
    draft = "\n\n".join(["# How?", "## Summary", *paragraphs([told])])
    _, metadata, _ = finished(draft, [told.finding], [], writer="w")
    assert metadata.sections == ("Summary",)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("The lamp has a wick.)", "The lamp has a wick."),
        ("(The lamp has a wick.)", "(The lamp has a wick.)"),
        ("The lamp has a wick (of cotton)", "The lamp has a wick (of cotton)."),
    ],
)
def test_a_bracket_that_began_before_does_not_end_a_statement(content, text):
    assert statement(content).text == text
