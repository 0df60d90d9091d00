"""What runs really take lies within what was estimated for them; estimating spends and starts nothing."""

import asyncio

import pytest
from prompt_reading import ReadingModel

from deep_research import Budget, DeepResearch, SearchResult
from deep_research.errors import ConfigurationError, InvalidQuestionError, UnknownNameError
from deep_research.sources.documents.folder import sample_corpus
from deep_research.testing import ScriptedSearch
from deep_research.testing.doubles import codeword
from deep_research.testing.models import ScriptedProvider

QUESTION = "When was the tower of the town built, and how high is it?"
PRICES = "".join(
    f'["{name}:"]\nprice = {{ input = 2.0, output = 10.0 }}\n' for name in ("reading", "openai-compatible")
)


@pytest.fixture
def prices(tmp_path):
    path = tmp_path / "models.toml"
    path.write_text(PRICES, encoding="utf-8")
    return path


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


def check(made, result):
    """What the run took lies between the ends."""
    assert result.status == "completed"
    usage = result.usage
    for name, took in (
        ("iterations", result.iterations),
        ("searches", usage.searches),
        ("model_calls", usage.model_calls),
        ("tokens", usage.input_tokens + usage.output_tokens),
        ("cost_usd", usage.cost_usd),
    ):
        both = getattr(made, name)
        assert both.low <= took <= both.high, f"{name}: {took} is not in {both}"
    assert {row.phase for row in usage.models} <= {phase.phase for phase in made.phases}


def written(folder, documents, parts):
    """Documents of which no two say the same."""
    folder.mkdir()
    for n in range(documents):
        lines = [f"# Tower {n}"]
        for part in range(parts):
            name = codeword(f"{n}.{part}")
            lines.append(
                f"## {name}\n\nThe tower of {name} was built in {1200 + 7 * n + part} by the mason {name}ar."
            )
            lines.append(
                f"It is {20 + part + n} metres high, and its lamp was seen from {name} to {codeword(str(n))}."
            )
            lines.append(
                f"{name} had {n + part} keepers, and {codeword(f'{part}.{n}')} was the first of them. " * 3
            )
        (folder / f"tower-{n}.md").write_text("\n\n".join(lines), encoding="utf-8")
    return folder


SAMPLE = (
    "How tall is the Cape Hatteras lighthouse?",
    "Who built the Bell Rock lighthouse, how tall is it and when was it lit?",
    "Why was Smeaton's tower on the Eddystone replaced?",
    "Who was the first keeper of Boston Light?",
)
CORPORA = {
    "the sample": (sample_corpus, SAMPLE),
    "two short documents": (lambda path: written(path, 2, 2), (QUESTION,)),
    "three hundred documents": (lambda path: written(path, 300, 8), (QUESTION,)),
}


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    root = tmp_path_factory.mktemp("corpora")
    made = {
        name: make() if make is sample_corpus else make(root / name) for name, (make, _) in CORPORA.items()
    }
    return root, made


@pytest.mark.parametrize("preset", ["default", "fast", "deep"])
@pytest.mark.parametrize(
    ("corpus", "question"), [(name, question) for name, (_, asked) in CORPORA.items() for question in asked]
)
def test_the_tokens_of_a_run_lie_in_a_range_of_at_most_three_times_them(
    corpora, prices, preset, corpus, question
):
    data_dir, folders = corpora
    with DeepResearch(
        corpus=folders[corpus],
        preset=preset,
        model=ReadingModel(),
        model_file=prices,
        data_dir=data_dir,
        store="memory",
    ) as research:
        made = research.estimate(question)
        result = research.run(question)
    check(made, result)
    took = result.usage.input_tokens + result.usage.output_tokens
    assert made.tokens.high <= 3 * took, f"{made.tokens} of {took}"


def test_a_plan_is_estimated_by_its_searches(corpora):
    data_dir, folders = corpora
    with DeepResearch(
        corpus=folders["the sample"], model=ReadingModel(), data_dir=data_dir, store="memory"
    ) as research:
        parked = research.run(SAMPLE[0], approve_plan=True)
        estimate = parked.state.parking.about["estimate"]
        done = research.answer(parked.research_id, "approve")
    took = done.usage.input_tokens + done.usage.output_tokens
    assert estimate["tokens"]["low"] <= took <= estimate["tokens"]["high"] <= 3 * took
    assert estimate["set_aside"]["tokens"] > estimate["tokens"]["high"]


CASES = {
    "the defaults": ({}, {}),
    "many sources": ({"max_sources_per_query": 20}, {"sources": 20, "sentences": 60}),
    "a long report": ({"report_words": 4_000}, {}),
    "the supervisor always thinks": ({"reflection": "always"}, {}),
    "doubtful sources": ({"reading": {"triage": True}}, {"sentences": 60}),
    "a model of its own for each role": (
        {"models": {role: ReadingModel() for role in ("planner", "analyzer", "refiner")}},
        {},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_of_other_sources_the_usual_is_estimated(tmp_path, prices, case):
    settings, pages = CASES[case]
    with DeepResearch(
        search=[towers(**pages)],
        data_dir=tmp_path,
        store="memory",
        model=ReadingModel(),
        model_file=prices,
        **settings,
    ) as research:
        made = research.estimate(QUESTION)
        check(made, research.run(QUESTION))


def test_estimating_starts_and_asks_nothing(tmp_path):
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
        with pytest.raises(ConfigurationError, match="the price of 'reading:m', which is unknown"):
            research.estimate(QUESTION, budget=Budget(max_usd=1))
