"""What a thing is, what its default is, how many there are, how it changed: each is looked for as texts tell it."""

import re

import pytest

from deep_research.evidence.counting import COUNTED, counted
from deep_research.evidence.expecting import asks_for_any_time, expected_answer, fits, tells_who
from deep_research.evidence.question import compared
from deep_research.evidence.spelling import mended
from deep_research.evidence.text import asks_effect, stem

PERSON = """# Ann Mole and the wreck of the Hester

## Who she was

Born

- 24 November 1815, at Orrel

Father

- Bob Mole, keeper of the Penryn light

## The wreck

Bob Mole jumped on to the rock. Ann Mole kept the boat off the stones.

Newspapers made her the best known young woman of Penryn.
"""
FACTORY = """# Setting up

The lamp factory makes a wick. A plain lamp is made at the top of the file.

Instead of making a lamp at once, you make it inside a function. This function is known as the lamp factory. All that
the lamp needs happens in there.
"""
CONFIG = """# Settings

LAMP_COLOUR

- The colour of the lamp.

Default: 'red'

LAMP_BURNING_TIME

- How long the lamp burns once it was lit.

It goes out at dawn.

Default: 31 days
"""
UPLOADS = """# Sending lamps

But how do you say how large it may be? By default a lamp of unlimited weight is sent, but you can stop that by the
scale:

```
scale = 16
```

The code above will bound the maximum weight of what is sent to 16 tons.
"""
CASES = "country | cases | deaths\nGermany | 1200 | 4\nFrance | 900 | 7\n"
SEA = """# The Orrel light

Year | Distance from tower to sea
1870 | 1,500 feet
1919 | 300 feet

The tower of Orrel is near the sea.
"""


def contents(found):
    return [finding.content for finding in found]


def test_who_somebody_was_opens_with_the_card_and_goes_on_with_the_fame(analyzed):
    card, fame, *_ = contents(analyzed("Who was Ann Mole?", ("Ann Mole and the wreck of the Hester", PERSON)))
    assert card == "Born: 24 November 1815, at Orrel; Father: Bob Mole, keeper of the Penryn light"
    assert fame == "Newspapers made her the best known young woman of Penryn."


def test_somebody_is_told_of_where_the_name_comes_last(analyzed):
    (best, *_) = analyzed("Who was Tom Hare?", ("The Orrel light", "The first keeper was Tom Hare.\n"))
    assert best.content == "The first keeper was Tom Hare."


def test_what_a_thing_is_called_says_what_it_is_with_the_sentence_it_leans_on(analyzed):
    best = contents(analyzed("What is a lamp factory?", ("Setting up", FACTORY)))[0]
    assert best.startswith("Instead of making a lamp at once, you make it inside a function. This function")


def test_beside_what_a_thing_is_nothing_of_other_sources_is_told(analyzed):
    other = ("Penryn", "In 1873 Tom Hare tried guns and horns for Orrel House.\n")
    found = analyzed("What is Orrel House?", ("Orrel House", "Orrel House is the office for lamps.\n"), other)
    assert contents(found) == ["Orrel House is the office for lamps."]


def test_a_default_is_that_of_the_setting_whose_name_has_what_is_asked(analyzed):
    (best,) = contents(analyzed("What is the default burning time of the lamp?", ("Settings", CONFIG)))
    assert best.startswith("LAMP_BURNING_TIME: How long")
    assert best.endswith("Default: 31 days")


def test_an_example_is_not_the_default(analyzed):
    (best, *_) = contents(analyzed("What is the default maximum weight?", ("Sending lamps", UPLOADS)))
    assert best.startswith("By default a lamp of unlimited weight is sent")


def test_how_many_of_all_are_told_by_the_row_of_the_total(analyzed):
    found = analyzed("How many cases were there?", ("cases", f"{CASES}Total | 2100 | 11\n"))
    assert contents(found) == ["country: Total; cases: 2100; deaths: 11"]


