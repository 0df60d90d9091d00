"""How much of a source a model reads: all of it, the sections that speak of what is asked, or nothing."""

import json
import random

import pytest

from deep_research.budget.content_budget import ContentRules
from deep_research.evidence.relevance import Questions
from deep_research.phases.analysis import AnalysisPhase
from deep_research.phases.analysis.llm import LLMAnalyzer
from deep_research.phases.analysis.triage import excerpt, limits_of, look, triaged
from deep_research.state import (
    DeepResearchPhase,
    DeepResearchState,
    Extent,
    RunOptions,
    Source,
    Span,
    SubQuery,
    Triage,
)
from deep_research.state.events import ReadingPlanned
from deep_research.state.journal import Content
from deep_research.testing.models import ScriptedProvider
from deep_research.testing.prompt_reading import blocks

QUESTION = "How long does the server wait on a lock before it checks for a deadlock?"
ANSWER = "The server waits one second on a lock before it checks for a deadlock."
OF_SHIPS = "In the year {} many ships came into the harbour, and their crews went ashore. "


def filler(seed, sections=6):
    numbers = random.Random(seed)
    return "\n\n".join(
        f"## Harbour {seed}.{n}\n\n"
        + "".join(OF_SHIPS.format(numbers.randint(1500, 1900)) for _ in range(24))
        for n in range(sections)
    )


def long_text(seed=1):
    return f"# Manual\n\n{filler(seed)}\n\n## Locks\n\n{ANSWER}\n\n{filler(seed + 50)}"


LISTING = "\n".join(f"- lock {n}, Locks of tables, {n}" for n in range(80))
GERMAN = (
    "Der Turm steht auf einem Felsen im Meer, und der Wärter wohnt mit seiner Familie in dem Haus daneben. "
    * 40
)


def source(n, text, rank=1, **more):
    return Source(
        id=f"src-{n:012x}",
        sub_query_id="subq-a",
        title=f"Page {n}",
        url=f"https://example.org/{n}",
        rank=rank,
        content_hash=Content.of(text).hash,
        length=len(text),
        **more,
    )


def chosen(*texts, asked=(QUESTION,), rank=1, protected=frozenset(), rules=None):
    questions = Questions(asked)
    sources = [source(n, text, rank) for n, text in enumerate(texts)]
    held = {s.id: text for s, text in zip(sources, texts, strict=True)}
    looked = look(sources, held, questions, protected=protected)
    return triaged(looked, questions, rules or ContentRules())


@pytest.mark.parametrize(
    ("text", "extent", "because"),
    [
        (long_text(), Extent.SECTIONS, "speak of what is asked"),
        (ANSWER, Extent.WHOLE, "short"),
        ("\n\n".join(f"{ANSWER} Case {n}." for n in range(40)), Extent.WHOLE, "most of it"),
        (LISTING, Extent.NOTHING, "list of entries"),
        (filler(9), Extent.NOTHING, "comes near"),
        (GERMAN, Extent.WHOLE, "another language"),
    ],
    ids=["a long text", "a short one", "all to the point", "an index", "of something else", "in German"],
)
def test_a_source_is_read_as_far_as_it_speaks_of_what_is_asked(text, extent, because):
    made = chosen(long_text(3), text)[1]
    assert made.extent is extent
    assert because in made.because


def test_a_section_is_read_with_what_stands_around_it_and_its_headings():
    text = long_text()
    (made,) = chosen(text)
    read = excerpt(text, made)
    assert ANSWER in read
    assert "## Locks" in read
    assert read.startswith("# Manual")
    assert "[…]\n\n## Harbour 1.5\n\n[…]" in read
    assert len(read) < len(text) / 2


def test_each_search_and_part_finds_its_own_sections():
    text = f"{long_text()}\n\n## Vacuum\n\nTwo billion transactions may pass between two vacuums of a table."
    (alone,) = chosen(text)
    (both,) = chosen(text, asked=(QUESTION, "transactions between vacuums of a table"))
    assert "billion" not in excerpt(text, alone)
    assert "billion" in excerpt(text, both)
    assert ANSWER in excerpt(text, both)


def test_of_the_first_source_of_a_search_the_best_section_is_always_read():
    far = filler(9) + "\n\nA lock keeper of the canal was paid.\n\n" + filler(10)
    assert [t.extent for t in chosen(long_text(), far)] == [Extent.SECTIONS, Extent.NOTHING]
    assert [t.extent for t in chosen(long_text(), far, rank=0)] == [Extent.SECTIONS, Extent.SECTIONS]


