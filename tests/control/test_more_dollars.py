"""Dollars and pages: a run that ends or waits at such a cap tells what it would take, and goes on under a higher one, in
Python and at the prompt."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from prompt_reading import ReadingModel
from servers import WebSite, web_reply

from deep_research import Budget, DeepResearch, RunStatus
from deep_research.interfaces.cli.main import main
from deep_research.sources.search import SearchRequest, SearchResult
from deep_research.state import ParkedKind
from deep_research.state.events import BudgetRaised, RunParked, RunResumed
from deep_research.testing import ScriptedSearch

pytestmark = pytest.mark.usefixtures("kept_readers")

QUESTION = "Who built Bell Rock, how tall is it and when was it lit?"
TOWER = "What is said about the tower of the reef?"
PROFILE = '["reading:m"]\nprice = { input = 2.0, output = 10.0 }\n'  # dollars for a million tokens
NOTHING, A_PART, ENOUGH = 0.01, 0.045, 10.0  # dollars: for no request, for some, for all


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    (path := tmp_path / "models.toml").write_text(PROFILE, encoding="utf-8")
    return path


def engine(prices: Path, search: ScriptedSearch, model: ReadingModel | None, **more: Any) -> DeepResearch:
    made = {"model": model and [model], "search": [search], "max_iterations": 2, "data_dir": prices.parent}
    return DeepResearch(model_file=prices, **made | more)


def asked(search: ScriptedSearch) -> Counter[str]:
    return Counter(request.query for request in search.requests)


def said(model: ReadingModel) -> list[tuple[str, str]]:
    return [(call.system, call.messages[-1].content) for call in model.calls]


@pytest.mark.parametrize("on_budget_exhausted", ["report", "ask"])
@pytest.mark.parametrize("cap", [NOTHING, A_PART])
def test_a_run_that_dollars_ended_goes_on_under_more_and_no_request_is_paid_twice(
    prices, cap, on_budget_exhausted
):
    search, model = ScriptedSearch(), ReadingModel()
    with engine(prices, search, model, on_budget_exhausted=on_budget_exhausted) as research:
        first = research.run(QUESTION, budget=Budget(max_usd=cap))
        assert first.status is (RunStatus.PARKED if on_budget_exhausted == "ask" else RunStatus.COMPLETED)
        assert first.usage.cost_usd <= cap
        assert bool(model.calls) is (cap == A_PART)
        calls = len(model.calls)
        second = research.resume(first.research_id, budget=Budget(max_usd=ENOUGH))
        events = research.events(first.research_id)
    assert second.status is RunStatus.COMPLETED
    assert second.report_metadata.writer == "synthesizer"
    assert second.state.options.budget == Budget(max_usd=ENOUGH)
    assert not [
        limit for limit in second.limits if limit.of_cap == "max_usd" and ":planning" not in limit.name
    ]
    assert len(model.calls) == second.usage.model_calls > calls
    assert len(search.requests) == second.usage.searches  # a look that was made for a plan is in the books
    assert first.usage.cost_usd < second.usage.cost_usd <= ENOUGH
    assert not set(said(model)[:calls]) & set(said(model)[calls:])
    (place,) = [n for n, event in enumerate(events) if isinstance(event, RunResumed)]
    assert isinstance(told := events[place + 1], BudgetRaised)
    assert told.budget == Budget(max_usd=ENOUGH)
    assert sum(isinstance(event, BudgetRaised) for event in events) == 1


@pytest.mark.parametrize("cap", [NOTHING, A_PART])
def test_a_run_that_asks_for_dollars_tells_what_it_would_take_and_that_is_enough(prices, cap):
    search, model = ScriptedSearch(), ReadingModel()
    with engine(prices, search, model, on_budget_exhausted="ask") as research:
        parked = research.run(QUESTION, budget=Budget(max_usd=cap))
        (waiting,) = research.waiting()
        about = waiting.about
        assert (waiting.kind, about["name"], about["cap"]) == (ParkedKind.BUDGET, "max_usd", cap)
        assert about["usage"] == about["done"]["cost_usd"] == parked.usage.cost_usd
        assert about["done"]["model_calls"] == len(model.calls)
        assert about["estimate"] > cap
        done = research.answer(parked.research_id, {"max_usd": about["estimate"]})
        parkings = [e for e in research.events(parked.research_id) if isinstance(e, RunParked)]
    assert len(parkings) == 1
    assert done.status is RunStatus.COMPLETED
    assert done.report_metadata.writer == "synthesizer"
    assert done.usage.cost_usd <= about["estimate"]


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebSite]:
    with WebSite({f"/{n}": web_reply(page_text(n)) for n in range(4)}) as site:
        monkeypatch.setattr("deep_research.sources.fetch.client.Guard", site.guard)
        yield site


def page_text(number: int) -> bytes:
    text = " ".join(
        f"It is said of the tower of the reef that keeper {number} had {n} lamps." for n in range(9)
    )
    more = "".join(f"<p>Light {number * 31 + n} burns oil of kind {n}.</p>" for n in range(9))
    return f"<html><head><title>Tower {number}</title></head><body><p>{text}</p>{more}</body></html>".encode()


@pytest.mark.parametrize("cap", [1, 2, 3])
@pytest.mark.parametrize("answer", ["enough", "one more", "report"])
def test_a_run_that_asks_for_pages_tells_which_and_reads_no_page_twice(prices, site, cap, answer):
    found: dict[str, list[SearchResult]] = {}

    def other_pages(request: SearchRequest) -> list[SearchResult]:
        first = len(found) * 2
        pages = [SearchResult(address=f"http://example.org/{n}", title=TOWER) for n in (first, first + 1)]
        return found.setdefault(request.query, pages)

    search = ScriptedSearch(other_pages)
    made = {"max_iterations": 1, "max_sub_queries": 2, "max_concurrent": 1, "on_budget_exhausted": "ask"}
    with engine(prices, search, None, **made) as research:
        parked = research.run(TOWER, budget=Budget(max_fetches=cap))
        (waiting,) = research.waiting()
        about, searches = waiting.about, len(search.requests)
        assert (waiting.kind, about["name"], about["cap"]) == (ParkedKind.BUDGET, "max_fetches", cap)
        assert about["usage"] == parked.usage.fetches == cap
        assert len(about["left"]["pages"]) == 4 - cap
        assert about["estimate"] == 4
        given = {"enough": {"max_fetches": 4}, "one more": {"max_fetches": cap + 1}}.get(answer, "report")
        done = research.answer(parked.research_id, given)
        raised = [e for e in research.events(parked.research_id) if isinstance(e, BudgetRaised)]
    pages = Counter(path for path in site.paths if path != "/robots.txt")
    assert set(pages.values()) == {1}
    assert len(search.requests) == searches
    assert len(raised) == (answer != "report")
    whole = answer == "enough" or (answer == "one more" and cap == 3)
    if whole or answer == "report":
        assert done.status is RunStatus.COMPLETED
        assert len(pages) == (4 if whole else cap)
    else:  # it asks again, at the cap that was reached then
        assert done.state.parking.about["cap"] == len(pages) == cap + 1


# At the prompt


@pytest.fixture
def prompt(prices: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """A command over one model and one search: its exit code and what it printed."""
    search, model = ScriptedSearch(), ReadingModel()
    make = partial(DeepResearch, model=[model], search=[search], max_iterations=2)

    def call(*argv: str) -> tuple[int, str, str]:
        code = main([*argv, "--data-dir", str(prices.parent), "--set", f"model_file={prices}"], engine=make)
        return (int(code), *capsys.readouterr())

    call.search, call.model = search, model  # type: ignore[attr-defined]
    return call


@pytest.mark.parametrize("on_budget_exhausted", ["report", "ask"])
def test_at_the_prompt_a_run_goes_on_under_more_dollars(prompt, on_budget_exhausted):
    code, out, _ = prompt(
        "run",
        QUESTION,
        "--max-usd",
        str(A_PART),
        "--set",
        f"on_budget_exhausted={on_budget_exhausted}",
        "--json",
    )
    assert code == (4 if on_budget_exhausted == "ask" else 0)
    first = json.loads(out)
    run_id, calls, before = first["research_id"], len(prompt.model.calls), asked(prompt.search)
    if on_budget_exhausted == "ask":
        _, out, _ = prompt("waiting", "--json")
        (waiting,) = json.loads(out)
        assert (waiting["kind"], waiting["about"]["name"]) == ("budget", "max_usd")
        assert waiting["about"]["estimate"] > A_PART
    code, out, err = prompt("resume", run_id, "--max-usd", str(A_PART))
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert f"not larger in anything that was reached: max_usd {A_PART}" in err
    assert len(prompt.model.calls) == calls
    code, out, err = prompt("resume", run_id, "--max-usd", str(ENOUGH), "--json")
    assert code == 0, err
    assert json.loads(out)["status"] == "completed"
    assert len(prompt.model.calls) > calls
    assert not before & (asked(prompt.search) - before)
    _, out, _ = prompt("events", run_id)
    assert [line.split()[2:] for line in out.splitlines() if "budget.raised" in line] == [
        ["budget.raised", "max_usd", f"{ENOUGH:g}"]
    ]


def test_at_the_prompt_more_dollars_are_an_answer(prompt):
    code, out, _ = prompt(
        "run", QUESTION, "--max-usd", str(A_PART), "--set", "on_budget_exhausted=ask", "--json"
    )
    assert code == 4
    run_id = json.loads(out)["research_id"]
    for wrong in ('{"max_usd": 0.01}', '{"max_money": 3}', "more"):
        code, out, err = prompt("answer", run_id, wrong)
        assert (code, out, len(err.splitlines())) == (2, "", 1), err
    assert prompt("answer", run_id, '{"max_usd": 10}')[0] == 0
