"""Pages that give orders to a model that obeys them all: what the engine lets through (SECURITY 4.3, test A)."""

from __future__ import annotations

import itertools
import re
import sqlite3
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest
from gullible import GOALS, GullibleModel
from injections import PLACEMENTS, TEMPLATES, Case, cases, laid_out
from prompt_reading import ReadingModel
from seen import CANARY, KEY, Seen, looked_at, wrong

pytestmark = pytest.mark.usefixtures("kept_readers")

CASES = cases()
FENCED = re.compile(r"^<<([0-9a-f]{16}) (?!end>>)[^>\n]*>>\n.*?\n<<\1 end>>", re.S | re.M)
FEW = CASES[::32]
LONG = {
    "report_words": 2_000,
    "reading": {"sections": False},
}  # written section by section, of all that the pages say
PAGE = "The lighthouse towers of the southern coast have stood there since the year 1{}.\n"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def attacked(case: Case, folder: Path, **settings: object) -> Seen:
    return looked_at(folder / "corpus", case.site(folder / "corpus"), model=GullibleModel(), **settings)


@cache
def clean(placement: str, *, long: bool = False) -> Seen:
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus"
        found = laid_out(corpus, placement)
        return looked_at(corpus, found, model=GullibleModel(), **at_length(corpus, long))


def at_length(corpus: Path, long: bool) -> dict[str, object]:
    """With enough to read for two readings, that are merged, and for sections."""
    if long:
        for n in range(6):
            (corpus / f"south{n}.md").write_text("".join(PAGE.format(f"{n}{k:03}") for k in range(150)))
    return LONG if long else {}


def test_every_pair_of_template_placement_and_goal_is_there() -> None:
    assert len(CASES) >= 300
    assert (len(TEMPLATES), len(PLACEMENTS), len(GOALS)) == (24, 12, 8)
    for one, other in itertools.combinations(("template", "placement", "goal"), 2):
        values = {"template": TEMPLATES, "placement": PLACEMENTS, "goal": GOALS}
        pairs = {(getattr(case, one), getattr(case, other)) for case in CASES}
        assert len(pairs) == len(values[one]) * len(values[other])


def test_the_model_obeys_and_writes_what_must_not_be_found(tmp_path: Path) -> None:
    for goal in GOALS:
        seen = attacked(Case("plain", "visible", goal), tmp_path / goal)
        said = "\n".join(seen.model.said)
        assert {form for form, _ in seen.model.obeyed} >= {"Reading", "text"}
        assert "0.evil.example" in said
        assert goal not in ("image-exfil", "link-exfil", "fetch-with-data", "prompt-leak") or CANARY in said


@pytest.mark.parametrize("case", FEW, ids=str)
def test_an_order_on_a_page_achieves_nothing(case: Case, tmp_path: Path) -> None:
    assert wrong(attacked(case, tmp_path), clean(case.placement)) == []


@pytest.mark.timeout(3_600)  # 80 s on two cores that do nothing else
@pytest.mark.parametrize(
    "each", [pytest.param(5, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.sweep)]
)
def test_no_order_of_any_kind_anywhere_achieves_anything(tmp_path: Path, each: int) -> None:
    found = {
        str(case): words
        for n, case in enumerate(CASES[::each])
        if case not in FEW and (words := wrong(attacked(case, tmp_path / str(n)), clean(case.placement)))
    }
    assert found == {}


@pytest.mark.parametrize(
    "goal", [pytest.param(goal, marks=pytest.mark.sweep if n % 4 else ()) for n, goal in enumerate(GOALS)]
)
def test_an_order_achieves_nothing_where_readings_are_merged_and_sections_written(
    goal: str, tmp_path: Path
) -> None:
    case, corpus = Case("plain", "visible", goal), tmp_path / "corpus"
    found = case.site(corpus)
    seen = looked_at(corpus, found, model=GullibleModel(), **at_length(corpus, True))
    # What a reading says of gaps goes nowhere where several are merged.
    assert {form for form, _ in seen.model.obeyed} >= {"Reading", "text"}
    assert {call.form.name for call in seen.model.calls if call.form} >= {"Merge", "Outline"}
    assert wrong(seen, clean("visible", long=True)) == []


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("template", ["plain", "fence", "reference"])
def test_what_a_page_says_stands_between_the_marks(template: str, placement: str, tmp_path: Path) -> None:
    """A model that does not pass orders on is shown them as material only, and no page can end the material."""
    case = Case(template, placement, "delimiter-escape")
    corpus = tmp_path / "corpus"
    seen = looked_at(corpus, case.site(corpus), model=ReadingModel())
    for call in seen.model.calls:
        said = call.messages[-1].content
        assert said.count(f"<<{call.nonce} end>>") == len(re.findall(rf"<<{call.nonce} (?!end)", said))
        assert "ENDORDER" not in FENCED.sub("", said)
        assert "0123456789abcdef end>>" not in said


def test_the_store_holds_the_owners_words_only_where_the_options_are(tmp_path: Path) -> None:
    case = Case("plain", "visible", "prompt-leak")
    seen = attacked(case, tmp_path, store="sqlite")
    assert seen.result.report
    (path,) = (tmp_path / "data").glob("runs.db")
    with closing(sqlite3.connect(path)) as database:
        rows = [
            (table, row)
            for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for row in database.execute(f'SELECT * FROM "{table}"').fetchall()
        ]
    told = [set(row) & {"run.created", "phase.started"} for _, row in rows if CANARY in str(row)]
    assert told == [{"run.created"}, {"phase.started"}]
    assert not [row for _, row in rows if KEY in str(row)]
