"""What is said outright answers: a difference, how a kind of things works, a label's date, a question in the text."""

import time

import pytest

from deep_research.evidence.called import fractions
from deep_research.evidence.chains import LED
from deep_research.evidence.contrasting import outright
from deep_research.evidence.debris import is_beside
from deep_research.evidence.defining import explains_kind, kind_asked
from deep_research.evidence.expecting import asks_why, definition, expected_answer, fits
from deep_research.evidence.question import affirmed, is_broad, singles

PLANS = """# Plans of lamps

A Plan object works similarly to a Lamp object, but it is not actually a lamp. Rather it is a plan of how to build one.

- Add a plan to a lamp several times with different names.
- Unlike drawings, plans of a lamp are kept in a drawer.
"""
KINDS = """# What burned

A glass lamp stood in the hall. A lamp of this kind, which works by reflection, is called a mirror lamp.
"""
HARE = """# The Hare lamp

In the end the lamp of the Hare had to be working within seven years.
"""
FASTNET = """# The Orrel

The Orrel is a rock off Penryn.

## The iron tower

A tower of iron was therefore built on the Orrel, and lit on 1 January 1854.

## The granite tower

- Designer: Ann Mole, engineer.
- First lit: 27 June 1904.

When did the work begin? A national newspaper says 1896, a broadcaster 1897.
"""
NEEDED = """# Satellites

A modern ship knows where she is. Her master may cross the sea without seeing one lighthouse. Are they still needed? The
offices say yes, but fewer and dimmer.

## Radio

Ships of that time turned an aerial until the signal faded, and found the lighthouse.
"""


def contents(found):
    return [finding.content for finding in found]


def test_a_difference_is_told_by_what_sets_both_apart_and_by_nothing_else(analyzed):
    question = "What is the difference between a plan and a lamp?"
    assert contents(analyzed(question, ("Plans of lamps", PLANS))) == [
        "A Plan object works similarly to a Lamp object, but it is not actually a lamp. "
        "Rather it is a plan of how to build one."
    ]


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("A plan is not a lamp.", True),
        ("Unlike a lamp, a plan burns no oil.", True),
        ("Add a plan to a lamp with different names.", False),
        ("A plan is not a table.", False),
    ],
)
def test_both_sides_stand_in_what_says_outright_how_one_is_to_the_other(sentence, said):
    assert (outright(("plan", "lamp")).match(sentence) is not None) is said


def test_how_a_kind_of_things_works_is_told_where_that_is_said(analyzed):
    found = contents(analyzed("How do lamps work?", ("What burned", KINDS), ("The Hare lamp", HARE)))
    assert len(found) == 1
    assert "which works by reflection" in found[0]


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How do lamps work?", "lamps"),
        ("How does a mist valve work?", "mist valve"),
        ("How does the mist valve work?", ""),
        ("How did the Orrel lamp work?", ""),
    ],
)
def test_a_kind_of_things_is_no_single_thing(question, kind):
    assert kind_asked(question) == kind


def test_an_explanation_of_a_kind_speaks_of_any_and_of_its_working():
    question = "How do lamps work?"
    assert explains_kind(question, "Lamps are dear.") == 1
    assert explains_kind(question, "A lamp works by burning oil.") == 2
    assert explains_kind(question, "The Hare works by burning oil.") == 0


def test_a_date_behind_its_label_is_told_with_what_it_is_of(analyzed):
    found = contents(analyzed("When was the Orrel lighthouse first lit?", ("The Orrel", FASTNET)))
    assert found[0] == "The granite tower: First lit: 27 June 1904."


def test_what_answers_another_question_of_the_text_does_not_answer_this(analyzed):
    found = contents(analyzed("When was the Orrel lighthouse first lit?", ("The Orrel", FASTNET)))
    assert not any("A national newspaper says 1896" in said for said in found)
    begun = contents(analyzed("When did the work on the Orrel begin?", ("The Orrel", FASTNET)))
    assert any("A national newspaper says 1896" in said for said in begun)


