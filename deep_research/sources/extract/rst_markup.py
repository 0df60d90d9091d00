"""Directives and roles of reStructuredText, those of docutils, of Sphinx and unknown ones.

None of docutils' directives that can read a file or an address is ever run: each name leads to `_Directive`, which looks
at nothing but the lines below it.
"""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple, cast

from docutils import nodes
from docutils.parsers.rst import Directive, directives, roles, states
from docutils.parsers.rst.directives.misc import Replace, Unicode
from docutils.statemachine import StringList

from deep_research.patterns import regex
from deep_research.sources.extract.plaintext import whole_number, words
from deep_research.sources.extract.superscripts import END, MARKS

_TABLES = tomllib.loads(Path(__file__).with_name("rst_markup.toml").read_text(encoding="utf-8"))
_LEADS: dict[str, str] = _TABLES["leads"]
_NAMED = {kind: words(names) for kind, names in _TABLES["names"].items()}
_OPTION = regex(r":(\w[\w -]{0,60}):(?:[ \t]+|\Z)")
_TARGET = regex(r"(?P<shown>[^<]{1,1000}?)\s*<[^<>]{1,1000}>\Z")
_DELIMITERS = {"tab": "\t", "space": " "}
_MAX_EMPTY = 4  # cells for each character of a table: more would make a short text a long one
_REGISTRIES = RLock()  # docutils has one for each process


class _Parts(NamedTuple):
    """Beside the name of a directive, its options, and what is below: lines of its content, from where to where."""

    beside: int
    options: dict[str, str]
    body: int


@contextmanager
def all_known() -> Iterator[None]:
    """While this lasts docutils finds a directive and a role for every name. It is put back as it was."""
    raw: set[str] = set()  # roles of the document for what is not shown
    directive_class = type("_Named", (_Directive,), {"raw": raw})
    inline = {"replace": Replace, "unicode": Unicode}

    def directive(name: str, *_: Any) -> Any:
        return inline.get(name.lower(), directive_class), []

    def role(name: str, *_: Any) -> Any:
        return (_nothing if name.lower() in raw else _role), []

    with _REGISTRIES:
        before = directives.directive, roles.role
        _find_by(directive, role)
        try:
            yield
        finally:
            _find_by(*before)


def _find_by(directive: Callable[..., Any], role: Callable[..., Any]) -> None:
    cast("Any", directives).directive = directive
    cast("Any", roles).role = role


def _role(name: str, _raw: str, text: str, *_: Any, **__: Any) -> tuple[list[nodes.Node], list[nodes.Node]]:
    kind = name.lower().rpartition(":")[2]
    label = nodes.unescape(text, restore_backslashes=kind in _NAMED["verbatim"])
    if kind in _NAMED["verbatim"]:
        return [nodes.literal("", label)], []
    target = _TARGET.match(label)
    label = target["shown"] if target else label.removeprefix("!")
    if label.startswith("~"):
        label = label.rsplit(".", 1)[-1].lstrip("~")
    if kind in _NAMED["objects"]:
        label = label.removeprefix(".")  # where to look for the name
    elif kind in _NAMED["series"] and label[:1].isdigit():
        label = f"{kind.upper()} {label}"
    elif kind[:3] in MARKS:  # also by their long names
        label = f"{MARKS[kind[:3]]}{label}{END}"
    return [nodes.inline("", label)], []


def _nothing(*_: Any, **__: Any) -> tuple[list[nodes.Node], list[nodes.Node]]:
    return [], []


