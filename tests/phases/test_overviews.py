"""A subject that is named in few words: an overview of excerpts, a timeline in order of time."""

import pytest

from deep_research.evidence.question import QuestionKind, is_survey, kind_of, subject, wants_order_of_time

RUN = {"research_id": "deepres-000000000000", "iteration": 1}
HARBOUR = (
    "Mist lamps",
    "This page introduces the mist lamps of Orrel. It is kept by the harbour museum.\n\n"
    "## The oil lamps\n\nIn the oil lamps of the harbour the wick was trimmed by hand. It smoked. "
    "A boy cleaned the glass.",
)
LIST = (
    "The lamps of Orrel",
    "- 1907 — The first mist lamp is lit at Orrel.\n- 1890 — A gale.\n- 3 May 1921 — Ghent.\n"
    "- End of 1950 — The last lamp.",
)
OTHER = ("Bees", "Bees make honey in the summer of 1907. A hive holds thousands of them.")


def told(findings):
    """Findings as the synthesizer is given them in these tests."""
    return [(f.content, int(f.source_ids[0].removeprefix("src-")), f.relevance) for f in findings]


@pytest.mark.parametrize(
    ("request_", "of"),
    [
        ("lamps", "lamps"),
        ("mist lamps", "mist lamps"),
        ("Give me a short overview of the history of mist lamps", "mist lamps"),
        ("timeline of lamp automation", "lamp automation"),
        ("mist lamp history", "mist lamp"),
        ("Tell me about the mist lamps of Orrel.", "mist lamps of Orrel"),
        ("What is the history of Orrel?", "Orrel"),
        ("What are mist lamps?", "mist lamps"),
        ("How did the mist lamps change over time?", "mist lamps"),
        ("How have mist lamps evolved?", "mist lamps"),
        ("What did Robert Orrel do?", "Robert Orrel"),
        ("What was Robert Orrel of Penryn known for?", "Robert Orrel of Penryn"),
        ("What is Robert Orrel best known for?", "Robert Orrel"),
        ("How have mist lamps changed over the last decades?", "mist lamps"),
    ],
)
def test_a_survey_is_told_by_its_form_and_is_of_what_is_left(request_, of):
    assert (kind_of(request_), subject(request_)) == (QuestionKind.SURVEY, of)


@pytest.mark.parametrize(
    "question",
    [
        "Who wrote a History of Orrel?",
        "Why?",
        "What did the keepers do?",
        "What did Robert Orrel do when the lamp failed?",
        "What does Orrel do?",
        "What did Robert Orrel want to do?",
        "What did The keepers do?",
        "What did It do?",
        "Tell me who built Orrel",
        "Aspirin kills bees.",
        "Compare lamps and bees",
        "list the lamps",
        "Give examples of lamps",
        "What are the mist lamps of Orrel?",
        "How did the lamps change?",
        "How did they change over the years?",
        "How has what changed over time evolved?",
        "How did Ghent develop a mist lamp?",
        "overview " * 300,
    ],
)
def test_what_asks_or_tells_something_is_no_survey(question):
    assert not is_survey(question)


def test_an_overview_begins_where_documents_and_sections_begin(analyzed):
    contents = [f.content for f in analyzed("mist lamps", HARBOUR, OTHER)]
    assert contents[0] == ("This page introduces the mist lamps of Orrel. It is kept by the harbour museum.")
    assert not any("honey" in content for content in contents)


def test_an_overview_of_what_no_source_is_about_finds_nothing(analyzed):
    assert analyzed("steam engines", HARBOUR, OTHER) == ()


def test_a_timeline_stands_in_order_of_time_with_all_entries_of_a_list_of_dates(analyzed, draft_of):
    assert wants_order_of_time("timeline of mist lamps")
    texts = (LIST, HARBOUR, OTHER)
    findings = analyzed("timeline of mist lamps", *texts)
    text = draft_of("timeline of mist lamps", told(findings), [title for title, _ in texts], sub_query_id="")
    timeline = text.partition("## Timeline\n\n")[2].partition("\n\n")[0].splitlines()
    assert [line.partition(" —")[0] for line in timeline] == [
        "- 1890",
        "- 1907",
        "- 3 May 1921",
        "- End of 1950",
    ]
    assert "honey" not in text
    assert text.index("This page introduces") < text.index("## Timeline")


def test_an_overview_says_first_what_its_subject_is_then_what_is_so_in_general(analyzed):
    contents = [
        f.content
        for f in analyzed(
            "mist lamps",
            ("Mist lamps of Orrel", "The mist lamps of Orrel Harbour hang in Bell Street. They are green."),
            ("Weather", "In rain mist lamps are of no use at all to anybody at sea or on land."),
            ("Words", "At sea much is dim. A mist lamp is a light that is seen through mist. It is yellow."),
        )
    ]
    assert contents[0] == "A mist lamp is a light that is seen through mist. It is yellow."
    assert contents[1].startswith("In rain mist lamps")


def test_a_timeline_of_a_name_leaves_out_what_a_list_of_dates_has_of_others(analyzed):
    entries = (
        "When lamps went out",
        "- 1890 — The lamp of Mole.\n- 1907 — The lamp of Orrel.\n- 1950 — The lamp of Stoat goes out.\n"
        "- 1960 — The pier of Orrel.\n- 1970 — The mast of Orrel.",
    )
    contents = [
        f.content
        for f in analyzed("Timeline of the lamps of Orrel", entries, ("Orrel", "Orrel had a lamp in 1700."))
    ]
    assert any("1907" in content for content in contents)
    assert not any("Stoat" in content or "Mole" in content for content in contents)


def test_where_every_source_is_of_lamps_one_that_is_called_after_a_single_lamp_is_not_about_all(analyzed):
    def source(title, place):
        text = f"The lamps of {place} burned oil. They were lit at dusk by two keepers.\n\n## Later\n\n"
        return title, f"{text}In {place} all lamps were sold in the year of the gale. Nobody missed them."

    named = [source(f"{place} Lamp", place) for place in ("Orrel", "Penryn", "Mole", "Ghent")]
    general = source("The oldest lamps", "the north")
    told_of = analyzed("lamps", *named, general)
    whole = {f.source_ids[0] for f in told_of if f.content.startswith("In ")}
    assert whole == {"src-4"}


def test_what_somebody_did_of_whom_no_source_is_is_told_by_the_sentences_that_name_him(analyzed):
    text = "Mist lamps burn oil.\n\n## The last night\n\nThe keeper who shut the door of the tower was Robert Orrel."
    contents = [f.content for f in analyzed("What did Robert Orrel do?", ("Mist lamps", text), OTHER)]
    assert contents == ["The keeper who shut the door of the tower was Robert Orrel."]
