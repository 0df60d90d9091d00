"""The analyzer that thinks with a model: batches and names, and what is made of all findings together."""

import asyncio
import json
import re

import pytest
from phases.builders import WHOLE, Model, at_analysis, fits, prompt, quoting, source
from phases.builders import finding as known

from deep_research.errors import ModelError
from deep_research.models.failures import Verdict, failure
from deep_research.models.profiles import Profile
from deep_research.phases.analysis import AnalysisPhase
from deep_research.phases.analysis.findings_merge import _says_no_more
from deep_research.phases.analysis.llm import LLMAnalyzer
from deep_research.phases.base import WorkLimits
from deep_research.state import ConfidenceLevel, Gap, RunOptions, SourceQuality
from deep_research.state.events import EvidenceWeighed, SourcesAnalyzed
from deep_research.state.identity import finding_id
from deep_research.state.journal import MemoryJournal

GAP = Gap(id="gap-000000000001", description="What it cost", iteration=1)
PARK = failure(Verdict.PARK, "come back tomorrow", model="m", retry_after=3_600)


def texts(count, size=0):
    said = "The tower number {0} on the reef was built by keeper {0} in the year {1}. {2}"
    return [said.format(n, 1800 + n, "The sea was heavy. " * (size // 19)).strip() for n in range(count)]


def found(call):
    """A finding a source, its first sentence quoted as it stands."""
    shown = re.findall(r"source (S\d+)>>\nTitle: [^\n]*\n(?:[^\n]+\n)*\n([^\n]*?\.)", prompt(call))
    return {"findings": [quoting(name, sentence) for name, sentence in shown]}


def read(work, count, size=0, *, reading=found, context=200_000, abreast=4, journal=None):
    """The provider and the journal of a reading of so many sources."""
    held, model = texts(count, size), Model(Reading=reading)
    journal = journal or MemoryJournal(at_analysis("Who built the towers?", held), texts=held)
    phase = AnalysisPhase(LLMAnalyzer(WHOLE), limits=WorkLimits(max_concurrent=abreast))
    work(phase, None, model, journal=journal, profile=Profile(context=context, output=4_000))
    return model, journal


def test_ids_that_were_not_given_are_removed_and_counted(work):
    def foreign(call):
        answer = found(call)
        answer["findings"][0]["source_ids"] += ["S9", "src-ffffffffffff"]
        answer["findings"][1]["quotes"][0]["source_id"] = "S77"
        worse = [{"source_id": name, "quality": "low"} for name in ("S1", "S50")]
        return {**answer, "addressed_gap_ids": ["G1", "G4"], "quality_updates": worse}

    made = read(work, 2, reading=foreign)[1].state
    (finding,) = made.findings
    assert finding.source_ids == (source(0).id,)
    assert (made.unknown_ids, made.unfounded) == (6, 1)
    assert {s.quality for s in made.sources} == {SourceQuality.LOW, SourceQuality.UNKNOWN}


def test_what_a_model_says_of_a_single_source_raises_its_findings_by_a_step_and_the_source_by_none(work):
    made = read(work, 1)[1].state
    assert made.findings[0].confidence is ConfidenceLevel.MEDIUM
    assert made.sources[0].quality is SourceQuality.UNKNOWN


def test_batches_fit_the_window_and_no_text_is_read_twice(work):
    model, journal = read(work, 20, 3_000, context=16_000)
    readings = model.asked["Reading"]
    assert len(readings) > 3
    for call in model.calls:
        said = call.system + prompt(call) + json.dumps(call.form.json_schema)
        assert len(said) / 3 + call.max_output < 16_000
    shown = [finding["content"] for call in readings for finding in found(call)["findings"]]
    assert sorted(shown) == sorted(texts(20))
    assert [event.name for event in journal.events].count("sources.analyzed") == len(readings)
    assert not any("The sea was heavy" in said for said in model.prompts("Merge"))


@pytest.mark.timed
def test_batches_are_read_side_by_side(work):
    running, most = 0, 0
    three = asyncio.Event()  # are being read

    async def answer(call):
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 3:
            three.set()
        await asyncio.wait_for(three.wait(), 300)
        await asyncio.sleep(0)
        running -= 1
        return found(call)

    read(work, 12, 12_000, reading=answer, context=32_000, abreast=3)
    assert most == 3


def test_a_batch_that_fails_keeps_its_finished_siblings_and_only_it_is_read_again(work):
    held = texts(6, 12_000)
    journal = MemoryJournal(at_analysis("Who built the towers?", held), texts=held)
    with pytest.raises(ModelError, match="tomorrow"):
        read(work, 6, 12_000, reading=lambda call: PARK if "number 4 " in prompt(call) else found(call),
             context=16_000, abreast=2, journal=journal)  # fmt: skip
    kept = set(journal.state.analyzed)
    assert kept
    model, _ = read(work, 6, 12_000, context=16_000, abreast=2, journal=journal)
    again = [finding for call in model.asked["Reading"] for finding in found(call)["findings"]]
    assert len(again) == 6 - len(kept)
    assert len(journal.state.findings) == 6


# What a kill costs between the answer of a model and the record of its unit: that answer, once, and true books


class Killed(BaseException):
    """The end of the process."""


class Mortal(MemoryJournal):
    """Dies at the record of a unit, so often; what was recorded before is in its state."""

    deaths = 0

    async def record(self, *events, contents=()):
        if self.deaths and any(isinstance(event, SourcesAnalyzed) for event in events):
            self.deaths -= 1
            raise Killed
        await super().record(*events, contents=contents)


def read_in_spite_of(work, deaths):
    held, model = texts(3), Model(Reading=found)
    journal = Mortal(at_analysis("Who built the towers?", held), texts=held)
    journal.deaths = deaths
    agent = LLMAnalyzer(WHOLE)
    agent.call_tokens = 10  # a source in a call
    phase = AnalysisPhase(agent, limits=WorkLimits(max_concurrent=1))
    for _ in range(deaths):
        with pytest.raises(Killed):
            work(phase, None, model, journal=journal)
    work(phase, None, model, journal=journal)
    return model, journal


@pytest.mark.parametrize("deaths", [0, 1, 3])
def test_an_answer_whose_unit_was_not_recorded_is_asked_for_once_more_and_paid_as_often(work, deaths):
    plain, whole = read_in_spite_of(work, 0)
    model, journal = read_in_spite_of(work, deaths)
    assert len(model.calls) == len(plain.calls) + deaths
    assert journal.state.usage.model_calls == len(model.calls)  # none is in the books twice
    settled, reserved = (
        [e for e in journal.events if e.name == f"model.{n}"] for n in ("settled", "reserved")
    )
    assert len(settled) == len(reserved) == len(model.calls)
    assert journal.state.usage.input_tokens == sum(event.tokens.input for event in settled)
    assert not journal.state.reservations
    assert journal.state.findings == whole.state.findings


# What earlier rounds found, with what is new


def merged(work, answer, contents, gaps=(), context=200_000):
    """A second round, in which one new source is read and says nothing."""
    findings = tuple(known(n, content, id=finding_id(content)) for n, content in enumerate(contents))
    held = texts(len(findings) + 1)
    seen = frozenset(source(n).id for n in range(len(findings)))
    more = {"findings": findings, "gaps": tuple(gaps), "options": RunOptions(max_iterations=3)}
    first = at_analysis("Who built the towers?", held, iteration=2, analyzed=seen, **more)
    model = Model(Reading={"findings": []}, Merge=answer)
    profile = Profile(context=context, output=4_096)
    return work(AnalysisPhase(LLMAnalyzer(WHOLE)), first, model, texts=held, profile=profile), model


def test_what_earlier_rounds_found_is_put_together_with_the_new(work):
    built = "The keeper of the reef built the tower in 1811."
    again = "It was in 1811 that the tower of the reef was raised by its own keeper."
    answer = {
        "same": [["F1", "F2", "F8"]],
        "filled_gaps": ["G1"],
        "completeness": 0.7,
        "suggested_queries": ["costs of the tower"],
    }
    other = GAP.model_copy(update={"id": "gap-000000000002", "description": "Who paid for it"})
    journal, model = merged(work, answer, [built, again, "The lamp burnt oil."], [GAP, other])
    made = journal.state
    assert [f.content for f in made.findings] == [built, "The lamp burnt oil."]
    assert set(made.findings[0].source_ids) == {source(0).id, source(1).id}
    (gap,) = made.unresolved_gaps()
    assert (gap.description, gap.suggested_queries) == ("Who paid for it", ("costs of the tower",))
    assert (made.completeness, made.unknown_ids) == (0.7, 1)
    (weighed,) = [e for e in journal.events if isinstance(e, EvidenceWeighed)]
    assert weighed.unknown_ids == 1
    assert all(text not in model.prompts("Merge")[0] for text in texts(3))


def test_figures_and_denials_are_never_merged_away_whatever_a_model_says(work):
    for one, other in (
        ("is 35 m tall", "is 49 m tall"),
        ("was sound", "was not sound"),
        ("was lit", "was lit in 1811"),
    ):
        contents = [f"The tower {said}." for said in (one, other)]
        journal, _ = merged(work, {"same": [["F1", "F2"]]}, contents)
        assert {f.content for f in journal.state.findings} == set(contents)


def test_gaps_that_are_one_leave_one(work):
    gaps = [GAP, GAP.model_copy(update={"id": "gap-000000000002", "description": "Its price"})]
    journal, _ = merged(work, {"same_gaps": [["G2", "G1"]]}, ["The lamp burnt oil."], gaps)
    assert [g.description for g in journal.state.unresolved_gaps()] == ["Its price"]


def test_a_merge_that_gives_nothing_usable_loses_nothing_and_an_outage_is_an_outage(work):
    contents = ["The lamp burnt oil.", "The reef is of granite."]
    journal, _ = merged(work, "no JSON at all", contents)
    assert {f.content for f in journal.state.findings} == set(contents)
    assert journal.state.phase_done
    assert not [notice for notice in journal.state.notices if notice.name == "agent"]
    with pytest.raises(ModelError):
        merged(work, PARK, contents)


def test_findings_to_be_compared_fit_a_small_window(work):
    contents = [f"Tower {n} {'stands on the reef ' * 30}." for n in range(140)]
    journal, model = merged(work, {}, contents, context=8_192)
    (call,) = model.asked["Merge"]
    assert fits(call, 8_192)
    assert "more)" in prompt(call)
    assert len(journal.state.findings) == 140
    assert "the findings when they were compared" in " ".join(x.message for x in journal.state.notices)


def test_a_model_cannot_make_one_of_statements_that_have_nothing_in_common():
    towers = known(1, "The towers of the coast were built of stone by the board.")
    assert _says_no_more(known(2, "The board built the towers of stone."), than=towers)
    assert not _says_no_more(known(3, "Everyone agrees that the vendor sells best."), than=towers)
