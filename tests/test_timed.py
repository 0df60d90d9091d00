"""Whatever waits, has a deadline or looks at a clock is marked `timed`, so that all of it can be run where it is tried
hardest: on a machine that stands still for seconds. `pytest -m timed` runs them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
BY_THEMSELVES = {"benchmarks", "conftest.py"}  # figures, and fixtures by which a hook marks the tests

CLOCKS = {"perf_counter", "monotonic", "thread_time", "process_time"}
CLOCKS |= {f"{clock}_ns" for clock in CLOCKS}
WAITS = {"acquire", "aresult", "communicate", "exception", "join", "result", "settimeout", "wait"}
DEADLINE = re.compile(r"(?:.+_)?(?:timeout|deadline|patience|seconds)")
SPANS = {
    "timedelta",
    "day",
    "picture",
    "Outcome",
    "ModelSettled",
    "FetchSettings",
}  # whose seconds nobody waits for
SUITES = re.compile(
    r"(?:deep_research\.testing\..+_suite|servers\.fault_table)(?:\..+)?"
)  # their checks wait


def is_span(node: ast.expr) -> bool:
    """Whether it is a number above 0, or the name of one."""
    match node:
        case ast.Constant(value=bool()):
            return False
        case ast.Constant(value=int() | float() as value):
            return value > 0
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.isupper()
        case ast.BinOp(left=left, right=right):
            return is_span(left) and is_span(right)
    return False


def is_timed(call: ast.Call) -> bool:
    """Whether a call looks at a clock, waits for so long or sets a deadline."""
    match call.func:
        case ast.Attribute(value=ast.Constant()):  # "".join(NAMES)
            return False
        case ast.Attribute(value=owner, attr=name):
            of = owner.id if isinstance(owner, ast.Name) else "?"
        case ast.Name(id=name):
            of = ""
        case _:
            return False
    first = call.args[0] if call.args else ast.Constant(value=0)
    if name == "sleep":
        return not (isinstance(first, ast.Constant) and first.value == 0)
    if name in CLOCKS | {"wait_for", "timeout_at"} or (
        (of, name) == ("asyncio", "timeout") and is_span(first)
    ):
        return True
    if of and name in WAITS and is_span(first):
        return True
    named = (word for word in call.keywords if word.arg and DEADLINE.fullmatch(word.arg))
    return name not in SPANS and any(is_span(word.value) for word in named)


def timed_lines(tree: ast.AST) -> list[int]:
    return [
        node.lineno
        for node in ast.walk(tree)
        if (isinstance(node, ast.Call) and is_timed(node))
        or (isinstance(node, ast.Constant) and is_option(node.value))
    ]


def is_option(value: object) -> bool:
    """Whether it is a deadline as the command line takes it."""
    return isinstance(value, str) and re.fullmatch(r"\w+_timeout=[\d.]+", value) is not None


def is_marked(node: ast.AST) -> bool:
    """Whether a definition is decorated, or a module says of itself, that it is timed."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            marks = node.decorator_list
        case ast.Module():
            marks = [line.value for line in node.body if isinstance(line, ast.Assign)
                     and ast.unparse(line.targets[0]) == "pytestmark"]  # fmt: skip
        case _:
            return False
    return any("pytest.mark.timed" in ast.unparse(mark) for mark in marks)


def is_test(node: ast.AST) -> bool:
    return isinstance(
        node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    ) and node.name.lower().startswith("test")


