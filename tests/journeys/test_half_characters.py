"""Sources and agents of an embedder's own may give half a character, as JSON can name one: nothing is lost by it."""

import pytest

from deep_research import DeepResearch, RunStatus, SearchResult
from deep_research.phases.synthesis.handoff import SynthesizerOutput
from deep_research.testing import ScriptedSearch

QUESTION = "When was the tower of the reef built?"
SAID = "The tower of the reef was built in 1811 by Stevenson."


def researched(tmp_path, title="Towers", text=SAID, store="sqlite", **more):
    search = ScriptedSearch(
        lambda request: [SearchResult(address="https://example.org/a", title=title, text=text)]
    )
    with DeepResearch(search=[search], data_dir=tmp_path, store=store, **more) as research:
        return research.run(QUESTION)


@pytest.mark.parametrize("store", ["sqlite", "memory"])
def test_a_page_with_half_a_character_is_read_and_cited(tmp_path, store):
    result = researched(tmp_path, "Towers \ud800 of reefs", f"{SAID[:-1]} \udfff of the coast.", store)
    assert result.status is RunStatus.COMPLETED
    assert "The tower of the reef was built in 1811 by Stevenson \ufffd of the coast. [1]" in result.report
    assert [source.title for source in result.sources] == ["Towers \ufffd of reefs"]


def test_an_agent_that_writes_half_a_character_has_its_report_kept(tmp_path):
    def write(handoff):
        name = handoff.findings[0].id
        return SynthesizerOutput(
            report=f"# Towers \ud83d\ude00 \ud800\n\n## Summary\n\nIt was built in 1811 by Stevenson [{name}].\n"
        )

    result = researched(tmp_path, agents={"synthesizer": write})
    assert result.status is RunStatus.COMPLETED
    assert result.report.startswith("# Towers \U0001f600 \ufffd\n")
    assert "It was built in 1811 by Stevenson [1]." in result.report
