"""A thousand damaged rows: every one gives its value or a typed error, and none runs code."""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from deep_research import DeepResearch
from deep_research.errors import DeepResearchError, LogDamagedError, StoreVersionError
from deep_research.state import events as ev
from deep_research.state.reducer import fold
from deep_research.store import SQLiteStore
from deep_research.testing import FakeClock, sample_log, scripted_agents

ROWS = [200, pytest.param(1_000, marks=pytest.mark.slow)]
DANGEROUS = (
    "import",
    "exec",
    "compile",
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "pickle.find_class",
)

_heard: list[str] = []
_listening = False


def _listen(event: str, arguments: tuple[Any, ...]) -> None:
    if _listening and event in DANGEROUS:
        _heard.append(f"{event} {arguments[:1]}")


@contextmanager
def nothing_is_run() -> Iterator[None]:
    """Fails when anything inside imports, compiles, or starts something. A hook cannot be taken out again."""
    global _listening
    if not getattr(sys, "_deep_research_listens", False):
        sys.addaudithook(_listen)
        sys._deep_research_listens = True  # type: ignore[attr-defined]
    _heard.clear()
    _listening = True
    try:
        yield
    finally:
        _listening = False
    assert _heard == []


# Damaging

HOSTILE_VALUES: tuple[Any, ...] = (
    None,
    -1,
    0,
    2**63 - 1,
    -(2**63),
    3.5,
    float("inf"),
    float("nan"),
    "",
    "nonsense",
    "\u0000",
    b"",
    b"\xff\xfe\x00",
    "{}",
    "[]",
    '{"host": 1, "pid": "x", "started": [], "token": {}}',
    '{"host": "h", "pid": 99999999999999999999, "started": "", "token": ""}',
    '{"host": "h", "pid": -1, "started": "", "token": ""}',
    '{"host": "h", "pid": 1, "started": "", "token": "", "__class__": "os.system"}',
    "[" * 100_000,
    '{"a":' * 50_000,
    "1" * 10_000,
    "cos\nsystem\n(S'true'\ntR.",
    "9999-99-99T99:99:99",
    "2026-01-01",
)
EVENT_TYPES = (*ev.EVENT_TYPES, "run.exploded", "", "os.system", "RunCreated")


