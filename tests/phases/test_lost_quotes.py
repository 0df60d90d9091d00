"""Quotes of a reading: found in whichever source has them, and asked for once more where none has."""

import asyncio
import re

import pytest

from deep_research.errors import BudgetError
from deep_research.models.failures import Verdict, failure
from deep_research.phases.analysis import AnalysisPhase
from deep_research.phases.analysis.llm import LLMAnalyzer
from deep_research.phases.analysis.lost_quotes import MOST_QUOTES
from deep_research.state import Budget, DeepResearchPhase, DeepResearchState, RunOptions, Source, SubQuery
from deep_research.state.events import SourcesAnalyzed
from deep_research.state.journal import Content, MemoryJournal
from deep_research.state.limitations import limitations
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
            return answer or {"quotes": []}
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
ONCE_MORE = {
    "quotes": [
        {"name": "Q1", "quote": "The Orm lighthouse was built in 1911, by Ada Brook"},
        {"name": "(Q2)", "quote": "The tower of Gold Reef is 47 metres high and was lit in 1904."},
        {"name": "Q9", "quote": "Gulls breed on it."},
    ]
}


def test_quotes_that_are_in_no_source_go_back_once_all_together_with_the_nearest_passage(work):
    provider = Reader(finding(BUILT, "S1", WRONG), finding(HIGH, "S2", TALL), again=ONCE_MORE)
    made = read(work, provider).state
    (first,) = [call for call in provider.asked if call.form.name == "Reading"]
    (again,) = provider.requests
    said = again.messages[-1].content
    assert len(again.system + said) < len(first.system + first.messages[-1].content) / 2
    for told in (WRONG, TALL, "was built in 1911, by Ada Brook", "is 47 metres high and was lit in 1904"):
        assert told in said
    assert len(re.findall(r"passage of Q\d+>>", said)) == 2
    assert sorted(stored(made)) == [
        "The **Orm lighthouse** was built in 1911, by Ada Brook",
        "The tower of Gold Reef is 47 metres high and was lit in 1904.",
    ]
    assert (made.unfounded, made.unlocated) == (0, 0)


def test_what_stays_unfound_is_counted_and_told(work):
    provider = Reader(
        finding(BUILT, "S1", WRONG), again={"quotes": [{"name": "Q1", "quote": "Built by nobody."}]}
    )
    made = read(work, provider).state
    assert (made.unfounded, made.unlocated, len(provider.requests)) == (1, 1, 1)
    (limit,) = [x for x in limitations(made) if x.name == "evidence"]
    assert "1 quote was left out, since no source has the words." in limit.message


def test_a_quote_that_is_near_nothing_is_invented_and_not_asked_for(work):
    provider = Reader(finding(BUILT, "S1", "Bakers sold warm bread to hungry sailors every winter"))
    made = read(work, provider).state
    assert (made.unlocated, provider.requests) == (1, [])


@pytest.mark.parametrize(
    "answer",
    [
        "no object at all",
        {"quotes": "none"},
        failure(Verdict.MALFORMED, "cannot be used", model="m"),
        failure(Verdict.UNAVAILABLE, "not there", model="m")
        if hasattr(Verdict, "UNAVAILABLE")
        else "nothing",
        BudgetError("The cap is reached.", hint="Raise it."),
    ],
)
def test_without_a_usable_answer_the_first_one_stands(work, answer):
    def again(call):
        if isinstance(answer, Exception):
            raise answer
        return answer

    right = finding(HIGH, "S2", "The tower of Gold Reef is 47 metres high")
    made = read(work, Reader(finding(BUILT, "S1", WRONG), right, again=again)).state
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


def test_no_more_quotes_are_asked_for_than_a_small_request_holds(work):
    wrong = [finding(BUILT, "S1", f"{WRONG} and {n} times") for n in range(MOST_QUOTES + 9)]
    provider = Reader(*wrong)
    made = read(work, provider).state
    (again,) = provider.requests
    assert len(re.findall(r"quote Q\d+>>", again.messages[-1].content)) == MOST_QUOTES
    assert made.unlocated == MOST_QUOTES + 9
