"""reStructuredText to readable text: titles become ``# `` headings, directives and roles shrink to their
words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial

from deep_research.evidence.plain import chunks
from deep_research.sources.extract.plaintext import words
from deep_research.sources.extract.rst_drawn import drawn
from deep_research.sources.extract.rst_tables import Table, directive, listed, separated, written

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1{2,}[ \t]*\Z")
_DIRECTIVE = re.compile(r"\.\.[ \t]+(?:\|[^|\n]{1,100}\|[ \t]+)?([A-Za-z][\w:+.-]{0,60})::[ \t]*([^\n]*)\Z")
_OPTION = re.compile(r":[\w-]{1,60}:(?:[ \t]|\Z)")
_HEAD_FIELD = re.compile(r"([A-Z][A-Za-z-]{1,30}):(?:[ \t]+(\S[^\n]*)|[ \t]*\Z)")
_HYPHENED_DAY = re.compile(r"\b(\d{1,2})-([A-Z][a-z]{2})-(\d{4})\b")
_LONGEST_HEAD = 8_000  # characters
_FEWEST_FIELDS = 3
_INFO_FIELD = re.compile(r"^:(\w[\w -]{0,40}):[ \t]+(\S[^\n]*)$", re.MULTILINE)

# Directives for programs, or that show what stands elsewhere. Of all others the body is for the reader,
_HIDDEN = words(
    "toctree contents sectnum section-numbering raw meta index image include literalinclude role default-role "
    "highlight highlightlang default-domain graphviz digraph graph uml mermaid plot inheritance-diagram "
    "tabularcolumns bibliography testsetup testcleanup replace unicode date target-notes nbgallery"
)
# and of these what stands beside their name as well.
_SHOWN = words(
    "admonition attention caution danger error hint important note tip warning seealso versionadded "
    "versionchanged deprecated topic sidebar epigraph highlights pull-quote rubric centered glossary "
    "list-table csv-table table container compound line-block parsed-literal function method class data "
    "attribute exception module py:function py:method py:class py:data py:attribute py:exception option "
    "envvar describe tab group-tab tab-item dropdown card grid-item-card versionremoved todo"
)
# What these say before their argument, a version, when they are shown.
_VERSIONS = {
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
    "versionremoved": "Removed in version",
}
_OBJECTS = words("class func meth mod attr exc data obj const any")  # roles that name what programs call
_SERIES = words("rfc pep cve cwe")  # roles that name a document by its number alone
_TERMS = words("function method class data attribute exception option envvar describe")
_TABLES = {"list-table": listed, "csv-table": separated}
_CODE = words(
    "code code-block sourcecode prompt console doctest testcode highlight-block literal code-tab code-cell ipython "
    "jupyter-execute math productionlist"
)
# Their argument is a sentence or a name worth reading; of the others it is a setting.
_SHOWN_ARGUMENT = _SHOWN - frozenset(("container", "compound", "module"))
_SUBSTITUTE = re.compile(
    r"^[ \t]*\.\.[ \t]+\|([^|\n]{1,100})\|[ \t]+replace::[ \t]+(\S[^\n]{0,99})$", re.MULTILINE
)

_INLINE = re.compile(
    r"``(?P<literal>[^`\n]{1,1000}(?:\n(?![ \t]*\n)[^`\n]{1,1000}){0,3})``"
    r"|(?P<of>(?::[\w.+-]{1,40}){1,2}):`(?P<role>[^`]{1,1000})`"
    r"|`(?P<link>[^`<\n]{0,500}(?:\n(?![ \t]*\n)[^`<\n]{1,500}){0,3})[ \t\n]?<[^<>`]{1,2000}>`__?"
    r"|`(?P<named>[^`\n]{1,500}(?:\n(?![ \t]*\n)[^`\n]{1,500}){0,3})`_{0,2}(?!\w)"
    r"|(?<![\w*\\])\*\*(?=\S)(?P<strong>[^*\n]{1,1000})(?<=\S)\*\*(?![\w*])"
    r"|(?<![\w*\\])\*(?=[^\s*])(?P<stressed>[^*\n]{1,1000})(?<=\S)\*(?![\w*])"
    r"|(?<=\s)\[(?:#?[\w-]{0,40}|\*)\]_(?!\w)"  # mark of a footnote
    r"|\b(?P<reference>[A-Za-z0-9][\w.-]{0,200}[A-Za-z0-9])__?(?![\w`])"
    r"|(?<![\w|])\|(?P<substitution>[^|\s](?:[^|\n]{0,100}[^|\s])?)\|_{0,2}(?!\w)"
)
_ROLE_TARGET = re.compile(r"\A(?P<shown>[^<]{1,1000}?)[ \t\n]*<[^<>]{1,1000}>\Z")
# What may be defined by the lines below it: no item, field, directive, comment, prompt, heading, row.
_TERM = re.compile(r"[ \t]*+(?![-*+•#>|:]|\.\. |\(?\w{1,3}[.)] )[^\n|]{1,120}\Z")
_DASH = re.compile(r"(?<=\d)--(?=\d)|(?<=\w )---?(?= \w)|(?<=\w)---(?=\w)")
_MAX_DEPTH = 20  # directives within directives; what is deeper is taken as it is
_FENCE = "\x01"  # stands for a fence until the rest is done; no clean text holds it
_BLANK_LINES = re.compile(r"\n{3,}")


def info_fields(text: str) -> dict[str, str]:
    """The ``:name: value`` fields near the top, with lower-case names."""
    return {name.lower(): value.strip() for name, value in _INFO_FIELD.findall(text[:4000])}


def head(text: str) -> dict[str, str]:
    """The fields (``Title: …``), with lower-case names, of a head as letters have it, with which Python's proposals
    begin. Empty, where a text does not begin with one."""
    fields: dict[str, str] = {}
    name = ""
    for line in text[:_LONGEST_HEAD].lstrip("\n").split("\n"):
        if not line.strip():
            break
        found = _HEAD_FIELD.match(line)
        if found:
            name = found[1].lower()
            fields[name] = (found[2] or "").strip()
        elif name and line[0].isspace():
            fields[name] = f"{fields[name]} {line.strip()}".strip()
        else:
            return {}
    if "title" not in fields or len(fields) < _FEWEST_FIELDS:
        return {}
    return {name: _HYPHENED_DAY.sub(r"\1 \2 \3", value) for name, value in fields.items()}


def readable(text: str) -> str:
    """Clean reStructuredText as text: headings with ``# `` by the order in which their marks appear."""
    pieces = "\n".join(_without_markup(text.expandtabs(8).split("\n"))).split(_FENCE)
    meant = {name: _inline(said, {}) for name, said in _SUBSTITUTE.findall(text)}
    levels: dict[tuple[str, bool], int] = {}
    for at in range(0, len(pieces), 2):  # every second piece is code and stays as it is
        lines = _with_terms(list(_titled(pieces[at].split("\n"), levels)))
        pieces[at] = _BLANK_LINES.sub("\n\n", _dashed(_inline("\n".join(lines), meant)))
    return _BLANK_LINES.sub("\n\n", "```".join(pieces)).strip()


