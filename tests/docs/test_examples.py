"""The examples of the docs are run as they stand; generated pages are held against their source.

One that begins with the name of a file (``# my_package.py``) is a module as well, which the others may import.
"""

import re
import runpy
import sys
from pathlib import Path

import pytest

from deep_research.state.transitions import mermaid

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLES = [
    pytest.param(code, id=f"{page.name}-{number}")
    for page in PAGES
    if page.exists()
    for number, code in enumerate(PYTHON.findall(page.read_text(encoding="utf-8")), 1)
]
MODULE = re.compile(r"# (\w+)\.py\n")
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)[^)]*\)")


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """A folder with the examples that are modules, which is looked through for imports."""
    folder = tmp_path_factory.mktemp("modules")
    for example in EXAMPLES:
        (code,) = example.values
        if name := MODULE.match(code):
            (folder / f"{name[1]}.py").write_text(code, encoding="utf-8")
    sys.path.append(str(folder))
    yield folder
    sys.path.remove(str(folder))


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_of_the_docs_runs_as_it_stands(code, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    exec(compile(code, "example", "exec"), {"__name__": "__main__"})
    assert "Error" not in capsys.readouterr().out


# Of each script under docs/examples some of what it prints.
SCRIPTS = {
    "driving/walk_away.py": ["completed yes", "who built bell rock: ", "# who built bell rock"],
    "driving/dynamic_count.py": ["2 sub-queries: how tall", "4 sub-queries: who built"],
    "driving/parallel_answering.py": ["1 at a time: ", "4 at a time: ", "the same report: true"],
    "driving/model_per_phase.py": [
        "planning planner scripted:cheap-1 1 requests",
        "synthesis synthesizer scripted:dear-1 1 requests",
        "first shown on 1 february 1811. it turned",
    ],
    "driving/mid_run_inspection.py": [
        "parked a look at the answers",
        "answered: how tall is the cape hatteras lighthouse?: ",
        "goes on: completed",
        "not_found: who won the chess olympiad of 1972?: the search found no source.",
        "ends: aborted",
    ],
    "driving/failure_in_status.py": [
        "aborted no_evidence",
        "failed: how tall is the cape hatteras lighthouse?: the service is down.",
        "completed yes",
    ],
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_of_the_docs_runs_as_it_stands(script, capsys):
    path = ROOT / "docs" / "examples" / script
    runpy.run_path(str(path), run_name="__main__")
    printed = capsys.readouterr().out
    assert [line for line in SCRIPTS[script] if line not in printed.casefold()] == []
    assert "Error" not in printed


def test_every_script_of_the_docs_is_run():
    folder = ROOT / "docs" / "examples"
    assert {path.relative_to(folder).as_posix() for path in (folder / "driving").glob("*.py")} <= set(SCRIPTS)


def test_the_diagram_of_the_architecture_page_is_the_transition_table():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    (diagram,) = re.findall(r"^```mermaid\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert diagram == mermaid(), "run `python docs/generate.py`"


def test_every_module_that_the_architecture_page_names_is_there():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    every = {path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py") if ".venv" not in path.parts}
    named = re.findall(r"`([\w./]+\.(?:py|toml))`", page)
    assert len(named) > 50
    every |= {path.relative_to(ROOT).as_posix() for path in (ROOT / "deep_research").rglob("*.toml")}
    assert [name for name in named if not any(f"/{path}".endswith(f"/{name}") for path in every)] == []


@pytest.mark.parametrize("page", [p for p in PAGES if p.exists()], ids=lambda p: p.name)
def test_every_link_between_pages_leads_to_a_file(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
