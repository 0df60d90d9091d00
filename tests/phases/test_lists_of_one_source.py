"""What one source lists of a kind is told entry by entry; so is what it says of a name, a version or a case."""

import time

import pytest

from deep_research.evidence.catalogue import catalogues, entry_of
from deep_research.evidence.conditions import case_asked
from deep_research.evidence.debris import is_record_of_versions
from deep_research.evidence.expecting import defined, expected_answer, fits, wanted
from deep_research.evidence.leaning import leans_back
from deep_research.evidence.listing import COLLECTED, ENTERED, things
from deep_research.evidence.question import affirmed, is_own
from deep_research.evidence.text import StemFinder, content_words, stem, words
from deep_research.evidence.versions import changes, changes_in, said_of, version
from deep_research.phases.analysis.handoff import SourceText
from deep_research.phases.analysis.splitting import Split
from deep_research.phases.synthesis.statements import statements
from deep_research.state import ConfidenceLevel, Finding

SIGNALS = """# The Orrel handbook

## Introduction

Orrel is a program for lamps.

## Signals

Signals come from the lamps themselves.

lamp_lit

- This signal is sent when a lamp was lit. It has the lamp with it.

Default: None

lamp_out

- This signal is sent when a lamp went out, or when its oil is low.

Changed in version 2.0.

The cookie of the lamp is no longer sent.

oil_low

- This signal is sent every hour. A cookie is set by it.

g

- A place to store things while a lamp burns. It is new for each lamp.
"""
SETTINGS = """# Settings

## Builtin values

LAMP_KEY

- A key for signing. It should be long. If not set, no lamp can be lit.

MAX_OIL

- The most oil that is burned. If this limit is exceeded, the lamp goes out.

DOOR

- Whether the door is shut.
"""
NEWS = """# Orrel changes

## Version 1.2

- Lamps turn.

## 1.1 (10 June 2020)

- Lamps are lit by gas.

### Fixed

- The door shuts again.

## 1.0 (2019-11-02)

- The first lamp.
"""
ABOUT = """# About Orrel

Orrel 1.0 burns oil in a pan. Orrel 1.1 burns gas from a pipe. The pan holds 1.1 litres and weighs 1.0 pounds.
"""


def contents(found):
    return [finding.content for finding in found]


def test_a_list_of_terms_under_the_heading_of_their_kind_is_told_entry_by_entry(analyzed):
    found = analyzed("Which signals does Orrel send?", ("The Orrel handbook", SIGNALS))
    assert contents(found) == [
        "lamp_lit: This signal is sent when a lamp was lit.",
        "lamp_out: This signal is sent when a lamp went out, or when its oil is low.",
        "oil_low: This signal is sent every hour.",
    ]
    assert {finding.category for finding in found} == {ENTERED}
    assert found[0].quotes[0].quote.startswith("lamp_lit\n\n- This signal")


def test_only_the_entries_are_told_that_speak_of_what_is_asked_and_notes_on_versions_speak_of_nothing(
    analyzed,
):
    text = SIGNALS.replace("when a lamp was lit.", "with a cookie.")
    found = analyzed("Which signals does Orrel have for cookies?", ("The Orrel handbook", text))
    assert [said.partition(":")[0] for said in contents(found)] == ["lamp_lit", "oil_low"]


def test_a_list_of_something_else_is_not_told(analyzed):
    for question in ("Which keepers does Orrel send?", "Which signals does Penryn send?"):
        found = analyzed(question, ("The Orrel handbook", SIGNALS))
        assert ENTERED not in {finding.category for finding in found}


def test_what_is_asked_of_things_that_only_are_there_says_nothing_of_them():
    assert things("Which lamps are there?").said == frozenset()
    assert things("Which lamps are not there?") is None


