"""Pages that only name things are told from those that say something."""

import pytest

from deep_research.evidence.boilerplate import is_listing

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
