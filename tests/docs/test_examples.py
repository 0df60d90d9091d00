"""The examples of the docs are run as they stand; generated pages are held against their source."""

import re
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
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)[^)]*\)")


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_of_the_docs_runs_as_it_stands(code, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    exec(compile(code, "example", "exec"), {"__name__": "__main__"})
    assert "Error" not in capsys.readouterr().out


def test_the_diagram_of_the_architecture_page_is_the_transition_table():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    (diagram,) = re.findall(r"^```mermaid\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert diagram == mermaid(), "run `python docs/generate.py`"


@pytest.mark.parametrize("page", [p for p in PAGES if p.exists()], ids=lambda p: p.name)
def test_every_link_between_pages_leads_to_a_file(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
