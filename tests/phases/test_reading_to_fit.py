"""ANALYSIS with a model and more text than it reads: what is handed on, what is told of it, and what is kept."""

import asyncio
import json
from datetime import UTC, date, datetime

import pytest
from prompt_reading import blocks, reading

from deep_research.budget.archive import Archive
from deep_research.budget.content_budget import ContentRules
from deep_research.budget.fidelity import RunFidelity
from deep_research.budget.tokens import Counter
from deep_research.errors import ModelError, WorkError
from deep_research.models.failures import Verdict, failure
from deep_research.models.profiles import Profile
from deep_research.phases.analysis import AnalysisPhase, ExtractiveAnalyzer
from deep_research.phases.analysis.llm import CALL_TOKENS, LLMAnalyzer
from deep_research.phases.base import WorkLimits
from deep_research.phases.summarizing import Choices, Summarizer
from deep_research.state import (
    DeepResearchPhase,
    DeepResearchState,
    ModelRole,
    RunOptions,
    Source,
    SourceQuality,
    SubQuery,
)
from deep_research.state.journal import Content
from deep_research.testing import MemoryJournal
from deep_research.testing.models import ScriptedModel, ScriptedProvider

QUESTION = "Who built the towers on the reef?"
ANALYSIS = DeepResearchPhase.ANALYSIS
COUNT = Counter().expected


def text_of(n, sentences):
    """Many sentences, no two alike, of which one in the middle answers."""
    lines = [
        f"In the year {1700 + k} the harbour of town {n} saw {k * 7} ships come." for k in range(sentences)
    ]
    lines.insert(
        sentences // 2, f"The tower number {n} on the reef was built by keeper Mole{n} in {1800 + n}."
    )
    return " ".join(lines)


def source(n, text, **more):
    fields = {
        "id": f"src-{n:012x}",
        "sub_query_id": "subq-a",
        "title": f"Page {n}",
        "url": f"https://example.org/{n}",
        "content_hash": Content.of(text).hash,
        "length": len(text),
        "rank": n,
        "relevance": 0.9 - n / 100,
        **more,
    }
    return Source(**fields)


