"""The 43 faults of a model service, each at each of the five agents, once and for ever: no run is completed with a report
that is empty, cut or holds an error, and what was finished is neither lost nor asked for again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fault_runs import QUESTION, ROLES, SHORT, Cell, answer, engine, role_of, table, tried, undisturbed
from servers import FAULT_KINDS, Fault, ModelServer, Served

from deep_research import RunStatus
from deep_research.models import Message, ModelCall
from deep_research.models.language_model import LanguageModel
from deep_research.models.retry import MAX_REQUESTS
from deep_research.phases.planning import PlannerInput, PlannerOutput
from deep_research.phases.planning.handoff import PlannedQuery
from deep_research.state import AbortReason

pytestmark = pytest.mark.timed

CELLS = [(kind, role, forever) for kind in FAULT_KINDS for role in ROLES for forever in (False, True)]
# Each fault once and for ever, at agents in turn.
FEW = {
    (kind, list(ROLES)[(n + 2 * forever) % len(ROLES)], forever)
    for n, kind in enumerate(FAULT_KINDS)
    for forever in (False, True)
}


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer(answer) as running:
        yield running


@pytest.fixture(scope="module")
def clean(server: ModelServer) -> str:
    result = undisturbed(server)
    assert result.status is RunStatus.COMPLETED
    assert result.iterations == 2
    assert len(server.log) == 10  # the last report is looked at too
    return result.report or ""


def of(kind: str, role: str, forever: bool, server: ModelServer, clean: str) -> Cell:
    for seconds in (
        SHORT,
        SHORT,
        8 * SHORT,
        64 * SHORT,
    ):  # what takes too long on a busy machine is told by the clock
        cell = tried(server, kind, role, forever=forever, clean=clean, seconds=seconds)
        if not cell.wrong:
            break
    return cell


@pytest.mark.parametrize(
    ("kind", "role", "forever"),
    [
        pytest.param(*cell, marks=pytest.mark.sweep if n % 4 else ())
        for n, cell in enumerate(sorted(FEW, key=lambda cell: (cell[1], cell[0], cell[2])))
    ],
    ids=lambda value: {False: "once", True: "for-ever"}.get(value, value),  # type: ignore[call-overload]
)
def test_a_run_survives_a_fault(kind: str, role: str, forever: bool, server: ModelServer, clean: str) -> None:
    cell = of(kind, role, forever, server, clean)
    assert cell.wrong == ()


def test_sources_that_only_the_model_could_read_are_read_when_the_run_is_resumed(server: ModelServer) -> None:
    question = "What is known of enzymes in towers?"  # none that the extractive agents have an answer to
    server.clear()
    server.faults = [Fault("prose", match=ROLES["analyzer"], times=None)]
    with engine(server) as research:
        failed = research.run(question)
        assert (failed.status, failed.reason) == (RunStatus.ABORTED, AbortReason.NO_EVIDENCE)
        assert "analyzer could not do its work" in " ".join(notice.message for notice in failed.notices)
        server.faults = []
        result = research.resume(failed.research_id)
    assert result.status is RunStatus.COMPLETED
    assert result.citations


def test_a_supervisor_whose_model_does_not_answer_is_not_asked_after_each_phase(server: ModelServer) -> None:
    server.clear()
    server.faults = [Fault("401", match=ROLES["supervisor"], times=None)]
    with engine(server, role="supervisor") as research:
        result = research.run(QUESTION)
    assert result.status is RunStatus.COMPLETED
    assert sum(role_of(served) == "supervisor" for served in server.log) <= 2  # after phases side by side
    assert "continues without its advice" in (result.report or "")


class Planner:
    """Asks the same whatever it is advised, and has no plan the first time."""

    uses_model = True
    deterministic = False

    async def __call__(self, handoff: PlannerInput, model: LanguageModel) -> PlannerOutput:
        call = ModelCall(system=ROLES["planner"], messages=(Message(content="What is to be searched?"),))
        queries = (await model.text(call)).value.split("\n")[1:]
        planned = tuple(PlannedQuery(query=query, rationale="", priority=1) for query in queries)
        return PlannerOutput(research_brief="Towers.", sub_queries=planned)


def test_a_gate_that_asks_again_has_no_wording_sent_more_than_four_times() -> None:
    plans = iter(("Nothing.", "Two.\nnorthern lighthouse towers\neastern lighthouse towers"))

    def planned(served: Served) -> str:
        return next(plans) if role_of(served) == "planner" else answer(served)

    # Each answer after two failures: three requests, and three more when the gate asks again.
    faults = [Fault("500", match=ROLES["planner"], skip=answered, times=2) for answered in range(2)]
    with ModelServer(planned, faults=faults) as busy, engine(busy, agents={"planner": Planner()}) as research:
        parked = research.run(QUESTION)
        assert sum(role_of(served) == "planner" for served in busy.log) == MAX_REQUESTS
        assert parked.status is RunStatus.PARKED  # for the last that came of it was an outage
        busy.faults = []
        resumed = research.resume(parked.research_id)
        assert resumed.status is RunStatus.COMPLETED
        assert sum(role_of(served) == "planner" for served in busy.log) == MAX_REQUESTS + 1


@pytest.mark.sweep
@pytest.mark.timeout(3_600)
def test_a_run_survives_every_fault_at_every_agent(server: ModelServer, clean: str) -> None:
    cells = [of(*cell, server, clean) for cell in CELLS]
    print(f"\n{table(cells)}")
    assert [str(cell) for cell in cells if cell.wrong] == []
    outcomes = {(cell.kind, cell.role, cell.forever): cell.outcome for cell in cells}
    assert {outcomes["401", role, True] for role in ROLES} == {"config", "model"}  # no advice, but a report
    assert {outcomes["500", role, True] for role in ROLES} == {"parked", "model"}
    assert {outcomes["500", role, False] for role in ROLES} == {"model"}
    assert {outcomes["prose", role, True] for role in ROLES} == {"extractive", "model"}
