"""Quotes of a reading: found in whichever source has them. Findings that they do not carry are asked for once more."""

import asyncio
import re

import pytest

from deep_research.errors import BudgetError
from deep_research.models.failures import Verdict, failure
from deep_research.phases.analysis import AnalysisPhase
from deep_research.phases.analysis.llm import LLMAnalyzer
from deep_research.phases.analysis.quote_recovery import MOST_FINDINGS
from deep_research.state import Budget, DeepResearchPhase, DeepResearchState, RunOptions, Source, SubQuery
from deep_research.state.events import SourcesAnalyzed
from deep_research.state.journal import Content, MemoryJournal
from deep_research.state.notices import reported_notices
from deep_research.testing.models import ScriptedProvider

TEXTS = (
    "# The Orm\n\n- The **Orm lighthouse** was built in 1911, by Ada Brook, on a rock.\n"
    "- Its lamp burned whale oil until 1843.\n\nThe sea is heavy there. " + "Gulls breed on it. " * 400,
    "# Gold Reef\n\nThe tower of Gold Reef is 47 metres high and was lit in 1904. " + "It rained. " * 400,
)
BUILT = "The Orm lighthouse was built in 1911 by Ada Brook."
HIGH = "The tower of Gold Reef is 47 metres high."


def source(n):
    content = Content.of(TEXTS[n])
    return Source(
        id=f"src-{n:012x}",
        sub_query_id="subq-a",
        title=f"Page {n}",
        url=f"https://example.org/{n}",
        content_hash=content.hash,
        length=len(TEXTS[n]),
        rank=n,
    )


def state(**more):
    return DeepResearchState(
        query="Who built the Orm lighthouse, and how high is Gold Reef?",
        phase=DeepResearchPhase.ANALYSIS,
        sub_queries=(SubQuery(id="subq-a", query="lighthouses"),),
        sources=(source(0), source(1)),
        **more,
    )


def finding(content, name, quote):
    return {
        "content": content,
        "confidence": "high",
        "source_ids": [name],
        "quotes": [{"source_id": name, "quote": quote}],
    }


class Reader(ScriptedProvider):
    """Answers with these findings, and with ``again`` when it is asked for quotes once more."""

    def __init__(self, *findings, again=None):
        self.asked = []
        super().__init__(self._said)
        self._findings, self._again = findings, again

    def _said(self, call):
        self.asked.append(call)
        if call.form.name == "Reading":
            return {"findings": list(self._findings)}
        if call.form.name == "Requotes":
            answer = self._again(call) if callable(self._again) else self._again
            return answer or {"findings": []}
        return {}

    @property
    def requests(self):
        return [call for call in self.asked if call.form.name == "Requotes"]


def read(work, provider, **more):
    return work(AnalysisPhase(LLMAnalyzer()), state(**more), provider, texts=TEXTS)


def stored(made):
    """The quotes of the findings, each held against its text."""
    quotes = [quote for f in made.findings for quote in f.quotes]
    for quote in quotes:
        assert TEXTS[int(quote.source_id[4:], 16)][quote.start : quote.end] == quote.quote
    return [quote.quote for quote in quotes]


@pytest.mark.parametrize(
    ("quote", "words"),
    [
        (
            "the Orm lighthouse was built in 1911 by Ada Brook.",
            "The **Orm lighthouse** was built in 1911, by Ada Brook",
        ),
        ("“Its lamp burned the whale oil until 1843”", "Its lamp burned whale oil until 1843"),
        (
            "Orm lighthouse was built … Ada Brook, on a rock.",
            "**Orm lighthouse** was built in 1911, by Ada Brook, on a rock.",
        ),
    ],
)
def test_a_quote_that_deviates_is_stored_in_the_words_of_its_source_without_another_request(
    work, quote, words
):
    provider = Reader(
        finding(BUILT if "built" in quote else "The lamp burned whale oil until 1843.", "S1", quote)
    )
    made = read(work, provider).state
    assert stored(made) == [words]
    assert not provider.requests
    assert (made.unfounded, made.unlocated) == (0, 0)


def test_a_quote_under_another_sources_name_is_one_of_the_source_that_has_it(work):
    provider = Reader(finding(HIGH, "S1", "The tower of Gold Reef is 47 metres high"))
    made = read(work, provider).state
    assert [f.source_ids for f in made.findings] == [(source(1).id,)]
    assert stored(made) == ["The tower of Gold Reef is 47 metres high"]
    assert not provider.requests