def test_what_is_protected_is_read_whole():
    assert chosen(filler(9), protected=frozenset({"src-000000000000"}))[0].extent is Extent.WHOLE


def test_where_no_source_has_a_word_of_the_question_words_cannot_tell():
    assert [t.extent for t in chosen(filler(1), LISTING, asked=("Xyzzy plugh?",))] == [
        Extent.WHOLE,
        Extent.NOTHING,
    ]


def test_less_relevance_reads_more():
    sizes = [
        len(excerpt(long_text(), chosen(long_text(), rules=ContentRules(section_relevance=least))[0]))
        for least in (0.9, 0.45, 0.0)
    ]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def state(texts, **more):
    fields = {
        "query": QUESTION,
        "phase": DeepResearchPhase.ANALYSIS,
        "sub_queries": (SubQuery(id="subq-a", query="deadlock check wait"),),
        "sources": tuple(source(n, text) for n, text in enumerate(texts)),
        **more,
    }
    return DeepResearchState(**fields)


def quoting(call):
    """Quotes the answer from the sources that have it."""
    holding = [label for label, body in blocks(call.messages[-1].content).items() if ANSWER in body]
    return json.dumps(
        {
            "findings": [
                {
                    "content": ANSWER,
                    "source_ids": [label.removeprefix("source ")],
                    "quotes": [{"source_id": label.removeprefix("source "), "quote": ANSWER}],
                }
                for label in holding
                if label.startswith("source ")
            ]
        }
    )


TEXTS = [long_text(), filler(9), LISTING]


def analysed(work, **more):
    provider = ScriptedProvider(quoting)
    journal = work(AnalysisPhase(LLMAnalyzer()), state(TEXTS, **more), provider, texts=TEXTS)
    return provider, journal


def test_a_model_is_given_the_sections_and_quotes_are_looked_up_in_the_whole_text(work):
    provider, journal = analysed(work)
    prompt = provider.calls[0].messages[-1].content
    assert len(provider.calls) == 1
    assert ANSWER in prompt
    assert "[…]" in prompt
    assert "Automatic" not in prompt
    assert prompt.count("Title: ") == 1
    (quote,) = journal.state.findings[0].quotes
    assert TEXTS[0][quote.start : quote.end] == ANSWER


def test_the_choice_is_recorded_with_its_reasons_and_told(work):
    _, journal = analysed(work)
    (plan,) = [event.plan for event in journal.events if isinstance(event, ReadingPlanned)]
    assert [t.extent for t in plan.triage] == [Extent.SECTIONS, Extent.NOTHING, Extent.NOTHING]
    assert all(t.because and t.by == "code" for t in plan.triage)
    assert plan.triage[0].spans
    assert {s.id for s in journal.state.sources} == journal.state.analyzed
    (told,) = [limit.message for limit in journal.state.limits]
    assert told == (
        "Of 3 sources a model read 1 only in the sections that speak of what is asked; 1 not at all, since nothing"
        " in them comes near to it; 1 not at all, since they only list entries (read_sections)."
    )


@pytest.mark.parametrize(
    "more",
    [{"attempt": 1}, {"options": RunOptions(protected=("example.org",))}],
    ids=["when the phase is done again", "when its owner protects it"],
)
def test_all_is_read(work, more):
    provider, _ = analysed(work, **more)
    assert "".join(call.messages[-1].content for call in provider.calls).count("Title: ") == 3


def test_what_was_chosen_is_what_a_resumed_run_reads(work):
    first, journal = analysed(work)
    (planned,) = [event for event in journal.events if isinstance(event, ReadingPlanned)]
    span = Span(start=0, end=8)
    only = Triage(source_id=planned.plan.triage[0].source_id, extent=Extent.SECTIONS, spans=(span,))
    plan = planned.plan.model_copy(update={"triage": (only, *planned.plan.triage[1:])})
    again, _ = analysed(work, reading=plan)
    assert ANSWER in first.calls[0].messages[-1].content
    assert ANSWER not in again.calls[0].messages[-1].content


@pytest.mark.parametrize(
    ("triage", "told"),
    [
        ((), []),
        ((Triage(source_id="a", extent=Extent.WHOLE),), []),
        (
            (Triage(source_id="a", extent=Extent.SECTIONS),),
            [
                "Of 1 source of round 2 a model read 1 only in the sections that speak of what is asked"
                " (read_sections)."
            ],
        ),
    ],
)
def test_only_what_was_left_out_is_told(triage, told):
    assert [limit.message for limit in limits_of(triage, 2)] == told
