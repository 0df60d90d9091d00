"""Slides, sheets, books, notebooks, mail and OpenDocument: what files of them say of themselves, and hostile ones."""

# ruff: noqa: E501

from __future__ import annotations

import importlib.util
import io
import zipfile
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from deep_research import DeepResearch
from deep_research.errors import ExtractionError
from deep_research.sources.extract import Extractor, readers
from deep_research.sources.extract.document import Document, TooLongError
from deep_research.sources.extract.package import Package
from deep_research.sources.extract.plaintext import UnreadableError
from deep_research.sources.extract.readers import read

INPUTS = Path(__file__).parents[2] / "data" / "readers"
ENGINEER = "Ilse Maren"
SLIDES = ("slide 1", "slide 2", "slide 3", "slide 4")
CHAPTERS = ("chapter Title Page", "chapter The harbour", "chapter The tunnel")
SHEETS = ("sheet Budget", "sheet Rates & fees")
ABOUT = {  # title, author, day, what the pages are called, what was not read
    "pptx-slides.pptx": ("The works at Brenn", ENGINEER, None, SLIDES, "slide 5: hidden"),
    "odp-slides.odp": ("The works at Brenn", ENGINEER, None, SLIDES, "slide 5: hidden"),
    "xlsx-sheets.xlsx": ("Accounts of Brenn", ENGINEER, None, SHEETS, "sheet Secret: hidden"),
    "ods-sheets.ods": ("Accounts of Brenn", ENGINEER, None, SHEETS, "sheet Secret: hidden"),
    "xls-sheets.xls": ("xls sheets", "", None, SHEETS, "sheet Secret: hidden"),
    "odt-works.odt": ("The works at Brenn", ENGINEER, None, (), ""),
    "epub-works.epub": ("The works at Brenn", ENGINEER, date(2024, 3, 5), CHAPTERS, ""),
    "ipynb-survey.ipynb": ("Depths of Brenn Fjord", ENGINEER, None, (), ""),
    "eml-letter.eml": ("Ferry repairs – new day", "Märit Haug", date(2026, 3, 2), (), ""),
}


def document(name: str) -> Document:
    return read((INPUTS / name).read_bytes(), name=name, is_file=True)


@pytest.mark.parametrize("name", ABOUT)
def test_a_file_says_what_it_is_called_and_where_its_parts_begin(name: str) -> None:
    found = document(name)
    said = (found.title, found.author, found.published, found.page_labels, found.unread)
    assert said == ABOUT[name]
    assert len(found.pages) == len(found.page_labels)
    starts = [found.text[start:].partition("\n")[0] for start in found.pages]
    assert all(line.startswith("#") for line in starts)


@pytest.mark.timed
@pytest.mark.parametrize(
    ("name", "question", "answer", "place"),
    [
        ("xlsx-sheets.xlsx", "What was the budget of Brenn in 2023?", "12.4", "sheet Budget"),
        ("pptx-slides.pptx", "What did the mole cost in 1974?", "2.98", "slide 3"),
        ("epub-works.epub", "How long is the tunnel under Mount Haug?", "3,140 metres", "chapter The tunnel"),
    ],
)
def test_a_report_says_on_which_slide_or_sheet_or_in_which_chapter(
    name: str, question: str, answer: str, place: str, tmp_path: Path
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / name).write_bytes((INPUTS / name).read_bytes())
    with DeepResearch(corpus=tmp_path / "docs", data_dir=tmp_path / "data") as engine:
        report = engine.run(question).report or ""
    assert answer in report
    (line,) = [line for line in report.splitlines() if line.startswith("1. ")]
    assert f"{name}, " in line
    assert place in line


def zipped(entries: dict[str, bytes | str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return out.getvalue()


_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def workbook(rows: str) -> bytes:
    relation = f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" Type="{_OFFICE}/%s" Target="%s"/></Relationships>'
    kinds = f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="xml" ContentType="application/xml"/></Types>'
    sheet = '<sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets>'
    return zipped({
        "[Content_Types].xml": kinds,
        "_rels/.rels": relation % ("officeDocument", "xl/workbook.xml"),
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}">{sheet}</workbook>',
        "xl/_rels/workbook.xml.rels": relation % ("worksheet", "worksheets/sheet1.xml"),
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_MAIN}"><sheetData>{rows}</sheetData></worksheet>',
    })  # fmt: skip


_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
_SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"


def slide_show(*slides: str) -> bytes:
    names = f'xmlns:p="{_SLIDES}" xmlns:a="{_DRAWING}" xmlns:r="{_OFFICE}"'
    places = range(len(slides))
    listed = "".join(f'<p:sldId r:id="r{n}"/>' for n in places)
    relations = "".join(f'<Relationship Id="r{n}" Type="{_OFFICE}/slide" Target="{n}.xml"/>' for n in places)
    drawn = "<p:sld {}><p:cSld><p:spTree>{}</p:spTree></p:cSld></p:sld>"
    return zipped({
        "ppt/presentation.xml": f"<p:presentation {names}><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{relations}</Relationships>',
        **{f"ppt/{n}.xml": drawn.format(names, slide) for n, slide in enumerate(slides)},
    })  # fmt: skip