WRONG = "Ada Brook had the Orm lighthouse built on a rock in 1911"
TALL = "Gold Reef has a tower with 47 metres, lit in 1904"
LIT = "The tower of Gold Reef is 47 metres high and was lit in 1904."


def again(name, *quotes, words=""):
    return {"finding": name, "quotes": list(quotes), "words": words}


ONCE_MORE = {
    "findings": [
        again("F1", "The Orm lighthouse was built in 1911, by Ada Brook"),
        again("(F2)", LIT),
        again("F9", "Gulls breed on it."),
    ]
}


def test_quotes_that_are_in_no_source_go_back_once_all_together_with_the_nearest_passage(work):
    provider = Reader(finding(BUILT, "S1", WRONG), finding(HIGH, "S2", TALL), again=ONCE_MORE)
    made = read(work, provider).state
    (first,) = [call for call in provider.asked if call.form.name == "Reading"]
    (asked,) = provider.requests
    said = asked.messages[-1].content
    assert len(asked.system + said) < len(first.system + first.messages[-1].content) / 2
    for told in (WRONG, TALL, "was built in 1911, by Ada Brook", "is 47 metres high and was lit in 1904"):
        assert told in said
    assert len(re.findall(r"passage P\d+>>", said)) == 2
    assert sorted(stored(made)) == [
        "The **Orm lighthouse** was built in 1911, by Ada Brook",
        "The tower of Gold Reef is 47 metres high and was lit in 1904.",
    ]
    assert (made.unfounded, made.unlocated) == (0, 0)


def test_what_stays_unfound_is_counted_and_told(work):
    provider = Reader(finding(BUILT, "S1", WRONG), again={"findings": [again("F1", "Built by nobody.")]})
    made = read(work, provider).state
    assert (made.unfounded, made.unlocated, len(provider.requests)) == (1, 1, 1)
    (limit,) = [x for x in reported_notices(made) if x.name == "evidence"]
    assert "1 quote was left out, since no source has the words." in limit.message


def test_what_is_near_nothing_is_invented_and_not_asked_for(work):
    bread = "Bakers sold warm bread to hungry sailors every winter"
    provider = Reader(finding(f"{bread}.", "S1", bread))
    made = read(work, provider).state
    assert (made.unlocated, provider.requests) == (1, [])


@pytest.mark.parametrize(
    "answer",
    [
        "no object at all",
        {"findings": "none"},
        failure(Verdict.MALFORMED, "cannot be used", model="m"),
        failure(Verdict.UNAVAILABLE, "not there", model="m")
        if hasattr(Verdict, "UNAVAILABLE")
        else "nothing",
        BudgetError("The cap is reached.", hint="Raise it."),
    ],
)
def test_without_a_usable_answer_the_first_one_stands(work, answer):
    def answers(call):
        if isinstance(answer, Exception):
            raise answer
        return answer

    right = finding(HIGH, "S2", "The tower of Gold Reef is 47 metres high")
    made = read(work, Reader(finding(BUILT, "S1", WRONG), right, again=answers)).state
    assert stored(made) == ["The tower of Gold Reef is 47 metres high"]
    assert made.unlocated == 1


def test_nothing_is_asked_again_where_a_cap_has_no_request_to_spare(work):
    provider = Reader(finding(BUILT, "S1", WRONG), again=ONCE_MORE)
    made = read(work, provider, options=RunOptions(budget=Budget(max_model_calls=2))).state
    assert not provider.requests
    assert made.unlocated == 1


def test_a_reading_that_is_in_the_log_asks_for_nothing_again(work):
    provider = Reader(finding(BUILT, "S1", WRONG), again=ONCE_MORE)
    journal = read(work, provider)
    (event,) = [event for event in journal.events if isinstance(event, SourcesAnalyzed)]
    later = MemoryJournal(state(), texts=TEXTS)
    asyncio.run(later.record(*[e for e in journal.events if e.name == "reading.planned"], event))
    work(AnalysisPhase(LLMAnalyzer()), later.state, provider, journal=later, texts=TEXTS)
    assert len(provider.requests) == 1


