"""Feeds as their entries; of other XML the text, when it is one that people read. Entities are never expanded."""

from __future__ import annotations

import io
from collections.abc import Iterator

from lxml import etree

from deep_research.patterns import regex
from deep_research.sources.extract import html_text
from deep_research.sources.extract.document import Document, finished
from deep_research.sources.extract.formats import ExtractionRequest
from deep_research.sources.extract.plaintext import UnreadableError, decode, parse_date
from deep_research.text.plain import clean

MAX_RAW = 5_000_000
_ENCODING = regex(rb"<\?xml[^>]{0,200}encoding\s*=\s*[\"']([\w.:-]{1,40})")
_DECLARATION = regex(r"\A\s*<\?xml[^>]{0,300}\?>")
_FEED = regex(r"<(?:rss|feed|rdf:RDF)[\s>]")
_TITLES = ("title", "article-title")
_BODIES = ("encoded", "content", "summary", "description")


def read(raw: bytes, asked: ExtractionRequest) -> Document:
    """Raises `UnreadableError`."""
    if len(raw) > MAX_RAW:
        raise UnreadableError(f"more than {MAX_RAW:,} bytes of XML", limit="size")
    declared = _ENCODING.search(raw[:300])
    encoding = asked.charset or (declared[1].decode("ascii").lower() if declared else "")
    text = _DECLARATION.sub("", decode(raw, declared=encoding or None))
    if "<!ENTITY" in text.upper():
        raise UnreadableError("XML with entities of its own")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False, remove_comments=True)
    try:
        root = etree.fromstring(text.encode(), parser)
    except etree.XMLSyntaxError as error:
        if _FEED.search(text[:2_000]):
            return _read_loosely(raw, text, asked)
        raise UnreadableError("damaged XML, or nested too deeply") from error
    entries = [element for element in root.iter() if _name(element) in ("item", "entry")]
    title = next((_text(element) for element in root.iter() if _name(element) in _TITLES), "")
    parts = list(_feed(title, entries)) if entries else list(_paragraphs(root))
    days = (
        parse_date(_text(e)) for e in root.iter() if _name(e) in ("pubdate", "published", "updated", "date")
    )
    return finished(
        raw,
        asked.name,
        title=title,
        text=clean("\n\n".join(parts)).strip(),
        published=next(filter(None, days), None),
        max_text_bytes=asked.max_text_bytes,
    )


def _read_loosely(raw: bytes, text: str, asked: ExtractionRequest) -> Document:
    """A feed that is not well-formed, as many are that have a bare ``&``."""
    import feedparser

    feed = feedparser.parse(io.BytesIO(text.encode()), sanitize_html=False, resolve_relative_uris=False)
    title = " ".join(feed.feed.get("title", "").split())
    parts = [f"# {title}"] if title else []
    for entry in feed.entries:
        heading = " ".join(entry.get("title", "").split())
        bodies = [each.get("value", "") for each in entry.get("content", ())] or [entry.get("summary", "")]
        day = entry.get("published") or entry.get("updated", "")
        parts += [f"## {heading}" if heading else "", day, html_text.extract(bodies[0])]
    days = (parse_date(entry.get("published") or entry.get("updated", "")) for entry in feed.entries)
    if not feed.entries:
        raise UnreadableError("damaged XML, or nested too deeply")
    return finished(
        raw,
        asked.name,
        title=title,
        text=clean("\n\n".join(filter(None, parts))).strip(),
        published=next(filter(None, days), None),
        max_text_bytes=asked.max_text_bytes,
    )


def _name(element: etree._Element) -> str:
    return str(element.tag).rpartition("}")[2].lower() if isinstance(element.tag, str) else ""


def _text(element: etree._Element) -> str:
    return " ".join("".join(str(part) for part in element.itertext()).split())


def _feed(title: str, entries: list[etree._Element]) -> Iterator[str]:
    if title:
        yield f"# {title}"
    for entry in entries:
        inner = {_name(element): element for element in entry}
        if "title" in inner and (heading := _text(inner["title"])):
            yield f"## {heading}"
        days = [_text(inner[name]) for name in ("pubdate", "published", "updated") if name in inner]
        yield from days[:1]
        body = next((inner[each] for each in _BODIES if each in inner), None)
        if body is not None and (content := html_text.extract("".join(map(str, body.itertext())))):
            yield content


def _paragraphs(root: etree._Element) -> Iterator[str]:
    """The text of elements that hold some of their own, each a paragraph; data for programs is none."""
    for element in root.iter():
        parent = element.getparent()
        if isinstance(element.tag, str) and _has_text(element) and (parent is None or not _has_text(parent)):
            yield _text(element)


def _has_text(element: etree._Element) -> bool:
    return any((text or "").strip() for text in (element.text, *(inner.tail for inner in element)))
