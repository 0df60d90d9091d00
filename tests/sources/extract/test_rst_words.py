"""What a text in reStructuredText says in its marks is said without them."""

from __future__ import annotations

import pytest

from deep_research.sources.extract.texts import read_document


def text_of(source: str) -> str:
    return read_document(source.encode(), "wall.rst").text


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("See :rfc:`5322` and :pep:`8`.", "See RFC 5322 and PEP 8."),
        ("See :rfc:`2616#section-3`.", "See RFC 2616#section-3."),
        ("See :cve:`2020-10735`.", "See CVE 2020-10735."),
        ("See :rfc:`the mail's form <5322>`.", "See the mail's form."),
    ],
)
def test_a_document_that_is_named_by_its_number_is_told_with_its_series(source: str, told: str) -> None:
    assert text_of(source) == told


def test_all_definitions_of_a_list_that_is_set_in_are_read_alike() -> None:
    source = (
        "It has parts:\n\n    Wall\n        A row\n        of stones.\n\n    Gate\n        A way in.\n\nEnd."
    )
    assert text_of(source) == (
        "It has parts:\n\n    Wall\n\n    - A row of stones.\n\n    Gate\n\n    - A way in.\n\nEnd."
    )


def test_an_item_that_is_set_in_and_goes_on_in_the_next_line_defines_nothing() -> None:
    source = "1.  It has parts:\n\n    -   A wall that is\n        high.\n\n    -   A gate that is\n        wide.\n\nEnd."
    assert text_of(source) == source


def test_a_field_above_all_headings_says_the_title() -> None:
    fields = ":title: The wall of Mole\n:category: Walls\n\n"
    assert (
        read_document(f"{fields}Text.\n\nDepth\n=====\n\nNine.".encode(), "x.rst").title == "The wall of Mole"
    )
    assert read_document(f"Depth\n=====\n\n{fields}Nine.".encode(), "x.rst").title == "Depth"


def test_what_is_to_be_seen_elsewhere_says_so() -> None:
    assert "See also: The lamp section for more." in text_of(
        "Text.\n\n.. seealso:: The :ref:`lamp` section for more.\n"
    )
    assert "See also:\nThe manual." in text_of("Text.\n\n.. seealso::\n\n   The manual.\n").replace(
        "\n\n", "\n"
    )
