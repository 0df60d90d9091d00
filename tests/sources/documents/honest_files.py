"""Large files as people have them, 10 MB of each format. All tell a log of a lamp; the last thing said is ``LAST``."""

from __future__ import annotations

import io
import random
import sys
import zipfile
from collections.abc import Callable
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "extract"))

from hostile import FONT, pdf, stream

SIZE = 9_900_000  # bytes; the default takes 10 MB and no more
LAST = "At the end of it all the keeper Ines Okafor put out the lamp of Ellery."
PARTS = (
    "The lamp was lit at dusk on day {n}, and burned until the morning with a steady flame. The keeper noted {m} "
    "ships that passed the mole before midnight.",
    "On day {n} the wind came from the north-west. Two of the {m} panes were cleaned, and the oil was found to be "
    "enough for another week.",
    "Day {n} brought fog. The bell was rung {m} times an hour, as the rules of the harbour ask; no vessel was lost.",
)


def sentences(number: int) -> str:
    return PARTS[number % len(PARTS)].format(n=number, m=number * 7 % 90)


def log(entry: Callable[[int], str], *, before: str = "", last: str = LAST) -> bytes:
    """Entries until the file is as long as it may be, and the last one."""
    found, length = [before], len(before) + len(last)
    for number in count(1):
        piece = entry(number)
        length += len(piece.encode())
        if length > SIZE:
            break
        found.append(piece)
    return "".join([*found, last]).encode()


def plain() -> bytes:
    return log(lambda n: f"{sentences(n)}\n\n")


def markdown() -> bytes:
    return log(
        lambda n: (
            (f"## Week {n // 7}\n\n" if n % 7 == 0 else "")
            + f"{sentences(n)} See [the *rules*](rules.md) and `lamp {n}`.\n\n"
            + ("- oil\n- wick\n\n| what | how many |\n|---|---|\n| panes | 2 |\n\n" if n % 30 == 0 else "")
        ),
        before="# The log of the lamp\n\n",
    )


def rst() -> bytes:
    return log(
        lambda n: (
            (f"Week {n // 7}\n{'-' * 12}\n\n" if n % 7 == 0 else "")
            + f"{sentences(n)} See *the rules* and ``lamp {n}``.\n\n"
            + ("- oil\n- wick\n\n.. note:: The panes are thin.\n\n" if n % 30 == 0 else "")
        ),
        before="The log of the lamp\n===================\n\n",
    )


def html() -> bytes:
    """A page of which most is scripts, styles, drawings and a picture within."""
    script = "<script>var lamp = {lit: [" + "1,0,1,1," * 2_000 + "]};</script>"
    style = "<style>.lamp { color: red; margin: 0 1em }" * 1 + ".a { top: 0 }" * 500 + "</style>"
    drawing = "<svg><path d='" + "M0 0L9 9" * 1_000 + "'/></svg>"
    picture = f"<img alt='' src='data:image/png;base64,{'iVBORw0K' * 3_000}'>"
    return log(
        lambda n: f"<p>{sentences(n)}</p>\n" + (script, style, drawing, picture)[n % 4],
        before="<!doctype html><html><head><title>The log</title></head><body><article><h1>The log</h1>",
        last=f"<p>{LAST}</p></article></body></html>",
    )


def csv() -> bytes:
    return log(
        lambda n: f'{n},"{sentences(n)}",{n % 9}.5\n', before="day,entry,height\n", last=f'0,"{LAST}",1.5\n'
    )


def tsv() -> bytes:
    return log(
        lambda n: f"{n}\t{sentences(n)}\t{n % 9}.5\n", before="day\tentry\theight\n", last=f"0\t{LAST}\t1.5\n"
    )


def json() -> bytes:
    return log(
        lambda n: f'{{"day": {n}, "entry": "{sentences(n)}", "height": {n % 9}.5}},\n',
        before='{"title": "The log of the lamp", "days": [\n',
        last=f'{{"day": 0, "entry": "{LAST}", "height": 1.5}}]}}\n',
    )


def json_lines() -> bytes:
    return log(
        lambda n: f'{{"day": {n}, "entry": "{sentences(n)}", "height": {n % 9}.5}}\n',
        last=f'{{"day": 0, "entry": "{LAST}", "height": 1.5}}\n',
    )


def pdf_file() -> bytes:
    """A report of 200 pages, with a picture on every other page."""
    pages, pictures = 200, 100
    noise = random.Random(1)
    kids = b" ".join(b"%d 0 R" % (4 + 2 * page) for page in range(pages))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, pages),
        FONT,
    ]
    for page in range(pages):
        said = [sentences(40 * page + row)[:95] for row in range(40)]
        if page == pages - 1:
            said.append(LAST)
        drawn = "".join(
            f"BT /F1 9 Tf 1 0 0 1 40 {760 - 14 * row} Tm ({line}) Tj ET\n" for row, line in enumerate(said)
        )
        picture = 4 + 2 * pages + page // 2
        drawn += "q 100 0 0 60 40 40 cm /P Do Q\n" if page % 2 else ""
        objects += [
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents %d 0 R /Resources "
            b"<< /Font << /F1 3 0 R >> /XObject << /P %d 0 R >> >> >>" % (5 + 2 * page, picture),
            stream(drawn.encode()),
        ]
    side = int(((SIZE - 1_500_000) / pictures / 3) ** 0.5)
    shape = b"/Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceRGB /BitsPerComponent 8"
    objects += [stream(noise.randbytes(3 * side * side), shape % (side, side)) for _ in range(pictures)]
    return pdf(objects)


def docx_file() -> bytes:
    """A Word document of 700 KB of text with ten pictures in it."""
    import docx

    made = docx.Document()
    made.add_heading("The log of the lamp", 1)
    for number in range(1, 5_000):
        made.add_paragraph(sentences(number))
    made.add_paragraph(LAST)
    out = io.BytesIO()
    made.save(out)
    noise = random.Random(1)
    with zipfile.ZipFile(out, "a", zipfile.ZIP_STORED) as archive:
        each = (SIZE - len(out.getvalue()) - 10_000) // 10
        for number in range(10):
            archive.writestr(f"word/media/image{number}.png", noise.randbytes(each))
    return out.getvalue()


HONEST: dict[str, Callable[[], bytes]] = {
    ".txt": plain,
    ".md": markdown,
    ".rst": rst,
    ".html": html,
    ".csv": csv,
    ".tsv": tsv,
    ".json": json,
    ".jsonl": json_lines,
    ".pdf": pdf_file,
    ".docx": docx_file,
}
