"""E-books: their chapters in order, each read as a page that is nothing but its text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date
from posixpath import dirname, join, normpath
from typing import Any
from urllib.parse import unquote

from deep_research.patterns import regex
from deep_research.sources.extract import html
from deep_research.sources.extract.document import Document, Pages, finished
from deep_research.sources.extract.formats import ExtractionRequest
from deep_research.sources.extract.package import Package
from deep_research.sources.extract.plaintext import UnreadableError, parse_date

_MAX_ENTRIES = 10_000  # pictures are entries of their own
_CONTAINER = "META-INF/container.xml"
_ABOUT = "{http://purl.org/dc/elements/1.1/}"
_PAGES = ("application/xhtml+xml", "text/html")
_CONTENTS = "application/x-dtbncx+xml"
# An element that ends where it begins, as HTML has none of its kind.
_CLOSED = regex(
    rb"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)\b)([\w:-]{1,40})((?:\s[^<>]{0,2000}?)?)/>"
)
_FIRST_PRINTED = date(1400, 1, 1)  # programs fill in an older day for none


def read(raw: bytes, asked: ExtractionRequest) -> Document:
    """Raises `UnreadableError`."""
    package = Package(raw, "an e-book", entries=_MAX_ENTRIES)
    root = next((each.get("full-path", "") for each in package.tree(_CONTAINER).iter("{*}rootfile")), "")
    book = package.tree(root)
    items = {each.get("id", ""): each for each in book.iter("{*}item")}
    names = {place: name for place, name in _contents(package, root, items.values()) if name}
    pages, damaged = Pages(), list[str]()
    for part in dict.fromkeys(_chapters(root, book, items)):
        if part not in package.names:
            continue
        raw_chapter = _CLOSED.sub(rb"<\1\2></\1>", package.markup(part))
        try:
            heading, text = html.read_chapter(raw_chapter)
        except UnreadableError:
            damaged.append(f"chapter {names.get(part, part)}")
        else:
            pages.add(f"chapter {names.get(part) or heading or len(pages.starts) + 1}", text)
    days = (parse_date(value) for value in _values(book, "date"))
    return finished(
        raw,
        asked.name,
        title=next(_values(book, "title"), ""),
        text=pages.text,
        published=next((day for day in days if day and day > _FIRST_PRINTED), None),
        author=", ".join(_values(book, "creator")),
        pages=pages.starts,
        page_labels=pages.labels,
        unread=f"{', '.join(damaged)}: damaged or encrypted" if damaged else "",
        max_text_bytes=asked.max_text_bytes,
    )


def _values(book: Any, name: str) -> Iterator[str]:
    for element in book.iter(f"{_ABOUT}{name}"):
        if value := " ".join((element.text or "").split()):
            yield value


def _chapters(root: str, book: Any, items: Mapping[str, Any]) -> Iterator[str]:
    """The parts in the order in which they are read, but for a table of contents."""
    for entry in book.iter("{*}itemref"):
        item = items.get(entry.get("idref", ""))
        if item is not None and item.get("media-type") in _PAGES and not _is_list(item):
            yield _place(root, item.get("href", ""))


def _contents(package: Package, root: str, items: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """What the table of contents calls the parts of a book; what it calls a place within one names no part. Nothing of a
    damaged one."""
    lists = (item for item in items if _is_list(item) or item.get("media-type") == _CONTENTS)
    for part in dict.fromkeys(_place(root, item.get("href", "")) for item in lists):  # one may be named often
        if part not in package.names:
            continue
        with suppress(UnreadableError):
            for entry in package.tree(part).iter("{*}a", "{*}navPoint"):
                target = entry.find("{*}content")  # of the older form
                href = entry.get("href", "") if target is None else target.get("src", "")
                if "#" not in href:
                    name = entry if target is None else entry.find("{*}navLabel")
                    yield (
                        _place(part, href),
                        " ".join("".join(name.itertext() if name is not None else ()).split()),
                    )


def _is_list(item: Any) -> bool:
    return "nav" in (item.get("properties") or "").split()


def _place(part: str, address: str) -> str:
    """The name of the part that another part calls by an address."""
    return normpath(join(dirname(part), unquote(address)))