def test_without_a_total_every_row_is_told_and_said_to_be_one(analyzed, draft_of):
    question = "How many cases were there?"
    rows = contents(analyzed(question, ("cases", CASES)))
    assert [row.partition(";")[0] for row in rows] == ["country: Germany", "country: France"]
    report = draft_of(question, [(row, 0, 0.85) for row in rows], titles=("cases",))
    assert "*No total was found. The numbers of each:*" in report
    assert "| Germany | 1200 | 4 |" in report


def test_how_something_changed_is_told_by_the_table_of_its_years(analyzed):
    question = "How did the distance between the Orrel light and the sea change?"
    rows = [f.content for f in analyzed(question, ("The Orrel light", SEA)) if "Year" in f.content]
    assert rows == [
        "Year: 1870; Distance from tower to sea: 1,500 feet",
        "Year: 1919; Distance from tower to sea: 300 feet",
    ]


def test_a_table_of_kinds_is_told_whole_with_the_row_that_was_found_already(analyzed):
    table = "# What burned in the lantern\n\nFuel | Good\nWood burned in a grate | bright\nCandles | weak\n"
    found = analyzed("Which fuels were burned in lanterns?", ("What burned in the lantern", table))
    assert [f.quotes[0].quote for f in found] == ["Wood burned in a grate | bright", "Candles | weak"]


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("Four lamps have stood there.", True),
        ("It has 2,171 blocks.", True),
        ("about 1.5 million lamps", True),
        ("Country: Orrel; Cases: 1990; Deaths: 3", True),
        ("It stands 40 yards from the stump.", False),
        ("In 1882 it was lit.", False),
        ("On 5 May it was lit.", False),
        ("It cost fifty pounds.", False),
    ],
)
def test_a_number_of_things_is_no_measure_and_no_date(text, counts):
    expected = expected_answer("How many lamps were there?")
    assert expected.pattern == COUNTED
    assert fits(expected, text) is counts


def test_a_number_counts_in_a_sentence_with_a_word_of_the_question(analyzed):
    text = (
        "# Orrel\n\nThe fourth lamp of Orrel burns 40 yards from the stump. It has 2,171 wicks of silk.\n\n"
        "Orrel is a reef off Penryn. Four lamps have burned there.\n"
    )
    best = contents(analyzed("How many lamps have burned at Orrel?", ("Orrel", text)))[0]
    assert "Four lamps have burned there." in best


LOST = """# The Orrel light

1. The place

The Orrel lies off Penryn.

2. The night of 16 April 1851

A storm began at noon. By morning the tower had collapsed. Both keepers died.
"""


def test_what_was_destroyed_is_found_in_other_words_with_the_date_above(analyzed):
    (best, *_) = contents(analyzed("When was the Orrel light destroyed?", ("The Orrel light", LOST)))
    assert best == ("The night of 16 April 1851: A storm began at noon. By morning the tower had collapsed.")


def test_where_a_source_has_the_word_no_other_is_looked_for(analyzed):
    told = f"{LOST}\nThe Orrel light was destroyed in 1852.\n"
    (best, *_) = contents(analyzed("When was the Orrel light destroyed?", ("The Orrel light", told)))
    assert best == "The Orrel light was destroyed in 1852."


def test_the_rows_of_a_kind_are_those_in_which_stands_what_is_asked(analyzed):
    table = "Lamp | Country | Year\nStoat | Scotland | 1844\nHare | France | 1911\nOtter | Scotland | 1811\n"
    text = ("Orrel", "# Orrel\n\nOrrel is the tallest of all lamps in Scotland.\n")
    found = contents(analyzed("Which lamps are in Scotland?", ("A list of lamps", table), text))
    assert [row.partition(";")[0] for row in found] == ["Lamp: Stoat", "Lamp: Otter"]


def test_the_number_of_a_street_counts_nothing():
    expected = expected_answer("How many lamps does the office have?")
    assert not fits(expected, "It works from 84 George Street.")
    assert fits(expected, "The number of lamps is put at 207.")


def test_what_opens_with_the_name_of_another_thing_is_of_that(analyzed):
    text = (
        "# Towers\n\n## How the stones were held\n\n"
        "- Orrel Rock: dovetails again, and floors whose stones tie the walls.\n"
        "- Penryn: few dovetails; the weight of the stone does the work of them.\n"
    )
    (best, *_) = contents(analyzed("How were the stones of the Orrel Rock held?", ("Towers", text)))
    assert best.startswith("Orrel Rock: dovetails again")
    assert "Penryn" not in best


