"""What a web page says otherwise than in plain text, put into words: formulas (MathML, or pictures
whose other text is TeX), cells that hold a sign, and prose that is laid out with spaces. What is hidden is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, takewhile

from lxml.html import HtmlElement
from lxml.html.builder import BR, DIV, H2, P

from deep_research.patterns import regex
from deep_research.sources.extract.hiding import is_hidden, style_hides
from deep_research.sources.extract.plaintext import words

_PICTURE = regex(r"(?:^|[\s_-])(?:mwe-math|tex|latex|math|formula|equation)(?=$|[\s_-])", re.IGNORECASE)
_STYLE = regex(r"\A\{?\\(?:displaystyle|textstyle|scriptstyle)(?![a-zA-Z])\s*(.*?)\}?\Z", re.DOTALL)
_TEX = regex(r"[\\^_={}+<>|/()\d-]")
_PROSE = regex(r"(?:(?<![\\a-zA-Z])[A-Za-z]{3,}[\s,]+){4}")  # nobody sees what stands there: orders might
_MAX_FORMULA_CHARS = 2_000
_MAX_WORD_CHARS = 2  # letters of a formula that has no sign of one
_DEPTH = 40  # elements around a formula that may hide it
_SILENT = words("annotation annotation-xml mphantom maligngroup malignmark none mprescripts")
_BETWEEN = {"msup": "^", "msub": "_", "munder": "_", "mfrac": "/"}  # the two parts of such an element
_PARTING = {"mtable": "; ", "mtr": " "}
_MAX_SIGNS = 3  # of a cell
_MAX_ELEMENTS = 40  # of which they consist
_YES = regex(r"(?:^|[\s_-])(?:check|checkmark|tick|ok|yes)(?=$|[\s_-])", re.IGNORECASE)
_NO = regex(r"(?:^|[\s_-])(?:times|cross|crossmark|xmark|remove|no)(?=$|[\s_-])", re.IGNORECASE)
_SIGNS = ("img", "svg", "i", "span", "em", "b", "abbr")
_PRESSED = ("a", "button", "select", "textarea", "label", "form")
_MAX_SIGN_CHARS = 30
_MAX_WORDS = 4
_FILE = regex(r"(?<![\w-])[\w-]++\.(?:png|jpe?g|gif|svg|webp)\b", re.IGNORECASE)
_NO_SIGN = regex(
    r"\b(?:avatar|logo|icon|image|photo|picture|spacer|thumbnail|banner|arrow|bullet|sort|expand|collapse|close|menu|"
    r"link|share|copy|edit|delete|search|back|next|previous)\b",
    re.IGNORECASE,
)
# Of text that is laid out with spaces (`pre`).
PROSE_SHARE = 0.75  # of the words of a text that are letters alone; of code it is a half at most
MOSTLY_SHARE = 0.5  # of the text of its page: what is less is an example in it
MIN_BLOCKS = 3
MAX_LINES = 40_000  # each becomes an element of the page
MAX_HEADING_CHARS = 60
_FORBIDDEN = regex(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in an element
_WORD = regex(r"\S+")
_PLAIN = regex(r"[(\"']?[^\W\d_]+(?:[-'][^\W\d_]+)*[)\"']?[.,;:?!)]*")
_BLANK = regex(r"\n(?:[ \t]*+\n)++")
_APART = regex(r"\S {2,}\S")  # the columns of a header or of a footer of a printed page
_ENDS = (".", ",", ";", ":", "]")


def tell_formulas(body: HtmlElement) -> None:
    """Puts words in the place of the formulas."""
    for math in list(body.iter("math")):
        if math.getparent() is not None and not any(
            map(is_hidden, [math, *list(math.iterancestors())[:_DEPTH]])
        ):
            _put(math, _tex(math) or _read(math))
    for picture in list(body.iter("img")):
        alt = _plain(picture.get("alt") or "")
        if _PICTURE.search((picture.get("class") or "")[:300]) and _is_formula(alt):
            _put(picture, alt)


def _put(element: HtmlElement, text: str) -> None:
    tail = element.tail
    element.clear()
    element.tag, element.text, element.tail = "span", text[:_MAX_FORMULA_CHARS], tail


def _is_formula(tex: str) -> bool:
    is_short = 0 < len(tex) <= _MAX_WORD_CHARS
    return is_short or (_TEX.search(tex) is not None and _PROSE.search(tex) is None)


def _tex(math: HtmlElement) -> str:
    """The TeX that stands beside the signs."""
    notes = (
        note.text or "" for note in math.iter("annotation") if "tex" in (note.get("encoding") or "").lower()
    )
    tex = _plain(next(notes, "") or math.get("alttext") or "")
    return tex if _is_formula(tex) else ""


def _plain(tex: str) -> str:
    """TeX in a line, without how large it is set."""
    line = " ".join(tex[: 2 * _MAX_FORMULA_CHARS].split())
    match = _STYLE.match(line)
    return match[1].strip() if match and line.startswith("{") == line.endswith("}") else line


def _read(element: HtmlElement) -> str:
    """The signs. A power or fraction whose parts ran together would be another number."""
    name = str(element.tag).rpartition(":")[2]
    if name in _SILENT:
        return ""
    if name in ("mspace", "mtext"):
        return f" {' '.join((element.text or '').split())} "
    parts = [_read(part) for part in element if isinstance(part.tag, str) and not is_hidden(part)]
    if name == "mfrac" and (element.get("linethickness") or "").startswith("0"):
        return " over ".join(parts)  # no line between them
    if name in _BETWEEN and len(parts) == 2:
        return _BETWEEN[name].join(map(_grouped, parts))
    if name == "mroot" and len(parts) == 2:
        return f"{_grouped(parts[0])}^(1/{parts[1]})"
    if name in ("msubsup", "munderover") and len(parts) == 3:
        return f"{parts[0]}_{_grouped(parts[1])}^{_grouped(parts[2])}"
    body = _PARTING.get(name, "").join(parts)
    body = f"√{_grouped(body)}" if name == "msqrt" else body
    return " ".join(f"{element.text or ''}{body}".split())


def _grouped(part: str) -> str:
    part = part.strip()
    return part if len(part) < 2 or part.isalnum() else f"({part})"


def tell_ticks(tree: HtmlElement) -> None:
    """Puts words into the cells that have none."""
    for table in list(tree.iter("table")):
        for cell in list(table.iter("td")) if _has_names(table) else ():
            is_still = next(cell.iterdescendants(*_PRESSED), None) is None
            inner = islice(cell.iterdescendants(), _MAX_ELEMENTS)
            if is_still and not cell.text_content().strip():
                names = list(dict.fromkeys(filter(None, map(_name_of, inner))))
                if 0 < len(names) <= _MAX_SIGNS:
                    del cell[:]
                    cell.text = ", ".join(names)


def _has_names(table: HtmlElement) -> bool:
    """Whether its first row names several columns. A table that holds others lays out a page."""
    first = next(table.iter("tr"), None)
    if first is None or next(table.iterdescendants("table"), None) is not None:
        return False
    return len([cell for cell in first.iterchildren("td", "th") if cell.text_content().strip()]) > 1


def _name_of(sign: HtmlElement) -> str:
    around = (sign, *takewhile(lambda outer: outer.tag != "td", sign.iterancestors()))
    if any(each.get("hidden") is not None or style_hides(each.get("style") or "") for each in around):
        return ""
    if sign.tag == "input" and (sign.get("type") or "").lower() in ("checkbox", "radio"):
        return "☐" if sign.get("checked") is None else "☑"
    if sign.tag not in _SIGNS:
        return ""
    classes = (sign.get("class") or "")[:300] if sign.tag != "img" else ""
    name = as_name(sign.get("aria-label") or sign.get("alt") or sign.get("title") or "")
    return name or ("✓" if _YES.search(classes) else "✗" if _NO.search(classes) else "")


def as_name(text: str) -> str:
    name = " ".join(text.split())
    is_short = len(name) <= _MAX_SIGN_CHARS and len(name.split()) <= _MAX_WORDS
    return "" if not is_short or _FILE.search(name) or _NO_SIGN.search(name) else name


def tell_laid_out(tree: HtmlElement) -> bool:
    """Puts headings and paragraphs in the place of the ``pre`` elements of ``tree``, where most of the page is in them
    and they are prose; whether it did."""
    listings = [(element, element.text_content()) for element in tree.iter("pre")]
    word_count = sum(len(text.split()) for _, text in listings)
    if not word_count or word_count < MOSTLY_SHARE * len(tree.text_content().split()):
        return False
    has_changed = False
    for element, text in listings:
        parent = element.getparent()
        if parent is None or not is_prose(text):
            continue
        paragraphs = DIV(*_elements(_FORBIDDEN.sub("", text).expandtabs()))
        paragraphs.tail = element.tail
        parent.replace(element, paragraphs)
        has_changed = True
    return has_changed


def is_prose(text: str) -> bool:
    """Whether a text is of several paragraphs of words, and no listing."""
    if text.count("\n") > MAX_LINES or len(_BLANK.findall(text.strip())) < MIN_BLOCKS - 1:
        return False
    words = _WORD.findall(text)
    return sum(_PLAIN.fullmatch(word) is not None for word in words) >= PROSE_SHARE * len(words)


def _elements(text: str) -> Iterator[HtmlElement]:
    lines = [line for line in text.split("\n") if line.strip()]
    margin = min(map(_indent, lines))
    has_margin = 2 * sum(_indent(line) > margin for line in lines) > len(lines)  # in which headings stand
    for block in _BLANK.split(text.strip("\n")):
        rest = [line for line in block.split("\n") if line.strip()]
        if rest and has_margin and _is_heading(rest, margin):
            yield H2(" ".join(rest.pop(0).split()))
        if rest:
            first, *others = (line.strip() for line in rest)
            yield P(first, *(piece for line in others for piece in (BR(), line)))


def _is_heading(block: list[str], margin: int) -> bool:
    """Whether a block opens with a line at the margin that what follows is indented under."""
    first = block[0].strip()
    return (
        _indent(block[0]) == margin
        and len(first) <= MAX_HEADING_CHARS
        and not first.endswith(_ENDS)
        and _APART.search(first) is None
        and all(_indent(line) > margin for line in block[1:])
    )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