def _with_terms(lines: list[str]) -> Iterator[str]:
    """The lines with what is defined (a line with deeper ones right below it) apart from what defines it."""
    at = 0
    while at < len(lines):
        line, end = lines[at], at + 1
        indent = _indent(line)
        begins = at == 0 or not lines[at - 1].strip() or _indent(lines[at - 1]) > indent
        while (
            line.strip()
            and begins
            and end < len(lines)
            and lines[end].strip()
            and _indent(lines[end]) > indent
        ):
            end += 1
        is_whole = line.count("`") % 2 == 0  # what stays open goes on in the next line
        if end > at + 1 and is_whole and _TERM.match(line):
            definition = " ".join(each.strip() for each in lines[at + 1 : end])
            yield from ("", line, "", f"{line[:indent]}- {definition}", "")
        else:
            yield from lines[at:end]
        at = end


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _dashed(text: str) -> str:
    """With the dashes that two and three hyphens stand for, where no program's option can be meant."""
    return _DASH.sub(lambda match: "–" if len(match[0]) == 2 else "—", text)


def _without_markup(lines: list[str], depth: int = 0) -> Iterator[str]:
    """The lines without comments, targets and the directives that show nothing."""
    at = 0
    while at < len(lines):
        line = lines[at]
        if depth < _MAX_DEPTH and (found := drawn(lines, at)):
            table, stop = found
            yield from _rows(table, depth) if table else lines[at:stop]
            at = stop
            continue
        body = line.strip()
        if not body.startswith("..") or (body != ".." and not body.startswith(".. ")):
            at += 1
            if body.endswith("::"):
                yield from (line.rstrip()[:-1] if body != "::" else "", "")
                stop = _end_of_block(lines, at, len(line) - len(line.lstrip()))
                yield from _fenced(lines[at:stop])
                at = stop
            else:
                yield line
            continue
        indent = len(line) - len(line.lstrip())
        stop = _end_of_block(lines, at + 1, indent)
        directive = _DIRECTIVE.match(body)
        footnote = re.match(r"\.\. \[[^\[\]]{1,60}\][ \t]+(\S.*)", body)
        if footnote:
            yield " " * indent + footnote.group(1)
            yield from lines[at + 1 : stop]
        elif directive:
            yield from _shown_directive(
                directive.group(1).lower(), directive.group(2), lines[at + 1 : stop], depth
            )
        at = stop  # a target or a comment, and all that stands under it


def _end_of_block(lines: list[str], at: int, indent: int) -> int:
    """Where the lines end that are indented deeper than ``indent`` (or blank)."""
    while at < len(lines):
        line = lines[at]
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            break
        at += 1
    return at


