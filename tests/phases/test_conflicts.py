"""Contradictions in reports: one table, told once, and told by the engine where a model does not."""

from datetime import date

import pytest
from phases.builders import finding as known
from phases.builders import handoff as handed

from deep_research.phases.synthesis import SynthesizerInput
from deep_research.phases.synthesis.conflicts import conflict_line, conflicts, with_conflicts
from deep_research.phases.synthesis.extractive_synthesizer import draft
from deep_research.report.render import finished
from deep_research.report.report_document import Block, Document
from deep_research.state import Quote, Source
from deep_research.state.identity import finding_id, source_id
from deep_research.verification.contradictions import contradictions

TITLES = {"a": "Power of Mole", "b": "The Mole station", "c": "Mole, and its power station"}
IDS = {name: source_id(name) for name in TITLES}
SOURCES = tuple(
    Source(id=IDS[name], sub_query_id="q", title=title, url=f"{name}.md", content_hash=name, published=day)
    for (name, title), day in zip(TITLES.items(), (date(2020, 3, 1), None, None), strict=True)
)


def finding(**said):
    """What sources say, by their names; the words of the finding are those of the first."""
    content = next(iter(said.values()))
    quotes = tuple(
        Quote(source_id=IDS[name], quote=text, start=0, end=len(text), content_hash=name)
        for name, text in said.items()
    )
    ids = tuple(IDS[name] for name in said)
    return known(0, content, id=finding_id(content), source_ids=ids, quotes=quotes)


LESS = finding(a="The station of Mole has 84 MW of power.")
MORE = finding(b="The power station of Mole has 90 MW.")
SAME = finding(c="With 90 MW of power the station of Mole is the largest.")


def handoff(question="What is known of Mole?", findings=(LESS, MORE, SAME)):
    found = contradictions(findings, SOURCES)
    more = {"original_query": question, "findings": findings, "sources": SOURCES, "contradictions": found}
    return handed(SynthesizerInput, **more)


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
    told = "better supported is 90 MW: 2 independent sources against 1."
    assert better.markdown == f"*Values in megawatts for Mole: {told}*"


QUESTIONS = ["What is known of Mole?", "How many MW of power has the station of Mole?", "Mole"]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_keyless_report_tells_a_contradiction_once(question):
    report = draft(handoff(question))
    assert ("## Published figures" in report) + ("## Conflicting information" in report) == 1
    assert report.casefold().count("better supported is 90 mw") == 1
    for title, mark, told in zip(
        TITLES.values(), (LESS, MORE, SAME), ("84 MW", "90 MW", "90 MW"), strict=True
    ):
        (row,) = [line for line in report.split("\n") if line.startswith("|") and mark.id in line]
        assert title in row
        assert told in row


def test_sides_of_one_finding_refer_to_their_sources():
    merged = finding(a="The station of Mole has 84 MW of power.", b="The station of Mole has 90 MW of power.")
    section = Document.of(conflicts(contradictions([merged], SOURCES), [merged], SOURCES)).markdown
    report, metadata, _ = finished(section, [merged], SOURCES, writer="w")
    assert "84 MW [1] |" in report
    assert "90 MW [2] |" in report
    assert metadata.removed_references == 0


def test_a_model_is_told_the_sides_with_names_dates_and_preference():
    (conflict,) = handoff().contradictions
    names = {LESS.id: "F1", MORE.id: "F2", SAME.id: "F3"}
    assert conflict_line(conflict, names, {s.id: s for s in SOURCES}) == (
        "F1, F2, F3: The sources give different values in megawatts for Mole: 84 MW against 90 MW. "
        "F1 says 84 MW (Power of Mole, 2020-03-01, voice 1); F2 says 90 MW (The Mole station, voice 2); "
        "F3 says 90 MW (Mole, and its power station, voice 3). "
        "Better supported is 90 MW: 2 independent sources against 1."
    )
    assert conflict_line(conflict, {}, {}) == ""


BODIES = {
    "one side": (f"Mole has 84 MW [{LESS.id}].", True),
    "both": (f"Mole has 84 MW [{LESS.id}], or 90 MW [{MORE.id}].", False),
    "both cited and one told": (f"Mole has 84 MW [{LESS.id}], and a station [{MORE.id}].", True),
    "others": ("Mole is a lake [find-000000000000].", False),
}


@pytest.mark.parametrize(("body", "added"), BODIES.values(), ids=BODIES)
def test_what_a_model_leaves_out_of_a_contradiction_that_it_cites_is_added(body, added):
    text = f"# Mole\n\n## Answer\n\n{body}\n"
    report = with_conflicts(text, handoff())
    assert ("## Conflicting information" in report) is added
    assert report.startswith(text.rstrip())
    assert added or report == text


def test_words_of_sources_break_no_table():
    given = handoff(findings=(finding(a="The station | of Mole has 84 MW | of power."), MORE))
    hostile = [s.model_copy(update={"title": "a | b\n## c <img>"}) for s in SOURCES]
    _, table, *_ = conflicts(given.contradictions, given.findings, hostile)
    assert all(line.replace("\\|", "").count("|") == 5 for line in table.markdown.split("\n"))
    assert "<img>" not in table.markdown
