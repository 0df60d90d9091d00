"""The verbs of an engine on what is remembered of a user, and which memory it has."""

from __future__ import annotations

import asyncio
import threading
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from deep_research import DeepResearch
from deep_research.errors import (
    ConfigurationError,
    MemoryFullError,
    MemoryNotFoundError,
    StoreDamagedError,
    UnknownNameError,
    UsageError,
)
from deep_research.logs import register_secret
from deep_research.memory import Memory, MemoryEntry, MemoryKind, SQLiteMemory, VolatileMemory
from deep_research.memory import memory_registry as registry
from deep_research.testing.memory_bench import MemoryBench

ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be")


def files_with(text: str, folder: Path) -> list[str]:
    files = [file for file in folder.rglob("*") if file.is_file()]
    return [file.name for file in files if any(text.encode(code) in file.read_bytes() for code in ENCODINGS)]


def test_no_file_is_made_before_something_is_remembered(tmp_path: Path) -> None:
    with DeepResearch(data_dir=tmp_path) as research:
        assert research.memory_list(user_id="ann") == []
        assert research.memory_forget(everything=True) == 0
        assert research.memory_export().entries == ()
        assert list(tmp_path.iterdir()) == []
        research.memory_add("profile", "Keeper of a lighthouse.")
        assert [file.name for file in tmp_path.iterdir()] == ["memory.sqlite3"]


def test_no_byte_is_left_of_what_was_edited_and_forgotten(tmp_path: Path) -> None:
    first, second = "first-canary-77c1", "second-canary-0be2"
    with DeepResearch(data_dir=tmp_path) as research:
        entry = research.memory_add("preferences", f"{first} größer", user_id="ann")
        assert files_with(first, tmp_path) == ["memory.sqlite3"]
        research.memory_edit(entry.id, second, user_id="ann")
        assert files_with(first, tmp_path) == []
        research.memory_forget(entry.id, user_id="ann")
        assert files_with(second, tmp_path) == []


def test_a_registered_secret_is_not_remembered(tmp_path: Path) -> None:
    secret = "sk-0123456789-of-the-memory-test"
    register_secret(secret)
    with DeepResearch(data_dir=tmp_path) as research:
        entry = research.memory_add("profile", f"My key is {secret}.")
        assert (entry.text, entry.words) == ("My key is ***.", "My key is ***.")
    assert files_with(secret, tmp_path) == []


def test_an_edited_entry_keeps_its_place() -> None:
    with DeepResearch(memory="volatile") as research:
        first, second = (research.memory_add("profile", f"Number {number}.") for number in (1, 2))
        edited = research.memory_edit(first.id, "Another.")
        assert research.memory_list() == [second, edited]
        assert edited.hash != first.hash
        assert len(edited.hash) == 16


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda r: r.memory_add("dreams", "x"), UnknownNameError, "Known: episodes"),
        (lambda r: r.memory_add("sessions", "x"), UsageError, "Only runs add sessions"),
        (lambda r: r.memory_add("profile", "\n "), UsageError, "is empty"),
        (lambda r: r.memory_add("profile", "x" * 2_001), UsageError, "2,001 characters"),
        (lambda r: r.memory_add("profile", None), UsageError, "no valid text"),
        (lambda r: r.memory_add("profile", "half \ud800"), UsageError, "no valid text"),
        (lambda r: r.memory_add("profile", "x", user_id=3), UsageError, "user_id"),
        (lambda r: r.memory_add("profile", "x", user_id="\udc00"), UsageError, "user_id"),
        (lambda r: r.memory_list(limit=0), UsageError, "limit"),
        (lambda r: r.memory_list(kinds=["profile", "dreams"]), UnknownNameError, "dreams"),
        (lambda r: r.memory_list(after="mem-1"), MemoryNotFoundError, "mem-1"),
        (lambda r: r.memory_show("mem-1"), MemoryNotFoundError, "mem-1"),
        (lambda r: r.memory_show("x" * 10_000), MemoryNotFoundError, "memory list"),
        (lambda r: r.memory_edit("mem-1", "x"), MemoryNotFoundError, "mem-1"),
        (lambda r: r.memory_forget(), UsageError, "exactly one"),
        (lambda r: r.memory_forget("mem-1", kinds="profile"), UsageError, "exactly one"),
        (lambda r: r.memory_forget(["mem-1", "mem-2"]), MemoryNotFoundError, "mem-1"),
    ],
)
def test_wrong_use_is_one_clear_line(call: Any, error: type[Exception], words: str, tmp_path: Path) -> None:
    for memory in ("sqlite", "volatile"):
        with DeepResearch(memory=memory, data_dir=tmp_path) as research:
            with pytest.raises(error, match=words) as refused:
                call(research)
            assert "\n" not in str(refused.value)
            assert len(str(refused.value)) < 400
    assert list(tmp_path.iterdir()) == []


def test_a_full_memory_says_what_to_do() -> None:
    class Small(VolatileMemory):
        max_entries = 2

    with DeepResearch(memory=Small()) as research:
        for number in range(2):
            research.memory_add("profile", f"Number {number}.")
        with pytest.raises(MemoryFullError, match=r"2 entries.*Delete outdated entries"):
            research.memory_add("profile", "One too many.")
        assert len(research.memory_list()) == 2


