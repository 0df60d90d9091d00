"""Sources that code would leave out and is not sure of: shown to the reader's model in one request, which says what of
them is read."""

import asyncio
from datetime import UTC, datetime

import pytest
from phases.builders import Model, at_analysis, prompt, source
from prompt_reading import blocks

from deep_research.budget.content_budget import ContentRules
from deep_research.errors import BudgetError
from deep_research.models.failures import Verdict, failure
from deep_research.phases.analysis import AnalysisPhase
from deep_research.phases.analysis.llm import SYSTEM, LLMAnalyzer
from deep_research.phases.analysis.reading_choice import (
    MAX_DOUBTFUL_SOURCES,
    MAX_PASSAGE_CHARS,
    NOT_NEAR,
    SAID,
)
from deep_research.state import Budget, ReadDepth, RunOptions, SubQuery
from deep_research.state.events import ReadingPlanned
from deep_research.state.journal import MemoryJournal

QUESTION = "How long does the server wait on a lock before it checks for a deadlock?"
ANSWER = "The server waits one second on a lock before it checks for a deadlock."
OTHER = "A lock of the server is noticed by a watchdog after a second."
SHIPS = "In the year {} many vessels came into the harbour, and their crews went ashore. "
ASKED = ContentRules(model_triage=True, section_relevance=0.6)


def ships(seed, count=60):
    return "".join(SHIPS.format(1500 + seed * 7 + n) for n in range(count))


NEARLY = f"# Watchdogs\n\n{ships(1)}\n\n## Checks\n\n{OTHER}\n\n## After\n\n{ships(41)}"  # too few words of the question
ABOUT = f"# Locks\n\n{ANSWER}\n\n## Ships\n\n{ships(3)}"
FAR = f"# Vessels\n\n{ships(9)}"  # without a word of the question
TEXTS = [ABOUT, NEARLY, FAR]


def state(texts=TEXTS, **more):
    fields = {
        "created_at": datetime(2026, 3, 5, tzinfo=UTC),
        "sub_queries": (SubQuery(id="subq-a", query="deadlock lock wait", rationale="to see how long"),),
        "sources": tuple(source(n, text, rank=n + 1) for n, text in enumerate(texts)),
    }
    return at_analysis(QUESTION, texts, **{**fields, **more})


def of(answer):
    """A model that says so of doubtful sources, and finds nothing where it reads, also where no form is asked for."""
    nothing = '{"findings": []}'
    unformed = lambda call: nothing if SYSTEM[:80] in call.system else answer  # noqa: E731
    return Model(Reading=nothing, Choices=answer, **{"": unformed})


def said(**choices):
    return {"choices": [{"source": name, "read": read} for name, read in choices.items()]}


def analysed(work, answer, *, texts=TEXTS, rules=ASKED, **more):
    """What was asked about the doubtful sources, what was read, the plan, and what was chosen by the number of the
    source."""
    model = of(answer)
    journal = work(AnalysisPhase(LLMAnalyzer(rules)), state(texts, **more), model, texts=texts)
    (plan,) = [event.plan for event in journal.events if isinstance(event, ReadingPlanned)]
    asked = [prompt(call) for call in model.calls if "Passage: " in prompt(call)]
    read = [prompt(call) for call in model.calls if prompt(call) not in asked]
    return asked, read, journal, [(item.extent, item.by) for item in plan.triage]


CODE = [(ReadDepth.SECTIONS, "code"), (ReadDepth.NOTHING, "code"), (ReadDepth.NOTHING, "code")]
BY = "scripted:model-1"


def test_what_nearly_comes_near_is_shown_in_one_request_and_what_the_model_says_is_read_and_recorded(work):
    (asked,), (read,), journal, chosen = analysed(work, said(S1="sections", S2="whole"))
    first, second = blocks(asked).values()  # the one that comes nearest first
    assert first.startswith(
        "Title: Page 1\nAddress: https://example.org/1\nHeadings: Watchdogs; Checks; After\nPassage: "
    )
    assert OTHER in first
    assert "Title: Page 2" in second
    for told in (f"Question: {QUESTION}", "Today is 2026-03-05.", "deadlock lock wait (to see how long)"):
        assert told in asked
    assert chosen == [CODE[0], (ReadDepth.SECTIONS, BY), (ReadDepth.WHOLE, BY)]
    assert journal.state.reading.triage[1].because == SAID[ReadDepth.SECTIONS]
    shown = {body.partition("\n")[0]: body for body in blocks(read).values()}
    assert OTHER in shown["Title: Page 1"]
    assert len(shown["Title: Page 1"]) < len(NEARLY) / 2
    assert FAR.split("\n\n")[1].strip() in shown["Title: Page 2"]
    assert {s.id for s in journal.state.sources} == journal.state.analyzed


