"""What services send becomes plain fields within bounds."""

import unicodedata
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as some

from deep_research.sources.search.fields import address, count, day, domains, language, line, shortened, whole
from deep_research.sources.search.identifiers import arxiv_id, arxiv_of, at_doi, doi


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("a <b>bold</b> word", "a bold word"),
        ("Tom &amp; Jerry &#39;s &lt;3", "Tom & Jerry 's <3"),
        ("twice &amp;amp; escaped", "twice & escaped"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("<script>alert(1)</script>text", "text"),
        ("&lt;script&gt;alert(1)&lt;/script&gt;text", "text"),
        (" many\n\n lines\t", "many lines"),
        ("Cafe\u0301", "Café"),
        ("a\u202eb\u200bc\x00d", "abcd"),
        (None, ""),
        (7, ""),
    ],
)
def test_a_line_is_plain_text(told, shown):
    assert line(told) == shown


@given(some.text(max_size=400), some.integers(2, 50))
def test_a_line_is_never_longer_than_it_may_be(told, most):
    shown = line(told, most)
    assert len(shown) <= most
    assert unicodedata.is_normalized("NFC", shown)
    assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in shown)


def test_what_is_cut_ends_with_a_word_and_a_mark():
    assert line("seven ships passed the light", 20) == "seven ships passed…"
    assert line("x" * 50, 20) == "x" * 19 + "…"
    assert shortened("seven ships passed", 11) == "seven ships"


def test_hostile_markup_takes_no_time(seconds):
    hostile = (
        "<" * 10**6,
        "<a " * 10**6,
        "&" * 10**6,
        "<script>" * 10**6,
        "&lt;" * 10**6,
        "\u0301" * 10**6,
    )
    assert seconds(5, lambda: [read(text) for text in hostile for read in (line, whole, address)]) < 5


@pytest.mark.parametrize(
    ("told", "known"),
    [
        ("2024-05-17", date(2024, 5, 17)),
        ("2024-05-17T23:59:00+02:00", date(2024, 5, 17)),
        ("2024-05-17 08:00", date(2024, 5, 17)),
        ("Fri, 17 May 2024 08:00:00 GMT", date(2024, 5, 17)),
        ("2024", None),
        ("2024-05", None),
        ("2024-02-30", None),
        ("2024-05-17x", None),
        ("0000-00-00", None),
        ("yesterday", None),
        ("3 days ago", None),
        (20240517, None),
        (None, None),
        ("", None),
    ],
)
def test_a_day_is_only_what_was_told_as_one(told, known):
    assert day(told) == known


@given(some.text(max_size=60))
def test_any_text_is_a_day_or_none(told):
    assert day(told) is None or type(day(told)) is date


@given(some.text(max_size=60) | some.from_regex(r"https?://[^ ]{1,30}"))
def test_any_text_is_an_address_or_none(told):
    found = address(told)
    assert found is None or found.startswith(("http://", "https://", "HTTP", "Http", "h", "H"))


def test_counts_are_counts():
    assert [count(v) for v in (0, 7, -1, True, 1.0, "7", None, 10**30)] == [0, 7, *[None] * 6]


def test_domains_are_written_as_the_network_does():
    given = ("Example.ORG", "münchen.example", ".example.com", "a b", "x OR y", "-", "", "é" * 100)
    assert domains(given) == ["example.org", "xn--mnchen-3ya.example", "example.com"]


def test_a_language_is_its_code_without_the_region():
    assert [language(c) for c in ("de", "pt-BR", "zh_CN", "DE", "", None, "german", "../x")] == [
        "de",
        "pt",
        "zh",
        "de",
        *[None] * 4,
    ]


def test_identifiers_are_told_from_what_looks_like_them():
    assert doi("https://doi.org/10.1000/ABC") == doi("doi:10.1000/abc") == "10.1000/abc"
    assert [doi(v) for v in ("10.1/x", "10.1000/", "10.1000/a b", "10.1000/\u202e", 7, None)] == [None] * 6
    assert arxiv_id("arXiv:2401.00001v3") == "2401.00001"
    assert arxiv_id("hep-th/9901001") == "hep-th/9901001"
    assert [arxiv_id(v) for v in ("../../x", "2401.1", None, 7)] == [None] * 4
    assert arxiv_of("10.48550/arXiv.2401.00001") == arxiv_of(None, "http://arxiv.org/pdf/2401.00001v2.pdf")
    assert at_doi("10.1000/<x>#?") == "https://doi.org/10.1000/%3Cx%3E%23%3F"