def test_how_to_do_something_opens_with_what_says_so(analyzed):
    texts = (
        (
            "A",
            "RELOAD\n\n- Read the lamps anew. If it is not set, the enabled debug mode does it for all of them.\n",
        ),
        ("B", "To enable debug mode, use the switch behind the lamp. It is red.\n"),
    )
    (best, *_) = contents(analyzed("How do I enable debug mode?", *texts))
    assert best.startswith("To enable debug mode, use the switch")


def test_what_was_destroyed_is_no_other_thing(analyzed):
    text = (
        "# The Orrel tower\n\nIn 1820 the keeper went back to Orrel. A storm in 1850 ruined the wall of Tarn, a town"
        " nearby. The tower fell into the sea in 1871.\n"
    )
    found = contents(analyzed("When was the Orrel tower destroyed?", ("The Orrel tower", text)))
    assert not any("Tarn" in content for content in found)


@pytest.mark.parametrize(
    "said", ["12,500 tons", "3.5 metres", "12.5%", "12 thousand tons", "41 m high", "10 kg", "1,990 metres"]
)
def test_a_measure_is_no_number_of_things(said):
    assert not re.search(COUNTED, f"It grew by {said} of stone.")


def test_a_list_of_one_default_is_the_default(analyzed):
    text = "# Settings\n\nLAMP_OIL_LIMIT\n\n- The most oil for a lamp.\n\nDefault: 31\n\n## Others\n\nLamps have limits."
    (best, *_) = analyzed("List the default of LAMP_OIL_LIMIT", ("Settings", text))
    assert "Default: 31" in best.content


def test_things_that_are_to_be_listed_are_the_rows_of_their_table(analyzed):
    text = "# What burned in lamps\n\nFuel | Good\nCoal | bright\nTallow | easy\nOil | cheap\n"
    found = analyzed("List the fuels that burned in lamps", ("What burned in lamps", text))
    assert [f.quotes[0].quote for f in found] == ["Coal | bright", "Tallow | easy", "Oil | cheap"]


@pytest.mark.parametrize(
    "question",
    [
        "What are the advantages and disadvantages of fog horns?",
        "What are the trade-offs of fog horns?",
        "Is it true that fog horns fail?",
    ],
)
def test_what_only_asks_need_not_be_said(question, analyzed):
    text = "# Notes\n\nFog horns fail on clear days. They are cheap.\n"
    assert next(f.content for f in analyzed(question, ("Notes", text))).startswith("Fog horns fail")


def test_a_word_that_joins_two_is_no_slip_of_another():
    text = "The lamp goes off at dawn. Off it goes. It is off."
    question = "What are the trade-offs of lamps?"
    assert mended(question, {"lamp"}, [text]) == question


def test_a_reason_for_something_is_none_for_its_lack(analyzed):
    lacks = "The Orrel will never have a horn. It is too small a rock for one."
    other = "Because the Stoat has a horn, the keepers of the Orrel hear it at night."
    (best, *_) = analyzed("Why does the Orrel not have a horn?", ("A", f"{other}\n"), ("B", f"{lacks}\n"))
    assert best.content == lacks


def test_who_did_something_is_somebody_else_than_the_question_names(analyzed):
    text = (
        "# Mole's Ledge\n\nMole's Ledge lies off Penryn, and its light stands on it.\n\n"
        "## The tower\n\nCaptain Tom Hare built a house and light on the ledge.\n"
    )
    (best, *_) = analyzed("Who built Mole's Ledge light?", ("Mole's Ledge", text))
    assert best.content == "Captain Tom Hare built a house and light on the ledge."


def test_a_report_says_that_nobody_is_named(draft_of):
    question = "Who created Orrel?"
    said = "Penryn Professional brings Orrel, for which you create a plan."
    assert "*No source says outright who." in draft_of(question, [(said, 0, 0.9)])
    assert "*No source" not in draft_of(question, [("Orrel was created by Tom Hare.", 0, 0.9)])


