"""Title and author of a document, from the fields of its file and the look of its first page. Programs fill in names
of files, of machines and of themselves: no title, and the file's name stands there, or a right one. Pure."""

from __future__ import annotations

import html
import re
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from deep_research.patterns import regex
from deep_research.sources.extract.pdf_blocks import Paragraph
from deep_research.text.sentences import is_prose

_FILE = Path(__file__).with_name("titling.toml")
_ENTRY = (
    "<(?:dc:{name})\\b[^>]{{0,200}}>(.{{0,4000}}?)</dc:{name}>"  # of the packet of metadata of a PDF (XMP)
)
_TAG = regex(r"<[^<>]{0,400}>")
_LOGIN = regex(r"(?<![^\W\d_])[^\W\d_]++\d{2,}")
_MIN_TITLE_CHARS, _MAX_TITLE_CHARS = 4, 300  # characters of a title
_MAX_LINE_CHARS = 150
_MAX_TOP_PARAGRAPHS = 8  # paragraphs of a page, among which its title stands
_COLUMNS = regex(r"\S\s{3,}\S")


@cache
def _none(what: str) -> re.Pattern[str]:
    return regex("|".join(tomllib.loads(_FILE.read_text(encoding="utf-8"))[what]), re.IGNORECASE)


def xmp_entry(xmp: str, name: str) -> str:
    entry = re.search(_ENTRY.format(name=name), xmp, re.DOTALL)
    values = (_TAG.sub("", value) for value in entry[1].split("</rdf:li>")) if entry else ()
    return "; ".join(html.unescape(" ".join(value.split())) for value in values if value.strip())


def sane_title(title: str) -> str:
    title = " ".join(title.split())
    is_none = (
        any(_none(what).search(title) for what in ("no_title", "part"))
        or not _MIN_TITLE_CHARS <= len(title) < _MAX_TITLE_CHARS
    )
    return "" if is_none else title


def sane_author(author: str) -> str:
    author = " ".join(author.split())
    is_login = " " not in author and (author[:1].islower() or _LOGIN.search(author))
    return "" if is_login or _none("no_author").search(author) else author


def title_of(paragraphs: Sequence[Paragraph], lines: Sequence[str]) -> str:
    """The title on the first page of a text: the first of its highest headings, if it stands near the top, else the
    first of the ``lines`` drawn there, if that may be one. What comes back there is a heading of its parts."""
    top = [each.text for each in paragraphs[:_MAX_TOP_PARAGRAPHS] if each.kind == "heading"]
    highest = min(top, key=lambda text: len(text) - len(text.lstrip("#")), default="")
    return sane_title(highest.lstrip("# ")) or _first(paragraphs, lines)


def _first(paragraphs: Sequence[Paragraph], lines: Sequence[str]) -> str:
    first = lines[0] if lines else ""
    whole = next((each.text for each in paragraphs if each.text.startswith(first)), first)
    is_broken = is_prose(whole) and whole[len(first) :].lstrip()[:1].islower()
    is_row = _COLUMNS.search(first) is not None
    is_text = is_row or is_broken or is_prose(first) or lines.count(first) > 1
    return "" if is_text or len(first) > _MAX_LINE_CHARS else sane_title(first)