def test_a_name_of_one_letter_is_what_its_entry_says(analyzed):
    assert defined("What is g?") == "g"
    assert content_words("What is g in Orrel?") == ["g", "Orrel"]
    for question in ("What is g?", "What is g in Orrel?"):
        (best, *_) = contents(analyzed(question, ("The Orrel handbook", SIGNALS)))
        assert best == "g: A place to store things while a lamp burns. It is new for each lamp."


def test_what_is_said_of_a_name_elsewhere_is_not_told_of_it_here(analyzed):
    assert not any(
        "place to store" in c for c in contents(analyzed("What is g in Penryn?", ("Orrel", SIGNALS)))
    )


def test_a_sentence_that_opens_a_paragraph_with_a_name_in_small_letters_is_whole(analyzed):
    text = "# Lamps\n\nThe lamp keeps things.\n\ng is a place that is new for each lamp. It is empty.\n"
    (best, *_) = contents(analyzed("What is g?", ("Lamps", text)))
    assert best == "g is a place that is new for each lamp. It is empty."


def test_what_changed_is_told_of_both_versions_and_by_the_sections_of_the_later(analyzed):
    texts = (("About Orrel", ABOUT), ("Orrel changes", NEWS))
    for question in (
        "What changed between Orrel 1.0 and Orrel 1.1?",
        "What are the differences between Orrel 1.0 and 1.1?",
        "What changed from Orrel 1.0 to 1.1?",
    ):
        assert contents(analyzed(question, *texts)) == [
            "Orrel 1.0 burns oil in a pan.",
            "Orrel 1.1 burns gas from a pipe.",
            "1.1 (10 June 2020): Lamps are lit by gas.",
            "1.1 (10 June 2020): The door shuts again.",
        ]


def test_what_is_new_in_a_version_or_since_one_is_told_by_its_sections(analyzed):
    assert contents(analyzed("What is new in Orrel 1.2?", ("Orrel changes", NEWS))) == [
        "Version 1.2: Lamps turn."
    ]
    since = contents(analyzed("What has changed in Orrel since 1.1?", ("Orrel changes", NEWS)))
    assert since == ["Version 1.2: Lamps turn."]


def test_the_number_of_a_chapter_is_no_version():
    asked = changes("What is new in Orrel 1.1?")
    assert not list(changes_in("# Book\n\n## 1.1 Introduction\n\n- Lamps.\n", asked))
    assert not list(said_of("The pan holds 1.1 litres.", asked))
    assert version("1.0") == version("1.0.0") < version("1.0.1") < version("1.10")


@pytest.mark.parametrize(
    "question", ["What is Orrel 1.1?", "How long is 1.5 metres?", "What changed in 1994?"]
)
def test_other_questions_want_no_changes(question):
    assert changes(question) is None


def test_what_happens_in_a_case_is_told_by_the_sentence_of_the_case_in_the_description_of_its_name(analyzed):
    for question, said in (
        ("What happens if LAMP_KEY is not set?", "LAMP_KEY: If not set, no lamp can be lit."),
        ("What happens if LAMP_KEY is unset?", "LAMP_KEY: If not set, no lamp can be lit."),
        ("What happens if MAX_OIL is exceeded?", "MAX_OIL: If this limit is exceeded, the lamp goes out."),
    ):
        (best, *_) = contents(analyzed(question, ("Settings", SETTINGS)))
        assert best == said


def test_what_has_to_be_so_tells_what_happens_if_it_is_not():
    case = case_asked("What happens if LAMP_KEY is not set?")
    assert case.is_told("In order to light lamps you have to set a lamp key.")
    assert case.is_told("No lamp is lit unless a lamp key is given.")
    assert not case.is_told("Nobody can read it unless they know the lamp key, so set it to something long.")
    assert not case.is_told("You can set the lamp key.")
    bare = case_asked("What happens when LAMP_KEY is unset?")
    assert bare.is_told("No lamp is lit without a lamp key.")
    assert not bare.is_told("Old lamp keys still open doors without telling anybody.")
    assert not case.is_told("You have to set the door.")
    assert case_asked("What happened in 1904?") is None


