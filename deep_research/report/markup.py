"""Outside text inside Markdown, so that no renderer makes more of it than text and links to sources.

Renderers differ in what they escape, where code begins and which addresses become links without being asked; some look
for addresses and formulas in the page that was rendered, some before. What is used here holds in all of them: an entity
for ``<`` and inside ``//`` is text, a backslash before a brace or a dot escapes it, code is kept only in the forms that
all read alike, and what begins an address or a command of TeX stands in code of its own, apart from what follows it.
Every function takes time linear in its text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Set
from functools import lru_cache
from html import unescape
from urllib.parse import quote

from deep_research.patterns import regex

# What ends a line for some programs alone, and what some renderers remove or use as marks of their own.
_BREAK = regex(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_CONTROL = regex(r"[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")

_FENCE = regex(r"(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[\w+-]{0,20})[^`~]*")
_FENCES = ("```", "~~~")
# Names of languages of which some renderers make a formula, a drawing or a map, not code.
_DRAWN = frozenset(
    {
        "math",
        "latex",
        "tex",
        "katex",
        "mermaid",
        "geojson",
        "topojson",
        "stl",
        "dot",
        "graphviz",
        "plantuml",
        "vega",
    }
)
_MARK = regex(r"\{\{#|\b(?:find|src)-[0-9a-f]{12}\b")  # stands for a file, or looks like a reference
# What acts in code where a renderer knows no fences: HTML, links, images, addresses of mail also over two lines.
_ACTS = regex(r"<[A-Za-z/!?]|\]\(|!\[|<[^<> !@]*+@")
# Code, or what begins or ends a formula.
_CODE_OR_SIGN = regex(r"(?P<code>(?<!`)(?P<ticks>`{1,2})(?!`)[^`\n]++(?P=ticks)(?!`))|\$|\\[()]")
_PARAGRAPHS = regex(r"(\n[ \t]*\n)")
_COMMAND = regex(r"\\(?=[A-Za-z])")
_OPEN_LABEL = regex(r"^[^\w\n[]*+(?:\d+[.)][^\w\n[]*+)*+\[", re.MULTILINE)  # also of an item or a quote
# Where a block of code begins and ends.
_BEGINS_ANY, _ENDS_ANY = regex(r"^[ \t]*+```[^\n]*\n", re.MULTILINE), regex(r"^[ \t]*+```$", re.MULTILINE)
# Code inside a line: no other backticks near, no bar that could end a cell of a table, nothing that could end a deletion.
_CODE = regex(r"(?<![\\`])(`{1,2})(?!`)((?:[^`|~\n]|~(?!~))++)\1(?!`)")

_ENTITY = regex(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
# What may be an entity in an address, where some ask for no semicolon.
_REFERENCE = regex(r"&(?=#)|&([A-Za-z])(?=[A-Za-z0-9]*+(?!=))")
# Bounded, so that a row of open brackets is not read to its end from each of them.
_IMAGE = regex(r"!\[([^\[\]\n]{0,500}+)\]\([^)\n]{0,2500}+\)")
_REST = r"(?:[^\s()<>\0]|\([^\s()<>\0]{0,200}+\)){0,2000}+"  # of an address, with its own brackets
_LINK = regex(rf"(?<![\\!])\[([^\[\]\n]{{0,500}}+)\]\(\s{{0,8}}<?({_REST})>?[^)\n]{{0,500}}+\)")
_AUTOLINK = regex(r"(?<!\\)<((?:https?|mailto|ftp):[^<>\s]*+)>", re.IGNORECASE)
_BARE = regex(rf"(?<![\w\\])https?://{_REST}", re.IGNORECASE)
_DEFINITION = regex(r"^[ ]{0,3}\[[^\]\n]+\]:.*$", re.MULTILINE)
_LINKABLE = regex(r"https?://[^/\\\s<>()\[\]][^\\\0-\x1f]*\Z", re.IGNORECASE)
# What stands around an @ that makes it an address: neither a backslash nor an entity helps there.
_WORD = regex(r"[^\s\0`*~\[\](){}<>|\"']+")
_AT = regex(r"[^@]@+[^@]")
_END = ".,;:!?_\\"

# Before a character that no backslash escapes: their number is even.
_UNESCAPED = r"(?<!\\)((?:\\\\)*)"
_TAG = regex(r"<(?![\s\d=<-])")
_MAIL = regex(r"<[^ >]*+")
_BRACE = regex(rf"{_UNESCAPED}(\{{)")
_HARMLESS = regex(r"(?<=[a-zA-Z0-9}])\{|\\(?=[A-Za-z])")  # in a block of code, wherever it stands
_TARGET = regex(r"\]\(")
_BACKTICK = regex(rf"{_UNESCAPED}\\?`")  # some take an escaped one for the beginning of code
_BEFORE_KEPT = regex(r"!(?=[\0`])|(?<!\\)\\++(?=\0)")
_LABEL = regex(r"\]:")
# What no renderer takes for the definition of a link: numbers of ours, behind a word, in a line that opens with no label.
_NUMBERS = regex(r"(?P<ours>(?<=\w) \[\d{1,4}(?:, \d{1,4}){0,40}+\]:)|\]:")
# What begins a command of TeX, or an address for renderers that look for one after escapes and entities are gone.
_BEGINS = regex(
    r"(?<!\\)(?:\\*+(?<![^\W_])(?:https?(?=\\*+:\\*+/\\*+/\\*+\S)|www(?=\\*+(?:\.|\Z)))|\\++(?=[A-Za-z]))",
    re.IGNORECASE,
)
_MODULE = regex(r"^(?:i(?=mport\b)|e(?=xport\b))", re.MULTILINE)  # begins a line of a script in MDX
_SLASHES = regex(r"(?<![`\0]:)(?<!/)/(/++)(?=\S)")
_TILDES = regex(r"~(?=~~)")
# Some renderers guess that a name with such an end is that of a host; the first few are ends of files, too.
_FILE_END = r"(?:md|py|rs|sh|pl)"
_HOST_END = (
    r"(?:biz|com|edu|gov|net|org|pro|web|xxx|aero|asia|coop|info|museum|name|shop|рф|xn--[a-z0-9-]+|a[cdefgilmnoqrstuwxz]"
    r"|b[abdefghijmnorstvwyz]|c[acdfghiklmnoruvwxyz]|d[ejkmoz]|e[cegrstu]|f[ijkmor]|g[abdefghilmnpqrstuwy]|h[kmnrtu]"
    r"|i[delmnoqrst]|j[emop]|k[eghimnprwyz]|l[abcikrstuvy]|m[acdeghklmnopqrstuvwxyz]|n[acefgilopruz]|om"
    r"|p[aefghklmnrstwy]|qa|r[eosuw]|s[abcdeghijklmnortuvxyz]|t[cdfghjklmnortvwz]|u[agksyz]|v[aceginu]|w[fs]|y[et]"
    r"|z[amw])(?![^\W_])"
)
_HOST = regex(
    rf"(?<![\w.\\-])[\w-]{{1,200}}\.{_FILE_END}(?![^\W_]|[/:?#@-]|\.\w)|(?<=[^\s\\])(?P<even>(?:\\\\)*)\.(?={_HOST_END})",
    re.IGNORECASE,
)
_FILE_DOT = regex(rf"(?<=[\w)-])\.(?={_FILE_END}(?![^\W_]))", re.IGNORECASE)
_BRACKET = regex(rf"{_UNESCAPED}([\[\]])")
_OPENING = regex(r"^(\d{0,9})(?=#{1,6}\s|[-+*]\s|>|(?<=\d)[.)]\s)")
_SET_ASIDE = "\0"
_KEPT = regex(r"\0(\d+)\0")
# What was written so that no renderer makes more of it than a character; code, and what breaks an address, is none.
_WRITTEN = regex(
    r"`(?P<backslashes>\\++)`(?=[A-Za-z])"
    r"|(?<!`)(?P<ticks>`{1,2})(?!`)[^`\n]++(?P=ticks)(?!`)"
    r"|\\(?P<sign>[!-.:-@\[-`{-~])|(?P<entity>&(?:amp|lt|#(?!47;)\d{1,3});)"
)


@lru_cache(maxsize=4096)  # each iteration's report names the sources of all before it
def escaped(text: str) -> str:
    """Outside text for use inside Markdown: one line, no links, no HTML, no heading or list of its own. What was made
    safe here `safe` leaves as it is."""
    kept = _Kept()
    line = kept.code(" ".join(_CONTROL.sub("", text).split()))
    line = _BRACKET.sub(r"\1\\\2", _inert(kept.mail(line)))
    return without_formulas(kept.restored(_OPENING.sub(r"\1\\", line)))


def file_name(path: str) -> str:
    r"""A path for use inside Markdown, of which nobody makes an address: `.md` and `.py` are ends of hosts, too.

    Example:
        file_name("guide/keepers.md")  # "guide/keepers\.md"
    """
    return _FILE_DOT.sub(r"\\.", escaped(path))


def is_code(text: str) -> bool:
    """Whether a text is a fenced piece of code, and not words: its first line is a fence, no other but the last has one,
    and nothing in it is what a renderer or a report would take for a mark of its own."""
    first, *lines = text.split("\n")
    within = "\n".join(lines[:-1] if lines and lines[-1].strip().startswith(_FENCES) else lines)
    return (
        bool(within.strip())
        and _FENCE.fullmatch(first) is not None
        and not any(fence in within for fence in _FENCES)
        and not (_BREAK.search(text) or _MARK.search(text))
    )


def code_block(text: str) -> str:
    """A piece of code that `is_code`, without the name of its language: a block that all readers of Markdown end at the
    same place."""
    _, *lines = map(str.rstrip, text.split("\n"))
    while lines and (not lines[-1] or lines[-1].strip().startswith(_FENCES)):
        lines.pop()
    return "\n".join(("```", *lines, "```"))


def safe(draft: str, allowed: Set[str]) -> str:
    """The draft without images, HTML, reference definitions, attributes in braces, and links to anything but the
    ``allowed`` addresses.

    The function sets code and allowed links aside first, and escapes whatever could act in the rest. Of an allowed link
    it keeps text and address; of any other link or image only the text.
    """
    allowed = {url for url in allowed if _LINKABLE.match(url)}
    kept = _Kept()

    def link(match: re.Match[str]) -> str:
        url = _ENTITY.sub(_entity_character, match[2])
        return kept(f"[{kept.inert(match[1])}]({address(url, inside='()')})") if url in allowed else match[1]

    def autolink(match: re.Match[str]) -> str:
        url = match.group(1)
        return kept(f"<{address(url)}>") if url in allowed else url

    def bare(match: re.Match[str]) -> str:
        url = match.group().rstrip(_END + "*]")
        return f"{kept(f'<{address(url)}>')}{match.group()[len(url) :]}" if url in allowed else match.group()

    text = kept.code(kept.blocks(plain(draft)))
    text = _IMAGE.sub(r"\1", _DEFINITION.sub("", text))
    text = _BARE.sub(bare, _AUTOLINK.sub(autolink, _LINK.sub(link, text)))
    return without_formulas(kept.restored(kept.inert(text)))


def without_formulas(text: str) -> str:
    """Markdown with a space behind each backslash in code that stands between signs of formulas: some look for formulas
    before they look for code, and for them a backslash and a space are a space."""
    return "".join(map(_without_formulas, _PARAGRAPHS.split(text)))


def _without_formulas(paragraph: str) -> str:
    if "\\" not in paragraph:
        return paragraph
    signs: list[int] = []
    code: list[tuple[int, int]] = []
    at = 0
    for start, end in (*_blocks(paragraph, _BEGINS_ANY, _ENDS_ANY), (len(paragraph), len(paragraph))):
        for match in _CODE_OR_SIGN.finditer(paragraph, at, start):
            code += [match.span()] if match["code"] else []
            signs += [] if match["code"] else [match.start()]
        code.append((start, end))
        at = end
    if not signs:
        return paragraph
    made, at = list[str](), 0
    for start, end in code:
        if signs[0] < start < signs[-1]:
            made += [paragraph[at:start], _COMMAND.sub(r"\\ ", paragraph[start:end])]
            at = end
    return "".join([*made, paragraph[at:]])


def plain(text: str) -> str:
    """The text with one kind of line end and without control characters."""
    return _CONTROL.sub("", _BREAK.sub("\n", text))


def _blocks(text: str, begins: re.Pattern[str], ends: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Where the blocks of code are. After a beginning that has no end there is none."""
    at = 0
    while (opening := begins.search(text, at)) and (closing := ends.search(text, opening.end())):
        yield opening.start(), closing.end()
        at = closing.end()


