"""Every fault of a model service against every provider. `python tests/models/fault_table.py` prints the table; so does
this file when it is run with `-s`."""

import importlib.util
from pathlib import Path

import pytest
from servers import FAULT_KINDS
from servers.fault_expectations import WAYS, Outcome, expected
from servers.fault_table import Cell, Subject, cells, table

from deep_research.testing.models import ScriptedProvider

pytestmark = pytest.mark.timed

SPEC = importlib.util.spec_from_file_location("fault_table", Path(__file__).with_name("fault_table.py"))
SCRIPT = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(SCRIPT)


@pytest.fixture(scope="module")
def seen():
    found = []
    yield found
    print(f"\n\n{table(found)}")


# `python tests/models/fault_table.py`, which `.ci/run` runs, takes all of them.
@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=pytest.mark.sweep if n % 4 else ()) for n, kind in enumerate(FAULT_KINDS)],
)
def test_a_fault_ends_in_the_right_verdict_with_true_books_in_time(kind, seen):
    found = cells(SCRIPT.subjects(), (kind,))
    seen += found
    assert not [str(cell) for cell in found if cell.wrong]


def test_every_fault_has_an_expectation_of_at_most_four_requests():
    for kind in FAULT_KINDS:
        for way in WAYS:
            for says in (True, False):
                for outcome in expected(kind, way, forms=2, says_refusals=says):
                    assert 1 <= outcome.requests <= 4


def test_a_provider_that_keeps_no_rule_is_found_out():
    """One that does not ask the server at all, and says that it did."""
    found = cells([Subject("liar", lambda url: ScriptedProvider(['{"name": "x", "ids": []}']))], ("500",))
    assert all("the server had 0 requests" in cell.wrong for cell in found)
    assert "WRONG liar, text, 500 once" in table(found)


def test_the_table_fits_80_columns():
    wide = [
        Cell(name, "429-after-minus-5", way, forever, Outcome("transient", 4))
        for name in ("responses", "chat", "ollama", "anthropic")
        for way in WAYS
        for forever in (False, True)
    ]
    assert max(map(len, table(wide).splitlines())) <= 80
