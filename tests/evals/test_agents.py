"""The agents on golden handoffs: answers written by hand, a recorded model, and figures that tell good from bad."""

import asyncio
import json
from dataclasses import replace

import pytest
from servers import ModelServer
from servers.instances import instance

from deep_research.assembly import make_models
from deep_research.errors import UnknownNameError
from deep_research.provenance.quotes import locate
from deep_research.settings import Settings
from evals import suite_named
from evals.agents import _figures, evaluate_agents, measured, repetition
from evals.command_line import main
from evals.golden import BY_HAND, PHASES, ByHand, document_of, golden

CASES = {case.id: case for case in golden()}


def evaluated(**settings):
    return asyncio.run(evaluate_agents(Settings(**settings)))


def test_there_are_cases_for_all_five_agents_and_no_two_of_one_name():
    assert len(CASES) == len(golden()) >= 12
    assert {case.agent for case in golden()} == {*PHASES, "supervisor"}


@pytest.mark.parametrize("case", golden(), ids=lambda case: case.id)
def test_a_case_holds_together(case):
    texts = {name: document_of(name)[1] for name in case.sources}
    for finding in case.findings:
        assert locate(finding.quote, texts[finding.source], source_id="s", content_hash="h")
    state = case.journal().state
    assert len(state.findings) == len(case.findings)
    assert all(finding.quotes for finding in state.findings)
    assert len(state.unresolved_gaps()) == len(case.gaps)


def test_the_answers_written_by_hand_are_as_good_as_can_be():
    figures = evaluated()
    assert figures.errors == {}
    for name in ("citations", "coverage", "length", "language", "held", "told", "first_try"):
        assert figures.sets["all"][name] == 1.0, name
    assert figures.sets["all"]["repetition"] == 0.0
    assert {figures.sets[name]["requests"] for name in ("planner", "refiner", "supervisor")} == {1.0}
    assert set(figures.sets) == {"all", *PHASES, "supervisor"}


TEETH = [case for case in golden() if case.has_bad]
HIGHER_IS_BETTER = ("citations", "coverage", "length", "kept", "language", "held", "told", "first_try")
# What a model does as a researcher does, each with a case at least.
SHOWN = (
    "a writer knows its sources",
    "one last pass over a long report",
    "revision instead of rewriting",
    "a critique of every version",
    "gaps are judged by who named them",
    "quotes that are found",
    "contradictions",
    "confidence and independence",
    "the date and a first look",
    "reading what is relevant",
    "slips of a weak model",
    "what prompts left in reports",
)


def worked(case):
    roles = make_models(Settings())
    roles = replace(roles, pool=replace(roles.pool, profiles={**roles.pool.profiles, **BY_HAND}))
    return asyncio.run(_figures(case, replace(roles, chain=(ByHand(case),))))


def test_there_is_a_case_with_teeth_for_each_thing_that_a_researcher_does():
    assert {case.agent for case in TEETH} == set(PHASES)
    assert {case.shows for case in TEETH} == set(SHOWN)
    assert {case.shows for case in golden() if not case.has_bad} == {""}


@pytest.mark.parametrize("case", TEETH, ids=lambda case: case.id)
def test_a_bad_answer_shows_in_the_figures(case):
    good, error = worked(case)
    assert error == ""
    assert {name: good.get(name, 1.0) for name in HIGHER_IS_BETTER} == dict.fromkeys(HIGHER_IS_BETTER, 1.0)
    assert good["repetition"] == 0.0
    assert good["requests"] == case.requests
    bad, error = worked(case.badly())
    assert error == ""
    worse = [name for name in HIGHER_IS_BETTER if bad.get(name, 1.0) < good.get(name, 1.0)]
    assert worse or bad["repetition"] > 0.0, bad
    assert bad.get("held", 1.0) == 1.0  # whatever the answer is, the code stands against this


def test_a_record_of_answers_gives_the_same_figures_without_a_model(tmp_path):
    record = tmp_path / "answers.jsonl"
    first = evaluated(record_models=record)
    again = evaluated(model=(f"replay:{record}",), model_file=_large(tmp_path, f"replay:{record}"))
    assert again.errors == {}
    assert again.sets == first.sets


def _large(tmp_path, name):
    path = tmp_path / "models.toml"
    path.write_text(f"['{name}']\ncontext = 200000\noutput = 32000\n")
    return path


def test_a_model_that_says_nothing_true_is_told_from_a_good_one(tmp_path):
    def answer(served):
        if served.schema is None:
            return "# A report\n\n## Answer\n\nNothing is known, and nothing was found out. " * 4
        return instance(dict(served.schema))

    with ModelServer(answer) as server:
        name = f"openai-compatible:m@{server.base_url}/v1"
        figures = evaluated(model=(name,), model_file=_large(tmp_path, "openai-compatible:m"))
    assert figures.sets["all"]["coverage"] < 0.5
    fresh = {case.id for case in golden() if case.agent == "synthesizer" and not case.draft}
    assert set(figures.errors) == fresh  # no reference: refused; what there is of a report stays
    assert figures.sets["synthesizer"]["failed"] == len(fresh)


def test_what_a_prompt_lacks_or_has_too_much_shows():
    case = CASES["read-the-sections-that-answer"]
    good, _ = worked(case)
    lacking, _ = worked(case.model_copy(update={"told": [*case.told, "nobody says this"]}))
    too_much, _ = worked(case.model_copy(update={"untold": [*case.untold, case.question]}))
    assert good["told"] == 1.0
    assert lacking["told"] == too_much["told"] == pytest.approx(3 / 4)


def test_a_finding_with_an_invented_quote_costs_citations_and_coverage():
    case = CASES["read-what-does-not-bear"]
    bad = case.model_copy(update={"answer": case.answer.replace("156 feet (48 metres).", "900 feet.")})
    roles = replace(make_models(Settings()), chain=(ByHand(bad),))
    figures, error = asyncio.run(_figures(bad, roles))
    assert error == ""
    assert figures["citations"] < 1.0
    assert figures["coverage"] < 1.0


def test_what_must_not_be_said_counts_as_a_fact():
    case = CASES["read-what-does-not-bear"]
    state = case.journal().state
    assert measured(case, state)["coverage"] == pytest.approx(
        2 / 3
    )  # it says nothing, so nothing wrong either


def test_repetition_is_the_share_of_sentences_that_were_said_before():
    said = "The tower was lit in the year 1811 on the reef."
    assert repetition(f"{said} It stands on red sandstone far from any harbour. {said}") == pytest.approx(
        1 / 3
    )
    assert repetition("") == 0.0


def test_the_command_needs_no_data_and_prints_a_table_or_json(capsys):
    assert main(["agents", "--quiet"]) == 0
    table = capsys.readouterr().out
    assert "synthesizer" in table
    assert "first_try" in table
    assert main(["agents", "--json", "--limit", "3"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["cases"] == 3
    assert told["suite"] == "agents"
    assert "planner" in told["sets"]


@pytest.mark.parametrize("more", [("--data", "x"), ("--no-titles",), ("--fresh",)])
def test_what_is_for_data_sets_is_refused(capsys, more):
    assert main(["agents", *more]) == 2
    assert "takes no data sets" in capsys.readouterr().err


def test_its_name_is_suggested():
    with pytest.raises(UnknownNameError, match="agents"):
        suite_named("agent")
