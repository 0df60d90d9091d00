"""Tables of Word with what stands in their cells: boxes, signs that are ticked, pictures and formulas."""

from __future__ import annotations

import pytest
from word import cell, paragraph, row, run, said, table, written

_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"
_M = "http://schemas.openxmlformats.org/officeDocument/2006/math"


def lines(*told: str, breaks: bool = False) -> str:
    """A cell of paragraphs, or of one with breaks."""
    if breaks:
        return cell(paragraph(run("<w:br/>".join(f"<w:t>{line}</w:t>" for line in told))))
    return cell("".join(map(paragraph, told)))


GOES_ON = cell("", "<w:vMerge/>")
TABLES = {
    "merged cells keep their columns, and a table within a cell its words": (
        (row("Section", cell("Size", '<w:gridSpan w:val="2"/>')),
         row(cell("East", '<w:vMerge w:val="restart"/>'), "120 m", "old"),
         row(GOES_ON, "80 m", cell(table(row("cracks", "12")) + paragraph("found")))),
        "Section | Size |\nEast | 120 m | old\nEast | 80 m | cracks 12; found",
    ),
    "merged cells that do not fit each other": (
        (row("East", "120 m"), row(GOES_ON, GOES_ON, GOES_ON, "80 m")), "East | 120 m\nEast | 120 m | | 80 m",
    ),
    "paragraphs of a cell that stand beside nothing": (
        (row(lines("Kind of", "work", breaks=True), lines("Number", "of them", breaks=True)),
         row(lines("Work shops", "2 sheds", "A crane.", "It is old"), lines("12", "3"))),
        "Kind of work | Number of them\nWork shops; 2 sheds; A crane. It is old | 12; 3",
    ),
    "its title in the first row": (
        (row(cell("Fleets of Cornwall", '<w:gridSpan w:val="3"/>')), row("Port", "Ships", "Lost"),
         row("Mole", "312", "148"), row("Penryn", "418", "198")),
        "Fleets of Cornwall\n\nPort | Ships | Lost\nMole | 312 | 148\nPenryn | 418 | 198",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("rows", "text"), TABLES.values(), ids=TABLES)
def test_a_table_is_read_in_rows(rows: tuple[str, ...], text: str) -> None:
    assert written(table(*rows)).text == text


def in_a_cell(inside: str) -> str:
    """What a cell says that has this in it."""
    found = written(table(row("Port", "Dock", "Crane"), row("Mole", cell(paragraph(inside)), "2"))).text
    head, _, last = found.partition("\n")
    assert head == "Port | Dock | Crane"
    return last.removeprefix("Mole |").removesuffix("| 2").strip()


def box(*settings: str) -> str:
    form = f"<w:ffData><w:checkBox>{''.join(settings)}</w:checkBox></w:ffData>"
    begin = run(f'<w:fldChar w:fldCharType="begin">{form}</w:fldChar>')
    return begin + run("<w:instrText>FORMCHECKBOX</w:instrText>")


def sign(font: str, char: str) -> str:
    return run(f'<w:sym w:font="{font}" w:char="{char}"/>')


WINGDINGS = "<w:rFonts w:ascii='Wingdings'/>"


@pytest.mark.parametrize(
    ("inside", "told"),
    [
        (box("<w:default w:val='0'/>"), "☐"),
        (box("<w:default w:val='0'/>", "<w:checked/>"), "☒"),
        (box("<w:default w:val='1'/>"), "☒"),
        (box("<w:default w:val='1'/>", "<w:checked w:val='0'/>"), "☐"),
        (sign("Wingdings", "F0FC"), "✓"),
        (sign("Wingdings", "00FB"), "✗"),
        (sign("Wingdings 2", "F052"), "☑"),
        (sign("Symbol", "F0B1"), "±"),
        (said("\u00fc", WINGDINGS), "✓"),
        (said("\uf0fc", WINGDINGS), "✓"),
        (said("\u00fc"), "\u00fc"),
        (sign("Webdings", "F0FC"), ""),
        (sign("Symbol", "x"), ""),
    ],
)
def test_boxes_and_signs_are_read_as_they_are_drawn(inside: str, told: str) -> None:
    assert in_a_cell(inside) == told


@pytest.mark.parametrize(
    ("called", "told"),
    [("Yes", "Yes"), ("A green tick on a white ground, as in the legend", ""), ("Owner avatar", "")],
)
def test_a_cell_of_nothing_but_a_picture_says_what_it_is_called(called: str, told: str) -> None:
    inside = f'<p:docPr id="1" name="Picture 1" descr="{called}"/>'
    picture = run(f'<w:drawing><p:inline xmlns:p="{_DRAWING}">{inside}</p:inline></w:drawing>')
    assert in_a_cell(picture) == told
    assert written(paragraph("Old."), paragraph(picture)).text == "Old."


def bold(text: str) -> str:
    return cell(paragraph(said(text, "<w:b/>")))


REPEATED = "<w:trPr><w:tblHeader{}/></w:trPr>"
NAMED = {
    "plain": (row("Tenant", "Lucia Ferrari"), cell, False),
    "bold label": (row(bold("Tenant"), "Lucia Ferrari"), bold, False),
    "bold column": (row(bold("Tenant"), bold("Lucia Ferrari")), bold, False),
    "bold row": (row(bold("What"), bold("How much")), cell, True),
    "row of each page": (row(REPEATED.format(""), "What", "How much"), cell, True),
    "row of no page": (row(REPEATED.format(' w:val="0"'), "Tenant", "Lucia Ferrari"), cell, False),
}


@pytest.mark.parametrize("case", NAMED)
def test_a_list_of_labels_and_values_has_no_names_of_columns_that_are_not_marked(case: str) -> None:
    first, label, is_named = NAMED[case]
    values = ("Gas meter", "04418 m3"), ("Deposit", "1,350 euros"), ("Keys", "none")
    found = written(table(first, *(row(label(name), value) for name, value in values)))
    assert found.text.startswith("| | |\n") is not is_named


# Formulas


def letters(text: str) -> str:
    return text if "<" in text else f"<m:r><m:t>{text}</m:t></m:r>"


def piece(kind: str, settings: str = "", **parts: str) -> str:
    inside = "".join(f"<m:{name}>{letters(part)}</m:{name}>" for name, part in parts.items())
    return f"<m:{kind}><m:{kind}Pr>{settings}</m:{kind}Pr>{inside}</m:{kind}>"


def formula(inside: str) -> str:
    return f'<m:oMath xmlns:m="{_M}">{inside}</m:oMath>'


def test_a_formula_is_read_within_its_sentence_and_its_cell_whatever_it_lacks() -> None:
    area = formula(letters("A=π") + piece("sSup", e="r", sup="2"))
    sentence = paragraph(said("Here ") + area + said(" is the area."))
    found = written(sentence, table(*[row("Area", cell(paragraph(area)))] * 2), paragraph("So it is."))
    assert found.text == "Here A=πr^2 is the area.\n\nArea | A=πr^2\nArea | A=πr^2\n\nSo it is."
    empty = formula("<m:f/><m:rad/><m:nary/><m:d/><m:m/><m:acc/>")
    assert written(paragraph(empty), paragraph("So it is.")).text.endswith("So it is.")


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        (piece("f", num="1", den="2"), "1/2"),
        (piece("f", num="a+b", den="2c-1"), "(a+b)/(2c-1)"),
        (piece("f", num="1", den="z") + letters("dz"), "1/z dz"),
        (piece("f", '<m:type m:val="noBar"/>', num="n", den="k"), "n over k"),
        (piece("sSup", e="e", sup="x+1"), "e^(x+1)"),
        (piece("sSup", e="x", sup="k") + letters("y"), "x^k y"),
        (piece("sSub", e="x", sub="i"), "x_i"),
        (piece("sSubSup", e="x", sub="i", sup="2"), "x_i^2"),
        (piece("sSup", e=piece("d", e="a+b"), sup="2"), "(a+b)^2"),
        (piece("d", '<m:begChr m:val="["/><m:endChr m:val=")"/>', e="0;1"), "[0;1)"),
        (piece("rad", e="n"), "√(n)"),
        (piece("rad", deg="3", e="n"), "√[3](n)"),
        (piece("nary", '<m:chr m:val="∑"/>', sub="k=1", sup="n", e="k"), "∑_(k=1)^n k"),
        (piece("nary", e="x"), "∫ x"),
        (piece("func", fName="sin", e="x"), "sin x"),
        (piece("limLow", e="lim", lim="n→∞"), "lim_(n→∞)"),
        (piece("eqArr", e="x=1"), "x=1"),
        (piece("acc", e="x"), "x\u0302"),
    ],
)
def test_what_stands_above_and_below_is_told_apart_in_a_line(inside: str, text: str) -> None:
    assert written(paragraph(formula(letters("y=") + inside))).text == f"y={text}"
