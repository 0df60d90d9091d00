"""A cap on what models may take: sources are read as far as it goes, the report is written, and all of it is told."""

import asyncio
import json

import pytest
from prompt_reading import ReadingModel

from deep_research import DeepResearch, SharedBudget

pytestmark = pytest.mark.usefixtures("kept_readers")

SECTION = "Write the text of the section"
QUESTION = "When was the old tower of each town built?"


def towers(folder, count, lines):
    """So many documents of so many sentences."""
    for n in range(count):
        said = [f"The old tower of town {n} had {k} windows on floor {k * 7 % 31}." for k in range(lines)]
        said.insert(60, f"The old tower of town {n} was built of grey stone in the year {1300 + n}.")
        (folder / f"towers{n}.md").write_text(f"# Towers of town {n}\n\n" + " ".join(said))
    return folder


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return towers(tmp_path_factory.mktemp("towers"), 12, 200)


@pytest.fixture(scope="module")
def large_corpus(tmp_path_factory):
    """40 sources of 30 KB."""
    return towers(tmp_path_factory.mktemp("many-towers"), 40, 560)


def made(corpus, tmp_path, **fields):
    wide = tmp_path / "models.toml"
    wide.write_text(
        '["reading:"]\ncontext = 100000\noutput = 16000\nprice = { input = 3.0, output = 15.0 }\n'
    )
    usual = {
        "corpus": corpus,
        "model": [ReadingModel()],
        "store": "memory",
        "data_dir": corpus.with_name(f"{corpus.name}-data"),  # where the index of it stays
        "model_file": wide,
        "max_sources_per_query": 40,
        "max_iterations": 1,
    }
    return DeepResearch(**usual | fields)


def researched(corpus, tmp_path, **fields):
    with made(corpus, tmp_path, **fields) as research:
        return research.run(QUESTION)


@pytest.mark.parametrize("cap", [40_000, 80_000, 400_000])
def test_more_is_read_the_more_the_cap_allows_and_all_within_it(corpus, tmp_path, cap):
    result = researched(corpus, tmp_path, max_tokens=cap)
    assert result.status == "completed"
    usage = result.usage
    assert usage.input_tokens + usage.output_tokens <= cap
    assert result.report_metadata.writer == "synthesizer"
    read = result.fidelity.phases["analysis"].content_allocation_metadata
    assert read.tokens_used >= {40_000: 500, 80_000: 2_000, 400_000: 20_000}[cap]
    assert bool(read.items_dropped) is (cap == 40_000)  # where a call has no room for something of each
    told = {limit.name for limit in result.limits}
    assert ("max_tokens:analysis" in told) is (cap < 400_000)
    assert ("To keep within max_tokens" in result.report) is (cap < 400_000)
    assert len(result.state.analyzed) == len(result.sources)


def test_a_cap_in_dollars_is_kept_with_a_report_by_the_model(corpus, tmp_path):
    result = researched(corpus, tmp_path, max_usd=0.4)
    assert result.status == "completed"
    assert result.usage.cost_usd <= 0.4
    assert result.report_metadata.writer == "synthesizer"
    assert result.fidelity.phases["analysis"].content_allocation_metadata.tokens_used > 1_000


def test_a_cap_that_is_less_than_a_request_leaves_it_to_the_extractive_agents(corpus, tmp_path):
    result = researched(corpus, tmp_path, max_tokens=4_000)
    assert result.status == "completed"
    assert "extractive" in result.report_metadata.writer
    assert result.usage.input_tokens + result.usage.output_tokens <= 4_000
    assert result.report


@pytest.mark.parametrize(
    ("cap", "least"), [({"max_model_calls": 12}, 20_000), ({"max_tokens": 200_000}, 15_000)]
)
def test_a_cap_is_made_use_of(corpus, tmp_path, cap, least):
    """Twelve documents of 2,000 tokens each fit what is allowed, or most of them do."""
    result = researched(corpus, tmp_path, **cap)
    assert result.fidelity.phases["analysis"].content_allocation_metadata.tokens_used >= least


def test_where_nothing_is_managed_a_cap_makes_no_call_larger_than_the_window(corpus, tmp_path):
    result = researched(corpus, tmp_path, window={"enabled": False}, max_model_calls=6)
    assert result.status == "completed"
    assert "agent" not in {notice.name for notice in result.notices}
    assert any(row.role == "analyzer" for row in result.usage.models)
    assert len(result.state.analyzed) == len(result.sources)


def test_what_is_protected_may_be_more_than_is_read_in_a_round(corpus, tmp_path):
    result = researched(corpus, tmp_path, reading={"tokens": 1_000}, protected_sources=("towers*.md",))
    assert "agent" not in {notice.name for notice in result.notices}
    kept = result.fidelity.phases["analysis"].content_fidelity.values()
    assert all(10 * item.current_tokens >= item.original_tokens for item in kept)