def test_a_yes_goes_with_its_question_and_with_whom_that_means(analyzed):
    (best, *others) = contents(analyzed("Are lighthouses still needed?", ("Satellites", NEEDED)))
    assert best == (
        "A modern ship knows where she is. Her master may cross the sea without seeing one lighthouse. "
        "Are they still needed? The offices say yes, but fewer and dimmer."
    )
    assert not any("aerial" in said for said in others)


def test_a_version_is_not_a_part_of_another_number(analyzed):
    text = "The Orrel lamp listens at 127.0.0.1 and was released on 3 May 2019 as 1.0.2.\n"
    assert not analyzed("When was Orrel 1.0 released?", ("Lamps", text))
    assert analyzed("When was Orrel 1.0 released?", ("Lamps", "Orrel 1.0 was released on 3 May 2018.\n"))


@pytest.mark.parametrize(
    ("text", "held"),
    [("Flask 1.0.", True), ("v 1.0.0 of it", True), ("127.0.0.1", False), ("1.0.1", False), ("11.0", False)],
)
def test_a_number_with_a_point_stands_by_itself(text, held):
    (number,) = fractions("When was 1.0 released?", exact=True)
    assert (number.search(text) is not None) is held
    (number,) = fractions("Who wrote 1.0?", exact=False)
    assert (number.search(text) is not None) is (held or text == "1.0.1")


def test_what_a_version_changed_is_told_where_that_is_asked():
    note = "Changed in version 0.10: Bound to the lamp instead of the wick."
    assert is_beside(note, "What is the difference between a lamp and a wick?")
    assert not is_beside(note, "What changed in the lamp?")
    assert not is_beside("The lamp was changed in 1900.", "What is a lamp?")


def test_a_wish_is_told_with_how_it_is_done(analyzed):
    text = (
        "# Lamps\n\nThe lamp goes out in a storm. You might want to show a custom light when the lamp fails. "
        "This can be done by registering a keeper.\n"
    )
    (best, *_) = contents(analyzed("How do I show a custom light?", ("Lamps", text)))
    assert best.endswith("This can be done by registering a keeper.")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Orrel supports wind lamps.", True),
        ("Orrel does not support them.", True),
        ("Tools older than the support of Orrel burn oil.", False),
        (
            "Orrel is a keeper's tool. It is small, has full support for oil 1.1 and wind lamps, and is free.",
            True,
        ),
        ("Orrel has support for oil.", False),
        ("Hare has support for wind lamps, and Orrel has none.", False),
        ("Orrel is small. Hare has support for wind lamps.", False),
        ("Unlike Orrel, Hare has support for wind lamps.", False),
        ("Orrel, unlike Hare, which has support for wind lamps, is small.", False),
        ("Orrel has support for oil but not for wind lamps.", False),
        ("Orrel has no support for wind lamps.", True),
        ("Orrel lacks support for wind lamps.", True),
    ],
)
def test_what_is_asked_with_does_is_said_or_denied_of_the_same_thing(text, said):
    patterns = affirmed("Does Orrel support wind lamps?")
    assert any(pattern.search(text) for pattern in patterns) is said


def test_what_only_one_is_belongs_to_the_answer_and_a_row_without_it_does_not(analyzed):
    first = "Orrel Light, on the mouth of Penryn Harbour, was the first tower in what is now Cornwall."
    oldest = "So the station is the oldest of all, but the tower is not: that of Hare is."
    rowing = "The keeper rowed to the shore and back. " * 30
    text = f"# Orrel Light\n\n{first}\n\n## The second tower\n\n{rowing}\n\n{oldest}\n"
    rows = "Tower | Country | Year\nOrrel Light | Cornwall | 1783\nHare | Cornwall | 1764\n"
    question = "Is Orrel Light the oldest tower in Cornwall?"
    found = analyzed(question, ("Orrel Light", text), ("Towers", rows))
    assert any(oldest in finding.content for finding in found[:2])
    assert not any("1783" in finding.content for finding in found[:2])


