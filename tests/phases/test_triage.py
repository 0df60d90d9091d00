"""How much of a source a model reads: all of it, the sections that speak of what is asked, or nothing."""

import random

import pytest
from phases.builders import ANALYSIS, Model, at_analysis, finding, prompt, quoting, source
from prompt_reading import blocks

from deep_research.budget.content_budget import ContentRules
from deep_research.errors import ModelError
from deep_research.models.failures import Verdict, failure
from deep_research.phases.analysis import AnalysisPhase
from deep_research.phases.analysis.llm import LLMAnalyzer
from deep_research.phases.analysis.reading_choice import MAX_READ_ON_CHARS, MAX_SOURCES_READ_ON, look, triaged
from deep_research.phases.analysis.source_texts import excerpt
from deep_research.phases.base import WorkLimits
from deep_research.retrieval.ranking import Questions
from deep_research.state import ContextUsage, ReadDepth, RunOptions, SentItem, SourceTriage, Span, SubQuery
from deep_research.state.events import ReadingPlanned
from deep_research.state.journal import MemoryJournal

QUESTION = "How long does the server wait on a lock before it checks for a deadlock?"
ANSWER = "The server waits one second on a lock before it checks for a deadlock."
OF_SHIPS = "In the year {} many ships came into the harbour, and their crews went ashore. "
LISTING = "\n".join(f"- lock {n}, Locks of tables, {n}" for n in range(80))
GERMAN = (
    "Der Turm steht auf einem Felsen im Meer, und der Wärter wohnt mit seiner Familie in dem Haus daneben. "
)
SECTIONS, NOTHING, EVERYTHING = ReadDepth.SECTIONS, ReadDepth.NOTHING, ReadDepth.WHOLE


def filler(seed, sections=6):
    numbers = random.Random(seed)
    return "\n\n".join(
        f"## Harbour {seed}.{n}\n\n{''.join(OF_SHIPS.format(numbers.randint(1500, 1900)) for _ in range(24))}"
        for n in range(sections)
    )


def long_text(seed=1):
    return f"# Manual\n\n{filler(seed)}\n\n## Locks\n\n{ANSWER}\n\n{filler(seed + 50)}"


def chosen(*texts, asked=(QUESTION,), rank=1, protected=frozenset(), rules=None):
    questions = Questions(asked)
    sources = [source(n, text, rank=rank) for n, text in enumerate(texts)]
    held = {s.id: text for s, text in zip(sources, texts, strict=True)}
    looks = look(sources, held, questions, protected, {})
    return triaged(looks, questions, rules or ContentRules())[0]


EXTENTS = {
    "a long text": (long_text(), SECTIONS, "speak of what is asked"),
    "a short text": (ANSWER, EVERYTHING, "short"),
    "all to the point": ("\n\n".join(f"{ANSWER} Case {n}." for n in range(40)), EVERYTHING, "most of it"),
    "an index": (LISTING, NOTHING, "comes near"),
    "short data": ("\n".join(f"Lock {n}: waits {n} seconds" for n in range(9)), EVERYTHING, "short"),
    "of something else": (filler(9), NOTHING, "comes near"),
    "in German": (GERMAN * 40, EVERYTHING, "another language"),
}


@pytest.mark.parametrize(("text", "extent", "because"), EXTENTS.values(), ids=EXTENTS)
def test_a_source_is_read_as_far_as_it_speaks_of_what_is_asked(text, extent, because):
    made = chosen(long_text(3), text)[1]
    assert made.extent is extent
    assert because in made.because


def test_what_is_protected_and_what_words_cannot_tell_is_read_whole():
    assert chosen(filler(9), protected=frozenset({source(0).id}))[0].extent is EVERYTHING
    assert {t.extent for t in chosen(filler(1), LISTING, asked=("Xyzzy plugh?",))} == {EVERYTHING}


def test_a_section_is_read_with_what_stands_around_it_and_its_headings():
    read = excerpt(long_text(), chosen(long_text())[0])
    assert ANSWER in read
    assert "## Locks" in read
    assert read.startswith("# Manual")
    assert "[…]\n\n## Harbour 1.5\n\n[…]" in read
    assert len(read) < len(long_text()) / 2


def test_each_search_and_part_finds_its_own_sections():
    text = f"{long_text()}\n\n## Vacuum\n\nTwo billion transactions may pass between two vacuums of a table."
    (alone,) = chosen(text)
    (both,) = chosen(text, asked=(QUESTION, "transactions between vacuums of a table"))
    assert "billion" not in excerpt(text, alone)
    assert "billion" in excerpt(text, both)
    assert ANSWER in excerpt(text, both)


def test_of_the_first_source_something_is_read_and_less_relevance_reads_more():
    far = filler(9) + "\n\nA lock keeper of the canal was paid.\n\n" + filler(10)
    assert [t.extent for t in chosen(long_text(), far)] == [SECTIONS, NOTHING]
    assert [t.extent for t in chosen(long_text(), far, rank=0)] == [SECTIONS, SECTIONS]
    rules = [ContentRules(section_relevance=least) for least in (0.9, 0.45, 0.0)]
    sizes = [len(excerpt(long_text(), chosen(long_text(), rules=each)[0])) for each in rules]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


