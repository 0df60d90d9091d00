"""The main content of a web page: trafilatura tells where it is, our own reader writes what stands there.

Trafilatura's text alone lacks tables and code, and of some pages a paragraph in two. Where it finds next to nothing, as
on a page that is all lists or forms, all of the page is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy

from lxml.html import HtmlElement, tostring

from deep_research.patterns import regex
from deep_research.sources.extract import html_text

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