def test_a_column_with_the_number_of_a_thing_tells_what_was_done_with_it():
    carried = counted("How many passengers did the Alma carry in 2021?")
    assert carried.doing == stem("carry")
    assert carried.is_told("name: Alma; year: 2021; passengers: 1450")
    assert not carried.is_told("name: Alma; year: 2021; crew: 14")
    assert not counted("How many people did the storm kill?").is_told("place: Orrel; displaced: 12; dead: 3")
    assert counted("How many lamps are there?") is None


EFFECTS = """# Lamps of Orrel

Seventy ships came to Orrel in a year. The keeper changed the rope twice.

Since the lamps of Orrel were lit, fewer ships were lost.
"""


def test_what_became_of_something_is_told_by_what_speaks_of_it_and_not_by_any_change(analyzed):
    found = [f.content for f in analyzed("How did lamps change ships?", ("Lamps of Orrel", EFFECTS))]
    assert any("fewer ships" in content for content in found)
    assert not any("rope" in content and "ships" not in content for content in found)


@pytest.mark.parametrize(
    ("question", "effect"),
    [
        ("How did lamps change the harbour?", True),
        ("What changed when the lamps were lit?", True),
        ("What effect did the lamps have on ships?", True),
        ("How do I change the lamp?", False),
        ("How has the number of lamps changed since 1900?", False),
        ("What changed in Orrel 2.3?", False),
    ],
)
def test_an_effect_is_of_something_on_something_else(question, effect):
    assert asks_effect(question) is effect


def test_a_report_says_that_no_source_tells_what_changed(draft_of):
    question = "How did lamps change ships?"
    assert "*No source says outright what changed." in draft_of(question, [("Seventy ships came.", 0, 0.9)])
    told = "Since then lamps led to fewer ships on the rocks."
    assert "*No source" not in draft_of(question, [(told, 0, 0.9)])


def test_what_a_thing_does_says_what_it_is_where_nothing_else_does(analyzed):
    does = ("Setting up", "# Setting up\n\nOrrel implements lamps, the common way to light a harbour.\n")
    other = ("Notes", "# Notes\n\nOrrel logs each lamp to a file. Orrel is now installed.\n")
    best, *_ = analyzed("What is Orrel?", other, does)
    assert best.content == "Orrel implements lamps, the common way to light a harbour."
    said = ("Setting up", f"{does[1]}\nOrrel is a lamp for harbours and towns.\n")
    best, *_ = analyzed("What is Orrel?", other, said)
    assert best.content == "Orrel is a lamp for harbours and towns."


def test_a_case_may_be_named_before_the_sentence_that_tells_what_follows(analyzed):
    text = (
        "# Filling lamps\n\nThe most oil is set by MAX_OIL in the list of all settings.\n"
        "If a larger can is poured in, the lamp goes out.\n"
    )
    (best, *_) = analyzed("What happens if a can larger than MAX_OIL is filled in?", ("Filling lamps", text))
    assert best.content.endswith("If a larger can is poured in, the lamp goes out.")


def test_what_is_said_of_each_of_two_things_in_the_same_words_is_told_of_both(draft_of):
    said = "Take a clean rag, trim the wick, and then light the {} lamp."
    report = draft_of(
        "Compare orrel and penryn",
        [(said.format("orrel"), 0, 0.9), (said.format("penryn"), 1, 0.9)],
        titles=("Orrel", "Penryn"),
    )
    assert report.count("Take a clean rag") == 2


def test_a_thing_that_is_compared_keeps_its_whole_name():
    asked_of = "Compare the Lamp of Orrel and the Tower of Hare"
    assert compared(asked_of) == ("Lamp of Orrel", "Tower of Hare")
    assert compared("Compare lamps and horns of iron") == ("lamps", "horns")


