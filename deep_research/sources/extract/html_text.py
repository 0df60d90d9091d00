"""HTML to readable text: headings, paragraphs, items and rows; menus, forms and what is hidden left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress

from deep_research.patterns import regex
from deep_research.sources.extract.hiding import is_hidden
from deep_research.sources.extract.plaintext import resolve_tags, words

_DROPPED = words(
    "script style nav header footer aside form template svg noscript iframe object embed canvas audio video "
    "dialog button select textarea datalist xmp noembed noframes math"
)
_MENUS = ("navigation", "search")  # roles of elements that are not called so
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
BLOCKS = words(
    "address article blockquote body caption center dd details div dl dt fieldset figcaption figure h1 h2 h3 "
    "h4 h5 h6 hgroup hr html legend li main menu ol p pre section summary table tbody tfoot thead tr ul"
)
_CELLS = frozenset(("td", "th"))
_SHAPED = frozenset(("li", "dt", "dd", "tr", *_HEADINGS))
# What a page says beside its paragraphs, however short it is: terms and what they mean, what tables, figures and folded
# parts are called, and notes.
_KEPT = ("dt", "dd", "caption", "figcaption", "blockquote")
KEPT = "\x1e"  # begins a block of these, where it is wanted
_ROW_ENDS = frozenset(("tr", "table", "tbody", "thead", "tfoot", "caption", *_HEADINGS))
_LAYOUT_CELL_CHARS = 300  # characters; a row with more text than this is a piece of a page
_MAIN_LENGTH_CHARS = 200  # characters; a <main> with less does not stand for its page
_BAR = regex(r"(?: |\A)\|(?: |\Z)")
_BREAK = "\x0b"  # a line break inside a paragraph
_ENDS = (".", ":", "?", "!", "…")  # of a term, behind which no colon is needed


def extract(html: str, *, marks_kept: bool = False) -> str:
    """The readable content of ``html``. A page that is nothing but a form is read all the same. With ``marks_kept`` the
    blocks that are neither heading nor paragraph of the page begin with `KEPT`."""
    html = resolve_tags(html.replace(KEPT, ""))
    text = _Extractor(_DROPPED, marks_kept).read(html)
    return text or _Extractor(_DROPPED - {"form"}, marks_kept).read(html)


class _Extractor:
    """Folds a page into text, as lxml finds tags and words in it: it closes what its author left open."""

    def __init__(self, dropped: frozenset[str], marks_kept: bool) -> None:
        self._dropped = dropped
        self._marks_kept = marks_kept
        self._open: list[str] = []  # blocks and cells that are shown
        self._counts: Counter[str] = Counter()  # of all that is open
        self._unseen = 0  # elements that are open in one that is not shown, this included
        self._line: list[str] = []
        self._blocks: list[str] = []
        self._main: list[str] = []  # those inside <main>
        self._last = ""  # the kind of the last block; items and rows follow their like without a blank line
        self._has_facts = False  # whether a cell of this row is no header
        self._has_cells = False  # whether one of this row has begun, maybe an empty one
        self._is_named = False  # whether this table has had names of columns
        self._pre = 0
        self._terms: list[str] = []  # whose definition has not begun
        self._is_defining = False  # whether the last block is of the definition that is open
        self._is_kept = False  # whether what is written is kept however short it is

    def read(self, html: str) -> str:
        if html.strip():
            from lxml import etree  # Markdown without HTML needs none of it

            # In linear time whatever the input, and however deep it is.
            parser = etree.HTMLParser(target=self, encoding="utf-8", huge_tree=True)
            with suppress(etree.XMLSyntaxError):  # nothing in it but comments
                etree.fromstring(html.encode("utf-8", "replace"), parser)
        self._flush("pre" if self._pre else "")
        self._write_terms()
        main = "".join(self._main).strip()
        return main if len(main) >= _MAIN_LENGTH_CHARS else "".join(self._blocks).strip()

    def data(self, data: str) -> None:
        if self._counts["title"] or self._unseen:
            return
        self._line.append(data)
        if self._counts["td"] and not self._has_facts and not data.isspace():
            cell = next((name for name in reversed(self._open[-8:]) if name in _CELLS), "")
            self._has_facts = cell == "td" and not self._counts["thead"]

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if not self._unseen and (name in BLOCKS or name in _CELLS):
            self._boundary(name)
        elif not self._unseen and name == "br":
            self._line.append("\n" if self._pre else _BREAK)
        self._counts[name] += 1
        if self._unseen:
            self._unseen += 1
            return
        role = attributes.get("role", "").strip().lower()
        if name in self._dropped or role in _MENUS or is_hidden(attributes):
            self._unseen = 1
            return
        if name in BLOCKS or name in _CELLS:
            self._open.append(name)
        if name == "dl":
            self._last = ""  # its items are none of the list before it
        self._pre += name == "pre"

    def end(self, name: str) -> None:
        self._counts[name] -= 1
        if self._unseen:
            self._unseen -= 1
        elif name in BLOCKS or name in _CELLS:
            self._open.pop()
            if name in BLOCKS:
                self._boundary(name, closing=name)
            if name == "dl":
                self._write_terms()
            if name == "dd":
                self._is_defining = False
            self._pre -= name == "pre"

    def close(self) -> None:
        """All was read."""

    def _boundary(self, name: str, closing: str = "") -> None:
        """A block or cell begins or ends: what stood before it is a block of its own."""
        if name in _CELLS:
            if self._has_cells or any(map(str.strip, self._line)):
                self._line.append(" | ")
            self._has_cells = True
        elif self._pre and name != "pre":
            self._line.append("\n")
        elif self._counts["tr"] and name not in _ROW_ENDS and sum(map(len, self._line)) < _LAYOUT_CELL_CHARS:
            self._line.append(" ")  # a paragraph in a cell; in a table that lays out a page they are long
        else:
            self._flush(closing)
            if name == "table":
                self._is_named = False
                self._last = "" if self._last in ("row", "title") else self._last  # its headers are its own

    def _flush(self, closing: str = "") -> None:
        """Writes the text gathered since the last boundary, in the form of the innermost block."""
        raw = "".join(self._line)
        self._line.clear()
        has_facts, self._has_facts = self._has_facts, False
        self._has_cells = False
        if closing == "pre":
            self._write_code(raw)
            return
        lines = [" ".join(line.split()) for line in raw.split(_BREAK)]
        text = "\n".join(line for line in lines if line)
        if not text.strip(" |\n"):
            return
        kind = next((name for name in (closing, *reversed(self._open[-4:])) if name in _SHAPED), "")
        innermost = closing or "".join(self._open[-1:])
        self._is_kept = innermost in ("summary", *_KEPT) or any(self._counts[name] for name in _KEPT)
        if kind == "dt":
            self._terms.append(text.replace("\n", " "))
        elif kind == "dd":
            self._define(text)
        elif kind in _HEADINGS:
            self._write("", f"{_HEADINGS[kind]} {text.replace(chr(10), ' ')}")
        elif kind == "li":
            self._write("item", f"{self._margin()}- {text}")
        elif kind == "tr" and (" | " in text or len(text) < _LAYOUT_CELL_CHARS):
            self._write_row(text.replace("\n", " "), has_facts)
        else:
            self._write("", text.lstrip(" |") if kind == "tr" else text)

    def _define(self, text: str) -> None:
        """Writes a paragraph of a definition into the item that begins with its terms, so that none stands without."""
        if self._is_defining and self._last == "item" and not self._terms:
            self._append(f"\n{self._margin()}  " + text.replace("\n", f"\n{self._margin()}  "))
            return
        if self._terms:
            term = ", ".join(self._terms)
            self._terms.clear()
            text = f"{term}{'' if term.endswith(_ENDS) else ':'} {text}"
        self._write("item", f"{self._margin()}- {text}")
        self._is_defining = True

    def _write_terms(self) -> None:
        """Terms that are not defined, or not by a paragraph."""
        terms, self._terms = self._terms, []
        for term in terms:
            self._write("item", f"{self._margin()}- {term}")

    def _margin(self) -> str:
        return "  " * max(0, min(self._counts["ul"] + self._counts["ol"], 6) - 1)

    def _write_row(self, row: str, has_facts: bool) -> None:
        """A row that holds nothing but headers opens a table; before one that has none stands an empty row, so that
        no reader takes facts for names of columns. An empty last cell keeps its bar: else the others would move."""
        is_alone = " | " not in row.strip(" |")
        if (is_alone and not self._is_named) or not _BAR.search(row):
            self._write("title", row.strip(" |"))  # it names no columns of the rows behind it
            return
        if not has_facts:
            self._last = ""
            self._is_named = True
        elif self._last != "row":
            self._write("row", "| | |")
        self._write("row", row)

    def _write_code(self, raw: str) -> None:
        code = raw.strip("\n").rstrip()
        if code.strip():
            fence = "~~~" if "```" in code else "```"
            self._write("", f"{fence}\n{code}\n{fence}")

    def _write(self, kind: str, block: str) -> None:
        self._write_terms()
        mark = KEPT if self._is_kept and self._marks_kept else ""
        self._append(("\n" if kind and kind == self._last else "\n\n") + mark + block)
        self._last = kind
        self._is_defining = False

    def _append(self, block: str) -> None:
        self._blocks.append(block)
        if self._counts["main"]:
            self._main.append(block)
