"""Research by this engine as a step of a plan."""

import pytest

from deep_research import DeepResearch, Park, SupervisorHooks
from deep_research.capabilities import CapabilitySupervisor, LocalResearch, PlanFolder, PlanStatus
from deep_research.testing import ScriptedSearch, scripted_agents


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    monkeypatch.setattr("deep_research.capabilities.capability_supervisor.FIRST_PAUSE_SECONDS", 0.0)


class Asking(SupervisorHooks):
    async def think_pause(self, state, prompt):
        return Park("the word which tower is meant") if state.phase == "planning" else None


def engine(tmp_path, **more):
    return DeepResearch(
        store="sqlite", data_dir=tmp_path, search=[ScriptedSearch()], agents=scripted_agents(), **more
    )


def test_a_repeated_call_goes_on_with_the_same_run(tmp_path):
    with engine(tmp_path) as research:
        capabilities = {"research": LocalResearch(research)}
        plan = CapabilitySupervisor(capabilities, PlanFolder(tmp_path)).run("Who built Bell Rock?")
        (run,) = research.list()
        assert plan.messages[-1].id == run.research_id
        assert plan.data("research")["research_summary"]["topic"] == "Who built Bell Rock?"


def test_a_run_that_waits_for_its_owner_is_not_begun_again(tmp_path):
    plans = PlanFolder(tmp_path)
    with engine(tmp_path, hooks=Asking()) as research:
        plan = CapabilitySupervisor({"research": LocalResearch(research)}, plans).run("Who built Bell Rock?")
        (run,) = research.list()
    assert plan.status is PlanStatus.WAITING
    assert f"`deep-research answer {run.research_id}`" in plan.message
    with engine(tmp_path, hooks=Asking()) as research:
        research.resume(run.research_id, "The first one.")
        done = CapabilitySupervisor({"research": LocalResearch(research)}, plans).resume(plan.id)
        assert done.status is PlanStatus.COMPLETED
        assert [each.research_id for each in research.list()] == [run.research_id]
