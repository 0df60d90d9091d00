"""The lies that runs are made of are lies, and their true twins true: by the folder, not by any check of the product."""

import random
from collections import Counter

import pytest
from distortions import DISTORTIONS, caused, exchanged_figures, exchanged_names, framed
from honest_wordings import PARAPHRASES, TABLES, WORDINGS, denied_twice, merged, stands_alone
from lie_folder import FOLDER, LOOKALIKES, SUBJECTS, documents, figures, words
from lie_plans import FEWEST, KINDS, MOST, pair, true_wording
from lies import added_not, dropped_not, moved_decimal, opposite, shifted_date, swapped_name

NUMBERS = range(4 * len(KINDS))
CANAL, FUNICULAR = "tolverne-canal.md", "castrel-funicular.txt"


@pytest.fixture(scope="module")
def pairs():
    return [pair(number) for number in NUMBERS]


def test_the_folder_has_a_subject_and_a_lookalike_for_each_document():
    names = {path.name for path in FOLDER.iterdir()}
    assert names == SUBJECTS.keys() == LOOKALIKES.keys()
    assert {path.suffix for path in FOLDER.iterdir()} == {".md", ".txt", ".html"}
    assert all(300 <= len(document.text.split()) <= 700 for document in documents().values())


def test_a_run_is_made_the_same_again(pairs):
    assert [pair(number) for number in NUMBERS] == pairs


def test_all_kinds_of_lies_are_told_equally_often(pairs):
    assert Counter(lying.lies[0].kind for lying, _ in pairs) == dict.fromkeys(
        KINDS, len(NUMBERS) // len(KINDS)
    )


def test_findings_quote_their_documents_letter_by_letter(pairs):
    for lying, twin in pairs:
        assert FEWEST <= len(twin.findings) <= MOST
        assert [f.quote for f in lying.findings] == [f.quote for f in twin.findings]
        assert all(f.quote in documents()[f.document].text for f in twin.findings)
        assert twin.lies == ()


def test_a_lying_run_differs_from_its_twin_in_its_lies_alone(pairs):
    for lying, twin in pairs:
        told = {sentence.text for sentence in lying.sentences} - {
            sentence.text for sentence in twin.sentences
        }
        moved = {s.text for s in lying.sentences if s.cites} & {lie.text for lie in lying.lies if lie.wrong}
        assert told | moved == {lie.text for lie in lying.lies}
        changed = [f.content for f, true in zip(lying.findings, twin.findings, strict=True) if f != true]
        assert changed == [lie.text for lie in lying.lies if lie.place != "report"]


def test_no_document_says_a_lie(pairs):
    for lying, _ in pairs:
        for lie in lying.lies:
            if lie.wrong:
                assert lie.text not in documents()[lie.wrong].text
            else:
                assert not any(lie.text in document.text for document in documents().values())


def test_a_lie_of_a_number_or_date_has_one_that_its_document_has_not(pairs):
    lies = [lie for lying, _ in pairs for lie in lying.lies if lie.kind in ("moved decimal", "date shift")]
    for lie in lies:
        new = figures(lie.text) - figures(lie.truth)
        assert len(new) == 1
        assert not new & figures(documents()[lie.document].text)


def test_true_sentences_have_no_number_that_their_document_has_not(pairs):
    for _, twin in pairs:
        for sentence in twin.sentences:
            assert figures(sentence.text) <= figures(documents()[sentence.document].text)


def test_true_sentences_are_of_the_words_of_their_quotes_but_for_those_worded_by_hand(pairs):
    frame = words("according to the text on documents say that in addition and it was by km kg")
    for _, twin in pairs:
        for finding in twin.findings:
            if finding.wording not in ("by hand", "subject", *map(true_wording, PARAPHRASES)):
                subject = words(SUBJECTS[finding.document])
                assert words(finding.content) <= words(finding.quote) | frame | subject


