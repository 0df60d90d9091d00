"""Directives and roles of reStructuredText, those of docutils, of Sphinx and unknown ones.

Of docutils' own directives only those for tables and for what stands for something else are run: each other name leads
to `_Directive`, which looks at nothing but the lines below it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, cast

from docutils import nodes
from docutils.parsers.rst import Directive, directives, roles, states
from docutils.parsers.rst.directives.misc import Replace, Unicode
from docutils.parsers.rst.directives.tables import CSVTable, ListTable
from docutils.statemachine import StringList

from deep_research.patterns import regex
from deep_research.sources.extract.plaintext import words

MAX_CELLS = 4  # for each character of a text: more would make a short text a long one
_TABLES = tomllib.loads(Path(__file__).with_name("rst_markup.toml").read_text(encoding="utf-8"))
TAGS: dict[str, str] = {name: tag for tag, names in _TABLES["tags"].items() for name in names.split()}
_LEADS: dict[str, str] = _TABLES["leads"]
_NAMED = {kind: words(names) for kind, names in _TABLES["names"].items()}
_TARGET = regex(r"(?P<shown>[^<]{1,1000}?)\s*<[^<>]{1,1000}>\Z")
_RAISED = {"sup": nodes.superscript, "sub": nodes.subscript}
_REGISTRIES = RLock()  # docutils has one for each process


class _AnyOption(dict[str, Callable[[str], Any]]):
    """Takes every option, those that it does not know as they are."""

    def __missing__(self, name: str) -> Callable[[str], Any]:
        return cast("Callable[[str], Any]", directives.unchanged)


@contextmanager
def all_known() -> Iterator[None]:
    """While this lasts docutils finds a directive and a role for every name. It is put back as it was."""
    with _REGISTRIES:
        before = directives.directive, roles.role
        _find_by(lambda name, *_: (_directive(name.lower()), []), lambda *_: (_role, []))
        try:
            yield
        finally:
            _find_by(*before)


def _find_by(directive: Callable[..., Any], role: Callable[..., Any]) -> None:
    cast("Any", directives).directive = directive
    cast("Any", roles).role = role


def _role(name: str, _raw: str, text: str, *_: Any, **__: Any) -> tuple[list[nodes.Node], list[nodes.Node]]:
    kind = name.lower().rpartition(":")[2]
    if "raw" in kind:  # as those are called with which a text shows what no reader of its words does
        return [], []
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
    return [_RAISED.get(kind[:3], nodes.inline)("", label)], []


def _directive(name: str) -> Any:
    is_hidden = name.rpartition(":")[2] in _NAMED["hidden"] or name.startswith("auto")
    return _OWN.get(name, _Hidden if is_hidden else _Directive)


class _Hidden(Directive):
    """What is for programs, or shows what stands elsewhere."""

    has_content = True

    def run(self) -> list[Any]:
        return [nodes.inline()] if isinstance(self.state, states.SubstitutionDef) else []


class _Directive(Directive):
    """Any directive, read by what stands beside its name and below."""

    optional_arguments = 1
    final_argument_whitespace = True
    option_spec = _AnyOption({"class": directives.unchanged})
    has_content = True

    def run(self) -> list[Any]:
        name = self.name.lower()
        kind = name.rpartition(":")[2]
        if isinstance(self.state, states.SubstitutionDef):
            return [nodes.inline()]
        beside = "".join(self.arguments).split("\n") if self.arguments else []
        lines = list(self.content)
        if not self.block_text.split("\n", 1)[0].partition("::")[2].strip():
            beside, lines = [], [*beside, "", *lines]  # it stands right below
        if name == "parsed-literal":
            inline, _ = self.state.inline_text("\n".join(lines), self.lineno)
            return [nodes.literal_block("", "", *inline)]
        if name in _NAMED["code"]:
            return [nodes.literal_block("", "\n".join([*(beside if name == "math" else beside[1:]), *lines]))]
        if kind in _NAMED["defined"] or ":" in name:
            return self._definition(beside, self._parsed(lines)) if beside else self._parsed(lines)
        if name in _LEADS:
            return self._led(name, " ".join(beside), lines)
        return [*self._parsed(beside[name not in _NAMED["said"] :]), *self._parsed(lines)]

    def _parsed(self, lines: Sequence[str]) -> list[Any]:
        """What the lines say, titles of sections included."""
        node = nodes.Element()
        node.document = self.state.document
        self.state.nested_parse(StringList(list(lines), ""), self.content_offset, node, match_titles=True)
        return list(node.children)

    def _led(self, name: str, beside: str, lines: Sequence[str]) -> list[Any]:
        lead = _LEADS[name]
        if name != "seealso":
            version, _, beside = beside.partition(" ")
            lead = f"{lead}{version.strip(',;:')}{': ' if beside.strip() or any(lines) else '.'}"
        body = [*self._parsed([beside]), *self._parsed(lines)]
        if body and isinstance(body[0], nodes.paragraph):
            body[0].insert(0, nodes.Text(lead))
            return body
        return [nodes.paragraph("", lead.strip()), *body]

    def _definition(self, terms: Sequence[str], body: Sequence[Any]) -> list[Any]:
        """What is defined, with the first paragraph on it."""
        first = body[:1] if body and isinstance(body[0], nodes.paragraph) else []
        item = nodes.definition_list_item()
        item += [nodes.term("", term.strip()) for term in terms]
        item += nodes.definition("", *first)
        return [nodes.definition_list("", item), *body[len(first) :]]


def _lenient(directive: Any) -> Any:
    """A directive for tables that takes any option; a table of far more cells than words is shown as it is written."""

    def run(self: Any) -> list[Any]:
        tables: list[Any] = directive.run(self)
        cells = sum(1 for table in tables for _ in table.findall(nodes.entry))
        is_large = cells > MAX_CELLS * len(self.block_text)
        return [nodes.literal_block("", self.block_text)] if is_large else tables

    return type("_Lenient", (directive,), {"run": run, "option_spec": _AnyOption(directive.option_spec)})


_OWN: dict[str, Any] = {
    "replace": Replace,
    "unicode": Unicode,
    "list-table": _lenient(ListTable),
    "csv-table": _lenient(CSVTable),
}
