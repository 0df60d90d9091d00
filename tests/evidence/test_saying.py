"""What a quote says of what is wanted."""

from deep_research.evidence.saying import said_by, weight_of

WANTED = {"lamp": 1.0, "wick": 1.0, "oil": 1.0}


def test_a_sentence_says_all_its_words():
    assert said_by("The lamp has a wick and oil.", WANTED) >= WANTED.keys()


def test_words_of_different_items_of_a_long_list_say_nothing_together():
    fixed = "Mended:\n\n- the lamp\n- a wick that broke\n- oil on the stairs\n- a door"
    assert weight_of(WANTED, said_by(fixed, WANTED)) == 1.0
    of_the_lamp = fixed.replace("Mended:", "Mended of the lamp:")
    assert weight_of(WANTED, said_by(of_the_lamp, WANTED)) == 2.0


def test_a_short_list_says_what_its_items_say():
    assert said_by("Take:\n\n- the lamp\n- a wick\n- oil", WANTED) >= WANTED.keys()


def test_a_thing_that_is_brought_up_does_not_say_that_it_was_done():
    wanted = {"light": 1.0}
    for said in ("They asked for a light on the rock.", "There was no light yet."):
        assert "light" in said_by(said, wanted)
        assert "light" not in said_by(said, wanted, done="light")
    for said in ("The light was shown.", "A light was asked for, and lit in May."):
        assert "light" in said_by(said, wanted, done="light")