def test_no_more_findings_are_asked_for_than_a_small_request_holds(work):
    wrong = [finding(BUILT, "S1", f"{WRONG} and {n} times") for n in range(MOST_FINDINGS + 9)]
    provider = Reader(*wrong)
    made = read(work, provider).state
    (asked,) = provider.requests
    said = asked.messages[-1].content
    assert len(re.findall(r"finding F\d+>>", said)) == MOST_FINDINGS
    assert len(re.findall(r"passage P\d+>>", said)) == 1  # they have the same one
    assert made.unlocated == MOST_FINDINGS + 9


# Findings that their quotes do not carry

OLD = "The Orm lighthouse was built in 1811 by Ada Brook."  # the text has 1911
QUOTE = "The Orm lighthouse was built in 1911, by Ada Brook"
RIGHT = "Ada Brook built the Orm lighthouse in 1911."
BOTH = "The Orm lighthouse was built in 1911 and the tower of Gold Reef lit in 1904."
GERMAN = "Der Leuchtturm auf dem Felsen wurde im Jahr {} von Ada Brook gebaut."
ROCK = "in 1911, by Ada Brook, on a rock."

ASKED = {
    "other words, by its own quote": (OLD, QUOTE, again("F1", words=RIGHT), [(RIGHT, [QUOTE])]),
    "other words and a quote": (OLD, ROCK, again("F1", QUOTE, words=RIGHT), [(RIGHT, [QUOTE])]),
    "in another language": (
        GERMAN.format(1811),
        QUOTE,
        again("F1", words=GERMAN.format(1911)),
        [(GERMAN.format(1911), [QUOTE])],
    ),
    "a further quote": (BOTH, QUOTE, again("F1", LIT), [(BOTH, [QUOTE, LIT])]),
    "the same quote again": (OLD, QUOTE, again("F1", QUOTE), []),
    "a quote that is in no source": (OLD, QUOTE, again("F1", "It was built in 1811."), []),
    "other words that are as wrong": (OLD, QUOTE, again("F1", words="Ada Brook built it in 1711."), []),
    "nothing": (OLD, QUOTE, again("F1"), []),
}


@pytest.mark.parametrize(("content", "quote", "answer", "findings"), ASKED.values(), ids=ASKED)
def test_a_finding_that_its_quotes_do_not_carry_goes_back_once_and_stands_or_is_left_out(
    work, content, quote, answer, findings
):
    provider = Reader(finding(content, "S1", quote), again={"findings": [answer]})
    made = read(work, provider).state
    assert len(provider.requests) == 1
    assert [(f.content, [q.quote.replace("**", "") for q in f.quotes]) for f in made.findings] == findings
    assert made.unfounded == 1 - len(findings)


def test_the_model_is_told_what_no_source_has_and_reads_each_passage_once(work):
    provider = Reader(finding(OLD, "S1", QUOTE), finding(BUILT, "S1", WRONG))
    read(work, provider)
    said = provider.requests[0].messages[-1].content
    for told in (OLD, f"Quoted: {QUOTE}", "Not in the sources quoted: 1811", f"In no source: {WRONG}"):
        assert told in said.replace("**", "")
    assert len(re.findall(r"passage P\d+>>", said)) == 1


@pytest.mark.parametrize(
    ("more", "answer"),
    [
        ({}, failure(Verdict.MALFORMED, "cannot be used", model="m")),
        ({"options": RunOptions(budget=Budget(max_model_calls=2))}, None),
        ({}, {"findings": [again("F7", words=RIGHT)]}),
    ],
    ids=["the request fails", "a cap has no room for it", "it says nothing of it"],
)
def test_where_the_model_has_no_say_the_words_give_way_to_their_source(work, more, answer):
    def answers(call):
        if isinstance(answer, Exception):
            raise answer
        return answer

    made = read(work, Reader(finding(OLD, "S1", QUOTE), again=answers), **more).state
    (stands,) = made.findings
    assert (
        stands.content.replace("**", "") == "The Orm lighthouse was built in 1911, by Ada Brook, on a rock."
    )
    assert made.unfounded == 0


def test_a_finding_that_is_carried_is_not_asked_for(work):
    provider = Reader(finding(RIGHT, "S1", QUOTE), finding(HIGH, "S2", LIT))
    made = read(work, provider).state
    assert len(made.findings) == 2
    assert not provider.requests