def readable(report: str) -> str:
    r"""A report for a terminal, which renders no Markdown: without the backslashes and entities that keep a renderer from
    making more of outside text than characters. Code stays as it is, and so does what keeps an address from being one,
    for a terminal makes links of addresses too. What comes out is to be cleaned like all outside text.

    Example:
        readable(r"see \[1\] of cache\_key &lt;b>")  # "see [1] of cache_key <b>"
    """

    def visible(match: re.Match[str]) -> str:
        return (
            match["sign"]
            or match["backslashes"]
            or (unescape(match["entity"]) if match["entity"] else match[0])
        )

    made, at = list[str](), 0
    for start, end in _blocks(report, _BEGINS_ANY, _ENDS_ANY):
        made += [_WRITTEN.sub(visible, report[at:start]), report[start:end]]
        at = end
    return "".join([*made, _WRITTEN.sub(visible, report[at:])])


def linkable(url: str) -> bool:
    """Whether an address can be a link of a report."""
    return _LINKABLE.match(url) is not None


def address(url: str, *, inside: str = "") -> str:
    """An address as it stands in a link: percent-encoded where a renderer could misread it, and where it holds one of
    ``inside``."""
    encoded = quote(url, safe="".join(c for c in "!#$%&()+,/:;=?@~" if c not in inside), errors="replace")
    return _REFERENCE.sub(lambda match: f"&%{ord(match[1]):02X}" if match[1] else "%26", encoded)


