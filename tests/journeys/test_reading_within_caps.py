"""A cap on what models may take: sources are read as far as it goes, the report is written, and all of it is told."""

import pytest

from deep_research import DeepResearch
from deep_research.testing.reading import ReadingModel

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


def researched(corpus, tmp_path, **fields):
    wide = tmp_path / "models.toml"
    wide.write_text(
        '["reading:"]\ncontext = 100000\noutput = 16000\nprice = { input = 3.0, output = 15.0 }\n'
    )
    made = {
        "corpus": corpus,
        "model": [ReadingModel()],
        "store": "memory",
        "data_dir": tmp_path,
        "model_file": wide,
        "max_sources_per_query": 40,
        "max_iterations": 1,
    }
    with DeepResearch(**made | fields) as research:
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
    result = researched(corpus, tmp_path, token_management_enabled=False, max_model_calls=6)
    assert result.status == "completed"
    assert "agent" not in {limit.name for limit in result.limits}
    assert any(row.role == "analyzer" for row in result.usage.models)
    assert len(result.state.analyzed) == len(result.sources)


def test_what_is_protected_may_be_more_than_is_read_in_a_round(corpus, tmp_path):
    result = researched(corpus, tmp_path, reading_tokens=1_000, protected=("towers*.md",))
    assert "agent" not in {limit.name for limit in result.limits}
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
