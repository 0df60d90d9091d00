"""Detection of a document's format: by content, then by the server's type, then by name. Pure.

Content decides where it is plain, so that neither a header nor a name that lies leads to the wrong parser, and what
begins as one format and goes on as another is the first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from deep_research.patterns import regex
from deep_research.sources.extract.plaintext import UnreadableError

_REFUSED: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG", "an image (PNG)"),
    (b"\xff\xd8\xff", "an image (JPEG)"),
    (b"GIF8", "an image (GIF)"),
    (b"BM", "an image (BMP)"),
    (b"\x1f\x8b", "an archive (gzip)"),
    (b"BZh", "an archive (bzip2)"),
    (b"7z\xbc\xaf\x27\x1c", "an archive (7z)"),
    (b"Rar!\x1a\x07", "an archive (rar)"),
    (b"%!PS", "a PostScript file; save it as PDF"),
    (b"RIFF", "an image, a sound or a film"),
)
_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_KIND_OFFSET_BYTES = 38  # where the first entry of an archive says what it is, if that is its name
_SHORT_MARKS = (b"BM", b"BZh")  # text may begin with these as well
_KINDS = {"image": "an image", "audio": "a sound", "video": "a film", "font": "a font"}
_OFFICE = "application/vnd.openxmlformats-officedocument."
_OPEN = "application/vnd.oasis.opendocument."
_HTML = regex(
    r"(?is)\s*(?:<!--.{0,2000}?-->\s*|<\?xml[^>]{0,200}\?>\s*)*(?:<!doctype\s+html|<(?:html|head|body)[\s>])"
)
_XML = regex(r"\s*<\?xml\s|\s*<(?:rss|feed|rdf:RDF)[\s>]")
_TAG = regex(r"<[a-zA-Z!/][^<>]*>")
_LINE_OF_JSON = regex(r"\s*\{.*\}\s*\n\s*\{")


class Format(StrEnum):
    HTML = "html"
    PDF = "pdf"
    DOCX = "docx"
    CSV = "csv"
    TSV = "tsv"
    JSON = "json"
    JSON_LINES = "jsonl"
    MARKDOWN = "md"
    RST = "rst"
    TEXT = "txt"
    XML = "xml"
    PPTX = "pptx"
    XLSX = "xlsx"
    ODF = "odf"
    EPUB = "epub"
    IPYNB = "ipynb"
    EML = "eml"
    RTF = "rtf"
    DOC = "doc"


@dataclass(frozen=True, slots=True)
class ExtractionRequest:
    """What is known of the bytes that a reader gets: their ``format`` (a `Format`, or the name of the reader), the
    ``charset`` that a header names (in lower case, empty when none does), the ``name`` of the file; how many bytes of
    text they may become; and whether they are a file of somebody's own, and no answer of a server."""

    format: str
    charset: str
    name: str
    max_text_bytes: int
    is_file: bool = False


# Of each format what names of files end in, and what servers call it.
_CALLED = {
    Format.HTML: (".html .htm .xhtml", "text/html application/xhtml+xml"),
    Format.PDF: (".pdf", "application/pdf application/x-pdf"),
    Format.DOCX: (".docx", f"{_OFFICE}wordprocessingml.document"),
    Format.CSV: (".csv", "text/csv application/csv"),
    Format.TSV: (".tsv .tab", "text/tab-separated-values"),
    Format.JSON: (".json", "application/json text/json"),
    Format.JSON_LINES: (".jsonl .ndjson", "application/jsonl application/x-ndjson application/x-jsonlines"),
    Format.MARKDOWN: (".md .markdown .mdx", "text/markdown text/x-markdown"),
    Format.RST: (".rst", "text/x-rst text/prs.fallenstein.rst"),
    Format.TEXT: (".txt .text", ""),
    Format.XML: (".rss .atom", "application/xml text/xml"),
    Format.PPTX: (
        ".pptx .pptm .ppsx",
        f"{_OFFICE}presentationml.presentation {_OFFICE}presentationml.slideshow",
    ),
    Format.XLSX: (".xlsx .xlsm .xlsb .xls", f"{_OFFICE}spreadsheetml.sheet application/vnd.ms-excel"),
    Format.ODF: (".odt .ods .odp", f"{_OPEN}text {_OPEN}spreadsheet {_OPEN}presentation"),
    Format.EPUB: (".epub", "application/epub+zip"),
    Format.IPYNB: (".ipynb", "application/x-ipynb+json"),
    Format.EML: (".eml", "message/rfc822"),
    Format.RTF: (".rtf", "application/rtf text/rtf"),
    Format.DOC: (".doc", "application/msword"),
}
SUFFIXES = {suffix: format_ for format_, (suffixes, _) in _CALLED.items() for suffix in suffixes.split()}
MEDIA_TYPES = {kind: format_ for format_, (_, kinds) in _CALLED.items() for kind in kinds.split()}
_PACKED = {  # what is not text, and how it is called
    Format.PDF: "PDF",
    Format.DOCX: "Word document",
    Format.PPTX: "slide show",
    Format.XLSX: "spreadsheet",
    Format.ODF: "OpenDocument file",
    Format.EPUB: "e-book",
    Format.RTF: "rich text file",
    Format.DOC: "Word document",
}


def suffix_of(name: str) -> str:
    """What the name of a file, or an address, ends in, in small letters."""
    return PurePosixPath(name.split("?")[0].split("#")[0]).suffix.lower()


