"""ANALYSIS with a model and more text than it reads: what is handed on, what is told of it, what is kept, and what a kill
costs."""

import asyncio
import json
from datetime import UTC, date, datetime

import pytest
from phases.builders import ANALYSIS, at_analysis, prompt, source
from prompt_reading import blocks, reading

from deep_research.budget.archive import Archive
from deep_research.budget.content_budget import ContentRules
from deep_research.budget.fidelity import RunFidelity
from deep_research.budget.tokens import Counter
from deep_research.errors import ModelError, StoreFullError, StoreReadOnlyError, WorkError
from deep_research.models.failures import Verdict, failure
from deep_research.phases.analysis import AnalysisPhase, ExtractiveAnalyzer
from deep_research.phases.analysis.llm import CALL_TOKENS, LLMAnalyzer
from deep_research.phases.base import WorkLimits
from deep_research.phases.content_archiving import Original, keep
from deep_research.phases.summarizing import Choices, Summarizer
from deep_research.state import ModelRole, RunOptions, SentItem, SourceQuality
from deep_research.testing import MemoryJournal
from deep_research.testing.models import ScriptedModel, ScriptedProvider

COUNT = Counter().expected
LOW = {"quality": SourceQuality.LOW}
PARK = failure(Verdict.PARK, "come back tomorrow", model="m", retry_after=9_000)


def text_of(n, sentences):
    """Many sentences, no two alike, of which one in the middle answers."""
    lines = [
        f"In the year {1700 + k} the harbour of town {n} saw {k * 7} ships come." for k in range(sentences)
    ]
    lines.insert(
        sentences // 2, f"The tower number {n} on the reef was built by keeper Mole{n} in {1800 + n}."
    )
    return " ".join(lines)


TWENTY = [text_of(n, 200) for n in range(20)]


def state(texts, more=None, **options):
    known = ({"relevance": 0.9 - n / 100, **((more or {}).get(n) or {})} for n in range(len(texts)))
    sources = tuple(
        source(n, text, **fields) for n, (text, fields) in enumerate(zip(texts, known, strict=True))
    )
    created = datetime(2026, 1, 1, tzinfo=UTC)
    return at_analysis(
        "Who built the towers on the reef?",
        texts,
        sources=sources,
        options=RunOptions(**options),
        created_at=created,
    )


class Reader(ScriptedProvider):
    """Answers as the prompts want; ``broken`` is raised where it has to choose, and at the request ``fails_at`` it gives
    up. Of what it reads it calls every other source worthless."""

    def __init__(self, broken=None, model="model-1", fails_at=None):
        super().__init__(self.answer, model=model)
        self.broken, self.fails_at = broken, fails_at

    def answer(self, call):
        if len(self.calls) == self.fails_at:
            return PARK
        if self.broken is not None and "keep" in call.form.json_schema["properties"]:
            return self.broken
        said = json.loads(reading(prompt(call), call.form.json_schema))
        for n, opinion in enumerate(said.get("quality_updates", ())):
            opinion["quality"] = "low" if n % 2 else "high"
        return said

    def shown(self):
        """What was handed on of each source, by the number of its page."""
        bodies = [
            body for call in self.calls for k, body in blocks(prompt(call)).items() if k.startswith("source ")
        ]
        return {
            int(b.partition("\n")[0].removeprefix("Title: Page ")): b.partition("\n\n")[2] for b in bodies
        }


def analyzer(tokens, *, summarizer=None, archive=None, abreast=4, **rules):
    agent = LLMAnalyzer(ContentRules(reading_tokens=tokens, read_sections=False, **rules))
    return AnalysisPhase(
        agent, limits=WorkLimits(archive=archive, max_concurrent=abreast), summarizer=summarizer
    )


def read(work, texts, phase, *, more=None, provider=None, options=None, **fields):
    provider, journal = (
        provider or Reader(),
        MemoryJournal(state(texts, more, **(options or {})), texts=texts),
    )
    work(phase, None, provider, journal=journal, **fields)
    return provider, journal