def test_what_speaks_for_or_against_something_comes_first_where_its_merits_are_asked(analyzed, draft_of):
    text = (
        "# Fog horns\n\nFog horns stand on rocks.\n\n## More\n\nFog horns are cheap, but useless in a gale.\n"
    )
    question = "What are the pros and cons of fog horns?"
    best, *_ = analyzed(question, ("Fog horns", text))
    assert best.content == "Fog horns are cheap, but useless in a gale."
    assert "*No source weighs it outright." in draft_of(question, [("Fog horns stand on rocks.", 0, 0.9)])


@pytest.mark.parametrize(
    ("question", "said", "told"),
    [
        ("Who designed the Orrel?", "The engineer of the Orrel was Tom Hare.", True),
        ("Who designed the Orrel?", "It was designed by the board.", True),
        ("Who created Orrel?", "With Penryn Professional you can create an Orrel of your own.", False),
        ("Who designed the Orrel?", "The engineer of the Orrel slept on it.", False),
    ],
)
def test_somebody_is_told_by_name_or_by_what_it_was_done_by(question, said, told):
    assert tells_who(question, said) is told


def test_the_number_of_things_tells_how_many_there_are():
    run = counted("How many lamps does the board run?")
    assert run.is_told("A newspaper put the number of the board's lamps at 207.")
    assert not run.is_told("The number of lamps was never told.")


def test_what_only_has_the_name_is_left_out_beside_anything_that_has_more(analyzed):
    text = (
        "# Orrel\n\nOrrel should not be lit at noon.\n\n## Details\n\nOrrel burns with several wicks.\n\n"
        "## Setting up\n\nOrrel is put on a shelf.\n"
    )
    found = [f.content for f in analyzed("How many wicks does Orrel have?", ("Orrel", text))]
    assert found == ["Orrel burns with several wicks."]


@pytest.mark.parametrize(
    ("question", "again"),
    [
        ("When does a lamp smoke?", True),
        ("When do wicks break?", True),
        ("When does the office open?", False),
        ("When does the race take place?", False),
        ("When did the lamp smoke?", False),
        ("When is the regatta?", False),
    ],
)
def test_when_something_happens_again_and_again_asks_for_no_date(question, again):
    assert asks_for_any_time(question) is again


@pytest.mark.parametrize(
    "said",
    [
        "The fair runs from 3 June to 8 June 2026.",
        "The fair runs whenever the sun shines.",
        "The fair runs from 9:00 on.",
    ],
)
def test_a_date_a_time_of_day_or_an_occasion_tells_when_it_does(said):
    assert fits(expected_answer("When does the fair run?"), said)


def test_on_what_occasion_it_happens_answers(draft_of):
    said = "If the wick is too long, the lamp smokes."
    assert "No date was found" not in draft_of("When does a lamp smoke?", [(said, 0, 0.9)])


def test_a_reader_is_told_that_nothing_compares_the_two(draft_of):
    notice = "*No source compares the two outright. What is told of each:*"
    question = "What is the difference between a wick and a mantle?"
    assert notice in draft_of(question, [("A wick is of cotton.", 0, 0.9), ("A mantle glows.", 0, 0.8)])
    both = "A wick burns, a mantle only glows."
    assert notice not in draft_of(question, [(both, 0, 0.9)])
    assert notice not in draft_of(
        question, [("It is of cotton, the mantle of salt.", 0, 0.9)], titles=("The wick",)
    )
    assert notice not in draft_of("What is a wick?", [("A wick is of cotton.", 0, 0.9)])


def test_a_plan_for_a_lamp_does_not_date_its_lighting(analyzed):
    text = (
        "# The Hare Rock\n\nThe council voted for a light on the rock in 1806.\n\n"
        "The light was shown to ships from 1 February 1811 on.\n"
    )
    first, *_ = analyzed("When was the Hare Rock lit?", ("The Hare Rock", text))
    assert first.content == "The light was shown to ships from 1 February 1811 on."


def test_the_dates_of_a_life_date_nothing_else():
    said = "Ann Mole (1772–1850) was the engineer of the lamp."
    assert not fits(expected_answer("When was the lamp lit?"), said)
    assert fits(expected_answer("When was Ann Mole born?"), said)
    assert fits(expected_answer("When did Ann Mole die?"), said)
    assert fits(expected_answer("When was the lamp lit?"), "It was lit in 1811 (not in 1810).")
