"""reStructuredText to readable text: docutils parses it, and its tree becomes blocks.

Nothing is read but the text itself: no file, no address, no configuration (see `rst_markup`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from string import ascii_lowercase
from typing import Any

from docutils import frontend, nodes, utils
from docutils.parsers.rst import Parser

from deep_research.patterns import regex
from deep_research.sources.extract.blocks import Blocks
from deep_research.sources.extract.plaintext import UnreadableError
from deep_research.sources.extract.rst_markup import all_known
from deep_research.sources.extract.superscripts import resolve_marks

_MAX_LINE_CHARS = 10_000_000  # characters
_MAX_MEANING_CHARS = 200  # characters that a substitution may stand for
_MAX_CELLS = 4  # for each character of a text
_MAX_REPEATED_CHARS = 80  # characters of a cell that is said again in each row beside it
# A head as letters have it, with which Python's proposals begin.
_HEAD = regex(
    r"\s*+(?:[A-Z][A-Za-z-]{1,30}:(?:[ \t][^\n]*+)?\n(?:[ \t]++\S[^\n]*+\n)*+){3,}+[ \t]*+(?:\n|\Z)"
)
_TITLE_IN_HEAD = regex(r"^Title:", re.MULTILINE)
_RULE = regex(r"^[ \t]*+(?:=++(?: ++|$))++$", re.MULTILINE)  # of a table whose columns are underlined
_ADORNMENT = regex(r"([!-/:-@\[-`{-~])\1+\s*\Z")
_DASH = regex(r"(?<=\d)--(?=\d)|(?<= )---?(?= )|(?<=\w)---(?=\w)")
_CODE = (nodes.literal, nodes.literal_block, nodes.doctest_block)
_SILENT = (
    nodes.comment,
    nodes.substitution_definition,
    nodes.pending,
    nodes.raw,
    nodes.image,
    nodes.transition,
)
_UNSAID = (nodes.footnote_reference, nodes.citation_reference, nodes.image, nodes.raw, nodes.system_message)
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
    document = _parsed(text)
    blocks = Blocks()
    _Walk(document, blocks).tree(document.children)
    first = next(iter(document.children), None)
    return RstDocument(str(blocks), _fields(document), isinstance(first, nodes.field_list))


def _parsed(text: str) -> Any:
    columns = max((len(rule.split()) for rule in _RULE.findall(text)), default=0)
    if columns * text.count("\n") > _MAX_CELLS * len(text):
        raise UnreadableError("a table of far more cells than words", limit="size")
    head = _HEAD.match(text)
    has_head = head is not None and _TITLE_IN_HEAD.search(head[0]) is not None
    document = utils.new_document("text", copy(_settings()))
    with all_known():
        Parser(rfc2822=has_head).parse(f"{text}\n", document)
    return document


@cache
def _settings() -> Any:
    settings = frontend.get_default_settings(Parser)
    for name, value in _QUIET.items():
        setattr(settings, name, value)
    return settings


def _fields(document: Any) -> dict[str, str]:
    """Those of the first list of fields, above the first heading or right below it."""
    children = [each for each in document.children if not isinstance(each, _SILENT)]
    if len(children) == 1 and isinstance(children[0], nodes.section):
        children = list(children[0].children)
    field_list: Any = next((each for each in children[:3] if isinstance(each, nodes.field_list)), ())
    return {each[0].astext().lower(): " ".join(each[1].astext().split()) for each in field_list}


class _Walk:
    """Writes a tree of docutils as blocks."""

    def __init__(self, document: Any, blocks: Blocks) -> None:
        self._document = document
        self._blocks = blocks
        self._level = 0  # sections that are open
        self._meanings: dict[str, str] = {}

    def tree(self, children: Sequence[Any]) -> None:
        for node in children:
            self._node(node)

    def _node(self, node: Any) -> None:
        if isinstance(node, _SILENT):
            return
        name = type(node).__name__
        if (visit := getattr(self, f"_{name}", None)) is not None:
            visit(node)
        elif isinstance(node, nodes.TextElement):
            self._blocks.paragraph(self._words(node))
        else:
            self.tree(node.children)

    def _section(self, node: Any) -> None:
        self._level += 1
        self.tree(node.children)
        self._level -= 1

    def _title(self, node: Any) -> None:
        if isinstance(node.parent, nodes.section):
            self._blocks.heading(self._level, self._words(node))
        else:
            self._blocks.paragraph(self._words(node))

    def _literal_block(self, node: Any) -> None:
        self._blocks.code(self._words(node))

    _doctest_block = _math_block = _literal_block

    def _line_block(self, node: Any) -> None:
        lines = (each for each in node.findall(nodes.line))
        self._blocks.paragraph("\n".join(self._words(each).strip() for each in lines))

    def _bullet_list(self, node: Any) -> None:
        self._blocks.open_list()
        for item in node.children:
            self._item("-", item.children)

    def _enumerated_list(self, node: Any) -> None:
        self._blocks.open_list()
        for number, item in enumerate(node.children, node.get("start", 1)):
            label = _in_letters(number) if "alpha" in node.get("enumtype", "") else str(number)
            label = label.upper() if "upper" in node.get("enumtype", "") else label
            self._item(f"{node.get('prefix', '')}{label}{node.get('suffix', '.')}", item.children)

    def _item(self, mark: str, children: Sequence[Any]) -> None:
        self._blocks.open_item(mark)
        self.tree(children)
        self._blocks.close_item()

    def _definition_list_item(self, node: Any) -> None:
        terms: list[str] = []
        for part in node.children:
            if isinstance(part, nodes.term):
                terms.append(self._words(part))
            elif isinstance(part, nodes.classifier):
                terms[-1:] = [f"{''.join(terms[-1:])} : {self._words(part)}"]
            else:
                self._define(terms, part.children)
                terms = []
        self._define(terms, ())

    def _option_list_item(self, node: Any) -> None:
        options = ", ".join(each.astext() for each in node[0])
        self._define([options], node[1].children)

    def _define(self, terms: Sequence[str], children: Sequence[Any]) -> None:
        """What is defined, apart from what defines it, by which the latter is known."""
        for term in terms:
            self._blocks.paragraph(term)
        if children and isinstance(children[0], nodes.paragraph):
            self._blocks.open_list()
            self._item("-", (_unwrapped(children[0]),))
            children = children[1:]
        self.tree(children)

    def _field(self, node: Any) -> None:
        name, body = node
        children = list(body.children)
        first = self._words(children.pop(0)) if children and isinstance(children[0], nodes.paragraph) else ""
        if first or children:
            self._blocks.field(f"{self._words(name)}: {first}")
        self.tree(children)

    def _footnote(self, node: Any) -> None:
        self.tree([each for each in node.children if not isinstance(each, nodes.label)])

    _citation = _footnote

    def _system_message(self, node: Any) -> None:
        """What docutils could not make sense of, as it was; a title that fits nowhere is one all the same."""
        for child in node.children:
            if isinstance(child, nodes.literal_block) and not child.astext().startswith(".. "):
                lines = [line for line in child.astext().split("\n") if line.strip()]
                text_lines = [line for line in lines if not _ADORNMENT.match(line)]
                if len(text_lines) == 1 < len(lines):
                    self._blocks.heading(self._level + 1, text_lines[0])
                else:
                    self._blocks.paragraph("\n".join(lines))

    def _table(self, node: Any) -> None:
        for part in node.children:
            if not isinstance(part, nodes.tgroup):
                self._node(part)
                continue
            header: list[list[str]] = []
            rows: list[list[str]] = []
            for group in part.children:
                if isinstance(group, nodes.thead):
                    header = list(self._grid(group, is_header=True))
                elif isinstance(group, nodes.tbody):
                    rows = list(self._grid(group))
            columns = zip(*header, strict=False)
            self._blocks.rows([" ".join(dict.fromkeys(filter(None, each))) for each in columns], rows)

    def _grid(self, group: Any, *, is_header: bool = False) -> Iterator[list[str]]:
        """Its rows, with as many cells each. A cell beside several rows is said in each of them, one over several
        columns in the first of them, or in a header in all."""
        beside: dict[int, tuple[int, str]] = {}  # for how many rows more, and what, by column
        for row in group.children:
            cells: list[str] = []
            entries = iter(row.children)
            while True:
                left, text = beside.pop(len(cells), (0, ""))
                if left:
                    beside[len(cells)] = (left - 1, text)
                    cells.append(text)
                    continue
                entry = next(entries, None)
                if entry is None:
                    break
                text = self._cell(entry)
                again = text if len(text) <= _MAX_REPEATED_CHARS else ""
                for column in range(entry.get("morecols", 0) + 1):
                    cell_text = text if not column else again if is_header else ""
                    if more := entry.get("morerows", 0):
                        beside[len(cells)] = (more, cell_text if cell_text == again else "")
                    cells.append(cell_text)
            yield cells

    def _cell(self, entry: Any) -> str:
        blocks = Blocks()
        _Walk(self._document, blocks).tree(entry.children)
        text = blocks.in_one()
        return "" if text == "\\" else text

    def _words(self, node: Any) -> str:
        return resolve_marks("".join(self._text_pieces(node)))

    def _text_pieces(self, node: Any) -> Iterator[str]:
        for child in node.children:
            if isinstance(child, nodes.Text):
                yield child.astext() if isinstance(node, _CODE) else _DASH.sub(_dash, child.astext())
            elif isinstance(child, nodes.substitution_reference):
                yield self._meaning(child)
            elif not isinstance(child, _UNSAID):
                yield from self._text_pieces(child)

    def _meaning(self, reference: Any) -> str:
        """What a substitution stands for; its name, where nothing says so."""
        meanings, name = self._document.substitution_defs, reference["refname"]
        key = name if name in meanings else self._document.substitution_names.get(name.lower())
        if key is None:
            return str(reference.astext())
        if key not in self._meanings:
            self._meanings[key] = ""  # of one that stands for itself
            self._meanings[key] = self._words(meanings[key])[:_MAX_MEANING_CHARS]
        return self._meanings[key]


def _in_letters(number: int) -> str:
    return ascii_lowercase[number - 1] if number <= len(ascii_lowercase) else str(number)


def _unwrapped(paragraph: Any) -> Any:
    """The paragraph in one line."""
    for text in list(paragraph.findall(nodes.Text)):
        text.parent.replace(text, nodes.Text(text.astext().replace("\n", " ")))
    return paragraph


def _dash(match: re.Match[str]) -> str:
    return "–" if len(match[0]) == 2 else "—"
