"""Under a cap a model that shortens sources leaves the one that reads them its half."""

import pytest

from deep_research import DeepResearch
from deep_research.testing.reading import ReadingModel

QUESTION = "When was the old tower of each town built?"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """40 sources of 30 KB."""
    folder = tmp_path_factory.mktemp("towers")
    for n in range(40):
        lines = [f"The old tower of town {n} had {k} windows on floor {k * 7 % 31}." for k in range(560)]
        lines.insert(60, f"The old tower of town {n} was built of grey stone in the year {1300 + n}.")
        (folder / f"towers{n}.md").write_text(f"# Towers of town {n}\n\n" + " ".join(lines))
    return folder


def researched(corpus, tmp_path, **fields):
    wide = tmp_path / "models.toml"
    wide.write_text(
        '["reading:"]\ncontext = 100000\noutput = 16000\nprice = { input = 3.0, output = 15.0 }\n'
    )
    with DeepResearch(
        model=[ReadingModel()],
        models={"summarizer": [ReadingModel("shortening")]},
        corpus=corpus,
        store="memory",
        data_dir=tmp_path,
        model_file=wide,
        max_sources_per_query=40,
        **fields,
    ) as research:
        return research.run(QUESTION)


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
    corpus, tmp_path, cap, most, rounds
):
    result = researched(corpus, tmp_path, max_iterations=rounds, **{cap: most})
    assert result.status == "completed"
    usage = result.usage
    took = {
        "max_tokens": usage.input_tokens + usage.output_tokens,
        "max_model_calls": usage.model_calls,
    }
    assert took[cap] <= most
    calls = {row.role: row.calls - row.failed for row in usage.models}
    assert calls["analyzer"] >= 1