@pytest.mark.parametrize(
    ("cap", "most", "rounds"),
    [
        ("max_tokens", 300_000, 1),
        ("max_model_calls", 20, 1),
        ("max_model_calls", 6, 1),
        ("max_model_calls", 6, 3),
    ],
)
def test_sources_are_read_by_a_model_however_many_another_one_would_shorten(
    large_corpus, tmp_path, cap, most, rounds
):
    models = {"summarizer": [ReadingModel("shortening")]}
    result = researched(large_corpus, tmp_path, models=models, max_iterations=rounds, **{cap: most})
    assert result.status == "completed"
    usage = result.usage
    took = {
        "max_tokens": usage.input_tokens + usage.output_tokens,
        "max_model_calls": usage.model_calls,
    }
    assert took[cap] <= most
    calls = {row.role: row.calls - row.failed for row in usage.models}
    assert calls["analyzer"] >= 1


class HastyModel(ReadingModel):
    """Forgets the references of the first section that it writes, and plans as many sections as it can."""

    def answer(self, call):
        if SECTION in call.messages[-1].content and not any(
            SECTION in c.messages[-1].content for c in self.calls[:-1]
        ):
            return "Nothing that anybody found."
        if '"sections"' not in json.dumps(call.form.json_schema if call.form else {}):
            return super().answer(call)
        plan = json.loads(super().answer(call))
        names = [name for section in plan["sections"] for name in section["findings"]]
        parts = [{"heading": f"On {name}", "purpose": "", "findings": [name]} for name in names]
        return json.dumps(plan | {"sections": parts})


def test_a_section_that_is_asked_for_again_does_not_cost_the_long_report(corpus, tmp_path):
    result = researched(corpus, tmp_path, model=[HastyModel()], report_words=4_000, max_model_calls=8)
    assert result.usage.model_calls == 8
    assert result.report_metadata.writer == "synthesizer"
    assert result.report.count("## On F") == 2


@pytest.mark.parametrize("most", [9, 12])
def test_a_long_report_has_as_many_sections_as_a_shared_budget_has_left(corpus, tmp_path, most):
    shared = SharedBudget(max_usd=9.0, within=SharedBudget(max_model_calls=most))
    result = researched(corpus, tmp_path, model=[HastyModel()], report_words=4_000, shared_budget=shared)
    assert result.usage.model_calls <= most
    assert result.report_metadata.writer == "synthesizer"


class WaitingModel(HastyModel):
    """Never ends a section."""

    def __init__(self):
        super().__init__()
        self.at_a_section = asyncio.Event()

    async def send(self, call, on_text=None):
        if SECTION in call.messages[-1].content:
            self.at_a_section.set()
            await asyncio.Event().wait()
        return await super().send(call, on_text)


@pytest.mark.timed
def test_a_long_report_that_was_stopped_has_as_many_sections_as_are_paid_for_by_then(corpus, tmp_path):
    stopped, fields = WaitingModel(), {"store": None, "report_words": 4_000, "max_model_calls": 12}

    async def stop():
        async with made(corpus, tmp_path, model=[stopped], **fields) as research:
            run = asyncio.create_task(research.arun(QUESTION))
            await asyncio.wait_for(stopped.at_a_section.wait(), 300)
            run.cancel()
            await asyncio.gather(run, return_exceptions=True)

    asyncio.run(stop())
    with made(corpus, tmp_path, **fields) as research:
        (known,) = research.list()
        assert known.status != "completed"
        result = research.resume(known.research_id)
    assert result.usage.model_calls <= 12
    assert result.report_metadata.writer == "synthesizer"


class DoubtfulModel(ReadingModel):
    """Finds one gap in whatever it reads, so that there is a second round."""

    def answer(self, call):
        answer = super().answer(call)
        if '"quality_updates"' not in json.dumps(call.form.json_schema if call.form else {}):
            return answer
        gap = {"description": "Who built the tower", "severity": "critical", "addressable": True}
        return json.dumps(json.loads(answer) | {"gaps": [gap]})


def test_what_is_said_of_a_shorter_report_is_not_said_of_the_long_one_after_it(corpus, tmp_path):
    models = {"model": [DoubtfulModel()], "max_iterations": 2, "max_model_calls": 12, "report_words": 4_000}
    result = researched(corpus, tmp_path, **models)
    (model,) = models["model"]
    asked = "".join(call.messages[-1].content for call in model.calls)
    assert "about 1500 words" in asked  # of the first round
    assert SECTION in asked  # of the second
    assert "For want of budget the report was written in" not in result.report
    assert "report" not in {notice.name for notice in result.notices}


def test_a_report_that_had_to_be_shorter_says_so_and_so_do_the_limits(corpus, tmp_path):
    result = researched(corpus, tmp_path, report_words=4_000, max_model_calls=4)
    (told,) = [notice.message for notice in result.notices if notice.name == "report"]
    assert told == "For want of budget the report was written in 1500 words instead of 4000."
    assert told in result.report
