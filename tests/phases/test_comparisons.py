"""Two things compared: side by side, each by itself, and nothing of something else."""

import pytest

from deep_research.evidence.question import compared
from deep_research.evidence.rows import beside, cells
from deep_research.phases.synthesis import SynthesizerInput
from deep_research.phases.synthesis.extractive import draft
from deep_research.state import ConfidenceLevel, DeepResearchPhase, Finding, Source

RUN = {"research_id": "deepres-000000000000", "iteration": 1}
TABLE = "Tower | Height | Lit\nHare Rock | 35 m | 1811\nMole | 48 m | 1844\nStoat | 20 m | 1900"
ROWS = ("Tower: Hare Rock; Height: 35 m; Lit: 1811", "Tower: Mole; Height: 48 m; Lit: 1844")


def written(question, *said, titles=("A list",)):
    findings = tuple(
        Finding(
            id=f"find-{n:012x}",
            content=content,
            confidence=ConfidenceLevel.LOW,
            source_ids=(f"src-{source}",),
            sub_query_id="subq-0",
            relevance=relevance,
        )
        for n, (content, source, relevance) in enumerate(said)
    )
    return draft(
        SynthesizerInput(
            original_query=question,
            current_phase=DeepResearchPhase.SYNTHESIS,
            max_iterations=3,
            finding_count=len(findings),
            gap_count=0,
            has_research_brief=True,
            findings=findings,
            sources=tuple(
                Source(id=f"src-{n}", title=title, sub_query_id="subq-0") for n, title in enumerate(titles)
            ),
            **RUN,
        )
    )


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("Compare the Hare Rock and Mole lighthouses.", ("Hare Rock", "Mole")),
        ("What is the difference between a list and a tuple in Python?", ("list", "tuple")),
        ("lists vs tuples", ("lists", "tuples")),
        ("How does urllib differ from http.client?", ("urllib", "http.client")),
        ("What happened between 1900 and 1910?", ()),
        ("Who built Hare Rock and Mole?", ()),
    ],
)
def test_the_sides_of_a_comparison_are_those_it_names(question, sides):
    assert compared(question) == sides


def test_rows_that_one_table_has_of_both_are_found():
    assert [TABLE[a:b].partition(" |")[0] for a, b in beside(TABLE, ["hare rock", "mole"])] == [
        "Hare Rock",
        "Mole",
    ]
    assert beside(TABLE, ["hare rock", "otter"]) == []
    assert cells(ROWS[0]) == {"Tower": "Hare Rock", "Height": "35 m", "Lit": "1811"}
    assert cells("Note: the tower is old.") == {}


def test_what_a_table_has_of_both_stands_side_by_side_and_only_there():
    report = written("Compare Hare Rock and Mole", (ROWS[0], 0, 0.7), (ROWS[1], 0, 0.2))
    assert "|  | Hare Rock [find-000000000000] | Mole [find-000000000001] |" in report
    assert "| Height | 35 m | 48 m |" in report
    assert "Tower: Mole" not in report


def test_each_side_has_its_section_and_is_introduced_by_its_own_document():
    report = written(
        "Compare Hare Rock and Mole",
        ("Bob's best work is Hare Rock, they say", 2, 0.9),
        ("Hare Rock is a reef in the sea", 0, 0.8),
        ("Mole is a rock near Ghent", 1, 0.8),
        ("At Hare Rock men slept on a ship", 0, 0.8),
        titles=("Hare Rock", "Mole", "Bob"),
    )
    summary = report.partition("## Summary")[2].partition("##")[0]
    assert "a reef in the sea" in summary
    assert "near Ghent" in summary
    assert "Bob" in report.partition("## Hare Rock")[2]
