"""Tables and code that the library lost stand where they stood; how each table is read is in `tests/data/readers`."""

from __future__ import annotations

import pytest

from deep_research.sources.extract.main_content import with_tables_and_code


def test_tables_and_code_that_were_lost_are_put_back_where_they_stood() -> None:
    whole = "# Mole\n\nThe first paragraph of it.\n\na | b\n1 | 2\n\nThe second paragraph of it.\n\n```\nx = 1\n```\n\n"
    whole += "The third paragraph of it.\n\nmenu | of the site\nmore | of it"
    found = (
        "# Mole\n\nThe first paragraph of it.\n\nThe second paragraph of it.\n\nThe third paragraph of it."
    )
    assert with_tables_and_code(found, whole) == whole.rpartition("\n\n")[0]


@pytest.mark.parametrize(
    "left",
    [
        "Ports\nPort | Ships\nMole | 1\nRock | 2",
        "Ports | |\nPort | Ships\nMole | 1",
        "Ports\n\nPort | Ships Mole",
    ],
)
def test_a_table_takes_the_place_of_what_is_left_of_it(left: str) -> None:
    table = "Port | Ships\nMole | 1\nRock | 2\nHare | 3"
    found = with_tables_and_code(
        f"The first paragraph of it.\n\n{left}\n\nThe second paragraph of it.",
        f"The first paragraph of it.\n\n{table}\n\nThe second paragraph of it.",
    )
    assert table in found
    assert "Ports" in found


def test_two_tables_that_became_one_are_two_again() -> None:
    one, other = "Port | Ships\nMole | 1", "Lamp | Lit\nEast | 1901"
    whole = f"The first paragraph of it.\n\n{one}\n\nLamps\n\n{other}\n\nThe second paragraph of it."
    found = f"The first paragraph of it.\n\n{one}\nLamps |\n{other}\n\nThe second paragraph of it."
    told = with_tables_and_code(found, whole)
    assert told.count("Mole") == told.count("East") == told.count("Lamps") == 1
    assert one in told
    assert other in told
