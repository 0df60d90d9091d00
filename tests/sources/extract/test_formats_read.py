"""Each format read as a demanding reader would: the whole text, nothing of the site, tables and dates right."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import made
import pytest

from deep_research.errors import ExtractionError
from deep_research.sources.extract import Document, Extractor
from deep_research.text.plain import clean
from deep_research.text.rows import clauses

INPUTS = Path(__file__).parents[2] / "data" / "readers"


@pytest.fixture(scope="module")
def extractor() -> Iterator[Extractor]:
    one = Extractor()
    yield one
    one.close()


def row(document: Document, line: str) -> list[str]:
    start = document.text.index(line)
    return clauses(document.text, start, start + len(line))


def test_rows_of_a_page_find_their_headers(extractor: Extractor) -> None:
    document = extractor.submit((INPUTS / "government.html").read_bytes(), media_type="text/html").result()
    assert row(document, "Mole | 3.40 | 0.397 | 2") == [
        "Station: Mole; Highest: 3.40; Mean: 0.397; Days missing: 2"
    ]


def test_a_day_in_the_text_is_not_the_day_of_publication(extractor: Extractor) -> None:
    page = (
        b"<html><body><main><h1>Works</h1><p>Published 3 May 2019. " + b"The works were done by then. " * 20
    )
    assert extractor.submit(page, media_type="text/html").result().published is None


def test_comments_in_a_listing_are_part_of_it(extractor: Extractor) -> None:
    page = "<main><h1>H</h1><p>{}</p><pre><span class='comment'># why\n</span>run()\n\nstop()</pre></main>"
    text = (
        extractor.submit(page.format("Read this first. " * 20).encode(), media_type="text/html").result().text
    )
    assert "```\n# why\nrun()\n\nstop()\n```" in text


@pytest.mark.parametrize(
    ("page", "why"),
    [
        (
            "<div id='root'></div><noscript>You need to enable JavaScript to run this app.</noscript>",
            "built by scripts",
        ),
        ("<h1>Just a moment...</h1><p>Checking your browser before you go on.</p>", "captcha"),
        (
            "<h1>Before you continue to Search</h1><p>We use cookies and data.</p><button>Accept all</button>",
            "consent",
        ),
        (
            "<h1>Members</h1><p>Please log in to view this page.</p><form><input type=password></form>",
            "log in",
        ),
    ],
)
def test_a_page_without_a_text_says_what_is_there_instead(extractor: Extractor, page: str, why: str) -> None:
    with pytest.raises(ExtractionError, match=why):
        extractor.submit(
            f"<!doctype html><html><body>{page}</body></html>".encode(), media_type="text/html"
        ).result()


def test_a_page_where_one_must_log_in_to_reply_is_read(extractor: Extractor) -> None:
    page = "<h1>Costs</h1><p>The bridge cost 380 million pounds.</p><p>You must log in to reply.</p>"
    assert "380 million" in extractor.submit(page.encode(), media_type="text/html").result().text


@pytest.mark.parametrize(
    ("media_type", "head"),
    [
        ("text/html; charset=ISO-8859-1", ""),
        ("text/html", "<meta charset=windows-1252>"),
        ("text/html; charset=utf-8", "<meta charset=windows-1252>"),
    ],
)
def test_the_charset_of_header_or_page_is_followed(extractor: Extractor, media_type: str, head: str) -> None:
    page = f"<html><head>{head}</head><body><p>{'Café à la crème. ' * 20}</p></body></html>"
    assert "Café à la crème." in extractor.submit(page.encode("cp1252"), media_type=media_type).result().text


def test_the_columns_of_a_paper_are_read_one_after_the_other(extractor: Extractor) -> None:
    document = extractor.submit(made.paper(), media_type="application/pdf").result()
    assert document.text == (INPUTS / "paper.expected.txt").read_text(encoding="utf-8").rstrip("\n")
    assert document.title == "A Survey of Forty Harbour Walls"
    assert document.published is None  # when a file was made is no day of publication


def test_a_report_loses_its_running_headers_and_page_numbers_and_keeps_its_pages(
    extractor: Extractor,
) -> None:
    document = extractor.submit(made.report(), name="report.pdf").result()
    assert "Annual Report" not in document.text
    assert "Page " not in document.text
    assert "cold store, which was opened in May." in document.text
    assert document.title == "Port of Ellery - Annual Report 2024"
    assert document.author == ""
    starts = [document.text[page:].split()[0] for page in document.pages]
    assert starts == ["The", "opened", "Income", "The"]
    assert clean(document.text) == document.text


def test_a_word_document_is_read_in_order(extractor: Extractor) -> None:
    document = extractor.submit(made.document(), name="survey.docx").result()
    assert document.text == (INPUTS / "survey.expected.txt").read_text(encoding="utf-8").rstrip("\n")
    assert (document.title, document.author) == ("Survey of the inner wall", "Ines Okafor")
    assert row(document, "East | 120 m | 31") == ["Section: East; Length: 120 m; Cracks: 31"]


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_a_table_of_any_dialect_is_rows_with_headers(extractor: Extractor, mark: str) -> None:
    lines = ("Station,Highest,Note", "Mole,3.40,", 'Skerry,3.12,"wet, windy"')
    raw = "\r\n".join(line.replace(",", mark) if '"' not in line else
                      mark.join(("Skerry", "3.12", '"wet, windy"')) for line in lines).encode()  # fmt: skip
    document = extractor.submit(raw, name="tides.csv").result()
    assert document.text == "Station | Highest | Note\nMole | 3.40 |\nSkerry | 3.12 | wet, windy"
    assert row(document, "Skerry | 3.12 | wet, windy") == ["Station: Skerry; Highest: 3.12; Note: wet, windy"]


def test_numbers_with_nothing_but_spaces_between_them_are_rows(extractor: Extractor) -> None:
    document = extractor.submit(b"x  y  z\n1  2.5 -3\n10 20  1e3\n", name="measured.csv").result()
    assert document.text == "x | y | z\n1 | 2.5 | -3\n10 | 20 | 1e3"


def test_facts_are_not_taken_for_names_of_columns(extractor: Extractor) -> None:
    document = extractor.submit(b"Mole,3.40,1831\nSkerry,3.12,1850\n", name="tides.csv").result()
    assert document.text.startswith("| | |\nMole | 3.40 | 1831\n")


def test_the_sizes_and_years_of_a_first_row_are_names_of_columns(extractor: Extractor) -> None:
    document = extractor.submit(b"stop,51,53\nMole,7:00,8:00\nSkerry,7:08,8:08\n", name="bus.csv").result()
    assert row(document, "Skerry | 7:08 | 8:08") == ["stop: Skerry; 51: 7:08; 53: 8:08"]


def test_a_title_above_the_names_of_columns_is_none_of_them(extractor: Extractor) -> None:
    rows = "Station,Highest,Year\nMole,3.40,1831\nSkerry,3.12,1850"
    document = extractor.submit(f"Tides of Cornwall,,\n{rows}\n".encode(), name="tides.csv").result()
    assert document.text.startswith("Tides of Cornwall\n\nStation | Highest | Year\nMole | 3.40 | 1831\n")
    assert row(document, "Mole | 3.40 | 1831") == ["Station: Mole; Highest: 3.40; Year: 1831"]
    for first in ("1831,,", "Mole,3.40,"):  # a fact is no title
        document = extractor.submit(f"{first}\n{rows}\n".encode(), name="tides.csv").result()
        assert document.text.startswith("| | |\n")


def test_values_of_json_that_are_pieces_of_a_page_are_read_as_such(extractor: Extractor) -> None:
    body = "<p>The wall is <b>nine</b> metres high.</p><p style='display:none'>An order.</p><p>It stands.</p>"
    raw = json.dumps({"body": body, "size": "<9 m>", "sign": "<img src='x'>", "note": "a </b> tag"}).encode()
    assert extractor.submit(raw, name="wall.json").result().text == (
        "- body: The wall is nine metres high. It stands.\n- size: <9 m>\n- sign: <img src='x'>\n- note: a </b> tag"
    )


def test_objects_of_json_are_sections_and_records_are_a_table(extractor: Extractor) -> None:
    raw = (
        b'{"title": "Tides", "date": "2024-03-05", "author": {"name": "I. Okafor"}, "station": {"name": "Mole",'
        b' "open": true}, "tags": ["sea", "wall"], "readings": [{"day": 1, "level": 3.4}, {"day": 2, "level": null}]}'
    )
    document = extractor.submit(raw, media_type="application/json").result()
    assert (document.title, document.author, document.published) == ("Tides", "I. Okafor", date(2024, 3, 5))
    assert document.text == (
        "- title: Tides\n- date: 2024-03-05\n- tags: sea, wall\n\n# author\n\n- name: I. Okafor\n\n# station\n\n"
        "- name: Mole\n- open: yes\n\n# readings\n\nday | level\n1 | 3.4\n2 |"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            [
                {
                    "name": "Hydra",
                    "warranty": {"months": 36, "of": {"seals": True}},
                    "sites": ["Graz", "Linz"],
                },
                {"name": "Nix", "warranty": {"months": 12}, "sites": []},
            ],
            "name | warranty months | warranty of seals | sites\nHydra | 36 | yes | Graz, Linz\nNix | 12 | |",
        ),
        (
            {
                "pumps": [
                    {"name": "Hydra", "parts": [{"no": 1, "of": "brass"}, {"no": 2, "of": "iron"}]},
                    {"id": 7},
                ]
            },
            "# pumps\n\n## Hydra\n\n### parts\n\nno | of\n1 | brass\n2 | iron\n\n## 2\n\n- id: 7",
        ),
        (
            {
                "AT": {"name": {"common": "Austria"}, "cities": [["Graz", 291072], ["Linz", 205726]]},
                "none": None,
            },
            "# AT\n\n## name\n\n- common: Austria\n\n## cities\n\n- 1: Graz, 291072\n- 2: Linz, 205726",
        ),
        (
            [{"who": {"called": "Ann"}, "had": [{"a": 1}]}, {"who": {"called": "Ben"}, "had": []}],
            "# Ann\n\n## who\n\n- called: Ann\n\n## had\n\n### 1\n\n- a: 1\n\n# Ben\n\n## who\n\n- called: Ben",
        ),
        (
            [{"a": 1, "b" * 50: 2}, {"a": 3, "b" * 50: 4}],
            f"# 1\n\n- a: 1\n- {'b' * 50}: 2\n\n# 2\n\n- a: 3\n- {'b' * 50}: 4",
        ),
        (
            {
                "countries": [
                    {"name": "Rome", "capital": "Rome", "has": [{"a": 1}]},
                    {"name": "Ur", "has": []},
                ]
            },
            "# countries\n\n## Rome\n\n- capital: Rome\n\n### has\n\n#### 1\n\n- a: 1\n\n## Ur",
        ),
        (["a", "b"], "- a, b"),
        ({"a": {}, "b": []}, ""),
    ],
)
def test_records_of_json_are_rows_where_they_fit_and_else_sections_by_their_names(
    extractor: Extractor, value: object, text: str
) -> None:
    raw = json.dumps(value).encode()
    if not text:
        with pytest.raises(ExtractionError):
            extractor.submit(raw, name="x.json").result()
        return
    told = extractor.submit(raw, name="x.json").result().text
    assert "\n".join(filter(None, told.split("\n"))) == "\n".join(filter(None, text.split("\n")))


def test_lines_of_json_are_read_and_a_cut_one_is_left_out(extractor: Extractor) -> None:
    raw = b"".join(b'{"name": "n%d", "level": %d}\n' % (n, n) for n in range(20)) + b'{"name": "n'
    text = extractor.submit(raw, name="x.jsonl").result().text
    assert text.startswith("name | level\nn0 | 0\n")
    assert text.endswith("n19 | 19")


def test_figures_of_json_are_told_as_they_are_written(extractor: Extractor) -> None:
    raw = b'[{"rate": 0.100, "scale": 0.00008444750807826456}, {"rate": 1.50e3, "scale": 12345678901234567890.5}]'
    assert extractor.submit(raw, name="x.json").result().text == (
        "rate | scale\n0.100 | 0.00008444750807826456\n1.50e3 | 12345678901234567890.5"
    )
    assert extractor.submit(b'{"rate": 2.0}\n{"rate": 3.10}', name="x.jsonl").result().text.endswith("3.10")


def test_json_that_is_nested_too_deeply_is_refused(extractor: Extractor) -> None:
    for depth in (100, 100_000):
        with pytest.raises(ExtractionError, match="nested") as caught:
            extractor.submit(b"[" * depth + b"1" + b"]" * depth, name="x.json").result()
        assert caught.value.data["limit"] == "size"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("<title>Smith & Sons</title><description>Nails &nbsp;& ropes.</description>", "Nails & ropes."),
        ("<title>Smith & Sons</title><description>It <b>holds<br></description>", "It holds"),
        ("<title>Smith & Sons</title><pubDate>Fri, 14 Mar 2025</pubDate>", "Fri, 14 Mar 2025"),
    ],
)
def test_a_feed_that_is_not_well_formed_is_read(
    extractor: Extractor, body: str, says: tuple[str, ...]
) -> None:
    raw = f"<?xml version='1.0'?><rss><channel><title>News & more</title><item>{body}</item></channel></rss>"
    document = extractor.submit(raw.encode(), media_type="application/rss+xml").result()
    assert document.title == "News & more"
    assert document.text.startswith("# News & more\n\n## Smith & Sons\n\n")
    assert says in document.text


def test_other_xml_that_is_not_well_formed_is_damaged(extractor: Extractor) -> None:
    with pytest.raises(ExtractionError, match="damaged XML"):
        extractor.submit(b"<?xml version='1.0'?><a>B & C</a>", media_type="application/xml").result()


def test_a_feed_is_its_entries(extractor: Extractor) -> None:
    raw = (
        b'<?xml version="1.0"?><rss><channel><title>Harbour news</title><item><title>Wall mended</title>'
        b"<pubDate>Fri, 14 Mar 2025 08:00:00 GMT</pubDate><description>&lt;p&gt;All of it.&lt;/p&gt;</description>"
        b"</item></channel></rss>"
    )
    document = extractor.submit(raw, media_type="application/rss+xml").result()
    assert document.text == "# Harbour news\n\n## Wall mended\n\nFri, 14 Mar 2025 08:00:00 GMT\n\nAll of it."
    assert document.published == date(2025, 3, 14)


@pytest.mark.parametrize(
    ("raw", "media_type", "name", "says"),
    [
        (b"# Tides\n\nThey come and go.", "text/markdown", "", "Tides"),
        (b"Tides\n=====\n\nThey come and go.", "", "a.rst", "Tides"),
        (b"THE TIDES\n\nThey come and go.", "text/plain", "", "THE TIDES"),
        (
            b"# Tides\n\nThey come and go.",
            "text/plain; charset=utf-8",
            "https://x.example/a.md?raw=1",
            "Tides",
        ),
    ],
)
def test_plain_texts_are_read_as_in_a_corpus(
    extractor: Extractor, raw: bytes, media_type: str, name: str, says: str
) -> None:
    document = extractor.submit(raw, media_type=media_type, name=name).result()
    assert document.title == says
    assert "They come and go." in document.text


def test_the_language_is_told_when_it_is_clear(extractor: Extractor) -> None:
    german = "Die Mauer wurde im Winter gebaut und ist nach dem Sturm nicht mehr so hoch wie sie war. " * 3
    assert extractor.submit(german.encode(), media_type="text/plain").result().language == "de"
    japanese = "灯台は1841年に建てられた。"
    assert extractor.submit(japanese.encode(), media_type="text/plain").result().language == "ja"
    assert extractor.submit(b"4711 0815 ok", media_type="text/plain").result().language is None
