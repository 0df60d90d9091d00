"""A draft is text from outside: what it may not bring, and how references are made."""

import re
from datetime import date

import pytest
from attacks import documents

from deep_research.report.markup import escaped, readable, safe
from deep_research.report.render import finished, reference
from deep_research.state import ConfidenceLevel, Finding, Quote, Source

ALLOWED = {"https://a.example/page"}


def source(name, **fields):
    return Source(id=f"src-{name * 12}", sub_query_id="subq-1", **{"title": f"Title {name}"} | fields)


def finding(number, *sources):
    end = number + len(f"quote {number}")
    quotes = tuple(
        Quote(source_id=s.id, quote=f"quote {number}", start=number, end=end, content_hash="h")
        for s in sources
    )
    fields = {"content": "c", "confidence": ConfidenceLevel.HIGH, "source_ids": tuple(s.id for s in sources)}
    return Finding(id=f"find-{number:012x}", quotes=quotes, **fields)


@pytest.mark.parametrize(
    ("draft", "after"),
    [
        ("![chart](http://evil.example/x?d=1)", "chart"),
        ("[click](http://evil.example)", "click"),
        ("[a](https://a.example/page)", "[a](https://a.example/page)"),
        ("<http://evil.example>", "`http`://evil.example"),
        ("see http://evil.example/x.", "see `http`://evil.example/x."),
        ("see https://a.example/page.", "see <https://a.example/page>."),
        ("[a[b]](http://evil.example)", "[a[b]]&#40;`http`://evil.example)"),
        ("[<img src=x>](https://a.example/page)", "[&lt;img src=x>](https://a.example/page)"),
        ("<https://a.example/page>", "<https://a.example/page>"),
        ("<img src=x onerror=alert(1)>", "&lt;img src=x onerror=alert(1)>"),
        ("[x]: http://evil.example", ""),
        ("a < b and 3 <4", "a < b and 3 <4"),
        (r"$\href{javascript:alert(1)}{x}$", r"$`\`href\{javascript:alert(1)}\{x}$"),
        ("```mermaid\nclick a\n```", "```\nclick a\n```"),
        ("import x", "&#105;mport x"),
    ],
)
def test_links_images_and_html_of_a_draft_do_not_pass(draft, after):
    assert safe(draft, ALLOWED) == after


def test_numbers_are_given_in_the_order_of_first_mention():
    a, b = source("a", url="a.md"), source("b", url="https://a.example/page")
    report, metadata, citations = finished(
        "## S\n\nSecond [find-000000000002], first and second [find-000000000001; find-000000000002].",
        [finding(1, a), finding(2, b)],
        [a, b],
        writer="w",
    )
    assert "Second [1], first and second [1, 2]." in report
    assert report.endswith("1. Title b. <https://a.example/page>\n2. Title a. a\\.md\n")
    assert [c.number for c in citations] == [1, 2]
    assert metadata.citations_count == 2


def test_a_source_that_no_quote_supports_is_not_cited():
    a = source("a", url="a.md")
    report, metadata, citations = finished("## S\n\nX [src-aaaaaaaaaaaa].", [], [a], writer="w")
    assert report == "*Read with caution: this report rests on nothing that was found.*\n\n## S\n\nX."
    assert (metadata.removed_references, citations) == (1, ())


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("# not a heading", r"\# not a heading"),
        ("- not an item", r"\- not an item"),
        ("15. not a number", r"15\. not a number"),
        ("> not a quote", r"\> not a quote"),
        ("15 men - and more", "15 men - and more"),
    ],
)
def test_escaped_text_opens_no_block(text, after):
    assert escaped(text) == after


