"""Notebooks of Jupyter: their text, their code, and what the code printed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from deep_research.patterns import regex
from deep_research.sources.extract import html_text, markdown
from deep_research.sources.extract.document import Document, finished
from deep_research.sources.extract.formats import ExtractionRequest
from deep_research.sources.extract.plaintext import UnreadableError, decode
from deep_research.sources.extract.tables import Blocks
from deep_research.sources.extract.texts import first_heading
from deep_research.text.plain import clean

_MAX_RAW = 20_000_000
_COLORS = regex("\x1b\\[[0-9;]*[A-Za-z]")
_MARKUP = ("text/html", "text/markdown", "text/plain")  # of what a cell shows, the one that tells most


def read(raw: bytes, asked: ExtractionRequest) -> Document:
    """Raises `UnreadableError`."""
    if len(raw) > _MAX_RAW:
        raise UnreadableError(f"a notebook of more than {_MAX_RAW:,} bytes", limit="size")
    try:
        book = json.loads(decode(raw))
    except (ValueError, RecursionError) as error:
        raise UnreadableError("a damaged notebook") from error
    about = _mapping(_mapping(book).get("metadata"))
    language = str(_mapping(about.get("kernelspec")).get("language") or "python")
    out = Blocks()
    for cell in _cells(_mapping(book)):
        _write(cell, out, language)
    text = clean(str(out)).strip()
    authors = [str(_mapping(each).get("name") or "") for each in _list(about.get("authors"))]
    return finished(
        raw,
        asked.name,
        title=str(about.get("title") or "") or first_heading(text),
        text=text,
        author=", ".join(filter(None, authors)),
        max_text_bytes=asked.max_text_bytes,
    )


def _cells(book: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The cells, which an older form has in sheets."""
    for sheet in [book, *map(_mapping, _list(book.get("worksheets")))]:
        yield from map(_mapping, _list(sheet.get("cells")))


def _write(cell: dict[str, Any], out: Blocks, language: str) -> None:
    source = _text(cell.get("source", cell.get("input")))
    kind = cell.get("cell_type")
    if kind == "markdown":
        out.verbatim(markdown.readable(source))
    elif kind == "heading":
        out.heading(cell["level"] if isinstance(cell.get("level"), int) else 1, source)
    elif kind == "code":
        out.code(source, language if language.isalnum() else "")
        for output in map(_mapping, _list(cell.get("outputs"))):
            _show(output, out)
    else:
        out.code(source)


def _show(output: dict[str, Any], out: Blocks) -> None:
    data = _mapping(output.get("data")) or {
        "text/plain": output.get("text"),
        "text/html": output.get("html"),
    }
    html, markdown_text, plain = (_text(data.get(kind)) for kind in _MARKUP)
    if output.get("output_type") in ("error", "pyerr"):
        out.code(f"{output.get('ename')}: {output.get('evalue')}")
    elif table := html_text.extract(html) if "<table" in html else "":
        out.verbatim(table)
    elif markdown_text:
        out.verbatim(markdown.readable(markdown_text))
    elif not any(kind.startswith("image/") for kind in data):  # beside which it is the name of an object
        out.code(_COLORS.sub("", plain))


def _text(value: Any) -> str:
    return "".join(map(str, value)) if isinstance(value, list) else value if isinstance(value, str) else ""


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
