"""What a document is called and who wrote it, by what its file says and by how its first page looks. Programs fill in
names of files, of machines and of themselves: no title, and the file's name stands there, or a right one. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from deep_research.sources.extract.paragraphs import is_row, joined
from deep_research.sources.extract.typeset import Line, usual_size

_NAMELESS = r"^\(?(?:anonymous|unspecified|none)\)?$"
_NOT_A_TITLE = re.compile(
    rf"{_NAMELESS}|untitled|microsoft word|powerpoint"
    r"|\.(?:doc[xm]?|dot[xm]?|indd|tex|pdf|qx[dp]|pptx?|dvi|exe|wpd|rtf|xlsx?|p65|ps|txt|html?)\b|^\W*$"
    r"|^(?:title|document\d*|slide \d+)$|https?://|^[^\s_]+_\S+$",
    re.IGNORECASE,
)
_PART = re.compile(  # what parts of any text are called
    r"(?:(?:chapter|kapitel|section|part|chapitre|cap[ií]tulo)\s+)?(?:[\divxlc]{1,5}\b)?[\s.:–—-]*"
    r"(?:introduction|abstract|summary|preface|foreword|(?:table of )?contents|einleitung|vorwort|inhalt(?:sverzeichnis)?"
    r"|sommaire|résumé|table des matières|introducción|[ií]ndice|resumen|introduzione)\W*",
    re.IGNORECASE,
)
_NOT_AN_AUTHOR = re.compile(
    rf"{_NAMELESS}|python-docx|^(?:user|admin\w*|author|unknown|owner|root|\W*)$|\\|@|https?://|\(0x",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"[^\W\d_]+\d{2,}")
_LEAST, _MOST = 4, 300  # characters of a title
_LONGEST_LINE = 150
_TOP = 8  # lines of a page, among which its title stands
_LARGER = 1.15  # times the size of the text
_STEP = 1.8  # times its size, from one line of a title to the next


def sane_title(said: str) -> str:
    said = " ".join(said.split())
    if _NOT_A_TITLE.search(said) or _PART.fullmatch(said) or not _LEAST <= len(said) < _MOST:
        return ""
    return said


def sane_author(said: str) -> str:
    said = " ".join(said.split())
    is_login = " " not in said and (said[:1].islower() or _LOGIN.search(said))
    return "" if is_login or _NOT_AN_AUTHOR.search(said) else said


def title_of(pages: Sequence[Sequence[Line]], usual: float, sizes_tell: bool, text: str) -> str:
    """The title on the first page of a ``text`` that is mostly set in the ``usual`` size: what stands there in the
    largest type, else the first line, if that may be one. Behind a cover that cannot be read it is only what stands in
    larger type than all of the text: other pages begin with a heading too, or in the midst of the text."""
    told = [[line for line in page if line.text.strip()] for page in pages]
    if told and told[0]:
        return sane_title(_said(_largest(told[0], usual))) or _first(told[0], text)
    title = _largest(next(filter(None, told), []), usual) if sizes_tell else []
    as_large = sum(line.size >= title[0].size for page in told for line in page) if title else 0
    return sane_title(_said(title)) if as_large == len(title) else ""


def _said(title: Sequence[Line]) -> str:
    said = ""
    for line in title:
        said = joined(said, line.text.strip()) if said else line.text.strip()
    return said if sum(map(str.isalpha, said)) >= _LEAST else ""


def _largest(lines: Sequence[Line], usual: float) -> list[Line]:
    """The lines at the head of a page that are set in its largest type."""
    top = sorted(lines, key=lambda line: -line.base)[:_TOP]
    largest = max(top, key=lambda line: line.size, default=Line(""))
    if not usual or largest.size < _LARGER * usual:
        return []
    title = [largest]
    for above, line in pairwise(top[top.index(largest) :]):
        if line.size != largest.size or above.base - line.base > _STEP * line.size:
            break
        title.append(line)
    return title


def _first(lines: Sequence[Line], text: str) -> str:
    first = text.lstrip().partition("\n")[0].strip("# ")
    if not lines or len(first) > _LONGEST_LINE or is_row(first):
        return ""
    is_small = lines[0].size < usual_size(lines)  # as what runs over all pages is
    comes_back = f"\n{first}\n" in text
    return "" if is_small or comes_back or lines[0].cells else sane_title(first)
