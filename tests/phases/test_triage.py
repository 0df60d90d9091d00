"""How much of a source a model reads: all of it, the sections that speak of what is asked, or nothing."""

import json
import random

import pytest
from prompt_reading import blocks

from deep_research.budget.content_budget import ContentRules
from deep_research.errors import ModelError
from deep_research.models.failures import Verdict, failure
from deep_research.phases.analysis import AnalysisPhase
from deep_research.phases.analysis.llm import LLMAnalyzer
from deep_research.phases.analysis.source_texts import excerpt
from deep_research.phases.analysis.triage import (
    LONGEST_READ_ON,
    MOST_READ_ON,
    look,
    notices_of,
    triaged,
)
from deep_research.phases.base import WorkLimits
from deep_research.retrieval.ranking import Questions
from deep_research.state import (
    ConfidenceLevel,
    ContextUsage,
    DeepResearchPhase,
    DeepResearchState,
    Finding,
    ReadDepth,
    RunOptions,
    SentItem,
    Source,
    SourceTriage,
    Span,
    SubQuery,
)
from deep_research.state.events import ReadingPlanned
from deep_research.state.journal import Content, MemoryJournal
from deep_research.testing.models import ScriptedProvider

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
        (long_text(), ReadDepth.SECTIONS, "speak of what is asked"),
        (ANSWER, ReadDepth.WHOLE, "short"),
        ("\n\n".join(f"{ANSWER} Case {n}." for n in range(40)), ReadDepth.WHOLE, "most of it"),
        (LISTING, ReadDepth.NOTHING, "comes near"),
        ("\n".join(f"Lock {n}: waits {n} seconds" for n in range(9)), ReadDepth.WHOLE, "short"),
        (filler(9), ReadDepth.NOTHING, "comes near"),
        (GERMAN, ReadDepth.WHOLE, "another language"),
    ],
    ids=[
        "a long text",
        "a short text",
        "all to the point",
        "an index",
        "short data",
        "of something else",
        "in German",
    ],
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
    assert [t.extent for t in chosen(long_text(), far)] == [ReadDepth.SECTIONS, ReadDepth.NOTHING]
    assert [t.extent for t in chosen(long_text(), far, rank=0)] == [ReadDepth.SECTIONS, ReadDepth.SECTIONS]


def test_what_is_protected_is_read_whole():
    assert chosen(filler(9), protected=frozenset({"src-000000000000"}))[0].extent is ReadDepth.WHOLE