def test_a_report_says_that_no_source_tells_what_happens(draft_of):
    report = draft_of("What happens if LAMP_KEY is not set?", [("The LAMP_KEY is set with care.", 0, 0.9)])
    assert "*No source says outright what happens then." in report


def test_when_somebody_should_do_something_asks_for_no_date():
    assert wanted("When should I use a lamp?") == ""
    assert wanted("When was the lamp lit?") == "date"
    assert wanted("When should the lamp be lit?") == "date"


def test_a_table_of_the_things_that_its_title_names_is_told_whole(analyzed):
    rows = "Gun | by hand\nBell | by waves\nSiren | by steam\n"
    texts = ("Fog signals of Orrel", f"# Fog signals of Orrel\n\nKind | How\n{rows}")
    found = analyzed("What fog signals were there before the siren?", texts)
    assert [f.quotes[0].quote for f in found] == rows.splitlines()
    towers = ("Towers on the Orrel", f"# Towers on the Orrel\n\nTower | How\n{rows}")
    assert len(analyzed("Which towers stood on the Orrel?", towers)) == 3


def test_a_list_is_announced_before_its_entries_or_by_its_title(analyzed):
    text = "# The Moles: a family\n\n## Then\n\nThree sons of Mole became engineers:\n\n"
    text += "".join(
        f"{name} Mole (18{n}1)\n\n- The eldest. Lit {n} lamps.\n\n"
        for n, name in enumerate(("Ann", "Bob", "Tom"))
    )
    found = analyzed("Name the engineers of the Mole family.", ("The Moles: a family", text))
    assert contents(found)[0] == "Ann Mole (1801): The eldest. Lit 0 lamps."
    assert len(found) == 3
    of_lamps = text.replace("became engineers", "became lamp engineers")
    found = analyzed("Which lamps did the Moles build?", ("The Moles: a family", of_lamps))
    assert ENTERED not in {finding.category for finding in found}


def test_rows_of_a_decade_are_told_by_their_years(analyzed):
    text = "# The board\n\nLight | Lit\nOrrel | 1787\nStoat | 1788\nPenryn | 1801\n"
    found = analyzed("Which lights were first lit in the 1780s?", ("The board", text))
    assert [f.quotes[0].quote for f in found] == ["Orrel | 1787", "Stoat | 1788"]


def test_on_what_occasion_a_program_does_something_is_no_date():
    assert wanted("When is open_door called?") == ""
    assert fits(expected_answer("When is open_door called?"), "It is called when the lamp goes out.")
    assert wanted("When is the fair?") == "date"


def test_the_name_of_somebody_is_not_what_he_does():
    (pattern,) = affirmed("Did Robert Louis Mole build lamps?")
    assert pattern.search("Robert Louis Mole builds lamps.")
    assert not pattern.search("Robert Louis Mole was born there.")


def test_the_key_words_of_a_comparison_are_no_part_of_it_and_its_sides_are():
    question = "What is the difference between a siren and a diaphone?"
    assert is_own("difference siren diaphone", question)
    assert not is_own("siren", question)


def test_a_sentence_on_one_of_the_kind_before_leans_on_it():
    assert leans_back("One that uses both is catadioptric.")
    assert not leans_back("One lamp uses both.")


def test_rows_that_stand_side_by_side_are_not_told_again(draft_of):
    rows = [("Kind: Siren; Works: with a disc", 0, 0.7), ("Kind: Horn; Works: with a reed", 0, 0.7)]
    report = draft_of("What is the difference between a siren and a horn?", rows)
    assert report.count("with a disc") == 1
    assert "| Works | with a disc | with a reed |" in report


def test_a_source_is_split_once_in_an_analysis():
    source = SourceText(id="src-0", title="Lamps", content="A lamp is lit. It burns.")
    split = Split()
    assert split(source) is split(source)
    assert [source.content[s.start : s.end] for s in split(source)] == ["A lamp is lit.", "It burns."]


