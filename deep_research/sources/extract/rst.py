"""reStructuredText to readable text: docutils parses it, and what its tree says as a page is read as one.

Nothing is read but the text itself: no file, no address, no configuration (see `rst_markup`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from html import escape
from string import ascii_lowercase
from typing import Any

from docutils import frontend, nodes, utils
from docutils.parsers.rst import Parser

from deep_research.patterns import regex
from deep_research.sources.extract.html import read_made
from deep_research.sources.extract.plaintext import UnreadableError
from deep_research.sources.extract.rst_markup import MAX_CELLS, TAGS, all_known

_MAX_LINE_CHARS = 10_000_000
_MAX_LEVEL = 6
_MAX_MEANING_CHARS = 200  # characters that a substitution may stand for
# A head as letters have it, with which Python's proposals begin.
_HEAD = regex(
    r"\s*+(?:[A-Z][A-Za-z-]{1,30}:(?:[ \t][^\n]*+)?\n(?:[ \t]++\S[^\n]*+\n)*+){3,}+[ \t]*+(?:\n|\Z)"
)
_TITLE_IN_HEAD = regex(r"^Title:", re.MULTILINE)
_RULE = regex(r"^[ \t]*+(?:=++(?: ++|$))++$", re.MULTILINE)  # of a table whose columns are underlined
_ADORNMENT = regex(r"([!-/:-@\[-`{-~])\1+\s*\Z")
_DASH = regex(r"(?<=\d)--(?=\d)|(?<= )---?(?= )|(?<=\w)---(?=\w)")
_LABEL = "\ue000"  # before the label of an item, which needs no dash
_ROMAN = ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii", "xiv", "xv"]
_CODE = (nodes.literal, nodes.literal_block, nodes.doctest_block)
_UNSAID = (
    *(nodes.comment, nodes.substitution_definition, nodes.pending, nodes.raw, nodes.image, nodes.transition),
    *(nodes.footnote_reference, nodes.citation_reference, nodes.label),
)
_QUIET = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "input_encoding": "unicode",
    "line_length_limit": _MAX_LINE_CHARS,
    "report_level": 5,
    "halt_level": 5,
    "warning_stream": False,
    "traceback": False,
    "record_dependencies": None,
}


@dataclass(frozen=True, slots=True)
class RstDocument:
    """A text, and the fields near its top, with lower-case names. ``above``: whether no heading is before."""

    text: str
    fields: dict[str, str] = field(default_factory=dict)
    above: bool = False


def read(text: str) -> RstDocument:
    """Clean reStructuredText as text: headings with ``# `` by the order in which their marks appear. What directives
    make of numbers is in it: the text is to be cleaned again.

    Raises `UnreadableError`, and whatever docutils fails at.
    """
    columns = max((len(rule.split()) for rule in _RULE.findall(text)), default=0)
    if columns * text.count("\n") > MAX_CELLS * len(text):
        raise UnreadableError("a table of far more cells than words", limit="size")
    head = _HEAD.match(text)
    has_head = head is not None and _TITLE_IN_HEAD.search(head[0]) is not None
    document: Any = utils.new_document("text", copy(_settings()))
    with all_known():
        Parser(rfc2822=has_head).parse(f"{text}\n", document)
    page = _Page(document)
    page.write(document, 0)
    is_above = isinstance(next(iter(document.children), None), nodes.field_list)
    text = read_made("".join(page.pieces)).replace(f"- {_LABEL}", "").replace(_LABEL, "")
    return RstDocument(text, _fields(document), is_above)


@cache
def _settings() -> Any:
    settings = frontend.get_default_settings(Parser)
    for name, value in _QUIET.items():
        setattr(settings, name, value)
    return settings


def _fields(document: Any) -> dict[str, str]:
    """Those of the first list of fields, above the first heading or right below it."""
    children = [each for each in document.children if not isinstance(each, _UNSAID)]
    if len(children) == 1 and isinstance(children[0], nodes.section):
        children = list(children[0].children)
    field_list: Any = next((each for each in children[:3] if isinstance(each, nodes.field_list)), ())
    return {each[0].astext().lower(): " ".join(each[1].astext().split()) for each in field_list}


class _Page:
    """Writes a tree of docutils as HTML, of which no element has a class, an address or an id."""

    def __init__(self, document: Any) -> None:
        self.pieces: list[str] = []
        self._document = document
        self._is_cell = False  # whether a bar would part it in two
        self._is_meaning = False  # whether what is written stands for something else

    def write(self, node: Any, level: int) -> None:
        """``level``: how many sections are open."""
        if isinstance(node, nodes.Text):
            text = node.astext()
            if not isinstance(node.parent, _CODE):
                text = _DASH.sub(lambda dash: "–" if len(dash[0]) == 2 else "—", text)
            self._say(text.replace("|", "/") if self._is_cell else text)
        elif isinstance(node, nodes.substitution_reference):
            self._write_meaning(node)
        elif isinstance(node, nodes.system_message):
            self._write_unread(node, level + 1)
        elif not isinstance(node, _UNSAID) and not (isinstance(node, nodes.field) and not node[1].children):
            tag = _tag(node, level)
            self._is_cell = self._is_cell or isinstance(node, nodes.entry)
            self.pieces.append(f"<{tag}{_spans(node)}>" if tag else "")
            self._say(_label(node))
            for child in node.children:
                self.write(child, level + isinstance(node, nodes.section))
            self.pieces.append(f"</{tag}>" if tag else "<br>" if isinstance(node, nodes.line) else "")
            self._is_cell = self._is_cell and not isinstance(node, nodes.entry)

    def _say(self, text: str) -> None:
        self.pieces.append(escape(text))

    def _write_meaning(self, reference: Any) -> None:
        """What a substitution stands for; its name, where nothing says so."""
        meanings, name = self._document.substitution_defs, reference["refname"]
        meaning = meanings.get(name) or meanings.get(self._document.substitution_names.get(name.lower()))
        if meaning is None or self._is_meaning:
            self._say(reference.astext())
        elif len(meaning.astext()) > _MAX_MEANING_CHARS:
            self._say(meaning.astext()[:_MAX_MEANING_CHARS])
        else:
            self._is_meaning = True
            for child in meaning.children:
                self.write(child, 0)
            self._is_meaning = False

    def _write_unread(self, message: Any, level: int) -> None:
        """What docutils could not make sense of, as it was; a title that fits nowhere is one all the same."""
        for block in message.findall(nodes.literal_block):
            lines = [line for line in block.astext().split("\n") if line.strip()]
            text_lines = [line for line in lines if not _ADORNMENT.match(line)]
            is_title = len(text_lines) == 1 < len(lines)
            tag = f"h{min(level, _MAX_LEVEL)}" if is_title else "pre"
            self.pieces.append(f"<{tag}>")
            self._say("\n".join(text_lines if is_title else lines))
            self.pieces.append(f"</{tag}>")


def _tag(node: Any, level: int) -> str:
    if isinstance(node, nodes.title):
        is_heading = isinstance(node.parent, nodes.section)
        return (
            f"h{min(level, _MAX_LEVEL)}"
            if is_heading
            else "caption"
            if isinstance(node.parent, nodes.table)
            else "p"
        )
    if isinstance(node, nodes.entry):
        return "th" if isinstance(node.parent.parent, nodes.thead) else "td"
    if isinstance(node, nodes.paragraph) and isinstance(node.parent, nodes.list_item):
        return "span" if node.parent[0] is node else "p"  # a number stands before it
    return TAGS.get(node.tagname, "")


def _spans(node: Any) -> str:
    spans = {"colspan": node.get("morecols"), "rowspan": node.get("morerows")}
    return "".join(f' {name}="{more + 1}"' for name, more in spans.items() if more)


def _label(node: Any) -> str:
    """What stands before an item that is counted, marked, and before the value of an option."""
    if isinstance(node, nodes.option_argument):
        return str(node.get("delimiter", " "))
    kind = node.parent.get("enumtype", "") if isinstance(node, nodes.list_item) else ""
    if not kind:
        return ""
    number = node.parent.get("start", 1) + node.parent.index(node)
    letters: Sequence[str] = ascii_lowercase if "alpha" in kind else _ROMAN if "roman" in kind else ()
    label = letters[number - 1] if number <= len(letters) else str(number)
    label = label.upper() if "upper" in kind else label
    return f"{_LABEL}{node.parent.get('prefix', '')}{label}{node.parent.get('suffix', '.')} "
