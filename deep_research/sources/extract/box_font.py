"""A TrueType font in which every letter is the same box.

PDFium passes over a letter that has no shape, and a file may leave Chinese, Japanese and Korean fonts to the machine,
which mostly has none. What is read there needs a place on the page and no shape, so it gets this one.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

_EM = 1000
_RUN = 4096  # letters; each run of the map points at the same row of glyphs, as a map may be 64 KB long


def box_font() -> bytes:
    box = struct.pack(">hhhhh", 1, 0, 0, _EM, _EM) + struct.pack(">HH", 3, 0) + bytes([1, 1, 1, 1])
    box += struct.pack(">4h", 0, _EM, 0, -_EM) + struct.pack(">4h", 0, 0, _EM, 0)
    head = struct.pack(
        ">IIIIHH16x4hHHhhh", 0x10000, 0x10000, 0, 0x5F0F3CF5, 0, _EM, 0, 0, _EM, _EM, 0, 8, 2, 1, 0
    )
    return _file(
        {
            b"cmap": _letters(),
            b"glyf": box,
            b"head": head,
            b"hhea": struct.pack(">IhhhH3h12x2hH", 0x10000, _EM, 0, 0, _EM, 0, 0, _EM, 0, 0, 2),
            b"hmtx": struct.pack(">HhHh", _EM, 0, _EM, 0),
            b"loca": struct.pack(">III", 0, 0, len(box)),
            b"maxp": struct.pack(">IH13H", 0x10000, 2, 4, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
        }
    )


def _letters() -> bytes:
    """All letters of the first plane of Unicode to the glyph of number 1."""
    count = 0x10000 // _RUN
    firsts = [number * _RUN for number in range(count)]
    lasts = [first + _RUN - 1 for first in firsts]
    lasts[-1] -= 1  # the last one stands for the end
    firsts, lasts = [*firsts, 0xFFFF], [*lasts, 0xFFFF]
    ways = [2 * (count + 1 - number) for number in range(count)]
    shape = f">{count + 1}H"
    body = struct.pack(">HHHH", 2 * (count + 1), 32, 4, 2 * (count + 1) - 32)
    body += struct.pack(shape, *lasts) + b"\0\0" + struct.pack(shape, *firsts)
    body += struct.pack(shape, *[0] * count, 1) + struct.pack(shape, *ways, 0) + b"\0\1" * _RUN
    return struct.pack(">HHHHI", 0, 1, 3, 1, 12) + struct.pack(">HHH", 4, len(body) + 6, 0) + body


def _file(tables: Mapping[bytes, bytes]) -> bytes:
    entries, data = b"", b""
    for name, table in tables.items():
        entries += struct.pack(">4sIII", name, 0, 12 + 16 * len(tables) + len(data), len(table))
        data += table + b"\0" * (-len(table) % 4)
    return struct.pack(">IHHHH", 0x10000, len(tables), 64, 2, 48) + entries + data
