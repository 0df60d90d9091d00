"""Who is let in, and what their runs may use."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from deep_research import Budget, DeepResearch, Park, RunStatus, SupervisorHooks
from deep_research.assembly.user_directory import UserFile
from deep_research.errors import RightError, SettingsError, UsageError
from deep_research.state import Permissions, UserContext
from deep_research.state.events import RunAdmitted
from deep_research.store import MemoryStore
from deep_research.supervisor.hooks import Allow, Refuse
from deep_research.testing import ScriptedSearch, scripted_agents

pytestmark = pytest.mark.timed

QUESTION = "What is known of towers?"


class Directory:
    """Knows one user, and counts who is asked for."""

    def __init__(self, **permissions: Any) -> None:
        self.asked: list[str | None] = []
        self._permissions = Permissions(**permissions)

    def context(self, user_id: str | None) -> UserContext | None:
        self.asked.append(user_id)
        if user_id != "ann":
            return None
        return UserContext(name="ann", language="German", role="keeper", permissions=self._permissions)


class CountedSearch(ScriptedSearch):
    """A service that counts its questions."""

    def __init__(self, name: str, *, local: bool = False) -> None:
        super().__init__(name=name)
        self.local = local
        self.count = 0

    async def search(self, request: Any) -> Any:
        self.count += 1
        return await super().search(request)


def engine(store: MemoryStore | None = None, **more: Any) -> DeepResearch:
    agents = scripted_agents(without=["gatherer"])
    made = {"search": [CountedSearch("one")], "agents": agents, "store": store or MemoryStore()}
    return DeepResearch(**{**made, **more})


def admissions(research: DeepResearch, run_id: str) -> list[Any]:
    return [event.admission for event in research.events(run_id) if isinstance(event, RunAdmitted)]


# The hook


@pytest.mark.parametrize("answer", [None, Allow()], ids=["None", "Allow"])
def test_a_run_that_is_let_in_says_so_and_goes_on(answer: Any) -> None:
    seen: list[Any] = []

    def admit(query: str, user: UserContext) -> Any:
        seen.append((query, user.name))
        return answer

    with engine(hooks=SupervisorHooks(admit=admit)) as research:
        result = research.run(QUESTION, user_id="ann")
        assert result.status is RunStatus.COMPLETED
        assert seen == [(QUESTION, "ann")]
        (admission,) = admissions(research, result.research_id)
        assert admission.safety_check
        assert [e.name for e in research.events(result.research_id)][:3] == [
            "run.created",
            "run.admitted",
            "phase.started",
        ]


def raises(*_: Any) -> Any:
    raise ValueError("no")


@pytest.mark.parametrize(
    ("admit", "message"),
    [
        (lambda *_: Refuse("Not of lighthouses."), "Not of lighthouses."),
        (raises, "It could not be decided whether it may."),
        (lambda *_: 5, "It could not be decided whether it may."),
    ],
    ids=["refused", "failed", "wrong"],
)
@pytest.mark.parametrize("queued", [False, True], ids=["run", "submitted"])
def test_a_run_that_is_not_let_in_spends_nothing(admit: Any, message: str, queued: bool) -> None:
    service = CountedSearch("one")
    with engine(search=[service], hooks=SupervisorHooks(admit=admit)) as research:
        if queued:
            run_id = research.submit(QUESTION)
            research.work(once=True)
        else:
            run_id = research.run(QUESTION).research_id
        status = research.status(run_id)
        assert (status.status, status.reason, status.message) == (RunStatus.ABORTED, "refused", message)
        assert service.count == 0
        assert [a.safety_check for a in admissions(research, run_id)] == [False]
        again = research.resume(run_id)
        assert (again.status, again.reason) == (RunStatus.ABORTED, "refused")
        assert service.count == 0


def test_who_parks_at_the_door_is_let_in_by_an_answer_that_is_guidance() -> None:
    calls: list[str] = []

    def admit(query: str, _: UserContext) -> Park:
        calls.append(query)
        return Park("what it is for")

    service = CountedSearch("one")
    with engine(search=[service], hooks=SupervisorHooks(admit=admit)) as research:
        parked = research.run(QUESTION)
        assert (parked.status, parked.message, service.count) == (RunStatus.PARKED, "what it is for", 0)
        result = research.answer(parked.research_id, "For a book.")
        assert result is not None
        assert result.status is RunStatus.COMPLETED
        assert calls == [QUESTION]
        assert "For a book." in [guidance.text for guidance in result.state.guidance]


def test_without_hook_and_directory_a_run_begins_as_ever() -> None:
    with engine() as research:
        assert admissions(research, research.run(QUESTION).research_id) == []


# The directory


def test_a_directory_is_asked_once_for_each_run_and_its_user_is_in_the_log() -> None:
    directory = Directory()
    with engine(users=directory) as research:
        result = research.run(QUESTION, user_id="ann")
        assert directory.asked == ["ann"]
        (admission,) = admissions(research, result.research_id)
        assert (admission.user.name, admission.user.role) == ("ann", "keeper")
        assert result.state.options.language == "German"
        assert research.run(QUESTION, user_id="ann", language="French").state.options.language == "French"


@pytest.mark.parametrize("user_id", ["bob", None, "ann\n", "*"])
def test_a_user_whom_nobody_knows_starts_no_run(user_id: str | None) -> None:
    with engine(users=Directory()) as research:
        for verb in (research.run, research.submit, research.start, research.estimate):
            with pytest.raises(RightError):
                verb(QUESTION, user_id=user_id)
        assert research.list() == []


def test_a_source_that_a_user_may_not_use_is_never_asked() -> None:
    for run in range(20):
        one, two = CountedSearch("one"), CountedSearch("two")
        more = {"max_iterations": 1 + run % 3, "gathering": "agents" if run % 2 else "search"}
        with engine(search=[two, one], users=Directory(sources=("one",))) as research:
            result = research.run(QUESTION, user_id="ann", **more)
            assert result.status is RunStatus.COMPLETED
            assert (one.count > 0, two.count) == (True, 0)


def test_permissions_hold_wherever_a_run_goes_on() -> None:
    store = MemoryStore()
    one, two = CountedSearch("one"), CountedSearch("two")
    with engine(store, search=[two, one], users=Directory(sources=("one",))) as client:
        run_id = client.submit(QUESTION, user_id="ann")
    with engine(store, search=[two, one]) as worker:  # which knows no users
        assert worker.work(once=True) == 1
        assert worker.status(run_id).status is RunStatus.COMPLETED
    assert (one.count > 0, two.count) == (True, 0)


def test_documents_are_read_by_those_who_may(tmp_path: Path) -> None:
    (tmp_path / "tower.md").write_text("# Towers\n\nThe tower of Mole was built by Ann Mole in 1811.")
    question = "Who built the tower of Mole?"
    for permissions, found in (
        ({"sources": ("corpus",)}, True),
        ({"sources": ("one",)}, False),
        ({"kinds": ("document",)}, True),
        ({"kinds": ("web",)}, False),
    ):
        service = CountedSearch("one")
        with DeepResearch(
            corpus=tmp_path,
            search=["corpus", service],
            users=Directory(**permissions),
            data_dir=tmp_path / "d",
        ) as research:
            result = research.run(question, user_id="ann")
            assert ("tower.md" in [source.url for source in result.sources]) is found, permissions
            assert (service.count > 0) is not found, permissions


@pytest.mark.parametrize(
    "given",
    [
        {"source_types": ["news"]},
        {"corpora": ["other"]},
        {"tasks": {"tools": ["shell"]}, "gathering": "agents"},
        {"tasks": {"sources": ["two"]}, "gathering": "agents"},
    ],
    ids=lambda given: next(iter(given)),
)
def test_what_is_asked_for_beyond_that_is_refused(given: dict[str, Any]) -> None:
    users = Directory(sources=("one",), kinds=("paper",), corpora=("mine",), tools=("calculator",))
    with engine(users=users) as research:
        with pytest.raises(RightError, match="may not use"):
            research.run(QUESTION, user_id="ann", **given)
        assert research.list() == []


def test_caps_of_a_user_hold_and_are_not_raised() -> None:
    with engine(users=Directory(budget=Budget(max_searches=2))) as research:
        result = research.run(QUESTION, user_id="ann", budget=Budget(max_searches=9, max_fetches=3))
        budget = result.state.options.budget
        assert (budget.max_searches, budget.max_fetches) == (2, 3)
        assert result.limits
        for more in (Budget(max_searches=5), Budget(max_searches=None)):
            with pytest.raises((RightError, UsageError), match="max_searches"):
                research.resume(result.research_id, budget=more)
        assert research.run(QUESTION, user_id="ann", budget=Budget(max_searches=1)).usage.searches == 1


def test_an_edited_plan_stays_within_the_caps() -> None:
    with engine(users=Directory(budget=Budget(max_searches=2))) as research:
        parked = research.run(QUESTION, user_id="ann", approve_plan=True)
        with pytest.raises(UsageError, match="max_searches may be at most 2"):
            research.answer(parked.research_id, {"limits": {"max_searches": 9}})
        assert research.status(parked.research_id).status is RunStatus.PARKED


def test_a_directory_may_be_a_coroutine_and_its_failure_starts_no_run() -> None:
    class Slow:
        async def context(self, user_id: str | None) -> UserContext | None:
            await asyncio.sleep(0)
            if user_id == "broken":
                raise ConnectionError("the directory is down")
            return UserContext(name=user_id)

    with engine(users=Slow()) as research:
        assert research.run(QUESTION, user_id="ann").status is RunStatus.COMPLETED
        with pytest.raises(ConnectionError):
            research.run(QUESTION, user_id="broken")
        assert len(research.list()) == 1
    with pytest.raises(SettingsError, match="UserDirectory"):
        engine(users=object())  # type: ignore[arg-type]


# The file

FILE = """
[users.ann]
language = "German"
sources = ["corpus"]
budget = { max_usd = 2.0 }

