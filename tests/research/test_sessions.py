"""Sessions: the runs of one user with one ``session_id``, listed, shown, exported and deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from deep_research import DeepResearch
from deep_research.errors import DeepResearchError, RunBusyError, RunNotFoundError, UsageError
from deep_research.research.sessions import MAX_SESSION_CHARS, Session
from deep_research.store import Owner, SQLiteStore

pytestmark = pytest.mark.timed

CORPUS = Path(__file__).resolve().parents[2] / "docs" / "examples" / "corpus"
TALL, OLD = "How tall is Cape Hatteras Lighthouse?", "And how old is it?"


@pytest.fixture
def research(tmp_path: Path) -> Iterator[DeepResearch]:
    with DeepResearch(corpus=CORPUS, data_dir=tmp_path, local_only=True) as made:
        yield made


def test_a_session_is_asked_and_tells_its_turns(research: DeepResearch) -> None:
    session = research.session("towers", "ann")
    assert session.turns == ()
    assert session.summary == ""
    first, second = session.ask(TALL), session.ask(OLD)
    assert first.state.options.depth == "auto"
    turns = session.turns
    assert [turn.research_id for turn in turns] == [first.research_id, second.research_id]
    assert [(turn.user_message, turn.question) for turn in turns] == [
        (TALL, TALL),
        (OLD, "How old is Cape Hatteras Lighthouse?"),
    ]
    assert [turn.searches for turn in turns] == [1, 0]
    assert "198.49 feet" in turns[0].answer
    assert "[1]" not in turns[0].answer
    assert "cape-hatteras.md" in turns[0].sources
    assert session.summary.splitlines()[0].endswith(turns[0].answer)
    assert session.export()["turns"] == [turn.model_dump(mode="json") for turn in turns]
    assert repr(session) == "Session('towers')"


def test_a_session_has_coroutines_too(research: DeepResearch) -> None:
    async def talk() -> tuple[int, str]:
        session = research.session("towers")
        await session.aask(TALL, depth="quick")
        return len(await session.aturns()), await session.asummary()

    turns, summary = asyncio.run(talk())
    assert turns == 1
    assert TALL in summary


def test_sessions_are_listed_by_their_latest_run_and_by_user(research: DeepResearch) -> None:
    for name, user in (("a", None), ("b", "ann"), ("a", "ann"), ("a", None)):
        research.run(TALL, session_id=name, user_id=user, depth="quick")
    research.run(TALL, depth="quick")  # of no session
    listed = [(each.session_id, each.user_id, each.turns) for each in research.sessions()]
    assert listed == [("a", None, 2), ("a", "ann", 1), ("b", "ann", 1)]
    assert [each.session_id for each in research.sessions(user="ann")] == ["a", "b"]
    assert len(research.sessions(limit=2)) == 2
    with pytest.raises(UsageError):
        research.sessions(limit=0)


def test_a_session_has_a_title_where_it_was_given_one(research: DeepResearch) -> None:
    for user in ("ann", None):
        research.session("towers", user).ask(TALL, depth="quick")
    ann = research.session("towers", "ann")
    ann.rename("Rock towers")
    ann.rename("Brick towers")
    assert [(each.user_id, each.title) for each in research.sessions()] == [
        (None, ""),
        ("ann", "Brick towers"),
    ]
    assert ann.delete() == 1
    ann.ask(TALL, depth="quick")
    assert research.sessions(user="ann")[0].title == ""
    for session, title in (("none", "x"), ("towers", "")):
        with pytest.raises(DeepResearchError):
            research.session(session).rename(title)


def test_a_session_is_deleted_with_its_runs_and_nobody_elses(research: DeepResearch) -> None:
    ann, other = research.session("towers", "ann"), research.session("towers")
    ann.ask(TALL, depth="quick")
    other.ask(TALL, depth="quick")
    assert ann.delete() == 1
    assert ann.turns == ()
    assert len(other.turns) == 1
    with pytest.raises(RunNotFoundError):
        ann.delete()


def test_nothing_of_a_session_is_deleted_while_a_run_of_it_is_worked_on(
    research: DeepResearch, tmp_path: Path
) -> None:
    session = research.session("towers")
    runs = [session.ask(TALL, depth="quick").research_id for _ in range(2)]
    store = SQLiteStore(tmp_path / "runs.db")
    store.acquire(runs[0], Owner.here("another"))
    with pytest.raises(RunBusyError):
        session.delete()
    assert len(session.turns) == 2
    store.close()


@pytest.mark.parametrize("name", ["", "x" * (MAX_SESSION_CHARS + 1), None, 3])
def test_a_session_needs_a_name(research: DeepResearch, name: object) -> None:
    with pytest.raises(UsageError):
        research.session(name)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["../towers", "a/b", "ä ö", "%", "'; --", "x" * MAX_SESSION_CHARS])
def test_any_text_names_a_session(research: DeepResearch, name: str) -> None:
    session: Session = research.session(name)
    session.ask(TALL, depth="quick")
    assert [each.session_id for each in research.sessions()] == [name]
    assert len(session.turns) == 1