def test_a_bad_file_is_told_by_the_verb_and_not_by_the_engine(tmp_path: Path) -> None:
    (tmp_path / "memory.sqlite3").write_bytes(b"no database" * 100)
    with DeepResearch(data_dir=tmp_path) as research:
        assert research.list() == []
        with pytest.raises(StoreDamagedError, match=r"memory\.sqlite3"):
            research.memory_list()


@pytest.mark.timed
def test_a_slow_memory_does_not_block_the_loop_of_its_caller() -> None:
    asked, go_on = threading.Event(), threading.Event()

    class Slow(VolatileMemory):
        def get(self, user_id: str | None, entry_id: str) -> MemoryEntry:
            asked.set()
            assert go_on.wait(60)
            return super().get(user_id, entry_id)

    async def journey() -> MemoryEntry:
        async with DeepResearch(memory=Slow()) as research:
            adding = asyncio.create_task(research.amemory_add("profile", "x"))
            while not asked.is_set():
                await asyncio.sleep(0.001)
            go_on.set()  # the loop still runs
            return await adding

    assert asyncio.run(journey()).text == "x"


# Which memory


def test_the_default_is_a_file_of_the_data_folder(tmp_path: Path) -> None:
    with DeepResearch(data_dir=tmp_path) as research:
        assert isinstance(research._memory, SQLiteMemory)
        assert research._memory.path == tmp_path / "memory.sqlite3"


def test_engines_over_one_folder_share_what_is_remembered(tmp_path: Path) -> None:
    with DeepResearch(data_dir=tmp_path) as one, DeepResearch(data_dir=tmp_path) as other:
        entry = one.memory_add("profile", "x", user_id="ann")
        assert other.memory_list(user_id="ann") == [entry]


class Recording(VolatileMemory):
    """Knows whether it was closed, and with what it was made."""

    def __init__(self, data_dir: Path | None = None) -> None:
        super().__init__()
        self.data_dir, self.closed = data_dir, 0

    def close(self) -> None:
        self.closed += 1


class Remote(Recording):
    local = False


def test_a_memory_that_was_handed_over_is_used_and_stays_its_owners_to_close() -> None:
    memory = Recording()
    with DeepResearch(memory=memory) as research:
        research.memory_add("profile", "x")
    assert len(memory.list(None)) == 1
    assert memory.closed == 0


@pytest.fixture
def packaged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memories that packages bring."""
    values = {
        "mine": f"{__name__}:Recording",
        "far": f"{__name__}:Remote",
        "lost": "no_such_package:Memory",
        "odd": "builtins:str",
        "sqlite": f"{__name__}:Recording",
    }
    points = [EntryPoint(name, value, registry.GROUP) for name, value in values.items()]
    monkeypatch.setattr(registry, "entry_points", lambda group: points if group == registry.GROUP else [])


@pytest.mark.usefixtures("packaged")
def test_a_memory_of_a_package_is_made_by_its_name_and_closed_with_the_engine(tmp_path: Path) -> None:
    research = DeepResearch(memory="mine", data_dir=tmp_path)
    memory = research._memory
    assert isinstance(memory, Recording)
    assert memory.data_dir == tmp_path
    research.close()
    assert memory.closed == 1


@pytest.mark.usefixtures("packaged")
@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("sqlit", UnknownNameError, "Did you mean 'sqlite'"),
        ("lost", ConfigurationError, "cannot be loaded"),
        ("odd", ConfigurationError, "is not a Memory"),
    ],
)
def test_a_name_that_gives_no_memory_is_refused(name: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as refused:
        DeepResearch(memory=name)
    assert "\n" not in str(refused.value)


def test_what_is_no_memory_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="is not a Memory"):
        DeepResearch(memory=object())  # type: ignore[arg-type]


@pytest.mark.usefixtures("packaged")
def test_local_only_refuses_a_memory_that_is_not_on_this_machine() -> None:
    for memory in (Recording(), "sqlite", "volatile"):
        DeepResearch(memory=memory, local_only=True).close()
    for remote in (Remote(), "far"):
        with pytest.raises(ConfigurationError, match="local_only"):
            DeepResearch(memory=remote, local_only=True)
    assert Memory.local is False


def test_a_search_goes_by_rare_words_then_by_time() -> None:
    with MemoryBench(VolatileMemory) as bench:
        bench.put(
            bench.entry(1, "Asked about lighthouses in Scotland.", kind=MemoryKind.EPISODES),
            bench.entry(2, "Asked about lighthouses in Norway.", kind=MemoryKind.EPISODES),
            bench.entry(3, "Asked about lighthouses in France.", kind=MemoryKind.EPISODES),
        )
        found = bench.memory.search("ann", "Which lighthouse in Norway is the tallest?")
        assert [entry.id for entry in found] == ["mem-2", "mem-3", "mem-1"]
        assert bench.memory.search("ann", "What of bridges?") == []