[users."*"]
kinds = ["web"]
"""


def test_a_file_says_who_a_user_is_and_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "users.toml"
    path.write_text(FILE)
    users = UserFile(path)
    ann, other, nobody = users.context("ann"), users.context("bob"), users.context(None)
    assert ann is not None
    assert (ann.name, ann.language, ann.permissions.sources) == ("ann", "German", ("corpus",))
    assert ann.permissions.budget == Budget(max_usd=2.0)
    assert other is not None
    assert (other.name, other.permissions.kinds) == ("bob", ("web",))
    assert nobody is not None
    assert nobody.name is None
    path.write_text('[users.bob]\nrole = "keeper"\n')
    assert users.context("ann") is None
    assert users.context("bob") is not None


@pytest.mark.parametrize(
    "text",
    [
        "[users",
        "x = 1",
        "[users]\nann = 3",
        "[users.ann]\nsauces = []",
        "[users.ann]\nsources = 3",
        "[users.ann]\nbudget = { max_usd = -1.0 }",
        "users = 3",
        "\0",
    ],
    ids=range(8),
)
def test_a_file_that_cannot_be_understood_is_named_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "users.toml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=r"users\.toml") as refused:
        DeepResearch(users_file=path, store="memory")
    assert "\n" not in str(refused.value)


def test_hostile_names_of_users_meet_nobody_elses_entry(tmp_path: Path) -> None:
    path = tmp_path / "users.toml"
    path.write_text('[users.ann]\nrole = "keeper"\n')
    users = UserFile(path)
    names: list[str | None] = ["ANN", "ann ", "*", "", "ann\0", "users.ann", "__class__", "../ann", None]
    assert [users.context(name) for name in names] == [None] * len(names)
