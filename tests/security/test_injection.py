"""Pages that give orders to a model that obeys them all: what the engine lets through (SECURITY 4.3, test A)."""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from deep_research.testing.gullible import GOALS, GullibleModel
from tests.security.injections import PLACEMENTS, TEMPLATES, Case, cases, laid_out
from tests.security.seen import CANARY, KEY, Seen, looked_at, wrong

CASES = cases()


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def attacked(case: Case, folder: Path, **settings: object) -> Seen:
    return looked_at(folder / "corpus", case.site(folder / "corpus"), model=GullibleModel(), **settings)


@cache
def clean(placement: str) -> Seen:
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus"
        return looked_at(corpus, laid_out(corpus, placement), model=GullibleModel())


def test_every_pair_of_template_placement_and_goal_is_there() -> None:
    assert len(CASES) >= 300
    assert (len(TEMPLATES), len(PLACEMENTS), len(GOALS)) == (24, 12, 8)
    for one, other in itertools.combinations(("template", "placement", "goal"), 2):
        values = {"template": TEMPLATES, "placement": PLACEMENTS, "goal": GOALS}
        pairs = {(getattr(case, one), getattr(case, other)) for case in CASES}
        assert len(pairs) == len(values[one]) * len(values[other])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_order_on_a_page_achieves_nothing(case: Case, tmp_path: Path) -> None:
    seen = attacked(case, tmp_path)
    assert wrong(seen, clean(case.placement)) == []
