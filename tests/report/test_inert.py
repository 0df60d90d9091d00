"""A report is inert in every renderer: thousands of documents that try to act, judged by what six renderers print."""

from time import thread_time

import pytest
from attacks import OK, TAGS, documents
from renderers import RENDERERS, alive, parsed, same

from deep_research.report.markup import address, escaped, plain, safe
from deep_research.report.render import finished, reference
from deep_research.state import Source


@pytest.mark.timeout(900)  # 15 s on a core that does nothing else
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.sweep) for seed in range(1, 20))])
def test_no_document_acts_or_leads_to_where_no_source_is(seed):
    found = {each.made_of: list(alive(each.report, each.addresses)) for each in documents(seed, 1000)}
    assert {made_of: seen for made_of, seen in found.items() if seen} == {}


@pytest.mark.parametrize("renderer", RENDERERS)
def test_each_renderer_brings_to_life_what_is_not_made_safe(renderer):
    for text in ("<b onclick=alert(1)>x</b>", "[x](http://evil.example)", "![x](y.png)", "x\n\n<div>y</div>"):
        assert list(alive(text, OK, renderer)), text
    assert not list(alive("# x\n\n- *y* `z`\n\n> q\n\n1. <https://ok.example/page>", OK, renderer))


@pytest.mark.parametrize("code", ["<-me\n@\nevil.com>", "<5@\n[::1]>", "<a@b.example>"])
@pytest.mark.parametrize("renderer", RENDERERS)
def test_an_address_of_mail_in_code_is_no_link_where_fences_are_not_known(renderer, code):
    assert not list(alive(safe(f"x\n\n```html\nx\n\n{code}\n```\n\ny", OK), OK, renderer))


URLS = (
    *OK,
    "https://en.wikipedia.org/wiki/Tower_(Chess)",
    "https://ok.example/_a_b__c__?q=*x*&y=~~z~~",
    "https://ok.example/?a=1&b=2&c;d&amp;e&#10;",
    "https://ok.example/it's?q=\"x y\"",
    "https://ok.example/Größe/灯台?q=ü#ä",
    "https://ok.example/a|b^c`d`{e}",
    "https://ok.example/[x](https://evil.example)",
    "https://ok.example/%20%3Cb%3E%zz",
    "https://ok.example/http://http://evil.example/",
    "https://me@ok.example/www.evil.com",
    "http://ok.example:8080",
)  # fmt: skip


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("renderer", RENDERERS)
def test_the_address_of_a_source_is_one_link_to_it_in_every_renderer(renderer, url):
    source = Source(id="src-1", sub_query_id="subq-1", title="T", url=url)
    _, links = parsed(RENDERERS[renderer](f"1. {reference(source)}\n"))
    assert [same(link) for link in links] == [same(url)]
    written = address(url, inside="()")
    _, links = parsed(RENDERERS[renderer](safe(f"It is [told]({written}).", {written})))
    assert [same(link) for link in links] == [same(url)]


@pytest.mark.parametrize("path", ["keepers.md", "guide/a b/set-up.py", "x.md (2).rs", "é.pl"])
@pytest.mark.parametrize("renderer", RENDERERS)
def test_the_name_of_a_file_in_the_references_is_no_link(renderer, path):
    source = Source(id="src-1", sub_query_id="subq-1", title="T", url=path)
    page = RENDERERS[renderer](f"1. {reference(source)}\n")
    assert parsed(page)[1] == []
    assert path in page


def test_an_address_in_a_draft_is_a_link_if_it_is_that_of_a_source():
    known = "https://en.wikipedia.org/wiki/Tower_(Chess)"
    draft = f'See {known}, ({known}), **{known}**, <{known}>, [it]({known}) and [`it`]({known} "title"). Not {known}2.'
    made = safe(draft, {known})
    for name, renderer in RENDERERS.items():
        assert [same(link) for link in parsed(renderer(made))[1]] == [known] * 6, name


@pytest.mark.parametrize(
    "text",
    [
        "p < 0.05, 5 < 6 <= 7, x <- y, 1 << 2, a > b",
        "AT&T, R&D, 3 & 4; A.D. 70, e.g. Node.js, README.md, setup.py, v1.2.3",
        "Type `ls -l <folder>` or `pip install x@1.0` at http:// or @home.",
        "| a | b |\n| --- | ---: |\n| `x` | 5 [1] |",
        "- *x* **y** _z_ ~~s~~\n  1. a/b, c//  d",
        "```python\nif a < b: print('https://a.example', x@y)\n```",
        "- an item:\n\n  ```sh\n  ls -l\n  ```\n",
        "It costs $5, or $7 with `a\\b`; C:/x.",
        '- an item:\n\n  ```sh\n  printf "$x\\n" > a{b}\n  ```\n',
    ],
)
def test_what_harms_nobody_stays_as_it_is(text):
    assert safe(text, set()) == text


@pytest.mark.parametrize("tag", TAGS)
def test_code_is_shown_as_it_is_in_every_renderer_that_knows_it(tag):
    shown = " ".join(plain(tag).split())
    made = safe(f"x\n\n```html\n{tag}\n```\n\ny", set())
    for name in RENDERERS:
        html = RENDERERS[name](made)
        assert "&amp;lt;" not in html or "&lt;" in tag or "&LT;" in tag or "&amp;" in tag, name
    assert shown in " ".join(made.split())


def test_what_was_made_safe_once_stays_so():
    for document in documents(7, 300):
        once = escaped(document.made_of)
        assert safe(once, set()).strip() == once.strip()


PIECES = (
    "[", "![", "](", "[x](", "[a](b", "]:", "[x]:", "<", "<http:", "`", "``", "```\n", "```x\n", "~~~\n",
    "\\", "{", "&#", "&amp;", "@", "a@", "/", "//", "(", "http://", "http://(", "www.", "a.com", ".", "\n",
    "\0", "- ", "a", " ", "\t", "#", "# ", "## #", "[find-000000000001", "[find-000000000001;", "x`@`",
    "!\\[",
)  # fmt: skip
WORK = {
    "escaped": escaped.__wrapped__,
    "safe": lambda text: safe(text, {"https://ok.example/page"}),
    "finished": lambda text: finished(f"## {text}", [], [], writer="w"),
    "behind nothing": lambda text: escaped.__wrapped__(text.removesuffix("x")),
}
SWEPT = [
    pytest.param(work, piece, marks=[pytest.mark.sweep] * (m < 3 and (n + m) % 3 > 0))
    for m, work in enumerate(WORK)
    for n, piece in enumerate(PIECES)
    if work != "behind nothing" or piece == "\\"
]


@pytest.mark.timed
@pytest.mark.parametrize(("work", "piece"), SWEPT)
def test_hostile_text_takes_linear_time(work, piece, least):
    """Ten times the text takes ten times as long, with room for the caches of a machine; and never as its square."""

    def spent(size):
        text, began = f"{(piece * size)[:size]}x", thread_time()
        WORK[work](text)
        return thread_time() - began

    def ratio():
        return spent(100_000) / max(spent(10_000), 0.002)

    assert least(40, ratio) < 40
