"""One table of verbs: the engine, the handle of a run and the command line have what it says."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

import pytest

from deep_research import DeepResearch, ResearchHandle
from deep_research.research.arguments import FilterArguments
from deep_research.research.operations import OPERATIONS, Operation, Right

ROWS = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=list(OPERATIONS))
# What only a caller in Python can give: a function that hears of progress.
CALLBACKS = {("verify", "progress")}
# Of a run that is watched these are live: the result is waited for, the events come as they happen.
LIVE = {"result", "events"}


def parameters(verb: Callable[..., Any]) -> list[inspect.Parameter]:
    """Those of a verb without ``self``; the filters of a listing are each one."""
    given = list(inspect.signature(verb).parameters.values())[1:]
    named = [each for each in given if each.kind is not inspect.Parameter.VAR_KEYWORD]
    if len(named) < len(given) and given[-1].name == "filters":
        kind, default = inspect.Parameter.KEYWORD_ONLY, None
        named += [inspect.Parameter(name, kind, default=default) for name in get_type_hints(FilterArguments)]
    return named


def test_every_verb_of_the_engine_is_a_row_and_every_row_a_verb() -> None:
    public = {name for name in dir(DeepResearch) if not name.startswith("_")}
    verbs = {name for name in public if f"a{name}" in public}
    assert verbs - {"close"} == set(OPERATIONS)


@ROWS
def test_a_verb_has_the_parameters_and_the_result_of_its_row_in_both_its_forms(operation: Operation) -> None:
    plain, coroutine = getattr(DeepResearch, operation.name), getattr(DeepResearch, f"a{operation.name}")
    assert inspect.iscoroutinefunction(coroutine)
    assert not inspect.iscoroutinefunction(plain)
    assert inspect.signature(plain) == inspect.signature(coroutine)
    assert inspect.signature(plain).return_annotation == operation.result
    assert (plain.__name__, plain.__doc__) == (operation.name, coroutine.__doc__)
    assert plain.__doc__
    given = parameters(coroutine)
    if operation.of_run:
        assert given.pop(0).name == "research_id"
    told = {parameter.name: parameter for parameter in operation.parameters}
    assert {each.name for each in given} - {n for o, n in CALLBACKS if o == operation.name} == told.keys()
    for each in given:
        if each.name in told:
            assert (each.default is not each.empty) == told[each.name].optional, each.name
            assert told[each.name].positional <= (each.kind is each.POSITIONAL_OR_KEYWORD), each.name


@ROWS
def test_a_verb_about_one_run_is_one_of_its_handle(operation: Operation) -> None:
    if not operation.of_run:
        assert not hasattr(ResearchHandle, operation.name)
        return
    for name in (operation.name, f"a{operation.name}"):
        own, engines = getattr(ResearchHandle, name), getattr(DeepResearch, name)
        if operation.name not in LIVE:
            assert parameters(own) == parameters(engines)[1:]
            assert own.__doc__ == engines.__doc__


def test_a_handle_calls_the_verbs_of_its_engine_with_its_run() -> None:
    class Engine:
        def steer(self, research_id: str, text: str, *, stop_searching: bool = False) -> None:
            calls.append((research_id, text, stop_searching))

    calls: list[tuple[str, str, bool]] = []
    handle = ResearchHandle(Engine(), "deepres-0123456789ab", None)  # type: ignore[arg-type]
    handle.steer("Mind the keepers.", stop_searching=True)
    assert calls == [("deepres-0123456789ab", "Mind the keepers.", True)]


@pytest.mark.parametrize(
    ("right", "names"),
    [
        (Right.READ, "events list pack report result status text verify waiting"),
        (Right.CREATE, "estimate run start"),
        (Right.CONTROL, "answer cancel pause resume steer"),
        (Right.DELETE, "delete"),
        (Right.ADMIN, "drain skipped wake"),
    ],
)
def test_the_right_that_a_verb_needs(right: Right, names: str) -> None:
    assert sorted(o.name for o in OPERATIONS.values() if o.right is right) == names.split()
