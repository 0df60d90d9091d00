"""Word documents: nothing of what they say is lost, wherever it stands; lists and headings have the numbers that are
drawn before them."""

from __future__ import annotations

from typing import Any

import pytest
from word import (
    NAMES,
    RELATIONS,
    W,
    cell,
    heading,
    item,
    num,
    numbered,
    of_list,
    paragraph,
    row,
    run,
    said,
    style,
    styled,
    table,
    written,
)

OLD = paragraph("The wall is old.")
FORM = (
    f"<w:sdt><w:sdtContent>{paragraph('Survey of the wall')}</w:sdtContent></w:sdt>",
    paragraph(
        f"{said('It is ')}<w:ins w:id='1'>{said('nine')}</w:ins>"
        f"<w:del w:id='2'>{run('<w:delText>eight</w:delText>')}</w:del>"
        f"<w:sdt><w:sdtContent>{said(' metres')}</w:sdtContent></w:sdt><w:fldSimple w:instr='DATE'>{said(' high')}"
        "</w:fldSimple>"
    ),
)
BOX = run(f"<w:drawing><w:txbxContent>{paragraph('Mind the gap.')}</w:txbxContent></w:drawing>")
BOTH = (
    f"<mc:AlternateContent><mc:Choice>{BOX}</mc:Choice><mc:Fallback>{BOX}</mc:Fallback></mc:AlternateContent>"
)
HIDDEN = said("An order to programs.", "<w:vanish/>"), said("Shown after all.", '<w:vanish w:val="0"/>')
NOTED = said("The wall is old.") + run('<w:footnoteReference w:id="4"/>')
NOTES = (
    f'<w:footnotes {NAMES}><w:footnote w:type="separator" w:id="0">{paragraph("-")}</w:footnote>'
    f'<w:footnote w:id="4">{paragraph("It was built in 1831.")}</w:footnote></w:footnotes>'
)
READ = {
    "a note behind the paragraph that refers to it": (
        (paragraph(NOTED), paragraph("It stands.")),
        {"footnotes": NOTES.encode()},
        "The wall is old.\n\n1 It was built in 1831.\n\nIt stands.",
    ),
    "a box, once": ((paragraph(said("The wall.") + BOTH),), {}, "The wall.\n\nMind the gap."),
    "forms, fields and insertions, and no deletions": (
        FORM,
        {},
        "Survey of the wall\n\nIt is nine metres high",
    ),
    "nothing that is hidden": ((paragraph(said("Seen. ") + "".join(HIDDEN)),), {}, "Seen. Shown after all."),
    "styles that are based on each other": (
        (styled("A", "The wall."),),
        {"styles": (style("A", "", "B"), style("B", "", "A"))},
        "The wall.",
    ),
}


@pytest.mark.parametrize(("blocks", "parts", "text"), READ.values(), ids=READ)
def test_what_stands_in_a_document_is_read(blocks: tuple[str, ...], parts: dict[str, Any], text: str) -> None:
    assert written(*blocks, **parts).text == text


