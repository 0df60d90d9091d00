"""Formulas of Word documents are read where they stand, in a line."""

from __future__ import annotations

import pytest
from test_docx import cell, made, paragraph, text_of

_M = "http://schemas.openxmlformats.org/officeDocument/2006/math"


def run(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


def piece(kind: str, settings: str = "", **parts: str) -> str:
    inside = "".join(
        f"<m:{name}>{part if '<' in part else run(part)}</m:{name}>" for name, part in parts.items()
    )
    return f"<m:{kind}><m:{kind}Pr>{settings}</m:{kind}Pr>{inside}</m:{kind}>"


def formula(inside: str) -> str:
    return f'<m:oMath xmlns:m="{_M}">{inside}</m:oMath>'


def test_a_formula_is_read_within_its_sentence_and_its_cell() -> None:
    area = formula(run("A=π") + piece("sSup", e="r", sup="2"))
    said = f"<w:p><w:r><w:t xml:space='preserve'>Here </w:t></w:r>{area}" \
           "<w:r><w:t xml:space='preserve'> is the area.</w:t></w:r></w:p>"  # fmt: skip
    row = f"<w:tr>{cell('Area')}{cell(f'<w:p>{area}</w:p>')}</w:tr>"
    assert text_of(made(said, f"<w:tbl>{row}{row}</w:tbl>", paragraph("So it is."))) == (
        "Here A=πr^2 is the area.\n\nArea | A=πr^2\nArea | A=πr^2\n\nSo it is."
    )


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        (piece("f", num="1", den="2"), "1/2"),
        (piece("f", num="a+b", den="2c-1"), "(a+b)/(2c-1)"),
        (piece("f", num="1", den="z") + run("dz"), "1/z dz"),
        (piece("f", '<m:type m:val="noBar"/>', num="n", den="k"), "n over k"),
        (piece("sSup", e="e", sup="x+1"), "e^(x+1)"),
        (piece("sSup", e="x", sup="k") + run("y"), "x^k y"),
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
    assert text_of(made(f"<w:p>{formula(run('y=') + inside)}</w:p>")) == f"y={text}"


def test_a_formula_whose_pieces_are_empty_does_no_harm() -> None:
    empty = formula("<m:f/><m:rad/><m:nary/><m:d/><m:m/><m:acc/>")
    assert text_of(made(f"<w:p>{empty}</w:p>", paragraph("So it is."))).endswith("So it is.")
