"""What a PDF says of itself: its title and author, from its metadata (XMP) or its information dictionary. Pure."""

from __future__ import annotations

import html
import re
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE
from collections.abc import Iterator

from deep_research.patterns import regex

_ENTRY = "<(?:dc:{name})\\b[^>]{{0,200}}>(.{{0,4000}}?)</dc:{name}>"
_TAG = regex(r"<[^<>]{0,400}>")
_ITEM = regex(r"</rdf:li>")
_INFO = regex(rb"/Info\s{1,9}(\d{1,9})\s{1,9}(\d{1,5})\s{1,9}R")
_PACKED = regex(rb"/Type\s{0,9}/ObjStm")
_FIRST = regex(rb"/First\s{1,9}(\d{1,9})")
_ESCAPE = regex(rb"\\(?:([0-7]{1,3})|\r?\n|(.))", re.DOTALL)
_CONTROLS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"", b"f": b""}
_MOST = 20_000  # bytes of a dictionary
_MOST_PACKED = 8_000_000  # bytes of packed objects that are looked through
_MOST_STREAM = 1_000_000  # bytes of one, as it is packed
_LEAST = 20_000  # bytes that a stream counts for, however short it is
_MOST_VALUE = 2_000  # bytes of a title or name


def title_and_author(raw: bytes, xmp: str) -> tuple[str, str]:
    """Each empty where the file does not say it. ``xmp`` is the file's packet of metadata."""
    info = _information(raw)
    return (
        _in_packet(xmp, "title") or _in_dictionary(info, b"Title"),
        _in_packet(xmp, "creator") or _in_dictionary(info, b"Author"),
    )


def _in_packet(xmp: str, name: str) -> str:
    entry = re.search(_ENTRY.format(name=name), xmp, re.DOTALL)
    values = (_TAG.sub("", value) for value in _ITEM.split(entry[1])) if entry else ()
    return "; ".join(html.unescape(" ".join(value.split())) for value in values if value.strip())


def _in_dictionary(info: bytes, name: bytes) -> str:
    entry = re.search(rb"/%s\s{0,9}(?:\(|<([0-9A-Fa-f\s]{0,%d})>)" % (name, 2 * _MOST_VALUE), info)
    if not entry:
        return ""
    if entry[1] is not None:
        digits = b"".join(entry[1].split()).decode()
        return _decoded(bytes.fromhex(digits[: len(digits) & ~1]))
    value, depth, at = bytearray(), 1, entry.end()
    while at < len(info) and len(value) < _MOST_VALUE:
        piece = info[at : at + 2] if info[at : at + 1] == b"\\" else info[at : at + 1]
        depth += (piece == b"(") - (piece == b")")
        if not depth:
            break
        value += piece
        at += len(piece)
    return _decoded(_ESCAPE.sub(_escaped, bytes(value)))


def _escaped(escape: re.Match[bytes]) -> bytes:
    if escape[1]:
        return bytes([int(escape[1], 8) & 255])
    return _CONTROLS.get(escape[2], escape[2]) if escape[2] else b""


def _decoded(value: bytes) -> str:
    if value.startswith(BOM_UTF16_BE):
        return value[2:].decode("utf-16-be", "replace")
    if value.startswith(BOM_UTF8):
        return value[3:].decode("utf-8", "replace")
    return value.decode("cp1252", "replace")  # near enough to the encoding that PDF calls its own


def _information(raw: bytes) -> bytes:
    """The information dictionary that the last trailer names; empty where it is locked or cannot be found."""
    reference = _INFO.match(raw, max(0, raw.rfind(b"/Info ")))
    if not reference or b"/Encrypt" in raw:
        return b""
    number, begin = int(reference[1]), -1
    for opening in re.finditer(rb"(?<!\d)%d\s{1,9}%s\s{1,9}obj\b" % (number, reference[2]), raw):
        begin = opening.end()  # the last one is in force
    if begin >= 0:
        return raw[begin : begin + _MOST].partition(b"endobj")[0]
    return next((info for objects in _packed(raw) if (info := _within(*objects, number))), b"")


def _packed(raw: bytes) -> Iterator[tuple[bytes, int]]:
    """The streams of objects of a file: the numbers of the objects with their places, then these; and where the first
    object begins."""
    view, left = memoryview(raw), _MOST_PACKED
    for mark in _PACKED.finditer(raw):
        begin = raw.find(b"stream", mark.end(), mark.end() + _MOST)
        near = max(0, mark.start() - _MOST)
        head = raw[max(near, raw.rfind(b"obj", near, mark.start())) : begin]
        first = _FIRST.search(head)
        if begin < 0 or not first:
            continue
        begin += len(b"stream\r\n") if raw[begin + 6 : begin + 7] == b"\r" else len(b"stream\n")
        try:
            data = zlib.decompressobj().decompress(view[begin : begin + _MOST_STREAM], left)
        except zlib.error:
            data = b""
        yield data, int(first[1])
        left -= len(data) + _LEAST
        if left <= 0:
            return


def _within(data: bytes, first: int, number: int) -> bytes:
    """The object of this number."""
    entries = data[:first].split()
    for at in range(0, len(entries) - 1, 2):
        if entries[at] == b"%d" % number and entries[at + 1].isdigit():
            begin = first + int(entries[at + 1])
            return data[begin : begin + _MOST]
    return b""
