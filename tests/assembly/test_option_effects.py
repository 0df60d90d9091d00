"""Options of a run that no agent supports are told, each once and with the reason."""

import pytest
from prompt_reading import ReadingModel

from deep_research import DeepResearch, Park, SupervisorHooks
from deep_research.assembly import without_effect
from deep_research.assembly.option_effects import OPTION
from deep_research.sources.search.wikipedia import Wikipedia
from deep_research.state import RunOptions
from deep_research.testing import ScriptedSearch, scripted_agents

GIVEN = {
    "system_prompt": "Be brief.",
    "language": "Portuguese",
    "audience": "children",
    "source_language": "de",
    "protected_sources": ("towers.md",),
}
ALL = set(GIVEN)
QUESTION = "When was the old tower of the town built?"


class GermanSearch(ScriptedSearch):
    keeps_language = True


def own(role):
    return {"agents": {role: scripted_agents()[role]}}


def told_of(result):
    return [notice.message for notice in result.notices if notice.name == OPTION]


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "towers.md").write_text(
        "# Towers\n\nThe old tower of the town was built of grey stone in the year 1312.\n"
    )
    return tmp_path / "docs"


@pytest.mark.parametrize(
    ("made", "idle"),
    [
        ({}, ALL),
        ({"search": [ScriptedSearch()]}, ALL),
        ({"search": [GermanSearch()]}, ALL - {"source_language"}),
        ({"search": [Wikipedia()]}, ALL - {"source_language"}),
        ({"search": [Wikipedia(base_url="https://de.example.org")]}, ALL),
        ({"model": ReadingModel()}, {"source_language"}),
        ({"model": ReadingModel(), "window": {"enabled": False}}, {"source_language", "protected_sources"}),
        ({"models": {"planner": ReadingModel()}}, ALL - {"system_prompt"}),
        ({"models": {"supervisor": ReadingModel()}}, ALL - {"system_prompt"}),
        ({"models": {"analyzer": ReadingModel()}}, {"language", "audience", "source_language"}),
        ({"models": {"synthesizer": ReadingModel()}}, {"source_language"}),
        (own("synthesizer"), {"source_language"}),
        (own("synthesizer") | {"window": {"enabled": False}}, {"source_language"}),
        (own("planner"), ALL - {"system_prompt"}),
        (own("gatherer"), {"language", "audience", "protected_sources"}),
    ],
)
def test_an_option_has_an_effect_where_an_agent_supports_it(made, idle, corpus, tmp_path):
    with DeepResearch(corpus=corpus, data_dir=tmp_path / "data", **made) as research:
        told = without_effect(RunOptions(**GIVEN), research._parts)
    assert {limit.message.partition(" has no effect: ")[0] for limit in told} == idle
    assert {limit.name for limit in told} == {OPTION}
    assert all(limit.message.endswith(".") for limit in told)


def test_what_was_not_given_is_not_told(corpus, tmp_path):
    with DeepResearch(corpus=corpus, data_dir=tmp_path / "data") as research:
        assert without_effect(RunOptions(), research._parts) == ()
        assert told_of(research.run(QUESTION)) == []


def test_they_are_told_in_the_report_and_recorded_with_the_end_of_planning(corpus, tmp_path):
    with DeepResearch(corpus=corpus, data_dir=tmp_path / "data", store="memory") as research:
        result = research.run(QUESTION, **GIVEN)
        told = [event for event in research.events(result.research_id) if event.type == "notice.added"]
        between = [event.type for event in research.events(result.research_id)]
    assert len(told_of(result)) == len(told) == len(GIVEN)
    assert all(line in result.report for line in ("language has no effect", "in the words of its sources"))
    first = between.index("notice.added")
    assert (between[first - 1], between[first + len(GIVEN)]) == ("phase.ended", "phase.started")


@pytest.mark.parametrize("phase", ["planning", "gathering"])
def test_a_run_that_is_resumed_does_not_tell_them_twice(phase, corpus, tmp_path):
    def park(state, at):
        return Park(waiting_for="a word") if at == phase else None

    made = {"corpus": corpus, "data_dir": tmp_path / "data", "hooks": SupervisorHooks(after_phase=park)}
    with DeepResearch(**made) as research:
        parked = research.run(QUESTION, **GIVEN)
        assert parked.status == "parked"
        assert len(told_of(parked)) == (0 if phase == "planning" else len(GIVEN))
        result = research.resume(parked.research_id, "Go on.")
        told = [event for event in research.events(result.research_id) if event.type == "notice.added"]
    assert result.status == "completed"
    assert len([event for event in told if event.notice.name == OPTION]) == len(GIVEN)


def test_a_plan_that_is_made_again_tells_them_once(tmp_path):
    cast = scripted_agents(retries={"planner": 1}, without=["gatherer"])
    with DeepResearch(agents=cast, search=[ScriptedSearch()], data_dir=tmp_path, store="memory") as research:
        result = research.run(QUESTION, source_language="de")
        told = [event for event in research.events(result.research_id) if event.type == "notice.added"]
    assert [notice.message.partition(" ")[0] for notice in result.notices if notice.name == OPTION] == [
        "source_language"
    ]
    assert len([event for event in told if event.notice.name == OPTION]) == 1
