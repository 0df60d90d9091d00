"""The pieces of a Word document: what a paragraph says, which blocks there are, which notes. What was struck out in a
tracked change is not said; what was put in is."""

from __future__ import annotations

import io
import re
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from deep_research.patterns import regex
from deep_research.sources.extract.page_signs import as_name
from deep_research.sources.extract.plaintext import END, MARKS, resolve_marks, whole_number

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PRIVATE_USE_MIN = 0xF000  # from which on many programs number the signs of such a font
_CODE = regex(r"[0-9A-Fa-f]{1,4}\Z")
OFF = ("0", "false", "off")
_TICKED, _EMPTY = "☒", "☐"  # as Word itself writes those of its newer forms
_FONTS = {  # by their names, the signs by their numbers
    font: {int(code, 16) + at: sign for code, signs in rows.items() for at, sign in enumerate(signs)}
    for font, rows in tomllib.loads(
        Path(__file__).with_name("docx_signs.toml").read_text(encoding="utf-8")
    ).items()
}
_COMPATIBLE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"
_UNSAID = {f"{W}{name}" for name in ("del", "moveFrom", "pPr", "rPr", "txbxContent", "instrText")} | {
    f"{_COMPATIBLE}Fallback"  # says again what stands beside it
}
_SIGNS = {f"{W}tab": "\t", f"{W}br": "\n", f"{W}cr": "\n", f"{W}noBreakHyphen": "-", f"{W}ptab": "\t"}
_SHOWN = ("", *OFF)  # what is hidden is shown to nobody: a place for orders to programs
_NOTE_MARKS = {f"{W}footnoteReference": "footnotes", f"{W}endnoteReference": "endnotes"}
_NO_NOTES = ("separator", "continuationSeparator", "continuationNotice")
_KINDS = "[Content_Types].xml"
_USUAL_KIND = b"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
_OTHER_KIND = regex(
    rb"application/vnd\.(?:openxmlformats-officedocument\.wordprocessingml\.template"
    rb"|ms-word\.(?:document|template)\.macroEnabled(?:Template)?)\.main\+xml"
)
_STRICT = regex(
    rb"http://purl\.oclc\.org/ooxml/(officeDocument|wordprocessingml|drawingml)/(relationships|math|main)"
)
_USUAL_NAME = rb"http://schemas.openxmlformats.org/\1/2006/\2"
M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
FORMULAS = frozenset((f"{M}oMath", f"{M}oMathPara"))
_TEXTS = (f"{M}t", f"{W}t")
_RUNS = (f"{M}r", *_TEXTS)
_NOT_WRITTEN = (f"{W}del", f"{W}moveFrom", f"{W}instrText")
_ONE = regex(r"[-−+]?(?:[^\W_]+(?:[.,]\d+)?|[^\w\s])['′]*|\([^()]*\)")
_NO_MARK = "\u0302"  # the sign over a letter where none is said


def sign(element: Any) -> str:
    """What a ``w:sym`` draws; nothing where it is not known."""
    font = _FONTS.get((element.get(f"{W}font") or "").lower(), {})
    code = element.get(f"{W}char") or ""
    return font.get(int(code, 16) % _PRIVATE_USE_MIN, "") if _CODE.match(code) else ""


def in_font(run: Any, text: str) -> str:
    """The text of a run, whose letters may stand for the signs of its font. Those that are not known stay."""
    fonts = run.find(f"{W}rPr/{W}rFonts")
    font = _FONTS.get((fonts.get(f"{W}ascii") or "").lower()) if fonts is not None else None
    return "".join(font.get(ord(letter) % _PRIVATE_USE_MIN, letter) for letter in text) if font else text


def value(element: Any, path: str, usual: str = "") -> str:
    """What an element below says, ``usual`` where it is there and says nothing: ``value(paragraph, "pPr/pStyle")``."""
    child = element.find("/".join(f"{W}{name}" for name in path.split("/")))
    return "" if child is None else str(child.get(f"{W}val", usual))


def ticked(box: Any) -> str:
    """A box of a form, as it was left, else as it was to begin with."""
    for name in ("checked", "default"):
        if state := value(box, name, "1"):
            return _EMPTY if state in OFF else _TICKED
    return _EMPTY


def says(paragraph: Any) -> str:
    """The text of a paragraph, links, fields and forms in it included, without that of boxes."""
    text = resolve_marks("".join(_pieces(paragraph)))
    return re.sub(r"[ \t]*\n[ \t]*", "\n", re.sub(r"[^\S\n]+", " ", text)).strip()


