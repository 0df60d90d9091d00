"""Documents that are made to do harm, each made when it is asked for."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator

MAIN = "A sentence of the page that is worth reading, because it says when the lamp was lit. " * 8


def _page(body: str, head: str = "") -> bytes:
    return f"<!doctype html><html><head><title>T</title>{head}</head><body>{body}</body></html>".encode()


SAID = f"<p>{MAIN}</p>"
ROWS = f"{SAID}<table><tr><th>a<th>b"
_BODIES: dict[str, Callable[[], str]] = {
    "paragraphs of 7.8 MB": lambda: "<p>word word</p>" * 490_000,
    "one text of 10 MB": lambda: "<p>" + "word " * 2_000_000 + "</p>",
    "a hundred thousand tags deep": lambda: "<div>" * 100_000 + SAID,
    "a hundred thousand attributes": lambda: (
        "<p " + " ".join(f"a{n}='1'" for n in range(140_000)) + f">{MAIN}</p>"
    ),
    "a million attributes": lambda: SAID + f"<i {'b=c ' * 9}>" * 111_111,
    "paragraphs just below the limit": lambda: "<p>word word</p>" * 115_000,
    "as many elements as trafilatura gets": lambda: "<div><p>word <a href=x>link</a></p></div>" * 13_000,
    "a huge attribute": lambda: f"<p title='{'x' * 1_900_000}'>{MAIN}</p>",
    "comments without end": lambda: SAID + "<!-- " * 300_000,
    "floods of references": lambda: "<p>" + "&amp;&nbsp;&#65;&#x1F600;&lt" * 60_000 + "</p>",
    "NULs": lambda: SAID + "\0" * 50,
    "nothing but scripts": lambda: "<div id=root></div><script>" + "var a=1;" * 300_000 + "</script>",
    "a bomb of tables": lambda: "<table><tr><td>" * 20_000 + "x" + "<td colspan=1000>y" * 20_000,
    "a table of wide cells": lambda: ROWS + "<tr>" + "<td rowspan=9999 colspan=1000>x" * 1_500,
    "a cell of empty paragraphs": lambda: f"{ROWS}<tr><td>c<td>{'<p> </p>' * 35_000}x",
    "a cell of signs": lambda: f"{ROWS}<tr><td>c<td>{'<i class=x>' * 150}{'<i class=y></i>' * 30_000}",
    "steps without end": lambda: f"{SAID}<p>{'Next: <a href=x rel=next>x</a>' * 30_000}",
    "preformatted lines without end": lambda: "<pre>" + "word\n\n" * 300_000 + "</pre>",
    "one preformatted word": lambda: "<pre>a b\n\nc d\n\ne " + "x" * 1_900_000 + "-\n\ny</pre>",
    "preformatted blanks": lambda: "<pre>a\n\nb\n\nc" + (" " * 2_000 + "\tword\n") * 900 + "</pre>",
    "deep lists": lambda: "<ul><li>item " * 30_000,
    "a picture within": lambda: f"{SAID}<img src='data:image/png;base64,{'iVBORw0K' * 600_000}'>",
    "a title above each line": lambda: (
        f"<title>{'abcdefgh' * 50_000}</title>" + "<h2>abcdefgh</h2><p>Posted by x y z on" * 15_000
    ),
}
HTML_CASES: dict[str, Callable[[], bytes]] = {
    **{name: (lambda made=made: _page(made())) for name, made in _BODIES.items()},
    "a charset that lies": lambda: (
        _page(f"<p>{MAIN}é ü</p>", "<meta charset='utf-16'>").decode().encode("cp1252")
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


def _packed(data: bytes) -> bytes:
    return stream(zlib.compress(data, 9), b"/Filter /FlateDecode")


def _drawn(said: bytes, beside: bytes = b"", size: int = 9) -> bytes:
    """A page of these texts."""
    return pdf(_one_page(_packed(b"BT /F1 %d Tf %sET %s" % (size, said, beside))))


def _said(trailer: bytes = b"", after: bytes = b"", **more: int) -> bytes:
    return pdf(_one_page(stream(b"BT /F1 9 Tf (Hello) Tj ET", **more)), trailer=trailer) + after


def _form_bomb() -> bytes:
    """Each form draws the next one ten times."""
    form = b"/Type /XObject /Subtype /Form /BBox [0 0 9 9]"
    next_one = form + b" /Resources << /XObject << /X %d 0 R >> >>"
    forms = [stream(b"/X Do " * 10, next_one % (n + 1)) for n in range(6, 14)]
    resources = b"<< /Font << /F1 4 0 R >> /XObject << /X 6 0 R >> >>"
    return pdf(_one_page(stream(b"/X Do " * 10), resources, *forms, stream(b"BT /F1 9 Tf (x) Tj ET", form)))


def _many_pages(drawn: bytes) -> bytes:
    """As many pages as there may be, each with all of it."""
    objects = _one_page(_packed(b"BT /F1 9 Tf %sET" % drawn))
    return pdf([objects[0], b"<< /Type /Pages /Kids [%s] /Count 500 >>" % (b"3 0 R " * 500), *objects[2:]])


def _grid(lefts: range, bottoms: range) -> bytes:
    """A word at each place."""
    places = ((left, bottom) for bottom in bottoms for left in lefts)
    return b"".join(b"1 0 0 1 %d %d Tm (w%d) Tj " % (*place, place[0]) for place in places)


CATALOG = b"<< /Type /Catalog /Pages 2 0 R >>"
KIDS = b"<< /Type /Pages /Kids [%s] /Count 1000000 >>"
NOWHERE = b"/Info 99 0 R"
LOCKED = b"/ID [<00> <00>] /Encrypt << /Filter /Standard /V 1 /R 2 /P -1 /O <%s> /U <%s> >>" % (
    b"aa" * 32,
    b"bb" * 32,
)
PDF_CASES: dict[str, Callable[[], bytes]] = {
    "a small one that takes long": lambda: _many_pages(b"1 0 0 1 3 700 Tm (word here) Tj " * 30_000),
    "a word drawn very often": lambda: _drawn(b"(x) Tj " * 600_000),
    "strokes by the million": lambda: _drawn(b"(Hello) Tj ", b"0 0 m 9 9 l S " * 3_000_000),
    "more texts than there is memory": lambda: _drawn(b"(x ) Tj " * 900_000),
    "drawings within drawings": _form_bomb,
    "words as close as they come": lambda: _drawn(_grid(range(0, 600, 3), range(0, 800, 3)), size=4),
    "five hundred pages of a table": lambda: _many_pages(_grid(range(20, 580, 70), range(20, 720, 14))),
    "streams of objects that are none": lambda: _said(
        NOWHERE, b"obj</Type /ObjStm /First 3>stream\n" * 300_000
    ),
    "an object a million times": lambda: _said(NOWHERE, b"99 0 obj " * 1_000_000),
    "pages within themselves": lambda: pdf([CATALOG, KIDS % b"2 0 R 2 0 R"]),
    "a stream that unpacks to 500 MB": lambda: pdf(_one_page(stream(*_bomb(500_000_000, 2)))),
    "a million pages by its own account": lambda: pdf(
        [CATALOG, KIDS % (b"3 0 R " * 100_000), b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>"]
    ),
    "a broken table of places": lambda: pdf(
        _one_page(stream(b"BT /F1 9 Tf (Hello) Tj ET")), startxref=99_999
    )[:-40],
    "encrypted": lambda: pdf(_one_page(stream(b"xx")), trailer=LOCKED),
    "without a text": lambda: pdf(_one_page(stream(b"0 0 100 100 re f"))),
    "lengths that lie": lambda: _said(length=2_000_000_000),
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
    begin, other = (slice(place + 42, place + 46) for place in places[1:3])
    raw[other] = raw[begin]  # the third begins where the second does
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


def _beside(**more: bytes) -> bytes:
    return _zip({"word/document.xml": _WORD, **more})


ZIP_CASES: dict[str, tuple[Callable[[], bytes], str]] = {
    "packed a thousand to one": (
        lambda: _beside(**{"word/media/x": bytes(100_000_000)}),
        "packed more than 100 to 1",
    ),
    "three thousand entries": (
        lambda: _beside(**{f"word/{n}": b"" for n in range(3_000)}),
        "more than 2,000 entries",
    ),
    "an archive within": (lambda: _beside(**{"x.zip": _zip({"a": b"a"})}), "an archive within an archive"),
    "entries that overlap": (_overlapping, "overlap"),
    "names that lead outside": (lambda: _beside(**{"../../etc/passwd": b"x"}), "names that lead outside"),
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
