"""What six renderers make of a report, each as it comes and with what sites turn on, and what of that would act."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from html.parser import HTMLParser
from urllib.parse import unquote

import cmarkgfm
import markdown
import markdown2
import marko
import marko.ext.gfm
import mistune
from cmarkgfm.cmark import Options
from markdown_it import MarkdownIt


def _markdown_it(preset: str, *more: str) -> Callable[[str], str]:
    parser = MarkdownIt(preset, {"html": True, "linkify": preset == "gfm-like"}).enable(list(more))
    parser.validateLink = lambda url: True
    return parser.render


def _python_markdown(*extensions: str) -> Callable[[str], str]:
    parser = markdown.Markdown(extensions=extensions)
    return lambda text: parser.reset().convert(text)


RENDERERS: Mapping[str, Callable[[str], str]] = {
    "markdown-it": _markdown_it("commonmark", "table"),
    "markdown-it gfm": _markdown_it("gfm-like"),
    "cmarkgfm": lambda text: cmarkgfm.github_flavored_markdown_to_html(
        text, Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES
    ),
    "cmarkgfm without filter": lambda text: cmarkgfm.markdown_to_html_with_extensions(
        text, Options.CMARK_OPT_UNSAFE, ["table", "autolink", "strikethrough", "tasklist"]
    ),
    "Markdown": _python_markdown(),
    "Markdown extra": _python_markdown("extra"),
    "Markdown fences": _python_markdown("fenced_code", "tables"),
    "mistune": mistune.create_markdown(
        escape=False, plugins=["url", "table", "footnotes", "strikethrough", "task_lists"]
    ),
    "markdown2": markdown2.Markdown().convert,
    "markdown2 extras": markdown2.Markdown(extras=["fenced-code-blocks", "tables"]).convert,
    "marko": marko.Markdown().convert,
    "marko gfm": marko.Markdown(extensions=[marko.ext.gfm.GFM]).convert,
}

_BLOCKS = "p h1 h2 h3 h4 h5 h6 ul ol li dl dt dd blockquote pre hr"
_TABLES = "table thead tbody tr th td"
HARMLESS = frozenset(f"{_BLOCKS} {_TABLES} code em strong del s br span input a".split())
# What renderers write themselves: of lists, cells, boxes of tasks, code and links.
_ATTRIBUTES = {
    "start": r"\d+",
    "align": "left|right|center",
    "style": r"text-align: ?(?:left|right|center);?",
    "class": r"[\w +-]*",
    "lang": r"[\w+-]*",
    "type": "checkbox",
    "disabled": "|disabled",
    "checked": "|checked",
}
_OF = {"input": {"type", "disabled", "checked", "class"}, "a": {"href"}, "ol": {"start"}}
_CELLS = {"th": {"align", "style"}, "td": {"align", "style"}}
_CODE = {name: {"class", "lang"} for name in ("code", "pre", "div", "span", "li", "ul")}
# A file's name that ends as some hosts do is a link for who guesses: there is nobody to take it for an address.
_FILE = re.compile(r"http://[^\s/:?#.@]+\.(?:md|py|rs|sh|pl)")


class _Page(HTMLParser):
    """``found`` is what acts, ``links`` where the others lead."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = {**_OF, **_CELLS, **_CODE}.get(tag, set())
        for name, value in attrs:
            if (tag, name) == ("a", "href"):
                self.links.append(value or "")
            elif name not in of or not re.fullmatch(_ATTRIBUTES[name], value or ""):
                self.found.append(f"<{tag} {name}={value}>")
        if tag not in HARMLESS and (tag, attrs[:1]) != ("div", [("class", "codehilite")]):
            self.found.append(f"<{tag}>")

    def handle_comment(self, data: str) -> None:
        self.found.append(f"<!--{data}")

    handle_decl = handle_pi = unknown_decl = handle_comment


def parsed(html: str) -> tuple[list[str], list[str]]:
    """What acts on a page, and the addresses of its links."""
    page = _Page()
    page.feed(html)
    page.close()
    return page.found, page.links


def same(url: str) -> str:
    """An address as all renderers write it."""
    decoded = unquote(url)
    host = re.match(r"(https?://)([^/?#]*)", decoded, re.IGNORECASE)
    if host is None:
        return decoded
    try:
        name = host[2].encode("ascii").decode("idna")
    except UnicodeError:
        name = host[2]
    return f"{host[1].lower()}{name.lower()}{decoded[host.end() :]}".removesuffix("/")


def alive(report: str, sources: Iterable[str] = (), *names: str) -> Iterator[str]:
    """Whatever in a report acts or leads to where no source is, by renderer."""
    known = {same(url) for url in sources}
    for name in names or RENDERERS:
        found, links = parsed(RENDERERS[name](report))
        found += strange(links, known)
        yield from (f"{name}: {each}" for each in found)


def strange(links: Iterable[str], known: Set[str]) -> list[str]:
    """Links that lead to where no source is; ``known`` are the addresses of sources."""
    return [
        url
        for url in links
        if same(url) not in known and not _FILE.fullmatch(url) and not url.startswith("#")
    ]