def imported(tree: ast.Module) -> Iterator[str]:
    """The modules and the names of modules that are imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def waiting_names(module: str, tree: ast.Module) -> set[str]:
    """What of a module beside the tests waits, as `imported` names it."""
    names = {f"{module}.{getattr(node, 'name', '*')}" for node in tree.body if timed_lines(node)}
    return names | {module} if names else set()


def unmarked(
    tree: ast.Module, helpers: frozenset[str] = frozenset(), *, shared: bool = False
) -> Iterator[str]:
    """What of a module of tests should be marked and is not. ``helpers``: what waits in modules beside it; ``shared``:
    whether the fixtures of its folder do."""
    if is_marked(tree):
        return
    if shared:
        yield "the module: fixtures of its folder wait"
    for name in imported(tree):
        if name in helpers or SUITES.fullmatch(name):
            yield f"the module: it imports {name}"
    for node in tree.body:
        lines = [] if is_marked(node) else timed_lines(node)
        if lines and is_test(node):
            yield f"{node.name}: line {lines[0]}"  # type: ignore[attr-defined]
        elif lines:
            yield f"the module: line {lines[0]} is outside of its tests"


def parsed() -> dict[Path, ast.Module]:
    paths = [path for path in TESTS.rglob("*.py") if path.relative_to(TESTS).parts[0] not in BY_THEMSELVES]
    return {path: ast.parse(path.read_text("utf-8")) for path in paths}


def test_all_that_waits_is_marked():
    trees = parsed()
    timed = {path for path, tree in trees.items() if timed_lines(tree)}
    beside = {path for path in timed if not path.name.startswith(("test_", "conftest"))}
    helpers = frozenset(name for path in beside for name in waiting_names(path.stem, trees[path]))
    found = [
        f"{path.relative_to(TESTS)}: {what}"
        for path, tree in sorted(trees.items())
        if path.name.startswith("test_")
        for what in unmarked(tree, helpers, shared=path.with_name("conftest.py") in timed)
    ]
    assert not found, "\n".join(["These want `pytest.mark.timed`:", *found])


@pytest.mark.parametrize(
    "line",
    [
        "time.monotonic()", "perf_counter_ns()", "await asyncio.sleep(0.1)", "sleep(some)", "thread.join(5)",
        "handle.result(timeout=2)", "event.wait(PATIENCE)", "await asyncio.wait_for(it, limit)",
        "asyncio.timeout(3 * PATIENCE)", "subprocess.run(command, timeout=30)", "FetchLimits(seconds=5.0)",
        "research(operation_timeout=0.5)", "Fault('hang', patience=0.02)", "Budget(max_seconds=9)",
    ],
)  # fmt: skip
def test_what_waits_is_seen(line):
    inside = f"async def test_one():\n    def journey():\n        {line.removeprefix('await ')}\n"
    assert list(unmarked(ast.parse(inside))) == ["test_one: line 3"]
    assert not list(unmarked(ast.parse(f"@pytest.mark.timed\n{inside}")))
    assert not list(unmarked(ast.parse(f"pytestmark = [pytest.mark.timed]\n{inside}")))
    assert list(unmarked(ast.parse(f"def helper():\n    {line.removeprefix('await ')}\n")))


@pytest.mark.parametrize(
    "line",
    [
        "asyncio.sleep(0)", "', '.join(parts)", "thread.join()", "handle.result()", "timedelta(seconds=5)",
        "send(seconds=None)", "pytest.mark.timeout(600)", "process.wait()", "run(timeout=None)",
    ],
)  # fmt: skip
def test_what_does_not_wait_is_left_alone(line):
    assert not list(unmarked(ast.parse(f"def test_one():\n    {line}\n")))


@pytest.mark.parametrize(
    ("line", "waits"),
    [
        ("from deep_research.testing.store_suite import Bench", True),
        ("import beside", True),
        ("from beside import slow", True),
        ("from beside import quick", False),
        ("from elsewhere import slow", False),
    ],
)
def test_what_is_imported_may_wait(line, waits):
    beside = ast.parse("def slow():\n    sleep(1)\ndef quick():\n    pass\n")
    assert bool(list(unmarked(ast.parse(line), frozenset(waiting_names("beside", beside))))) is waits


def test_a_test_with_a_clock_among_its_fixtures_is_marked(least, request):
    assert request.node.get_closest_marker("timed")