class _Directive(Directive):
    """Any directive, read by its content. Options that it may have are never refused."""

    has_content = True
    raw: set[str]

    def run(self) -> list[Any]:
        name = self.name.lower()
        kind = name.rpartition(":")[2]
        if isinstance(self.state, states.SubstitutionDef):
            return [nodes.inline()]
        if name == "role":
            self._name_role()
        if kind in _NAMED["hidden"] or name.startswith("auto"):
            return []
        parts = self._parts()
        beside = self._lines(0, parts.beside)
        if name == "parsed-literal":
            return [nodes.literal_block("", "", *self._inline("\n".join(self._lines(parts.body))))]
        if name in _NAMED["code"]:
            code = [*(beside if name == "math" else beside[1:]), *self._lines(parts.body)]
            return [nodes.literal_block("", "\n".join(code))]
        if kind in _NAMED["defined"] or ":" in name:
            return self._definition(beside, parts) if beside else self._parsed(parts.body)
        if name in _NAMED["opened"]:
            return self._opened(name, parts)
        title = " ".join(beside)
        title_nodes = (
            [nodes.paragraph("", "", *self._inline(title))] if title and name in _NAMED["titled"] else []
        )
        if name in ("list-table", "csv-table"):
            table = (self._listed if name == "list-table" else self._separated)(parts)
            return [*title_nodes, *(table or self._parsed(parts.body))]
        more = [] if name in _NAMED["titled"] else self._parsed(1, parts.beside)
        return [*title_nodes, *more, *self._parsed(parts.body)]

    def _parts(self) -> _Parts:
        lines = [line.strip() for line in self.content]
        beside = 0
        if self.block_text.split("\n", 1)[0].partition("::")[2].strip():
            beside = next((at for at, line in enumerate(lines) if not line), len(lines))
            beside = next((at for at in range(1, beside) if _OPTION.match(lines[at])), beside)
        options: dict[str, str] = {}
        name = ""
        at = beside
        while at < len(lines) and lines[at]:
            if option := _OPTION.match(lines[at]):
                name = option[1].lower()
                options[name] = lines[at][option.end() :]
            elif name and self.content[at][:1].isspace():
                options[name] += f"\n{lines[at]}"
            else:
                break
            at += 1
        return _Parts(beside, options, at)

    def _lines(self, start: int, end: int | None = None) -> list[str]:
        return list(self.content[start:end])

    def _parsed(self, start: int, end: int | None = None) -> list[Any]:
        """What the lines of the content say, titles of sections included."""
        return self._nested(self.content[start:end], start)

    def _nested(self, lines: StringList, start: int = 0) -> list[Any]:
        node = nodes.Element()
        node.document = self.state.document
        self.state.nested_parse(lines, self.content_offset + start, node, match_titles=True)
        return list(node.children)

    def _inline(self, text: str) -> list[Any]:
        children, _ = self.state.inline_text(text, self.lineno)
        return list(children)

    def _name_role(self) -> None:
        match = re.match(r"\s*([\w.+-]+)\s*\(\s*([\w.+-]+)\s*\)", self.content[0] if self.content else "")
        if match and (match[2].lower() == "raw" or match[2].lower() in self.raw):
            self.raw.add(match[1].lower())

    def _opened(self, name: str, parts: _Parts) -> list[Any]:
        lead = _LEADS.get(name, "")
        body = [*self._parsed(0, parts.beside), *self._parsed(parts.body)]
        if not lead:
            return body
        if name != "seealso" and parts.beside:
            version, _, remark = " ".join(self._lines(0, parts.beside)).partition(" ")
            body = self._parsed(parts.body)
            if remark.strip():
                body.insert(0, nodes.paragraph("", "", *self._inline(remark.strip())))
            lead = f"{lead}{version.strip(',;:')}{': ' if body else '.'}"
        if body and isinstance(body[0], nodes.paragraph):
            body[0].insert(0, nodes.Text(lead))
            return body
        return [nodes.paragraph("", lead.strip()), *body]

    def _definition(self, terms: Sequence[str], parts: _Parts) -> list[Any]:
        item = nodes.definition_list_item()
        item += [nodes.term("", "", nodes.Text(term.strip())) for term in terms]
        item += nodes.definition("", *self._parsed(parts.body))
        return [nodes.definition_list("", item)]

    def _listed(self, parts: _Parts) -> list[Any]:
        """The table of a ``list-table``: a list of rows, each a list of cells; of something else, nothing."""
        body = self._parsed(parts.body)
        if len(body) != 1 or not isinstance(body[0], nodes.bullet_list):
            return []
        items: list[Any] = list(body[0].children)
        rows = [item[0] if len(item) == 1 else item for item in items]
        if not all(isinstance(row, nodes.bullet_list) for row in rows):
            return []
        cells = [[list(cell) for cell in row] for row in rows]
        return _table(cells, whole_number(parts.options.get("header-rows", "")), len(self.block_text))

    def _separated(self, parts: _Parts) -> list[Any]:
        """The table of a ``csv-table`` whose rows stand in the document."""
        options = parts.options
        try:
            header_rows = _csv(options["header"].split("\n"), {}) if "header" in options else []
            rows = header_rows + _csv(self._lines(parts.body), options)
        except (csv.Error, TypeError, ValueError):
            return []
        cells = [[self._nested(StringList(cell.split("\n"), "")) for cell in row] for row in rows]
        return _table(
            cells, len(header_rows) + whole_number(options.get("header-rows", "")), len(self.block_text)
        )


def _table(rows: list[list[list[Any]]], headers: int, size: int) -> list[Any]:
    """As docutils has tables. Short rows are filled up."""
    wide = max(map(len, rows), default=0)
    if not wide or wide * len(rows) > _MAX_EMPTY * size:
        return []
    lines = [
        nodes.row("", *(nodes.entry("", *cell) for cell in (*row, *([[]] * (wide - len(row))))))
        for row in rows
    ]
    group = nodes.tgroup("", nodes.thead("", *lines[:headers]), nodes.tbody("", *lines[headers:]), cols=wide)
    return [nodes.table("", group)]


def _csv(lines: Sequence[str], options: dict[str, str]) -> list[list[str]]:
    delimiter = options.get("delim", ",").strip() or ","
    reader = csv.reader(
        (f"{line}\n" for line in lines),
        delimiter=_DELIMITERS.get(delimiter.lower(), delimiter),
        quotechar=options.get("quote", "").strip() or '"',
        skipinitialspace=True,
        strict=True,
    )
    return [row for row in reader if row]
