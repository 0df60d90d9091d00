"""Quotes of a reading: found in whichever source has them. Findings that they do not carry are asked for once more."""

import asyncio
import re

import pytest
from phases.builders import Model, at_analysis, quoting, source

from deep_research.errors import BudgetError
from deep_research.models.failures import Verdict, failure
from deep_research.phases.analysis import AnalysisPhase
from deep_research.phases.analysis.llm import LLMAnalyzer
from deep_research.phases.analysis.quote_recovery import MAX_FINDINGS
from deep_research.state import Budget, RunOptions
from deep_research.state.events import SourcesAnalyzed
from deep_research.state.journal import MemoryJournal
from deep_research.state.notices import reported_notices

TEXTS = (
    "# The Orm\n\n- The **Orm lighthouse** was built in 1911, by Ada Brook, on a rock.\n"
    "- Its lamp burned whale oil until 1843.\n\nThe sea is heavy there. " + "Gulls breed on it. " * 400,
    "# Gold Reef\n\nThe tower of Gold Reef is 47 metres high and was lit in 1904. " + "It rained. " * 400,
)
BUILT = "The Orm lighthouse was built in 1911 by Ada Brook."
HIGH = "The tower of Gold Reef is 47 metres high."
LIT = "The tower of Gold Reef is 47 metres high and was lit in 1904."
QUOTE = "The Orm lighthouse was built in 1911, by Ada Brook"
MARKED = "The **Orm lighthouse** was built in 1911, by Ada Brook"  # as it stands there
ROCK = "in 1911, by Ada Brook, on a rock."
WRONG = "Ada Brook had the Orm lighthouse built on a rock in 1911"
NO_MORE = {"options": RunOptions(budget=Budget(max_model_calls=2))}


def state(**more):
    return at_analysis("Who built the Orm lighthouse, and how high is Gold Reef?", TEXTS, **more)


def read(work, *findings, again=None, **more):
    """The state after a reading with these findings, which gives ``again`` when it is asked for quotes once more; and
    the prompts of such requests."""
    model = Model(Reading={"findings": [*findings]}, Requotes=again or {"findings": []})
    journal = work(AnalysisPhase(LLMAnalyzer()), state(**more), model, texts=TEXTS)
    return journal.state, model.prompts("Requotes")


def told(made):
    """What the findings say and quote, each quote held against its text."""
    quotes = [quote for finding in made.findings for quote in finding.quotes]
    for quote in quotes:
        assert TEXTS[int(quote.source_id[4:], 16)][quote.start : quote.end] == quote.quote
    return [(f.content, [q.quote for q in f.quotes]) for f in made.findings]


def again(name, *quotes, words=""):
    return {"findings": [{"finding": name, "quotes": list(quotes), "words": words}]}


@pytest.mark.parametrize(
    ("content", "quote", "words"),
    [
        (BUILT, "the Orm lighthouse was built in 1911 by Ada Brook.", MARKED),
        (BUILT, "Orm lighthouse was built … Ada Brook, on a rock.", f"{MARKED[4:]}, on a rock."),
    ],
)  # fmt: skip
def test_a_quote_that_deviates_is_stored_in_the_words_of_its_source_without_another_request(
    work, content, quote, words
):
    made, asked = read(work, quoting("S1", content, quote))
    assert told(made) == [(content, [words])]
    assert (made.unfounded, made.unlocated, asked) == (0, 0, [])


def test_a_quote_under_another_sources_name_is_one_of_the_source_that_has_it(work):
    made, asked = read(work, quoting("S1", HIGH, HIGH[:-1]))
    assert [f.source_ids for f in made.findings] == [(source(1).id,)]
    assert told(made) == [(HIGH, [HIGH[:-1]])]
    assert asked == []


def test_quotes_that_are_in_no_source_go_back_once_all_together_with_the_nearest_passage(work):
    tall = "Gold Reef has a tower with 47 metres, lit in 1904"
    answers = [again("F1", QUOTE), again("(F2)", LIT), again("F9", "Gulls breed on it.")]
    answer = {"findings": [each for one in answers for each in one["findings"]]}
    made, (asked,) = read(work, quoting("S1", BUILT, WRONG), quoting("S2", HIGH, tall), again=answer)
    assert len(asked) < sum(map(len, TEXTS)) / 2
    for said in (WRONG, tall, "was built in 1911, by Ada Brook", "is 47 metres high and was lit in 1904"):
        assert said in asked
    assert len(re.findall(r"passage P\d+>>", asked)) == 2
    assert sorted(quotes for _, quotes in told(made)) == [
        ["The **Orm lighthouse** was built in 1911, by Ada Brook"],
        [LIT],
    ]
    assert (made.unfounded, made.unlocated) == (0, 0)


def test_what_stays_unfound_is_counted_and_told_and_what_is_near_nothing_not_asked_for(work):
    made, asked = read(work, quoting("S1", BUILT, WRONG), again=again("F1", "Built by nobody."))
    assert (made.unfounded, made.unlocated, len(asked)) == (1, 1, 1)
    (limit,) = [x for x in reported_notices(made) if x.name == "evidence"]
    assert "1 quote was left out, since no source has the words." in limit.message
    made, asked = read(work, quoting("S1", "Bakers sold warm bread to hungry sailors every winter."))
    assert (made.unlocated, asked) == (1, [])


