"""Caps as an embedder sets them: how they are split, and budgets that many runs share."""

import asyncio
import json
import threading
from collections import Counter

import pytest
from prompt_reading import ReadingModel

from deep_research import Budget, DeepResearch, RunStatus, SharedBudget
from deep_research.errors import ConfigurationError, SettingsError
from deep_research.phases.analysis.llm import LLMAnalyzer
from deep_research.state.events import Event
from deep_research.state.reducer import fold
from deep_research.testing import ScriptedSearch
from deep_research.testing.doubles import results

QUESTION = "What is said about the tower of the reef?"
PHASES = {
    "planning": "You plan research",
    "analysis": "You read sources",
    "synthesis": "You write the report",
    "refinement": "You judge what is missing",
}


class Asking(ReadingModel):
    """Finds a gap in whatever it reads. ``asked`` counts what it was asked for by phase."""

    def answer(self, call):
        text = super().answer(call)
        if call.form is not None and call.form.name == "Reading":
            return json.dumps(
                {**json.loads(text), "gaps": [{"description": "Price of granite quarried in guilders"}]}
            )
        return text

    @property
    def asked(self):
        starts = [next((p for p, s in PHASES.items() if c.system.startswith(s)), "") for c in self.calls]
        return Counter(starts)


def engine(tmp_path, model, **fields):
    made = {
        "search": [ScriptedSearch(lambda request: results(request.query, 2, size=9_000))],
        "data_dir": tmp_path,
        "max_iterations": 3,
        "max_concurrent": 1,
        "read_sections": False,  # of long sources all is read, in several calls
    }
    return DeepResearch(model=[model], **made | fields)


def names(result):
    return [limit.name for limit in result.limits]


def test_the_share_of_the_analysis_is_what_it_reads_and_the_report_is_written_by_a_model(tmp_path):
    model = Asking()
    with engine(tmp_path, model, budget=Budget(max_model_calls=8)) as research:
        result = research.run(QUESTION)
    assert result.status is RunStatus.COMPLETED
    assert result.report_metadata.writer == "synthesizer"
    assert model.asked["analysis"] == result.iterations
    assert "To keep within max_model_calls" in result.report
    assert "had its share" not in result.report
    assert {s.id for s in result.sources} == result.state.analyzed


class Rereading(LLMAnalyzer):
    """Asks for everything twice."""

    async def __call__(self, handoff, model):
        await super().__call__(handoff, model)
        return await super().__call__(handoff, model)


def test_a_phase_that_had_its_share_is_done_without_a_model_and_the_report_is_written_by_one(tmp_path):
    model = Asking()
    agents = {"analyzer": Rereading()}
    with engine(tmp_path, model, agents=agents, budget=Budget(max_model_calls=8)) as research:
        result = research.run(QUESTION)
    assert result.status is RunStatus.COMPLETED
    assert result.report_metadata.writer == "synthesizer"
    assert len(model.calls) <= 8
    assert model.asked["analysis"] == 1  # the first of several readings
    assert "max_model_calls:analysis" in names(result)
    said = "The analysis used its share of max_model_calls; the rest of it was done without a model."
    assert said in result.report
    assert "The analyzer could not do its work" not in result.report
    assert {s.id for s in result.sources} == result.state.analyzed


@pytest.mark.parametrize("budget", [Budget(max_model_calls=5), Budget(max_tokens=60_000)], ids=str)
def test_a_long_report_is_shorter_under_a_small_cap_and_still_written_by_the_model(tmp_path, budget):
    model = Asking()
    with engine(tmp_path, model, budget=budget, report_words=4_000) as research:
        result = research.run(QUESTION)
    assert result.status is RunStatus.COMPLETED
    assert result.report_metadata.writer == "synthesizer"
    assert "For want of budget the report was written in 1500 words instead of 4000." in result.report


def test_without_a_cap_there_is_no_share(tmp_path):
    model = Asking()
    with engine(tmp_path, model, max_iterations=1) as research:
        result = research.run(QUESTION)
    assert model.asked["analysis"] > 1
    assert not [name for name in names(result) if name.startswith("max_")]


def test_a_small_budget_loses_neither_the_plan_nor_the_report(tmp_path):
    model = Asking()
    with engine(tmp_path, model, budget=Budget(max_model_calls=2)) as research:
        result = research.run(QUESTION)
    assert (model.asked["planning"], model.asked["synthesis"]) == (1, 1)
    assert result.status is RunStatus.COMPLETED


@pytest.mark.timed
def test_a_run_that_was_interrupted_has_the_same_shares_when_it_goes_on(tmp_path):
    class Hangs(Asking):
        arrived = threading.Event()

        async def send(self, call, on_text=None):
            reads = self.asked["analysis"] == 1 and call.system.startswith(PHASES["analysis"])
            if reads and not self.arrived.is_set():  # the second reading
                self.arrived.set()
                await asyncio.Event().wait()
            return await super().send(call, on_text)

    budget = Budget(max_model_calls=40)
    model = Hangs()
    with engine(tmp_path, model, budget=budget) as research:
        handle = research.start(QUESTION)
        assert model.arrived.wait(300)
    with engine(tmp_path, model, budget=budget) as research:
        before = fold(research.events(handle.research_id)).snapshot()
        result = research.resume(handle.research_id)
        events = research.events(handle.research_id)
    after = fold(events[: before.seq + 1]).snapshot()
    assert (events[before.seq].name, before.phase_spent.model_calls) == ("run.resumed", 1)
    assert (after.phase_spent, after.phase_answers) == (before.phase_spent, before.phase_answers)
    assert after.iteration_spent == before.iteration_spent
    assert (after.usage.model_calls, after.usage.failed_model_calls) == (3, 1)  # what was lost stays charged
    assert result.status is RunStatus.COMPLETED