def test_two_things_that_are_compared_are_introduced(analyzed):
    texts = (
        (
            "The Stoat",
            "# The Stoat\n\nThe Stoat is a reef off Orrel.\n\nThe lamp of the Stoat was built in 1900.\n",
        ),
        (
            "The Hare",
            "# The Hare\n\nThe Hare, or Old Tom, is a rock off Penryn.\n\nThe lamp of the Hare was built in 1909.\n",
        ),
    )
    found = contents(analyzed("Compare the Stoat and the Hare.", *texts))
    assert "The Stoat is a reef off Orrel." in found
    assert "The Hare, or Old Tom, is a rock off Penryn." in found


def test_where_no_source_says_yes_or_no_the_report_says_so(draft_of):
    question = "Does Orrel burn oil?"
    notice = "*No source says yes or no outright. What comes nearest:*"
    assert notice in draft_of(question, [("The oil of Orrel is dear.", 0, 0.9)])
    assert notice not in draft_of(question, [("Orrel burns oil.", 0, 0.9)])
    assert notice not in draft_of(question, [("Does it burn oil? No. It burns coal.", 0, 0.9)])
    assert notice not in draft_of("What does Orrel burn?", [("The oil of Orrel is dear.", 0, 0.9)])


def test_what_says_yes_or_no_leads(draft_of):
    said = [
        ("It is possible that a later Orrel may burn oil by default.", 0, 0.9),
        ("Orrel burns oil or coal.", 0, 0.85),
    ]
    body = draft_of("Does Orrel burn oil?", said).partition("## Summary\n\n")[2]
    assert body.startswith("Orrel burns oil or coal.")
    unlike = [said[0], ("Orrel is made for the burning of oil.", 0, 0.85)]
    body = draft_of("Does Orrel burn oil?", unlike).partition("nearest:*\n\n")[2]
    assert body.startswith("It is possible")


def test_of_a_kind_that_nobody_defines_the_report_says_so(draft_of):
    notice = "*No source says outright what it is. What comes nearest:*"
    assert notice in draft_of(
        "What is a lamp?", [("The lamps of Orrel are looked after by a board.", 0, 0.9)]
    )
    assert notice in draft_of(
        "What are lamps?", [("The lamps of Orrel are looked after by a board.", 0, 0.9)]
    )
    assert notice not in draft_of("What is a lamp?", [("A lamp is a vessel that burns oil.", 0, 0.9)])
    assert notice not in draft_of("What are wickies?", [('Keepers had the nickname "wickies".', 0, 0.9)])
    assert notice not in draft_of(
        "What is the Orrel lamp?", [("The board looks after the Orrel lamp.", 0, 0.9)]
    )


HOSTILE = (
    "/ " * 8_000,
    "only " * 5_000,
    "! " * 5_000,
    "?\n" * 5_000,
    "word " * 5_000,
    "12," * 5_000,
    "\t" * 20_000,
)


@pytest.mark.timed
@pytest.mark.parametrize("row", HOSTILE, ids=("/", "only", "!", "?", "word", "12,", "tabs"))
@pytest.mark.parametrize(
    "question",
    [
        "Does Orrel burn oil?",
        "What is a lamp?",
        "How do a lamp and a buoy differ?",
        "How many lamps are there?",
    ],
)
def test_a_hostile_row_takes_no_time(question, row):
    """It is looked at as often as there are sentences; what takes seconds for one would never end."""
    began = time.process_time()
    text = f"Orrel {row}burns"[:20_000]
    fits(expected_answer(question), text)
    any(pattern.search(text) for pattern in affirmed(question + row[:2_000]))
    any(pattern.search(text) for pattern in affirmed(question))
    assert time.process_time() - began < 2.0


