"""Which format bytes are in: what they are counts for more than what is said of them."""

from __future__ import annotations

import io
import zipfile

import made
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.sources.extract.formats import Format, format_of
from deep_research.sources.extract.plaintext import UnreadableError
from deep_research.sources.extract.readers import read
from deep_research.text.plain import clean

PAGE = b"<!doctype html><html><body><p>Hello</p></body></html>"


@pytest.mark.parametrize(
    ("raw", "media_type", "name", "expected"),
    [
        (PAGE, "", "", Format.HTML),
        (PAGE, "application/pdf", "x.pdf", Format.HTML),
        (PAGE, "text/plain", "x.txt", Format.HTML),
        (b"  \n<!-- hi --><HTML><p>x", "", "", Format.HTML),
        (b"%PDF-1.7\n" + PAGE, "text/html", "x.html", Format.PDF),
        (b"garbage before\n%PDF-1.7\n", "application/pdf", "", Format.PDF),
        (b"a,b\n1,2", "text/csv; charset=utf-8", "", Format.CSV),
        (b"a,b\n1,2", "text/plain", "x.csv", Format.CSV),
        (b"a\tb\n1\t2", "", "X.TSV", Format.TSV),
        (b'{"a": 1}', "application/ld+json", "", Format.JSON),
        (b'{"a": 1}\n{"a": 2}', "", "", Format.JSON_LINES),
        (b'{"a": 1}', "text/html", "", Format.JSON),
        (b"<?xml version='1.0'?><feed></feed>", "text/html", "", Format.XML),
        (b"just words", "", "", Format.TEXT),
        (b"# Tides", "text/markdown", "", Format.MARKDOWN),
        (b"Tides\n=====", "", "a.rst", Format.RST),
        (b"# Tides", "text/plain; charset=utf-8", "https://x.example/a.md?raw=1", Format.MARKDOWN),
        (b"just words", "text/html", "", Format.TEXT),
        (b"MZ is a title", "text/plain", "", Format.TEXT),
        ("h\u00e9llo".encode("utf-16"), "text/plain", "", Format.TEXT),
    ],
)
def test_content_decides_before_header_and_name(
    raw: bytes, media_type: str, name: str, expected: Format
) -> None:
    assert format_of(raw, media_type=media_type, name=name) is expected


def test_a_word_document_is_known_whatever_it_is_called_and_half_a_character_is_replaced() -> None:
    assert format_of(made.document(), media_type="text/html", name="x.html") is Format.DOCX
    assert read(b'{"a": "x\\ud800y"}', "application/json").text == "- a: x?y"


_STREAM = bytes.fromhex("d0cf11e0a1b11ae1")


def _zipped(*names: str, kind: str = "") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in (*(["mimetype"] if kind else []), *names):
            archive.writestr(name, kind if name == "mimetype" else b"xl/workbook word/document")
    return out.getvalue()


@pytest.mark.parametrize(
    ("raw", "format_"),
    [
        (_zipped("word/document.xml"), Format.DOCX),
        (_zipped("xl/workbook.xml"), Format.XLSX),
        (_zipped("ppt/embeddings/a.docx", "ppt/presentation.xml"), Format.PPTX),
        (_zipped("META-INF/container.xml", kind="application/epub+zip"), Format.EPUB),
        (_zipped("content.xml", kind="application/vnd.oasis.opendocument.text"), Format.ODF),
        (_zipped("content.xml", "META-INF/manifest.xml"), Format.ODF),
        (_STREAM + "WordDocument".encode("utf-16-le"), Format.DOC),
        (_STREAM + "Workbook".encode("utf-16-le"), Format.XLSX),
        (b"{\\rtf1 words}", Format.RTF),
    ],
)
def test_what_is_packed_is_told_by_the_names_at_its_end(raw: bytes, format_: Format) -> None:
    assert format_of(raw, name="a.bin") is format_


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "an image"),
        (b"\xff\xd8\xff\xe0" + bytes(50), "an image"),
        (b"GIF89a" + bytes(50), "an image"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'></svg>", "an image"),
        (b"\0\0\0\x18ftypmp42" + bytes(50), "a film"),
        (b"\x7fELF" + bytes(50), "binary data"),
        (b"\x1f\x8b\x08" + bytes(50), "an archive"),
        (b"PK\x03\x04" + bytes(50), "an archive"),
        (b"PK\x03\x04" + bytes(26) + b"EncryptedPackage", "encrypted"),
        (_STREAM + "__substg1.0".encode("utf-16-le"), "a mail of Outlook; save it as eml"),
        (bytes(range(256)) * 4, "binary"),
        (b"", "nothing in it"),
        (b" \n ", "nothing in it"),
    ],
)
def test_what_has_no_text_is_refused_by_name(raw: bytes, says: str) -> None:
    with pytest.raises(UnreadableError, match=says):
        format_of(raw, media_type="text/html", name="page.html")


@given(
    st.binary(max_size=400), st.sampled_from(["", "text/html", "application/json", "text/csv", "text/xml"])
)
def test_any_bytes_are_read_or_refused(raw: bytes, media_type: str) -> None:
    try:
        text = read(raw, media_type, "x").text
        assert any(map(str.isalnum, text))
        assert clean(text) == text
    except UnreadableError:
        return  # saying why, as the tests above check