class _Kept:
    """What is set aside while the rest is made safe, as marks of which outside text has none."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def __call__(self, text: str) -> str:
        self._texts.append(text)
        return f"\0{len(self._texts) - 1}\0"

    def restored(self, text: str) -> str:
        def of(match: re.Match[str]) -> str:
            return _KEPT.sub(of, self._texts[int(match.group(1))])

        return _KEPT.sub(of, text)

    def code(self, text: str) -> str:
        """The text with the code inside its lines set aside."""
        return _CODE.sub(lambda match: self(f"`{match.group(2)}`"), text)

    def inert(self, text: str) -> str:
        """Markdown of which nothing acts. An entity is taken for its character, and that is made safe as any other."""
        return _inert(self.mail(_ENTITY.sub(_entity_character, text)))

    def mail(self, text: str) -> str:
        """The text with what looks like an address of mail set aside as code."""

        def visible(match: re.Match[str]) -> str:
            word = match.group().rstrip(_END)
            if not _AT.search(word):
                return match.group()
            near = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
            before, after = (" " if beside == "\0" else "" for beside in near)
            return f"{before}{self(f'`{word}`')}{match.group()[len(word) :] or after}"

        return _WORD.sub(visible, text) if "@" in text else text

    def blocks(self, text: str) -> str:
        """The text with its blocks of code set aside. One that begins at the margin stands between blank lines; another
        one stays where it is if nothing in it could act as text, else it goes to the margin."""
        lines, shown, at = text.split("\n"), list[str](), 0
        if not any(fence in text for fence in _FENCES):
            return text
        while at < len(lines):
            opening = _FENCE.fullmatch(lines[at])
            end = _end(lines, at, opening["fence"]) if opening else None
            if opening is None or end is None:
                shown.append(lines[at])
                at += 1
                continue
            code = [line.removeprefix(opening["indent"]) for line in lines[at + 1 : end]]
            language = opening["language"]
            fence = "```" if language.lower() in _DRAWN else f"```{language}"
            if opening["indent"] and _stays(lines[at : end + 1], opening["indent"]):
                shown += [self(f"{opening['indent']}{line}") for line in (fence, *code, "```")]
            else:
                before = [""] if shown and shown[-1].strip() else []
                after = [""] if end + 1 < len(lines) and lines[end + 1].strip() else []
                shown += [*before, self("\n".join(_armoured(fence, code))), *after]
            at = end + 1
        return "\n".join(shown)


def _end(lines: list[str], at: int, fence: str) -> int | None:
    """The line that ends a block, if it has any code and no other fence is within."""
    for number in range(at + 1, len(lines)):
        if any(mark in lines[number] for mark in _FENCES):
            line = lines[number].strip()
            closes = not line.strip(fence[0]) and len(line) >= len(fence)
            return number if closes and number > at + 1 else None
    return None


def _stays(lines: list[str], indent: str) -> bool:
    within = _HARMLESS.sub("", "\n".join(lines[1:-1]))
    return all(line.startswith(indent) for line in lines if line.strip()) and _inert(within) == within


def _armoured(fence: str, code: list[str]) -> list[str]:
    """A block of code. What could act where a renderer knows no fences is also indented, between blank lines: a block of
    code by another rule, that all know. A second blank line before it ends an item that has no text."""
    text = "\n".join(code)
    if _ACTS.search(text) or ("]:" in text and _OPEN_LABEL.search(text)):
        indented = [f"    {line}" if line.strip() else "" for line in code]
        return ["", fence, "", *indented, "", "```"]
    return [fence, *code, "```"]


def _entity_character(match: re.Match[str]) -> str:
    """The character that an entity stands for, of white space a space."""
    meant = unescape(match.group())
    return plain(meant) if meant.strip() else " "


def _inert(text: str) -> str:
    """The text with everything broken that a renderer could make HTML, a link, an image or an attribute of."""
    text = _ENTITY.sub(lambda match: f"&amp;{match.group()[1:]}", text)
    for pattern, instead in _BROKEN:
        text = pattern.sub(instead, text)
    return "\n".join(map(_unlabelled, text.split("\n"))) if "]:" in text else text


def _unlabelled(line: str) -> str:
    """The line with no colon that would make a bracket before it the label of a link."""
    if "]:" not in line or _OPEN_LABEL.match(line):
        return _LABEL.sub(r"]\\:", line)
    return _NUMBERS.sub(lambda match: match["ours"] or "]\\:", line)


def _apart(match: re.Match[str]) -> str:
    """The match as code; code that was set aside before it does not touch it."""
    apart = " " * (match.string[match.start() - 1 : match.start()] == _SET_ASIDE)
    return f"{apart}`{match[0]}`"


def _guessed(match: re.Match[str]) -> str:
    return match.group() if match["even"] is None else rf"{match['even']}\."


_BROKEN: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (_BACKTICK, r"\1&#96;"),
    (_BEGINS, _apart),
    (
        _BEFORE_KEPT,
        lambda match: "&#33;" if match.group() == "!" else "&#92;" * ((len(match.group()) + 1) // 2),
    ),
    (_TAG, "&lt;"),
    (_MAIL, lambda match: match.group().replace("@", "&#64;")),
    (_BRACE, r"\1\\\2"),
    (_TARGET, "]&#40;"),  # a backslash escapes nothing between what looks like a tag
    (_SLASHES, lambda match: "&#47;" * len(match[1]) + "/"),
    (_TILDES, "&#126;"),
    (_HOST, _guessed),
    (_MODULE, lambda match: f"&#{ord(match[0])};"),
)