# In a run

VACUUM = "Two billion transactions may pass between two vacuums of a table before the server stops."
TEXTS = [long_text(), filler(9), LISTING]


def answering(call):
    """Quotes whichever of the two answers the sources have."""
    held = {
        name.removeprefix("source "): body for name, body in blocks(prompt(call)).items() if "source" in name
    }
    return {
        "findings": [
            quoting(n, said) for n, body in held.items() for said in (ANSWER, VACUUM) if said in body
        ]
    }


def read(work, state, texts):
    """The prompts of the readings, and the journal."""
    model = Model(Reading=answering)
    journal = work(AnalysisPhase(LLMAnalyzer()), state, model, texts=texts)
    return model.prompts("Reading"), journal


def state(texts, **more):
    query = SubQuery(id="subq-a", query="deadlock check wait")
    sources = tuple(source(n, text, rank=1) for n, text in enumerate(texts))
    return at_analysis(QUESTION, texts, **{"sub_queries": (query,), "sources": sources, **more})


def messages(journal):
    return [notice.message for notice in journal.state.notices]


def test_a_model_is_given_the_sections_and_the_choice_is_recorded_and_told(work):
    (said,), journal = read(work, state(TEXTS), TEXTS)
    assert ANSWER in said
    assert "[…]" in said
    assert said.count("Title: ") == 1
    (quote,) = journal.state.findings[0].quotes  # it is looked up in the whole text
    assert TEXTS[0][quote.start : quote.end] == ANSWER
    (plan,) = [event.plan for event in journal.events if isinstance(event, ReadingPlanned)]
    assert [t.extent for t in plan.triage] == [SECTIONS, NOTHING, NOTHING]
    assert all(t.because and t.by == "code" for t in plan.triage)
    assert {s.id for s in journal.state.sources} == journal.state.analyzed
    assert messages(journal) == [
        "Of 3 sources a model read 1 only in the sections that speak of what is asked; 2 not at all, since nothing"
        " in them comes near to it (reading.sections)."
    ]


@pytest.mark.parametrize(
    "more",
    [{"attempt": 1}, {"options": RunOptions(protected_sources=("example.org",))}],
    ids=["done again", "protected"],
)
def test_all_is_read(work, more):
    assert "".join(read(work, state(TEXTS, **more), TEXTS)[0]).count("Title: ") == 3


def test_what_was_chosen_is_what_a_resumed_run_reads(work):
    plan = read(work, state(TEXTS), TEXTS)[1].state.reading
    span = Span(start=0, end=8)
    only = SourceTriage(source_id=plan.triage[0].source_id, extent=SECTIONS, spans=(span,))
    plan = plan.model_copy(update={"triage": (only, *plan.triage[1:])})
    assert ANSWER not in read(work, state(TEXTS, reading=plan), TEXTS)[0][0]


# Sources of earlier rounds, read on


def manual(seed=1, more=f"## Vacuum\n\n{VACUUM}"):
    return f"{long_text(seed)}\n\n{more}\n\n{filler(seed + 90)}"


def second_round(texts, *, found=None, extents=None, fresh=(), **more):
    """A state in which all ``texts`` were triaged and read in round 1, and those of the places ``found`` were found again
    by the search of round 2, beside ``fresh`` ones."""
    sources = [source(n).id for n in range(len(texts) + len(fresh))]
    known = {t.source_id: t.spans for t in chosen(*texts) if t.extent is not EVERYTHING}
    again = tuple(s for n, s in enumerate(sources) if found is None or n in found or n >= len(texts))
    search = "How many transactions may pass between two vacuums of a table?"
    later = SubQuery(id="subq-b", query=search, iteration=2, index=1, source_ids=again)
    fields = {
        "iteration": 2,
        "analyzed": frozenset(sources[: len(texts)]),
        "sections_read": known if extents is None else extents,
        "sub_queries": (SubQuery(id="subq-a", query="deadlock check wait"), later),
    }
    return state([*texts, *fresh], **fields, **more)


def read_again(work, texts, fresh=(), **more):
    return read(work, second_round(texts, fresh=fresh, **more), [*texts, *fresh])


def test_a_later_round_reads_the_sections_of_a_known_source_that_its_search_asks_for(work):
    (said,), journal = read_again(work, [manual()])
    assert VACUUM in said
    assert "## Vacuum" in said
    assert ANSWER not in said  # it was read in the first round
    (quote,) = journal.state.findings[0].quotes
    assert manual()[quote.start : quote.end] == quote.quote == VACUUM
    (made,) = journal.state.reading.triage
    assert made.further
    assert "found it again" in made.because
    ((name, spans),) = journal.state.sections_read.items()
    assert spans == (*second_round([manual()]).sections_read[name], *made.spans)
    told = "Of 1 source of earlier rounds a model read further sections in round 2 (reading.sections)."
    assert messages(journal) == [told]


