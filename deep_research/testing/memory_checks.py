"""Checks of every memory, one function a promise. The name of each says the promise."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from deep_research.errors import MemoryFullError, MemoryNotFoundError, UsageError
from deep_research.logs import register_secret
from deep_research.memory import MemoryCursor, MemoryEntry, MemoryKind
from deep_research.memory.entry import MAX_TEXT_CHARACTERS
from deep_research.secret_values import Keyring
from deep_research.testing.memory_bench import USER, MemoryBench

OPERATIONS = 300
BATCH_SIZE = 1_000
HOSTILE_USERS: tuple[str | None, ...] = (
    None,
    "None",
    "null",
    "",
    " ",
    "ann",
    "ann ",
    "Ann",
    "аnn",  # its first letter is Cyrillic
    "ann\0",
    "ann\0bob",
    "ann'",
    'ann" OR "1"="1',
    "'; DROP TABLE entries; --",
    "../ann",
    "/etc/passwd",
    "%",
    "_nn",
    "*",
    "\u202eann",
    "é",
    "e\u0301",
    "ann" * 5_000,
    "user ann",
    "nobody",
)
HOSTILE_IDS = (
    "",
    "%",
    "mem-_",
    "mem-1\0",
    "MEM-1",
    "mem-1 ",
    "' OR '1'='1",
    "../mem-1",
    "\ud800",
    "x" * 10_000,
)
TEXTS = (
    "\x00",
    "'; DROP TABLE entries; --",
    "\\u0000",
    "שלום · 你好 · 👩‍👩‍👧‍👦 · e\u0301 · \u202e",
    "line\nbreak\r\n\ttab",
    "x" * MAX_TEXT_CHARACTERS,
    "👩" * MAX_TEXT_CHARACTERS,
)


def refused(call: Callable[[], object], kind: type[Exception]) -> None:
    raised: Exception | None = None
    try:
        call()
    except kind as error:
        raised = error
    assert raised is not None, f"{kind.__name__} was not raised"
    assert "\n" not in str(raised)


# Putting and getting


def a_memory_without_entries_is_empty(bench: MemoryBench) -> None:
    assert bench.memory.list(USER) == []
    assert bench.memory.search(USER, "reports") == []
    assert bench.memory.forget(USER, everything=True) == 0
    refused(lambda: bench.memory.get(USER, "mem-1"), MemoryNotFoundError)


def opening_and_closing_twice_is_no_harm(bench: MemoryBench) -> None:
    bench.memory.open()
    bench.memory.open()
    bench.put(bench.entry())
    bench.memory.close()
    bench.memory.close()
    bench.memory.open()


def an_entry_comes_back_as_it_was_put(bench: MemoryBench) -> None:
    entry = bench.entry(words="Keep it short, please.", run_id="deepres-0123456789ab")
    bench.put(entry)
    assert bench.memory.get(USER, entry.id) == entry
    assert bench.memory.list(USER) == [entry]


def any_text_comes_back_as_it_was_put(bench: MemoryBench) -> None:
    entries = [bench.entry(number, text, words=text) for number, text in enumerate(TEXTS)]
    bench.put(*entries)
    assert [bench.memory.get(USER, entry.id) for entry in entries] == entries


def putting_the_same_again_changes_nothing(bench: MemoryBench) -> None:
    entries = [bench.entry(number) for number in range(3)]
    for _ in range(3):
        bench.put(*entries)
    assert bench.memory.list(USER) == entries[::-1]


def an_entry_takes_the_place_of_an_older_one_of_its_id(bench: MemoryBench) -> None:
    bench.put(bench.entry(1, "Likes long reports."))
    bench.put(bench.entry(1, "Likes short reports.", kind=MemoryKind.PROFILE))
    (entry,) = bench.memory.list(USER)
    assert (entry.text, entry.kind) == ("Likes short reports.", MemoryKind.PROFILE)
    assert bench.memory.search(USER, "long") == []


def putting_nothing_is_no_harm(bench: MemoryBench) -> None:
    bench.put()
    assert bench.memory.list(USER) == []


def entries_of_several_users_are_refused_and_none_is_put(bench: MemoryBench) -> None:
    refused(lambda: bench.put(bench.entry(1), bench.entry(2, user="bob")), UsageError)
    refused(lambda: bench.put(bench.entry(1, user="None"), bench.entry(2, user=None)), UsageError)
    assert [bench.ids(user) for user in (USER, "bob", None, "None")] == [[]] * 4


def a_registered_secret_is_not_kept(bench: MemoryBench) -> None:
    secret = "sk-0123456789-of-the-memory-suite"  # noqa: S105 - of no service
    keyring = Keyring()
    with keyring.scope():
        register_secret(secret)
        bench.put(bench.entry(1, f"The key is {secret}.", words=f"my key: {secret}"))
        entry = bench.memory.get(USER, "mem-1")
    assert (entry.text, entry.words) == ("The key is ***.", "my key: ***")


# Listing


def entries_are_listed_newest_first_and_those_of_one_moment_by_id(bench: MemoryBench) -> None:
    same = [bench.entry(5).model_copy(update={"id": name}) for name in ("a", "b", "c")]
    bench.put(bench.entry(9), *same, bench.entry(1))
    assert bench.ids() == ["mem-9", "c", "b", "a", "mem-1"]


def a_list_is_of_the_kinds_that_are_wanted(bench: MemoryBench) -> None:
    bench.put(*(bench.entry(number, kind=kind) for number, kind in enumerate(MemoryKind)))
    for kind in MemoryKind:
        assert [entry.kind for entry in bench.memory.list(USER, kinds=[kind])] == [kind]
    assert len(bench.memory.list(USER)) == len(MemoryKind)
    assert bench.memory.list(USER, kinds=()) == []


def pages_join_without_a_gap_or_a_repeat(bench: MemoryBench) -> None:
    bench.put(*(bench.entry(number // 3).model_copy(update={"id": f"mem-{number}"}) for number in range(20)))
    entries, after = [], None
    while page := bench.memory.list(USER, limit=3, after=after):
        entries += page
        after = MemoryCursor.of(page[-1])
        bench.memory.forget(USER, ids=[page[-1].id])  # a page goes on where its last entry was
    assert [entry.id for entry in entries] == [
        entry.id for entry in sorted(entries, key=MemoryCursor.of, reverse=True)
    ]
    assert len(entries) == 20


# Searching


def a_search_finds_what_speaks_of_it_nearest_first(bench: MemoryBench) -> None:
    bench.put(
        bench.entry(1, "Works as a keeper of lighthouses in Scotland."),
        bench.entry(2, "Prefers metres over feet."),
        bench.entry(3, "Has asked about the lighthouses of Norway."),
    )
    entries = bench.memory.search(USER, "Which lighthouses does Scotland have?")
    assert entries[0].id == "mem-1"


def a_search_leaves_titles_of_sessions_out_unless_they_are_wanted(bench: MemoryBench) -> None:
    bench.put(
        bench.entry(1, "Lighthouses of Scotland.", kind=MemoryKind.SESSIONS),
        bench.entry(2, "Asked about lighthouses.", kind=MemoryKind.EPISODES),
    )
    assert [entry.id for entry in bench.memory.search(USER, "lighthouses")] == ["mem-2"]
    entries = bench.memory.search(USER, "lighthouses", kinds=[MemoryKind.SESSIONS])
    assert [entry.id for entry in entries] == ["mem-1"]


def a_search_gives_at_most_its_limit(bench: MemoryBench) -> None:
    bench.put(*(bench.entry(number, f"Lighthouse number {number}.") for number in range(20)))
    assert len(bench.memory.search(USER, "lighthouse", limit=3)) == 3
    assert len(bench.memory.search(USER, "lighthouse")) == 10


def any_text_may_be_searched_for(bench: MemoryBench) -> None:
    bench.put(bench.entry())
    for text in ("", " ", *TEXTS, *HOSTILE_IDS[:-2], "report " * 100_000):
        for entry in bench.memory.search(USER, text):
            assert entry == bench.entry()


# Forgetting


def what_is_forgotten_is_gone_and_counted(bench: MemoryBench) -> None:
    bench.put(*(bench.entry(number, kind=kind) for number, kind in enumerate(MemoryKind)))
    assert bench.memory.forget(USER, ids=["mem-0", "mem-0", "mem-9"]) == 1
    assert bench.memory.forget(USER, ids=["mem-0"]) == 0
    refused(lambda: bench.memory.get(USER, "mem-0"), MemoryNotFoundError)
    assert bench.memory.forget(USER, kinds=[MemoryKind.PREFERENCES, MemoryKind.EPISODES]) == 2
    assert [entry.kind for entry in bench.memory.list(USER)] == [MemoryKind.SESSIONS]
    assert bench.memory.forget(USER, everything=True) == 1
    assert bench.memory.list(USER) == []


def forgetting_has_to_say_what(bench: MemoryBench) -> None:
    bench.put(bench.entry())
    refused(lambda: bench.memory.forget(USER), UsageError)
    refused(lambda: bench.memory.forget(USER, ids=["mem-1"], everything=True), UsageError)
    refused(lambda: bench.memory.forget(USER, ids=[], kinds=[]), UsageError)
    assert bench.memory.forget(USER, ids=[]) == bench.memory.forget(USER, kinds=()) == 0
    assert bench.ids() == ["mem-1"]


# Users apart


def an_entry_is_its_users_alone(bench: MemoryBench) -> None:
    for user in HOSTILE_USERS:
        bench.put(bench.entry(1, f"Of {user!r}"[:100], user=user))
    for user in HOSTILE_USERS:
        assert [entry.user_id for entry in bench.memory.list(user)] == [user]
        assert bench.memory.get(user, "mem-1").text == f"Of {user!r}"[:100]
    for place, user in enumerate(HOSTILE_USERS):
        assert bench.memory.forget(user, everything=True) == 1
        assert [len(bench.memory.list(other)) for other in HOSTILE_USERS[place + 1 :]] == [1] * (
            len(HOSTILE_USERS) - place - 1
        )


def an_id_is_no_pattern(bench: MemoryBench) -> None:
    bench.put(bench.entry(1), bench.entry(2))
    for name in HOSTILE_IDS:
        refused(lambda name=name: bench.memory.get(USER, name), MemoryNotFoundError)  # type: ignore[misc]
        assert bench.memory.forget(USER, ids=[name]) == 0
    assert bench.ids() == ["mem-2", "mem-1"]


def no_entry_crosses_between_two_users_in_hundreds_of_calls(bench: MemoryBench) -> None:
    """Compared with dictionaries."""
    chance = random.Random(17)  # noqa: S311 - which case is tried
    for first, second in ((None, "None"), ("ann", "аnn"), ("", "ann\0"), ("../ann", "%")):
        users = (first, second)
        model: dict[str | None, dict[str, MemoryEntry]] = {first: {}, second: {}}
        for number in range(OPERATIONS):
            user = chance.choice(users)
            _one_call(bench, chance, number, user, model[user])
            for each in users:
                expected = sorted(model[each].values(), key=MemoryCursor.of, reverse=True)
                assert bench.memory.list(each) == expected


def _one_call(
    bench: MemoryBench, chance: random.Random, number: int, user: str | None, own: dict[str, MemoryEntry]
) -> None:
    name = f"mem-{chance.randrange(12)}"
    kind = chance.choice(list(MemoryKind))
    match chance.randrange(6):
        case 0 | 1 | 2:
            entry = bench.entry(number, f"{user!r} {number}"[:90], user=user, kind=kind)
            entry = entry.model_copy(update={"id": name})
            bench.put(entry)
            own[name] = entry
        case 3:
            assert bench.memory.forget(user, ids=[name]) == (own.pop(name, None) is not None)
        case 4:
            keys = [key for key, entry in own.items() if entry.kind is kind]
            assert bench.memory.forget(user, kinds=[kind]) == len(keys)
            for key in keys:
                del own[key]
        case _:
            with suppress(MemoryNotFoundError):
                assert bench.memory.get(user, name) == own.get(name)
            for entry in bench.memory.search(user, str(number), kinds=list(MemoryKind), limit=5):
                assert own[entry.id] == entry


# Limits


def _fill(bench: MemoryBench, kind: MemoryKind) -> None:
    limit = bench.memory.max_entries
    for start in range(0, limit, BATCH_SIZE):
        bench.put(
            *(bench.entry(number, kind=kind) for number in range(start, min(start + BATCH_SIZE, limit)))
        )


def the_oldest_episodes_make_room(bench: MemoryBench) -> None:
    limit = bench.memory.max_entries
    _fill(bench, MemoryKind.EPISODES)
    bench.put(bench.entry(limit, kind=MemoryKind.PROFILE), bench.entry(limit + 1, kind=MemoryKind.EPISODES))
    ids = set(bench.ids())
    assert len(ids) == limit
    assert {"mem-0", "mem-1"}.isdisjoint(ids)
    assert {"mem-2", f"mem-{limit}", f"mem-{limit + 1}"} <= ids
    bench.put(bench.entry(2, "What was there is changed.", kind=MemoryKind.EPISODES))
    assert set(bench.ids()) == ids


def a_memory_without_episodes_refuses_more_and_says_what_to_do(bench: MemoryBench) -> None:
    limit = bench.memory.max_entries
    _fill(bench, MemoryKind.PREFERENCES)
    refused(lambda: bench.put(bench.entry(limit, kind=MemoryKind.EPISODES)), MemoryFullError)
    assert len(bench.ids()) == limit
    bench.put(bench.entry(1, "What was there may be changed."))
    bench.put(bench.entry(limit, user="bob"))
    assert bench.ids("bob") == [f"mem-{limit}"]
    assert bench.memory.forget(USER, ids=["mem-0"]) == 1
    bench.put(bench.entry(limit))


# Threads, and others over the same place


def threads_at_once_lose_nothing(bench: MemoryBench) -> None:
    def work(number: int) -> None:
        user = f"user-{number % 2}"
        for step in range(10):
            bench.put(bench.entry(100 * number + step, user=user))
            bench.memory.list(user, limit=3)
        assert bench.memory.forget(user, ids=[f"mem-{100 * number}"]) == 1

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert [len(bench.ids(f"user-{number}")) for number in range(2)] == [18, 18]


def a_new_memory_over_the_same_place_has_everything(bench: MemoryBench) -> None:
    entries = [bench.entry(number, words="As it was said.") for number in range(3)]
    bench.put(*entries)
    bench.memory.close()
    assert bench.another().list(USER) == entries[::-1]


def two_memories_over_one_place_see_each_other(bench: MemoryBench) -> None:
    other = bench.another()
    bench.put(bench.entry(1))
    assert other.get(USER, "mem-1") == bench.entry(1)
    other.put([bench.entry(2)])
    assert bench.ids() == ["mem-2", "mem-1"]
    assert other.forget(USER, everything=True) == 2
    assert bench.ids() == []
