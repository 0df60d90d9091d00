"""Reading documents: the words survive, the markup and what is hidden do not."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deep_research.sources.extract.document import Document
from deep_research.sources.extract.finishing import TooLongError
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

    @pytest.mark.parametrize(
        ("source", "text"),
        [
            ("See [the docs](http://x.y/a_(b) 'T') now", "See the docs now"),
            ("See [the\ndocs](http://x.y)", "See the\ndocs"),
            ("[![badge](b.svg)](http://x) Words ![pic](a.png)", "Words"),
            ("A [link][ref] and [Ref] here\n\n[ref]: http://x.y 'T'\n", "A link and Ref here"),
            ("Note.[^1]\n\n[^1]: The note.", "Note.\n\n[^1]: The note."),
            (
                "**bold** and *it* and ***both*** and __two words__ and _one_",
                "bold and it and both and two words and one",
            ),
            ("**a *b* c** ~~gone~~", "a b c gone"),
            ("这是**重点**内容", "这是重点内容"),
            ("snake_case_name and __init__ and a_b_", "snake_case_name and __init__ and a_b_"),
            ("2*3*4 and *args, **kwargs and src/**/*.py", "2*3*4 and *args, **kwargs and src/**/*.py"),
            ("`*code*` and ``a`` and `my_var`", "*code* and a and my_var"),
            (r"\*literal\* \_x\_", "*literal* _x_"),
            ("a <br> b <b>c</b> List<String> x < y", "a   b c List<String> x < y"),
            ("<https://x.y/z>", "https://x.y/z"),
            ("* one\n+ two\n- three", "- one\n- two\n- three"),
            ("> quoted\n> > deeper", "quoted\ndeeper"),
            ("| a | b |\n|---|:-:|\n| 1 | 2 |", "a | b\n1 | 2"),
            ("one\n\n***\n\ntwo", "one\n\ntwo"),
            ("a <!-- hidden\n\nlines --> b", "a  b"),
            ("a <!-- never closed", "a <!-- never closed"),
            ("arr[i](x) and m[0][1]", "arr[i](x) and m[0][1]"),
        ],
    )
    def test_marks_go_and_words_stay(self, source: str, text: str) -> None:
        assert read(source).text == text

    def test_fenced_code_is_kept_as_it_is(self) -> None:
        code = "```python\n# not *a* heading\nx = a[0](b)  # <!-- kept -->\n```"
        assert read(f"Before *x*\n\n{code}\n\nAfter").text == f"Before x\n\n{code}\n\nAfter"

    @pytest.mark.parametrize(
        "hidden",
        [
            f"<!-- {CANARY} -->",
            f"<script>{CANARY}</script>",
            f"<style>{CANARY}</style>",
            f'<span style="display: none">{CANARY}</span>',
            f"<div hidden>\n\n{CANARY}\n\n</div>",
            f'<p aria-hidden="true">{CANARY}</p>',
            f"![{CANARY}](x.png)",
            f'[x]: http://x.y "{CANARY}"\n',
            f'[seen](http://x.y "{CANARY}")',
        ],
    )
    def test_what_a_reader_does_not_see_is_not_in_the_text(self, hidden: str) -> None:
        assert CANARY not in read(f"Before.\n\n{hidden}\n\nAfter.").text


class TestReStructuredText:
    def test_titles_become_headings_by_the_order_of_their_marks(self) -> None:
        source = "=====\nTitle\n=====\n\nPart\n====\n\nSub\n---\n\nOther\n=====\n\ntext\n\n----\n\nmore"
        document = read(source, "a.rst")
        assert document.title == "Title"
        assert document.text == "# Title\n\n## Part\n\n### Sub\n\n## Other\n\ntext\n\nmore"

    @pytest.mark.parametrize(
        ("source", "text"),
        [
            (":class:`Foo`, :py:meth:`~a.b.run`, :ref:`the guide <guide>`", "Foo, run, the guide"),
            (
                "``literal`` and `A link <http://x.y>`_ and name_ and `two words`_",
                "literal and A link and name and two words",
            ),
            ("**bold** and *it* and snake_case and a*b", "bold and it and snake_case and a*b"),
            ("Like this::\n\n    code  *a*", "Like this:\n\n```\ncode  *a*\n```"),
            (".. note:: Take care.\n   And go on.\n\nEnd", "Take care.\nAnd go on.\n\nEnd"),
            (".. code-block:: python\n   :linenos:\n\n   x = 1\n\nEnd", "```\nx = 1\n```\n\nEnd"),
            (".. toctree::\n   :maxdepth: 2\n\n   intro\n\nEnd", "End"),
            (".. automodule:: x\n   :members:\n\nEnd", "End"),
            (".. image:: x.png\n   :alt: gone\n\nEnd", "End"),
            (".. raw:: html\n\n   <b>gone</b>\n\nEnd", "End"),
            (".. a comment\n   of two lines\n\nEnd", "End"),
            (".. _target: http://x.y\n\nEnd", "End"),
            (".. |sub| replace:: gone\n\nEnd", "End"),
            ("Note [1]_ here.\n\n.. [1] The note.", "Note  here.\n\nThe note."),
            (".. versionchanged:: 2.3\n\n   Bound to it.", "Changed in version 2.3:\nBound to it."),
            (".. versionadded:: 2.3 The switch.", "Added in version 2.3: The switch."),
            (".. deprecated:: 2.3", "Deprecated since version 2.3."),
            (".. deprecated:: 3.9, removed in 3.13", "Deprecated since version 3.9: removed in 3.13"),
            (".. function:: foo()\n\n.. function:: bar()", "foo()\n\nbar()"),
            ("See :file:`.gitignore` and :command:`./configure`.", "See .gitignore and ./configure."),
            ("Use :data:`.current_app` and :attr:`~.Flask.config`.", "Use current_app and config."),
            (
                ".. py:data:: SIZE\n\n   How large\n   it is.\n\n   Default: 9\n\n   .. option:: -x\n\n      * one",
                "SIZE\n\n- How large it is.\n\nDefault: 9\n\n-x\n\n* one",
            ),
            (
                "David (1815--1886)\n   Of\n   Leith.\n\n   More.\nAlan\n   The other --- the elder.\n\nUse --app.",
                "David (1815–1886)\n\n- Of Leith.\n\n   More.\n\nAlan\n\n- The other — the elder.\n\nUse --app.",
            ),
            ("1. one\n   more\n\n- two\n  more", "1. one\n   more\n\n- two\n  more"),
            (
                ".. tabs::\n\n   .. group-tab:: Bash\n\n      .. code-tab:: bash\n\n         $ run\n\n"
                "   .. whatever:: x\n\n      Words.",
                "Bash\n\n```\n$ run\n```\n\nWords.",
            ),
            (".. figure:: x.png\n   :alt: gone\n\n   The wall.\n\nEnd", "The wall.\n\nEnd"),
            (".. math:: a = b", "```\na = b\n```"),
            (
                ".. |AGA| replace:: The *old* company\n\nOf |AGA| and |other|.",
                "Of The old company and other.",
            ),
            ("Use ``run the\nwall`` and `two\nwords`_ here.", "Use run the\nwall and two\nwords here."),
            (
                "`The long title of\n   a page\n   <https://x.y/z>`__ says",
                "The long title of\n   a page says",
            ),
            ("`The title\n   <https://x.y/z>`__", "The title"),
            ("One ` here.\n\nAnother ` there.", "One ` here.\n\nAnother ` there."),
            (".. warning::\n\n   .. toctree::\n\n      x\n\n   Hot.", "Hot."),
        ],
    )
    def test_roles_and_directives_shrink_to_their_words(self, source: str, text: str) -> None:
        assert read(source, "a.rst").text == text

    def test_headings_keep_their_levels_over_code(self) -> None:
        source = "Top\n===\n\nSub\n---\n\nSee::\n\n  code\n\nNext\n----\n\nMore::\n\nEnd"
        assert read(source, "a.rst").text == (
            "# Top\n\n## Sub\n\nSee:\n\n```\ncode\n```\n\n## Next\n\nMore:\n\nEnd"
        )

    def test_directives_nested_without_end_are_no_problem(self) -> None:
        source = "\n".join(f"{' ' * 3 * depth}.. note:: words" for depth in range(600))
        assert "words" in read(source, "a.rst").text

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
        assert found.text.startswith("PEP: 621\nTitle: Storing metadata")

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
            "```\nx = 1\n  y\n```\n\nterm\n\n- meaning\n\ntail & <end>"
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
            ("", '<p>x <time datetime="2024-02-03">yesterday</time>'),
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


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("piece", NASTY)
def test_no_document_takes_more_than_linear_time(
    piece: str, suffix: str, seconds: Callable[..., float]
) -> None:
    raw = (piece * (60_000 // len(piece))).encode()

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