def sent(journal):
    return {int(i.id.removeprefix("src-"), 16): i for i in journal.state.context_usage[ANALYSIS].items}


def notices(journal, name):
    return [notice for notice in journal.state.notices if notice.name == name]


def test_what_fits_is_read_whole_and_told_so(work):
    texts = [text_of(0, 2_500), *(text_of(n, 40) for n in range(1, 4))]
    assert COUNT(texts[0]) > CALL_TOKENS
    provider, journal = read(work, texts, analyzer(100_000))
    assert provider.shown() == dict(enumerate(texts))
    assert [c.form.name for c in provider.calls].count(
        "Reading"
    ) == 2  # one that is larger than a call by itself
    totals = RunFidelity.of(journal.state.context_usage).content_allocation_metadata
    assert (totals.fidelity, totals.items_summarized, totals.items_dropped) == (1.0, 0, 0)


def test_more_than_is_read_is_condensed_to_what_bears_on_the_question_and_that_is_told(work):
    assert sum(map(COUNT, TWENTY)) > 60_000
    provider, journal = read(work, TWENTY, analyzer(20_000))
    shown, told = provider.shown(), sent(journal)
    assert sum(map(COUNT, shown.values())) <= 20_000
    # Something of each, and of each what answers; nothing is cut in silence.
    assert len(shown) == len(journal.state.findings) == 20
    assert all(f"built by keeper Mole{n}" in shown[n] for n in range(20))
    assert all("[…]" in text for n, text in shown.items() if text != TWENTY[n])
    for n, text in enumerate(TWENTY):
        assert told[n].original_tokens == COUNT(text)
        assert told[n].current_tokens == pytest.approx(COUNT(shown[n]), rel=0.01, abs=2)
    totals = RunFidelity.of(journal.state.context_usage).content_allocation_metadata
    share = sum(map(COUNT, shown.values())) / sum(map(COUNT, TWENTY))
    assert totals.fidelity == pytest.approx(share, rel=0.01)
    assert totals.utilization >= 0.9
    assert totals.tokens_available <= 20_000


def test_the_best_by_what_is_known_of_them_keep_most(work):
    old = {"published": date(1990, 1, 1), **LOW}
    new = {"published": date(2025, 12, 1), "quality": SourceQuality.HIGH}
    _, journal = read(work, TWENTY, analyzer(20_000), more={n: new if n % 4 == 3 else old for n in range(20)})
    kept = [item.current_tokens / item.original_tokens for _, item in sorted(sent(journal).items())]
    assert min(kept[3::4]) >= 0.29
    assert max(kept[n] for n in range(20) if n % 4 != 3) < min(kept[3::4])


def test_where_dropping_is_allowed_what_matters_least_is_left_out_and_listed_but_never_what_is_protected(
    work,
):
    low = {"relevance": 0.0, "url": "https://kept.example/a", **LOW}
    options = {"protected_sources": ("kept.example",)}
    phase = analyzer(10_000, allow_dropping=True)
    _, journal = read(work, TWENTY, phase, more={19: low}, options=options)
    left = [n for n, item in sent(journal).items() if not item.current_tokens]
    assert left
    (notice,) = [x for x in notices(journal, "window") if x.skipped]
    assert set(notice.skipped) == {f"https://example.org/{n}" for n in left}
    assert str(len(left)) in notice.message
    assert journal.state.analyzed == {s.id for s in journal.state.sources}
    assert sent(journal)[19].current_tokens >= 0.1 * sent(journal)[19].original_tokens


def test_where_not_even_a_sentence_of_each_fits_something_is_left_out_all_the_same_and_told(work):
    _, journal = read(work, [text_of(n, 100) for n in range(120)], analyzer(2_000))
    assert any(not item.current_tokens for item in sent(journal).values())
    assert any("were not read at all" in x.message for x in journal.state.notices)