NOTE = "<text:note><text:note-citation>9</text:note-citation><text:note-body><text:p>%s</text:p></text:note-body></text:note>"
FORWARDED = (
    b"Subject: x\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nSee below.\n--b\n"
    b"Content-Type: application/pdf\nContent-Disposition: attachment; filename=plan.pdf\n\nx\n--b\n"
    b"Content-Type: message/rfc822\n\nSubject: y\nFrom: b@x.example\n\nIt lifts.\n--b--\n"
)
_ODF = "urn:oasis:names:tc:opendocument:xmlns:"
_NAMES = (
    " ".join(f'xmlns:{name}="{_ODF}{name}:1.0"' for name in ("office", "text", "table"))
    + f' xmlns:draw="{_ODF}drawing:1.0"'
)


def opendocument(body: str, kind: str = "text", **more: bytes) -> bytes:
    content = f"<office:document-content {_NAMES}><office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    return zipped({"mimetype": f"application/vnd.oasis.opendocument.{kind}", "content.xml": content, **more})


def book(spine: str, **parts: bytes | str) -> bytes:
    root = "<rootfiles><rootfile full-path='c.opf'/></rootfiles>"
    item = "<item id='{0}' href='{0}.xhtml' media-type='application/xhtml+xml'/>"
    manifest = f"<manifest>{''.join(map(item.format, parts))}</manifest>"
    return zipped({
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": f"<container xmlns='{_ODF}container'>{root}</container>",
        "c.opf": f"<package xmlns='http://www.idpf.org/2007/opf'>{manifest}<spine>{spine}</spine></package>",
        **{f"{name}.xhtml": part for name, part in parts.items()},
    })  # fmt: skip


_LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
LAUGHS = f'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY l0 "lol">{_LAUGHS}]><a>&l11;</a>'
FILE = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'
CHAPTER = "<itemref idref='a'/>"
BOMB = bytes(50_000_000)
FAR = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c %s><v>2</v></c></row>'
CELL = "<table:table-cell table:number-columns-repeated='16384'><text:p>x</text:p></table:table-cell>"
ROW = f"<table:table-row table:number-rows-repeated='99999'>{CELL}</table:table-row>"
LONG = ROW.replace(
    CELL,
    f"<table:table-cell table:number-columns-repeated='200'><text:p>{'word ' * 1_000}</text:p></table:table-cell>",
)
WITHIN = b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n"
COMPOUND = bytes.fromhex("d0cf11e0a1b11ae1")
HOSTILE: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "a bomb in a spreadsheet": ("a.xlsx", lambda: zipped({"xl/workbook.xml": "<a/>", "x": BOMB}), "100 to 1"),
    "a bomb in a slide show": ("a.pptx", lambda: zipped({"ppt/presentation.xml": "<a/>", "x": BOMB}), "100 to 1"),
    "a bomb in a book": ("a.epub", lambda: zipped({"META-INF/container.xml": "<a/>", "x": BOMB}), "100 to 1"),
    "an archive in a text": ("a.odt", lambda: opendocument("", **{"a.zip": zipped({})}), "an archive within an archive"),
    "laughs in a text": ("a.odt", lambda: zipped({"content.xml": LAUGHS}), "entities of its own"),
    "a file in a text": ("a.odt", lambda: zipped({"content.xml": FILE}), "entities of its own"),
    "laughs in slides": ("a.pptx", lambda: zipped({"ppt/presentation.xml": LAUGHS}), "entities of its own"),
    "laughs in sheets": ("a.xlsx", lambda: zipped({"xl/workbook.xml": LAUGHS}), "entities of its own"),
    "laughs in a chapter": ("a.epub", lambda: book(CHAPTER, a=LAUGHS), "entities of its own"),
    "laughs in a list of parts": ("a.epub", lambda: zipped({"META-INF/container.xml": LAUGHS}), "entities of its own"),
    "an encrypted text": ("a.odt", lambda: opendocument("", **{"META-INF/manifest.xml": b"<m><encryption-data/></m>"}), "encrypted"),
    "a book of nothing": ("a.epub", lambda: book("", a="<html/>"), "no readable text"),
    "a book without its parts": ("a.epub", lambda: zipped({"META-INF/container.xml": "<a/>"}), "damaged"),
    "a cell at the end": ("a.xlsx", lambda: workbook(FAR % 'r="XFD1048576"'), "sheet S: more than 1,000,000 cells"),
    "a cell in the last row": ("a.xlsx", lambda: workbook(FAR % ""), "sheet S: more than 1,000,000 cells"),
    "cells said again": ("a.ods", lambda: opendocument(f"<table:table>{ROW * 30}</table:table>", "spreadsheet"), "1,000,000 cells"),
    "a long cell said again": ("a.ods", lambda: opendocument(f"<table:table>{LONG}</table:table>", "spreadsheet"), "20,000,000 characters"),
    "a cut spreadsheet": ("a.xlsx", lambda: (INPUTS / "xlsx-sheets.xlsx").read_bytes()[:3_000], "a damaged zip archive"),
    "words called a spreadsheet": ("a.xlsx", lambda: b"a,b\n1,2\n", "not a spreadsheet, although it is called one"),
    "an encrypted spreadsheet": ("a.xlsx", lambda: COMPOUND + "EncryptedPackage".encode("utf-16-le"), "encrypted"),
    "a damaged old spreadsheet": ("a.xls", lambda: COMPOUND + "Workbook".encode("utf-16-le") + bytes(900), "a damaged"),
    "an old slide show": ("a.ppt", lambda: COMPOUND + "PowerPoint Document".encode("utf-16-le"), "save it as pptx"),
    "half a notebook": ("a.ipynb", lambda: b'{"cells": [', "a damaged notebook"),
    "a deep notebook": ("a.ipynb", lambda: b"[" * 100_000, "a damaged notebook"),
    "a mail in a mail in a mail": ("a.eml", lambda: b"".join(map(WITHIN.__mod__, zip(range(1_500), range(1_500), strict=True))), "a damaged mail"),
    "no mail": ("a.eml", lambda: b"\n\nnothing but words", "no mail, although it is called one"),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_file_ends_in_one_clear_line(case: str) -> None:
    name, raw, why = HOSTILE[case]
    with pytest.raises(UnreadableError, match=why) as caught:
        read(raw(), name=name, is_file=True)
    assert "\n" not in str(caught.value)
    assert not isinstance(caught.value, TooLongError)


