"""An exponent does not run into its number, in whatever format it is written; what refers to a note is no exponent."""

from __future__ import annotations

import re

import pytest
from word import paragraph, said, written

from deep_research.sources.extract.readers import read
from deep_research.text.units import measured

CASES = [
    ("It is 5 × 10<sup>6</sup> km away.", "It is 5 × 10⁶ km away."),
    ("It weighs 10<sup>-3</sup> g.", "It weighs 10⁻³ g."),
    ("It weighs 10<sup>−3</sup> g.", "It weighs 10⁻³ g."),
    ("It has 2<sup>n</sup> ends.", "It has 2ⁿ ends."),
    ("It grew by 10<sup>0.5</sup> in all.", "It grew by 10^0.5 in all."),
    ("It covers 40 m<sup>2</sup> of ground.", "It covers 40 m² of ground."),
    ("It holds 40km<sup>3</sup> of water.", "It holds 40km³ of water."),
    ("It falls at 9.81 m s<sup>-2</sup> there.", "It falls at 9.81 m s⁻² there."),
    ("It takes 3 mol<sup>-1</sup> of it.", "It takes 3 mol⁻¹ of it."),
    ("It is c<sup>2</sup> times the mass.", "It is c² times the mass."),
    ("It is (1 + 0.05)<sup>10</sup> of it.", "It is (1 + 0.05)¹⁰ of it."),
    ("It is SO<sub>4</sub><sup>2−</sup> in water.", "It is SO4²⁻ in water."),
    ("It is 101<sub>2</sub> in twos.", "It is 101₂ in twos."),
    ("It counted 5,432<sup>1</sup> ships.", "It counted 5,432¹ ships."),
    ("It is CO<sub>2</sub> alone.", "It is CO2 alone."),
    ("It is Na<sup>+</sup> alone.", "It is Na+ alone."),
    ("It is of the 19<sup>th</sup> century.", "It is of the 19th century."),
    ("It is of the 2<sup>nd</sup> and the 1<sup>er</sup> age.", "It is of the 2nd and the 1er age."),
    ("It is an old wall<sup>1</sup> of granite.", "It is an old wall1 of granite."),
    ("It is 412 metres<sup>2</sup> long.", "It is 412 metres2 long."),
    ("It is an old wall.<sup>12</sup> It stands.", "It is an old wall.12 It stands."),
    ("It is old (see above)<sup>2</sup> and stands.", "It is old (see above)2 and stands."),
]


def html(words: str) -> str:
    return read(f"<body><p>{words}</p></body>".encode(), "text/html").text


def markdown(words: str) -> str:
    return read(words.encode(), "text/markdown").text


def rst(words: str) -> str:
    return read(re.sub(r"<su([bp])>(.*?)</su[bp]>", r"\\ :su\1:`\2`\\ ", words).encode(), "", "wall.rst").text


def word(words: str) -> str:
    raised = {"sub": '<w:vertAlign w:val="subscript"/>', "sup": '<w:vertAlign w:val="superscript"/>'}
    pieces = re.findall(r"<(su[bp])>(.*?)</su[bp]>|([^<]+)", words)
    return written(
        paragraph("".join(said(inside or plain, raised.get(tag, "")) for tag, inside, plain in pieces))
    ).text


@pytest.mark.parametrize("reader", [html, markdown, rst, word])
@pytest.mark.parametrize(("words", "text"), CASES)
def test_exponents_are_told_as_such(reader, words: str, text: str) -> None:
    assert reader(words) == text


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("It is 5 &times; 10<sup>&minus;6</sup> m.", "It is 5 × 10⁻⁶ m."),
        ("It is <i>x</i><sup>2</sup> of it.", "It is x² of it."),
        ('It is 10<sup class="e"><b>6</b></sup> m.', "It is 10⁶ m."),
        ('It is <a href="/n">5 × 10<sup>6</sup> m</a> far.', "It is 5 × 10⁶ m far."),
        ('In 1871<sup><a href="#n1">2</a></sup> it fell.', "In 1871² it fell."),
        ('The wall fell.<sup><a href="#n1">2</a></sup> It is old.', "The wall fell. It is old."),
        ('The wall<a href="#n1"><sup>2</sup></a> fell.', "The wall fell."),
        ('In 1871<sup><a href="#n1">[2]</a></sup> it fell.', "In 1871 it fell."),
        ("It is 10<sup hidden>6</sup> m.", "It is 10 m."),
        ("It is 10<sup>6", "It is 10⁶"),
    ],
)
def test_notes_of_web_pages_do_not_run_into_figures_either(words: str, text: str) -> None:
    assert html(words) == text


def test_exponents_in_names_of_columns_are_told_and_in_code_stay_as_they_are_written() -> None:
    table = (
        "<table><tr><th rowspan=2>Lake</th><th colspan=2>Area</th></tr>"
        "<tr><th><p>km<sup>2</sup></p></th><th>10<sup>3</sup> acres</th></tr>"
        "<tr><td>Mole</td><td>12</td><td>3</td></tr></table>"
    )
    assert "Area, km² | Area, 10³ acres" in html(f"{table}")
    assert "10³ acres" in markdown(f"# Lakes\n\n{table}\n")
    assert markdown("Write `10<sup>6</sup>` for it.") == "Write 10<sup>6</sup> for it."


@pytest.mark.parametrize("words", ["10⁶ m of rope", "22 km² of forest"])
def test_what_has_an_exponent_is_taken_for_no_other_value(words: str) -> None:
    assert list(measured(words)) == []


def test_hostile_exponents_take_no_time(seconds) -> None:
    for piece in ("10<sup>", "<sup>6</sup>", "1<sup><b>", "<i>" * 50 + "<sup>2</sup>"):
        assert seconds(1.0, lambda piece=piece: html(piece * (300_000 // len(piece)))) < 1.0