def _pieces(element: Any) -> Iterator[str]:
    for child in element:
        tag = child.tag
        if tag == f"{W}t":
            yield in_font(element, child.text or "")
        elif tag == f"{W}sym":
            yield sign(child)
        elif tag == f"{W}checkBox":
            yield ticked(child)
        elif tag in _SIGNS:
            yield _SIGNS[tag]
        elif tag in FORMULAS:
            yield formula_text(child)
        elif tag not in _UNSAID and value(child, "rPr/vanish", "1") in _SHOWN:
            mark = MARKS.get(value(child, "rPr/vertAlign")[:3])
            yield from (mark, *_pieces(child), END) if mark else _pieces(child)


def blocks(container: Any) -> Iterator[Any]:
    """The paragraphs and tables within, those in forms too; what stands in a box comes after its paragraph."""
    for child in container:
        if child.tag == f"{W}p":
            yield child
            for box in child.iter(f"{W}txbxContent"):
                if not any(True for _ in box.iterancestors(f"{_COMPATIBLE}Fallback", f"{W}del")):
                    yield from blocks(box)
        elif child.tag == f"{W}tbl":
            yield child
        elif child.tag not in _UNSAID:
            yield from blocks(child)


def cells(table: Any) -> list[list[Any]]:
    """The cells of each row, one for each column: None where one goes on that began further left, and the same again
    where it began further up."""
    rows: list[list[Any]] = []
    for row in _children(table, f"{W}tr"):
        row_cells: list[Any] = []
        for cell in _children(row, f"{W}tc"):
            goes_on = value(cell, "tcPr/vMerge", "continue") == "continue"
            place = len(row_cells)
            above = rows[-1][place] if goes_on and rows and place < len(rows[-1]) else None
            row_cells += [above if above is not None else cell, *[None] * (_span(cell) - 1)]
        rows.append(row_cells)
    return rows


def are_named(table: Any) -> bool:
    """Whether the first row is marked as the names of columns: it is said again on each page, or bold, where the second
    does not begin so."""
    first, *others = _children(table, f"{W}tr")
    if value(first, "trPr/tblHeader", "1") not in _SHOWN:
        return True
    below = next((cell for row in others for cell in _children(row, f"{W}tc")), None)
    return _is_bold(first) and (below is None or not _is_bold(below))


def _is_bold(part: Any) -> bool:
    runs = [run for run in part.iter(f"{W}r") if says(run)]
    return all(value(run, "rPr/b", "1") not in _SHOWN for run in runs)


def words_of(container: Any, text_of: Callable[[Any], str] = says) -> Iterator[str]:
    """What all paragraphs of a cell or note say, and the rows of tables within it."""
    for block in blocks(container):
        if block.tag == f"{W}p":
            yield text_of(block)
        else:
            earlier: set[Any] = set()
            for row in cells(block):
                new = [cell for cell in row if cell is not None and cell not in earlier]
                earlier.update(new)
                yield " ".join(filter(None, (text for cell in new for text in words_of(cell, text_of))))


def called(cell: Any) -> str:
    """What the pictures of a cell are called that says nothing else."""
    pictures = (each for each in cell.iter(f"{_DRAWING}docPr") if each.get("descr"))
    return ", ".join(filter(None, (as_name(each.get("descr")) for each in pictures)))


def notes_of(paragraph: Any) -> Iterator[tuple[str, str]]:
    """The kind and number of each note that a paragraph refers to."""
    for mark in paragraph.iter(*_NOTE_MARKS):
        yield _NOTE_MARKS[mark.tag], mark.get(f"{W}id", "")


def notes(document: Any) -> dict[tuple[str, str], str]:
    """The text of each note of a document, by kind and number."""
    from docx.oxml import parse_xml

    texts: dict[tuple[str, str], str] = {}
    for relation in document.part.rels.values():
        kind = relation.reltype.rpartition("/")[2]
        if kind in _NOTE_MARKS.values() and not relation.is_external:
            for note in parse_xml(relation.target_part.blob):
                if note.get(f"{W}type") not in _NO_NOTES:
                    texts[kind, note.get(f"{W}id", "")] = " ".join(" ".join(words_of(note)).split())
    return texts


