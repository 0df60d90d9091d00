"""The main content of a web page: what trafilatura takes for it, with the tables and the code that it loses put back.

Where trafilatura finds next to nothing, as on a page that is all lists or forms, all of the page is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from lxml import etree
from lxml.html import HtmlElement, tostring

from deep_research.patterns import regex
from deep_research.sources.extract import html_text

_LEAST = 0.1  # of the characters of the page
_TELLING = 16  # letters and digits of a line: two lines do not share as many by accident
_FENCES = ("```", "~~~")
_WORD = regex(r"\w+")
_TAGS = {
    "list": "ul",
    "item": "li",
    "row": "tr",
    "quote": "blockquote",
    "lb": "br",
    "table": "table",
}


def main_content(tree: HtmlElement) -> str:
    """The text of the main part of ``tree``, as headings, paragraphs, items, rows and pieces of code."""
    whole = html_text.extract(tostring(tree, encoding="unicode")).text
    found = _trafilatura(tree)
    if len(found) < _LEAST * len(whole):
        return whole
    return with_tables_and_code(found, whole)


def _trafilatura(tree: HtmlElement) -> str:
    import trafilatura

    try:
        found = trafilatura.bare_extraction(
            tree,
            include_comments=False,
            include_tables=True,
            include_formatting=True,  # without it lists and headings are lost
            with_metadata=False,
        )
    except (MemoryError, RecursionError):
        raise
    except Exception:  # of whatever kind: the page is read whole
        return ""
    body = getattr(found, "body", None)
    return "" if body is None else html_text.extract("".join(_html(body))).text


def _html(element: etree._Element) -> Iterator[str]:
    """What trafilatura found, in the tags of a web page."""
    tag, rend = element.tag, element.get("rend") or ""
    if tag == "head":
        name = rend if re.fullmatch("h[1-6]", rend) else "h2"
    elif tag == "cell":
        name = "th" if element.get("role") == "head" else "td"
    elif tag == "list" and rend == "dl":
        name = "dl"
    elif tag == "item" and rend[:2] in ("dt", "dd"):
        name = rend[:2]
    elif tag == "code" and "\n" in "".join(element.itertext()).strip():
        name = "pre"
    else:
        name = _TAGS.get(str(tag), "span" if tag in ("hi", "ref", "code", "del") else "div")
    yield f"<{name}>{escape(element.text or '')}"
    for inner in element:
        if isinstance(inner.tag, str):
            yield from _html(inner)
        yield escape(inner.tail or "")
    if name != "br":
        yield f"</{name}>"


def with_tables_and_code(found: str, whole: str) -> str:
    """``found`` with the tables and the pieces of code that stand between its first and last line in ``whole``: in the
    place of what it has of them, else behind the text that they follow."""
    blocks, every = blocks_of(found), blocks_of(whole)
    places = _places(blocks)
    keys = [list(map(_key, block.split("\n"))) for block in every]
    hits = [[places[key] for key in lines if key in places] for lines in keys]
    last = max((at for at, hit in enumerate(hits) if hit), default=-1)
    rest = [block.split("\n") for block in blocks]  # without the rows of tables that are put back
    behind: list[list[str]] = [[] for _ in blocks]
    here: int | None = None
    for at, (block, hit) in enumerate(zip(every[: last + 1], hits, strict=False)):
        if not _is_table_or_code(block):
            here = hit[-1] if hit else here
            continue
        lines = set(keys[at])
        own = [place for place in dict.fromkeys(hit) if _is_mostly(rest[place], lines)]
        for each in own:  # what stands there and is no row of it is its title
            rest[each] = [line.strip(" |") for line in rest[each] if _key(line) not in lines]
        place = own[0] if own else here
        if place is not None and (own or not hit):
            behind[place].append(block)
        here = place
    parts = (["\n".join(lines), *tables] for lines, tables in zip(rest, behind, strict=True))
    return "\n\n".join(part for pieces in parts for part in pieces if part)


def _places(blocks: list[str]) -> dict[str, int]:
    """Where the lines stand, by their words: those of tables and code, and others that are long enough to be known."""
    return {
        key: at
        for at, block in enumerate(blocks)
        for line in block.split("\n")
        if len(key := _key(line)) >= _TELLING or (key and _is_table_or_code(block))
    }


def _is_mostly(block: list[str], lines: set[str]) -> bool:
    """Whether what is left of a table or of a piece of code is of these lines; of a paragraph all of it."""
    keys = list(filter(None, map(_key, block)))
    share = sum(key in lines for key in keys)
    return len(keys) > 0 and (
        share == len(keys) or (2 * share >= len(keys) and _is_table_or_code("\n".join(block)))
    )


def blocks_of(text: str) -> list[str]:
    """The blocks of a text, each piece of code one of them."""
    blocks: list[str] = []
    fence = ""
    for part in text.split("\n\n"):
        if fence:
            blocks[-1] += f"\n\n{part}"
        else:
            blocks.append(part)
            fence = part[:3] if part.startswith(_FENCES) else ""
        if fence and part.endswith(f"\n{fence}"):
            fence = ""
    return blocks


def _is_table_or_code(block: str) -> bool:
    return block.startswith(_FENCES) or (" | " in block and "\n" in block)


def _key(line: str) -> str:
    return "".join(_WORD.findall(line.lower()))
