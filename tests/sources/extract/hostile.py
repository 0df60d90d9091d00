"""Documents that are made to do harm, each made when it is asked for."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator

MAIN = "A sentence of the page that is worth reading, because it says when the lamp was lit. " * 8


def _page(body: str, head: str = "") -> bytes:
    return f"<!doctype html><html><head><title>T</title>{head}</head><body>{body}</body></html>".encode()


HTML_CASES: dict[str, Callable[[], bytes]] = {
    "paragraphs of 7.8 MB": lambda: _page("<p>word word</p>" * 490_000),
    "one text of 10 MB": lambda: _page("<p>" + "word " * 2_000_000 + "</p>"),
    "a hundred thousand tags deep": lambda: _page("<div>" * 100_000 + f"<p>{MAIN}</p>"),
    "a hundred thousand attributes": lambda: _page(
        "<p " + " ".join(f"a{n}='1'" for n in range(140_000)) + f">{MAIN}</p>"
    ),
    "a million attributes": lambda: _page(f"<p>{MAIN}</p>" + f"<i {'b=c ' * 9}>" * 111_111),
    "paragraphs just below the limit": lambda: _page("<p>word word</p>" * 115_000),
    "as many elements as trafilatura gets": lambda: _page(
        "<div><p>word <a href=x>link</a></p></div>" * 13_000
    ),
    "a huge attribute": lambda: _page(f"<p title='{'x' * 1_900_000}'>{MAIN}</p>"),
    "comments without end": lambda: _page(f"<p>{MAIN}</p>" + "<!-- " * 300_000),
    "floods of references": lambda: _page("<p>" + "&amp;&nbsp;&#65;&#x1F600;&lt" * 60_000 + "</p>"),
    "a charset that lies": lambda: (
        _page(f"<p>{MAIN}é ü</p>", "<meta charset='utf-16'>").decode().encode("cp1252")
    ),
    "NULs": lambda: _page(f"<p>{MAIN}</p>" + "\0" * 50),
    "nothing but scripts": lambda: _page("<div id=root></div><script>" + "var a=1;" * 300_000 + "</script>"),
    "a bomb of tables": lambda: _page("<table><tr><td>" * 20_000 + "x" + "<td colspan=1000>y" * 20_000),
    "a table of wide cells": lambda: _page(
        f"<p>{MAIN}</p><table><tr><th>a<th>b" + "<tr>" + "<td rowspan=9999 colspan=1000>x" * 1_500
    ),
    "a cell of empty paragraphs": lambda: _page(
        f"<p>{MAIN}</p><table><tr><th>a<th>b<tr><td>c<td>" + "<p> </p>" * 35_000 + "x"
    ),
    "a cell of signs": lambda: _page(
        f"<p>{MAIN}</p><table><tr><th>a<th>b<tr><td>c<td>" + "<i class=x>" * 150 + "<i class=y></i>" * 30_000
    ),
    "steps without end": lambda: _page(f"<p>{MAIN}</p><p>" + "Next: <a href=x rel=next>x</a>" * 30_000),
    "a title above each line": lambda: _page(
        f"<title>{'abcdefgh' * 50_000}</title>" + "<h2>abcdefgh</h2><p>Posted by x y z on" * 15_000
    ),
    "preformatted lines without end": lambda: _page("<pre>" + "word\n\n" * 300_000 + "</pre>"),
    "one preformatted word": lambda: _page("<pre>a b\n\nc d\n\ne " + "x" * 1_900_000 + "-\n\ny</pre>"),
    "preformatted blanks": lambda: _page("<pre>a\n\nb\n\nc" + (" " * 2_000 + "\tword\n") * 900 + "</pre>"),
    "deep lists": lambda: _page("<ul><li>item " * 30_000),
    "a picture within": lambda: _page(
        f"<p>{MAIN}</p><img src='data:image/png;base64,{'iVBORw0K' * 600_000}'>"
    ),
}


def pdf(objects: list[bytes], *, root: int = 1, trailer: bytes = b"", startxref: int | None = None) -> bytes:
    """A PDF of these objects, numbered from 1."""
    out = io.BytesIO()
    out.write(b"%PDF-1.7\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    xref = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.writelines(b"%010d 00000 n \n" % place for place in places)
    out.write(b"trailer\n<< /Size %d /Root %d 0 R %s >>\n" % (len(objects) + 1, root, trailer))
    out.write(b"startxref\n%d\n%%%%EOF\n" % (xref if startxref is None else startxref))
    return out.getvalue()


def stream(data: bytes, extra: bytes = b"", length: int | None = None) -> bytes:
    size = len(data) if length is None else length
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (size, extra, data)


FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"


def _one_page(content: bytes, resources: bytes = b"<< /Font << /F1 4 0 R >> >>", *more: bytes) -> list[bytes]:
    return [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 5 0 R /Resources %s >>" % resources,
        FONT,
        content,
        *more,
    ]


def _bomb(size: int, times: int = 1) -> tuple[bytes, bytes]:
    data = b" " * size
    for _ in range(times):
        data = zlib.compress(data, 9)
    return data, b"/Filter [" + b"/FlateDecode " * times + b"]"


def _packed(data: bytes) -> tuple[bytes, bytes]:
    return zlib.compress(data, 9), b"/Filter /FlateDecode"


def _form_bomb() -> list[bytes]:
    """Each form draws the next one ten times."""
    forms = [
        stream(
            b"/X Do " * 10,
            b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X %d 0 R >> >>"
            % (n + 1),
        )
        for n in range(6, 14)
    ]
    text = stream(b"BT /F1 9 Tf (x) Tj ET", b"/Type /XObject /Subtype /Form /BBox [0 0 9 9]")
    resources = b"<< /Font << /F1 4 0 R >> /XObject << /X 6 0 R >> >>"
    return _one_page(stream(b"/X Do " * 10), resources, *forms, text)


def _many_pages(drawn: bytes) -> list[bytes]:
    """As many pages as there may be, each with all of it."""
    return [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count 500 >>" % (b"3 0 R " * 500),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 5 0 R "
        b"/Resources << /Font << /F1 4 0 R >> >> >>",
        FONT,
        stream(*_packed(b"BT /F1 9 Tf " + drawn + b"ET")),
    ]


def _grid(lefts: range, bottoms: range) -> bytes:
    """A word at each place."""
    return b"".join(
        b"1 0 0 1 %d %d Tm (w%d) Tj " % (left, bottom, left) for bottom in bottoms for left in lefts
    )


def _recursive() -> list[bytes]:
    return [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 1000000 >>"]


PDF_CASES: dict[str, Callable[[], bytes]] = {
    "a small one that takes long": lambda: pdf(_many_pages(b"1 0 0 1 3 700 Tm (word here) Tj " * 30_000)),
    "a word drawn very often": lambda: pdf(
        _one_page(stream(*_packed(b"BT /F1 9 Tf " + b"(x) Tj " * 600_000 + b"ET")))
    ),
    "strokes by the million": lambda: pdf(
        _one_page(stream(*_packed(b"BT /F1 9 Tf (Hello) Tj ET " + b"0 0 m 9 9 l S " * 3_000_000)))
    ),
    "more texts than there is memory": lambda: pdf(
        _one_page(stream(*_packed(b"BT /F1 9 Tf " + b"(x ) Tj " * 900_000 + b"ET")))
    ),
    "drawings within drawings": lambda: pdf(_form_bomb()),
    "words as close as they come": lambda: pdf(
        _one_page(stream(*_packed(b"BT /F1 4 Tf " + _grid(range(0, 600, 3), range(0, 800, 3)) + b"ET")))
    ),
    "five hundred pages of a table": lambda: pdf(_many_pages(_grid(range(20, 580, 70), range(20, 720, 14)))),
    "streams of objects that are none": lambda: (
        pdf(_one_page(stream(b"BT /F1 9 Tf (Hello) Tj ET")), trailer=b"/Info 99 0 R")
        + b"obj</Type /ObjStm /First 3>stream\n" * 300_000
    ),
    "an object a million times": lambda: (
        pdf(_one_page(stream(b"BT /F1 9 Tf (Hello) Tj ET")), trailer=b"/Info 99 0 R")
        + b"99 0 obj " * 1_000_000
    ),
    "pages within themselves": lambda: pdf(_recursive()),
    "a stream that unpacks to 500 MB": lambda: pdf(_one_page(stream(*_bomb(500_000_000, 2)))),
    "a million pages by its own account": lambda: pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [%s] /Count 1000000 >>" % (b"3 0 R " * 100_000),
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>",
        ]
    ),
    "a broken table of places": lambda: pdf(
        _one_page(stream(b"BT /F1 9 Tf (Hello) Tj ET")), startxref=99_999
    )[:-40],
    "encrypted": lambda: pdf(
        _one_page(stream(b"xx")),
        trailer=b"/ID [<00> <00>] /Encrypt << /Filter /Standard /V 1 /R 2 /P -1 /O <%s> /U <%s> >>"
        % (b"aa" * 32, b"bb" * 32),
    ),
    "without a text": lambda: pdf(_one_page(stream(b"0 0 100 100 re f"))),
    "lengths that lie": lambda: pdf(_one_page(stream(b"BT /F1 9 Tf (Hello) Tj ET", length=2_000_000_000))),
}

_WORD = (
    b'<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
    b"<w:body><w:p><w:r><w:t>Hello</w:t></w:r></w:p></w:body></w:document>"
)


def _zip(entries: dict[str, bytes], packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", packing) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return out.getvalue()


def _overlapping() -> bytes:
    raw = bytearray(_zip({"word/document.xml": _WORD, "word/a.xml": b"a" * 50, "word/b.xml": b"b" * 50}, 0))
    places = list(_every(raw, b"PK\x01\x02"))
    raw[places[2] + 42 : places[2] + 46] = raw[
        places[1] + 42 : places[1] + 46
    ]  # the third begins where the second does
    return bytes(raw)


def _encrypted() -> bytes:
    raw = bytearray(_zip({"word/document.xml": _WORD}))
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        for found in _every(raw, mark):
            raw[found + place] |= 1
    return bytes(raw)


def _every(raw: bytearray, mark: bytes) -> Iterator[int]:
    here = raw.find(mark)
    while here >= 0:
        yield here
        here = raw.find(mark, here + 1)


ZIP_CASES: dict[str, tuple[Callable[[], bytes], str]] = {
    "packed a thousand to one": (
        lambda: _zip({"word/document.xml": _WORD, "word/media/x": bytes(100_000_000)}),
        "packed more than 100 to 1",
    ),
    "three thousand entries": (
        lambda: _zip({"word/document.xml": _WORD, **{f"word/{n}": b"" for n in range(3_000)}}),
        "more than 2,000 entries",
    ),
    "an archive within": (
        lambda: _zip({"word/document.xml": _WORD, "word/x.zip": _zip({"a": b"a"})}),
        "an archive within an archive",
    ),
    "entries that overlap": (_overlapping, "overlap"),
    "names that lead outside": (
        lambda: _zip({"word/document.xml": _WORD, "../../etc/passwd": b"x"}),
        "names that lead outside",
    ),
    "encrypted": (_encrypted, "encrypted"),
}

_LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
_XML = {
    "laughs": f'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY l0 "lol">{_LAUGHS}]><a>&l11;</a>',
    "a file": '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x; and some words</a>',
    "an address": '<?xml version="1.0"?><!DOCTYPE a SYSTEM "http://127.0.0.1:9/x.dtd"><a>&x; and some words</a>',
    "a long one, often": f'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x "{"x" * 50_000}">]><a>{"&x;" * 50_000}</a>',
}


def _with_entities(text: str) -> Callable[[], bytes]:
    return lambda: _zip({"[Content_Types].xml": b"<Types/>", "word/document.xml": text.encode()})


XML_CASES: dict[str, Callable[[], bytes]] = {
    **{f"xml: {name}": (lambda text=text: text.encode()) for name, text in _XML.items()},
    **{f"docx: {name}": _with_entities(text) for name, text in _XML.items()},
}
