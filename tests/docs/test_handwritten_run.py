"""The example of a run with a model, whose answers a person wrote: from the plan to the second version of its report."""

import importlib.util
from pathlib import Path

import pytest

from deep_research.report.report_document import Document
from deep_research.state import ClaimVerdict

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def handwritten():
    spec = importlib.util.spec_from_file_location("handwritten", DOCS / "handwritten.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_run_leads_from_a_plan_to_a_second_report_that_changes_one_section(handwritten):
    person = handwritten.Person()
    result = handwritten.run(person)
    assert [kind for kind in person.asked if kind != "reading"] == ["plan", "report", "judgement", "revision"]
    page = (DOCS / "examples" / "cape-hatteras-with-a-model.md").read_text(encoding="utf-8")
    assert page.endswith(result.report)
    assert "written by hand" in page.partition("\n")[0]
    first = {each.heading: each.markdown for each in Document.read(person.answers["report"]["text"]).sections}
    second = {each.heading: each.markdown for each in Document.read(result.state.report_draft).sections}
    assert second["What remains open"] != first["What remains open"]
    changed = person.answers["revision"]["text"].strip().partition("\n\n")[2].partition(" [")[0]
    assert changed in second["What remains open"]
    assert all(claim.verdict is not ClaimVerdict.CONTRADICTED for claim in result.claims)


def test_the_same_answers_make_the_same_report(handwritten):
    assert handwritten.report() == handwritten.report()
