"""Results of an MCP tool as items: from structured content, from JSON in its texts, or from the texts. Pure.

Servers agree on no form. An item is an object with a text, an address or a title under one of the names below; a list of
such objects is looked for in the answer itself, and below its names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from deep_research.models.clients import read_json
from deep_research.sources.search.fields import MAX_TITLE_CHARS, address, day, line, text, whole
from deep_research.unpacking import BodyError

MAX_ITEMS = 50  # of one answer
MAX_BLOCKS = 200
MAX_VALUES = 250_000  # in the JSON of a text
MAX_DEPTH = 3  # at which a list of items is looked for
MAX_TEXT_CHARS = 1_000_000  # of one item; what is longer is cut
_URLS = ("url", "link", "href", "uri", "source_url")
_TITLES = ("title", "name", "headline")
_SNIPPETS = ("snippet", "description", "summary", "abstract", "excerpt")
_TEXTS = ("text", "content", "body", "markdown", "raw_content", "page_content")
_DAYS = ("published", "published_date", "publishedDate", "date")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultItem:
    """One thing that a tool gave. ``url`` is an http(s) address, None where it names none; ``text`` is what can be read
    and quoted, ``snippet`` what is said of it."""

    url: str | None = None
    title: str = ""
    snippet: str = ""
    text: str = ""
    published: date | None = None


def items_of(structured: Any, blocks: Sequence[Any]) -> list[ResultItem]:
    """The items of an answer: ``structured`` is its structured content, ``blocks`` are its content blocks, as objects of
    the package ``mcp`` or alike. Each item once."""
    items = list(_listed(structured)) if structured is not None else []
    if not items:
        items = [item for block in blocks[:MAX_BLOCKS] for item in _of_block(block)]
    return list(dict.fromkeys(item for item in items if item.text or item.url))[:MAX_ITEMS]


def _of_block(block: Any) -> Iterator[ResultItem]:
    match getattr(block, "type", None):
        case "text":
            yield from _of_text(text(getattr(block, "text", "")))
        case "resource_link":
            uri, name = getattr(block, "uri", ""), getattr(block, "title", None) or getattr(block, "name", "")
            yield _item({"url": str(uri), "title": name, "description": getattr(block, "description", "")})
        case "resource":
            resource = getattr(block, "resource", None)
            uri = str(getattr(resource, "uri", ""))
            yield _item({"url": uri, "title": uri, "text": getattr(resource, "text", "")})


def _of_text(block_text: str) -> Iterator[ResultItem]:
    if block_text.lstrip()[:1] in ("{", "["):
        try:
            value = read_json(block_text.encode("utf-8", "replace"), values=MAX_VALUES)
        except BodyError:
            value = None
        if value is not None:
            yield from _listed(value)
            return
    yield _item({"text": block_text})


def _listed(value: Any) -> Iterator[ResultItem]:
    """The items of a list, of the first list of items below an object, or the object itself where it is one."""
    records = _records(value, MAX_DEPTH)
    for each in (records or [value])[:MAX_ITEMS]:
        item = _item(each) if isinstance(each, Mapping) else _item({"text": each})
        if item.text or item.url:
            yield item


def _records(value: Any, depth: int) -> list[Any]:
    if isinstance(value, list):
        return [each for each in value if isinstance(each, Mapping | str)]
    if not isinstance(value, Mapping) or depth == 0:
        return []
    for below in value.values():
        records = _records(below, depth - 1) if isinstance(below, Mapping | list) else []
        if any(isinstance(each, Mapping) and _is_item(each) for each in records):
            return records
    # A list of texts alone, such as `{"result": ["…", "…"]}`.
    only = list(value.values())
    return _records(only[0], depth - 1) if len(only) == 1 else []


def _is_item(record: Mapping[str, Any]) -> bool:
    return any(isinstance(record.get(name), str) for name in (*_URLS, *_TEXTS, *_TITLES, *_SNIPPETS))


def _item(record: Mapping[str, Any]) -> ResultItem:
    return ResultItem(
        url=next((url for name in _URLS if (url := address(record.get(name)))), None),
        title=line(_first(record, _TITLES), MAX_TITLE_CHARS),
        snippet=line(_first(record, _SNIPPETS)),
        text=whole(_first(record, _TEXTS)[:MAX_TEXT_CHARS]),
        published=next((published_on for name in _DAYS if (published_on := day(record.get(name)))), None),
    )


def _first(record: Mapping[str, Any], names: Sequence[str]) -> str:
    return next((words for name in names if (words := text(record.get(name)).strip())), "")