def test_versions_are_compared_and_found_by_their_beginning(analyzed):
    text = (
        "# Zorp\n\nZorp 1.0 opens a new lamp for every guest. Zorp 1.1 keeps the lamp open between guests.\n\n"
        "In Zorp 3.10.2 the wick was rewritten by hand.\n"
    )
    found = contents(analyzed("What changed between Zorp 1.0 and 1.1?", ("Zorp", text)))
    assert any("1.0" in content or "1.1" in content for content in found)
    (best, *_) = contents(analyzed("Who rewrote the wick in Zorp 3.10?", ("Zorp", text)))
    assert "3.10.2" in best


def test_what_is_the_only_one_is_of_the_kind_that_is_asked_for():
    question = "Is the Orrel tower the oldest in the country?"
    assert singles(question, "The Orrel tower is the oldest in the country.")
    assert singles(question, "It is the oldest tower.")
    assert not singles(question, "The oldest baker in the town visited the Orrel tower in 1900.")


def test_who_somebody_was_is_no_denial(analyzed):
    text = "# Tarn\n\nNobody thought the painter was Ada Fenn. Ada Fenn was a keeper of the Orrel lamp.\n"
    (best, *_) = contents(analyzed("Who was Ada Fenn?", ("Tarn", text)))
    assert best.startswith("Ada Fenn was a keeper")


def test_why_is_not_told_where_something_of_the_question_was_not_found(draft_of):
    said = [("The tower of Orrel stood on nine legs.", 0, 0.9)]
    notice = "*No source says outright why. What comes nearest:*"
    assert notice in draft_of("Why did the tower of Orrel fall?", said, gaps=("Not found: fall",))
    assert notice not in draft_of("Why did the tower of Orrel fall?", said)


def test_where_nothing_answers_what_other_sources_lead_to_is_left_out(draft_of):
    said = [("The tower of Orrel stood on nine legs.", 0, 0.5), ("Ghent has a gate.", 0, 0.9, LED)]
    report = draft_of("Is the tower of Orrel safe?", said)
    assert "nine legs" in report
    assert "Ghent" not in report


def test_how_tall_a_thing_is_is_told_of_all_of_it_that_is_measured(analyzed):
    items = "- Height of the tower: 40 m\n- Height of the rock: 9 m\n- Steps: 49\n"
    text = f"# The Orrel light\n\nThe Orrel light stands on a rock.\n\n## Size\n\n{items}"
    (best, *_) = contents(analyzed("How tall is the Orrel light?", ("The Orrel light", text)))
    assert best == "Height of the tower: 40 m; Height of the rock: 9 m"


def test_a_row_of_a_table_is_no_reason(draft_of):
    said = [("The tower of Orrel stood on nine legs.", 0, 0.8), ("Tower: Orrel; Height: 9 m", 1, 0.9)]
    titles = ("Orrel", "Towers")
    gaps = ("Not found: fall",)
    assert "9 m" not in draft_of("Why did the tower of Orrel fall?", said, titles, gaps=gaps)
    assert "9 m" in draft_of("Why did the tower of Orrel fall?", said[1:], titles, gaps=gaps)
    assert "9 m" in draft_of("When was the tower of Orrel built?", said, titles)


def test_a_broad_request_wants_no_kind_of_answer(draft_of):
    request = f"Write in depth about {', '.join(f'lamp{n}' for n in range(45))}, and how wide they are."
    assert is_broad(request)
    assert "*No " not in draft_of(request, [("Lamps burn oil in the harbour.", 0, 0.9)], sub_query_id="")


