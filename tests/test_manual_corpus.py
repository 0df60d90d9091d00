"""The made manual and the model that reads it: facts are two references away, and are found by following them alone."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from manual_corpus import PAGES, PARTS, Manual, manual
from manual_reader import Item, followed, planned, worked

ITEM = Item("entries", "spindle journal")
OVERVIEW = "The spindle journal is described in Section 7.3.2."
MARK = "0123456789abcdef"


@pytest.fixture(scope="module")
def made() -> Manual:
    return manual()


def text_of(html: str) -> str:
    """About as a reader of documents gives it."""
    return re.sub(r"<[^>]+>", "", re.sub(r"<h\d[^>]*>", "\n# ", html).replace("<title>", "<title>("))


def test_a_seed_makes_the_same_manual_and_another_one_another(made: Manual) -> None:
    assert dict(made.files()) == dict(manual().files())
    assert made.facts != manual(8).facts
    assert len(made.pages) == PAGES
    assert len({fact.value for fact in made.facts}) == len(made.facts) == len(PARTS) == 12


def test_every_link_leads_to_a_section_and_every_number_is_there(made: Manual) -> None:
    files = dict(made.files())
    for name, html in files.items():
        for target, anchor in re.findall(r'href="([^"#]+)(?:#([^"]+))?"', html):
            assert target in files, name
            assert not anchor or f'id="{anchor}"' in files[target], (name, anchor)
        for number in re.findall(r"Section (\d+(?:\.\d+)+)", html):
            assert number in made.sections, (name, number)


def test_a_fact_stands_two_references_behind_the_overview_and_nowhere_else(made: Manual) -> None:
    files = {name: text_of(html) for name, html in made.files()}
    names = {section.number: page.name for page in made.pages for section in page.sections}
    for fact in made.facts:
        first, second = fact.way
        assert f"The {fact.part} is described in Section {first}." in files["overview.html"]
        assert f"Section {second}." in made.sections[first].paragraphs[0]
        assert fact.sentence in made.sections[second].paragraphs[0]
        assert [name for name, text in files.items() if fact.value in text] == [names[second]]
        assert [name for name, text in files.items() if fact.part in text] == ["overview.html"]
        alike = [
            name for name, text in files.items() if re.search(rf"By default it has [\d,]+ {fact.unit}", text)
        ]
        assert len(alike) > 10, fact.part


def test_the_files_are_written_as_they_are_made(made: Manual, tmp_path: Path) -> None:
    made.write(tmp_path)
    assert {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()} == dict(made.files())


def test_who_has_the_whole_manual_finds_each_fact_by_its_references(made: Manual) -> None:
    texts = [(name, text_of(html)) for name, html in made.files()]
    for fact in made.facts:
        trail = followed(Item(fact.unit, fact.part), texts)
        assert trail.fact == fact.sentence
        assert len(trail.steps) == 3


@pytest.mark.parametrize(
    ("texts", "fact", "further"),
    [
        ([], "", ""),
        ([("S1", "By default it has 12 entries.")], "", ""),
        ([("S1", OVERVIEW)], "", "7.3.2"),
        ([("S1", OVERVIEW), ("S2", "# 7.3.2. Hooks\nIts size is given in Section 9.1.1.")], "", "9.1.1"),
        (
            [("S1", OVERVIEW), ("S2", "# 7.3.1. Hooks\nIt has 12 entries.\n# 7.3.2. Rings\nNo more.")],
            "",
            "7.3.2",
        ),
        ([("S1", OVERVIEW), ("S2", "# 7.3.2. Hooks\nIt has 12 entries.")], "It has 12 entries.", ""),
        ([("S1", OVERVIEW), ("S2", "# 7.3.2. Hooks\nIt has 12 seconds.")], "", "7.3.2"),
        ([("S1", OVERVIEW), ("S2", "# 7.3.2. Hooks\nSee Section 7.3.2.")], "", ""),
    ],
    ids=["nothing", "no trail", "one step", "two steps", "a neighbour", "found", "another unit", "a circle"],
)
def test_a_trail_goes_as_far_as_the_texts_lead(texts: list[tuple[str, str]], fact: str, further: str) -> None:
    trail = followed(ITEM, texts)
    assert (trail.fact, trail.next) == (fact, further)


def step(*shown: str) -> str:
    steps = [f"<<{MARK} step {n}>>\n{text}\n<<{MARK} end>>" for n, text in enumerate(shown, 1)]
    return "\n\n".join([f"Your task: {ITEM.question}", *steps, "This is step 2 of at most 8."])


def test_an_agent_tries_one_way_after_the_other_and_is_done_with_what_it_has() -> None:
    lead = f"search(query: {ITEM.question}):\nS1: “Overview”, overview.html\n{OVERVIEW}"
    tried = [
        "look_up(section: 7.3.2) failed:\nThere is none.",
        "look_up(section: 7.3) failed:\nThere is none.",
    ]
    searched = ["search(query: Section 7.3.2):\nNothing.", "search(query: 7.3):\nNothing."]
    assert worked(step())["actions"] == [{"tool": "search", "query": ITEM.question}]
    assert worked(step(lead))["actions"] == [{"tool": "look_up", "section": "7.3.2"}]
    assert worked(step(lead, *tried[:1]))["actions"] == [{"tool": "look_up", "section": "7.3"}]
    done = worked(step(lead, *tried, *searched))
    assert done["actions"] == [{"tool": "done"}]
    assert done["missing"] == [f"{ITEM.question}: Section 7.3.2."]
    found = worked(
        step(lead, "look_up(section: 7.3.2):\nS2, from character 0 on:\n# 7.3.2. Hooks\nIt has 12 entries.")
    )
    assert [fact["source"] for fact in found["facts"]] == ["S1", "S2"]
    assert found["facts"][-1]["content"] == "The spindle journal: It has 12 entries."


def test_a_plan_has_a_part_for_each_thing_that_is_asked(made: Manual) -> None:
    plan = planned(f"Question: {made.question}")
    assert [part["text"] for part in plan["parts"]] == [fact.question for fact in made.facts]
    assert json.dumps(plan)