@pytest.mark.parametrize("text", ["Lamps, lamp's and re-lamp", "d'lamp o'lamps' 'lamp' LAMP_lamp lamp2 lämp"])
def test_the_stems_of_a_text_are_found_as_its_words_have_them(text):
    wanted = {"lamp", "lamp2", "lämp"}
    assert StemFinder(wanted)(text) == {stem(word) for word in words(text)} & wanted


@pytest.mark.timed
@pytest.mark.parametrize(
    "text",
    [
        "a.b" * 75_000,
        "term\n\n- said.\n\n" * 15_000,
        "## 1.1.1.1.1\n" * 20_000,
        "## " + "1.1." * 62_000,
        "Orrel 1.1 " * 25_000,
        "g(" * 125_000,
        "a" * 250_000,
        "unless " + "a" * 250_000,
        "Orrel'" * 37_000,
        "unless " * 35_000,
        "if not " * 35_000,
    ],
)
def test_hostile_texts_take_no_long_time(text):
    began = time.process_time()
    list(catalogues(text))
    entry_of(text, "g")
    asked = changes("What changed between Orrel 1.0 and Orrel 1.1?")
    list(changes_in(text, asked))
    list(said_of(text, asked))
    case_asked("What happens if LAMP_KEY is not set?").is_told(f"lamp key set {text}")
    case_asked(f"What happens if {text}")
    StemFinder(("orrel", "lamp"))(text)
    changes(f"What changed {text}")
    things(f"Which {text}")
    assert time.process_time() - began < 4.0


NOTED = """# Settings

LAMP_NAME

- The name of the lamp.

Changed in version 2.3:
Not set by default.

LAMP_SIZE

- How large it is.

Changed in version 2.3:
Not set by default.

LAMP_OIL

- What it burns.

Changed in version 2.3:
LAMP_WICK was removed.

## Other things
"""


def test_a_note_on_a_version_is_told_with_the_term_it_is_of_but_for_the_last(analyzed, draft_of):
    question = "What changed in version 2.3?"
    found = analyzed(question, ("Settings", NOTED))
    assert [f.content for f in found] == [
        "LAMP_NAME: Changed in version 2.3: Not set by default.",
        "LAMP_SIZE: Changed in version 2.3: Not set by default.",
        "Changed in version 2.3: LAMP_WICK was removed.",  # it may be of the whole list
    ]


def test_values_that_concern_something_are_those_that_speak_of_it(analyzed):
    text = NOTED.replace("## Other", "LAMP_HOOK\n\n- By which the lamp hangs from a rope.\n\n## Other")
    text = text.replace("How large it is.", "How long the rope is.").replace("# Settings", "# Values")
    found = analyzed("Which values concern the rope?", ("Values", text))
    assert [f.content.partition(":")[0] for f in found] == ["LAMP_SIZE", "LAMP_HOOK"]


def test_two_entries_in_nearly_the_same_words_are_both_told():
    told = [
        Finding(
            id=f"find-{name}",
            content=f"LAMP_{name}: Changed in version 2.3: Not set by default.",
            confidence=ConfidenceLevel.LOW,
            source_ids=("src-0",),
            category=ENTERED,
            relevance=0.9,
        )
        for name in "AB"
    ]
    assert len(statements(told)) == 2


def test_that_something_must_be_so_tells_what_follows_only_of_what_can_be_set():
    missing = case_asked("What happens when a lamp is missing?")
    assert missing is not None
    assert not missing.is_told("All the oil must be in a lamp that is shut.")
    assert missing.is_told("If no lamp is found, the keeper is called.")
    unset = case_asked("What happens if LAMP_OIL is not set?")
    assert unset is not None
    assert unset.is_told("In order to use it LAMP_OIL has to be set.")


