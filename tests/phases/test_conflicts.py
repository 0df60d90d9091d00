"""Contradictions in reports: one table, told once, and told by the engine where a model does not."""

from datetime import date

import pytest

from deep_research.phases.synthesis.conflicts import conflict_line, conflicts, with_conflicts
from deep_research.phases.synthesis.extractive_synthesizer import draft
from deep_research.phases.synthesis.handoff import SynthesizerInput
from deep_research.report.render import finished
from deep_research.report.report_document import Block, Document
from deep_research.state import ConfidenceLevel, DeepResearchPhase, Finding, Quote, Source
from deep_research.state.identity import finding_id, source_id
from deep_research.verification.contradictions import contradictions

TITLES = {"a": "Power of Mole", "b": "The Mole station", "c": "Mole, and its power station"}
IDS = {name: source_id(name) for name in TITLES}
SOURCES = tuple(
    Source(
        id=IDS[name],
        sub_query_id="q",
        title=title,
        url=f"{name}.md",
        content_hash=name,
        published=date(2020, 3, 1) if name == "a" else None,
    )
    for name, title in TITLES.items()
)


def finding(content, *names, quotes=()):
    quotes = quotes or [content] * len(names)
    return Finding(
        id=finding_id(content),
        content=content,
        confidence=ConfidenceLevel.MEDIUM,
        source_ids=tuple(IDS[name] for name in names),
        quotes=tuple(
            Quote(source_id=IDS[name], quote=text, start=0, end=len(text), content_hash=name)
            for name, text in zip(names, quotes, strict=True)
        ),
    )


LESS = finding("The station of Mole has 84 MW of power.", "a")
MORE = finding("The power station of Mole has 90 MW.", "b")
SAME = finding("With 90 MW of power the station of Mole is the largest.", "c")
FINDINGS = (LESS, MORE, SAME)


def handoff(question="What is known of Mole?", findings=FINDINGS):
    return SynthesizerInput(
        research_id="r",
        original_query=question,
        current_phase=DeepResearchPhase.SYNTHESIS,
        iteration=1,
        max_iterations=3,
        finding_count=len(findings),
        gap_count=0,
        has_research_brief=False,
        findings=findings,
        sources=SOURCES,
        contradictions=contradictions(findings, SOURCES),
    )


def test_all_sides_stand_in_one_table_with_what_is_better_borne_out():
    given = handoff()
    heading, table, better = conflicts(given.contradictions, given.findings, given.sources)
    assert heading == Block.heading(2, "Conflicting information")
    assert table.markdown.split("\n") == [
        "| What | Source | Date | Says |",
        "| --- | --- | --- | --- |",
        f"| Values in megawatts for Mole | Power of Mole | 2020-03-01 | 84 MW [{LESS.id}] |",
        f"|  | The Mole station |  | 90 MW [{MORE.id}] |",
        f"|  | Mole, and its power station |  | 90 MW [{SAME.id}] |",
    ]
    told = "better borne out is 90 MW: 2 independent sources against 1."
    assert better.markdown == f"*Values in megawatts for Mole: {told}*"


@pytest.mark.parametrize(
    "question", ["What is known of Mole?", "How many MW of power has the station of Mole?", "Mole"]
)
def test_a_keyless_report_tells_a_contradiction_once(question):
    report = draft(handoff(question))
    figures, conflicting = "## Published figures" in report, "## Conflicting information" in report
    assert figures + conflicting == 1
    assert report.count("better borne out is 90 MW") + report.count("Better borne out is 90 MW") == 1
    for title, mark, told in (
        ("Power of Mole", LESS.id, "84 MW"),
        ("The Mole station", MORE.id, "90 MW"),
        ("Mole, and its power station", SAME.id, "90 MW"),
    ):
        (row,) = [line for line in report.split("\n") if line.startswith("|") and mark in line]
        assert title in row
        assert told in row


def test_sides_of_one_finding_refer_to_their_sources():
    merged = finding(
        "The station of Mole has 84 MW of power.",
        "a",
        "b",
        quotes=("The station of Mole has 84 MW of power.", "The station of Mole has 90 MW of power."),
    )
    section = Document.of(conflicts(contradictions([merged], SOURCES), [merged], SOURCES)).markdown
    report, metadata, _ = finished(section, [merged], SOURCES, writer="w")
    assert "84 MW [1] |" in report
    assert "90 MW [2] |" in report
    assert metadata.removed_references == 0


def test_a_model_is_told_the_sides_with_names_dates_and_preference():
    given = handoff()
    names = {LESS.id: "F1", MORE.id: "F2", SAME.id: "F3"}
    (conflict,) = given.contradictions
    line = conflict_line(conflict, names, {s.id: s for s in SOURCES})
    assert line == (
        "F1, F2, F3: The sources give different values in megawatts for Mole: 84 MW against 90 MW. "
        "F1 says 84 MW (Power of Mole, 2020-03-01, voice 1); F2 says 90 MW (The Mole station, voice 2); "
        "F3 says 90 MW (Mole, and its power station, voice 3). "
        "Better borne out is 90 MW: 2 independent sources against 1."
    )
    assert conflict_line(conflict, {}, {}) == ""


@pytest.mark.parametrize(
    ("body", "added"),
    [
        (f"Mole has 84 MW [{LESS.id}].", True),
        (f"Mole has 84 MW [{LESS.id}], or 90 MW [{MORE.id}].", False),
        (f"Mole has 84 MW [{LESS.id}], and a station [{MORE.id}].", True),
        ("Mole is a lake [find-000000000000].", False),
    ],
    ids=["one side", "both", "both cited and one told", "others"],
)
def test_what_a_model_leaves_out_of_a_contradiction_that_it_cites_is_added(body, added):
    text = f"# Mole\n\n## Answer\n\n{body}\n"
    report = with_conflicts(text, handoff())
    assert ("## Conflicting information" in report) is added
    assert report.startswith(text.rstrip())
    assert added or report == text


def test_words_of_sources_break_no_table():
    one = finding("The station | of Mole has 84 MW | of power.", "a")
    given = handoff(findings=(one, MORE))
    hostile = [s.model_copy(update={"title": "a | b\n## c <img>"}) for s in SOURCES]
    _, table, *_ = conflicts(given.contradictions, given.findings, hostile)
    assert all(line.replace("\\|", "").count("|") == 5 for line in table.markdown.split("\n"))
    assert "<img>" not in table.markdown
