"""What a document is called and who wrote it, by what its file says and by how its first page looks. Programs fill in
names of files, of machines and of themselves: no title, and the file's name stands there, or a right one. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deep_research.patterns import regex
from deep_research.sources.extract.pdf_blocks import Paragraph, is_prose

_NAMELESS = r"^\(?(?:anonymous|unspecified|none)\)?$"
_NOT_A_TITLE = regex(
    rf"{_NAMELESS}|untitled|microsoft word|powerpoint"
    r"|\.(?:doc[xm]?|dot[xm]?|indd|tex|pdf|qx[dp]|pptx?|dvi|exe|wpd|rtf|xlsx?|p65|ps|txt|html?)\b|^\W*$"
    r"|^(?:title|document\d*|slide \d+)$|https?://|^[^\s_]+_\S+$",
    re.IGNORECASE,
)
_PART = regex(  # what parts of any text are called
    r"(?:(?:chapter|kapitel|section|part|chapitre|cap[ií]tulo)\s+)?(?:[\divxlc]{1,5}\b)?[\s.:–—-]*"
    r"(?:introduction|abstract|summary|preface|foreword|(?:table of )?contents|einleitung|vorwort|inhalt(?:sverzeichnis)?"
    r"|sommaire|résumé|table des matières|introducción|[ií]ndice|resumen|introduzione)\W*",
    re.IGNORECASE,
)
_NOT_AN_AUTHOR = regex(
    rf"{_NAMELESS}|python-docx|^(?:user|admin\w*|author|unknown|owner|root|\W*)$|\\|@|https?://|\(0x",
    re.IGNORECASE,
)
_LOGIN = regex(r"[^\W\d_]+\d{2,}")
_LEAST, _MOST = 4, 300  # characters of a title
_LONGEST_LINE = 150
_TOP = 8  # paragraphs of a page, among which its title stands
_COLUMNS = regex(r"\S\s{3,}\S")


def sane_title(said: str) -> str:
    said = " ".join(said.split())
    if _NOT_A_TITLE.search(said) or _PART.fullmatch(said) or not _LEAST <= len(said) < _MOST:
        return ""
    return said


def sane_author(said: str) -> str:
    said = " ".join(said.split())
    is_login = " " not in said and (said[:1].islower() or _LOGIN.search(said))
    return "" if is_login or _NOT_AN_AUTHOR.search(said) else said


def title_of(paragraphs: Sequence[Paragraph], drawn: Sequence[str]) -> str:
    """The title on the first page of a text: the first of its highest headings, if it stands near the top, else the
    first line that is ``drawn`` there, if that may be one. What comes back there is a heading of its parts."""
    top = [each.text for each in paragraphs[:_TOP] if each.kind == "heading"]
    highest = min(top, key=lambda text: len(text) - len(text.lstrip("#")), default="")
    return sane_title(highest.lstrip("# ")) or _first(paragraphs, drawn)


def _first(paragraphs: Sequence[Paragraph], drawn: Sequence[str]) -> str:
    first = drawn[0] if drawn else ""
    is_row = _COLUMNS.search(first) is not None
    if len(first) > _LONGEST_LINE or is_row or drawn.count(first) > 1 or _begins_prose(first, paragraphs):
        return ""
    return sane_title(first)


def _begins_prose(line: str, paragraphs: Sequence[Paragraph]) -> bool:
    """Whether a line is sentences, or is broken off within one."""
    whole = next((each.text for each in paragraphs if each.text.startswith(line)), line)
    return is_prose(line) or (is_prose(whole) and whole[len(line) :].lstrip()[:1].islower())
