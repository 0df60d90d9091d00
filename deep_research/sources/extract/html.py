"""A web page as a document: trafilatura finds what the page is about, the reader of the corpus writes it down.

What trafilatura finds is not what is kept, but a vote: it loses listings, tables and short paragraphs. The text goes
from the first to the last of the blocks that it found, once menus and notices are out; all of them when it found
nothing, or far less than there is. A page of a shape that trees cannot hold goes straight to that reader, which takes
linear time whatever the input.
"""

from __future__ import annotations

import re
from html import escape

from lxml import etree
from lxml.html import HtmlElement, HTMLParser, document_fromstring, tostring

from deep_research.evidence.plain import clean
from deep_research.sources.extract import days, metadata, spans, titles, walls, webpage
from deep_research.sources.extract.above import without_what_is_above
from deep_research.sources.extract.document import Document
from deep_research.sources.extract.finishing import finished
from deep_research.sources.extract.formats import Asked
from deep_research.sources.extract.formulas import tell_formulas
from deep_research.sources.extract.framed import unframe_listings
from deep_research.sources.extract.plaintext import UnreadableError
from deep_research.sources.extract.pruning import drop_told, prune, unfold_headers
from deep_research.sources.extract.texts import decode_page, parse_date
from deep_research.sources.extract.ticks import tell_ticks
from deep_research.sources.extract.unpadding import unpadded
from deep_research.sources.extract.votes import main_part, mark_links

MAX_RAW = 10_000_000  # bytes, with scripts, styles and images
MAX_PAGE = 2_000_000  # characters without them
_MOST_ELEMENTS = 40_000  # more cost trafilatura seconds
_TAGS = {
    "list": "ul",
    "item": "li",
    "row": "tr",
    "quote": "blockquote",
    "lb": "br",
    "p": "p",
    "table": "table",
}
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]{0,300}>")


def read(raw: bytes, asked: Asked) -> Document:
    """Raises `UnreadableError`."""
    if len(raw) > MAX_RAW:
        raise UnreadableError(f"a page of more than {MAX_RAW:,} bytes", limit="size")
    stray = 0 < raw.count(b"\0") * 10 < len(raw)  # some come from careless programs
    raw_page = raw.replace(b"\0", b"") if stray else raw
    page = unpadded(_DECLARATION.sub("", decode_page(raw_page, asked.charset)))
    if len(page) > MAX_PAGE:
        raise UnreadableError(
            f"a page of more than {MAX_PAGE:,} characters without its scripts", limit="size"
        )
    tree = _tree(page)
    if tree is None:
        plain = webpage.extract(page)
        days = (parse_date(value) for value in plain.dates)
        title, text, about = plain.title, plain.text, metadata.About(published=next(filter(None, days), None))
    else:
        title, text, about = _from_tree(tree)
    text = clean(text).strip()
    walls.check(text, page)
    return finished(
        raw,
        asked.name,
        title=title or about.title,
        text=text,
        published=about.published,
        author=about.author,
        max_text_bytes=asked.max_text_bytes,
    )


def _tree(page: str) -> HtmlElement | None:
    """The page as a tree; None when it is too large or too deep for one."""
    if page.count("<") > 2 * _MOST_ELEMENTS:
        return None
    parser = HTMLParser(remove_comments=True, remove_pis=True, recover=True)
    try:
        tree = document_fromstring(page, parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        return None
    if any("depth" in entry.message for entry in parser.error_log):
        return None
    return tree


def _from_tree(tree: HtmlElement) -> tuple[str, str, metadata.About]:
    tell_formulas(tree)
    tell_ticks(tree)
    unframe_listings(tree)
    entry = days.of_entry(tree)
    telling = prune(tree)
    about = metadata.about(tree, entry)
    head = titles.title_of_head(tree)
    element, is_title = titles.heading(tree, [about.title, head])
    heading = titles.text_of(element)
    drop_told(tree, telling)
    unfold_headers(tree, element if is_title else None)
    spans.level(tree)
    votes = _main_part(tree)
    mark_links(tree)
    text = main_part(webpage.extract(tostring(tree, encoding="unicode")).text, votes)
    if is_title:
        text = without_what_is_above(text, heading)
    if heading and text and heading not in text[: len(heading) + 1000]:
        text = f"# {heading}\n\n{text}"
    return titles.title(head, about.title, about.site, heading), text, about


def _main_part(tree: HtmlElement) -> str:
    """What trafilatura takes for the text of the page."""
    import trafilatura

    try:
        found = trafilatura.bare_extraction(
            tree,
            include_comments=False,
            include_tables=True,
            include_formatting=True,  # without it lists and headings are lost
            favor_recall=True,
            with_metadata=False,
        )
    except (MemoryError, RecursionError):
        raise
    except Exception:  # of whatever kind: the other reader takes the page
        return ""
    body = getattr(found, "body", None)
    return "" if body is None else webpage.extract("".join(_as_html(body))).text


def _as_html(element: etree._Element) -> list[str]:
    """What trafilatura found, in tags that the other reader knows."""
    tag, rend = element.tag, element.get("rend") or ""
    if tag == "head":
        name = rend if re.fullmatch("h[1-6]", rend) else "h2"
    elif tag == "cell":
        name = "th" if element.get("role") == "head" else "td"
    elif tag == "list" and rend == "dl":
        name = "dl"
    elif tag == "item" and rend[:2] in ("dt", "dd"):
        name = rend[:2]
    else:
        name = _TAGS.get(str(tag), "span" if tag in ("hi", "ref", "code", "del") else "div")
    parts = [f"<{name}>", escape(element.text or "")]
    for inner in element:
        if isinstance(inner.tag, str):
            parts += _as_html(inner)
        parts.append(escape(inner.tail or ""))
    if name != "br":
        parts.append(f"</{name}>")
    return parts
