"""The agent contract: what an agent is (`AgentSpec`), what it may be asked (`Operation`), how phases hold it (`Agent`).

A phase knows an agent by its spec alone, which is data, and asks it for operations, whose handoffs and answers are
records. So an agent can live in another process: `Agent` is then made from the spec that it sends, with calls that carry
JSON. A plain object of this process becomes an `Agent` in one place, `bind`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel, Field, StrictBool, ValidationError
from pydantic_core import PydanticSerializationError

from deep_research.errors import BudgetError, ConfigurationError, HandoffError, UnknownNameError
from deep_research.logs import cut
from deep_research.models.characters import in_all_texts, whole
from deep_research.phases.handoff import Handoff
from deep_research.state import AgentRole, Record

MAX_FIELD_CHARS = 20_000  # of one text in the answer of an agent
MAX_REPORT_CHARS = 400_000  # twice the longest that one may want
MAX_NAME_CHARS = 200
NEARLY = 0.8  # likeness of two names, from which one is taken for a slip

_In = TypeVar("_In", bound=Handoff)
_Out = TypeVar("_Out", bound=Record)


@dataclass(frozen=True, slots=True)
class Operation(Generic[_In, _Out]):
    """Something that an agent may be asked: a handoff of type ``takes`` in, an answer of type ``gives`` out. The first
    operation of a role is the call of the agent itself; each further one is a method of its ``name``."""

    name: str
    takes: type[_In]
    gives: type[_Out]
    has_deadline: bool = True  # `operation_timeout`, where no model is asked

    def validate(self, answer: Any, role: AgentRole) -> _Out:
        """The answer as a record of the operation, its texts cut to their bounds. A mapping is accepted and validated.
        Raises `HandoffError`."""
        try:
            output = answer if isinstance(answer, self.gives) else self.gives.model_validate(answer)
            if role is AgentRole.GATHERER:  # whose texts are bounded where they are collected
                return whole(output)
            most = MAX_REPORT_CHARS if role is AgentRole.SYNTHESIZER else MAX_FIELD_CHARS
            output = in_all_texts(output, lambda text: cut(text, most))
            return output if _is_text(output) else whole(output)
        except ValidationError as error:
            place, reason = _first(error)
            raise HandoffError(
                f"The {role} did not answer with {self.gives.__name__}: {place or 'the answer'}: {reason}.",
                hint="See docs/agents.md for what each agent returns.",
                role=role.value,
            ) from None


class AgentSpec(Record):
    """What an agent declares. A plain object declares a field by an attribute of that name (docs/agents.md).

    Example:
        AgentSpec(name="keepers", operations={"plan"}, deterministic=True)
    """

    name: str = Field(min_length=1, max_length=MAX_NAME_CHARS)
    """The name of the writer in a report; by default the name of the class."""

    operations: frozenset[str]
    """Names of the operations that it can do, with the main one. For a plain object: those it has methods for."""

    deterministic: StrictBool = False
    """The same handoff always gives the same answer, so the supervisor does not ask again without a change."""

    uses_model: StrictBool = False
    """The engine passes the `LanguageModel` of its role as a second argument."""

    uses_purse: StrictBool = False
    """The engine passes the `Allowance` of the run, from which the agent takes its searches and pages."""

    falls_back: StrictBool = False
    """If it raises, the extractive agent of its role does the rest of the phase."""

    extractive: StrictBool = False
    """It writes in the words of the findings, and follows advice only if a finding has a word of it."""

    reads_again: StrictBool = False
    """Its survey gets the whole texts of the best sources."""

    batch_bytes: int | None = Field(default=None, gt=0, strict=True)
    """Most source text in one call, in characters; None: the value of `WorkLimits`."""

    def can(self, operation: Operation[Any, Any]) -> bool:
        return operation.name in self.operations


_DECLARED = tuple(name for name in AgentSpec.model_fields if name != "operations")


class Allowance(Protocol):
    """The searches and pages that budgets shared with other runs leave to this one."""

    def take(self, name: Literal["max_searches", "max_fetches"]) -> BudgetError | None:
        """Takes one; the reason where there is none left."""

    def charge(self, name: Literal["max_searches", "max_fetches"], many: int) -> None:
        """Books what was done without asking; below 0: what was taken and not done."""


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent as phases use it; build one for an agent in another process.

    Args:
        spec: What the agent declares.
        calls: For each operation of the spec a coroutine function, or a plain function that runs in a thread. It gets
            the handoff, and the model or the allowance if the spec says so.

    Example:
        Agent(AgentSpec(name="remote", operations={"plan"}), {"plan": post_to_my_service})
    """

    spec: AgentSpec
    calls: Mapping[str, Callable[..., Any]]


def bind(
    agent: Agent | Callable[..., Any], role: AgentRole, operations: Sequence[Operation[Any, Any]]
) -> Agent:
    """The agent of a role which may be asked these ``operations``, its main one first. A plain object is called for that
    one, and declares the rest by its attributes.

    Raises `ConfigurationError` for what is no agent or declares what cannot be, `UnknownNameError` for an operation that
    the role does not have or a declaration that is almost the name of one.
    """
    names = [operation.name for operation in operations]
    if isinstance(agent, Agent):
        for name in sorted(agent.spec.operations - {*names}):
            raise UnknownNameError.of(f"operation of the {role}", name, names)
        if missing := sorted({names[0], *agent.spec.operations} - agent.calls.keys()):
            raise ConfigurationError(
                f"The {role} '{agent.spec.name}' has no call for {', '.join(missing)}.",
                hint="Agent(spec, calls) has a callable for each operation of its spec: see docs/agents.md.",
            )
        return agent
    if not callable(agent):
        raise ConfigurationError(
            f"The {role} is not callable.", hint="An agent is called with its handoff: see docs/agents.md."
        )
    further = {name: getattr(agent, name, None) for name in names[1:]}
    calls = {names[0]: agent} | {name: call for name, call in further.items() if callable(call)}
    declared = {name: getattr(agent, name) for name in _DECLARED if hasattr(agent, name)}
    for name in _misspelt(agent):
        raise UnknownNameError.of(f"declaration of the {role}", name, _DECLARED)
    try:
        spec = AgentSpec(**{"name": type(agent).__name__, "operations": frozenset(calls), **declared})
    except ValidationError as error:
        place, reason = _first(error)
        raise ConfigurationError(
            f"The {role} {type(agent).__name__} declares {place} = {declared[place]!r}: {reason}.",
            hint="See docs/agents.md for what an agent may declare.",
        ) from None
    return Agent(spec, calls)


def _misspelt(agent: object) -> list[str]:
    """Switches of its class that are almost named as a declaration."""
    switches = [name for name, value in vars(type(agent)).items() if isinstance(value, bool)]
    unknown = [name for name in switches if name not in _DECLARED]
    return [name for name in unknown if get_close_matches(name, _DECLARED, n=1, cutoff=NEARLY)]


def _first(error: ValidationError) -> tuple[str, str]:
    """Where the first fault is, and what it is."""
    fault = error.errors(include_url=False, include_input=False)[0]
    return ".".join(map(str, fault["loc"])), fault["msg"]


def _is_text(answer: BaseModel) -> bool:
    """Whether all of it can be kept: a string may hold half a character."""
    try:
        answer.__pydantic_serializer__.to_json(answer)
    except PydanticSerializationError:
        return False
    return True