CHANGED = [
    (moved_decimal, CANAL, "The locks at Penholt are 4.3 metres wide.", {"43 metres", "0.43 metres"}),
    (moved_decimal, CANAL, "In 1811 it opened.", {""}),
    (moved_decimal, CANAL, "Carts could not bring more than 40 tonnes.", {""}),
    (dropped_not, CANAL, "The canal was not filled in.", {"The canal was filled in."}),
    (dropped_not, CANAL, "A second tunnel was never begun.", {"A second tunnel was begun."}),
    (added_not, CANAL, "The locks are 4.3 metres wide.", {"The locks are not 4.3 metres wide."}),
    (added_not, CANAL, "Two of the locks are closed.", {""}),
    (shifted_date, CANAL, "No passenger has been killed since 1971.", {""}),
    (swapped_name, CANAL, "It lies on the way.", {""}),
    (opposite, FUNICULAR, "It was closed before the war.", {"It was closed after the war."}),
    (opposite, FUNICULAR, "It is named after a saint.", {""}),
    (
        exchanged_figures,
        CANAL,
        "The lock is 4.3 metres wide and 21.5 metres long.",
        {"The lock is 21.5 metres wide and 4.3 metres long."},
    ),
    (exchanged_figures, CANAL, "She won it in 1907, 1909 and 1912.", {""}),
    (exchanged_figures, CANAL, "The share rose from 4 to 9 percent.", {""}),
    (
        exchanged_names,
        CANAL,
        "The race was won by Anton Vireo, half a point ahead of Gustav Sell.",
        {"The race was won by Gustav Sell, half a point ahead of Anton Vireo."},
    ),
    (exchanged_names, CANAL, "It stops at Thornby and at Lidden.", {""}),
    (framed, CANAL, "The locks are old.", {"the locks are old", "The locks are old, or so critics claim."}),
    (framed, CANAL, "Penholt has locks.", {""}),
    (caused, CANAL, "The locks are old.", {""}),
    (caused, CANAL, "In 2023 the locks were closed.", {""}),
    (caused, CANAL, "The tunnel was closed in 1950.", {"The tunnel was closed in 1950 because "}),
]


@pytest.mark.parametrize(("change", "document", "sentence", "expected"), CHANGED)
def test_one_thing_is_changed_or_nothing_where_the_result_might_be_true(change, document, sentence, expected):
    changed = change(sentence, documents()[document], random.Random(1))
    assert any(changed == one or (one and one in changed) for one in expected)


def test_each_kind_of_distortion_has_sentences_that_are_as_true_in_its_construction(pairs):
    assert PARAPHRASES.keys() == DISTORTIONS.keys()
    for lying, twin in pairs:
        kind = lying.lies[0].kind
        for plan in (lying, twin):
            told = [s for s in plan.sentences if s.wording == true_wording(kind)]
            assert len(told) == (kind in PARAPHRASES)


def test_what_is_written_by_hand_is_of_sentences_of_the_folder_and_no_document_has_it():
    known = {sentence for document in documents().values() for sentence in document.sentences}
    for part in ("lies", "paraphrases"):
        for rows in TABLES[part].values():
            assert rows.keys() <= known
            assert all(map(stands_alone, rows))
            assert not known & set(rows.values())
    for kind, rows in TABLES["lies"].items():
        assert rows.items().isdisjoint(TABLES["paraphrases"][kind].items())


def test_a_denied_denial_is_made_of_simple_sentences_alone():
    canal = documents()[CANAL]
    assert denied_twice("The lock is not closed.", canal) == "It is not true that the lock is closed."
    assert denied_twice("The lock is not closed, although it is old.", canal) == ""
    assert denied_twice("The lock is closed.", canal) == ""


REWORDED = [
    ("time last", "In 1903 the horses were sold.", "The horses were sold in 1903."),
    ("time last", "In 1903 the horses were sold and the line was closed.", ""),
    ("time first", "The line was opened on 4 May 1920.", "On 4 May 1920 the line was opened."),
    ("active", "The bridge was designed by Ann Lee in 1920.", "Ann Lee designed the bridge in 1920."),
    ("active", "The bridge was designed by Ann Lee and her son.", ""),
    (
        "passive",
        "In 1977 the city bought the mine for a crown.",
        "In 1977 the mine was bought by the city for a crown.",
    ),
    ("unbracketed", "It cost 5 crowns (a day's pay) at most.", "It cost 5 crowns at most."),
    (
        "shortened",
        "The canal was not filled in at once, because it was used.",
        "The canal was not filled in at once.",
    ),
    ("abbreviated", "It is 5 kilometres long and 3 percent steep.", "It is 5 km long and 3% steep."),
    ("reported", "Castrel has a bridge.", ""),
    ("reported", "The bridge is old.", "The documents say that the bridge is old."),
]


@pytest.mark.parametrize(("wording", "sentence", "expected"), REWORDED)
def test_honest_wordings_keep_what_is_said(wording, sentence, expected):
    assert WORDINGS[wording](sentence, documents()[CANAL]) == expected


def test_sentences_are_merged_where_they_go_together():
    canal = documents()[CANAL]
    one, other = "The canal is old.", "The locks are new."
    assert merged(one, other, canal) == "The canal is old, and the locks are new."
    assert merged(one, "Penholt has locks.", canal) == ""
    assert not stands_alone("She was the daughter of the engineer of the canal.")