@pytest.mark.timed
def test_a_sheet_whose_places_cannot_be_told_ends_in_the_limits_of_the_child() -> None:
    extractor = Extractor(workers=1)
    try:
        with pytest.raises(ExtractionError, match="too much memory"):
            extractor.submit(workbook(FAR % 'r="xfd1048576"'), name="a.xlsx", is_file=True).result()
    finally:
        extractor.close()


@pytest.mark.parametrize(
    ("name", "raw", "says"),
    [
        ("a.xlsx", workbook('<row r="1"><c r="A1"><v>7</v></c></row><row r="9"><c r="XFD9" s="1"/></row>'), "7"),
        ("a.xlsx", workbook('<row r="1"><c r="A1"><v>0.1</v></c><c r="B1"><v>3000000</v></c></row>'), "0.1 | 3000000"),
        ("a.odt", opendocument("<text:p>See <text:a>the rules</text:a>.<text:s/>Now.</text:p>"), "See the rules. Now."),
        ("a.odt", opendocument("<text:list><text:list-item>" * 90 + "<text:p>deep</text:p>" + "</text:list-item></text:list>" * 90), "deep"),
        ("a.xls", b"<html><body><table><tr><th>Year</th><th>Boats</th></tr><tr><td>1931</td><td>62</td></tr></table></body></html>", "1931 | 62"),
        ("a.epub", book(CHAPTER * 3, a="<html><head><title/><script src='x'/></head><body><p id='z'/><p>Once.</p></body></html>"), "Once."),
        ("a.epub", book(CHAPTER, a="<html><body><header><h1>One</h1></header><p>It is so.<a role='doc-noteref' href='#n'>1</a> Yes.</p><aside>A note.</aside></body></html>"), "# One\n\nIt is so. Yes.\n\nA note."),
        ("a.ipynb", b'{"cells": [1, {"cell_type": "code", "source": 5, "outputs": "x"}, {"cell_type": "markdown", "source": ["words"]}]}', "words"),
        ("a.ipynb", b'{"worksheets": [{"cells": [{"cell_type": "heading", "level": 2, "source": "Old"}, {"cell_type": "code", "input": "x = 1"}]}]}', "## Old\n\n```python\nx = 1\n```"),
        ("a.eml", b'Subject: x\nFrom: "a" <b@\nDate: Mon, 99 Foo 99999\nContent-Type: text/plain; charset="nope-8"\n\ncaf\xe9\n', 'From: "a" <b@\nDate: Mon, 99 Foo 99999\nSubject: x\n\ncafé'),
        ("a.eml", b"Subject: x\nContent-Type: text/html\n\n<p>Only <b>so</b>.</p>", "Subject: x\n\nOnly so."),
        ("a.eml", FORWARDED, "Subject: x\n\nSee below.\n\nAttached: plan.pdf\n\nFrom: b@x.example\nSubject: y\n\nIt lifts."),
        ("a.pptx", slide_show("<p:pic/>", "<p:sp><p:txBody><a:p><a:r><a:t>Words.</a:t></a:r></a:p></p:txBody></p:sp>"), "## Slide 2\n\nWords."),
        ("a.odt", opendocument(f"<text:p>In <draw:frame><draw:text-box><text:p>a box{NOTE % 'of it'}</text:p></draw:text-box></draw:frame>line{NOTE % 'too'}.</text:p>"), "In line.\n\na box\n\n1 of it\n\n2 too"),
    ],
)  # fmt: skip
def test_an_odd_file_is_read_as_far_as_it_says_something(name: str, raw: bytes, says: str) -> None:
    found = read(raw, name=name, is_file=True)
    assert found.text.endswith(says)
    assert found.text.count(says) == 1


