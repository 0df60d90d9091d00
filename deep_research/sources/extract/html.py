"""A web page as a document: hidden things out, its tables with a cell for every column, then its main content.

A page of a shape that trees cannot hold goes straight to the plain reader, which takes linear time whatever the input.
A small file of a folder has no site around it and is read whole: what tells the main part takes long to load.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from html import unescape

from lxml import etree
from lxml.html import HtmlElement, HTMLParser, document_fromstring, tostring

from deep_research.patterns import regex
from deep_research.provenance.page_requests import request
from deep_research.sources.extract import asides, html_tables, html_text, metadata
from deep_research.sources.extract.document import Document, finished
from deep_research.sources.extract.formats import ExtractionRequest
from deep_research.sources.extract.hiding import drop_hidden
from deep_research.sources.extract.page_signs import tell_formulas, tell_laid_out, tell_ticks
from deep_research.sources.extract.plaintext import UnreadableError, decode_page, resolve_tags
from deep_research.text.plain import clean

MAX_RAW = 10_000_000  # bytes, with scripts, styles and images
MAX_PAGE = 2_000_000  # characters without them
_SMALL_BYTES = 4_000  # bytes of a file that is read whole
_MAX_ELEMENTS = 40_000  # more cost trafilatura seconds
_PAGE_TITLE = regex(r"<title[^<>]{0,100}>([^<]{1,500})", re.IGNORECASE)
_DECLARATION = regex(r"\A\s*<\?xml[^>]{0,300}>")
_NOTE = regex(r"\[(?:\d{1,3}|[a-z]|note \d+|citation n.*)\]?")
_MARK_CHARS = 40  # characters of it that are looked at
_MAX_SIGN_CHARS = 5  # characters of a note's number or star
_SHORT_CHARS = 700  # characters; a longer text is worth reading, whatever else the page says
_TAG = regex(r"<[^<>]{0,2000}>")
_APP = regex(r"\bid\s{0,3}=\s{0,3}[\"']?(?:root|app|__next|__nuxt|react-root)\b", re.IGNORECASE)
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
# Scripts and comments that are never closed go on to the end, as browsers have it.
_PADDING = regex(
    r"<!--.*?(?:-->|\Z)|<(script|style)(?=[\s>/]).*?(?:</\1[^>]{0,100}>|\Z)"
    r"|<(svg|template)(?=[\s>/])[^<]*+(?:<(?!/?\2\b)[^<]*+)*+</\2[^>]{0,100}>",
    re.IGNORECASE | re.DOTALL,
)
_PICTURE = regex(r"data:[\w/+.;=-]{1,80},[A-Za-z0-9+/=%_.~-]+")
_DRAWING = regex(r"<svg[^<>]{0,400}>", re.IGNORECASE)
_METADATA = regex(r"<script[^>]{0,400}ld\+json", re.IGNORECASE)
_MAX_METADATA_CHARS = 200_000
_MIN_MAIN_SHARE = 0.1  # of the characters of the page
_MOSTLY_SHARE = 0.5  # of a block, or of what trafilatura found
_RUN_WORDS = 4  # words in a row: two texts do not share as many by accident
_PROSE_WORDS = 8  # words of a sentence that is no label
_FENCES = ("```", "~~~")
_BLOCK = regex(r"(```|~~~).*?(?:\n\1(?=\n\n|\Z)|\Z)|[^\n].*?(?=\n\n|\Z)", re.DOTALL)
_WORD = regex(r"\w+")
_ENDED = regex(r"[.:!?…][\"'”’)]*\s*\Z")
_INLINE = ("code", "kbd", "samp", "tt", "var")
_DEFINITIONS = ("dl", "dt", "dd")


def read(raw: bytes, asked: ExtractionRequest) -> Document:
    """Raises `UnreadableError`."""
    if len(raw) > MAX_RAW:
        raise UnreadableError(f"a page of more than {MAX_RAW:,} bytes", limit="size")
    stray = 0 < raw.count(b"\0") * 10 < len(raw)  # some come from careless programs
    raw_page = raw.replace(b"\0", b"") if stray else raw
    page = resolve_tags(unpadded(_DECLARATION.sub("", decode_page(raw_page, asked.charset))))
    if len(page) > MAX_PAGE:
        raise UnreadableError(
            f"a page of more than {MAX_PAGE:,} characters without its scripts", limit="size"
        )
    tree = _tree(page)
    if tree is None:
        title_match = _PAGE_TITLE.search(page)
        title, text, about = (
            unescape(title_match[1]) if title_match else "",
            html_text.extract(page),
            metadata.About(),
        )
    else:
        title, text, about = _from_tree(tree, is_small=asked.is_file and len(raw) <= _SMALL_BYTES)
    text = clean(text).strip()
    if not asked.is_file:
        check_readable(text, page)
    return finished(
        raw,
        asked.name,
        title=title or about.title,
        text=text,
        published=about.published,
        author=about.author,
        manual=metadata.folder_of(page),
        max_text_bytes=asked.max_text_bytes,
    )


def read_chapter(raw: bytes) -> tuple[str, str]:
    """The first heading and the text of a page that stands in a book or a letter, with no site around it: what others put
    above and below their pages is its own. Raises `UnreadableError`."""
    page = resolve_tags(unpadded(_DECLARATION.sub("", decode_page(raw))))
    tree = _tree(page) if len(page) <= MAX_PAGE else None
    if tree is None:
        return "", html_text.extract(page)
    for element in tree.iter("header", "footer", "aside"):
        element.tag = "blockquote" if element.tag == "aside" else "div"
    _, text, _ = _from_tree(tree, is_small=True)
    return metadata.text_of(metadata.heading(tree, [])), text


def read_made(page: str) -> str:
    """The text of a page that another reader made of its own markup, in which nothing is hidden and all is content."""
    tree = _tree(page)
    if tree is None:
        return html_text.extract(page)
    html_tables.level(tree)
    return whole(tree)


def check_readable(text: str, page: str) -> None:
    """``text`` is what was found of ``page``. Raises `UnreadableError` when it is none of what the page is for: what it
    asks instead is told, so that nobody takes it for a source."""
    if len(text) >= _SHORT_CHARS:
        return
    what = request(text.splitlines(), _TAG.sub("\n", page[:300_000]).splitlines())
    if not what and not any(map(str.isalnum, text)) and _APP.search(page):
        what = "it is built by scripts"
    if what:
        raise UnreadableError(f"no readable text; {what}")


def _tree(page: str) -> HtmlElement | None:
    """The page as a tree; None when it is too large or too deep for one."""
    if page.count("<") > 2 * _MAX_ELEMENTS:
        return None
    parser = HTMLParser(remove_comments=True, remove_pis=True, recover=True)
    try:
        tree = document_fromstring(page, parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        return None
    if any("depth" in entry.message for entry in parser.error_log):
        return None
    return tree


def _from_tree(tree: HtmlElement, *, is_small: bool) -> tuple[str, str, metadata.About]:
    asides.unfold(tree)
    tell_formulas(tree)
    tell_ticks(tree)
    drop_hidden(tree, keeps_main_text=not is_small)
    is_laid_out = tell_laid_out(tree)
    about = metadata.about(tree, is_searched=not is_small)
    head = metadata.title_of_head(tree)
    heading = metadata.text_of(metadata.heading(tree, [about.title, head]))
    asides.keep_notes(tree)
    _drop_marks(tree)
    _drop_empty(tree)
    html_tables.level(tree)
    text = whole(tree) if is_laid_out or is_small else main_content(tree)
    if heading and text and heading not in text[: len(heading) + 1000]:
        text = f"# {heading}\n\n{text}"
    return metadata.title(head, about.title, about.site, heading), text, about


def _drop_empty(tree: HtmlElement) -> None:
    """Takes out what only makes room within an item: a boundary there would break it."""
    for room in tree.xpath(".//li//div[not(normalize-space()) and not(.//img or .//svg or .//input)]"):
        if room.getparent() is not None:
            room.drop_tree()


def _drop_marks(tree: HtmlElement) -> None:
    """Takes out the numbers that refer to notes, and of headings and terms what only links to them or is pressed."""
    for mark in list(tree.iter("sup", "a")):
        text = mark.text_content()[:_MARK_CHARS].strip()
        is_short = len(text) <= _MAX_SIGN_CHARS
        link = mark if mark.tag == "a" else mark.find(".//a")
        if link is None or mark.getparent() is None:
            continue
        if (is_short and _is_reference(link)) or (mark.tag == "sup" and _NOTE.match(text)):
            mark.drop_tree()
    for heading in tree.iter("dt", *_HEADINGS):
        words = len(whole := heading.text_content().strip(" \t\n¶#"))
        for mark in [*heading.xpath(".//a[starts-with(@href, '#')]"), *heading.find_class("mw-editsection")]:
            label = mark.text_content().strip()
            is_mark = not any(map(str.isalnum, label)) or (whole.endswith(label) and 2 * len(label) < words)
            if is_mark and mark.getparent() is not None:
                mark.drop_tree()
        for button in heading.iter("button"):
            if len(button.text_content().strip()) == words:  # it unfolds what it names
                button.tag = "span"


def _is_reference(link: HtmlElement) -> bool:
    """Whether a link leads to a note of the same page or back from it: it says so, or is raised."""
    roles = f"{link.get('role') or ''} {link.get('epub:type') or ''}"
    is_raised = link.find("sup") is not None or next(link.iterancestors("sup"), None) is not None
    return (
        "noteref" in roles or "backlink" in roles or (is_raised and (link.get("href") or "").startswith("#"))
    )


def unpadded(page: str) -> str:
    """A page without what takes room in it and says nothing."""

    def replacement(match: re.Match[str]) -> str:
        if _METADATA.match(match[0]) and len(match[0]) <= _MAX_METADATA_CHARS:
            return match[0]
        drawing = _DRAWING.match(match[0])  # its name may say yes or no in a table
        return f"{drawing[0]}</svg>" if drawing else ""

    return _PICTURE.sub("", _PADDING.sub(replacement, page))


def main_content(tree: HtmlElement) -> str:
    """The text of the main part of ``tree``, as headings, paragraphs, items, rows and pieces of code."""
    every = html_text.extract(tostring(tree, encoding="unicode"), marks_kept=True)
    main = _trafilatura(deepcopy(tree))
    text = every if len(main) < _MIN_MAIN_SHARE * len(every) else between(main, every)
    return text.replace(html_text.KEPT, "")


def whole(tree: HtmlElement) -> str:
    """All that ``tree`` shows, but for menus and forms."""
    return html_text.extract(tostring(tree, encoding="unicode"))


def between(main: str, whole: str) -> str:
    """What ``whole`` says from the first to the last block that ``main`` has: its headings, prose, tables, code and what
    is marked as `html_text.KEPT`, and of the rest what ``main`` has too. Of two texts that have little in common
    ``main``."""
    known_runs = {*_runs(main), *(run for line in main.split("\n") for run in _runs(line))}
    blocks = blocks_of(whole)
    hits = [_is_hit(block, known_runs) for block in blocks]
    sure = [
        n
        for n, block in enumerate(blocks)
        if hits[n] and (_is_laid_out(block) or len(_words(block)) >= _RUN_WORDS)
    ]
    if len(known_runs.intersection(_runs(whole))) < _MOSTLY_SHARE * len(known_runs) or not sure:
        return main
    first, last = sure[0], sure[-1]
    while blocks[last + 1 : last + 2] and html_text.KEPT in blocks[last + 1]:
        last += 1
    if first and blocks[first - 1].startswith(html_text.KEPT) and _is_laid_out(blocks[first]):
        first -= 1  # what the table is called
    title = [blocks[place] for place in range(first) if hits[place] and blocks[place].startswith("#")][-1:]
    content_blocks = (blocks[n] for n in range(first, last + 1) if hits[n] or _is_content(blocks[n]))
    return "\n\n".join((*title, *content_blocks))


def _trafilatura(tree: HtmlElement) -> str:
    import trafilatura

    for element in tree.iter(*_INLINE):
        if "\n" not in element.text_content().strip():
            element.tag = "span"  # behind code in a line it loses the rest of it
    for element in list(tree.iter(*_DEFINITIONS)):  # of which it loses every other
        parent = element.getparent()
        is_summary = element.tag == "dt" and parent is not None and parent.tag == "details"
        element.tag = "summary" if is_summary else "p" if element.tag == "dt" else "div"
    try:
        content = trafilatura.extract(
            tree,
            output_format="html",
            include_comments=False,
            include_tables=True,
            include_formatting=True,  # without it lists and headings are lost
        )
    except (MemoryError, RecursionError):
        raise
    except Exception:  # of whatever kind: the page is read whole
        return ""
    return html_text.extract(content or "")


def blocks_of(text: str) -> list[str]:
    """The blocks of a text, each piece of code one of them."""
    return [match[0] for match in _BLOCK.finditer(text)]


def _is_hit(block: str, known_runs: set[tuple[str, ...]]) -> bool:
    """Whether half of a block, or of its lines, stands in a text that has the ``known_runs`` of words."""
    lines = [run for line in block.split("\n") for run in _runs(line)]
    return any(
        0 < len(runs) <= sum(run in known_runs for run in runs) / _MOSTLY_SHARE
        for runs in (list(_runs(block)), lines)
    )


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    """The runs of words of a text; of one of fewer words these."""
    words = _words(text)
    if words:
        yield from (tuple(words[n : n + _RUN_WORDS]) for n in range(max(1, len(words) - _RUN_WORDS + 1)))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _is_content(block: str) -> bool:
    """Whether a block is a heading, a table, code, prose, or kept in any case."""
    if block.startswith("#") or _is_laid_out(block) or html_text.KEPT in block:
        return True
    return len(block.split()) >= _PROSE_WORDS and _ENDED.search(block) is not None


def _is_laid_out(block: str) -> bool:
    """Whether a block is a table or a piece of code."""
    return block.startswith(_FENCES) or (" | " in block and "\n" in block)
