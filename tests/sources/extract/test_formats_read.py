"""Each format read as a demanding reader would: the whole text, nothing of the site, tables and dates right."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import made
import pytest

from deep_research.sources.extract.document import Document
from deep_research.sources.extract.plaintext import UnreadableError
from deep_research.sources.extract.readers import read
from deep_research.text.rows import clauses

INPUTS = Path(__file__).parents[2] / "data" / "readers"


def row(document: Document, line: str) -> list[str]:
    start = document.text.index(line)
    return clauses(document.text, start, start + len(line))


def of(name: str, raw: bytes | str) -> Document:
    return read(raw.encode() if isinstance(raw, str) else raw, "", name)


# Web pages


def test_comments_in_a_listing_are_part_of_it_and_a_day_in_the_text_is_none_of_publication() -> None:
    listing = "<pre><span class='comment'># why\n</span>run()\n\nstop()</pre>"
    page = made.web_page(
        f"<main><h1>H</h1><p>Published 3 May 2019. {'Read this first. ' * 20}</p>{listing}</main>"
    )
    assert "```\n# why\nrun()\n\nstop()\n```" in page.text
    assert page.published is None


@pytest.mark.parametrize(
    ("media_type", "head"),
    [
        ("text/html; charset=ISO-8859-1", ""),
        ("text/html", "<meta charset=windows-1252>"),
        ("text/html; charset=utf-8", "<meta charset=windows-1252>"),
    ],
)
def test_the_charset_of_header_or_page_is_followed(media_type: str, head: str) -> None:
    page = f"<html><head>{head}</head><body><p>{'Café à la crème. ' * 20}</p></body></html>"
    assert "Café à la crème." in read(page.encode("cp1252"), media_type).text


# PDF and Word


def test_a_word_document_is_read_in_order() -> None:
    document = of("survey.docx", made.document())
    assert document.text == (INPUTS / "survey.expected.txt").read_text(encoding="utf-8").rstrip("\n")
    assert (document.title, document.author) == ("Survey of the inner wall", "Ines Okafor")
    assert row(document, "East | 120 m | 31") == ["Section: East; Length: 120 m; Cracks: 31"]


# Tables


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_a_table_of_any_dialect_is_rows_with_headers(mark: str) -> None:
    rows = ("Station", "Highest", "Note"), ("Mole", "3.40", ""), ("Skerry", "3.12", '"wet, windy"')
    document = of("tides.csv", "\r\n".join(mark.join(cells) for cells in rows))
    assert document.text == "Station | Highest | Note\nMole | 3.40 |\nSkerry | 3.12 | wet, windy"
    assert row(document, "Skerry | 3.12 | wet, windy") == ["Station: Skerry; Highest: 3.12; Note: wet, windy"]


TIDES = "Station,Highest,Year\nMole,3.40,1831\nSkerry,3.12,1850"
ROWS = "Mole | 3.40 | 1831\nSkerry | 3.12 | 1850"
TABLES = {
    "numbers between spaces": ("x  y  z\n1  2.5 -3\n10 20  1e3\n", "x | y | z\n1 | 2.5 | -3\n10 | 20 | 1e3"),
    "sizes for names": ("stop,51,53\nMole,7:00,8:00\nKay,7:08,8:08\n",
        "stop | 51 | 53\nMole | 7:00 | 8:00\nKay | 7:08 | 8:08"),
    "a title above": (f"Tides of Cornwall,,\n{TIDES}\n", f"Tides of Cornwall\n\nStation | Highest | Year\n{ROWS}"),
    "a fact above": (f"1831,,\n{TIDES}\n", f"| | |\n1831 | |\nStation | Highest | Year\n{ROWS}"),
    "two facts above": (f"Mole,3.40,\n{TIDES}\n", f"| | |\nMole | 3.40 |\nStation | Highest | Year\n{ROWS}"),
}  # fmt: skip


@pytest.mark.parametrize(("raw", "text"), TABLES.values(), ids=TABLES)
def test_a_first_row_is_names_of_columns_a_title_or_facts(raw: str, text: str) -> None:
    assert of("tides.csv", raw).text == text


# JSON

BODY = "<p>The wall is <b>nine</b> metres high.</p><p style='display:none'>An order.</p><p>It stands.</p>"
DEEP = {"name": "Hydra", "parts": [{"no": 1, "of": "brass"}, {"no": 2, "of": "iron"}]}
WARRANTY = {"months": 36, "of": {"seals": True}}
AT = {"name": {"common": "Austria"}, "cities": [["Graz", 291072], ["Linz", 205726]]}
JSON: list[tuple[object, str]] = [
    ({"body": BODY, "size": "<9 m>", "sign": "<img src='x'>", "note": "a </b> tag"},
     "- body: The wall is nine metres high. It stands.\n- size: <9 m>\n- sign: <img src='x'>\n- note: a </b> tag"),
    ([{"name": "Hydra", "warranty": WARRANTY, "sites": ["Graz", "Linz"]},
      {"name": "Nix", "warranty": {"months": 12}, "sites": []}],
     "name | warranty months | warranty of seals | sites\nHydra | 36 | yes | Graz, Linz\nNix | 12 | |"),
    ({"pumps": [DEEP, {"id": 7}]},
     "# pumps\n\n## Hydra\n\n### parts\n\nno | of\n1 | brass\n2 | iron\n\n## 2\n\n- id: 7"),
    ({"AT": AT, "none": None},
     "# AT\n\n## name\n\n- common: Austria\n\n## cities\n\n- 1: Graz, 291072\n- 2: Linz, 205726"),
    ([{"who": {"called": "Ann"}, "had": [{"a": 1}]}, {"who": {"called": "Ben"}, "had": []}],
     "# Ann\n\n## who\n\n- called: Ann\n\n## had\n\n### 1\n\n- a: 1\n\n# Ben\n\n## who\n\n- called: Ben"),
    ([{"a": 1, "b" * 50: 2}, {"a": 3, "b" * 50: 4}],
     f"# 1\n\n- a: 1\n- {'b' * 50}: 2\n\n# 2\n\n- a: 3\n- {'b' * 50}: 4"),
    ({"countries": [{"name": "Rome", "capital": "Rome", "has": [{"a": 1}]}, {"name": "Ur", "has": []}]},
     "# countries\n\n## Rome\n\n- capital: Rome\n\n### has\n\n#### 1\n\n- a: 1\n\n## Ur"),
    (["a", "b"], "- a, b"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "text"), JSON)
def test_records_of_json_are_rows_where_they_fit_and_else_sections_by_their_names(
    value: object, text: str
) -> None:
    told = of("x.json", json.dumps(value)).text
    assert "\n".join(filter(None, told.split("\n"))) == "\n".join(filter(None, text.split("\n")))
    with pytest.raises(UnreadableError):
        of("x.json", '{"a": {}, "b": []}')


def test_objects_of_json_are_sections_with_title_author_and_day() -> None:
    station = {"name": "Mole", "open": True}
    readings = [{"day": 1, "level": 3.4}, {"day": 2, "level": None}]
    head = {"title": "Tides", "date": "2024-03-05", "author": {"name": "I. Okafor"}}
    document = of(
        "x.json", json.dumps({**head, "station": station, "tags": ["sea", "wall"], "readings": readings})
    )
    assert (document.title, document.author, document.published) == ("Tides", "I. Okafor", date(2024, 3, 5))
    assert document.text == (
        "- title: Tides\n- date: 2024-03-05\n- tags: sea, wall\n\n# author\n\n- name: I. Okafor\n\n# station\n\n"
        "- name: Mole\n- open: yes\n\n# readings\n\nday | level\n1 | 3.4\n2 |"
    )


def test_lines_of_json_are_read_a_cut_one_is_left_out_and_figures_are_told_as_they_are_written() -> None:
    lines = "".join(f'{{"name": "n{n}", "level": {n}}}\n' for n in range(20))
    text = of("x.jsonl", f'{lines}{{"name": "n').text
    assert text.startswith("name | level\nn0 | 0\n")
    assert text.endswith("n19 | 19")
    raw = '[{"rate": 0.100, "scale": 0.00008444750807826456}, {"rate": 1.50e3, "scale": 12345678901234567890.5}]'
    rows = "rate | scale\n0.100 | 0.00008444750807826456\n1.50e3 | 12345678901234567890.5"
    assert of("x.json", raw).text == rows
    assert of("x.jsonl", '{"rate": 2.0}\n{"rate": 3.10}').text.endswith("3.10")


@pytest.mark.parametrize("depth", [100, 100_000])
def test_json_that_is_nested_too_deeply_is_refused(depth: int) -> None:
    with pytest.raises(UnreadableError, match="nested") as caught:
        of("x.json", "[" * depth + "1" + "]" * depth)
    assert caught.value.limit == "size"


# Feeds

DAY = "Fri, 14 Mar 2025 08:00:00 GMT"
ITEMS = {
    "<description>Nails &nbsp;& ropes.</description>": "Nails & ropes.",
    "<description>It <b>holds<br></description>": "It holds",
    f"<pubDate>{DAY}</pubDate><description>&lt;p&gt;All of it.&lt;/p&gt;</description>": f"{DAY}\n\nAll of it.",
}


@pytest.mark.parametrize("item", ITEMS)
def test_a_feed_is_its_entries_well_formed_or_not(item: str) -> None:
    head = "<?xml version='1.0'?><rss><channel><title>News & more</title>"
    document = of("a.rss", f"{head}<item><title>Smith & Sons</title>{item}</item></channel></rss>")
    assert document.title == "News & more"
    assert document.text == f"# News & more\n\n## Smith & Sons\n\n{ITEMS[item]}"
    assert document.published == (date(2025, 3, 14) if DAY in item else None)
    with pytest.raises(UnreadableError, match="damaged XML"):
        of("a.xml", "<?xml version='1.0'?><a>B & C</a>")


def test_the_language_is_told_when_it_is_clear() -> None:
    german = "Die Mauer wurde im Winter gebaut und ist nach dem Sturm nicht mehr so hoch wie sie war. " * 3
    languages = [
        of("a.txt", text).language for text in (german, "灯台は1841年に建てられた。", "4711 0815 ok")
    ]
    assert languages == ["de", "ja", None]
