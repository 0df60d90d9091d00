"""The analyzer that thinks with a model: batches, quotes, names, and what it makes of all findings together."""

import asyncio
import json
import re

import pytest

from deep_research.budget.content_budget import ContentRules
from deep_research.errors import ModelError
from deep_research.models.failures import TOO_LONG, Verdict, failure
from deep_research.models.profiles import Profile
from deep_research.phases.analysis import AnalysisPhase
from deep_research.phases.analysis.findings_merge import Merge
from deep_research.phases.analysis.handoff import AnalyzerInput, SourceText
from deep_research.phases.analysis.llm import LLMAnalyzer, Reading
from deep_research.phases.base import WorkLimits
from deep_research.phases.synthesis.phase import synthesizer_input
from deep_research.state import (
    ConfidenceLevel,
    DeepResearchPhase,
    DeepResearchState,
    Finding,
    Gap,
    RunOptions,
    Source,
    SourceQuality,
    SubQuery,
)
from deep_research.state.events import EvidenceWeighed, SourcesAnalyzed
from deep_research.state.identity import finding_id
from deep_research.state.journal import Content
from deep_research.testing.models import ScriptedModel, ScriptedProvider

WHOLE = ContentRules(read_sections=False)
QUESTION = "Who built the towers on the reef?"
GAP = Gap(id="gap-000000000001", description="What it cost", iteration=1)


def text_of(n, size=0):
    said = f"The tower number {n} on the reef was built by keeper {n} in the year {1800 + n}."
    return f"{said} {'The sea was heavy. ' * (size // 19)}".strip()


def source(n, size=0):
    content = Content.of(text_of(n, size))
    return Source(
        id=f"src-{n:012x}",
        sub_query_id="subq-a",
        title=f"Page {n}",
        url=f"https://example.org/{n}",
        content_hash=content.hash,
        length=len(text_of(n, size)),
        rank=n,
    )


def state(count, size=0, **more):
    fields = {
        "query": QUESTION,
        "phase": DeepResearchPhase.ANALYSIS,
        "sub_queries": (SubQuery(id="subq-a", query="builders of the towers"),),
        "sources": tuple(source(n, size) for n in range(count)),
        **more,
    }
    return DeepResearchState(**fields)


def texts(count, size=0):
    return [text_of(n, size) for n in range(count)]


def sources_in(call):
    """Name and first sentence of each source in a prompt."""
    return re.findall(
        r"source (S\d+)>>\nTitle: [^\n]*\n(?:[^\n]+\n)*\n([^\n]*?\.)", call.messages[-1].content
    )


def found(call):
    """A finding a source, quoted as it stands."""
    return {
        "findings": [
            {
                "content": sentence,
                "confidence": "high",
                "source_ids": [name],
                "quotes": [{"source_id": name, "quote": sentence}],
            }
            for name, sentence in sources_in(call)
        ]
    }


def reader(change=lambda answer: answer):
    def answer(call):
        if call.form and call.form.name == "Reading":
            return change(found(call))
        return {}

    return ScriptedProvider(answer)


def handoff(**more):
    fields = {
        "research_id": "r",
        "original_query": QUESTION,
        "current_phase": DeepResearchPhase.ANALYSIS,
        "iteration": 2,
        "source_count": 1,
        "high_quality_sources": 0,
        "sources": (SourceText(id="src-1", title="A page", url="https://example.org", content=text_of(1)),),
        **more,
    }
    return AnalyzerInput(**fields)


def test_all_that_is_wanted_reaches_the_prompt():
    model = ScriptedModel([{"findings": []}])
    known = Finding(
        id="find-1", content="The reef is of granite.", confidence=ConfidenceLevel.LOW, source_ids=("src-0",)
    )
    asyncio.run(
        LLMAnalyzer()(
            handoff(
                guidance=("Look for costs.",),
                system_prompt="We are a museum.",
                language="German",
                audience="children",
                research_brief="It is looked into by tower.",
                sub_queries=(SubQuery(id="subq-a", query="builders of the towers"),),
                open_gaps=(GAP,),
                findings=(known,),
            ),
            model,
        )
    )
    ((call, wanted),) = model.calls
    assert wanted is Reading
    for said in (
        f"Question: {QUESTION}",
        "Look for costs.",
        "We are a museum.",
        "Write in German. Write for children.",
        "It is looked into by tower.",
        "builders of the towers",
        "G1: What it cost",
        "The reef is of granite.",
        "Title: A page",
        "Address: https://example.org",
        text_of(1),
    ):
        assert said in call.messages[0].content
    assert model.calls[0][0].nonce in call.messages[0].content


def test_findings_stand_with_their_quotes_in_the_saved_text(work):
    journal = work(AnalysisPhase(LLMAnalyzer()), state(3), reader(), texts=texts(3))
    made = journal.state
    assert [f.content for f in made.findings] == texts(3)
    for finding in made.findings:
        (quote,) = finding.quotes
        text = text_of(int(quote.source_id[4:], 16))
        assert text[quote.start : quote.end] == quote.quote


