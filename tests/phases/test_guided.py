"""How something is done: the section that is called so leads."""

from deep_research.phases.analysis import AnalyzerInput, SourceText
from deep_research.phases.analysis.extractive import analyze
from deep_research.state import DeepResearchPhase, SubQuery

LAMPS = (
    "Lighting lamps",
    "# Lighting lamps\n\nOpen the valve, and hold the flame to the wick. It catches at once.\n\n"
    "## Why lighting lamps matters\n\nShips are lost where lamps are dark, and lamps that are lit save them.\n",
)
SAFETY = (
    "Safety",
    "# Safety\n\nSomebody who was lighting lamps while lamps were filled, or lamps that leaked, was burned.",
)


def found(question, *texts):
    sources = tuple(
        SourceText(id=f"src-{n}", title=title, content=text) for n, (title, text) in enumerate(texts)
    )
    return analyze(
        AnalyzerInput(
            research_id="deepres-000000000000",
            iteration=1,
            original_query=question,
            current_phase=DeepResearchPhase.ANALYSIS,
            sources=sources,
            source_count=len(sources),
            high_quality_sources=0,
            sub_queries=(SubQuery(id="subq-0", query=question, index=0, iteration=1),),
        )
    ).findings


def test_how_the_section_begins_that_is_called_so_is_the_nearest():
    first, *_ = found("How do I light lamps?", SAFETY, LAMPS)
    assert first.content == "Open the valve, and hold the flame to the wick. It catches at once."
    assert first.quotes[0].quote in LAMPS[1]


def test_a_section_that_asks_why_does_not_tell_how():
    why = (
        "Harbour",
        "# Harbour\n\n## Why light lamps\n\nShips are lost in the dark, and their men with them.",
    )
    assert not any("Ships" in f.content for f in found("How do I light lamps?", why, SAFETY))


def test_the_document_of_a_named_thing_is_told_where_nothing_says_what_to_do_with_it():
    orrel = ("Orrel", "# Orrel\n\nThe tool is small and green, and it fits into any lamp.")
    others = [(f"Lamps {n}", f"# Lamps {n}\n\nTo mend lamp {n}, hold it to the light.") for n in range(3)]
    said = [f.content for f in found("How do I mend with Orrel?", orrel, *others)]
    assert any("small and green" in content for content in said)


def test_a_name_that_all_sources_have_need_not_stand_in_the_heading():
    orrel = [(title, f"{text}\n\nAll of this is of Orrel.") for title, text in (LAMPS, SAFETY)]
    first, *_ = found("How do I light lamps in Orrel?", *orrel)
    assert first.content.startswith("Open the valve")


def test_to_do_so_outright_comes_before_a_section_of_the_thing_alone():
    text = (
        "Lamps of all kinds hang in the tower of the harbour, and some of them burn oil.",
        "Elsewhere",
        "To light lamps, hold a flame to the wick.",
    )
    first, *_ = found("How do I light lamps?", ("Lamps", f"# Lamps\n\n{text[0]}"), (text[1], text[2]))
    assert first.content == text[2]


def test_a_section_of_a_kind_of_it_tells_how_where_it_says_so_outright():
    oil = "To route a ship to the next lamp, pass the name of the lamp to the keeper."
    text = (
        f"# Harbours\n\n## Oil lamps\n\n{oil}\n\n## Lamps and dues\n\nThe dues of a lamp were paid in oil.\n"
    )
    plain = "A lamp of the harbour is green."
    first, second, *_ = found(
        "How do I use a lamp?", ("Words", f"# Words\n\n## Lamp\n\n{plain}"), ("Harbours", text)
    )
    assert [first.content, second.content] == [oil, plain]


def test_a_section_that_undoes_it_or_says_what_became_of_it_does_not_lead():
    sections = (
        "## Removing lamps\n\nTo remove a lamp, pull it.\n\n## Broken lamps\n\nIt is thrown away.\n\n"
        "## Lamps and dues\n\nTo pay for a lamp, go to the harbour.\n\n## Lamp\n\nTurn the switch of the lamp.\n"
    )
    first, *_ = found("How do I use a lamp?", ("Harbours", f"# Harbours\n\n{sections}"), SAFETY)
    assert first.content == "Turn the switch of the lamp."


