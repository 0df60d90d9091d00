"""Slide shows: of each slide its title, text, tables, charts and notes, in the order in which they are read out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from deep_research.sources.extract.document import Document, Pages, finished
from deep_research.sources.extract.docx_parts import FORMULAS, formula_text
from deep_research.sources.extract.formats import ExtractionRequest
from deep_research.sources.extract.package import Package, confirmed_day
from deep_research.sources.extract.plaintext import END, MARKS, resolve_marks, whole_number
from deep_research.sources.extract.tables import Blocks, in_one
from deep_research.sources.extract.tables import table_lines as table_lines

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_CHOICE, _FALLBACK = (
    f"{{http://schemas.openxmlformats.org/markup-compatibility/2006}}{name}"
    for name in ("Choice", "Fallback")
)
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_TITLES = ("title", "ctrTitle")
_REPEATED = ("sldNum", "dt", "ftr", "hdr", "sldImg")  # on each slide, and says nothing of it
_MAX_POINTS, _MAX_SERIES = 2_000, 50  # of a chart
_OFF = ("0", "false")


def read(raw: bytes, asked: ExtractionRequest) -> Document:
    """Raises `UnreadableError`."""
    package = Package(raw, "a slide show")
    main = package.main("ppt/presentation.xml")
    parts = package.related(main)
    pages, hidden, pictures = Pages(), list[str](), list[str]()
    for number, entry in enumerate(package.tree(main).iterfind(f"{_P}sldIdLst/{_P}sldId"), 1):
        part = parts.get(entry.get(f"{_R}id"), ("", ""))[1]
        if part not in package.names:
            continue
        slide = package.tree(part)
        if slide.get("show") in _OFF:  # it is shown to nobody, as hidden text
            hidden.append(f"slide {number}")
            continue
        text = _Slide(package, part, slide).text(number)
        if not text and slide.find(f".//{_P}pic") is not None:
            pictures.append(f"slide {number}")
        pages.add(f"slide {number}", text)
    unread = ((hidden, "hidden"), (pictures, "nothing but a picture"))
    title, author, days = package.about("docProps/core.xml")
    return finished(
        raw,
        asked.name,
        title=title or _first_heading(pages.text),
        text=pages.text,
        published=confirmed_day(days, pages.text),
        author=author,
        pages=pages.starts,
        page_labels=pages.labels,
        unread="; ".join(f"{', '.join(labels)}: {why}" for labels, why in unread if labels),
        max_text_bytes=asked.max_text_bytes,
    )


def _first_heading(text: str) -> str:
    first = text.partition("\n")[0]
    return "" if first == "## Slide 1" else first.lstrip("# ")


class _Slide:
    def __init__(self, package: Package, part: str, slide: Any) -> None:
        self._package = package
        self._parts = package.related(part)
        self._tree = slide
        self._blocks = Blocks()

    def text(self, number: int) -> str:
        """Its text, empty where it has none. A slide without a title has its number for one, so that it is not read as
        part of the slide before."""
        shapes = list(self._shapes(self._tree.find(f"{_P}cSld/{_P}spTree")))
        title = next((words for each in shapes if (words := _words_of(each)) and _kind(each) in _TITLES), "")
        self._blocks.heading(2, title or f"Slide {number}")
        empty = "" if title else str(self._blocks)
        for shape in shapes:
            if _kind(shape) not in (*_TITLES, *_REPEATED):
                self._shape(shape)
        for kind, part in self._parts.values():
            if kind == "notesSlide" and part in self._package.names:
                notes = self._package.tree(part)
                notes_text = [
                    _words_of(each) for each in notes.iter(f"{_P}sp") if _kind(each) not in _REPEATED
                ]
                self._blocks.paragraph("\n".join(f"Notes: {words}" for words in filter(None, notes_text)))
        text = str(self._blocks)
        return "" if text == empty else text

    def _shapes(self, group: Any) -> Iterator[Any]:
        """The shapes in a group and in the groups within it."""
        for child in group if group is not None else ():
            if child.tag in (f"{_P}sp", f"{_P}graphicFrame"):
                yield child
            elif child.tag == f"{_P}grpSp":
                yield from self._shapes(child)
            elif (choice := child.find(_CHOICE)) is not None:
                yield from self._shapes(choice)

    def _shape(self, shape: Any) -> None:
        paragraphs = [each for each in shape.iterfind(f"{_P}txBody/{_A}p") if _words(each)]
        items = [
            each for each in paragraphs if _is_item(each, has_bullets=_kind(shape) in ("", "body", "obj"))
        ]
        for paragraph in paragraphs:
            if paragraph in items and len(paragraphs) > 1:
                self._item(_words(paragraph), _level(paragraph))
            else:
                self._blocks.paragraph(_words(paragraph))
        for table in shape.iter(f"{_A}tbl"):
            rows = [
                [in_one(map(_words, c.iter(f"{_A}p"))) for c in r.iter(f"{_A}tc")]
                for r in table.iter(f"{_A}tr")
            ]
            properties = table.find(f"{_A}tblPr")
            is_named = properties is not None and properties.get("firstRow") not in (None, *_OFF)
            self._blocks.verbatim(
                "\n".join(table_lines([row for row in rows if any(row)], are_named=is_named))
            )
        for mark, name in ((f"{_C}chart", f"{_R}id"), (f"{_DIAGRAM}relIds", f"{_R}dm")):
            for reference in shape.iter(mark):
                part = self._parts.get(reference.get(name, ""), ("", ""))[1]
                if part in self._package.names:
                    (self._chart if mark.startswith(_C) else self._diagram)(self._package.tree(part))

    def _item(self, words: str, level: int) -> None:
        for _ in range(level + 1):
            self._blocks.open_item("-")
        self._blocks.paragraph(words)
        for _ in range(level + 1):
            self._blocks.close_item()

    def _chart(self, chart: Any) -> None:
        title = chart.find(f".//{_C}title")
        if title is not None:
            self._blocks.paragraph(" ".join(each.text or "" for each in title.iter(f"{_A}t")))
        series = list(chart.iter(f"{_C}ser"))[:_MAX_SERIES]
        labels: dict[str, str] = {}
        rows: dict[str, list[str]] = {}
        for place, each in enumerate(series):
            labels |= _points(each, "cat") or _points(each, "xVal")
            for index, value in (_points(each, "val") or _points(each, "yVal")).items():
                rows.setdefault(index, [""] * len(series))[place] = value
        names = ["".join(v.text or "" for v in each.iterfind(f"{_C}tx//{_C}v")) for each in series]
        self._blocks.rows(["", *names], ([labels.get(index, ""), *row] for index, row in rows.items()))

    def _diagram(self, diagram: Any) -> None:
        for point in diagram.iter(f"{_DIAGRAM}pt"):
            self._blocks.paragraph(" ".join(filter(None, map(_words, point.iter(f"{_A}p")))))


def _points(series: Any, kind: str) -> dict[str, str]:
    points = list(series.iterfind(f"{_C}{kind}//{_C}pt"))[:_MAX_POINTS]
    return {each.get("idx", ""): each.findtext(f"{_C}v", "").strip() for each in points}


def _kind(shape: Any) -> str:
    """What a shape is for in the layout of its slide: "" for the text of a slide, "none" for what stands by itself."""
    place = shape.find(f"*/{_P}nvPr/{_P}ph")
    return "none" if place is None else str(place.get("type", ""))


def _level(paragraph: Any) -> int:
    properties = paragraph.find(f"{_A}pPr")
    return 0 if properties is None else min(whole_number(properties.get("lvl")), 5)


def _is_item(paragraph: Any, *, has_bullets: bool) -> bool:
    properties = paragraph.find(f"{_A}pPr")
    marks = [] if properties is None else [each.tag for each in properties]
    if f"{_A}buNone" in marks:
        return False
    return has_bullets or f"{_A}buChar" in marks or f"{_A}buAutoNum" in marks


def _words_of(shape: Any) -> str:
    return " ".join(" ".join(map(_words, shape.iterfind(f"{_P}txBody/{_A}p"))).split())


def _words(paragraph: Any) -> str:
    return resolve_marks("".join(_pieces(paragraph))).strip()


def _pieces(element: Any) -> Iterator[str]:
    for child in element:
        if child.tag in (f"{_A}r", f"{_A}fld"):
            style = child.find(f"{_A}rPr")
            shift = "" if style is None else style.get("baseline", "0").rstrip("0")
            mark = MARKS["sub" if shift.startswith("-") else "sup"] if shift else ""
            yield f"{mark}{child.findtext(f'{_A}t', '')}{END if mark else ''}"
        elif child.tag == f"{_A}br":
            yield "\n"
        elif child.tag in FORMULAS:
            yield formula_text(child)
        elif child.tag not in (f"{_A}pPr", _FALLBACK):
            yield from _pieces(child)