def test_runs_that_share_a_budget_stop_where_it_is_spent_and_write_their_reports(tmp_path):
    shared = SharedBudget(max_model_calls=4)
    model = Asking()
    with engine(tmp_path, model, shared_budget=shared) as research:
        first, second = (research.run(QUESTION) for _ in range(2))
    assert len(model.calls) == 4 == shared.spent.model_calls
    assert shared.left.max_model_calls == 0
    for result in (first, second):
        assert result.status is RunStatus.COMPLETED
        assert "The shared cap max_model_calls of 4 was reached" in " ".join(
            limit.message for limit in result.limits
        )
    assert (first.usage.model_calls, second.usage.model_calls) == (4, 0)
    assert "The shared cap max_model_calls of 4 was reached" in second.report
    assert second.iterations == 1


def test_several_engines_and_a_budget_of_one_run_draw_on_the_same(tmp_path):
    whole = SharedBudget(max_model_calls=100, max_searches=50)
    one, other = Asking(), Asking()
    with (
        engine(tmp_path / "one", one, shared_budget=whole) as first,
        engine(tmp_path / "two", other, shared_budget=whole) as second,
    ):
        first.run(QUESTION)
        result = second.run(QUESTION, shared_budget=SharedBudget(max_model_calls=1, within=whole))
    assert len(other.calls) == 1 == result.usage.model_calls
    assert whole.spent.model_calls == len(one.calls) + 1
    assert whole.spent.tokens > 0
    assert whole.spent.searches > result.usage.searches > 0


@pytest.mark.timed
def test_every_verb_that_begins_a_run_takes_a_shared_budget(tmp_path):
    async def streamed(research, shared):
        return [e async for e in research.stream(QUESTION, shared_budget=shared) if isinstance(e, Event)]

    shared = SharedBudget(max_model_calls=0)
    model = Asking()
    with engine(tmp_path, model) as research:
        handle = research.start(QUESTION, shared_budget=shared)
        assert handle.result(300).status is RunStatus.COMPLETED
        asyncio.run(research.arun(QUESTION, shared_budget=shared))
        assert asyncio.run(streamed(research, shared))[-1].name == "run.completed"
    assert not model.calls


@pytest.mark.timed
def test_a_resumed_run_draws_on_the_budget_it_is_given_then(tmp_path):
    class Hangs(Asking):
        arrived = threading.Event()

        async def send(self, call, on_text=None):
            if not self.arrived.is_set():
                self.arrived.set()
                await asyncio.Event().wait()
            return await super().send(call, on_text)

    model = Hangs()
    with engine(tmp_path, model) as research:
        handle = research.start(QUESTION)
        assert model.arrived.wait(300)
    shared = SharedBudget(max_model_calls=2)
    with engine(tmp_path, model) as research:
        result = research.resume(handle.research_id, shared_budget=shared)
    assert result.status is RunStatus.COMPLETED
    assert shared.spent.model_calls == 2 == len(model.calls)


def test_where_a_shared_budget_allows_no_search_the_run_ends_for_want_of_budget(tmp_path):
    with engine(tmp_path, Asking(), shared_budget=SharedBudget(max_searches=0)) as research:
        result = research.run(QUESTION)
    assert (result.status, result.reason) == (RunStatus.ABORTED, "budget")
    (limit,) = [limit for limit in result.limits if limit.name == "shared:max_searches"]
    assert "A budget that is shared with other runs did not allow more searches." in result.message
    assert len(limit.skipped) == 2
    assert "The shared cap of 0 searches is reached. 2 searches were not made." in limit.line


def test_shared_dollars_need_every_price_before_anything_is_asked(tmp_path):
    model = Asking()
    shared = SharedBudget(within=SharedBudget(max_usd=1.0))
    with engine(tmp_path, model) as research:
        with pytest.raises(ConfigurationError, match="price of 'reading:m', which is unknown"):
            research.run(QUESTION, shared_budget=shared)
        done = research.run(QUESTION)
        with pytest.raises(ConfigurationError, match="price of 'reading:m', which is unknown"):
            research.resume(done.research_id, shared_budget=shared)


@pytest.mark.parametrize("given", [3, "large", Budget(max_usd=1.0)])
def test_what_is_no_shared_budget_is_told(tmp_path, given):
    with pytest.raises(SettingsError, match="shared_budget must be a SharedBudget"):
        engine(tmp_path, Asking(), shared_budget=given)
    with engine(tmp_path, Asking()) as research, pytest.raises(SettingsError):
        research.run(QUESTION, shared_budget=given)
