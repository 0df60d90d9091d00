"""The agent contract: an agent is known by its spec, which is data, and asked with records that travel as JSON."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import pytest
from prompt_reading import ReadingModel

from deep_research import AgentRole, DeepResearch
from deep_research.budget.content_budget import ContentRules
from deep_research.errors import ConfigurationError, DeepResearchError, UnknownNameError
from deep_research.phases.agent_contract import Agent, AgentSpec, Operation, bind
from deep_research.phases.analysis import ExtractiveAnalyzer
from deep_research.phases.planning import ExtractivePlanner
from deep_research.phases.planning.handoff import PLAN
from deep_research.phases.refinement import ExtractiveRefiner
from deep_research.phases.synthesis import ExtractiveSynthesizer
from deep_research.sources.search import SearchFilters
from deep_research.state import PHASE_TO_AGENT, Record
from deep_research.supervisor.phase_work import PHASE_TYPES
from deep_research.testing import FakeClock, ScriptedSearch

CORPUS = Path(__file__).parents[2] / "docs" / "examples" / "corpus"
QUESTION = "What fuels were burnt in lighthouse lamps?"
OPERATIONS = {PHASE_TO_AGENT[phase]: kind.operations for phase, kind in PHASE_TYPES.items()}
EVERY = [operation for operations in OPERATIONS.values() for operation in operations]


def agent_with(**declared: Any) -> Any:
    """An object whose class declares these, and which can be called."""
    return type("Own", (), {"__call__": lambda self, handoff: None, **declared})()


def test_what_an_agent_declares_and_the_methods_it_has_are_its_spec() -> None:
    agent = bind(agent_with(survey=print), AgentRole.PLANNER, (PLAN,))  # no operation of that role
    assert agent.spec == AgentSpec(name="Own", operations=frozenset({"plan"}))
    spec = bind(ExtractiveAnalyzer(), AgentRole.ANALYZER, OPERATIONS[AgentRole.ANALYZER]).spec
    operations = frozenset({"analyze", "survey"})
    declared = {"deterministic": True, "reads_again": True, "batch_bytes": 8_000_000}
    assert spec == AgentSpec(name="extractive analyzer", operations=operations, **declared)
    assert AgentSpec.model_validate_json(spec.model_dump_json()) == spec


def far(*operations: str, **calls: Any) -> Agent:
    return Agent(AgentSpec(name="far", operations=frozenset(operations)), calls)


BAD, UNKNOWN = ConfigurationError, UnknownNameError
REFUSED: dict[str, tuple[Any, type[DeepResearchError], str]] = {
    "not callable": (object(), BAD, "The analyzer is not callable."),
    "a word for a switch": (agent_with(deterministic="yes"), BAD,
        "The analyzer Own declares deterministic = 'yes': Input should be a valid boolean."),
    "no size": (agent_with(batch_bytes=0), BAD, "The analyzer Own declares batch_bytes = 0: "),
    "no name": (agent_with(name=None), BAD, "The analyzer Own declares name = None: "),
    "a slip": (agent_with(use_model=True), UNKNOWN,
        "Unknown declaration of the analyzer 'use_model'. Did you mean 'uses_model'?"),
    "another role's operation": (far("analyze", "repair", analyze=print, repair=print), UNKNOWN,
        "Unknown operation of the analyzer 'repair'."),
    "an operation without a call": (far("analyze", "survey", analyze=print), BAD,
        "The analyzer 'far' has no call for survey."),
    "no main operation": (far("survey", survey=print), BAD, "The analyzer 'far' has no call for analyze."),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_an_engine_refuses_an_agent_that_cannot_be_when_it_is_made(case: str) -> None:
    agent, error, message = REFUSED[case]
    with pytest.raises(error) as refused:
        DeepResearch(search=[ScriptedSearch()], agents={"analyzer": agent}, store="memory")
    assert str(refused.value).startswith(message)


def test_the_docs_tell_every_field_of_a_spec_and_every_operation() -> None:
    told = (CORPUS.parents[1] / "agents.md").read_text(encoding="utf-8")
    for name in AgentSpec.model_fields:
        assert f"| `{name}` | " in told
    for operation in EVERY:
        row = rf"`{operation.name}`[^|]*\| `{operation.takes.__name__}` \| `{operation.gives.__name__}` \|"
        assert re.search(row, told), operation.name


# Agents in another process


class NarrowModel:
    """Nothing of a model but what `LanguageModel` names."""

    def __init__(self, model: Any) -> None:
        self.name, self.profile = model.name, model.profile
        self.bytes_a_token = getattr(model, "bytes_a_token", None)
        self.room, self.text, self.object = model.room, model.text, model.object


class NarrowAllowance:
    """Nothing of a purse but what `Allowance` names."""

    def __init__(self, purse: Any) -> None:
        self.take, self.charge = purse.take, purse.charge


DAY = date(1811, 2, 1)
VALUES: dict[Any, Any] = {
    str: "Dalén’s “sun valve”",
    int: 1,
    float: 0.5,
    bool: True,
    bytes: b"\xff\x00%PDF",
    date: DAY,
    datetime: datetime(2026, 1, 1, tzinfo=UTC),
    ContentRules: ContentRules(reading_tokens=9),
    SearchFilters: SearchFilters(since=DAY, domains=("example.org",), language="sv"),
}


def filled(kind: Any) -> Any:
    """A value of a type of the contract, with something in every field."""
    if kind in VALUES:
        return VALUES[kind]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return list(kind)[-1]
    if isinstance(kind, type) and issubclass(kind, Record):
        return kind.model_validate({name: filled(of.annotation) for name, of in kind.model_fields.items()})
    origin, (first, *others) = get_origin(kind), get_args(kind)
    if origin is dict:
        return {filled(first): filled(others[0])}
    if origin in (tuple, frozenset):
        return origin([filled(first)] * 2)
    if origin is Annotated:
        return filled(first)
    return first if origin is Literal else filled(first)  # a union


@pytest.mark.parametrize("operation", EVERY, ids=lambda each: each.name)
def test_every_field_of_handoffs_and_answers_travels_as_json(operation: Operation[Any, Any]) -> None:
    for record in (operation.takes, operation.gives):
        made = filled(record)
        assert made.model_fields_set == set(record.model_fields)
        assert record.model_validate_json(made.model_dump_json()) == made


@dataclass
class Wire:
    """A boundary that nothing crosses but JSON and the narrow interfaces. ``crossed`` are the operations asked."""

    crossed: set[str] = field(default_factory=set)

    def across(self, agent: Agent, operations: tuple[Operation[Any, Any], ...]) -> Agent:
        """The agent as it is seen from this side."""
        spec = AgentSpec.model_validate_json(agent.spec.model_dump_json())
        calls = {o.name: self._call(o, agent.calls[o.name]) for o in operations if spec.can(o)}
        return Agent(spec, calls)

    def _call(self, operation: Operation[Any, Any], function: Callable[..., Any]) -> Callable[..., Any]:
        async def call(handoff: Any, *beside: Any) -> Any:
            self.crossed.add(operation.name)
            sent = operation.takes.model_validate_json(handoff.model_dump_json())
            assert sent == handoff
            narrow = [NarrowAllowance(b) if hasattr(b, "take") else NarrowModel(b) for b in beside]
            # No context of the caller is there: no journal, no listener.
            answer = await asyncio.create_task(function(sent, *narrow), context=Context())
            came = operation.gives.model_validate_json(answer.model_dump_json())
            assert came == answer
            return came

        return call


VARIABLE = ("seconds", "at", "research_id", "lease_until", "elapsed")  # what no two runs share


def stable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: stable(each) for key, each in value.items() if key not in VARIABLE}
    return list(map(stable, value)) if isinstance(value, list) else value


def run(folder: Path, question: str = QUESTION, **options: Any) -> tuple[Any, list[Any]]:
    settings = {"data_dir": folder, "clock": FakeClock(), "max_concurrent": 1, "corpus": CORPUS} | options
    with DeepResearch(**settings) as research:
        result = research.run(question)
        events = research.events(result.research_id)
    return result, [stable(event.model_dump(mode="json")) for event in events]


def test_agents_behind_json_write_the_report_that_agents_of_this_process_write(tmp_path: Path) -> None:
    wire = Wire()
    roles = AgentRole.PLANNER, AgentRole.ANALYZER, AgentRole.SYNTHESIZER, AgentRole.REFINER
    own = ExtractivePlanner(), ExtractiveAnalyzer(), ExtractiveSynthesizer(), ExtractiveRefiner()
    bound = {role: bind(agent, role, OPERATIONS[role]) for role, agent in zip(roles, own, strict=True)}
    far = {role: wire.across(agent, OPERATIONS[role]) for role, agent in bound.items()}
    direct, _ = run(tmp_path / "direct")
    remote, _ = run(tmp_path / "remote", agents=far)
    assert wire.crossed == {"plan", "analyze", "survey", "synthesize", "refine"}
    assert direct.status == remote.status == "completed"
    assert remote.report == direct.report
    assert remote.citations == direct.citations


@pytest.fixture
def wired(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Wire]:
    """Puts every agent of every engine behind a wire."""

    def put() -> Wire:
        wire = Wire()

        def far(agent: Any, role: AgentRole, operations: tuple[Operation[Any, Any], ...]) -> Agent:
            return wire.across(bind(agent, role, operations), operations)

        monkeypatch.setattr("deep_research.phases.base.bind", far)
        return wire

    return put


RUNS: dict[str, tuple[Callable[[], dict[str, Any]], set[str]]] = {
    "without a model": (dict, {"plan", "gather", "analyze", "survey", "synthesize", "refine"}),
    "with a model": (
        lambda: {"model": ReadingModel(), "revise_with_critic": True},
        {"plan", "gather", "room_for_sources", "analyze", "survey", "synthesize", "refine"},
    ),
}


@pytest.mark.parametrize("case", RUNS)
def test_a_run_all_of_whose_agents_are_behind_json_records_what_a_direct_one_does(
    case: str, tmp_path: Path, wired: Callable[[], Wire]
) -> None:
    make, wanted = RUNS[case]
    direct, recorded = run(tmp_path / "direct", **make())
    wire = wired()
    remote, recorded_far = run(tmp_path / "remote", **make())
    assert wire.crossed >= wanted
    assert remote.report == direct.report
    assert recorded_far == recorded