def test_no_section_is_read_twice_however_many_rounds_ask_for_it(work):
    texts, held = [excerpt(manual(), chosen(manual())[0])], second_round([manual()])
    for _ in range(3):
        prompts, journal = read(work, held, [manual()])
        texts += prompts
        held = second_round([manual()], extents=journal.state.sections_read)
    assert len(texts) == 2
    assert [sum(said in text for text in texts) for said in (ANSWER, VACUUM)] == [1, 1]


@pytest.mark.parametrize(
    "more", [{"found": ()}, {"extents": {}}, {"attempt": 1}], ids=["not found", "whole", "again"]
)
def test_a_known_source_is_not_read_on(work, more):
    prompts, journal = read_again(work, [manual()], **more)
    assert prompts == []
    assert not journal.state.notices


def test_of_a_source_of_which_nothing_was_read_the_section_that_is_wanted_now_is(work):
    far = f"{filler(7)}\n\n## Vacuum\n\n{VACUUM}\n\n{filler(8)}"
    assert [t.extent for t in chosen(long_text(), far)] == [SECTIONS, NOTHING]
    (said,), journal = read_again(work, [long_text(), far])
    assert VACUUM in said
    assert len(said) < len(far) / 2
    assert journal.state.findings


def test_new_sources_are_read_beside_it_as_without_it(work):
    fresh = f"{filler(20)}\n\n## Transactions\n\n{VACUUM.replace('Two', 'Three')}\n\n{filler(21)}"
    (with_it,), journal = read_again(work, [manual()], fresh=[fresh])
    (without,), alone = read_again(work, [manual()], fresh=[fresh], extents={})
    assert VACUUM in with_it
    assert VACUUM not in without
    assert journal.state.reading.triage[:1] == alone.state.reading.triage
    assert journal.state.analyzed == {s.id for s in journal.state.sources}


def test_so_many_sources_are_read_on_at_most_and_so_much_of_one(work):
    texts = [manual(n, f"## Vacuum {n}\n\n{VACUUM}") for n in range(1, 10)]
    plan = read_again(work, texts)[1].state.reading
    assert len(plan.triage) == MAX_SOURCES_READ_ON == 5
    assert {i for portion in plan.portions for i in portion.source_ids} == plan.read_on
    ships = OF_SHIPS.format(1700) * 9
    more = "\n\n".join(f"## Vacuum {n}\n\n{VACUUM} {ships}\n\n{filler(n + 200, 1)}" for n in range(40))
    (made,) = read_again(work, [manual(1, more)])[1].state.reading.triage
    part = excerpt(manual(1, more), made)
    assert 1 <= part.count(VACUUM) < more.count(VACUUM)
    assert len(part) < 4 * MAX_READ_ON_CHARS  # with one passage on each side of each


def test_fidelity_counts_what_was_read_of_a_source_in_all_rounds(work):
    first = SentItem(id=source(0).id, original_tokens=400, current_tokens=400)
    sent = {ANALYSIS: ContextUsage(items=(first,), available=1_000)}
    (item,) = read_again(work, [manual()], context_usage=sent)[1].state.context_usage[ANALYSIS].items
    assert item.original_tokens == item.current_tokens > 400


@pytest.mark.parametrize("portions", [1, 2])
def test_a_run_that_was_killed_while_it_read_on_reads_what_remains_once(work, portions):
    """The unit that was recorded is not done again, and what readings have in common is asked for as without a kill."""
    texts = [manual(n, f"## Vacuum {n}\n\n{VACUUM}") for n in range(1, 1 + portions)]
    agent = LLMAnalyzer()
    agent.call_tokens = 10  # a source in a call
    phase = AnalysisPhase(agent, limits=WorkLimits(max_concurrent=1))
    held = second_round(texts, findings=(finding(1, ANSWER, source_ids=(source(0).id,)),))
    park = failure(Verdict.PARK, "come back tomorrow", model="m", retry_after=9_000)

    def attempt(journal, asked, fails_at=0):
        def answer(call):
            asked.append(call.form.name)
            return park if len(asked) == fails_at else answering(call) if call.form.name == "Reading" else {}

        work(phase, None, Model(Reading=answer, Merge=answer), journal=journal)

    whole = []
    attempt(MemoryJournal(held, texts=texts), whole)
    assert whole == ["Reading"] * portions + ["Merge"]
    for fails_at in range(1, len(whole) + 1):
        journal, asked = MemoryJournal(held, texts=texts), []
        with pytest.raises(ModelError, match="tomorrow"):
            attempt(journal, asked, fails_at)
        attempt(journal, asked)
        assert asked[: fails_at - 1] + asked[fails_at:] == whole
        assert len(journal.state.findings) == 2
