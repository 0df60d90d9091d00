"""The models of requests, made from the signatures of the verbs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from datetime import date, datetime
from functools import cache
from types import NoneType
from typing import Annotated, Any, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, Strict, create_model
from pydantic.fields import FieldInfo

from deep_research.budget.estimate import Estimate
from deep_research.memory import MemoryEntry, MemoryKind
from deep_research.memory.base import MAX_ENTRIES_OF_USER
from deep_research.memory.entry import MAX_ID_CHARACTERS
from deep_research.packs import Manifest, Verification
from deep_research.research import DeepResearch
from deep_research.research.arguments import FilterArguments, RunArguments
from deep_research.research.memories import MemoryExport
from deep_research.research.operations import OPERATIONS, Operation
from deep_research.research.result import ResearchResult
from deep_research.research.run_summary import RunDetail, RunSummary
from deep_research.research.runs import Waiting
from deep_research.state import Budget, ParkedKind, RunOptions, RunStatus
from deep_research.state.events import Event

MAX_TEXT_CHARS = 100_000  # of guidance, an answer and the like
MAX_NAME_CHARS = 200
_RESULTS = {
    model.__name__: model
    for model in (
        *(Estimate, Event, Manifest, MemoryEntry, MemoryExport),
        *(ResearchResult, RunDetail, RunSummary, Verification, Waiting),
    )
}
# The names in the signatures of verbs, which their modules import for type checkers alone.
_NAMES: Mapping[str, Any] = {
    **_RESULTS,
    **{kind.__name__: kind for kind in (Budget, date, datetime, FilterArguments, RunArguments)},
    **dict.fromkeys(("Citation", "Path", "Quote", "SharedBudget", "Source"), Any),
    "Callable": Callable,
    "Sequence": Sequence,
    "Kinds": Sequence[str],
}
_OF_ID = "research_id"
# Parameters whose type says less in the signature than may be sent.
_NARROWER: Mapping[str, Any] = {
    "status": RunStatus,
    "parked_kind": ParkedKind,
    "kind": MemoryKind,
    "kinds": Annotated[list[MemoryKind], Field(max_length=len(MemoryKind))],
    "ids": Annotated[
        list[Annotated[str, Field(max_length=MAX_ID_CHARACTERS)]], Field(max_length=MAX_ENTRIES_OF_USER)
    ],
}


class StrictModel(BaseModel):
    """A request, in which only names that are known may stand."""

    model_config = ConfigDict(extra="forbid")


@cache
def result_of(operation: Operation) -> type[BaseModel] | None:
    """The model of what a verb gives, of which a ``Sequence[...]`` has several; None where it is no model."""
    return _RESULTS.get(operation.result.removeprefix("Sequence[").removesuffix("]"))


def request_model(
    verb: str,
    *,
    of_query: bool = False,
    without: Collection[str] = (),
    more: Mapping[str, tuple[Any, Any]] | None = None,
) -> type[StrictModel] | None:
    """The parameters of a verb beside the id of its run as a model, ``without`` some, and with ``more`` fields, as
    `pydantic.create_model` takes them. Values ``of_query`` are texts, of which numbers and truth values are read; in a
    body they have to be such. None for a verb that has none."""
    fields: dict[str, Any] = {
        name: definition if of_query else (_strict(definition[0]), definition[1])
        for name, definition in _fields(OPERATIONS[verb])
        if name not in without and name != _OF_ID
    }
    fields |= more or {}
    if not fields:
        return None
    return create_model(f"{verb.title()}Request", __base__=StrictModel, **fields)


def _fields(operation: Operation) -> Iterator[tuple[str, tuple[Any, Any]]]:
    verb = getattr(DeepResearch, f"a{operation.name}")
    hints = get_type_hints(verb, globalns=vars(inspect.getmodule(verb)), localns=dict(_NAMES))
    help_texts = {parameter.name: parameter.help for parameter in operation.parameters}
    for name, parameter in list(inspect.signature(verb).parameters.items())[1:]:
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            default = ... if parameter.default is inspect.Parameter.empty else parameter.default
            yield name, _field(name, hints[name], default, help_texts.get(name, ""))
    if operation.options:
        for name, info in RunOptions.model_fields.items():
            yield name, (info.annotation, _unset(info))
    if operation.name == "list":
        for name, hint in get_type_hints(FilterArguments).items():
            yield name, _field(name, hint, None, help_texts.get(name, ""))


def _field(name: str, hint: Any, default: Any, text: str) -> tuple[Any, Any]:
    if name in _NARROWER:
        hint = _NARROWER[name] if default is ... else _NARROWER[name] | None
    bounds: dict[str, Any] = {}
    if hint is str or hint == str | None:
        bounds = {"max_length": MAX_TEXT_CHARS if default is ... or default == "" else MAX_NAME_CHARS}
    return hint, Field(default, description=text or None, **bounds)


def _strict(hint: Any) -> Any:
    """A scalar, as JSON has it: ``"3"`` is no number, and ``1`` is not true."""
    kinds = set(get_args(hint)) or {hint}
    return Annotated[hint, Strict()] if kinds <= {bool, int, float, NoneType} else hint


def _unset(info: FieldInfo) -> FieldInfo:
    """A field of `RunOptions` as a request may leave it out: the settings of the engine have its default."""
    copied = copy(info)
    copied.default, copied.default_factory, copied.validate_default = None, None, False
    return copied


def arguments(model: BaseModel | None) -> dict[str, Any]:
    """What a request names, by parameter."""
    if model is None:
        return {}
    return {name: getattr(model, name) for name in type(model).model_fields if name in model.model_fields_set}