def test_a_finding_whose_quote_is_not_in_its_source_is_dropped_counted_and_told(work):
    def invented(answer):
        answer["findings"][0]["quotes"][0]["quote"] = "The tower was built by nobody at all."
        return answer

    made = work(AnalysisPhase(LLMAnalyzer()), state(3), reader(invented), texts=texts(3)).state
    assert len(made.findings) == 2
    assert made.unfounded == 1
    (notice,) = [x for x in synthesizer_input(made).notices if x.name == "evidence"]
    assert notice.message.startswith("1 finding was left out, since what they quoted")


def test_ids_that_were_not_given_are_removed_and_counted(work):
    def foreign(answer):
        answer["findings"][0]["source_ids"] += ["S9", "src-ffffffffffff"]
        answer["findings"][1]["quotes"][0]["source_id"] = "S77"
        answer["addressed_gap_ids"] = ["G1", "G4"]
        answer["quality_updates"] = [
            {"source_id": "S1", "quality": "low"},
            {"source_id": "S50", "quality": "low"},
        ]
        return answer

    made = work(AnalysisPhase(LLMAnalyzer()), state(2), reader(foreign), texts=texts(2)).state
    (finding,) = made.findings
    assert finding.source_ids == (source(0).id,)
    assert made.unknown_ids == 6
    assert made.unfounded == 1
    assert {s.quality for s in made.sources} == {SourceQuality.LOW, SourceQuality.UNKNOWN}


def test_what_a_model_says_of_a_single_source_raises_its_findings_by_a_step_and_the_source_by_none(work):
    made = work(AnalysisPhase(LLMAnalyzer()), state(1), reader(), texts=texts(1)).state
    assert made.findings[0].confidence is ConfidenceLevel.MEDIUM
    assert made.sources[0].quality is SourceQuality.UNKNOWN


def test_batches_fit_the_window_and_no_text_is_read_twice(work):
    profile = Profile(context=16_000, output=4_000)
    provider = reader()
    journal = work(
        AnalysisPhase(LLMAnalyzer(WHOLE)), state(20, 3_000), provider, texts=texts(20, 3_000), profile=profile
    )
    readings = [call for call in provider.calls if call.form.name == "Reading"]
    assert len(readings) > 3
    for call in provider.calls:
        said = call.system + call.messages[-1].content + json.dumps(call.form.json_schema)
        assert len(said) / 3 + call.max_output < 16_000
    shown = [sentence for call in readings for _, sentence in sources_in(call)]
    assert sorted(shown) == sorted(text_of(n) for n in range(20))
    units = [event for event in journal.events if isinstance(event, SourcesAnalyzed)]
    assert len(units) == len(readings)
    for call in provider.calls:
        if call.form.name == "Merge":
            assert "The sea was heavy" not in call.messages[-1].content


@pytest.mark.timed
def test_batches_are_read_side_by_side(work):
    running = most = 0
    three = asyncio.Event()  # are being read

    async def answer(call):
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 3:
            three.set()
        if call.form.name == "Reading":
            await asyncio.wait_for(three.wait(), 300)
        await asyncio.sleep(0)
        running -= 1
        return found(call) if call.form.name == "Reading" else {}

    work(
        AnalysisPhase(LLMAnalyzer(WHOLE), limits=WorkLimits(max_concurrent=3)),
        state(12, 12_000),
        ScriptedProvider(answer),
        texts=texts(12, 12_000),
        profile=Profile(context=32_000, output=4_000),
    )
    assert most == 3


def test_a_batch_that_fails_keeps_its_finished_siblings_and_only_it_is_read_again(work):
    from deep_research.state.journal import MemoryJournal

    broken = True

    def answer(call):
        if call.form.name != "Reading":
            return {}
        if broken and text_of(4) in call.messages[-1].content:
            return failure(Verdict.PARK, "come back tomorrow", model="m", retry_after=3_600)
        return found(call)

    provider = ScriptedProvider(answer)
    size, profile = 12_000, Profile(context=16_000, output=4_000)
    journal = MemoryJournal(state(6, size), texts=texts(6, size))
    phase = AnalysisPhase(LLMAnalyzer(WHOLE), limits=WorkLimits(max_concurrent=2))
    with pytest.raises(ModelError, match="tomorrow"):
        work(phase, None, provider, journal=journal, profile=profile)
    kept = set(journal.state.analyzed)
    assert kept
    before = len(provider.calls)
    broken = False
    work(phase, None, provider, journal=journal, profile=profile)
    again = [s for call in provider.calls[before:] for _, s in sources_in(call)]
    assert len(again) == 6 - len(kept)
    assert len(journal.state.findings) == 6


def test_a_prompt_that_the_model_finds_too_long_is_halved_once_and_told(work):
    sizes = []

    def answer(call):
        if call.form.name != "Reading":
            return {}
        sizes.append(len(call.messages[-1].content))
        if len(sizes) == 1:
            return failure(Verdict.FATAL, "too long", model="m", hint=TOO_LONG)
        return found(call)

    made = work(
        AnalysisPhase(LLMAnalyzer(WHOLE)), state(4, 9_000), ScriptedProvider(answer), texts=texts(4, 9_000)
    ).state
    assert len(sizes) == 2
    assert sizes[1] < 0.6 * sizes[0]
    assert len(made.findings) == 4
    assert "For want of room the analyzer was given only a part of long sources." in {
        notice.message for notice in made.notices
    }


