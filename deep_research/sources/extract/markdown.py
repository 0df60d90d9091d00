"""Markdown to readable text: marks that carry no words go, structure and words stay.

Every pattern is bounded, so that no input takes more than linear time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from deep_research.evidence.plain import chunks

_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*\n(.{0,20000}?)\n(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^([A-Za-z_][\w-]*)[ \t]*[:=][ \t]*(.*)$", re.MULTILINE)
_FENCE_OR_COMMENT = re.compile(r"^[ \t]*+(?P<fence>`{3,}|~{3,})[^\n`]*$|<!--", re.MULTILINE)
_FENCE = re.compile(r"(`{3,}|~{3,})[^\n`]*")

_CODE_SPAN = r"(?P<ticks>`{1,2})(?P<code>(?:[^`\n]|\n(?!\s*\n)){1,1000})(?P=ticks)"
_TARGET = r"\((?:[^()\n]|\([^()\n]{0,300}\)){0,2000}\)"
_LINKS = re.compile(
    rf"{_CODE_SPAN}"
    rf"|!\[[^\[\]]{{0,1000}}\](?:{_TARGET}|\[[^\[\]\n]{{0,200}}\])"  # image
    rf"|(?<![A-Za-z0-9_])\[(?P<text>[^\[\]]{{0,1000}})\]{_TARGET}"
    r"|(?<![A-Za-z0-9_])\[(?P<by_label>[^\[\]]{0,1000})\]\[(?P<label>[^\[\]\n]{0,200})\]"
    r"|(?<![A-Za-z0-9_\]])\[(?P<alone>[^\[\]\n^][^\[\]\n]{0,200})\](?![\[(:])"
    r"|\[\^[\w-]{1,60}\](?!:)"  # mark of a footnote
    r"|<(?P<auto>(?:https?://|mailto:)[^\s<>]{1,2000})>"
)
_DEFINITION = re.compile(r"^ {0,3}\[([^\[\]\n^][^\[\]\n]{0,200})\]:[ \t]*\S[^\n]*\n?", re.MULTILINE)
_NO_WORD_BEFORE = r"(?<![A-Za-z0-9_*/\\])"  # a star inside a word or path is no mark
_EMPHASIS = re.compile(
    rf"{_CODE_SPAN}"
    r"|\\(?P<escaped>[*_#\[\]`+!>|~-])"
    rf"|{_NO_WORD_BEFORE}\*\*\*?(?=[^\s*])"
    r"(?P<strong>(?:[^*\n]|\*(?!\*)|\n(?!\s*\n)){1,1000}?)(?<=[^\s/])\*\*\*?(?![A-Za-z0-9_*])"
    rf"|{_NO_WORD_BEFORE}\*(?=[^\s*])"
    r"(?P<stressed>(?:[^*\n]|\n(?!\s*\n)){1,1000})(?<=[^\s/])\*(?![A-Za-z0-9_*])"
    r"|(?<![\w/\\])_(?=[^\s_])(?P<lined>[^_\n]{1,1000}(?:\n(?!\s*\n)[^_\n]{1,200})?)(?<=\S)_(?!\w)"
    r"|(?<![\w/\\])__(?=[^\s_])(?P<twice>[^_\n]{0,500} [^_\n]{1,500})(?<=\S)__(?!\w)"  # a lone word: __init__
    r"|~~(?P<struck>[^~\n]{1,1000})~~"
)
_TAG = re.compile(
    r"</?(?:a|abbr|b|big|blockquote|br|center|cite|code|dd|del|details|div|dl|dt|em|figcaption|figure|font"
    r"|h[1-6]|hr|i|img|ins|kbd|li|mark|ol|p|picture|pre|q|s|samp|section|small|source|span|strike|strong|sub"
    r"|summary|sup|table|tbody|td|tfoot|th|thead|tr|tt|u|ul|var|video|audio|iframe|script|style|svg|template"
    r"|nav)(?:\s[^<>]{0,2000})?/?>",
    re.IGNORECASE,
)
_HIDDEN = re.compile(
    r"<(?P<name>(?:script|style|template|svg|iframe)(?![\w-])|(?!/)[a-z][a-z0-9]*(?=[^<>]{0,1000}?"
    r"(?:\shidden\b|aria-hidden\s*=\s*[\"']?true|display\s*:\s*none|visibility\s*:\s*hidden)))[^<>]{0,2000}>",
    re.IGNORECASE,
)

_ATX = re.compile(r"^ {0,3}(#{1,6})[ \t]+(\S[^\n]*)$", re.MULTILINE)
_ANCHOR = re.compile(r"\{[^{}\n]{1,100}\}\Z")
_SETEXT = re.compile(r"(?:(?<=\n\n)|\A)([^\s#>|`~*+-][^\n]{0,300})\n(=+|-{2,})[ \t]*(?=\n|\Z)")
_RULE = re.compile(r"^ {0,3}(?:(?:\*[ \t]*+){3,}+|(?:-[ \t]*+){3,}+|(?:_[ \t]*+){3,}+)$", re.MULTILINE)
_BULLET = re.compile(r"^([ \t]*)[*+](?=[ \t]+\S)", re.MULTILINE)
_QUOTE = re.compile(r"^ {0,3}(?:>[ \t]?)+", re.MULTILINE)
_TABLE_RULE = re.compile(
    r"^[ \t]*+\|?(?:[ \t]*+:?-++:?[ \t]*+\|)++[ \t]*+(?::?-++:?)?[ \t]*+$\n?", re.MULTILINE
)
_TABLE_ROW = re.compile(r"^[ \t]*\|([^\n]*)$", re.MULTILINE)
_ALERT = re.compile(r"^\[!(?:note|tip|important|warning|caution)\][ \t]*$\n?", re.MULTILINE | re.IGNORECASE)
# What opens a box around the indented lines below it (MkDocs), or one that a line of colons closes (Docusaurus).
_BOX = re.compile(
    r"(?P<indent> {0,12})(?:!!!|\?\?\?\+?)[ \t]+[\w-]{1,60}(?:[ \t]+[\w-]{1,60}){0,3}"
    r"(?:[ \t]+\"(?P<title>[^\"\n]{0,200})\")?[ \t]*"
)
_COLONS = re.compile(
    r" {0,3}:{3,}[ \t]*+(?:(?:[a-z-]{2,30}(?=[ \t\[{]|\Z)|\{[^{}\n]{1,60}\})[ \t]*+"
    r"(?:\[?(?P<title>[^\s\]][^\n\]]{0,199})\]?)?)?[ \t]*"
)
_LONGEST_MARK = 300  # characters of a line that opens or closes a box
_IN_BOX = 4  # spaces
_BLANK_LINES = re.compile(r"\n{3,}")


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """The fields (lower-case names) of the block that opens the text, and the text after it."""
    block = _FRONT_MATTER.match(text)
    if not block:
        return {}, text
    if not all(_is_field_line(line) for line in block.group(2).split("\n")):
        return {}, text
    fields = {name.lower(): value.strip().strip("\"'") for name, value in _FIELD.findall(block.group(2))}
    return (fields, text[block.end() :]) if fields else ({}, text)


def readable(text: str) -> str:
    """Clean Markdown without front matter, as text: headings with ``# ``, items with ``- ``, rows with `` |
    ``."""
    text = _unboxed(text)
    labels = {label.casefold() for label in _DEFINITION.findall(text)}
    pieces = [piece if is_code else _prose(piece, labels) for is_code, piece in _split_code(text)]
    return _BLANK_LINES.sub("\n\n", "".join(pieces)).strip()


def _unboxed(text: str) -> str:
    """Without the lines that draw a box around a note; its title stands by itself before what is in it."""
    if "!!!" not in text and "???" not in text and ":::" not in text:
        return text
    told: list[str] = []
    inside: list[int] = []  # how far in the lines of the open boxes stand
    fence = ""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        stripped = line.lstrip(" ")
        depth = len(line) - len(stripped)
        while inside and stripped and depth < inside[-1]:
            inside.pop()
        box = None if fence or len(line) > _LONGEST_MARK else _opens_box(lines, number)
        if box is not None:
            if "indent" in box.re.groupindex:
                inside.append(depth + _IN_BOX)
            told += ["", (box["title"] or "").strip(), ""]
            continue
        if fence:
            fence = "" if stripped.startswith(fence) and not stripped.strip(fence[0] + " \t") else fence
        elif opening := _FENCE.fullmatch(stripped):
            fence = opening[1]
        told.append(line[min(depth, _IN_BOX * len(inside)) :])
    return "\n".join(told)


def _opens_box(lines: list[str], number: int) -> re.Match[str] | None:
    """The mark that a line is: one of exclamation marks only where the next line stands farther in."""
    line = lines[number]
    if (box := _BOX.fullmatch(line)) is not None:
        following = next(filter(str.strip, lines[number + 1 : number + 4]), "")
        return box if following.startswith(" " * (len(box["indent"]) + _IN_BOX)) else None
    return _COLONS.fullmatch(line)


def _split_code(text: str) -> Iterator[tuple[bool, str]]:
    """``(is_code, piece)`` for the text in order, HTML comments left out."""
    here = kept = 0
    last_closing = text.rfind("-->")
    while opening := _FENCE_OR_COMMENT.search(text, here):
        fence = opening.group("fence")
        if fence:
            closing = re.compile(rf"^[ \t]*{re.escape(fence)}+[ \t]*$", re.MULTILINE).search(
                text, opening.end()
            )
            stop = closing.end() if closing else len(text)
        elif opening.end() > last_closing:  # a comment left open hides nothing: it is text
            here = opening.end()
            continue
        else:
            stop = text.find("-->", opening.end()) + 3
        yield False, text[kept : opening.start()]
        if fence:
            yield True, text[opening.start() : stop]
        here = kept = stop
    yield False, text[kept:]


def _prose(text: str, labels: set[str]) -> str:
    return "".join(_paragraphs(chunk, labels) for chunk in chunks(_without_hidden(text)))


def _paragraphs(text: str, labels: set[str]) -> str:
    text = _DEFINITION.sub("", text)
    text = _LINKS.sub(_linked(labels), text)
    text = _LINKS.sub(_linked(labels), text)  # a link around an image
    text = _TAG.sub(_untagged, text)
    text = _SETEXT.sub(lambda m: f"{'#' if m[2][0] == '=' else '##'} {m[1]}", text)
    text = _RULE.sub("", text)
    text = _TABLE_RULE.sub("", text)
    text = _BULLET.sub(r"\1-", text)
    text = _ALERT.sub("", _QUOTE.sub("", text))
    text = _EMPHASIS.sub(_plain, text)
    text = _TABLE_ROW.sub(_row, text)
    return _ATX.sub(_heading, text)


def _without_hidden(text: str) -> str:
    """Drops the elements that a browser would not show."""
    pieces: list[str] = []
    unclosed: set[str] = set()
    here = 0
    for opening in _HIDDEN.finditer(text):
        name = opening.group("name").lower()
        if opening.start() < here or name in unclosed:
            continue
        closing = re.compile(f"</{name}[^<>]{{0,100}}>", re.IGNORECASE).search(text, opening.end())
        if not closing:
            unclosed.add(name)
            continue
        pieces.append(text[here : opening.start()])
        here = closing.end()
    pieces.append(text[here:])
    return "".join(pieces)


def _linked(labels: set[str]) -> Callable[[re.Match[str]], str]:
    def replace(match: re.Match[str]) -> str:
        if match["code"] is not None:
            return match.group()
        if match["by_label"] is not None:
            known = (match["label"] or match["by_label"]).casefold() in labels
            return match["by_label"] if known else match.group()
        if match["alone"] is not None:
            return match["alone"] if match["alone"].casefold() in labels else match.group()
        return match["text"] or match["auto"] or ""

    return replace


def _untagged(match: re.Match[str]) -> str:
    return " " if match.group()[:3].lower() in ("<br", "<td", "<th", "</p", "<hr") else ""


def _plain(match: re.Match[str]) -> str:
    inner = match[match.lastgroup or 0]
    return inner if match.lastgroup in ("code", "escaped") else _EMPHASIS.sub(_plain, inner)


def _heading(match: re.Match[str]) -> str:
    title = _ANCHOR.sub("", match[2].rstrip()).rstrip()
    unclosed = title.rstrip("#")
    return f"{match[1]} {unclosed.rstrip() if unclosed[-1:].isspace() else title}"


def _row(match: re.Match[str]) -> str:
    return match[1].strip().removesuffix("|").strip()


def _is_field_line(line: str) -> bool:
    return not line.strip() or line[0] in " \t-#[]{}" or _FIELD.match(line) is not None