def test_a_note_on_a_version_does_not_open_a_section():
    noted = ("Lighting lamps", "# Lighting lamps\n\nAdded in version 2.0.\n\nTurn the switch to the left.")
    first, *_ = found("How do I light lamps?", noted)
    assert first.content == "Turn the switch to the left."


def test_steps_are_told_with_what_announces_them():
    steps = (
        "Lighting lamps",
        "# Lighting lamps\n\nThe lamps are lit in two steps:\n\n1. Open the valve.\n2. Hold the flame to it.\n",
    )
    first, *_ = found("How do I light lamps?", steps)
    assert first.content == "The lamps are lit in two steps: (1) Open the valve. (2) Hold the flame to it."


HANDLING = (
    "Harbour lights",
    "# Harbour lights\n\nThe harbour has many lamps.\n\n## Lamps and wicks\n\nBy default, all of them stay dark by "
    "day.\n\n## Rendering mirrors\n\nA mirror is cast by its master at night.\n\n## Mirrors\n\nThey are round.\n",
)


def test_how_something_is_done_at_all_is_told_by_the_section_that_is_called_so():
    first, *_ = found("How are lamps handled?", HANDLING)
    assert first.content == "By default, all of them stay dark by day."
    first, *_ = found("How are mirrors rendered?", HANDLING)
    assert first.content == "A mirror is cast by its master at night."


def test_how_something_was_done_once_is_no_guide():
    assert not any("by day" in f.content for f in found("How were lamps handled?", HANDLING))


def test_what_is_done_in_place_of_it_does_not_tell_how():
    settings = (
        "Settings",
        "# Settings\n\nDARK_LAMP\n\n- The lamp is sold rather than being lit by its keeper.\n",
    )
    first, *_ = found("How do I light the lamp?", settings, LAMPS)
    assert "sold" not in first.content


def test_a_heading_that_names_two_doings_is_of_either():
    text = "# Harbours\n\n## Filling and lighting lamps\n\nOpen the valve first of all, and wait.\n\n## Oil\n"
    for question in ("How do I light lamps?", "How do I fill lamps?"):
        first, *_ = found(question, ("Harbours", text), SAFETY)
        assert first.content == "Open the valve first of all, and wait."


def test_a_verb_that_says_little_need_not_stand_in_the_text():
    text = "# Harbours\n\n## Spare lamps\n\nTo bring more lights on board, use the small crane.\n\n## Oil\n\nIt burns.\n"
    first, *_ = found("How do I add spare lamps?", ("Harbours", text))
    assert first.content == "To bring more lights on board, use the small crane."
    assert not any("crane" in f.content for f in found("How do I mend spare lamps?", ("Harbours", text)))


def test_the_name_of_what_all_is_in_does_not_choose_the_statement():
    texts = [
        (
            f"Part {n}",
            f"# Part {n}\n\nOrrel has many parts.\n\nOrrel also knows lamps of kind {n}, lit or not.",
        )
        for n in range(3)
    ]
    said = "To light a lamp, hold a match to its wick."
    first, *_ = found("How do I light a lamp in Orrel?", *texts, ("Lamps", f"# Lamps\n\n{said}\n"))
    assert first.content == said


def test_records_of_versions_answer_where_nothing_else_does():
    log = ("Changelog", "# Changelog\n\nTo light a lamp, hold a match to its wick.")
    assert [f.source_ids for f in found("How do I light a lamp?", log)] == [("src-0",)]
    manual = ("Manual", "# Manual\n\nTo light a lamp, hold a flame to its wick.")
    assert {f.source_ids for f in found("How do I light a lamp?", log, manual)} == {("src-1",)}


def test_how_a_thing_is_treated_is_not_told_by_what_it_is():
    gout = (
        "Gout",
        "# Gout\n\nGout is a disease of the toe. Gout is known of old.\n\n## Who has gout\n\nKings do.\n",
    )
    assert not found("How is gout treated?", gout)