def usual(raw: bytes) -> bytes:
    """The document with the usual names, if it is one of the strict kind, which gives other names to the same, or a
    template or one with macros, which says that it is another kind."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        is_strict = _STRICT.search(archive.read("_rels/.rels")) is not None
        kinds = archive.read(_KINDS)
        if not is_strict and not _OTHER_KIND.search(kinds):
            return raw
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as copy:
            for entry in archive.infolist():
                data = archive.read(entry)
                if entry.filename == _KINDS:
                    data = _OTHER_KIND.sub(_USUAL_KIND, data)
                elif is_strict and entry.filename.endswith((".xml", ".rels")):
                    data = _STRICT.sub(_USUAL_NAME, data)
                copy.writestr(entry.filename, data)
    return out.getvalue()


def _children(element: Any, tag: str) -> Iterator[Any]:
    """Those of a kind, in forms and tracked insertions too."""
    for child in element:
        if child.tag == tag:
            yield child
        elif child.tag in (f"{W}sdt", f"{W}sdtContent", f"{W}customXml", f"{W}ins"):
            yield from _children(child, tag)


def _span(cell: Any) -> int:
    return min(max(whole_number(value(cell, "tcPr/gridSpan"), 1), 1), 100)


def formula_text(element: Any) -> str:
    """What a formula or a piece of one says."""
    if element.tag in _TEXTS:
        return element.text or ""
    if not isinstance(element.tag, str) or element.tag.endswith("Pr") or element.tag in _NOT_WRITTEN:
        return ""
    return _WRITTEN.get(element.tag.removeprefix(M), _inside)(element)


def _inside(element: Any) -> str:
    formula, last = "", ""
    for child in element:
        text = formula_text(child)
        # What stands behind a power or below a line would else be read as a part of it.
        is_apart = formula[-1:].isalnum() and text[:1].isalnum() and last not in _RUNS
        formula += f" {text}" if is_apart else text
        last = child.tag if text else last
    return formula


def _part(element: Any, name: str) -> str:
    part = element.find(f"{M}{name}")
    return "" if part is None else _inside(part).strip()


def _set(element: Any, name: str, usual: str) -> str:
    """What is set by this name, such as the sign of a sum."""
    setting = element.find(f"{element.tag}Pr/{M}{name}")
    return usual if setting is None else str(setting.get(f"{M}val", ""))


def _whole(text: str) -> str:
    """A piece as others can stand beside it: in brackets, if it is more than one letter or number."""
    return text if not text or _ONE.fullmatch(text) else f"({text})"


def _raised(element: Any) -> str:
    low, high = (_part(element, name) for name in ("sub", "sup"))
    return (f"_{_whole(low)}" if low else "") + (f"^{_whole(high)}" if high else "")


def _fraction(element: Any) -> str:
    above, below = _whole(_part(element, "num")), _whole(_part(element, "den"))
    # Without a bar it is no fraction: so many out of so many.
    return f"{above} over {below}" if _set(element, "type", "") == "noBar" else f"{above}/{below}"


def _root(element: Any) -> str:
    degree = _part(element, "deg")
    return f"√{f'[{degree}]' if degree else ''}({_part(element, 'e')})"


def _sum(element: Any) -> str:
    return f"{_set(element, 'chr', '∫')}{_raised(element)} {_part(element, 'e')}"


def _between(element: Any) -> str:
    inside = (_inside(part).strip() for part in element.findall(f"{M}e"))
    separator = _set(element, "sepChr", "|")
    return f"{_set(element, 'begChr', '(')}{separator.join(inside)}{_set(element, 'endChr', ')')}"


def _accent(element: Any) -> str:
    """A letter with a sign over it, which makes it another."""
    text, mark = _part(element, "e"), _set(element, "chr", _NO_MARK)
    return text + mark if len(text) == 1 else text


_WRITTEN: dict[str, Callable[[Any], str]] = {
    "f": _fraction,
    "sSup": lambda element: _whole(_part(element, "e")) + _raised(element),
    "sSub": lambda element: _whole(_part(element, "e")) + _raised(element),
    "sSubSup": lambda element: _whole(_part(element, "e")) + _raised(element),
    "rad": _root,
    "nary": _sum,
    "d": _between,
    "acc": _accent,
    "limLow": lambda element: f"{_part(element, 'e')}_{_whole(_part(element, 'lim'))}",
    "limUpp": lambda element: f"{_part(element, 'e')}^{_whole(_part(element, 'lim'))}",
    "oMathPara": lambda element: "\n".join(filter(None, (formula_text(each).strip() for each in element))),
}