def test_what_a_model_leaves_out_is_told_as_that_and_what_it_does_not_name_stays(work):
    _, _, journal, chosen = analysed(work, said(S1="no", S2="no"))
    assert chosen[1:] == [(ReadDepth.NOTHING, BY)] * 2
    (told,) = [notice.message for notice in journal.state.notices]
    assert "2 not at all, since a model saw nothing in them that helps" in told
    _, _, journal, chosen = analysed(work, said(S2="sections", S9="whole"))
    assert chosen == [*CODE[:2], (ReadDepth.SECTIONS, BY)]
    assert journal.state.reading.triage[1].because == NOT_NEAR


UNUSABLE = {
    "empty": ({"choices": []}, "the model named none of them."),
    "of others": (said(S7="whole", page="whole"), "the model named none of them."),
    "no answer": ("nothing of that kind", "no model could say"),
    "a refusal": (failure(Verdict.REFUSAL, "it refused", model="m"), "no model could say"),
    "an outage": (failure(Verdict.TRANSIENT, "it is down", model="m"), "no model could say"),
    "a cap": (BudgetError("The cap is reached.", hint="Raise it."), "The cap is reached."),
}


@pytest.mark.parametrize(("answer", "told"), UNUSABLE.values(), ids=UNUSABLE)
def test_without_an_answer_of_use_the_choice_of_code_stands_and_that_is_told(work, answer, told):
    _, read, journal, chosen = analysed(work, answer)
    assert chosen == CODE
    (limit,) = [x.message for x in journal.state.notices if x.message.startswith("2 sources were left")]
    assert told in limit
    assert read, "what code chose is read all the same"


NOBODY = {
    "by default": {"rules": ContentRules()},
    "where all is read": {"rules": ContentRules(model_triage=True, read_sections=False)},
    "without a doubt": {"texts": [ABOUT, ABOUT.replace("Locks", "Waits")]},
    "where a cap leaves no request for it": {"options": RunOptions(budget=Budget(max_model_calls=2))},
    "where the phase is done again": {"attempt": 1},
}


@pytest.mark.parametrize("more", NOBODY.values(), ids=NOBODY)
def test_no_model_is_asked(work, more):
    asked, read, _, chosen = analysed(work, said(S1="whole"), **more)
    assert asked == []
    assert {by for _, by in chosen} <= {"code"}
    assert "attempt" not in more or "".join(read).count("Title: ") == len(TEXTS)


def test_a_resumed_run_does_not_ask_again(work):
    _, (read,), journal, _ = analysed(work, said(S1="sections", S2="no"))
    later = MemoryJournal(state(), texts=TEXTS)
    asyncio.run(later.record(*[e for e in journal.events if isinstance(e, ReadingPlanned)]))
    model = of(said(S1="no", S2="no"))
    work(AnalysisPhase(LLMAnalyzer(ASKED)), later.state, model, journal=later, texts=TEXTS)
    (call,) = model.calls
    assert [*blocks(prompt(call)).values()] == [*blocks(read).values()]


def test_many_doubtful_sources_are_bounded_in_number_and_length(work):
    texts = [
        ABOUT,
        *(f"# Fleet {n}\n\n{'vessels ' * 2_000}{ships(n)}" for n in range(MAX_DOUBTFUL_SOURCES + 5)),
    ]
    (asked,), _, _, chosen = analysed(work, said(S1="sections"), texts=texts)
    assert len(blocks(asked)) == MAX_DOUBTFUL_SOURCES
    assert all(len(body) < MAX_PASSAGE_CHARS + 1_500 for body in blocks(asked).values())
    assert [by for _, by in chosen].count(BY) == 1


@pytest.mark.parametrize(("asks", "calls"), [(False, 4), (True, 3)])
def test_a_request_that_was_made_before_the_reading_is_one_less_for_it(work, asks, calls):
    """The share of the analysis has four requests of this run."""
    texts = [f"{ABOUT}\n\n{ANSWER} {n}.\n\n{(ANSWER + ' ') * 900}" for n in range(12)] + [FAR]
    options = RunOptions(budget=Budget(max_model_calls=9), max_iterations=1)
    rules = ContentRules(model_triage=asks)
    asked, _, journal, _ = analysed(work, said(S1="no"), texts=texts, rules=rules, options=options)
    assert len(asked) == asks
    assert len(journal.state.reading.portions) == calls
    assert journal.state.reading.cap == "max_model_calls"
