"""Drafts put together from what makes links, images and HTML, judged by a Markdown parser that allows all of it."""

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from deep_research.report.render import escaped, finished, reference
from deep_research.state import ConfidenceLevel, Finding, Quote, Source

OK = "https://ok.example/page"
EVIL = (
    "http://evil.example/p",
    "//evil.example/p",
    "javascript:alert(1)",
    "data:text/html,x",
    "http&colon;//e.x",
)
FIND = "find-000000000001"
PARTS = (
    *(
        "[",
        "]",
        "(",
        ")",
        "<",
        ">",
        "!",
        "\\",
        ":",
        "`",
        "\n",
        "\n\n",
        "> ",
        "- ",
        "1. ",
        " ",
        "x",
        '"',
        "&lt;",
        "|",
    ),
    *("```", "\n\n```\n", "\n```\n\n", "```py\n", "~~~", "\n~~~\n", "    ", "\t", "  "),
    *("[r]: ", "![r]", "[r]", "](", "]:", "<img src=", "<!--", "</a>", "www", ".evil.example", "\0"),
    *(f"[{FIND}]", "[find-ffffffffffff]", FIND, "[1]: ", "[1]", OK, f"[a]({OK})", f"<{OK}>", *EVIL),
)
SOURCE = Source(id="src-000000000001", sub_query_id="subq-1", title="T", url=OK)
QUOTE = Quote(source_id=SOURCE.id, quote="q", start=0, end=1, content_hash="h")
FINDING = Finding(
    id=FIND, content="c", confidence=ConfidenceLevel.HIGH, source_ids=(SOURCE.id,), quotes=(QUOTE,)
)
DRAFTS = st.lists(st.sampled_from(PARTS), max_size=30).map("".join)


def live(markdown):
    """The addresses of links and images, and the HTML, that a careless renderer would make of it."""
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    parser.validateLink = lambda url: True
    found, left = [], parser.parse(markdown)
    while left:
        token = left.pop()
        left += token.children or ()
        if token.type in ("html_inline", "html_block", "image"):
            found.append((token.type, token.content))
        if token.type == "link_open":
            found.append(("link", token.attrs["href"]))
    return found


def test_no_draft_leads_anywhere_but_to_a_source(examples):
    @settings(max_examples=examples(1500))
    @given(DRAFTS)
    def check(draft):
        report, *_ = finished(draft, [FINDING], [SOURCE], writer="w")
        assert {item for item in live(report) if item != ("link", OK)} == set()
        assert FIND not in report

    check()


def test_no_text_from_outside_leads_anywhere(examples):
    @settings(max_examples=examples(1000))
    @given(DRAFTS)
    def check(text):
        assert live(escaped(text)) == []
        assert {
            item for item in live(reference(SOURCE.model_copy(update={"title": text}))) if item[1] != OK
        } == set()

    check()


def test_no_address_of_a_source_is_more_than_an_address(examples):
    @settings(max_examples=examples(300))
    @given(DRAFTS)
    def check(url):
        strange = SOURCE.model_copy(update={"url": url})
        report, *_ = finished(f"See [{FIND}], [a]({url}) and <{url}>.", [FINDING], [strange], writer="w")
        assert all(kind == "link" and target.startswith("http") for kind, target in live(report))

    check()