def test_one_batch_needs_no_second_look_by_the_model(work):
    provider = reader()
    work(AnalysisPhase(LLMAnalyzer()), state(3), provider, texts=texts(3))
    assert [call.form.name for call in provider.calls] == ["Reading"]


def finding(n, content):
    return Finding(
        id=finding_id(content), content=content, confidence=ConfidenceLevel.LOW, source_ids=(source(n).id,)
    )


def merged(work, answer, findings, gaps=()):
    """The state after a second round, in which one new source is read, and the provider."""

    def answers(call):
        reads = call.form is not None and call.form.name == "Reading"
        return {"findings": []} if reads else answer

    provider = ScriptedProvider(answers)
    first = state(
        len(findings) + 1,
        iteration=2,
        findings=tuple(findings),
        gaps=tuple(gaps),
        analyzed=frozenset(source(n).id for n in range(len(findings))),
        options=RunOptions(max_iterations=3),
    )
    journal = work(AnalysisPhase(LLMAnalyzer()), first, provider, texts=texts(len(findings) + 1))
    return journal, provider


def test_what_earlier_rounds_found_is_put_together_with_the_new(work):
    findings = [
        finding(0, "The keeper of the reef built the tower in 1811."),
        finding(1, "It was in 1811 that the tower of the reef was raised by its own keeper."),
        finding(2, "The lamp burnt oil."),
    ]
    answer = {
        "same": [["F1", "F2", "F8"]],
        "filled_gaps": ["G1"],
        "completeness": 0.7,
        "suggested_queries": ["costs of the tower"],
    }
    other = GAP.model_copy(update={"id": "gap-000000000002", "description": "Who paid for it"})
    journal, provider = merged(work, answer, findings, [GAP, other])
    made = journal.state
    assert [f.content for f in made.findings] == [findings[0].content, "The lamp burnt oil."]
    assert set(made.findings[0].source_ids) == {source(0).id, source(1).id}
    assert [g.description for g in made.unresolved_gaps()] == ["Who paid for it"]
    assert made.unresolved_gaps()[0].suggested_queries == ("costs of the tower",)
    assert made.completeness == 0.7
    assert made.unknown_ids == 1
    (weighed,) = [e for e in journal.events if isinstance(e, EvidenceWeighed)]
    assert weighed.unknown_ids == 1
    assert all(text not in provider.calls[-1].messages[-1].content for text in texts(3))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The tower is 35 metres tall.", "The tower is 49 metres tall."),
        ("The tower was sound.", "The tower was not sound."),
        ("The tower was lit.", "The tower was lit in 1811."),
    ],
)
def test_figures_and_denials_are_never_merged_away_whatever_a_model_says(work, one, other):
    findings = [finding(0, one), finding(1, other)]
    journal, _ = merged(work, {"same": [["F1", "F2"]]}, findings)
    assert {f.content for f in journal.state.findings} == {one, other}


def test_gaps_that_are_one_leave_one(work):
    other = GAP.model_copy(update={"id": "gap-000000000002", "description": "Its price"})
    journal, _ = merged(
        work, {"same_gaps": [["G2", "G1"]]}, [finding(0, "The lamp burnt oil.")], [GAP, other]
    )
    assert [g.description for g in journal.state.unresolved_gaps()] == ["Its price"]


def test_a_merge_that_gives_nothing_usable_loses_nothing(work):
    findings = [finding(0, "The lamp burnt oil."), finding(1, "The reef is of granite.")]
    journal, _ = merged(work, "no JSON at all", findings)
    assert {f.content for f in journal.state.findings} == {f.content for f in findings}
    assert journal.state.phase_done
    assert not [notice for notice in journal.state.notices if notice.name == "agent"]


def test_an_outage_in_a_merge_is_an_outage(work):
    with pytest.raises(ModelError):
        merged(work, failure(Verdict.PARK, "tomorrow", model="m", retry_after=900), [finding(0, "The lamp.")])


def test_findings_to_be_compared_fit_a_small_window(work):
    findings = [finding(n, f"Tower {n} {'stands on the reef ' * 30}.") for n in range(140)]
    first = state(
        141, iteration=2, findings=tuple(findings), analyzed=frozenset(source(n).id for n in range(140))
    )
    provider = ScriptedProvider(lambda call: {} if call.form.name == "Merge" else {"findings": []})
    journal = work(
        AnalysisPhase(LLMAnalyzer(WHOLE)),
        first,
        provider,
        texts=texts(141),
        profile=Profile(context=8_192, output=4_096),
    )
    (call,) = [call for call in provider.calls if call.form.name == Merge.__name__]
    assert len(call.system + call.messages[-1].content) / 3 + call.max_output < 8_192
    assert "more)" in call.messages[-1].content
    assert len(journal.state.findings) == 140
    assert "the findings when they were compared" in " ".join(x.message for x in journal.state.notices)