def test_what_only_heads_or_announces_changes_is_none(analyzed):
    text = (
        "# Changelog\n\n## 2.3\n\n- Deprecations.\n- The following lamps were removed...\n- The wick is gone.\n"
        "- These follow:\n"
    )
    assert [f.content for f in analyzed("What changed in 2.3?", ("Changelog", text))] == [
        "2.3: The wick is gone."
    ]


def test_a_list_of_changes_answers_behind_what_is_about_it(analyzed):
    said = "The lamp is lit with a match, and the lamp is set on a hook."
    log = ("Changelog", f"# Changelog\n\n{said}")
    manual = ("Harbour", f"# Harbour\n\n{said.replace('match', 'flint')}")
    found = [f.content for f in analyzed("How do I light the lamp?", log, manual)]
    assert "flint" in found[0]
    assert is_record_of_versions("Release notes", "How do I light the lamp?")
    assert not is_record_of_versions("Release notes", "What is new in 2.3?")
    for title in ("News of the harbour lamps", "Climate changes", "Lamp news", "Release of the lamps"):
        assert not is_record_of_versions(title, "How do I light the lamp?")
    for title in ("Release Notes - 2.0", "News", "Changes in 2.0", "Lamp changelog", "What's new in 2.0"):
        assert is_record_of_versions(title, "How do I light the lamp?")


def test_a_default_with_its_value_comes_before_one_without(analyzed):
    text = (
        "# Lamps\n\nLamps are careful to have a timeout by default.\n\n"
        "The default is to raise a TimeoutWarning after 5 seconds of darkness.\n"
    )
    found = analyzed("What is the default timeout?", ("Lamps", text))
    assert "5 seconds" in found[0].content


@pytest.mark.timed
def test_notes_on_versions_of_many_settings_take_linear_time(analyzed):
    def seconds(count):
        entry = "LAMP_{}\n\n- The name of it.\n\nChanged in version 2.3:\nNot set by default.\n\n"
        text = "# Settings\n\n" + "".join(map(entry.format, range(count)))
        started = time.process_time()
        analyzed("What changed in version 2.3?", ("Settings", text))
        return time.process_time() - started

    few = min(seconds(50) for _ in range(3))
    assert min(seconds(400) for _ in range(3)) < 24 * few


TOWERS = (
    ("Orrel", "# Orrel\n\nOrrel is a lighthouse. It was built in 1801 of oak. It was designed in 1790.\n"),
    ("Stoat", "# Stoat\n\nStoat is a lighthouse. In 1877 it was decided to build it. The lamp is red.\n"),
    ("Penryn", "# Penryn\n\nPenryn is a lighthouse. Ann Mole built it in 1850. Nobody lives there.\n"),
    (
        "Hare",
        "# Hare\n\nHare is a lighthouse.\n\n## How it was built\n\nIn 1799 a storm took the barn away.\n",
    ),
)


@pytest.mark.parametrize("question", ["When were lighthouses built?", "When were the lighthouses built?"])
def test_when_things_were_done_is_told_of_each(analyzed, question):
    found = analyzed(question, *TOWERS)
    assert [f.content for f in found] == ["It was built in 1801 of oak.", "Ann Mole built it in 1850."]


def test_when_one_thing_was_done_is_no_list():
    assert things("When was Orrel built?") is None
    assert things("When were Fresnel lenses invented?") is None
    assert things("When did keepers leave Orrel?").names == {"orrel"}


@pytest.mark.parametrize(
    "question",
    [
        "When did this happen?",
        "When did his father die?",
        "When did its keeper die?",
        "When did he find x-rays and die?",
        "When did the business open its doors?",
        "When did she write letters to Ames?",
        "When are backups taken?",
    ],
)
def test_who_or_what_does_something_is_no_kind_of_things(question):
    assert things(question) is None


def test_what_is_said_of_all_things_of_a_kind_is_no_list_of_single_ones(analyzed):
    general = (
        "Lights",
        "Lighthouses were built from 1600 on. Before that nobody had any of them in the north.",
    )
    found = analyzed("When were lighthouses built?", general, *TOWERS)
    assert found[0].content.startswith("Lighthouses were built from 1600 on.")
    assert COLLECTED not in {f.category for f in found}


