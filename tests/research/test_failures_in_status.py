"""Whatever fails in a run is visible in its status: one row a kind of failure."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from deep_research import Budget, DeepResearch, Park, Refuse, SearchResult, SharedBudget, SupervisorHooks
from deep_research.errors import FetchError, ModelError
from deep_research.models.failures import Verdict
from deep_research.sources.search import SearchRequest
from deep_research.testing import ScriptedSearch, scripted_agents
from deep_research.testing.doubles import results
from deep_research.testing.models import ScriptedProvider

pytestmark = pytest.mark.timed

QUESTION = "What is known of towers?"
PARTS = [f"{QUESTION} part {number}" for number in (1, 2, 3)]


@dataclass(frozen=True)
class Failure:
    """What is handed to the engine and to the run, and what its status says: the run's own words, each question's state
    with a piece of its reason, and a piece of a limit or notice by its name."""

    kind: str
    status: str
    reason: str | None = None
    says: str = ""
    answers: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    notices: Mapping[str, str] = field(default_factory=dict)
    engine: Callable[[], Mapping[str, Any]] = dict
    run: Mapping[str, Any] = field(default_factory=dict)


class NoPages:
    """A reader that reads no page."""

    async def read(self, url: str) -> Any:
        raise FetchError("Status 500.", url=url, status=500, trouble="status")


def with_bare_pages(request: SearchRequest) -> list[SearchResult]:
    bare = [SearchResult(address=f"https://example.org/{n}", title=f"Bare page {n}") for n in range(2)]
    return [*results(request.query), *bare]


def all_are(state: str, reason: str) -> dict[str, tuple[str, str]]:
    return dict.fromkeys((QUESTION, *PARTS), (state, reason))


def cast(**more: Any) -> Callable[[], Mapping[str, Any]]:
    return lambda: {"agents": scripted_agents(without=["gatherer"], **more)}


def failing_hook(*_: object) -> None:
    raise ValueError("no such table")


CAP = "Not searched: The cap of 1 search was reached"
SHARED = "Not searched: The shared cap of 1 searches is reached"
BARE = {"engine": lambda: {"search": [ScriptedSearch(with_bare_pages)], "pages": NoPages()}}
FAILURES = [
    Failure(
        "one sub-query fails",
        "completed",
        answers={
            QUESTION: ("answered", ""),
            PARTS[0]: ("found", ""),
            PARTS[1]: ("failed", f"scripted does not answer '{PARTS[1]}'."),
            PARTS[2]: ("found", ""),
        },
        engine=lambda: {"search": [ScriptedSearch(failing=[PARTS[1]])]},
    ),
    Failure(
        "every sub-query fails",
        "aborted",
        "no_evidence",
        "3 searches failed: scripted does not answer",
        all_are("failed", "scripted does not answer"),
        {"gate:gathering": "Only 0 of 3 sub-queries could be searched."},
        lambda: {"search": [ScriptedSearch(failing=PARTS)]},
    ),
    Failure(
        "searches find nothing",
        "aborted",
        "no_evidence",
        "No source was found.",
        all_are("not_found", "The search found no source."),
        engine=lambda: {"search": [ScriptedSearch(lambda _: ())]},
    ),
    Failure(
        "sources say nothing of it",
        "aborted",
        "no_evidence",
        "No finding answers the question.",
        dict.fromkeys(PARTS, ("not_found", "None of 2 sources read answers it."))
        | {QUESTION: ("not_found", "None of 6 sources read answers it.")},
        engine=cast(no_findings=True),
    ),
    Failure(
        "pages cannot be read",
        "completed",
        answers={QUESTION: ("answered", "")},
        notices={"pages": "2 pages of example.org were found but not read: status 500."},
        **BARE,
    ),
    Failure(
        "the cap on pages",
        "completed",
        answers={QUESTION: ("answered", "")},
        notices={"max_fetches": "max_fetches leaves no more pages"},
        run={"budget": Budget(max_fetches=0)},
        **BARE,
    ),
    Failure(
        "the cap on searches",
        "completed",
        answers={PARTS[0]: ("found", ""), PARTS[1]: ("open", CAP), PARTS[2]: ("open", CAP)},
        notices={"max_searches": "2 were not made."},
        run={"budget": Budget(max_searches=1)},
    ),
    Failure(
        "a cap that runs share",
        "completed",
        answers={PARTS[0]: ("found", ""), PARTS[1]: ("open", SHARED), PARTS[2]: ("open", SHARED)},
        notices={"shared:max_searches": "2 searches were not made."},
        engine=lambda: {"shared_budget": SharedBudget(max_searches=1)},
    ),
    Failure(
        "the cap on requests to models",
        "completed",
        answers={QUESTION: ("answered", "")},
        notices={"max_model_calls": "was reached", "agent": "the extractive one did it"},
        engine=lambda: {"agents": None, "model": ScriptedProvider()},
        run={"budget": Budget(max_model_calls=0)},
    ),
    Failure(
        "no model can be reached",
        "parked",
        says="a language model: the line is cut",
        answers={QUESTION: ("open", "Not searched yet.")},
        engine=lambda: {
            "agents": None,
            "model": ScriptedProvider([ModelError("the line is cut", verdict=Verdict.TRANSIENT)]),
        },
    ),
    Failure(
        "the planner fails",
        "aborted",
        "error",
        "The planner failed: RuntimeError: boom.",
        {QUESTION: ("open", "The planner failed: RuntimeError: boom.")},
        engine=cast(failing={"planner": RuntimeError("boom")}),
    ),
    Failure(
        "the analyzer fails",
        "aborted",
        "error",
        "The analyzer failed: RuntimeError: boom.",
        all_are("searched", "The analyzer failed: RuntimeError: boom."),
        engine=cast(failing={"analyzer": RuntimeError("boom")}),
    ),
    Failure(
        "the writer fails",
        "aborted",
        "error",
        "The synthesizer failed: RuntimeError: boom.",
        {QUESTION: ("answered", ""), PARTS[0]: ("found", "")},
        engine=cast(failing={"synthesizer": RuntimeError("boom")}),
    ),
    Failure(
        "a hook fails",
        "completed",
        answers={QUESTION: ("answered", "")},
        notices={"hook": "The hook before_phase failed and was ignored: ValueError: no such table."},
        engine=lambda: {"hooks": SupervisorHooks(before_phase=failing_hook)},
    ),
    Failure(
        "a hook waits",
        "parked",
        says="a word",
        answers={QUESTION: ("open", "Not searched yet.")},
        engine=lambda: {"hooks": SupervisorHooks(before_phase=lambda *_: Park("a word"))},
    ),
    Failure(
        "the run is refused",
        "aborted",
        "refused",
        "not today",
        {QUESTION: ("open", "not today")},
        engine=lambda: {"hooks": SupervisorHooks(admit=lambda *_: Refuse("not today"))},
    ),
    Failure(
        "an option without effect",
        "completed",
        answers={QUESTION: ("answered", "")},
        notices={"option": "language has no effect"},
        engine=lambda: {"agents": None},
        run={"language": "German"},
    ),
]


@pytest.mark.parametrize("failure", FAILURES, ids=lambda each: each.kind)
def test_what_fails_is_visible_in_the_status_of_its_run(failure: Failure) -> None:
    cast_of_run = {"agents": scripted_agents(without=["gatherer"]), "search": [ScriptedSearch()]}
    with DeepResearch(**(cast_of_run | {"store": "memory"} | dict(failure.engine()))) as research:
        run_id = research.run(QUESTION, **failure.run).research_id
        status, result = research.status(run_id), research.result(run_id)
    assert (status.status, status.reason) == (failure.status, failure.reason)
    assert failure.says in (status.message or status.waiting_for or "")
    told = {answer.question: answer for answer in status.answers}
    for question, (state, reason) in failure.answers.items():
        assert told[question].state == state, question
        assert reason in told[question].reason, question
        assert bool(told[question].text) == (state in ("answered", "found")), question
    notices = {notice.name: notice.line for notice in (*status.limits, *status.notices)}
    for name, words in failure.notices.items():
        assert words in notices[name], name
    assert (status.answers, status.limits, status.notices) == (result.answers, result.limits, result.notices)


def test_a_run_that_is_over_time_says_so() -> None:
    with DeepResearch(
        agents=scripted_agents(without=["gatherer"]),
        search=[ScriptedSearch()],
        store="memory",
        task_timeout=1e-6,
    ) as research:
        status = research.status(research.run(QUESTION).research_id)
    assert (status.status, status.reason) == ("aborted", "timeout")
    assert {answer.state for answer in status.answers} <= {"open", "searched"}
    assert all("The run took longer than" in answer.reason for answer in status.answers)


def test_a_run_that_is_cancelled_says_so_and_keeps_what_it_found() -> None:
    hooks = SupervisorHooks(before_phase=lambda _, phase: Park("a word") if phase == "synthesis" else None)
    with DeepResearch(
        agents=scripted_agents(without=["gatherer"]), search=[ScriptedSearch()], store="memory", hooks=hooks
    ) as research:
        run_id = research.run(QUESTION).research_id
        research.cancel(run_id)
        status = research.status(run_id)
    assert (status.status, status.reason) == ("aborted", "cancelled")
    assert [answer.state.value for answer in status.answers] == ["answered", "found", "found", "found"]


def test_a_log_that_cannot_be_read_is_told_beside_what_the_row_says(tmp_path: Path) -> None:
    with DeepResearch(
        agents=scripted_agents(without=["gatherer"]), search=[ScriptedSearch()], data_dir=tmp_path
    ) as research:
        run_id = research.run(QUESTION).research_id
        whole = research.status(run_id)
        with closing(sqlite3.connect(next(tmp_path.glob("*.db")))) as database:
            database.execute("UPDATE events SET body = 'torn' WHERE seq = 3")
            database.commit()
        status = research.status(run_id)
    assert (status.status, status.findings, status.answers) == ("completed", whole.findings, ())
    (notice,) = status.notices
    assert notice.name == "log"
    assert "An event 'plan.made' of the log cannot be read" in notice.message


def test_a_list_reads_no_log() -> None:
    with DeepResearch(
        agents=scripted_agents(without=["gatherer"]), search=[ScriptedSearch()], store="memory"
    ) as research:
        run_id = research.run(QUESTION).research_id
        read, store = [], research._store
        store.read = lambda *args, **more: read.append(args) or []  # type: ignore[method-assign]
        (listed,) = research.list()
        assert (listed.research_id, read) == (run_id, [])
        assert not hasattr(listed, "answers")