def test_where_no_source_has_a_word_of_the_question_words_cannot_tell():
    assert {t.extent for t in chosen(filler(1), LISTING, asked=("Xyzzy plugh?",))} == {ReadDepth.WHOLE}


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
    assert [t.extent for t in plan.triage] == [ReadDepth.SECTIONS, ReadDepth.NOTHING, ReadDepth.NOTHING]
    assert all(t.because and t.by == "code" for t in plan.triage)
    assert plan.triage[0].spans
    assert {s.id for s in journal.state.sources} == journal.state.analyzed
    (told,) = [notice.message for notice in journal.state.notices]
    assert told == (
        "Of 3 sources a model read 1 only in the sections that speak of what is asked; 2 not at all, since nothing"
        " in them comes near to it (read_sections)."
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
    only = SourceTriage(source_id=planned.plan.triage[0].source_id, extent=ReadDepth.SECTIONS, spans=(span,))
    plan = planned.plan.model_copy(update={"triage": (only, *planned.plan.triage[1:])})
    again, _ = analysed(work, reading=plan)
    assert ANSWER in first.calls[0].messages[-1].content
    assert ANSWER not in again.calls[0].messages[-1].content


@pytest.mark.parametrize(
    ("triage", "told"),
    [
        ((), []),
        ((SourceTriage(source_id="a", extent=ReadDepth.WHOLE),), []),
        (
            (SourceTriage(source_id="a", extent=ReadDepth.SECTIONS),),
            [
                "Of 1 source of round 2 a model read 1 only in the sections that speak of what is asked"
                " (read_sections)."
            ],
        ),
    ],
)
def test_only_what_was_left_out_is_told(triage, told):
    assert [notice.message for notice in notices_of(triage, 2)] == told


# Sources of earlier rounds, read on


VACUUM = "Two billion transactions may pass between two vacuums of a table before the server stops."
SEARCH = "How many transactions may pass between two vacuums of a table?"


def manual(seed=1, more=f"## Vacuum\n\n{VACUUM}"):
    return f"{long_text(seed)}\n\n{more}\n\n{filler(seed + 90)}"


def second_round(texts, *, found=None, extents=None, fresh=(), **more):
    """A state in which all ``texts`` were triaged and read in round 1, and those of the places ``found`` were found again
    by the search of round 2, beside ``fresh`` ones."""
    every = [*texts, *fresh]
    sources = tuple(source(n, text) for n, text in enumerate(every))
    before = chosen(*texts)
    known = {t.source_id: t.spans for t in before if t.extent is not ReadDepth.WHOLE}
    again = tuple(s.id for n, s in enumerate(sources) if found is None or n in found or n >= len(texts))
    return state(
        every,
        iteration=2,
        analyzed=frozenset(s.id for s in sources[: len(texts)]),
        sections_read=known if extents is None else extents,
        sub_queries=(
            SubQuery(id="subq-a", query="deadlock check wait"),
            SubQuery(id="subq-b", query=SEARCH, iteration=2, index=1, source_ids=again),
        ),
        **more,
    )


def answering(call):
    """Quotes whichever of the two answers the sources have."""
    findings = [
        {
            "content": said,
            "source_ids": [label.removeprefix("source ")],
            "quotes": [{"source_id": label.removeprefix("source "), "quote": said}],
        }
        for label, body in blocks(call.messages[-1].content).items()
        for said in (ANSWER, VACUUM)
        if label.startswith("source ") and said in body
    ]
    return {"findings": findings} if call.form.name == "Reading" else {}


def read_again(work, texts, fresh=(), provider=None, **more):
    provider = provider or ScriptedProvider(lambda call: json.dumps(answering(call)))
    before = second_round(texts, fresh=fresh, **more)
    journal = work(AnalysisPhase(LLMAnalyzer()), before, provider, texts=[*texts, *fresh])
    prompts = [c.messages[-1].content for c in provider.calls if c.form.name == "Reading"]
    return prompts, before, journal


def test_a_later_round_reads_the_sections_of_a_known_source_that_its_search_asks_for(work):
    prompts, before, journal = read_again(work, [manual()])
    assert len(prompts) == 1
    assert VACUUM in prompts[0]
    assert "## Vacuum" in prompts[0]
    assert ANSWER not in prompts[0]  # it was read in the first round
    (finding,) = journal.state.findings
    assert [q.quote for q in finding.quotes] == [VACUUM]
    (quote,) = finding.quotes
    assert manual()[quote.start : quote.end] == VACUUM
    (chosen_now,) = journal.state.reading.triage
    assert chosen_now.further
    assert "found it again" in chosen_now.because
    (name, read) = next(iter(journal.state.sections_read.items()))
    assert read == (*before.sections_read[name], *chosen_now.spans)
    assert [notice.message for notice in journal.state.notices] == [
        "Of 1 source of earlier rounds a model read further sections in round 2 (read_sections)."
    ]


def test_no_section_is_read_twice_however_many_rounds_ask_for_it(work):
    (first,) = chosen(manual())
    read = [excerpt(manual(), first)]
    held = second_round([manual()])
    for _ in range(3):
        provider = ScriptedProvider(lambda call: json.dumps(answering(call)))
        journal = work(AnalysisPhase(LLMAnalyzer()), held, provider, texts=[manual()])
        read += [c.messages[-1].content for c in provider.calls if c.form.name == "Reading"]
        held = second_round([manual()], extents=journal.state.sections_read)
    assert len(read) == 2
    assert [sum(said in text for text in read) for said in (ANSWER, VACUUM)] == [1, 1]


@pytest.mark.parametrize(
    "more",
    [
        {"found": ()},
        {"extents": {}},
        {"attempt": 1},
    ],
    ids=["not found again", "read whole", "the phase is done again"],
)
def test_a_known_source_is_not_read_on(work, more):
    prompts, _, journal = read_again(work, [manual()], **more)
    assert prompts == []
    assert not journal.state.notices


def test_of_a_source_of_which_nothing_was_read_the_section_that_is_wanted_now_is(work):
    far = f"{filler(7)}\n\n## Vacuum\n\n{VACUUM}\n\n{filler(8)}"
    assert [t.extent for t in chosen(long_text(), far)] == [ReadDepth.SECTIONS, ReadDepth.NOTHING]
    prompts, _, journal = read_again(work, [long_text(), far])
    assert len(prompts) == 1
    assert VACUUM in prompts[0]
    assert len(prompts[0]) < len(far) / 2
    assert journal.state.findings


def test_new_sources_are_read_beside_it_as_without_it(work):
    fresh = f"{filler(20)}\n\n## Transactions\n\n{VACUUM.replace('Two', 'Three')}\n\n{filler(21)}"
    with_it, _, journal = read_again(work, [manual()], fresh=[fresh])
    without, _, alone = read_again(work, [manual()], fresh=[fresh], extents={})
    assert len(with_it) == len(without) == 1
    assert VACUUM in with_it[0]
    assert VACUUM not in without[0]
    assert journal.state.reading.triage[:1] == alone.state.reading.triage
    assert journal.state.analyzed == {s.id for s in journal.state.sources}


def test_so_many_sources_are_read_on_at_most_those_that_come_nearest(work):
    texts = [manual(n, f"## Vacuum {n}\n\n{VACUUM}") for n in range(1, 10)]
    _, _, journal = read_again(work, texts)
    plan = journal.state.reading
    assert len(plan.triage) == MOST_READ_ON == 5
    assert {i for portion in plan.portions for i in portion.source_ids} == plan.read_on


def test_of_one_source_so_much_is_read_on_at_most(work):
    ships = OF_SHIPS.format(1700) * 9
    more = "\n\n".join(f"## Vacuum {n}\n\n{VACUUM} {ships}\n\n{filler(n + 200, 1)}" for n in range(40))
    _, _, journal = read_again(work, [manual(1, more)])
    (made,) = journal.state.reading.triage
    wanted = more.count(VACUUM)
    read = excerpt(manual(1, more), made)
    assert 1 <= read.count(VACUUM) < wanted
    assert len(read) < 4 * LONGEST_READ_ON  # with one passage on each side of each


def test_fidelity_counts_what_was_read_of_a_source_in_all_rounds(work):
    texts = [manual()]
    first = ContextUsage(
        items=(SentItem(id="src-000000000000", original_tokens=400, current_tokens=400),), available=1_000
    )
    _, _, journal = read_again(work, texts, context_usage={DeepResearchPhase.ANALYSIS: first})
    (item,) = journal.state.context_usage[DeepResearchPhase.ANALYSIS].items
    assert item.original_tokens == item.current_tokens > 400


KNOWN = Finding(
    id="find-000000000001",
    content=ANSWER,
    confidence=ConfidenceLevel.MEDIUM,
    source_ids=("src-000000000000",),
)


@pytest.mark.parametrize("portions", [1, 2])
def test_a_run_that_was_killed_while_it_read_on_reads_what_remains_once(work, portions):
    """The unit that was recorded is not done again, and what readings have in common is asked for as without a kill."""
    texts = [manual(n, f"## Vacuum {n}\n\n{VACUUM}") for n in range(1, 1 + portions)]
    agent = LLMAnalyzer()
    agent.call_tokens = 10  # a source in a call
    phase = AnalysisPhase(agent, limits=WorkLimits(max_concurrent=1))
    asked = []

    def reading_then(fails_at):
        def answer(call):
            asked.append(call.form.name)
            if len(asked) == fails_at:
                return failure(Verdict.PARK, "come back tomorrow", model="m", retry_after=9_000)
            return json.dumps(answering(call))

        return ScriptedProvider(answer)

    held = second_round(texts, findings=(KNOWN,))
    journal = MemoryJournal(held, texts=texts)
    work(phase, None, reading_then(0), journal=journal)
    whole, asked = asked, []
    assert whole.count("Reading") == portions
    assert whole[-1] == "Merge"
    for fails_at in range(1, len(whole) + 1):
        journal = MemoryJournal(held, texts=texts)
        with pytest.raises(ModelError, match="tomorrow"):
            work(phase, None, reading_then(fails_at), journal=journal)
        work(phase, None, reading_then(0), journal=journal)
        assert asked[: fails_at - 1] + asked[fails_at:] == whole
        assert len(journal.state.findings) == 2
        asked = []