def test_where_nothing_is_managed_sources_are_handed_on_whole(work):
    assert read(work, TWENTY, analyzer(1_000, enabled=False))[0].shown() == dict(enumerate(TWENTY))


def test_what_texts_were_found_to_take_is_what_the_next_phase_expects(work):
    first = state(TWENTY).model_copy(update={"bytes_a_token": {"scripted:model-1": 5.0}})
    journal, provider = MemoryJournal(first, texts=TWENTY), Reader()
    work(analyzer(20_000), None, provider, journal=journal)
    shown = sum(len(text.encode()) for text in provider.shown().values())
    assert shown == pytest.approx(20_000 * 4.5, rel=0.1)
    row = journal.state.usage.models[0]
    assert row.measured_bytes / row.measured_tokens == pytest.approx(4.0, rel=0.1)


# A model that chooses


def summarized(work, *choosers):
    phase = analyzer(20_000, summarizer=Summarizer())
    return read(work, TWENTY, phase, by_role={ModelRole.SUMMARIZER: choosers})


def test_the_model_of_that_role_chooses_what_is_kept_word_for_word(work):
    chooser = Reader(model="chooser")
    provider, journal = summarized(work, chooser)
    assert chooser.calls
    assert not [c for c in provider.calls if "keep" in c.form.json_schema["properties"]]
    for n, text in provider.shown().items():
        assert all(piece.strip() in TWENTY[n] for piece in text.split("[…]"))
        assert f"built by keeper Mole{n}" in text
    assert "summarizer" in {row.role for row in journal.state.usage.models}


def test_where_it_fails_the_next_of_its_chain_is_asked_and_then_none_and_that_is_told(work):
    second = Reader(model="second")
    refusal = failure(Verdict.REFUSAL, "no", model="m")
    _, journal = summarized(work, Reader(refusal, "first"), second)
    assert second.calls
    assert not notices(journal, "summarizer")
    chooser = Reader(PARK, "chooser")
    _, journal = summarized(work, chooser)
    assert len(journal.state.findings) == 20
    assert len(chooser.calls) < 20
    (message,) = {x.message for x in notices(journal, "summarizer")}
    assert "without a model" in message


def condensed(summarizer, model, text="", size=500):
    text, query = text or text_of(1, 300), "Who built the towers on the reef?"
    return asyncio.run(summarizer.condensed(text, size, query=query, counter=Counter(), model=model))


def choosing(call, wanted):
    return json.loads(reading(prompt(call), wanted.model_json_schema()))


def test_a_long_text_is_chosen_from_in_parts_side_by_side_and_once_more_from_what_was_chosen():
    waiting, most, release = 0, 0, asyncio.Event()

    async def answer(call, wanted):
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        if most > 1:
            release.set()
        await release.wait()
        waiting -= 1
        return choosing(call, wanted)

    model = ScriptedModel(answer)
    made = condensed(Summarizer(), model, text_of(7, 4_000))
    assert len(model.calls) > 3
    assert most > 1
    assert COUNT(made) <= 500
    assert "built by keeper Mole7" in made
    assert "built by keeper Mole7" in prompt(model.calls[-1][0])


@pytest.mark.parametrize(
    ("remembers", "sizes", "calls"), [(True, (500, 500), 1), (False, (500, 500), 2), (True, (500, 400), 2)]
)
def test_the_same_is_chosen_once_where_choices_are_remembered(remembers, sizes, calls):
    model, summarizer = ScriptedModel(choosing), Summarizer(choices=Choices() if remembers else None)
    one, other = (condensed(summarizer, model, size=size) for size in sizes)
    assert (one == other) is (len(set(sizes)) == 1)
    assert len(model.calls) == calls


