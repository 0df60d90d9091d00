"""Word documents: nothing of what they say is lost, wherever it stands."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import docx
import pytest
from docx.oxml import parse_xml

from deep_research.sources.extract.document import Document
from deep_research.sources.extract.readers import read

_NAMES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
)
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TYPES = "application/vnd.openxmlformats-officedocument.wordprocessingml"


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def cell(text: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{text if text.startswith('<') else paragraph(text)}</w:tc>"


def made(*pieces: str) -> Any:
    """A document of these blocks, each written as Word does."""
    document = docx.Document()
    for piece in pieces:
        block = parse_xml(f"<w:body {_NAMES}>{piece}</w:body>")[0]
        document.element.body.insert(len(document.element.body) - 1, block)
    return document


def text_of(document: Any, **more: bytes) -> str:
    out = io.BytesIO()
    document.save(out)
    if more:
        out = _with_parts(out, more)
    return read(out.getvalue(), "", "wall.docx", 1_000_000).text


def _with_parts(out: io.BytesIO, more: dict[str, bytes]) -> io.BytesIO:
    copy = io.BytesIO()
    with zipfile.ZipFile(out) as archive, zipfile.ZipFile(copy, "w") as other:
        for entry in archive.infolist():
            data = archive.read(entry)
            for name in more:
                if entry.filename == "word/_rels/document.xml.rels":
                    relation = f'<Relationship Id="x{name}" Type="{_RELATIONS}/{name}" Target="{name}.xml"/>'
                    data = data.replace(b"</Relationships>", relation.encode() + b"</Relationships>")
                if entry.filename == "[Content_Types].xml":
                    part = f'<Override PartName="/word/{name}.xml" ContentType="{_TYPES}.{name}+xml"/>'
                    data = data.replace(b"</Types>", part.encode() + b"</Types>")
            other.writestr(entry.filename, data)
        for name, data in more.items():
            other.writestr(f"word/{name}.xml", data)
    return copy


def test_notes_stand_behind_the_paragraph_that_refers_to_them() -> None:
    refers = '<w:p><w:r><w:t>The wall is old.</w:t></w:r><w:r><w:footnoteReference w:id="4"/></w:r></w:p>'
    notes = f'<w:footnotes {_NAMES}><w:footnote w:type="separator" w:id="0">{paragraph("-")}</w:footnote>' \
            f'<w:footnote w:id="4">{paragraph("It was built in 1831.")}</w:footnote></w:footnotes>'  # fmt: skip
    found = text_of(made(refers, paragraph("It stands.")), footnotes=notes.encode())
    assert found == "The wall is old.\n\n1 It was built in 1831.\n\nIt stands."


def test_what_stands_in_a_box_is_read_once() -> None:
    box = f"<w:r><w:drawing><w:txbxContent>{paragraph('Mind the gap.')}</w:txbxContent></w:drawing></w:r>"
    both = f"<mc:AlternateContent><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent>"
    found = text_of(made(f"<w:p><w:r><w:t>The wall.</w:t></w:r>{both}</w:p>"))
    assert found == "The wall.\n\nMind the gap."


def test_forms_fields_and_insertions_are_read_and_deletions_are_not() -> None:
    block = (
        f"<w:sdt><w:sdtContent>{paragraph('Survey of the wall')}</w:sdtContent></w:sdt>",
        "<w:p><w:r><w:t xml:space='preserve'>It is </w:t></w:r><w:ins w:id='1'><w:r><w:t>nine</w:t></w:r></w:ins>"
        "<w:del w:id='2'><w:r><w:delText>eight</w:delText></w:r></w:del><w:sdt><w:sdtContent><w:r>"
        "<w:t xml:space='preserve'> metres</w:t></w:r></w:sdtContent></w:sdt><w:fldSimple w:instr='DATE'><w:r>"
        "<w:t xml:space='preserve'> high</w:t></w:r></w:fldSimple></w:p>",
    )
    assert text_of(made(*block)) == "Survey of the wall\n\nIt is nine metres high"


def test_a_table_with_merged_cells_keeps_its_columns_and_one_within_a_cell_its_words() -> None:
    inner = f"<w:tbl><w:tr>{cell('cracks')}{cell('12')}</w:tr></w:tbl>"
    rows = (
        cell("Section") + cell("Size", '<w:gridSpan w:val="2"/>'),
        cell("East", '<w:vMerge w:val="restart"/>') + cell("120 m") + cell("old"),
        cell("", "<w:vMerge/>") + cell("80 m") + cell(inner + paragraph("found")),
    )
    table = "<w:tbl>" + "".join(f"<w:tr>{row}</w:tr>" for row in rows) + "</w:tbl>"
    assert text_of(made(table)) == "Section | Size |\nEast | 120 m | old\nEast | 80 m | cracks 12; found"


def test_merged_cells_that_do_not_fit_each_other_do_no_harm() -> None:
    rows = cell("East") + cell("120 m"), cell("", "<w:vMerge/>") * 3 + cell("80 m")
    table = "<w:tbl>" + "".join(f"<w:tr>{row}</w:tr>" for row in rows) + "</w:tbl>"
    assert text_of(made(table)).endswith("80 m")


def test_a_document_of_the_strict_kind_is_read_as_any_other() -> None:
    out = io.BytesIO()
    made(paragraph("The wall is old.")).save(out)
    strict = io.BytesIO()
    with zipfile.ZipFile(out) as archive, zipfile.ZipFile(strict, "w") as other:
        for entry in archive.infolist():
            data = archive.read(entry).replace(
                _RELATIONS.encode(), b"http://purl.oclc.org/ooxml/officeDocument/relationships"
            )
            data = data.replace(
                b"http://schemas.openxmlformats.org/wordprocessingml/2006/main",
                b"http://purl.oclc.org/ooxml/wordprocessingml/main",
            )
            other.writestr(entry.filename, data)
    assert read(strict.getvalue(), "", "wall.docx", 1_000_000).text == "The wall is old."


def of_lines(*lines: str, breaks: bool = False) -> str:
    """A cell of paragraphs, or of one with breaks."""
    if breaks:
        return cell(f"<w:p><w:r>{'<w:br/>'.join(f'<w:t>{line}</w:t>' for line in lines)}</w:r></w:p>")
    return cell("".join(map(paragraph, lines)))


def table(*rows: str) -> str:
    return "<w:tbl>" + "".join(f"<w:tr>{row}</w:tr>" for row in rows) + "</w:tbl>"


def test_paragraphs_of_a_cell_that_stand_beside_nothing_are_told_apart() -> None:
    words = of_lines("Work shops", "2 sheds", "A crane.", "It is old") + of_lines("12", "3")
    head = of_lines("Kind of", "work", breaks=True) + of_lines("Number", "of them", breaks=True)
    assert text_of(made(table(head, words))) == (
        "Kind of work | Number of them\nWork shops; 2 sheds; A crane. It is old | 12; 3"
    )


def test_a_template_and_a_document_with_macros_are_read_as_any_other() -> None:
    out = io.BytesIO()
    made(paragraph("The wall is old.")).save(out)
    for kind in (
        b"openxmlformats-officedocument.wordprocessingml.template",
        b"ms-word.document.macroEnabled",
    ):
        other = io.BytesIO()
        with zipfile.ZipFile(out) as archive, zipfile.ZipFile(other, "w") as copy:
            for entry in archive.infolist():
                data = archive.read(entry)
                if entry.filename == "[Content_Types].xml":
                    data = data.replace(
                        b"openxmlformats-officedocument.wordprocessingml.document.main", kind + b".main"
                    )
                copy.writestr(entry.filename, data)
        assert read(other.getvalue(), "", "wall.docx", 10**6).text == "The wall is old."


def item(text: str, number: int, level: int = 0) -> str:
    return (
        f'<w:p><w:pPr><w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr></w:pPr>'
        f"<w:r><w:t>{text}</w:t></w:r></w:p>"
    )


def numbered(*levels: tuple[str, str], nums: str) -> bytes:
    said = "".join(
        f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:numFmt w:val="{form}"/><w:lvlText w:val="{text}"/></w:lvl>'
        for at, (form, text) in enumerate(levels)
    )
    kinds = f'<w:abstractNum w:abstractNumId="7">{said}</w:abstractNum>'
    return f"<w:numbering {_NAMES}>{kinds}{nums}</w:numbering>".encode()


def num(name: int, anew: int = 0) -> str:
    start = f'<w:lvlOverride w:ilvl="0"><w:startOverride w:val="{anew}"/></w:lvlOverride>' if anew else ""
    return f'<w:num w:numId="{name}"><w:abstractNumId w:val="7"/>{start}</w:num>'


def of_list(numbering: bytes, *items: str) -> str:
    return with_numbering(made(*items), numbering).text


def with_numbering(document: Any, numbering: bytes) -> Document:
    """What is read of a document with another part that says how its lists are numbered."""
    out = io.BytesIO()
    document.save(out)
    copy = io.BytesIO()
    with zipfile.ZipFile(out) as archive, zipfile.ZipFile(copy, "w") as other:
        for entry in archive.infolist():
            data = numbering if entry.filename == "word/numbering.xml" else archive.read(entry)
            other.writestr(entry.filename, data)
    return read(copy.getvalue(), "", "survey of 1931.docx", 10**6)


def test_items_have_the_numbers_that_are_seen_before_them() -> None:
    numbering = numbered(("decimal", "%1."), ("decimal", "(%2)"), nums=num(3) + num(4) + num(5, anew=1))
    items = [item("Walk", 3), item("at noon", 3, 1), item("at low water", 3, 1), item("Count", 3), item("by eye", 3, 1),
             paragraph("Then:"), item("Write", 4), paragraph("Anew:"), item("Rest", 5)]  # fmt: skip
    assert of_list(numbering, *items) == (
        "1. Walk\n  1. at noon\n  2. at low water\n2. Count\n  1. by eye\n\nThen:\n\n3. Write\n\nAnew:\n\n1. Rest"
    )


def test_items_with_bullets_and_of_unknown_lists_have_no_number() -> None:
    numbering = numbered(("decimal", "%1."), ("bullet", "·"), nums=num(3))
    found = of_list(numbering, item("Walk", 3), item("slowly", 3, 1), item("Count", 9), item("Rest.", 0))
    assert found == "1. Walk\n  - slowly\n- Count\n\nRest."


@pytest.mark.parametrize(
    ("form", "text", "labels"),
    [
        ("lowerLetter", "%1)", ["a)", "b)", "c)"]),
        ("upperLetter", "%1.", ["A.", "B.", "C."]),
        ("lowerRoman", "(%1)", ["(i)", "(ii)", "(iii)"]),
        ("upperRoman", "§ %1", ["§ I", "§ II", "§ III"]),
        ("decimal", "Rule %1:", ["Rule 1:", "Rule 2:", "Rule 3:"]),
        ("decimalZero", "R%1", ["R01", "R02", "R03"]),
        ("none", "", ["", "", ""]),
    ],
)
def test_items_have_the_labels_that_are_drawn_before_them(form: str, text: str, labels: list[str]) -> None:
    found = of_list(numbered((form, text), nums=num(3)), *(item("Walk", 3) for _ in labels))
    assert found.split("\n") == [f"- {label} Walk".replace("  ", " ") for label in labels]


def test_items_of_several_levels_are_labelled_by_all_of_them() -> None:
    numbering = numbered(("decimal", "%1."), ("decimal", "%1.%2"), ("lowerLetter", "%1.%2 %3)"), nums=num(3))
    items = [item("Wall", 3), item("Depth", 3, 1), item("at noon", 3, 2), item("at night", 3, 2), item("Length", 3, 1),
             item("Tides", 3), item("Depth", 3, 1), item("at noon", 3, 2)]  # fmt: skip
    assert of_list(numbering, *items).split("\n") == [
        "1. Wall", "  - 1.1 Depth", "    - 1.1 a) at noon", "    - 1.1 b) at night", "  - 1.2 Length",
        "2. Tides", "  - 2.1 Depth", "    - 2.1 a) at noon",
    ]  # fmt: skip


def test_paragraphs_that_their_style_numbers_have_their_labels_too() -> None:
    """As the clauses of contracts: directly, or by the style on which theirs is based."""
    numbering = numbered(("decimal", "%1."), ("decimal", "%1.%2"), nums=num(3))
    document = made(
        *(
            f'<w:p><w:pPr><w:pStyle w:val="{style}"/>{more}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'
            for style, text, more in (
                ("Clause", "The wall.", ""),
                ("Part", "It is kept.", ""),
                ("Part", "It is lit.", ""),
                ("Clause", "Not counted.", '<w:numPr><w:numId w:val="0"/></w:numPr>'),
                ("Clause", "The tides.", ""),
            )
        )
    )
    for style, based_on, level in (("Clause", "Normal", 0), ("Part", "Clause", 1)):
        list_ = "" if level else '<w:numId w:val="3"/>'
        said = f'<w:numPr><w:ilvl w:val="{level}"/>{list_}</w:numPr>'
        document.styles.element.append(
            parse_xml(
                f'<w:style {_NAMES} w:type="paragraph" w:styleId="{style}"><w:name w:val="{style}"/>'
                f'<w:basedOn w:val="{based_on}"/><w:pPr>{said}</w:pPr></w:style>'
            )
        )
    assert with_numbering(document, numbering).text.split("\n\n") == [
        "1. The wall.", "1.1 It is kept.", "1.2 It is lit.", "Not counted.", "2. The tides."
    ]  # fmt: skip


def style(name: str, said: str, kind: str = "paragraph") -> Any:
    return parse_xml(
        f'<w:style {_NAMES} w:type="{kind}" w:styleId="{name}"><w:name w:val="{name}"/>'
        f"<w:pPr><w:numPr>{said}</w:numPr></w:pPr></w:style>"
    )


def test_a_list_may_draw_some_of_its_levels_in_a_way_of_its_own_and_counts_on_with_the_others() -> None:
    own = (
        '<w:lvlOverride w:ilvl="1"><w:lvl w:ilvl="1"><w:numFmt w:val="lowerRoman"/><w:lvlText w:val="%1-%2"/></w:lvl>'
        "</w:lvlOverride></w:num>"
    )
    numbering = numbered(("decimal", "%1."), ("bullet", "·"), nums=num(3) + num(4).replace("</w:num>", own))
    items = [item("Walk", 3), item("slowly", 3, 1), item("Count", 4), item("by eye", 4, 1), item("Rest", 3)]
    assert of_list(numbering, *items).split("\n") == [
        "1. Walk", "  - slowly", "2. Count", "  - 2-i by eye", "3. Rest"
    ]  # fmt: skip


def test_a_list_that_is_made_by_a_style_of_lists_has_the_levels_of_that() -> None:
    numbering = numbered(("upperLetter", "%1)"), nums=num(3) + num(4).replace('"7"', '"8"'))
    numbering = numbering.replace(b'"7"><w:lvl', b'"7"><w:styleLink w:val="Steps"/><w:lvl').replace(
        b"</w:abstractNum>",
        b'</w:abstractNum><w:abstractNum w:abstractNumId="8"><w:numStyleLink w:val="Steps"/></w:abstractNum>',
    )
    assert of_list(numbering, item("Walk", 4), item("Count", 4)) == "- A) Walk\n- B) Count"
    astray = numbering.replace(b'styleLink w:val="Steps"', b'styleLink w:val="None"')
    assert of_list(astray, item("Walk", 4)) == "- Walk"


def test_paragraphs_before_which_their_style_draws_a_bullet_are_items() -> None:
    numbering = numbered(("bullet", "·"), ("bullet", "o"), nums=num(3))
    told = (("Mark", "The wall"), ("Submark", "its depth"), ("Normal", "Then."))
    document = made(
        *(
            f'<w:p><w:pPr><w:pStyle w:val="{name}"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'
            for name, text in told
        )
    )
    for level, name in enumerate(("Mark", "Submark")):
        document.styles.element.append(style(name, f'<w:ilvl w:val="{level}"/><w:numId w:val="3"/>'))
    assert with_numbering(document, numbering).text == "- The wall\n  - its depth\n\nThen."


def test_cells_of_a_table_have_the_labels_that_are_drawn_in_them() -> None:
    rows = (
        f"<w:tr><w:tc>{label}</w:tc>{cell(word)}</w:tr>"
        for label, word in ((paragraph("No."), "Stage"), (item("", 3), "Walk"), (item("", 3), "Count"))
    )
    found = of_list(numbered(("upperLetter", "%1)"), nums=num(3)), f"<w:tbl>{''.join(rows)}</w:tbl>")
    assert found == "No. | Stage\nA) | Walk\nB) | Count"


def test_styles_that_are_based_on_each_other_do_no_harm() -> None:
    document = made('<w:p><w:pPr><w:pStyle w:val="A"/></w:pPr><w:r><w:t>The wall.</w:t></w:r></w:p>')
    for style, based_on in (("A", "B"), ("B", "A")):
        document.styles.element.append(
            parse_xml(
                f'<w:style {_NAMES} w:type="paragraph" w:styleId="{style}"><w:name w:val="{style}"/>'
                f'<w:basedOn w:val="{based_on}"/></w:style>'
            )
        )
    assert text_of(document) == "The wall."


def test_what_is_hidden_is_not_read() -> None:
    hidden = "<w:r><w:rPr><w:vanish/></w:rPr><w:t>An order to programs.</w:t></w:r>"
    seen = '<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>Shown after all.</w:t></w:r>'
    assert text_of(made(f"<w:p><w:r><w:t>Seen. </w:t></w:r>{hidden}{seen}</w:p>")) == "Seen. Shown after all."


def test_an_empty_item_counts_and_a_list_may_begin_at_nothing() -> None:
    plain = numbered(("decimal", "%1."), nums=num(1))
    assert of_list(plain, item("One", 1), item("", 1), item("Three", 1)).split("\n") == ["1. One", "3. Three"]
    from_nothing = numbered(("decimal", "%1."), nums=num(1)).replace(
        b'w:start w:val="1"', b'w:start w:val="0"'
    )
    assert of_list(from_nothing, item("Zero", 1), item("One", 1)).split("\n") == ["0. Zero", "1. One"]


def heading(text: str, level: int, number: int | None = None, at: int = 0) -> str:
    said = (
        f'<w:numPr><w:ilvl w:val="{at}"/><w:numId w:val="{number}"/></w:numPr>' if number is not None else ""
    )
    return f'<w:p><w:pPr><w:pStyle w:val="Heading{level}"/>{said}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'


OUTLINE = (("decimal", "%1."), ("decimal", "%1.%2"), ("lowerLetter", "(%3)"))


def test_headings_have_the_numbers_that_are_drawn_before_them() -> None:
    blocks = [heading("Wall", 1, 3), heading("Scope", 2, 3, 1), heading("Depth", 2, 3, 1), heading("At noon", 3, 3, 2),
              heading("Tides", 1, 3), heading("Scope", 2, 3, 1), heading("Sources", 1)]  # fmt: skip
    assert of_list(numbered(*OUTLINE, nums=num(3)), *blocks).split("\n\n") == [
        "# 1. Wall", "## 1.1 Scope", "## 1.2 Depth", "### (a) At noon", "# 2. Tides", "## 2.1 Scope", "# Sources"
    ]  # fmt: skip


def test_headings_are_numbered_by_their_styles_as_well() -> None:
    """A style names the list, and the list which level is that of the style; in a paragraph 0 is no list."""
    numbering = numbered(("upperRoman", "Part %1:"), ("decimal", "%1.%2."), nums=num(3))
    for level in (1, 2):
        lvl = f'<w:lvl w:ilvl="{level - 1}">'.encode()
        numbering = numbering.replace(lvl, lvl + f'<w:pStyle w:val="Heading{level}"/>'.encode())
    made_ = made(
        *(heading(text, level) for text, level in (("Wall", 1), ("Depth", 2), ("Tides", 1))),
        heading("Sources", 1, 0),
    )
    for name in ("Heading 1", "Heading 2"):
        made_.styles[name].element.get_or_add_pPr().append(
            parse_xml(f'<w:numPr {_NAMES}><w:numId w:val="3"/></w:numPr>')
        )
    assert with_numbering(made_, numbering).text.split("\n\n") == [
        "# Part I: Wall", "## I.1. Depth", "# Part II: Tides", "# Sources"
    ]  # fmt: skip


def test_a_heading_below_one_that_was_left_out_counts_as_if_it_had_been_there() -> None:
    blocks = [heading("Scope", 2, 3, 1), heading("Wall", 1, 3)]
    found = of_list(numbered(*OUTLINE, nums=num(3)), *blocks)
    assert found == "## 1.1 Scope\n\n# 2. Wall"


def test_what_is_drawn_before_a_heading_may_be_legal_figures_or_go_on_over_chapters_or_be_nothing() -> None:
    levels = (("upperRoman", "Article %1"), ("decimal", "%1.%2"), ("bullet", "\uf0b7"))
    numbering = numbered(*levels, nums=num(3)).replace(
        b'<w:lvlText w:val="%1.%2"/>', b'<w:lvlRestart w:val="0"/><w:isLgl/><w:lvlText w:val="%1.%2"/>'
    )
    blocks = [heading("Wall", 1, 3), heading("Scope", 2, 3, 1), heading("Tides", 1, 3), heading("Depth", 2, 3, 1),
              heading("Seen", 3, 3, 2)]  # fmt: skip
    assert of_list(numbering, *blocks).split("\n\n") == [
        "# Article I Wall", "## 1.1 Scope", "# Article II Tides", "## 2.2 Depth", "### Seen"
    ]  # fmt: skip


def test_a_heading_with_a_number_is_not_the_title_of_the_document() -> None:
    blocks = heading("Wall of Mole", 1, 3), paragraph("It stands.")
    assert with_numbering(made(*blocks), numbered(*OUTLINE, nums=num(3))).title == "survey of 1931"


def test_headings_of_lists_and_levels_that_there_are_not_are_read_without_a_number() -> None:
    blocks = [heading("Wall", 1, 9), heading("Depth", 1, 3, 999_999), heading("Tides", 1, 3, 5)]
    blocks.append(heading("Sources", 1, 3).replace('<w:numId w:val="3"/>', "<w:numId/>"))
    found = of_list(numbered(*OUTLINE, nums=num(3)), *blocks)
    assert found == "# Wall\n\n# Depth\n\n# Tides\n\n# Sources"


def test_the_title_of_a_table_in_its_first_row_is_none_of_the_names_of_columns() -> None:
    rows = (("Port", "Ships", "Lost"), ("Mole", "312", "148"), ("Penryn", "418", "198"))
    title = "<w:tr>" + cell("Fleets of Cornwall", '<w:gridSpan w:val="3"/>') + "</w:tr>"
    told = "".join(f"<w:tr>{''.join(map(cell, row))}</w:tr>" for row in rows)
    assert text_of(made(f"<w:tbl>{title}{told}</w:tbl>")) == (
        "Fleets of Cornwall\n\nPort | Ships | Lost\nMole | 312 | 148\nPenryn | 418 | 198"
    )
