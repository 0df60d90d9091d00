"""Markdown to readable text: marks that carry no words go, structure and words stay.

The marks are found by markdown-it-py, as CommonMark has them, with the tables and struck words of GitHub, notes, and the
boxes of MkDocs (``!!!``) and of Docusaurus, MyST and Quarto (``:::``). Here its tokens become blocks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

from markdown_it import MarkdownIt, helpers
from markdown_it.token import Token
from mdit_py_plugins.admon import admon_plugin
from mdit_py_plugins.container import container_plugin
from mdit_py_plugins.footnote import footnote_plugin

from deep_research.patterns import regex
from deep_research.sources.extract import html_text
from deep_research.sources.extract.hiding import is_hidden
from deep_research.sources.extract.plaintext import END, MARKS, resolve_marks, words
from deep_research.sources.extract.tables import Blocks

_FRONT_MATTER = regex(r"\A(---|\+\+\+)[ \t]*\n(.{0,20000}?)\n(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = regex(r"^([A-Za-z_][\w-]*)[ \t]*[:=][ \t]*(.*)$", re.MULTILINE)
_MAX_DEPTH = 100  # blocks within blocks, as markdown-it-py counts them; what is deeper it would leave out
_ANCHOR = regex(r"\{[^{}\n]{1,100}\}\s*\Z")
_ALERT = regex(r"\[!(?:note|tip|important|warning|caution)\][ \t]*(?:\n|\Z)", re.IGNORECASE)
# What stands behind the colons that open a box: its kind, and maybe its title.
_BOX = regex(
    r"[ \t]*+(?:[a-z][\w-]{1,30}|\{[^{}\n]{1,60}\})[ \t]*+(?:\[(?P<named>[^\]\n]{0,200})\]|(?P<title>[^\n]{0,200}))"
)
_TEMPLATE = regex(r"\{(?:%[^%\n]{0,300}%|\{[^{}\n]{0,300}\})\}")
_MADE = r"(?:\{%[^%\n]{0,300}%\}|\{\{[%<][^{}\n]{0,300}[%>]\}\})"  # a statement to what makes a site
# Around a text, not in a sentence on them.
_STATEMENTS = regex(rf"\A\s*+(?:{_MADE}\s*+)++|(?<!\s)(?<!%\}})(?<![%>]\}}\}})(?:\s*+{_MADE})++\s*+\Z")
# A tag of HTML, or what is none although it looks like one.
_TAG = regex(
    r"(?s)<!--.*?(?:-->|\Z)|<(?P<closing>/?)(?P<name>[a-zA-Z][^\s/<>]*+)(?P<rest>(?:[^<>\"']|\"[^\"]*+\"|'[^']*+')*+)>"
)
_MODULE = regex(r"(?:import|export)\b")  # opens a block of MDX that is code
_TELLING = ("question", "title", "label", "summary")  # what a component says of itself
_ATTRIBUTE = regex(r"([\w-]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>]*+)))?")
_HIDDEN = words("script style template svg iframe")
# What stands for a tag, by its name and whether it closes.
_SAID = {("br", False): "\n"} | {
    (name, closes): END if closes else mark for name, mark in MARKS.items() for closes in (True, False)
}


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """The fields (lower-case names) of the block that opens the text, and the text after it."""
    block = _FRONT_MATTER.match(text)
    if not block or not all(map(_is_field_line, block.group(2).split("\n"))):
        return {}, text
    fields = {name.lower(): value.strip().strip("\"'") for name, value in _FIELD.findall(block.group(2))}
    return (fields, text[block.end() :]) if fields else ({}, text)


def readable(text: str, *, is_mdx: bool = False) -> str:
    """Clean Markdown without front matter, as text: headings with ``# ``, items with ``- ``, rows with `` | ``. What it
    writes as ``&shy;`` is in it: the text is to be cleaned again.

    Raises `RecursionError` for blocks too deep in one another, and whatever markdown-it-py fails at.
    """
    tokens = _parser().parse(text)
    if any(token.level >= _MAX_DEPTH - 1 for token in tokens):
        raise RecursionError
    return _Reader(tokens, is_mdx).read()


class _Tag(NamedTuple):
    name: str
    is_closing: bool
    is_unseen: bool
    label: str = ""  # what a component, which HTML does not know, is about


class _Parser(MarkdownIt):
    """Where a link leads is nothing to us, and so is whether it may be followed."""

    def validateLink(self, url: str) -> bool:  # noqa: N802
        return True

    def normalizeLink(self, url: str) -> str:  # noqa: N802
        return ""


@cache
def _parser() -> MarkdownIt:
    parser = _Parser("commonmark", {"maxNesting": _MAX_DEPTH}).enable(["table", "strikethrough"])
    cast("Any", parser).helpers = SimpleNamespace(
        parseLinkLabel=helpers.parseLinkLabel,
        parseLinkTitle=helpers.parseLinkTitle,
        parseLinkDestination=_destination,
    )
    parser.use(footnote_plugin, inline=False, move_to_end=False, always_match_refs=True)
    parser.use(admon_plugin)
    return parser.use(container_plugin, "box", validate=lambda info, _: _BOX.fullmatch(info) is not None)


def _destination(text: str, start: int, end: int) -> Any:
    """Where a link leads: what CommonMark takes, or what a program is to put there (``{% page "about" %}``), which is
    hidden from it."""
    if text.startswith("{", start) and (template := _TEMPLATE.match(text, start, end)):
        link = helpers.parseLinkDestination("#" * (template.end() - start), 0, template.end() - start)
        rest = helpers.parseLinkDestination(text, template.end(), end)
        link.pos = rest.pos if rest.ok else template.end()
        return link
    return helpers.parseLinkDestination(text, start, end)


class _Reader:
    """Folds the tokens of a text into blocks."""

    def __init__(self, tokens: Sequence[Token], is_mdx: bool) -> None:
        self._tokens, self._is_mdx = tokens, is_mdx
        self._blocks = Blocks()
        self._inside = ""  # the type of the token that opened the block whose words come next
        self._level = 0
        self._is_quoted = False  # whether a quote has just begun
        self._is_titled = False  # whether the box that has just begun has a title of its own
        self._table: list[list[str]] = []
        self._hidden = ""  # the name of the element that is open and not shown, and how often it is
        self._depth = 0
        self._closings = Counter(  # still to come: what is never closed hides nothing
            tag.name for token in _html(tokens) for tag in _tags(token.content) if tag.is_closing
        )

    def read(self) -> str:
        for token in self._tokens:
            if token.type == "inline" and not self._is_module(token):
                self._say(self._words(token.children or ()))
            elif token.type == "html_block":
                self._read_html(token.content)
            elif token.nesting == 1:
                self._open(token)
            elif token.type in ("list_item_close", "footnote_reference_close"):
                self._blocks.close_item()
            elif not self._hidden and token.type == "table_close" and self._table:
                self._blocks.rows(self._table[0], self._table[1:])
            elif not self._hidden and token.type in ("fence", "code_block"):
                self._blocks.code(token.content, token.info.strip().replace("`", ""))
        return str(self._blocks)

    def _is_module(self, token: Token) -> bool:
        is_block = self._is_mdx and token.level == 1 and self._inside == "paragraph_open"
        return is_block and _MODULE.match(token.content) is not None

    def _open(self, token: Token) -> None:
        self._inside = token.type
        if token.type in ("bullet_list_open", "ordered_list_open"):
            self._blocks.open_list()
        elif token.type == "list_item_open":
            self._blocks.open_item(f"{token.info}{token.markup}" if token.info else "-")
        elif token.type == "footnote_reference_open":
            self._blocks.open_item(f"[^{token.meta['label']}]:")
        elif token.type == "table_open":
            self._table = []
        elif token.type == "tr_open":
            self._table.append([])
        elif token.type == "heading_open":
            self._level = int(token.tag[1])
        elif token.type == "blockquote_open":
            self._is_quoted = True
        elif token.type == "admonition_open":
            self._is_titled = '"' in token.info  # else its title is made of its kind
        elif token.type == "container_box_open" and (box := _BOX.fullmatch(token.info)):
            self._blocks.paragraph(self._visible_text(box["named"] or box["title"] or ""))

    def _say(self, text: str) -> None:
        if self._inside in ("th_open", "td_open"):
            self._table[-1].append(text)
        elif self._inside == "heading_open":
            self._blocks.heading(self._level, _ANCHOR.sub("", text))
        elif self._inside != "admonition_title_open" or self._is_titled:
            self._blocks.paragraph(_ALERT.sub("", text, 1) if self._is_quoted else text)
        self._is_quoted = False

    def _words(self, children: Sequence[Token]) -> str:
        pieces: list[str] = []
        for token in children:
            if token.type == "html_inline":
                tag = next(_tags(token.content), None)
                names = _elements() | self._closings.keys() if self._is_mdx else _elements()
                is_known = tag is None or tag.name in names
                self._follow(token.content)
                text = _SAID.get((tag.name, tag.is_closing), tag.label and f"{tag.label}\n") if tag else ""
                pieces.append(self._visible_text(text if is_known else token.content))
            elif token.type in ("softbreak", "hardbreak"):
                pieces.append("\n")
            elif token.type in ("text", "code_inline"):
                is_code = token.type == "code_inline"
                pieces.append(
                    self._visible_text(token.content if is_code else _STATEMENTS.sub("", token.content))
                )
        return resolve_marks("".join(pieces))

    def _visible_text(self, text: str) -> str:
        return "" if self._hidden else text

    def _read_html(self, html: str) -> None:
        is_shown = not self._hidden
        self._follow(html)
        if is_shown:
            tags = list(_tags(html))
            for tag in () if any(tag.is_unseen for tag in tags) else tags:
                self._blocks.paragraph(tag.label)
            self._blocks.verbatim(html_text.extract(html))

    def _follow(self, html: str) -> None:
        """Keeps track of whether what comes next is in an element that is not shown."""
        for tag in _tags(html):
            if tag.is_closing:
                self._closings[tag.name] -= 1
                if tag.name == self._hidden:
                    self._depth -= 1
                    self._hidden = self._hidden if self._depth else ""
            elif tag.name == self._hidden:
                self._depth += 1
            elif not self._hidden and self._closings[tag.name] > 0 and tag.is_unseen:
                self._hidden, self._depth = tag.name, 1


def _html(tokens: Sequence[Token]) -> Iterator[Token]:
    every = chain.from_iterable((token, *(token.children or ())) for token in tokens)
    return (token for token in every if token.type in ("html_block", "html_inline"))


def _tags(html: str) -> Iterator[_Tag]:
    for match in _TAG.finditer(html):
        if match["name"]:
            attributes = {
                each[1].lower(): each[2] or each[3] or each[4] or ""
                for each in _ATTRIBUTE.finditer(match["rest"])
            }
            name = match["name"].lower()
            is_unseen = name in _HIDDEN or is_hidden(attributes)
            tells = not is_unseen and name not in _elements()
            label = next((attributes[key] for key in _TELLING if tells and attributes.get(key)), "")
            yield _Tag(name, match["closing"] != "", is_unseen, label)


@cache
def _elements() -> frozenset[str]:
    """Those of HTML. Outside MDX what else is in angle brackets is to be seen: ``List<String>``, ``cp <file>``."""
    from lxml.html import defs  # Markdown without HTML needs none of it

    return frozenset(defs.tags) | words("bdi data dialog frame main nobr picture template")


def _is_field_line(line: str) -> bool:
    return not line.strip() or line[0] in " \t-#[]{}" or _FIELD.match(line) is not None
