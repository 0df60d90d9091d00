"""A list that no source has is put together of what each says of its own thing."""

import pytest

from deep_research.evidence.listing import listed, told_of
from deep_research.phases.synthesis.extractive import draft
from deep_research.phases.synthesis.handoff import SynthesizerInput
from deep_research.state import ConfidenceLevel, DeepResearchPhase, Finding, Source, Span

DATES = """# The keepers leave

A lighthouse had keepers. Then they went.

- 1894 — Orrel, in the Firth, becomes automatic with gas.
- 1907 — The mist valve is invented by a smith.
- 1947 — Penryn Ledge, Cornwall.
- 1990 — The Stoat, and also Hare Rock.
- 1991 — Otter Bank.
"""
STOAT = "# The Stoat, a hell\n\nThe lighthouse is far out. On 10 April 1990 the light became electric and automatic.\n"
OTTER = "# Otter Bank\n\nThe lighthouse is old. The light was made automatic in 1991.\n"
QUESTION = "Which lighthouses were automatic in 1990?"


def contents(found):
    return [finding.content for finding in found]


def test_entries_of_a_list_that_only_name_things_say_what_one_before_said(analyzed):
    found = contents(analyzed(QUESTION, ("The keepers leave", DATES), ("The Stoat, a hell", STOAT)))
    assert found == [
        "1894 — Orrel, in the Firth, becomes automatic with gas.",
        "1947 — Penryn Ledge, Cornwall.",
        "1990 — The Stoat, and also Hare Rock.",
        "On 10 April 1990 the light became electric and automatic.",
    ]


def test_what_became_so_in_a_year_did_so_in_that_year(analyzed):
    question = "Which lighthouses became automatic in 1990?"
    found = contents(analyzed(question, ("The keepers leave", DATES), ("The Stoat, a hell", STOAT)))
    assert found == [
        "1990 — The Stoat, and also Hare Rock.",
        "On 10 April 1990 the light became electric and automatic.",
    ]


def test_one_source_makes_no_list(analyzed):
    found = analyzed("Which lighthouses became automatic in 1991?", ("Otter Bank", OTTER))
    assert contents(found) == ["The lighthouse is old. The light was made automatic in 1991."]


def test_who_is_asked_for_by_a_name_may_have_done_it_in_a_related_word(analyzed):
    texts = (
        ("Orrel", "# Orrel\n\nThe lighthouse of Orrel was designed by Ann Mole for the town.\n"),
        ("Stoat", "# Stoat\n\nThe lighthouse stands. The engineer of the Stoat was Bob Mole of Penryn.\n"),
        ("Hare", "# Hare\n\nThe lighthouse of Hare was designed by Tom Otter.\n"),
        ("Otter", "# Otter\n\nThe lighthouse of Otter was built by the town.\n"),
    )
    found = contents(analyzed("Which lighthouses did the Moles build?", *texts))
    assert found == [
        "The lighthouse of Orrel was designed by Ann Mole for the town.",
        "The engineer of the Stoat was Bob Mole of Penryn.",
    ]


def test_what_is_of_another_kind_is_not_listed_where_no_name_or_year_binds_it(analyzed):
    texts = (
        ("Lamps", "# Lamps\n\nThe lamps of Orrel burn oil from Penryn every night.\n"),
        ("Ships", "# Ships\n\nShips burn coal from Penryn every night, beside their lamps.\n"),
        ("Stoves", "# Stoves\n\nStoves burn wood from Penryn every night.\n"),
    )
    assert not any("Stoves" in said for said in contents(analyzed("Which lamps burn every night?", *texts)))


@pytest.mark.parametrize(
    "question",
    [
        "Which of the lamps is oldest?",
        "Which is taller, Orrel or Stoat?",
        "What does glass do?",
        "Which lamps are there?",
    ],
)
def test_other_questions_want_no_list(question):
    assert listed(question) is None


def test_a_heading_says_what_its_sentences_need_not(analyzed):
    wanted = listed("Which lighthouses did the Moles build?")
    text = "## Who designed it\n\nAnn Mole lived on the rock.\n\n## Today\n\nAnn Mole is forgotten.\n"
    spans = [
        s for items in (True, False) for s in told_of(text, Span(start=0, end=len(text)), wanted, items=items)
    ]
    assert [text[s.start : s.end] for s in spans] == ["Ann Mole lived on the rock."]


def test_a_report_has_a_line_for_each_and_names_what_it_is_of_once(analyzed):
    texts = (("The keepers leave", DATES), ("The Stoat, a hell", STOAT), ("Otter Bank", OTTER))
    found = analyzed("Which lighthouses are automatic?", *texts)
    findings = tuple(
        Finding(
            id=f"find-{n:012x}",
            content=f.content,
            confidence=ConfidenceLevel.LOW,
            source_ids=f.source_ids,
            category=f.category,
            sub_query_id="subq-0",
            relevance=f.relevance,
        )
        for n, f in enumerate(found)
    )
    report = draft(
        SynthesizerInput(
            original_query="Which lighthouses are automatic?",
            current_phase=DeepResearchPhase.SYNTHESIS,
            research_id="deepres-000000000000",
            iteration=1,
            max_iterations=1,
            finding_count=len(findings),
            gap_count=0,
            has_research_brief=False,
            findings=findings,
            sources=tuple(
                Source(id=f"src-{n}", title=title, sub_query_id="subq-0")
                for n, (title, _) in enumerate(texts)
            ),
        )
    )
    lines = [line for line in report.splitlines() if line.startswith("- ")]
    assert lines[0].startswith("- 1894 — Orrel")
    assert any(line.startswith("- *The Stoat, a hell*: On 10 April") for line in lines)
    assert any(line.startswith("- *Otter Bank*: The light was made") for line in lines)
    assert report.count("Otter Bank") == 2


@pytest.mark.parametrize(
    ("sentence", "is_told"),
    [
        ("The lamps of Orrel were electric in 1904.", True),
        ("The lamps of Orrel were never electric in 1904.", False),
        ("In 1904 Tarn voted against electric lamps.", False),
    ],
)
def test_what_is_denied_is_not_listed(sentence, is_told):
    wanted = listed("Which lamps were electric in 1904?")
    assert wanted is not None
    assert [*told_of(sentence, Span(start=0, end=len(sentence)), wanted, items=False)] == (
        [Span(start=0, end=len(sentence))] if is_told else []
    )


def test_a_list_of_what_is_not_so_is_no_list():
    assert listed("Which lamps were never electric in 1904?") is None