@pytest.mark.parametrize(
    ("question", "is_why"),
    [
        ("Why did the lamp fail?", True),
        ("What caused the fire at Orrel?", True),
        ("What led to the move of the lamp?", True),
        ("What was the main reason for the move of the lamp?", True),
        ("What is the cause of the smoke?", True),
        ("For what reason was it moved?", True),
        ("What made the tower fall?", True),
        ("What did the fire cause?", False),
        ("Who led the move to Orrel?", False),
    ],
)
def test_a_question_for_a_cause_asks_why(question, is_why):
    assert asks_why(question) == is_why


def test_a_question_above_a_text_that_has_all_that_was_asked_announces_its_answer(analyzed):
    faq = (
        "Questions on lamps",
        "## Why is there no red lamp at Orrel?\n\nYou can do without one easily enough by a bell at dusk and dawn.",
    )
    other = (
        "The quay",
        "At Orrel the red paint of a door beside the great lamp was scratched by a keeper in 1850.",
    )
    first, *_ = analyzed("Is there a red lamp at Orrel?", faq, other)
    assert first.content == "You can do without one easily enough by a bell at dusk and dawn."


def test_what_letters_stand_for_is_said_by_the_sentence_that_spells_them_out(analyzed):
    lamps = (
        "Lamps",
        "Changes of the oil are guarded by the MLK.\n\nA master lamp key (MLK) is used to make sure that one keeper "
        "works at a time.",
    )
    first, *_ = analyzed("What is the MLK?", lamps)
    assert first.content.startswith("A master lamp key (MLK) is used")


def test_letters_in_brackets_behind_other_words_are_not_spelled_out_by_them():
    assert definition("MLK").search("A master lamp key (MLK) is used.")
    assert not definition("MA").search("Robert Orrel (MA) was a teacher there.")
    assert not definition("GL").search("Threads with a local gate (GL) are slow.")


@pytest.mark.parametrize(
    "said",
    [
        "A lamp object points to both a wick and a flame.",
        "Lamp objects consist of a wick and a flame.",
        "A lamp object keeps track of its oil.",
    ],
)
def test_what_a_thing_points_to_or_consists_of_says_what_it_is(analyzed, draft_of, said):
    other = "The lamp object differs from objects of the harbour in many small ways."
    first, *_ = analyzed("What is a lamp object?", ("Lamps", f"# Lamps\n\n{other}\n\n{said} It is cheap."))
    assert first.content.startswith(said)
    assert "outright what it is" not in draft_of("What is a lamp object?", [(said, 0, 0.9)])


def test_a_sentence_that_says_what_the_one_before_means_tells_what_it_is(analyzed):
    said = "A harbour uses signal pooling. This means that all its lamps share one flame."
    text = f"# Harbours\n\nSignal pooling can be set with a lever.\n\n{said}\n"
    first, *_ = analyzed("What is signal pooling?", ("Harbours", text))
    assert first.content == said


def test_where_nothing_says_what_it_is_a_reader_is_told(draft_of):
    notice = "*No source says outright what it is. What comes nearest:*"
    set_ = "Signal pooling can be set with a lever."
    assert notice in draft_of("What is signal pooling?", [(set_, 0, 0.9)])
    for said in (
        "Signal pooling is the sharing of a flame.",
        "Signal pooling provides all lamps with one flame.",
        "signal pooling: all lamps share a flame.",
        "Orrel uses signal pooling. This means that all its lamps share one flame.",
    ):
        assert notice not in draft_of("What is signal pooling?", [(said, 0, 0.9)])
    for question in ("What is new in the harbour?", "What is needed?", "What is the Orrel lamp?"):
        assert notice not in draft_of(question, [(set_, 0, 0.9)])


@pytest.mark.parametrize(
    "said",
    [
        "A needle stands for an hour in oil.",
        "The needle points to north.",
        "A needle breaks. That is why keepers dislike it.",
        "They had the needle stolen. This means that it is dark.",
    ],
)
def test_what_happens_to_a_thing_does_not_say_what_it_is(draft_of, said):
    assert "outright what it is" in draft_of("What is a needle?", [(said, 0, 0.9)])
