"""Drafts put together from what makes links, images and HTML, judged by what renderers that allow all of it print."""

from hypothesis import given, settings
from hypothesis import strategies as st
from renderers import alive

from deep_research.report.markup import escaped
from deep_research.report.render import finished, reference
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


def test_no_draft_leads_anywhere_but_to_a_source(examples):
    @settings(max_examples=examples(1500))
    @given(DRAFTS)
    def check(draft):
        report, *_ = finished(draft, [FINDING], [SOURCE], writer="w")
        assert list(alive(report, [OK])) == []
        assert FIND not in report

    check()


def test_no_text_from_outside_leads_anywhere(examples):
    @settings(max_examples=examples(1000))
    @given(DRAFTS)
    def check(text):
        assert list(alive(escaped(text))) == []
        assert list(alive(reference(SOURCE.model_copy(update={"title": text})), [OK])) == []

    check()


def test_no_address_of_a_source_is_more_than_an_address(examples):
    @settings(max_examples=examples(300))
    @given(DRAFTS)
    def check(url):
        strange = SOURCE.model_copy(update={"url": url})
        report, *_ = finished(f"See [{FIND}], [a]({url}) and <{url}>.", [FINDING], [strange], writer="w")
        assert list(alive(report, [url])) == []

    check()