def format_of(raw: bytes, *, media_type: str = "", name: str = "") -> Format:
    """Raises `UnreadableError` for what has no text to read, saying what it is."""
    start = raw[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    declared = media_type.split(";")[0].strip().lower()
    by_type = MEDIA_TYPES.get(declared)
    by_name = SUFFIXES.get(suffix_of(name))
    if start.startswith(b"%PDF-") or (Format.PDF in (by_type, by_name) and b"%PDF-" in raw[:1024]):
        return Format.PDF
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zipped(raw)
    if start.startswith(b"{\\rtf"):
        return Format.RTF
    if start.startswith(_COMPOUND):
        return _compound(raw)
    _refuse(raw, start)
    if not raw.strip():
        raise UnreadableError("nothing in it")
    head = _head(raw)
    if head is None:
        raise UnreadableError(_KINDS.get(declared.split("/")[0], "binary data, not text"))
    if _HTML.match(head):
        return Format.HTML
    if format_name := _PACKED.get(by_type or by_name or Format.TEXT):
        if not _TAG.search(head):
            article = "an" if format_name[0] in "Oe" else "a"
            raise UnreadableError(f"not {article} {format_name}, although it is called one")
        return Format.HTML  # servers answer with pages that say why there is no file
    if _XML.match(head):
        return Format.HTML if "<html" in head else Format.XML
    return _text_format(head, by_type, by_name, declared)


def _text_format(head: str, by_type: Format | None, by_name: Format | None, declared: str) -> Format:
    """Of what is text: what says so most exactly. Servers call many things plain text, and some call all HTML."""
    if by_type is Format.HTML and not _TAG.search(head):
        by_type = None
    if by_name and declared in ("text/plain", "application/octet-stream", "binary/octet-stream"):
        by_type = by_name
    if by_type is None and declared.endswith("+json"):
        by_type = Format.JSON
    if by_type is None and declared.endswith("+xml"):
        by_type = Format.XML
    format_ = by_type or (
        by_name if not declared or declared.startswith(("text/html", "application/")) else None
    )
    if format_ is None and declared.startswith("text/") and declared != "text/html":
        return Format.TEXT
    if format_ is None and head.lstrip()[:1] in ("{", "["):
        return Format.JSON_LINES if _LINE_OF_JSON.match(head) else Format.JSON
    if format_ is None and len(_TAG.findall(head)) > 5:
        return Format.HTML
    return format_ or Format.TEXT


def _head(raw: bytes) -> str | None:
    """The beginning as text, as far as one needs to see it; None when it is none."""
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if raw.startswith(mark):
            return raw[2:8192].decode(encoding, "replace")
    head = raw[:4096].replace(b"\0", b"")
    if len(head) * 10 < 9 * len(raw[:4096]):
        return None
    controls = sum(head.count(code) for code in range(32) if code not in b"\t\n\r\f\x1b")
    return None if controls * 20 > len(head) else head.decode("utf-8", "replace").removeprefix("\ufeff")


def _zipped(raw: bytes) -> Format:
    """What a zip archive holds, as far as its names tell. They stand in the clear at its end; what is put into a document
    has such names too, further above."""
    end = raw.rfind(b"PK\x05\x06")
    size = int.from_bytes(raw[end + 12 : end + 16], "little") if end >= 0 else 0
    names = raw[max(0, end - size) : end] if 0 < size <= end else raw
    kind = raw[_KIND_OFFSET_BYTES : _KIND_OFFSET_BYTES + 100] if raw[30:38] == b"mimetype" else b""
    for mark, format_ in (
        (b"word/document", Format.DOCX),
        (b"xl/workbook", Format.XLSX),
        (b"ppt/presentation", Format.PPTX),
        (b"META-INF/container.xml", Format.EPUB),
    ):
        if mark in names:
            return format_
    if (
        kind.startswith((b"application/vnd.oasis.opendocument", b"application/epub"))
        or b"content.xml" in names
    ):
        return Format.EPUB if b"epub" in kind else Format.ODF
    for mark, what in (
        (b"EncryptedPackage", "encrypted; save it without a password"),
        (b"META-INF/MANIFEST", "a program"),
    ):
        if mark in names:
            raise UnreadableError(what)
    raise UnreadableError("an archive (zip)")


def _compound(raw: bytes) -> Format:
    """What an old office file holds, by the names of its streams."""
    for name, format_ in (("WordDocument", Format.DOC), ("Workbook", Format.XLSX), ("Book", Format.XLSX)):
        if name.encode("utf-16-le") in raw and "EncryptedPackage".encode("utf-16-le") not in raw:
            return format_
    for name, what in (
        ("EncryptedPackage", "encrypted; save it without a password"),
        ("PowerPoint Document", "an old slide show; save it as pptx or PDF"),
        ("__substg1.0", "a mail of Outlook; save it as eml"),
    ):
        if name.encode("utf-16-le") in raw:
            raise UnreadableError(what)
    raise UnreadableError("an old or encrypted office file; save it as docx or PDF")


def _refuse(raw: bytes, start: bytes) -> None:
    if start[4:8] == b"ftyp":
        raise UnreadableError("a film or image")
    if raw[257:262] == b"ustar":
        raise UnreadableError("an archive (tar)")
    for mark, what in _REFUSED:
        if start.startswith(mark) and (mark not in _SHORT_MARKS or b"\0" in raw[:512]):
            raise UnreadableError(what)
    if re.match(
        rb"(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)?(?:<!DOCTYPE svg[^>]*>\s*)?<svg[\s>]", start, re.DOTALL
    ):
        raise UnreadableError("an image (SVG)")