def test_a_table_of_contents_that_is_named_often_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = "".join(f'<item id="{n}" href="n.ncx" media-type="application/x-dtbncx+xml"/>' for n in range(50))
    chapter = '<item id="c" href="c.xhtml" media-type="application/xhtml+xml"/>'
    manifest = f"<manifest>{lists}{chapter}</manifest><spine><itemref idref='c'/></spine>"
    parts = {
        "META-INF/container.xml": "<container><rootfiles><rootfile full-path='c.opf'/></rootfiles></container>",
        "c.opf": f'<package xmlns="http://www.idpf.org/2007/opf">{manifest}</package>',
        "n.ncx": "<ncx><navPoint><navLabel>Piers</navLabel><content src='c.xhtml'/></navPoint></ncx>",
        "c.xhtml": "<html><body><p>The keepers count the boats.</p></body></html>",
    }
    trees: list[str] = []
    tree = Package.tree
    monkeypatch.setattr(Package, "tree", lambda self, name: trees.append(name) or tree(self, name))
    assert read(zipped(parts), name="a.epub", is_file=True).page_labels == ("chapter Piers",)
    assert trees.count("n.ncx") == 1


def test_a_chapter_that_is_damaged_and_slides_of_nothing_but_pictures_are_named() -> None:
    found = read(
        book("<itemref idref='a'/><itemref idref='b'/>", a=bytes(900), b="<p>Words.</p>"),
        name="a.epub",
        is_file=True,
    )
    assert (found.text, found.unread) == ("Words.", "chapter a.xhtml: damaged or encrypted")
    words = "<p:sp><p:txBody><a:p><a:r><a:t>Words.</a:t></a:r></a:p></p:txBody></p:sp>"
    found = read(slide_show("<p:pic/>", words, "<p:pic/>"), name="a.pptx", is_file=True)
    assert (found.unread, found.page_labels) == ("slide 1, slide 3: nothing but a picture", ("slide 2",))


@pytest.mark.parametrize("suffix", [".rtf", ".doc"])
def test_a_format_of_an_extra_says_which(suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "find_spec", lambda _: None)
    readers.suffixes.cache_clear()
    assert readers.why_unread(suffix) == 'to read it: pip install "deep-research[more-formats]"'
    assert suffix not in readers.suffixes()
    raw = b"{\\rtf1 Words.}" if suffix == ".rtf" else COMPOUND + "WordDocument".encode("utf-16-le")
    with pytest.raises(UnreadableError, match="more-formats"):
        read(raw, name=f"a{suffix}", is_file=True)
    monkeypatch.undo()
    readers.suffixes.cache_clear()


@pytest.mark.skipif(
    not importlib.util.find_spec("kreuzberg"), reason="the extra more-formats is not installed"
)
def test_rich_text_is_read_where_the_extra_is_installed() -> None:
    row = "\\trowd\\cellx1000\\cellx2000 %s\\cell %s\\cell\\row"
    table = row % ("Year", "Boats") + row % ("1931", "62")
    found = read(
        f"{{\\rtf1\\ansi The {{\\b mole}} was built.\\par {table}}}".encode(), name="a.rtf", is_file=True
    )
    assert "The mole was built." in found.text
    assert "Year | Boats\n1931 | 62" in found.text
    with pytest.raises(UnreadableError, match="damaged"):
        read(COMPOUND + "WordDocument".encode("utf-16-le") + bytes(900), name="a.doc", is_file=True)


@pytest.mark.parametrize("header", ["Content-Type: multipart/mixed", "Content-Disposition: attachment"])
def test_a_mail_with_a_header_of_any_length_is_read(header: str) -> None:
    """The library would take minutes for headers as long as this."""
    letter = f"From: a@x.example\nSubject: Lamps\n{header}; {'a*=; ' * 20_000}\n\nIt lifts.\n"
    assert "Subject: Lamps" in read(letter.encode(), name="a.eml", is_file=True).text
