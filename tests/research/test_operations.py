"""One table of verbs: the engine, the handle of a run and the command line have what it says."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, assert_type, get_type_hints

import pytest

from deep_research import DeepResearch, ResearchHandle, ResearchResult, RunDetail
from deep_research.interfaces.cli.options import BY_NAME
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
        (
            Right.READ,
            "events list memory_export memory_list memory_show pack report result session_turns sessions status text "
            "verify waiting",
        ),
        (Right.CREATE, "estimate run start submit"),
        (Right.CONTROL, "answer cancel memory_add memory_edit pause resume session_rename steer"),
        (Right.DELETE, "delete memory_forget session_delete"),
        (Right.ADMIN, "drain skipped wake work"),
    ],
)
def test_the_right_that_a_verb_needs(right: Right, names: str) -> None:
    assert sorted(o.name for o in OPERATIONS.values() if o.right is right) == names.split()


# What the options of a command say in other words than its parameters; None: it cannot be given at the prompt.
IN_OTHER_WORDS: dict[str, dict[str, str | None]] = {
    "resume": {"setup": "--with-new-setup", "budget": "--max-usd", "shared_budget": None},
    "answer": {"run": "--no-run"},
}
# Verbs whose command has another name, or which are an option of another one; None: those of a program.
COMMANDS_OF: dict[str, str | None] = {
    "estimate": "run",  # --estimate
    "result": "show",  # --json
    "report": "show",
    "skipped": "doctor",  # --skipped
    "work": "worker",
    **dict.fromkeys(("sessions", "session_turns", "session_rename", "session_delete"), "sessions"),
    **dict.fromkeys(
        ("memory_list", "memory_show", "memory_add", "memory_edit", "memory_export", "memory_forget"),
        "memory",
    ),
    **dict.fromkeys(("start", "text", "drain")),
}


@ROWS
def test_a_verb_is_a_command_with_its_parameters(operation: Operation) -> None:
    if operation.name in COMMANDS_OF:
        assert COMMANDS_OF[operation.name] in {None, *BY_NAME}
        return
    command = BY_NAME[operation.name]
    assert command.summary == operation.summary
    flags = {option.flag for option in command.options}
    of_verb = {option.dest: option for option in command.options if option.of_verb}
    others = IN_OTHER_WORDS.get(operation.name, {})
    for parameter in operation.parameters:
        if parameter.name in others:
            assert others[parameter.name] in {None, *flags}
        elif parameter.positional:
            assert parameter.name in command.positional or operation.name in ("run", "submit")
            assert any(name.strip("[]") == parameter.value for name, _ in command.arguments)
        else:
            option = of_verb.pop(parameter.name)
            assert (option.help, option.metavar) == (parameter.help, parameter.value)
    assert not of_verb


def test_every_other_command_is_no_verb() -> None:
    assert set(BY_NAME) - set(OPERATIONS) == {
        "show",
        "chat",
        "replay",
        "archive",
        "memory",
        "doctor",
        "completion",
        "worker",
        "assist",
        "mcp",
        "serve",
        "researcher",
        "token",
    }


def test_a_type_checker_sees_the_parameters_and_results_of_every_form() -> None:
    """Judged by mypy, which is run over this file too and refuses an ignore that nothing needs."""

    async def typed(engine: DeepResearch, handle: ResearchHandle) -> None:
        assert_type(engine.run("Who?", max_iterations=2), ResearchResult)
        assert_type(await engine.arun("Who?"), ResearchResult)
        assert_type(engine.status(research_id="deepres-0123456789ab"), RunDetail)
        assert_type(handle.status(), RunDetail)
        assert_type(await handle.astatus(), RunDetail)
        assert_type(handle.answer("Yes.", run=False), ResearchResult | None)
        engine.run("Who?", max_iteration=2)  # type: ignore[call-arg]
        engine.steer("deepres-0123456789ab", 3)  # type: ignore[arg-type]
        handle.steer(stop_searching="yes")  # type: ignore[arg-type]
        engine.list(stat="parked")  # type: ignore[call-arg]

    assert inspect.iscoroutinefunction(typed)