def _shown_directive(name: str, argument: str, body: list[str], depth: int) -> Iterator[str]:
    if name in _HIDDEN or name.startswith("auto"):
        return
    if name in _TABLES and depth < _MAX_DEPTH:
        given = directive(argument, body)
        if table := _TABLES[name](given):
            yield from ("", given.title)
            yield from _rows(table, depth)
            return
    options = next((at for at, line in enumerate(body) if not _OPTION.match(line.strip())), len(body))
    inner = _without_margin(body[options:])
    yield ""
    if name in _CODE:
        yield from _fenced([argument, *inner] if name == "math" else inner)
    else:
        if argument and name in _VERSIONS:
            version, _, said = (part.strip(",;: ") for part in argument.partition(" "))
            while inner and not said and not inner[0]:
                inner.pop(0)
            yield f"{_VERSIONS[name]} {version}{':' if said or any(inner) else '.'} {said}".rstrip()
        elif name == "seealso":
            yield f"See also: {argument}".rstrip()
        elif argument and name in _SHOWN_ARGUMENT:
            yield argument
        told = list(_without_markup(inner, depth + 1)) if depth < _MAX_DEPTH else inner
        yield from _described(told) if argument and name.removeprefix("py:") in _TERMS else told
    yield ""


def _described(lines: list[str]) -> Iterator[str]:
    """What stands under a term: its first paragraph as an item, by which a description is known."""
    first = next((at for at, line in enumerate(lines) if line.strip()), len(lines))
    end = next((at for at in range(first, len(lines)) if not lines[at].strip()), len(lines))
    paragraph = " ".join(line.strip() for line in lines[first:end])
    if paragraph and (paragraph[0].isalnum() or paragraph[0] in "`:\"'"):
        yield from ("", f"- {paragraph}", *lines[end:])
    else:  # a list, a table, code
        yield from lines


def _rows(table: Table, depth: int) -> Iterator[str]:
    """A table as rows, apart from what stands around it; code in a cell is words like others."""
    yield ""
    yield from written(
        table,
        lambda cell: (line.replace(_FENCE, "") for line in _without_markup(_without_margin(cell), depth + 1)),
    )
    yield ""


def _fenced(lines: list[str]) -> Iterator[str]:
    """Code without its margin, between two fences."""
    if code := "\n".join(_without_margin(lines)).strip("\n"):
        yield from ("", _FENCE, code, _FENCE, "")


def _without_margin(lines: list[str]) -> list[str]:
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [line[margin:].rstrip() for line in lines]


def _titled(lines: list[str], levels: dict[tuple[str, bool], int]) -> Iterator[str]:
    """Underlined and framed titles as ``# `` headings, other rows of marks left out. ``levels`` keeps the
    level of each kind of mark."""
    at = 0
    while at < len(lines):
        framed = _frame(lines, at)
        title = lines[at + 1] if framed else lines[at]
        if framed or _is_underlined(lines, at):
            mark = (lines[at] if framed else lines[at + 1]).strip()[0]
            level = levels.setdefault((mark, framed), min(len(levels) + 1, 6))
            yield from ("", f"{'#' * level} {title.strip()}", "")
            at += 3 if framed else 2
            continue
        if not (_ADORNMENT.match(lines[at]) and lines[at][0] not in "`~"):
            yield lines[at]
        at += 1


def _frame(lines: list[str], at: int) -> bool:
    return (
        at + 2 < len(lines)
        and _ADORNMENT.match(lines[at]) is not None
        and bool(lines[at + 1].strip())
        and lines[at + 2].strip() == lines[at].strip()
        and _ADORNMENT.match(lines[at + 1]) is None
    )


def _is_underlined(lines: list[str], at: int) -> bool:
    title = lines[at]
    if at + 1 >= len(lines) or not title.strip() or title[0].isspace() or _ADORNMENT.match(title):
        return False
    mark = _ADORNMENT.match(lines[at + 1])
    long_enough = len(lines[at + 1].strip()) * 2 >= len(title.strip())
    return mark is not None and long_enough and (at == 0 or not lines[at - 1].strip())


def _inline(text: str, meant: Mapping[str, str]) -> str:
    return "".join(_INLINE.sub(partial(_plain, meant), chunk) for chunk in chunks(text))


def _plain(meant: Mapping[str, str], match: re.Match[str]) -> str:
    words = match[match.lastgroup] if match.lastgroup else ""
    if match.lastgroup == "substitution":
        words = meant.get(words, words)
    elif match.lastgroup == "link":
        words = words.rstrip()
    elif match.lastgroup == "role":
        shown = _ROLE_TARGET.match(words)
        words = shown["shown"] if shown else words.removeprefix("!")
        if words.startswith("~"):
            words = words.rsplit(".", 1)[-1].lstrip("~")
        kind = match["of"].rpartition(":")[2]
        if kind in _OBJECTS:
            words = words.removeprefix(".")  # where to look for the name
        elif kind in _SERIES and words[:1].isdigit():
            words = f"{kind.upper()} {words}"
    return words