PAGED = {"url": "report.pdf", "pages": (0, 100, 250, 300)}
SLIDES = {"url": "a.pptx", "pages": (0, 100, 250)}
WORK = {"url": "https://doi.org/10.1/x", "published": date(2022, 2, 3)}
JOURNAL = {"venue": "Journal of Towers", "read": "abstract"}
REFERENCES = {
    "the first page": (PAGED, [0], "Title a. report.pdf, p. 1"),
    "its end": (PAGED, [99], "Title a. report.pdf, p. 1"),
    "the next page": (PAGED, [100], "Title a. report.pdf, p. 2"),
    "several pages": (PAGED, [350, 100, 120], "Title a. report.pdf, pp. 2, 4"),
    "no page": (PAGED, [], "Title a. report.pdf"),
    "slides": (SLIDES | {"metadata": {"page_labels": "slide 1\nslide 2\nslide 4"}}, [100, 350],
               "Title a. a.pptx, slide 2, slide 4"),
    "sheets": (SLIDES | {"metadata": {"page_labels": "sheet Budget\nsheet A [b](c)\nsheet Rates"}}, [120],
               r"Title a. a.pptx, sheet A \[b\]&#40;c)"),
    "chapters": (SLIDES | {"metadata": {"page_labels": "chapter One\nchapter Two\nchapter Three"}}, [],
                 "Title a. a.pptx"),
    "fewer names than pages": (SLIDES | {"metadata": {"page_labels": "chapter One"}}, [120], "Title a. a.pptx, p. 2"),
    "retracted": ({"metadata": {"retracted": "yes"}}, [], "Title a (retracted)."),
    "unread pages": ({"url": "a.pdf", "metadata": {"unread": "pages 3 to 5: its fonts do not say which letters"}}, [],
                     "Title a. a.pdf, pages 3 to 5 not read"),
    "authors and where it appeared": (
        WORK | {"metadata": JOURNAL | {"author": "A. Ahn, B. Boe"}}, [],
        "A. Ahn, B. Boe: Title a. Journal of Towers (2022-02-03). <https://doi.org/10.1/x>, abstract",
    ),
    "many authors": (
        WORK | {"metadata": JOURNAL | {"author": "A. Ahn, B. Boe, C. Coe, D. Doe"}}, [],
        "A. Ahn and others: Title a. Journal of Towers (2022-02-03). <https://doi.org/10.1/x>, abstract",
    ),
    "the author of a page": ({"metadata": {"author": "Ann Keeper"}}, [], "Title a."),
    "a title that asks": ({"url": "a.md", "title": "What did it cost?"}, [], r"What did it cost? a\.md"),
    "a title that would act": (
        {"title": "[click](http://evil.example) <script> \n# Heading"}, [],
        r"\[click\]&#40;`http`://evil.example) &lt;script> # Heading.",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("fields", "cited", "line"), REFERENCES.values(), ids=REFERENCES)
def test_a_reference_says_what_is_known_of_its_source(fields, cited, line):
    assert reference(source("a", **fields), cited) == line


def test_the_pages_of_all_quotes_of_a_source_stand_in_its_reference():
    paged = source("a", url="https://a.example/report.pdf", pages=(0, 3, 20))
    draft = "It is [find-000000000001] so [find-000000000005]."
    report, _, _ = finished(draft, [finding(1, paged), finding(5, paged)], [paged], writer="w")
    assert "1. Title a. <https://a.example/report.pdf>, pp. 1, 2" in report


def test_a_reference_to_a_copy_says_of_which_text():
    copies = [source(name, url=f"https://{name}.example/", content_hash="same") for name in "ab"]
    report, _, _ = finished("It is [find-000000000001].", [finding(1, *copies)], copies, writer="w")
    assert "2. Title b. <https://b.example/>, the same text as 1" in report
    assert "1. Title a. <https://a.example/>\n" in report


# What a terminal is shown, which renders no Markdown

# The hosts of what terminals make links of without being asked.
_HOSTS = re.compile(r"(?i)(?:https?|ftp|file)://[^\s<>\"`/()?#]*|(?<![\w.])www\.\w[^\s<>\"`/()?#]*")


@pytest.mark.parametrize(
    "text",
    [
        "of cache_key and *args, see [note]",
        "a < b, <b>bold</b> and <T>",
        "R&D &lt; R &amp; D",
        "{braces} ~~~ tilde ![image](x.png)",
        "`code\\_of [x] &lt;` and a single ` after",
        "7. no item",
        "# no heading",
        "[no]: label",
        "C:\\temp\\new",
    ],
)
def test_outside_text_that_was_made_safe_reads_as_it_was_written(text: str) -> None:
    assert readable(escaped(text)) == text


def test_code_and_what_breaks_an_address_stay_as_they_are() -> None:
    kept = "`a\\_b &lt;` `http`://evil.example `www`.evil.example\n\n```\n\\_ &lt;\n```\n\n<https://ok.example/a_b>"
    assert readable(kept) == kept


def test_code_within_an_item_stays_as_it_is() -> None:
    told = "- step\n\n  ```\n  grep -E 'a\\.b' x; rm foo\\*\n  ```\n"
    assert readable(told) == told


def test_a_terminal_finds_the_address_of_no_host_but_of_sources() -> None:
    for document in documents(0, 500):
        before = set(_HOSTS.findall(document.report))
        assert set(_HOSTS.findall(readable(document.report))) <= before, document.made_of
