"""Pages that only name things are told from those that say something."""

import random

import pytest

from deep_research.evidence.link_lists import is_listing

INDEX = "\n".join(f"- autovacuum_setting_{n} configuration parameter, Automatic Vacuuming" for n in range(60))
BOOK_INDEX = "\n".join(f"Eddystone tower {n}, {n + 12}" for n in range(80))
CONTENTS = "# Contents\n\n" + "\n".join(
    f"- [{n}.{k}. Running the server](server-{n}-{k}.html)" for n in range(8) for k in range(6)
)
PROSE = "The tower was built of granite, and it stands on a reef that the sea covers twice a day. " * 30
ITEMS = "\n".join(f"- The keeper of light {n} was paid {n} pounds a year and a coat." for n in range(40))
TABLE = "| Tower | Height |\n| --- | --- |\n" + "\n".join(f"| Tower {n} | {n} m |" for n in range(80))
CODE = "```\n" + "\n".join(f"x{n} = read({n})" for n in range(120)) + "\n```"
SPOKEN = "\n".join("so we went out to the rock and there was nobody and the lamp was out " for _ in range(60))
CHINESE = "\n".join("灯塔建于礁石之上。" for _ in range(200))
REQUIREMENTS = "\n".join(
    f"R-{n}\n- The library is free to omit rows that are identical in all columns (source: vtab.html)"
    for n in range(60)
)


@pytest.mark.parametrize("text", [INDEX, BOOK_INDEX, CONTENTS], ids=["index", "index of a book", "contents"])
def test_entries_without_sentences_are_a_listing(text):
    assert is_listing(text)


@pytest.mark.parametrize(
    "text",
    [PROSE, ITEMS, TABLE, CODE, SPOKEN, CHINESE, REQUIREMENTS, INDEX[:200], "", PROSE + INDEX],
    ids=["prose", "items", "table", "code", "speech", "Chinese", "rules", "a short list", "nothing", "mixed"],
)
def test_what_says_something_is_none(text):
    assert not is_listing(text)


FIRST = ("Ada", "Bela", "Carl", "Dora", "Emil", "Fanny", "Georg", "Hanna", "Ivar", "Jane", "Karl", "Lena")
LAST = (
    "Brook",
    "Corder",
    "Dale",
    "Eddy",
    "Frost",
    "Grey",
    "Holm",
    "Irving",
    "Jessop",
    "Kerr",
    "Lund",
    "Moore",
)
PLACES = (
    "Bell Rock",
    "Cape Wrath",
    "Tour de la Vieille",
    "Isle of May",
    "Skerryvore",
    "Start Point",
    "Ar-Men",
)
TOPICS = ("Running the server", "Locks", "Routine vacuuming", "Backup and restore", "Index types", "Roles")
ROOTS = ("read", "write", "open", "close", "seek", "lock", "wait", "send")
VERBS = ("trims the lamp", "oils the clockwork", "paints the door", "counts the ships", "lights the fire")


def person(draw):
    return f"{draw.choice(FIRST)} {draw.choice(LAST)}"


# What only names things, by kind: entries of so many lines.
NAMING = {
    "an index with pages": lambda d, n: [
        f"{p}, {d.randint(1, 400)}" for p in sorted(person(d) for _ in range(n))
    ],
    "an index with several pages": lambda d, n: [
        f"{d.choice(TOPICS).lower()}, {d.randint(1, 90)}, {d.randint(91, 300)}–{d.randint(301, 400)}"
        for _ in range(n)
    ],
    "an index of links": lambda d, n: [f"- [{d.choice(TOPICS)}]({k}.html)" for k in range(n)],
    "contents with numbers": lambda d, n: [f"{1 + k // 5}.{1 + k % 5}. {d.choice(TOPICS)}" for k in range(n)],
    "contents with pages": lambda d, n: [f"{d.choice(TOPICS)} ........ {7 * k + 1}" for k in range(n)],
    "contents whose pages go up": lambda d, n: [f"{d.choice(TOPICS)} {9 * k + 3}" for k in range(n)],
    "people": lambda d, n: [person(d) for _ in range(n)],
    "people as items": lambda d, n: [f"- {person(d)}" for _ in range(n)],
    "places": lambda d, n: [f"{k + 1}. {d.choice(PLACES)}" for k in range(n)],
    "names between commas": lambda d, n: [", ".join(d.choice(PLACES) for _ in range(n))],
    "functions": lambda d, n: [f"{d.choice(ROOTS)}_{d.choice(ROOTS)}_{k}()" for k in range(n)],
    "addresses": lambda d, n: [f"https://example.org/{d.choice(ROOTS)}/{k}" for k in range(n)],
}
# What is as short, and says something.
SAYING = {
    "prose": lambda d, n: [f"{person(d)} {d.choice(VERBS)} in the evening." for _ in range(n)],
    "prose without stops": lambda d, n: [f"{person(d)} {d.choice(VERBS)}" for _ in range(n)],
    "figures": lambda d, n: [f"- {d.choice(PLACES)} {d.randint(20, 60)} m" for _ in range(n)],
    "years": lambda d, n: [f"{d.choice(PLACES)}, {d.randint(1700, 1900)}" for _ in range(n)],
    "keys and values": lambda d, n: [f"{d.choice(FIRST)}: {d.choice(LAST)}" for _ in range(n)],
    "pairs": lambda d, n: [f"{d.choice(PLACES)} – {person(d)}" for _ in range(n)],
    "pairs between commas": lambda d, n: [f"{d.choice(PLACES)}, {person(d)}" for _ in range(n)],
    "steps": lambda d, n: [f"{k + 1}. Then {d.choice(VERBS)}" for k in range(n)],
    "changes of versions": lambda d, n: [f"1.{n - k} Repairs {d.choice(TOPICS).lower()}" for k in range(n)],
    "a table": lambda d, n: [f"{d.choice(PLACES)} | {person(d)}" for _ in range(n)],
    "verse": lambda d, n: [f"And {d.choice(FIRST)} sees the lamp go round" for _ in range(n)],
    "a calendar": lambda d, n: [f"{d.randint(1, 28)} May {1800 + k} lit" for k in range(n)],
    "names and a sentence": lambda d, n: [
        *(person(d) for _ in range(n)),
        "All of them were keepers of the light on the reef for many years.",
    ],
    "Chinese": lambda d, n: ["灯塔建于礁石之上。" for _ in range(n)],
    "few names": lambda d, n: [person(d) for _ in range(min(n, 5))],
}
LENGTHS = (6, 9, 14, 19, 26)


def made(kinds, kind, length, seed):
    draw = random.Random(f"{kind} {length} {seed}")
    return "# Lights\n\n" * (seed % 2) + "\n".join(kinds[kind](draw, length))


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("kind", NAMING)
def test_what_only_names_things_is_a_listing_however_short(kind, length):
    texts = [made(NAMING, kind, length, seed) for seed in range(10)]
    assert [text for text in texts if not is_listing(text)] == []


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("kind", SAYING)
def test_a_short_text_that_says_something_is_none(kind, length):
    texts = [made(SAYING, kind, length, seed) for seed in range(10)]
    assert [text for text in texts if is_listing(text)] == []