UNUSABLE = {
    "no object": "no object at all",
    "of another shape": {"findings": "none"},
    "a failure": failure(Verdict.MALFORMED, "cannot be used", model="m"),
    "a cap": BudgetError("The cap is reached.", hint="Raise it."),
}


@pytest.mark.parametrize("answer", UNUSABLE.values(), ids=UNUSABLE)
def test_without_a_usable_answer_the_first_one_stands(work, answer):
    made, _ = read(work, quoting("S1", BUILT, WRONG), quoting("S2", HIGH, HIGH[:-1]), again=answer)
    assert told(made) == [(HIGH, [HIGH[:-1]])]
    assert made.unlocated == 1


def test_a_reading_that_is_in_the_log_asks_for_nothing_again(work):
    model = Model(Reading={"findings": [quoting("S1", BUILT, WRONG)]}, Requotes=again("F1", QUOTE))
    journal = work(AnalysisPhase(LLMAnalyzer()), state(), model, texts=TEXTS)
    later = MemoryJournal(state(), texts=TEXTS)
    kept = [e for e in journal.events if e.name == "reading.planned" or isinstance(e, SourcesAnalyzed)]
    asyncio.run(later.record(*kept))
    work(AnalysisPhase(LLMAnalyzer()), None, model, journal=later)
    assert len(model.asked["Requotes"]) == 1


def test_no_more_findings_are_asked_for_than_a_small_request_holds(work):
    wrong = [quoting("S1", BUILT, f"{WRONG} and {n} times") for n in range(MAX_FINDINGS + 9)]
    made, (asked,) = read(work, *wrong)
    assert len(re.findall(r"finding F\d+>>", asked)) == MAX_FINDINGS
    assert len(re.findall(r"passage P\d+>>", asked)) == 1  # they have the same one
    assert made.unlocated == MAX_FINDINGS + 9


# Findings that their quotes do not carry

OLD = "The Orm lighthouse was built in 1811 by Ada Brook."  # the text has 1911
RIGHT = "Ada Brook built the Orm lighthouse in 1911."
BOTH = "The Orm lighthouse was built in 1911 and the tower of Gold Reef lit in 1904."
LATE, EARLY = (f"Der Leuchtturm auf dem Felsen wurde im Jahr {n} von Ada Brook gebaut." for n in (1911, 1811))
# What is found, by which quote, what the model says of it, and what stands.
ASKED = {
    "other words, by its own quote": (OLD, QUOTE, again("F1", words=RIGHT), [(RIGHT, [QUOTE])]),
    "other words and a quote": (OLD, ROCK, again("F1", QUOTE, words=RIGHT), [(RIGHT, [QUOTE])]),
    "in another language": (EARLY, QUOTE, again("F1", words=LATE), [(LATE, [QUOTE])]),
    "a further quote": (BOTH, QUOTE, again("F1", LIT), [(BOTH, [QUOTE, LIT])]),
    "the same quote again": (OLD, QUOTE, again("F1", QUOTE), []),
    "a quote that is in no source": (OLD, QUOTE, again("F1", "It was built in 1811."), []),
    "other words that are as wrong": (OLD, QUOTE, again("F1", words="Ada Brook built it in 1711."), []),
    "nothing": (OLD, QUOTE, again("F1"), []),
}  # fmt: skip


@pytest.mark.parametrize(("content", "quote", "answer", "findings"), ASKED.values(), ids=ASKED)
def test_a_finding_that_its_quotes_do_not_carry_goes_back_once_and_stands_or_is_left_out(
    work, content, quote, answer, findings
):
    made, asked = read(work, quoting("S1", content, quote), again=answer)
    assert len(asked) == 1
    assert [(said, [q.replace("**", "") for q in quotes]) for said, quotes in told(made)] == findings
    assert made.unfounded == 1 - len(findings)


def test_the_model_is_told_what_no_source_has_and_reads_each_passage_once(work):
    _, (asked,) = read(work, quoting("S1", OLD, QUOTE), quoting("S1", BUILT, WRONG))
    for said in (OLD, f"Quoted: {QUOTE}", "Not in the sources quoted: 1811", f"In no source: {WRONG}"):
        assert said in asked.replace("**", "")
    assert len(re.findall(r"passage P\d+>>", asked)) == 1


SILENT = {
    "the request fails": ({}, failure(Verdict.MALFORMED, "cannot be used", model="m")),
    "a cap has no room for it": (NO_MORE, None),
    "it says nothing of it": ({}, again("F7", words=RIGHT)),
}


@pytest.mark.parametrize(("more", "answer"), SILENT.values(), ids=SILENT)
def test_where_the_model_has_no_say_the_words_give_way_to_their_source(work, more, answer):
    made, _ = read(work, quoting("S1", OLD, QUOTE), again=answer, **more)
    assert [f.content.replace("**", "") for f in made.findings] == [f"{QUOTE}, on a rock."]
    assert made.unfounded == 0