def test_a_document_whose_headings_are_versions_is_a_list_of_changes():
    versions = "".join(
        f"## Version 1.{n} (2024-0{n + 1}-01)\n\n- The lamp is lit with match {n}.\n\n" for n in range(5)
    )
    log = f"# Important notes\n\n{versions}"
    assert is_record_of_versions("Important notes", "How do I light the lamp?", log)
    assert not is_record_of_versions("Important notes", "What is new in version 1.3?", log)
    more = log + "".join(f"## Lamp {n}\n\nIt is lit.\n\n" for n in range(6))
    assert not is_record_of_versions("Important notes", "How do I light the lamp?", more)
    ways = "".join(
        f"## 1.{n} Lighting lamp {n} with a match of the harbour office in Penryn\n\n" for n in range(5)
    )
    assert not is_record_of_versions("Lamps", "How do I light the lamp?", f"# Lamps\n\n{ways}")


POINTERS = """# Lamps of Orrel

Orrel has no lamp of its own, and nobody knows why. Most lamps come over the sea.

We list the common harbour lamps of the coast:

- the Argand, which burns oil
- the Hare, which burns gas
- the Mole, which glows

Lamps can be lit by:

- a match
- a spark
"""


def test_the_list_that_a_sentence_announces_answers(analyzed):
    first, *_ = analyzed("Which harbour lamps does Orrel have?", ("Lamps of Orrel", POINTERS))
    assert first.content == (
        "We list the common harbour lamps of the coast: the Argand, which burns oil; the Hare, which burns gas; "
        "the Mole, which glows"
    )


@pytest.mark.parametrize(
    "question",
    [
        "Which harbour lamps does Penryn have?",
        "Which fog lamps does Orrel have?",
        "Which harbour lamps were sold in 1900?",
    ],
)
def test_a_list_of_other_things_or_of_another_place_does_not(analyzed, question):
    found = analyzed(question, ("Lamps of Orrel", POINTERS))
    assert not any(f.content.startswith("We list") and f.relevance > 0.9 for f in found)


def test_what_the_things_can_do_is_no_list_of_them(analyzed):
    found = analyzed("Which lamps does Orrel have?", ("Lamps of Orrel", POINTERS))
    assert not any(f.content.startswith("Lamps can be lit") and f.relevance > 0.9 for f in found)


def test_numbers_before_titles_are_those_of_sections():
    parts = "".join(
        f"## {n}.1 Lamps of kind {n}\n\nText.\n\n### Section {n}.2\n\nText.\n\n" for n in range(1, 6)
    )
    assert not is_record_of_versions("Standard", "How do I clean the lens?", f"# Standard\n\n{parts}")
    for written in (
        "1.{}",
        "v1.{}: the lamp",
        "[1.{}] - 2024-05-01",
        "Orrel 1.{} (May 2024)",
        "1.{} - Unreleased",
    ):
        log = "".join(f"## {written.format(n)}\n\n- The lamp.\n\n" for n in range(5))
        assert is_record_of_versions("Notes", "How do I clean the lens?", log)


@pytest.mark.parametrize(
    "announcing",
    [
        "You can disable lamps in two ways; both darken lamps in the tower:",
        "There are two ways to disable the lamps:",
        "Use these families of methods for the lamps:",
        "Here are some situations where wind can lead to broken lamps:",
        "The keeper needs some oil for the lamps:",
    ],
)
def test_a_list_of_something_else_that_only_names_the_things_is_none_of_them(analyzed, announcing):
    text = f"# Harbours\n\nLamps stand in Orrel.\n\n{announcing}\n\n- cut the wire\n- take the oil\n- wait\n"
    found = analyzed("Which lamps are there?", ("Harbours", text))
    assert not any(f.relevance == 0.95 for f in found)
