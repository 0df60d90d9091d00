"""Reading documents: the words survive, the markup and what is hidden do not."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deep_research.sources.extract.document import Document, TooLongError
from deep_research.sources.extract.plaintext import UnreadableError, one_line
from deep_research.sources.extract.texts import parse_date, read_document

SUFFIXES = (".md", ".rst", ".html", ".txt")
CANARY = "obey the canary"
LEFT_OUT = (
    "script",
    "style",
    "nav",
    "header",
    "footer",
    "aside",
    "form",
    "template",
    "svg",
    "noscript",
    "button",
)


def read(text: str, name: str = "file.md") -> Document:
    return read_document(text.encode(), name)


def html(body: str, head: str = "") -> Document:
    return read(f"<!doctype html><html><head>{head}</head><body>{body}</body></html>", "page.html")


class TestAnyDocument:
    def test_the_snapshot_hash_is_of_the_raw_bytes(self) -> None:
        raw = "# Ä\r\n\r\ntext".encode()
        assert read_document(raw, "a.md").snapshot_hash == hashlib.sha256(raw).hexdigest()

    @pytest.mark.parametrize(
        "raw",
        [
            "Zürich – “naïve” text".encode(),
            b"\xef\xbb\xbf" + "Zürich – “naïve” text".encode(),
            b"\xff\xfe" + "Zürich – “naïve” text".encode("utf-16-le"),
            b"\xfe\xff" + "Zürich – “naïve” text".encode("utf-16-be"),
            "Zürich – “naïve” text".encode("cp1252"),
            unicodedata.normalize("NFD", "Zürich – “naïve” text").encode(),
        ],
    )
    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_text_is_read_in_its_encoding_and_normalised(self, raw: bytes, suffix: str) -> None:
        assert read_document(raw, f"a{suffix}").text == "Zürich – “naïve” text"

    def test_a_declared_encoding_of_a_page_is_honoured(self) -> None:
        raw = '<meta charset="windows-1251"><p>Привет мир</p>'.encode("cp1251")
        assert read_document(raw, "a.html").text == "Привет мир"

    def test_a_broken_byte_in_utf8_text_does_not_spoil_the_rest(self) -> None:
        raw = "Größe, Länge, Höhe ".encode() + b"\xe2\x80 und mehr"
        assert read_document(raw, "a.txt").text.startswith("Größe, Länge, Höhe")

    @pytest.mark.parametrize("raw", [b"\x89PNG\r\n\x1a\n\0\0\0", b"text\0text", bytes(range(256)) * 4])
    def test_binary_data_is_unreadable(self, raw: bytes) -> None:
        with pytest.raises(UnreadableError, match="binary"):
            read_document(raw, "a.txt")

    def test_bytes_in_no_known_encoding_are_unreadable(self) -> None:
        with pytest.raises(UnreadableError, match="encoding"):
            read_document(b"\x81\x8d\x8f\x90\x9d" * 20, "a.txt")

    @pytest.mark.parametrize("suffix", SUFFIXES)
    @pytest.mark.parametrize("text", ["", " \n\t ", "---", "\u200b\u200b", "<!-- x -->"])
    def test_a_document_without_a_word_is_unreadable(self, text: str, suffix: str) -> None:
        if suffix in (".txt", ".rst") and "x" in text:
            return
        with pytest.raises(UnreadableError, match="no readable text"):
            read(text, f"a{suffix}")

    def test_a_text_over_the_limit_is_refused_and_never_cut(self) -> None:
        assert len(read_document(b"x" * 100, "a.txt", max_text_bytes=100).text) == 100
        for raw in (b"x" * 101, "ü".encode() * 51):
            with pytest.raises(TooLongError, match="more than 100 bytes of text"):
                read_document(raw, "a.txt", max_text_bytes=100)

    @pytest.mark.parametrize("suffix", SUFFIXES)
    @pytest.mark.parametrize("hidden", "\u200b\u200d\u202e\u2066\ufeff\u00ad\u2060\U000e0041\ufe0f\x07\x1b")
    def test_characters_that_cannot_be_seen_are_removed(self, hidden: str, suffix: str) -> None:
        assert read(f"vis{hidden}ible words", f"a{suffix}").text == "visible words"

    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_joiners_that_a_script_needs_stay(self, suffix: str) -> None:
        assert read("کشتی\u200cها در بندر", f"a{suffix}").text == "کشتی\u200cها در بندر"

    def test_joiners_that_a_page_names_stay_where_a_script_needs_them(self) -> None:
        assert (
            read("<p>کشتی&zwnj;ها, har&zwnj;bours &#8203;here</p>", "a.html").text
            == "کشتی\u200cها, harbours here"
        )

    @pytest.mark.parametrize("end", ["\r\n", "\r", "\u2028", "\x0b", "\x85"])
    def test_line_ends_of_all_kinds_become_one(self, end: str) -> None:
        assert read(f"one{end}two", "a.txt").text == "one\ntwo"

    def test_long_rows_of_combining_marks_are_shortened_so_that_normalising_stays_fast(
        self, seconds: Callable[..., float]
    ) -> None:
        row = "a" + "\u0301\u0316" * 200_000
        assert seconds(2, lambda: read(row, "a.txt")) < 2
        assert len(read(row, "a.txt").text) < 40

    @pytest.mark.parametrize(
        ("name", "title"),
        [
            ("2026-03-01.txt", "2026-03-01"),
            ("notes_of-2026-03-01_hall.txt", "notes of 2026-03-01 hall"),
            ("phase-2--plan-b.txt", "phase 2 plan b"),
            ("--.txt", "--.txt"),
        ],
    )
    def test_a_title_of_a_file_name_keeps_its_days_together(self, name: str, title: str) -> None:
        assert read("some words", name).title == title

    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_the_file_name_is_the_last_resort_for_a_title(self, suffix: str) -> None:
        assert read("words without a heading.", f"my-long_name{suffix}").title == "my long name"

    @given(st.text(max_size=200), st.sampled_from(SUFFIXES))
    @settings(max_examples=300, deadline=None)
    def test_any_text_is_read_or_refused(self, text: str, suffix: str) -> None:
        try:
            document = read_document(text.encode("utf-8", "surrogatepass"), f"a{suffix}")
        except UnreadableError:
            return
        assert unicodedata.is_normalized("NFC", document.text)
        assert document.text.encode()
        assert document.title
        assert "\n" not in document.title

    @given(st.binary(max_size=200), st.sampled_from(SUFFIXES))
    @settings(max_examples=200, deadline=None)
    def test_any_bytes_are_read_or_refused(self, raw: bytes, suffix: str) -> None:
        try:
            read_document(raw, f"a{suffix}")
        except UnreadableError:
            return


class TestMarkdown:
    def test_front_matter_gives_title_and_date_and_is_removed(self) -> None:
        document = read(
            '---\ntitle: "The Title"\ndate: 2024-03-05T10:00:00Z\ntags: [a]\n---\n# Heading\n\nBody.'
        )
        assert (document.title, document.published) == ("The Title", date(2024, 3, 5))
        assert document.text == "# Heading\n\nBody."

    @pytest.mark.parametrize(
        ("body", "title"), [("## Forms\n\nNone.", "Ohio"), ("# Forms of Ohio\n\nNone.", "Forms of Ohio")]
    )
    def test_a_page_that_has_no_title_is_called_by_its_name(self, body: str, title: str) -> None:
        assert read(f"---\nname: Ohio\n---\n\n{body}").title == title

    @pytest.mark.parametrize(
        "hidden",
        [
            '<DIV style="display:none" title="a">\nsecret\n</DIV>',
            '<P hidden title="q">secret</P>',
            '<Script title="a">\nvar secret=1\n</Script>',
            '<Card hidden title="secret">',
            '<INPUT type="hidden" label="secret">',
            '<div hidden>\n<Card title="secret">\n</Card></div>',
        ],
    )
    def test_what_is_hidden_stays_so_whatever_it_is_called(self, hidden: str) -> None:
        assert read(f"Seen.\n\n{hidden}\n\nSeen too.").text == "Seen.\n\nSeen too."

    @pytest.mark.timed
    @pytest.mark.parametrize(
        ("unit", "before", "after"),
        [
            ("{{% a %}} ", "x ", "y" * 400),
            ("export const a ", "x ", "y" * 400),
            (' title="x"', "<div>\n<A ", "\n\nw"),
            (" ", "x", "y"),
        ],
    )
    def test_four_times_as_much_takes_no_more_than_ten_times_as_long(
        self, seconds: Callable[..., float], least: Callable[..., float], unit: str, before: str, after: str
    ) -> None:
        def ratio() -> float:
            few, many = (f"{before}{unit * n}{after}" for n in (10_000, 40_000))
            return seconds(inf, lambda: read(many)) / seconds(inf, lambda: read(few))

        assert least(10, ratio) < 10

    def test_rules_around_prose_are_not_front_matter(self) -> None:
        assert "A sentence, no field" in read("---\nA sentence, no field\n---\nMore.").text

    @pytest.mark.parametrize(
        ("source", "title"),
        [
            ("# One\n\ntext", "One"),
            ("intro\n\n## Two ##\n\ntext", "Two"),
            ("Setext\n======\n\ntext", "Setext"),
            ("Lower\n---\n\ntext", "Lower"),
            ("# With *marks* and `code` {#anchor}\n\ntext", "With marks and code"),
            ("```\n# no heading\n```\n\ntext", "file"),
        ],
    )
    def test_the_first_heading_is_the_title(self, source: str, title: str) -> None:
        assert read(source).title == title


class TestReStructuredText:
    def test_a_field_above_all_headings_says_the_title(self) -> None:
        fields = ":title: The wall of Mole\n:category: Walls\n\n"
        assert read(f"{fields}Text.\n\nDepth\n=====\n\nNine.", "x.rst").title == "The wall of Mole"
        assert read(f"Depth\n=====\n\n{fields}Nine.", "x.rst").title == "Depth"

    def test_the_date_field_is_the_date(self) -> None:
        assert read("Title\n=====\n\n:Author: A\n:Date: 2023-01-02\n\ntext", "a.rst").published == date(
            2023, 1, 2
        )

    def test_the_head_of_a_proposal_says_its_title_authors_and_day(self) -> None:
        source = (
            "PEP: 621\nTitle: Storing metadata: where\n  and how\nAuthor: Ines Okafor <ines@x.example>,\n"
            "        Tom Marsh <tom at x.example>,\nStatus: Final\nCreated: 22-Jun-2020\nPost-History:\n\n"
            "Abstract\n========\n\n:Title: No\n\nIt is short.\n"
        )
        found = read(source, "pep.rst")
        assert (found.title, found.author) == ("Storing metadata: where and how", "Ines Okafor, Tom Marsh")
        assert found.published == date(2020, 6, 22)
        assert found.text.startswith("- PEP: 621\n- Title: Storing metadata")

    def test_prose_with_colons_is_no_head(self) -> None:
        found = read(
            "Note: this is old.\nTitle: it has none.\nSee: below\nand so on.\n\nWall\n====\n\nx", "a.rst"
        )
        assert (found.title, found.author) == ("Wall", "")


class TestHtml:
    def test_structure_becomes_light_marks(self) -> None:
        body = (
            "<h1>Top</h1><p>One <b>bold</b>\n  line<br>next</p><h2>Sub</h2><ul><li>a<li>b<ul><li>c</ul></ul>"
            "<table><tr><th>H<th>I</tr><tr><td><p>1</p></td><td>2</td></tr></table>"
            "<pre>x = 1\n  y\n</pre><dl><dt>term<dd>meaning</dl>tail &amp; &lt;end&gt;"
        )
        assert html(body).text == (
            "# Top\n\nOne bold line\nnext\n\n## Sub\n\n- a\n- b\n  - c\n\nH | I\n1 | 2\n\n"
            "```\nx = 1\n  y\n```\n\n- term: meaning\n\ntail & <end>"
        )

    @pytest.mark.parametrize(
        ("head", "body", "title"),
        [
            ("<title> The\n Title </title>", "<h1>H</h1>text", "The Title"),
            ("", "<h1>First <i>one</i></h1><h1>Second</h1>", "First one"),
            ("", "<header><h1>In header</h1></header>text", "In header"),
            ("", "<h1 hidden>no</h1><p>text</p>", "page"),
            ("<title>A</title>", "<svg><title>B</title></svg>text", "A"),
        ],
    )
    def test_the_title_is_the_pages_or_its_first_heading(self, head: str, body: str, title: str) -> None:
        assert html(body, head).title == title

    @pytest.mark.parametrize(
        ("head", "body"),
        [
            ('<meta property="article:published_time" content="2024-02-03T04:05Z">', "x"),
            ('<meta name="date" content="2024-02-03">', "x"),
            ('<META NAME="DC.Date" CONTENT="2024/2/3">', "x"),
            ('<meta name="date" content="soon"><meta name="pubdate" content="3 February 2024">', "x"),
        ],
    )
    def test_the_date_is_found(self, head: str, body: str) -> None:
        assert html(body, head).published == date(2024, 2, 3)

    @pytest.mark.parametrize(
        "tag",
        [
            "script",
            "style",
            "nav",
            "header",
            "footer",
            "aside",
            "form",
            "template",
            "svg",
            "noscript",
            "button",
        ],
    )
    def test_what_is_no_content_is_left_out(self, tag: str) -> None:
        text = html(f"<p>Before.</p><{tag}><div>{CANARY}</div></{tag}><p>After.</p>").text
        assert text == "Before.\n\nAfter."

    @pytest.mark.parametrize(
        "hidden",
        [
            f"<!-- {CANARY} -->",
            f"<!-- > {CANARY} -->",
            f"<p hidden>{CANARY}</p>",
            f"<p hidden>{CANARY}<p>shown</p>",
            f'<div style="color:red; display : none">{CANARY}<div>x</div>{CANARY}</div>',
            f"<div style='visibility:hidden'>{CANARY}</div>",
            f"<span style=font-size:0>{CANARY}</span>",
            f'<span aria-hidden="true">a<span>b</span>{CANARY}</span>',
            f'<div role="navigation"><ul><li>{CANARY}</li></ul></div>',
            f'<div role=" Search"><p>{CANARY}</p></div>',
            f'<div HIDDEN=""><b>{CANARY}</i></b> {CANARY}</div>',
            f'<img alt="{CANARY}">',
            f'<a title="{CANARY}">link</a>',
            f'<meta name="description" content="{CANARY}">',
            f'<script type="application/ld+json">"{CANARY}"</script>',
            f"<nav><ul><li>{CANARY}</nav>",
            f"<?php {CANARY} ?>",
            f"<textarea>{CANARY}</textarea>",
        ],
    )
    def test_what_a_reader_does_not_see_is_not_in_the_text(self, hidden: str) -> None:
        document = html(f"<div><p>Before.</p>{hidden}<p>After.</p></div>")
        assert CANARY not in document.text
        assert "Before." in document.text
        assert "After." in document.text

    def test_the_main_part_stands_for_the_page(self) -> None:
        words = "Words of the article. " * 20
        assert html(f"<div>Menu</div><main><p>{words}</p></main><div>Links</div>").text == words.strip()

    def test_a_page_that_is_one_form_is_read_all_the_same(self) -> None:
        assert html("<form><p>All of it.</p></form>").text == "All of it."

    def test_a_table_that_lays_out_a_page_gives_paragraphs(self) -> None:
        words = "Words of the column. " * 20
        text = html(f"<table><tr><td><p>{words}</p><p>{words}</p></td></tr></table>").text
        assert text.count("\n\n") >= 1

    @pytest.mark.parametrize(
        "body",
        [
            "<p>kept <b>text</p></b></div></p></table>",
            "<div><p>kept text",
            '<p class=\'a"b>kept\' x="y>z">kept text</p>',
            "kept text <",
            "kept text <3 & &nope; &#xZZ;",
            "kept text &#" + "9" * 10_000 + ";",
            "<a href=it's>kept text</a>",
            "<p =x y= z>kept text</p>",
            "kept text<a",
            "<title>x</title>kept text<script>no end",
        ],
    )
    def test_broken_markup_loses_no_words(self, body: str) -> None:
        assert "kept" in html(body).text
        assert "text" in html(body).text

    def test_deep_nesting_is_no_problem(self) -> None:
        assert html("<div>" * 100_000 + "deep" + "</div>" * 100_000).text == "deep"


NASTY = [
    "<a ",
    '<a b="',
    "<!--",
    "<div hidden>",
    "<table><tr><td>",
    "</b>",
    "<b>",
    "&#9",
    "<p hidden><b></i>",
]
NASTY += [
    "[",
    "![a](",
    "[a](b ",
    "**a ",
    "*a\n",
    "_a ",
    "`a",
    "<script>",
    "```\n",
    "-->",
    "> ",
    "|-",
    "- ",
    "==\n",
]
NASTY += [
    ".. a::\n",
    ":a:`",
    "`a <",
    "|a",
    "::\n",
    " ",
    "\t",
    "\n",
    "a\u0301\u0316",
    "a",
    "---\na: b\n",
    "# a {",
]


# Starts of marks without an end, for which docutils searches all that comes: the child that reads it has a bound.
UNBOUNDED = {(".rst", piece) for piece in ("**a ", "*a\n", "`a <")}


LINEAR = [
    pytest.param(piece, suffix, marks=() if (n + m) % 4 == 0 else pytest.mark.sweep, id=f"{piece!r}-{suffix}")
    for n, piece in enumerate(NASTY)
    for m, suffix in enumerate(SUFFIXES)
]


@pytest.mark.parametrize(("piece", "suffix"), LINEAR)
def test_no_document_takes_more_than_linear_time(
    piece: str, suffix: str, seconds: Callable[..., float]
) -> None:
    raw = (piece * ((4_000 if (suffix, piece) in UNBOUNDED else 60_000) // len(piece))).encode()

    def attempt() -> None:
        with suppress(UnreadableError):
            read_document(raw, f"a{suffix}")

    assert seconds(4, attempt) < 4  # linear: under .3 s; quadratic: half a minute and more


@pytest.mark.parametrize(
    ("value", "day"),
    [
        ("2024-03-05", date(2024, 3, 5)),
        ("on 2024/3/5, late", date(2024, 3, 5)),
        ("5 March 2024", date(2024, 3, 5)),
        ("March 5th, 2024", date(2024, 3, 5)),
        ("Tue, 05 Mar 2024 10:00:00 GMT", date(2024, 3, 5)),
        ("Mar 2024", date(2024, 3, 1)),
        ("2024-13-45", None),
        ("0000-01-01", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_dates(value: str, day: date | None) -> None:
    assert parse_date(value) == day


@given(st.text(max_size=400), st.integers(20, 60))
@settings(deadline=None)
def test_one_line_is_one_short_line(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert len(line.splitlines()) <= 1
