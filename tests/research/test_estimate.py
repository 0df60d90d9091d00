"""What runs really take lies within what was estimated for them; estimating spends, reads and starts nothing."""

import asyncio
import json

import pytest

from deep_research import Budget, DeepResearch, SearchResult
from deep_research.errors import ConfigurationError, InvalidQuestionError, UnknownNameError
from deep_research.testing import ScriptedSearch
from deep_research.testing.models import ScriptedProvider
from deep_research.testing.prompt_reading import ReadingModel, reading
from deep_research.testing.servers import Fault, ModelServer

QUESTION = "When was the tower of the town built, and how high is it?"
PRICES = "".join(
    f'["{name}:"]\nprice = {{ input = 2.0, output = 10.0 }}\n' for name in ("reading", "openai-compatible")
)


@pytest.fixture
def prices(tmp_path):
    path = tmp_path / "models.toml"
    path.write_text(PRICES, encoding="utf-8")
    return path


class Seeking(ReadingModel):
    """Finds a new gap in whatever it reads, so that all iterations are made."""

    def answer(self, call):
        said = json.loads(super().answer(call)) if call.form else super().answer(call)
        if not isinstance(said, dict):
            return said
        if "quality_updates" in said:
            about = f"Wages of the guild of {chr(97 + len(self.calls) % 26) * 5} masons."
            said["gaps"] = [{"description": about, "suggested_queries": [about], "priority": 1}]
        if "iteration_recommendation" in said:
            said["iteration_recommendation"]["should_iterate"] = True
            said["report_improvements"] = ["Say it shorter."]
            said["gap_analysis"] = said["gap_analysis"] or []
        return json.dumps(said)


def towers(sources=5, sentences=40):
    """Pages on towers, others for every search."""

    def text(query, n):
        return "\n\n".join(
            f"The tower of town {len(query)}-{n}-{m} was built in {1200 + n * m} and is {m} metres high."
            for m in range(sentences)
        )

    def found(request):
        return [
            SearchResult(
                address=f"{request.query[:40]}-{n}.md", title=f"Towers {n}", text=text(request.query, n)
            )
            for n in range(sources)
        ]

    return ScriptedSearch(found)


def check(tmp_path, prices, model, search, **settings):
    with DeepResearch(
        search=[search], data_dir=tmp_path, store="memory", model=model, model_file=prices, **settings
    ) as research:
        made = research.estimate(QUESTION)
        result = research.run(QUESTION)
    assert result.status == "completed"
    usage = result.usage
    for name, took in (
        ("iterations", result.iterations),
        ("searches", usage.searches),
        ("model_calls", usage.model_calls),
        ("input_tokens", usage.input_tokens),
        ("output_tokens", usage.output_tokens),
        ("cost_usd", usage.cost_usd),
    ):
        both = getattr(made, name)
        assert both.low <= took <= both.high, f"{name}: {took} is not in {both}"
    for phase in made.phases:
        rows = [row for row in usage.models if row.phase is phase.phase]
        assert sum(row.calls for row in rows) <= phase.model_calls.high, phase
        assert sum(row.tokens.input for row in rows) <= phase.input_tokens.high, phase
        assert sum(row.tokens.output for row in rows) <= phase.output_tokens.high, phase
    assert {row.phase for row in usage.models} <= {phase.phase for phase in made.phases}
    return result


CASES = {
    "one short source": ({"max_iterations": 1, "reflection": "never"}, {"sources": 1, "sentences": 1}),
    "the defaults": ({}, {}),
    "many sources": ({"max_sources_per_query": 20}, {"sources": 20, "sentences": 60}),
    "little to read": ({"reading_tokens": 1_000}, {}),
    "a long report": ({"report_words": 4_000}, {}),
    "the supervisor always thinks": ({"reflection": "always"}, {}),
    "doubtful sources": ({"model_triage": True, "section_relevance": 0.95}, {"sentences": 60}),
    "one search": ({"max_searches": 1}, {}),
    "a model that shortens": (
        {"reading_tokens": 2_000, "models": {"summarizer": ReadingModel()}},
        {"sentences": 500},
    ),
    "a model of its own for each role": (
        {"models": {role: ReadingModel() for role in ("planner", "analyzer", "refiner")}},
        {},
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("model", [ReadingModel, Seeking])
def test_a_run_takes_what_was_estimated(tmp_path, prices, case, model):
    settings, pages = CASES[case]
    result = check(tmp_path, prices, model(), towers(**pages), **settings)
    if case == "the defaults" and model is Seeking:
        assert result.iterations > 1


@pytest.mark.parametrize("faults", [(), ("500",), ("truncated-json",), ("sse-cut-clean",)])
def test_requests_that_fail_once_are_within_it(tmp_path, prices, faults):
    made = [Fault(name, times=1) for name in faults]
    with ModelServer(lambda served: reading(served.text, served.schema), faults=made) as server:
        name = f"openai-compatible:m@{server.base_url}/v1"
        check(tmp_path, prices, name, towers())
        assert len(server.log) > 3


def test_estimating_starts_reads_and_asks_nothing(tmp_path):
    silent = ScriptedProvider([AssertionError("asked")])
    with DeepResearch(model=silent, corpus=tmp_path / "absent", data_dir=tmp_path / "data") as research:
        made = research.estimate(QUESTION, max_iterations=1)
        assert made.iterations.high == 1
        assert asyncio.run(research.aestimate(QUESTION, max_iterations=1)) == made
    assert silent.calls == []
    assert not (tmp_path / "data").exists()


def test_nothing_to_search_is_no_hindrance(tmp_path):
    with DeepResearch(data_dir=tmp_path) as research:
        assert research.estimate(QUESTION).model_calls.high == 0


def test_the_options_of_the_run_count(tmp_path):
    with DeepResearch(data_dir=tmp_path, model=ReadingModel(), max_iterations=2) as research:
        usual = research.estimate(QUESTION)
        assert research.estimate(QUESTION, max_sub_queries=20).input_tokens.high > usual.input_tokens.high
        assert research.estimate(QUESTION, budget=Budget(max_iterations=1)).iterations.high == 1
        assert research.estimate(QUESTION, budget=Budget(max_tokens=1)).caps[0].standing == "below"
        long = research.estimate(f"{QUESTION} {'Say all. ' * 500}")
        assert long.input_tokens.low > usual.input_tokens.low
        assert long.input_tokens.high > usual.input_tokens.high


def test_agents_of_ones_own_are_asked_for_nothing(tmp_path):
    class Own:
        deterministic = True

        async def __call__(self, handoff):
            raise AssertionError

    with DeepResearch(data_dir=tmp_path, model=ReadingModel(), agents={"planner": Own()}) as research:
        assert "planning" not in {p.phase for p in research.estimate(QUESTION).phases if p.model_calls.low}
        assert "planner" not in research.estimate(QUESTION).models


def test_what_a_run_would_refuse_is_refused_here(tmp_path):
    with DeepResearch(data_dir=tmp_path, model=ReadingModel()) as research:
        with pytest.raises(InvalidQuestionError):
            research.estimate("")
        with pytest.raises(UnknownNameError):
            research.estimate(QUESTION, max_iteration=2)
        with pytest.raises(ConfigurationError, match="the price of 'reading:m' is not known"):
            research.estimate(QUESTION, budget=Budget(max_usd=1))