STRICT = {
    RELATIONS: "http://purl.oclc.org/ooxml/officeDocument/relationships",
    W: "http://purl.oclc.org/ooxml/wordprocessingml/main",
}
MAIN = "openxmlformats-officedocument.wordprocessingml.document.main"
KINDS = {
    "strict": STRICT,
    "a template": {MAIN: "openxmlformats-officedocument.wordprocessingml.template.main"},
    "with macros": {MAIN: "ms-word.document.macroEnabled.main"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_document_of_another_kind_is_read_as_any_other(kind: str) -> None:
    def changed(name: str, data: bytes) -> bytes:
        for known, other in KINDS[kind].items():
            data = data.replace(known.encode(), other.encode())
        return data

    assert written(OLD, change=changed).text == "The wall is old."


# Lists

FIGURES = ("decimal:%1.", "decimal:%1.%2")
ANEW = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride>'
OWN = (
    '<w:lvlOverride w:ilvl="1"><w:lvl w:ilvl="1"><w:numFmt w:val="lowerRoman"/><w:lvlText w:val="%1-%2"/></w:lvl>'
    "</w:lvlOverride>"
)
LINKED = numbered("upperLetter:%1)", nums=num(3) + num(4, kind=8)).replace(
    b'"7"><w:lvl', b'"7"><w:styleLink w:val="Steps"/><w:lvl').replace(b"</w:abstractNum>",
    b'</w:abstractNum><w:abstractNum w:abstractNumId="8"><w:numStyleLink w:val="Steps"/></w:abstractNum>')  # fmt: skip
LISTS = {
    "numbers that go on behind a paragraph and begin anew": (
        numbered("decimal:%1.", "decimal:(%2)", nums=num(3) + num(4) + num(5, ANEW)),
        (item("Walk"), item("at noon", 3, 1), item("at low water", 3, 1), item("Count"), item("by eye", 3, 1),
         paragraph("Then:"), item("Write", 4), paragraph("Anew:"), item("Rest", 5)),
        "1. Walk\n  1. at noon\n  2. at low water\n2. Count\n  1. by eye\n\nThen:\n\n3. Write\n\nAnew:\n\n1. Rest",
    ),
    "bullets and unknown lists": (
        numbered("decimal:%1.", "bullet:·"), (item("Walk"), item("slowly", 3, 1), item("Count", 9), item("Rest.", 0)),
        "1. Walk\n  - slowly\n- Count\n\nRest.",
    ),
    "several levels": (
        numbered(*FIGURES, "lowerLetter:%1.%2 %3)"),
        (item("Wall"), item("Depth", 3, 1), item("at noon", 3, 2), item("at night", 3, 2), item("Length", 3, 1),
         item("Tides"), item("Depth", 3, 1), item("at noon", 3, 2)),
        "1. Wall\n  - 1.1 Depth\n    - 1.1 a) at noon\n    - 1.1 b) at night\n  - 1.2 Length\n"
        "2. Tides\n  - 2.1 Depth\n    - 2.1 a) at noon",
    ),
    "some levels drawn in a way of its own": (
        numbered("decimal:%1.", "bullet:·", nums=num(3) + num(4, OWN)),
        (item("Walk"), item("slowly", 3, 1), item("Count", 4), item("by eye", 4, 1), item("Rest")),
        "1. Walk\n  - slowly\n2. Count\n  - 2-i by eye\n3. Rest",
    ),
    "a list that is made by a style of lists": (LINKED, (item("Walk", 4), item("Count", 4)), "- A) Walk\n- B) Count"),
    "by one that there is not": (
        LINKED.replace(b'styleLink w:val="Steps"', b'styleLink w:val="None"'), (item("Walk", 4),), "- Walk",
    ),
    "in the cells of a table": (
        numbered("upperLetter:%1)"),
        (table(row("No.", "Stage"), row(cell(item("")), "Walk"), row(cell(item("")), "Count")),),
        "No. | Stage\nA) | Walk\nB) | Count",
    ),
    "an empty item counts": (numbered("decimal:%1."), (item("One"), item(""), item("Three")), "1. One\n3. Three"),
    "it may begin at nothing": (
        numbered("decimal:%1.").replace(b'w:start w:val="1"', b'w:start w:val="0"'), (item("Zero"), item("One")),
        "0. Zero\n1. One",
    ),
    "headings": (
        numbered(*FIGURES, "lowerLetter:(%3)"),
        (heading("Wall", 1, 3), heading("Scope", 2, 3, 1), heading("Depth", 2, 3, 1), heading("At noon", 3, 3, 2),
         heading("Tides", 1, 3), heading("Scope", 2, 3, 1), heading("Sources", 1)),
        "# 1. Wall\n\n## 1.1 Scope\n\n## 1.2 Depth\n\n### (a) At noon\n\n# 2. Tides\n\n## 2.1 Scope\n\n# Sources",
    ),
    "a heading below one that was left out": (
        numbered(*FIGURES), (heading("Scope", 2, 3, 1), heading("Wall", 1, 3)), "## 1.1 Scope\n\n# 2. Wall",
    ),
    "legal figures that go on over chapters, and nothing": (
        numbered("upperRoman:Article %1", "decimal:%1.%2", "bullet:\uf0b7").replace(
            b'<w:lvlText w:val="%1.%2"/>', b'<w:lvlRestart w:val="0"/><w:isLgl/><w:lvlText w:val="%1.%2"/>'),
        (heading("Wall", 1, 3), heading("Scope", 2, 3, 1), heading("Tides", 1, 3), heading("Depth", 2, 3, 1),
         heading("Seen", 3, 3, 2)),
        "# Article I Wall\n\n## 1.1 Scope\n\n# Article II Tides\n\n## 2.2 Depth\n\n### Seen",
    ),
    "lists and levels that there are not": (
        numbered(*FIGURES),
        (heading("Wall", 1, 9), heading("Depth", 1, 3, 999_999), heading("Tides", 1, 3, 5),
         heading("Sources", 1, 3).replace('<w:numId w:val="3"/>', "<w:numId/>")),
        "# Wall\n\n# Depth\n\n# Tides\n\n# Sources",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("numbering", "blocks", "text"), LISTS.values(), ids=LISTS)
def test_items_and_headings_have_the_numbers_that_are_seen_before_them(
    numbering: bytes, blocks: tuple[str, ...], text: str
) -> None:
    assert written(*blocks, numbering=numbering).text == text


LABELS = {
    "lowerLetter:%1)": "a) b) c)",
    "upperLetter:%1.": "A. B. C.",
    "lowerRoman:(%1)": "(i) (ii) (iii)",
    "upperRoman:§%1": "§I §II §III",
    "decimal:Rule%1:": "Rule1: Rule2: Rule3:",
    "decimalZero:R%1": "R01 R02 R03",
}


@pytest.mark.parametrize("form", LABELS)
def test_items_have_the_labels_that_are_drawn_before_them(form: str) -> None:
    text = "\n".join(f"- {label} Walk" for label in LABELS[form].split(" "))
    assert written(*[item("Walk")] * 3, numbering=numbered(form)).text == text
    assert written(item("Walk"), numbering=numbered("none:")).text == "- Walk"


def test_paragraphs_that_their_style_numbers_have_their_labels_too() -> None:
    """As the clauses of contracts: directly, or by the style on which theirs is based."""
    level = '<w:numPr><w:ilvl w:val="1"/></w:numPr>'
    styles = style("Clause", of_list(3)), style("Part", level, "Clause")
    none = styled("Clause", "Not counted.", '<w:numPr><w:numId w:val="0"/></w:numPr>')
    clauses = styled("Clause", "The wall."), styled("Part", "It is kept."), styled("Part", "It is lit.")
    blocks = (*clauses, none, styled("Clause", "The tides."))
    text = "1. The wall.\n\n1.1 It is kept.\n\n1.2 It is lit.\n\nNot counted.\n\n2. The tides."
    assert written(*blocks, styles=styles, numbering=numbered(*FIGURES)).text == text
    bullets = numbered("bullet:·", "bullet:o")
    styles = style("Mark", of_list(3)), style("Submark", of_list(3, 1))
    marks = styled("Mark", "The wall"), styled("Submark", "its depth"), styled("Normal", "Then.")
    assert written(*marks, styles=styles, numbering=bullets).text == "- The wall\n  - its depth\n\nThen."


def test_headings_are_numbered_by_their_styles_as_well() -> None:
    """A style names the list, and the list which level is that of the style; in a paragraph 0 is no list."""
    numbering = numbered("upperRoman:Part %1:", "decimal:%1.%2.")
    for level in (1, 2):
        lvl = f'<w:lvl w:ilvl="{level - 1}">'.encode()
        numbering = numbering.replace(lvl, lvl + f'<w:pStyle w:val="Heading{level}"/>'.encode())
    own = b'<w:numPr><w:numId w:val="3"/></w:numPr>'

    def changed(name: str, data: bytes) -> bytes:
        if name != "word/styles.xml":
            return data
        for level in (b"1", b"2"):
            before, found, after = data.partition(b'w:styleId="Heading' + level + b'"')
            data = before + found + after.replace(b"<w:pPr>", b"<w:pPr>" + own, 1)
        return data

    blocks = [heading(text, level) for text, level in (("Wall", 1), ("Depth", 2), ("Tides", 1))]
    blocks.append(heading("Sources", 1, 0))
    text = "# Part I: Wall\n\n## I.1. Depth\n\n# Part II: Tides\n\n# Sources"
    assert written(*blocks, change=changed, numbering=numbering).text == text


def test_a_heading_with_a_number_is_not_the_title_of_the_document() -> None:
    blocks = heading("Wall of Mole", 1, 3), paragraph("It stands.")
    assert written(*blocks, numbering=numbered(*FIGURES)).title == "survey of 1931"
