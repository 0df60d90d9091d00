"""The wheel: what it holds, and that the suites in it do for a third party who has nothing else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WHEEL = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
MAX_TESTING_LINES = 6_800

EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLES = [
    code
    for page in ("search", "testing")
    for code in EXAMPLE.findall((ROOT / "docs" / f"{page}.md").read_text("utf-8"))
]
SUITES = [
    code
    for code in EXAMPLES
    if "_suite import" in code and "promises kept" in code and "from servers" not in code
]
STORE = """
from deep_research.store import MemoryStore
from deep_research.testing.store_suite import Ability, Bench, checks_for

for check in checks_for(lacks=frozenset(Ability)):
    with Bench(lambda now: MemoryStore(now=now)) as bench:
        check(bench)
print(len(checks_for(lacks=frozenset(Ability))), "promises kept")
"""
TOOL = """
from pydantic import BaseModel, Field
from deep_research import Tool, ToolResult
from deep_research.errors import ToolError
from deep_research.phases.gathering import GatheredSource
from deep_research.testing.tool_suite import TOOL_CHECKS, ToolSubject

class Word(BaseModel, extra="forbid"):
    word: str = Field(description="a word of the company", min_length=1, max_length=80)

class Glossary(Tool):
    name = "glossary"
    description = "Say what a word of the company means."
    arguments = Word

    async def __call__(self, arguments, view):
        if arguments.word != "head race":
            raise ToolError("No meaning of this word is known.")
        return ToolResult(sources=(GatheredSource(title="head race", content="A head race leads water."),))

for check in TOOL_CHECKS:
    check(ToolSubject(tool=Glossary(), arguments={"word": "head race"}, says=("leads water",)))
print(len(TOOL_CHECKS), "promises kept")
"""
ALONE = "\nimport sys\nassert not {'servers', 'evals', 'gullible'} & set(sys.modules)\n"


def listing() -> list[str]:
    """The files of the wheel, as its build target names them."""
    places = {package: package for package in WHEEL["packages"]} | WHEEL["force-include"]
    return [
        f"{target}/{path.relative_to(ROOT / source).as_posix()}"
        for source, target in places.items()
        for path in (ROOT / source).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]


def test_the_wheel_has_neither_servers_nor_evaluations() -> None:
    files = listing()
    assert len(files) > 400
    names = {part for file in files for part in Path(file).with_suffix("").parts}
    assert not names & {"evals", "servers", "tests", "gullible", "prompt_reading", "fault_table", "witness"}
    wires = {path.stem for path in (ROOT / "tests" / "servers").glob("wire_*.py")}
    assert len(wires) > 8
    assert not names & wires


def test_the_testing_room_is_small() -> None:
    room = ROOT / "deep_research" / "testing"
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in room.rglob("*.py"))
    assert lines <= MAX_TESTING_LINES


@pytest.mark.timed
@pytest.mark.parametrize("code", [*SUITES, STORE, TOOL])
def test_a_suite_checks_what_a_third_party_wrote_with_the_wheel_alone(code: str, tmp_path: Path) -> None:
    (tmp_path / "deep_research").symlink_to(ROOT / "deep_research")
    (module,) = (example for example in EXAMPLES if example.startswith("# my_package.py\n"))
    (tmp_path / "my_package.py").write_text(module, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", code + ALONE],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert int(re.findall(r"(\d+) promises kept", done.stdout)[0]) >= 7


def test_three_suites_have_an_example_that_needs_no_server() -> None:
    assert {name for code in SUITES for name in re.findall(r"(\w+_suite) import", code)} == {
        "model_suite",
        "reader_suite",
        "search_suite",
    }
