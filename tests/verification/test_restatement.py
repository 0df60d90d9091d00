"""Whether a statement restates a sentence: its words in its order, but for what syntax and forms allow."""

import pytest
from tables import cases

from deep_research.provenance.attribution import unattributed
from deep_research.text.statements import reader
from deep_research.verification.restatement import restatement

RESTATED = [
    ("The walls are painted white.", "The walls are painted white"),
    ("The server can't flush pages.", "The server cannot flush the pages."),
    ("No error can occur because steps are replayed.", "Because the steps are replayed, no error can occur."),
    ("You can raise the limit by lowering the load.", "By lowering the load, you can raise the limit."),
    ("In 1810 the masonry was finished.", "The masonry was finished in 1810."),
    ("It was built by Ada Brook in 1811.", "It was built in 1811 by Ada Brook."),
    ("The light was first shown on February 1, 1811.", "The light was first shown on 1 February 1811."),
    ("The tower is 90 feet tall.", "The tower is 27.4 metres tall."),
    ("The tower is 3 metres tall.", "The tower is three metres tall."),
    ("The cost was 612 pounds.", "The cost was £612."),
    ("John Smeaton thought of an oak.", "John Smeaton, who built the third tower, thought of an oak: wide at the foot."),
    ("Journaling can reduce performance.", "Briefly, journaling can reduce performance, while disks are slow."),
    ("The beam was steel and was painted.", "The beam (of 1902) was steel (cast) and was painted (red)."),
    ("Limits are set for the cluster.", "Limits are set for the cluster, and cannot be changed for one table."),
    ("Limits cannot be changed for one table.", "Limits are set for the cluster, and cannot be changed for one table."),
]  # fmt: skip
CHANGED = [
    ("The tower is red.", "It is not true that the tower is red."),
    ("It is not true that the tower is red.", "The tower is red."),
    ("The tower is red.", "Nobody believes the tower is red."),
    ("The tower is red.", "According to Smith, the tower is red."),
    ("The tower is red.", "The tower is red, critics say."),
    ("The tower is red.", "If it rains, the tower is red."),
    ("Data pages are protected.", "Only data pages are protected; temporary files are not."),
    ("Temporary files are protected.", "Only data pages are protected; temporary files are not."),
    ("France beat Brazil.", "Brazil beat France."),
    ("France beat Spain.", "France beat Brazil, and Italy beat Spain."),
    ("He went from Paris to Rome.", "From Rome he went to Paris."),
    ("The tower built Smeaton.", "The tower was built by Smeaton."),
    ("You can raise the load by lowering the limit.", "By lowering the load, you can raise the limit."),
    ("Journaling reduces performance.", "Journaling can reduce performance."),
    ("The tower is 90 feet.", "The tower is 90 feet below the sea."),
    ("The tower is open.", "The tower was open."),
    ("They attacked in 1870 at Kiel.", "They were attacked in 1870 at Kiel."),
    ("He was in Kiel.", "He was from Kiel."),
    ("The drug cures cancer.", "In mice, the drug cures cancer."),
    ("The drug cures cancer.", "The drug, in theory, cures cancer."),
    ("The drug cures cancer.", "The drug cures cancer (in mice)."),
    ("The drug cures cancer.", "The drug cures cancer, at least in mice."),
    ("The drug cures cancer.", "Does the drug cure cancer?"),
    ("The service is free for students.", "The service is free for students, provided that they register."),
    ("The strike lasted from 3 June to 5 May.", "The strike lasted from 3 May to 5 June."),
    ("The boost is large.", "The boost is large for small loads."),
    ("The duration is twice the delay.", "The duration is three times the delay."),
]


ALL = [*((*pair, True) for pair in RESTATED), *((*pair, False) for pair in CHANGED)]


@pytest.mark.parametrize(("statement", "sentence", "is_one"), ALL)
def test_a_statement_with_the_words_of_a_sentence_in_its_order_restates_it(statement, sentence, is_one):
    assert restatement("en").holds(statement, sentence) is is_one


def test_the_subject_may_stand_in_the_sentence_before_or_in_a_heading():
    holds = restatement("en").holds
    sentence, before = "It was finished in 1810.", "The masonry was cut at Arbroath."
    assert holds("The masonry was finished in 1810.", sentence, before)
    assert not holds("The oak was finished in 1810.", sentence, before)
    keys = reader("en").keys("Bell Rock")
    assert holds("The Bell Rock masonry was finished in 1810.", "The masonry was finished in 1810.", "", keys)


def test_a_statement_that_is_less_sure_restates_a_sentence_but_for_that():
    claim, sentence = "The mortar came from Aberdeen.", "The mortar may have come from Aberdeen."
    assert not restatement("en").holds("The mortar will come from Aberdeen.", sentence)
    assert not restatement("en").holds(claim, sentence)
    assert restatement("en", exact=False).holds("The mortar will have come from Aberdeen.", sentence)


@pytest.mark.parametrize(
    ("statement", "left"),
    cases("""
        According to the documents, it is red. | it is red.
        The sources say that it is red. | it is red.
        It is red, according to the page on the Orm. | It is red.
        According to Smith, it is red. | According to Smith, it is red.
        The sources may say that it is red. | The sources may say that it is red.
        No source says that it is red. | No source says that it is red.
        I said, it is red. | I said, it is red.
        Both sources say that it is red. | Both sources say that it is red.
    """),
)
def test_an_opening_or_end_that_only_names_the_sources_is_left_out(statement, left):
    assert unattributed(statement, reader("en"), reader("en").keys("The Orm Light"), "en") == left


@pytest.mark.parametrize("size", [1_000, 4_000])
def test_long_statements_and_sentences_are_compared_in_bounded_work(size):
    words = " ".join(f"word{n} and" for n in range(size))
    assert not restatement("en").holds(words, words)