@pytest.mark.timed
@pytest.mark.parametrize(
    "keep", [None, [], [0, -3, 10_000]], ids=["too late", "nothing", "what is not there"]
)
def test_a_choice_that_comes_too_late_or_of_nothing_that_was_given_is_none(keep):
    async def answer(call, wanted):
        if keep is None:
            await asyncio.Event().wait()
        return {"keep": keep}

    with pytest.raises(WorkError, match="no choice within" if keep is None else "nothing was chosen"):
        condensed(Summarizer(timeout=0.01 if keep is None else 60), ScriptedModel(answer))


# The archive


def archived(folder):
    return Archive(folder, 168, lambda: datetime(2026, 1, 1, tzinfo=UTC))


def test_originals_of_what_was_dropped_or_cut_to_a_fifth_are_kept_and_the_state_has_their_hashes(
    work, tmp_path
):
    archive = archived(tmp_path / "archive")
    _, journal = read(work, TWENTY, analyzer(10_000, archive=archive, allow_dropping=True))
    hashes, told = journal.state.context_usage[ANALYSIS].archived, sent(journal)
    assert set(hashes) == {i.id for i in told.values() if i.current_tokens * 5 <= i.original_tokens}
    for source_id, content_hash in hashes.items():
        record, number = archive.get(content_hash), int(source_id.removeprefix("src-"), 16)
        assert (record.content, record.item_id, record.item_type) == (TWENTY[number], source_id, "source")
        assert record.metadata == {"title": f"Page {number}", "url": f"https://example.org/{number}"}
        assert record.archive_reason == ("compressed" if told[number].current_tokens else "dropped")


class Failing:
    def __init__(self, error):
        self.error = error

    def save(self, *_, **__):
        raise self.error


@pytest.mark.parametrize(
    ("error", "text", "said"),
    [
        (StoreFullError("The disk is full."), "A light.", "disk"),
        (StoreReadOnlyError("Not to be written."), "A light.", "written"),
        (None, "half \ud800", "are not kept: This cannot be archived: UnicodeEncodeError."),
    ],
)
def test_an_original_that_cannot_be_written_is_told_and_nothing_is_kept(error, text, said, tmp_path):
    archive, item = (
        Failing(error) if error else archived(tmp_path),
        SentItem(id="a", original_tokens=9, current_tokens=1),
    )
    kept, (note,) = asyncio.run(keep(archive, [item], {"a": Original(text, "source")}))
    assert kept == {}
    assert note.notice.name == "archive"
    assert said in note.notice.message


# Crashes, and agents that give up


@pytest.mark.parametrize("fails_at", [1, 2, 3])
def test_after_a_crash_the_same_is_read_as_without_it(work, fails_at):
    phase = analyzer(45_000, abreast=1)
    _, whole_run = read(work, TWENTY, phase)
    journal = MemoryJournal(state(TWENTY), texts=TWENTY)
    with pytest.raises(ModelError, match="tomorrow"):
        work(phase, None, Reader(fails_at=fails_at), journal=journal)
    work(phase, None, Reader(), journal=journal)
    assert sent(journal) == sent(whole_run)
    assert len(journal.state.findings) == len(whole_run.state.findings)


def test_what_a_model_was_to_leave_out_is_read_by_the_agent_that_takes_its_place(work):
    journal = MemoryJournal(state(TWENTY), texts=TWENTY)
    with pytest.raises(ModelError, match="tomorrow"):
        work(analyzer(30_000, abreast=1, allow_dropping=True), None, Reader(fails_at=2), journal=journal)
    left_out = set(journal.state.reading.dropped)
    assert left_out
    assert not left_out & journal.state.analyzed
    asyncio.run(AnalysisPhase(ExtractiveAnalyzer()).run(journal.state, journal))
    assert journal.state.analyzed == {s.id for s in journal.state.sources}
    assert left_out & {i for f in journal.state.findings for i in f.source_ids}
    assert not [x for x in journal.state.notices if x.skipped]