def state(texts, more=None, **options):
    return DeepResearchState(
        query=QUESTION,
        phase=ANALYSIS,
        sub_queries=(SubQuery(id="subq-a", query="builders of the towers"),),
        sources=tuple(source(n, text, **((more or {}).get(n) or {})) for n, text in enumerate(texts)),
        options=RunOptions(**options),
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


class Reader(ScriptedProvider):
    """Answers as the prompts want; ``broken`` is raised where it has to choose."""

    def __init__(self, broken=None, model="model-1"):
        super().__init__(self.answer, model=model)
        self.broken = broken

    def answer(self, call):
        if self.broken is not None and "keep" in call.form.json_schema["properties"]:
            return self.broken
        return json.loads(reading(call.messages[-1].content, call.form.json_schema))

    def shown(self):
        """What was handed on of each source, by the number of its page."""
        found = {}
        for call in self.calls:
            for label, body in blocks(call.messages[-1].content).items():
                if label.startswith("source "):
                    head, _, text = body.partition("\n\n")
                    found[int(head.partition("\n")[0].removeprefix("Title: Page "))] = text
        return found


def read(work, texts, *, tokens=10_000, dropping=False, more=None, provider=None, phase=None, **fields):
    rules = ContentRules(reading_tokens=tokens, allow_dropping=dropping, read_sections=False)
    provider = provider or Reader()
    journal = MemoryJournal(state(texts, more, **fields.pop("options", {})), texts=texts)
    phase = phase or AnalysisPhase(LLMAnalyzer(rules))
    work(phase, None, provider, journal=journal, **fields)
    return provider, journal


def sent(journal):
    return {int(i.id.removeprefix("src-"), 16): i for i in journal.state.context_usage[ANALYSIS].items}


def test_what_fits_is_read_whole_and_told_so(work):
    texts = [text_of(n, 40) for n in range(4)]
    provider, journal = read(work, texts, tokens=100_000)
    assert provider.shown() == dict(enumerate(texts))
    totals = RunFidelity.of(journal.state.context_usage).content_allocation_metadata
    assert (totals.fidelity, totals.items_summarized, totals.items_dropped) == (1.0, 0, 0)


def test_more_than_is_read_is_condensed_to_what_bears_on_the_question(work):
    texts = [text_of(n, 200) for n in range(20)]
    assert sum(map(COUNT, texts)) > 60_000
    provider, journal = read(work, texts, tokens=20_000)
    shown = provider.shown()
    assert sum(map(COUNT, shown.values())) <= 20_000
    # Something of each, and of each what answers; nothing is cut in silence.
    assert len(shown) == 20
    assert all(f"built by keeper Mole{n}" in shown[n] for n in range(20))
    assert all("[…]" in text for n, text in shown.items() if text != texts[n])
    assert len(journal.state.findings) == 20
    assert all(
        q.quote in texts[int(q.source_id.removeprefix("src-"), 16)]
        for f in journal.state.findings
        for q in f.quotes
    )


def test_what_is_told_of_it_is_what_was_sent(work):
    texts = [text_of(n, 200) for n in range(20)]
    provider, journal = read(work, texts, tokens=20_000)
    shown, told = provider.shown(), sent(journal)
    for n, text in enumerate(texts):
        assert told[n].original_tokens == COUNT(text)
        assert told[n].current_tokens == pytest.approx(COUNT(shown[n]), rel=0.01, abs=2)
    totals = RunFidelity.of(journal.state.context_usage).content_allocation_metadata
    whole = sum(map(COUNT, texts))
    assert totals.fidelity == pytest.approx(sum(map(COUNT, shown.values())) / whole, rel=0.01)
    assert totals.utilization >= 0.9
    assert totals.tokens_available <= 20_000


def test_the_best_by_what_is_known_of_them_keep_most(work):
    texts = [text_of(n, 200) for n in range(20)]
    old = {"published": date(1990, 1, 1), "quality": SourceQuality.LOW}
    new = {"published": date(2025, 12, 1), "quality": SourceQuality.HIGH}
    _, journal = read(work, texts, tokens=20_000, more={n: new if n % 4 == 3 else old for n in range(20)})
    told = sent(journal)
    best = [told[n].current_tokens / told[n].original_tokens for n in range(20) if n % 4 == 3]
    rest = [told[n].current_tokens / told[n].original_tokens for n in range(20) if n % 4 != 3]
    assert min(best) >= 0.29
    assert max(rest) < min(best)


def test_where_dropping_is_allowed_what_matters_least_is_left_out_and_listed(work):
    texts = [text_of(n, 200) for n in range(20)]
    _, journal = read(work, texts, tokens=10_000, dropping=True)
    left = [n for n, item in sent(journal).items() if not item.current_tokens]
    assert left
    (notice,) = [x for x in journal.state.notices if x.name == "window" and x.skipped]
    assert set(notice.skipped) == {f"https://example.org/{n}" for n in left}
    assert str(len(left)) in notice.message
    assert journal.state.analyzed == {s.id for s in journal.state.sources}


def test_where_not_even_a_sentence_of_each_fits_something_is_left_out_all_the_same_and_told(work):
    texts = [text_of(n, 100) for n in range(120)]
    _, journal = read(work, texts, tokens=2_000)
    assert any(not item.current_tokens for item in sent(journal).values())
    assert any("were not read at all" in x.message for x in journal.state.notices)


def test_what_its_owner_protects_is_never_left_out(work):
    texts = [text_of(n, 200) for n in range(20)]
    low = {"relevance": 0.0, "quality": SourceQuality.LOW, "url": "https://kept.example/a"}
    options = {"protected": ("kept.example",)}
    _, journal = read(work, texts, tokens=10_000, dropping=True, more={19: low}, options=options)
    item = sent(journal)[19]
    assert item.current_tokens >= 0.1 * item.original_tokens


def test_a_source_that_is_larger_than_a_call_is_read_by_itself(work):
    texts = [text_of(0, 2_500), text_of(1, 20)]
    assert COUNT(texts[0]) > CALL_TOKENS
    provider, _ = read(work, texts, tokens=100_000)
    assert provider.shown()[0] == texts[0]
    assert len([c for c in provider.calls if c.form.name == "Reading"]) == 2


def test_no_prompt_is_larger_than_a_small_window_has_room_for(work):
    texts = [text_of(n, 300) for n in range(10)]
    profile = Profile(context=8_192, output=4_096)
    provider, _ = read(work, texts, tokens=12_000, profile=profile)
    for call in provider.calls:
        said = call.system + call.messages[-1].content
        assert COUNT(said) + call.max_output < 8_192
    assert all(f"built by keeper Mole{n}" in provider.shown()[n] for n in range(10))


def test_where_nothing_is_managed_sources_are_handed_on_whole(work):
    texts = [text_of(n, 200) for n in range(20)]
    rules = ContentRules(enabled=False, reading_tokens=1_000, read_sections=False)
    provider, _ = read(work, texts, phase=AnalysisPhase(LLMAnalyzer(rules)))
    assert provider.shown() == dict(enumerate(texts))


# A model that chooses


def summarized(**more):
    rules = ContentRules(reading_tokens=20_000, read_sections=False)
    return AnalysisPhase(LLMAnalyzer(rules), summarizer=Summarizer(**more))


def test_the_model_of_that_role_chooses_what_is_kept_word_for_word(work):
    texts = [text_of(n, 200) for n in range(20)]
    chooser = Reader(model="chooser")
    provider, journal = read(
        work, texts, phase=summarized(), by_role={ModelRole.SUMMARIZER: (chooser,)}, provider=Reader()
    )
    shown = provider.shown()
    assert chooser.calls
    assert not [c for c in provider.calls if "keep" in c.form.json_schema["properties"]]
    for n, text in shown.items():
        assert all(piece.strip() in texts[n] for piece in text.split("[…]"))
        assert f"built by keeper Mole{n}" in text
    spent = {row.role for row in journal.state.usage.models}
    assert "summarizer" in spent


def test_where_it_fails_the_sources_are_shortened_without_it_and_it_is_told(work):
    texts = [text_of(n, 200) for n in range(20)]
    chooser = Reader(
        broken=failure(Verdict.PARK, "come back tomorrow", model="m", retry_after=9_000), model="chooser"
    )
    _, journal = read(work, texts, phase=summarized(), by_role={ModelRole.SUMMARIZER: (chooser,)})
    assert len(journal.state.findings) == 20
    assert len(chooser.calls) < 20
    (message,) = {x.message for x in journal.state.notices if x.name == "summarizer"}
    assert "without a model" in message


def test_the_next_of_its_chain_is_asked_first(work):
    texts = [text_of(n, 200) for n in range(20)]
    broken = Reader(broken=failure(Verdict.REFUSAL, "no", model="m"), model="first")
    second = Reader(model="second")
    _, journal = read(work, texts, phase=summarized(), by_role={ModelRole.SUMMARIZER: (broken, second)})
    assert second.calls
    assert not [x for x in journal.state.notices if x.name == "summarizer"]


def condensed(summarizer, model, text, size=500):
    return asyncio.run(summarizer.condensed(text, size, query=QUESTION, counter=Counter(), model=model))


def choosing():
    return ScriptedModel(
        lambda call, wanted: json.loads(reading(call.messages[-1].content, wanted.model_json_schema()))
    )


def test_a_long_text_is_chosen_from_in_parts_side_by_side_and_once_more_from_what_was_chosen():
    text = text_of(7, 4_000)
    waiting, most = 0, 0
    release = None

    async def answer(call, wanted):
        nonlocal waiting, most, release
        release = release or asyncio.Event()
        waiting += 1
        most = max(most, waiting)
        if most > 1:
            release.set()
        await release.wait()
        waiting -= 1
        return json.loads(reading(call.messages[-1].content, wanted.model_json_schema()))

    model = ScriptedModel(answer)
    made = condensed(Summarizer(), model, text)
    assert len(model.calls) > 3
    assert most > 1
    assert COUNT(made) <= 500
    assert "built by keeper Mole7" in made
    last = model.calls[-1][0].messages[-1].content
    assert "built by keeper Mole7" in last


def test_the_same_is_chosen_once_where_choices_are_remembered():
    text = text_of(1, 300)
    for choices, calls in ((Choices(), 1), (None, 2)):
        model, summarizer = choosing(), Summarizer(choices=choices)
        assert condensed(summarizer, model, text) == condensed(summarizer, model, text)
        assert len(model.calls) == calls


def test_another_size_or_question_is_another_choice():
    model, summarizer = choosing(), Summarizer(choices=Choices())
    condensed(summarizer, model, text_of(1, 300), 500)
    condensed(summarizer, model, text_of(1, 300), 400)
    assert len(model.calls) == 2


@pytest.mark.timed
def test_a_choice_that_takes_too_long_is_given_up():
    async def never(call, wanted):
        await asyncio.Event().wait()

    with pytest.raises(WorkError, match="no choice within"):
        condensed(Summarizer(timeout=0.01), ScriptedModel(never), text_of(1, 300))


@pytest.mark.parametrize("keep", [[], [0, -3, 10_000]])
def test_a_choice_of_nothing_that_was_given_is_none(keep):
    with pytest.raises(WorkError, match="nothing was chosen"):
        condensed(Summarizer(), ScriptedModel([{"keep": keep}]), text_of(1, 300))


# The archive


def archived(folder):
    return Archive(folder, 168, lambda: datetime(2026, 1, 1, tzinfo=UTC))


def test_originals_of_what_was_dropped_or_cut_to_a_fifth_are_kept_and_the_state_has_their_hashes(
    work, tmp_path
):
    texts = [text_of(n, 200) for n in range(20)]
    archive = archived(tmp_path / "archive")
    rules = ContentRules(reading_tokens=10_000, allow_dropping=True, read_sections=False)
    phase = AnalysisPhase(LLMAnalyzer(rules), limits=WorkLimits(archive=archive))
    _, journal = read(work, texts, phase=phase)
    hashes = journal.state.context_usage[ANALYSIS].archived
    little = {i.id for i in sent(journal).values() if i.current_tokens * 5 <= i.original_tokens}
    assert set(hashes) == little
    for source_id, content_hash in hashes.items():
        record = archive.get(content_hash)
        number = int(source_id.removeprefix("src-"), 16)
        assert record.content == texts[number]
        assert record.item_id == source_id
        assert record.item_type == "source"
        assert record.metadata == {"title": f"Page {number}", "url": f"https://example.org/{number}"}
        dropped = not sent(journal)[number].current_tokens
        assert record.archive_reason == ("dropped" if dropped else "compressed")


def test_an_archive_that_cannot_be_written_is_told_and_ends_nothing(work, tmp_path):
    texts = [text_of(n, 200) for n in range(20)]
    (tmp_path / "archive").write_text("in the way")
    rules = ContentRules(reading_tokens=10_000, read_sections=False)
    phase = AnalysisPhase(LLMAnalyzer(rules), limits=WorkLimits(archive=archived(tmp_path / "archive")))
    _, journal = read(work, texts, phase=phase)
    assert journal.state.findings
    assert [x for x in journal.state.notices if x.name == "archive"]


def test_what_texts_were_found_to_take_is_what_the_next_phase_expects(work):
    texts = [text_of(n, 200) for n in range(20)]
    first = state(texts)
    journal = MemoryJournal(
        first.model_copy(update={"bytes_a_token": {"scripted:model-1": 5.0}}), texts=texts
    )
    rules = ContentRules(reading_tokens=20_000, read_sections=False)
    provider = Reader()
    work(AnalysisPhase(LLMAnalyzer(rules)), None, provider, journal=journal)
    shown = sum(len(text.encode()) for text in provider.shown().values())
    assert shown == pytest.approx(20_000 * 4.5, rel=0.1)
    row = journal.state.usage.models[0]
    assert row.measured_bytes / row.measured_tokens == pytest.approx(4.0, rel=0.1)


# Crashes, and agents that give up


class Judging(Reader):
    """Calls every other source that it reads worthless, and fails at a request of its own accord."""

    def __init__(self, fails_at=None):
        super().__init__()
        self.fails_at = fails_at

    def answer(self, call):
        if len(self.calls) == self.fails_at:
            return failure(Verdict.PARK, "come back tomorrow", model="m", retry_after=9_000)
        said = super().answer(call)
        for n, opinion in enumerate(said.get("quality_updates", ())):
            opinion["quality"] = "low" if n % 2 else "high"
        return said


@pytest.mark.parametrize("fails_at", [1, 2, 3])
def test_after_a_crash_the_same_is_read_as_without_it(work, fails_at):
    texts = [text_of(n, 200) for n in range(20)]
    phase = AnalysisPhase(
        LLMAnalyzer(ContentRules(reading_tokens=45_000, read_sections=False)),
        limits=WorkLimits(max_concurrent=1),
    )
    _, whole_run = read(work, texts, phase=phase, provider=Judging())
    journal = MemoryJournal(state(texts), texts=texts)
    with pytest.raises(ModelError, match="tomorrow"):
        work(phase, None, Judging(fails_at), journal=journal)
    work(phase, None, Judging(), journal=journal)
    assert sent(journal) == sent(whole_run)
    assert len(journal.state.findings) == len(whole_run.state.findings)


def test_what_a_model_was_to_leave_out_is_read_by_the_agent_that_takes_its_place(work):
    texts = [text_of(n, 200) for n in range(20)]
    rules = ContentRules(reading_tokens=30_000, allow_dropping=True, read_sections=False)
    phase = AnalysisPhase(LLMAnalyzer(rules), limits=WorkLimits(max_concurrent=1))
    journal = MemoryJournal(state(texts), texts=texts)
    with pytest.raises(ModelError, match="tomorrow"):
        work(phase, None, Judging(fails_at=2), journal=journal)
    left_out = set(journal.state.reading.dropped)
    assert left_out
    assert not left_out & journal.state.analyzed
    asyncio.run(AnalysisPhase(ExtractiveAnalyzer()).run(journal.state, journal))
    assert journal.state.analyzed == {s.id for s in journal.state.sources}
    assert left_out & {i for f in journal.state.findings for i in f.source_ids}
    assert not [x for x in journal.state.notices if x.skipped]