def flipped(body: bytes, chance: random.Random) -> bytes:
    changed = bytearray(body)
    for _ in range(chance.randint(1, 4)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def cut(body: bytes, chance: random.Random) -> bytes:
    return body[: chance.randrange(len(body))]


def nested(body: bytes, chance: random.Random) -> bytes:
    depth = chance.choice([300, 5_000, 200_000])
    return body[:-1] + b',"deep":' + b"[" * depth + b"]" * depth + b"}"


def one_value_replaced(body: bytes, chance: random.Random) -> bytes:
    data = json.loads(body)
    holder: Any = data
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        key = chance.choice(keys)
        if isinstance(holder[key], dict | list) and holder[key] and chance.random() < 0.7:
            holder = holder[key]
            continue
        holder[key] = chance.choice(
            [
                None,
                10**400,
                -(10**30),
                1e308,
                [],
                {},
                "x" * 1_000,
                {"$ref": "#"},
                True,
                "gap-000000000000",
                [[]],
            ]
        )
        return json.dumps(data).encode()


def one_key_changed(body: bytes, chance: random.Random) -> bytes:
    data = json.loads(body)
    key = chance.choice(list(data))
    if chance.random() < 0.5:
        data[chance.choice(["__class__", "py/object", "extra", key + "x"])] = data.pop(key)
    else:
        del data[key]
    return json.dumps(data).encode()


BODIES: tuple[Callable[[bytes, random.Random], Any], ...] = (
    flipped,
    cut,
    nested,
    one_value_replaced,
    one_value_replaced,
    one_key_changed,
    lambda body, chance: body.decode(),
    lambda body, chance: chance.choice(HOSTILE_VALUES),
    lambda body, chance: body + body,
    lambda body, chance: b"[" + body + b"]",
    lambda body, chance: b"\x80\x04\x95cos\nsystem\n." + body,
)


def damaged(table: str, column: str, value: Any, chance: random.Random) -> Any:
    if (table, column) == ("events", "body"):
        return chance.choice(BODIES)(value, chance)
    if column == "type":
        return chance.choice([*EVENT_TYPES, *HOSTILE_VALUES[1:]])
    return chance.choice(HOSTILE_VALUES)


TABLES = {"events": ("seq", "type", "version", "body", "body", "body", "body", "body")}
TABLES["runs"] = (
    "status", "reason", "phase", "iteration", "last_seq", "created_at", "updated_at", "owner", "fence",
    "lease_until", "query", "user_id",
)  # fmt: skip
TABLES["contents"] = ("body", "hash")
TABLES["commands"] = ("run_id", "kind", "payload")


@pytest.fixture(scope="module")
def whole_database(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """One run that completed and one that was left in the middle, with a command."""
    path = tmp_path_factory.mktemp("whole") / "runs.db"
    store = SQLiteStore(path)
    with DeepResearch(
        agents=scripted_agents(iterations=2, batch_bytes=900), store=store, clock=FakeClock()
    ) as engine:
        engine.run("Who?")
        whole = engine.run("What?").research_id
    store.close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("DELETE FROM events WHERE run_id = ? AND seq > 12", (whole,))
        owner = '{"host": "h", "pid": 1, "started": "", "token": ""}'
        db.execute(
            "UPDATE runs SET status = 'running', reason = NULL, last_seq = 12, owner = ? WHERE run_id = ?",
            (owner, whole),
        )
        db.execute("INSERT INTO commands (run_id, kind, payload) VALUES (?, 'answer', '42')", (whole,))
        db.commit()
    assert not path.with_name("runs.db-wal").exists()  # so that the file is all there is
    return path.read_bytes()


@pytest.fixture
def database(tmp_path: Path, whole_database: bytes) -> Path:
    path = tmp_path / "runs.db"
    path.write_bytes(whole_database)
    return path


async def look_at_everything(engine: DeepResearch, ids: list[str], store: SQLiteStore) -> int:
    """Use every verb that reads; how many of them gave a typed error."""
    refused = 0

    async def attempt(verb: Any) -> Any:
        nonlocal refused
        try:
            return await verb
        except DeepResearchError:
            refused += 1
        return None

    await attempt(engine.alist())
    for research_id in ids:
        await attempt(engine.astatus(research_id))
        result = await attempt(engine.aresult(research_id))
        await attempt(engine.areport(research_id, "json"))
        for source in (result.sources if result else ())[:3]:
            await attempt(engine.atext(source))
    return refused


@pytest.mark.parametrize("rows", ROWS)
def test_damaged_rows_give_typed_errors_and_run_no_code(database: Path, rows: int) -> None:
    chance = random.Random(2)
    store = SQLiteStore(database)
    engine = DeepResearch(agents=scripted_agents(), store=store)
    ids = [row.run_id for row in store.runs()]

    async def rounds(db: sqlite3.Connection) -> list[int]:
        await look_at_everything(engine, ids, store)
        refusals = []
        with nothing_is_run():
            for _ in range(rows):
                with one_damaged(db, chance) as what:
                    try:
                        refusals.append(await look_at_everything(engine, ids, store))
                    except Exception as error:
                        raise AssertionError(f"{what} gave {error!r}") from error
        return refusals

    with closing(sqlite3.connect(database, isolation_level=None)) as db:
        refusals = asyncio.run(rounds(db))
    assert sum(count > 0 for count in refusals) > rows / 3
    assert asyncio.run(look_at_everything(engine, ids, store)) == 0
    engine.close()
    store.close()


@contextmanager
def one_damaged(db: sqlite3.Connection, chance: random.Random) -> Iterator[str]:
    """One value of one row, for a while."""
    while True:
        table = chance.choice(["events", "events", "events", "runs", "contents", "commands"])
        column = chance.choice(TABLES[table])
        rowid, value = chance.choice(db.execute(f"SELECT rowid, {column} FROM {table}").fetchall())
        wrong = damaged(table, column, value, chance)
        try:
            db.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (wrong, rowid))
        except sqlite3.IntegrityError:  # SQLite itself refuses it
            continue
        break
    try:
        yield f"{table}.{column} = {wrong!r:.200}"
    finally:
        db.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, rowid))


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_run_is_refused_by_resume_or_goes_on(database: Path, seed: int) -> None:
    chance = random.Random(seed)
    with closing(sqlite3.connect(database, isolation_level=None)) as db:
        (research_id,) = db.execute("SELECT run_id FROM runs WHERE status = 'running'").fetchone()
        rowid, body = chance.choice(
            db.execute("SELECT rowid, body FROM events WHERE run_id = ?", (research_id,)).fetchall()
        )
        db.execute("UPDATE events SET body = ? WHERE rowid = ?", (chance.choice(BODIES)(body, chance), rowid))
        before = db.execute("SELECT seq, body FROM events WHERE run_id = ?", (research_id,)).fetchall()
        db.execute("UPDATE runs SET lease_until = 0")
        store = SQLiteStore(database)
        with DeepResearch(agents=scripted_agents(iterations=2), store=store, clock=FakeClock()) as engine:
            try:
                engine.resume(research_id)
            except DeepResearchError:
                after = db.execute("SELECT seq, body FROM events WHERE run_id = ?", (research_id,)).fetchall()
                assert after[: len(before)] == before
            assert store.run(research_id).owner is None
        store.close()


# Events one by one


@pytest.mark.parametrize("version", [0, -1, -(2**60), 2**60])
def test_a_version_that_cannot_be_is_a_typed_error(version: int) -> None:
    with pytest.raises((LogDamagedError, StoreVersionError)):
        ev.decode("run.completed", version, ev.encode(ev.RunCompleted()))


def test_a_newer_event_says_to_upgrade() -> None:
    with pytest.raises(StoreVersionError, match="Upgrade"):
        ev.decode("run.completed", 2, ev.encode(ev.RunCompleted()))
    with pytest.raises(StoreVersionError, match="Upgrade"):
        ev.decode("run.praised", 1, b"{}")


def test_a_row_and_its_event_must_be_of_one_type() -> None:
    with pytest.raises(LogDamagedError, match="says"):
        ev.decode("run.created", 1, ev.encode(ev.RunCompleted()))


def test_the_error_of_a_damaged_event_says_what_to_do() -> None:
    with pytest.raises(LogDamagedError, match="backup") as caught:
        ev.decode("plan.made", 1, b'{"type": "plan.made"')
    assert caught.value.data["type"] == "plan.made"


def test_events_missing_from_the_middle_are_noticed() -> None:
    log = list(sample_log("synthesis", done=True))
    del log[5]
    with pytest.raises(LogDamagedError, match="follows"):
        fold(log)


def test_events_in_the_wrong_order_are_noticed() -> None:
    log = list(sample_log("synthesis", done=True))
    log[4], log[5] = log[5], log[4]
    with pytest.raises(LogDamagedError, match="follows"):
        fold(log)
