"""Pages of a PDF that are nothing but a picture are said to be unread; blank and decorated ones are not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hostile import FONT, pdf, stream

from deep_research.sources.extract.document import Document
from deep_research.sources.extract.pictures import Box, _fields
from deep_research.sources.extract.plaintext import UnreadableError
from deep_research.sources.extract.readers import read

SAYS = "pictures without a text layer; run it through text recognition"
LINES = (
    "The harbour of Mole was dredged in 1931 to a depth",
    "of nine metres, and its outer wall was raised.",
)
PROSE = "\n".join(f"BT /F1 10 Tf 50 {700 - 12 * n} Td ({line}) Tj ET" for n, line in enumerate(LINES))
SCAN = "q 600 0 0 800 0 0 cm /P Do Q"
PICTURE = b"/Type /XObject /Subtype /Image /Width 1 /Height 1 /BitsPerComponent 8 /ColorSpace /DeviceGray"
DRAWING = b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Matrix [2 0 0 2 0 0] /Resources << /XObject << /P 4 0 R >> >>"


def of_pages(*drawn: str, page: bytes = b"", within: str = "q 100 0 0 100 0 0 cm /P Do Q") -> Document:
    count = len(drawn)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(b"%d 0 R" % (6 + 2 * n) for n in range(count)), count),
        FONT,
        stream(b"\0", PICTURE),
        stream(within.encode(), DRAWING),
    ]  # fmt: skip
    for number, each in enumerate(drawn):
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents %d 0 R %s /Resources << "
            b"/Font << /F1 3 0 R >> /XObject << /P 4 0 R /D 5 0 R >> >> >>" % (7 + 2 * number, page)
        )
        objects.append(stream(each.encode("cp1252")))
    return read(pdf(objects), "application/pdf", "mole.pdf", 10**6)


def text(said: str, size: float = 10, top: float = 400) -> str:
    return f"BT /F1 {size} Tf 50 {top} Td ({said}) Tj ET"


@pytest.mark.parametrize(
    "scan",
    [
        SCAN,
        f"{SCAN} {text('Scan 7')}",
        "q 0 -800 600 0 0 800 cm /P Do Q",  # turned
        "q -600 0 0 800 600 0 cm /P Do Q",
        "\n".join(f"q 600 0 0 10 0 {10 * n} cm /P Do Q" for n in range(80)),  # in strips
        "q 3 0 0 4 0 0 cm /D Do Q",  # in a drawing that is twice as large
        "q 480 0 0 700 60 50 cm /P Do Q",  # with margins
    ],
)
def test_a_page_that_is_a_picture_is_said_to_be_unread(scan: str) -> None:
    found = of_pages(PROSE, scan, scan, PROSE.replace("Mole", "Looe"))
    assert found.unread == f"pages 2 to 3: {SAYS}"
    assert found.text.startswith("The harbour of Mole")
    assert "harbour of Looe" in found.text


@pytest.mark.parametrize(
    "drawn",
    [
        "",
        "q 200 0 0 100 200 400 cm /P Do Q",  # a logo
        "\n".join("q 200 0 0 100 200 400 cm /P Do Q" for _ in range(100)),
        f"q 600 0 0 200 0 600 cm /P Do Q {text('Part two', 24)}",
        f"{SCAN} {text('Part two', 24)}",
        f"{SCAN} {PROSE}",  # with what a program has recognised on it
        "q 600 0 0 800 700 0 cm /P Do Q",  # beside the page
        "q 1 0 0 1 0 0 cm /D Do Q",
        "0.9 g 0 0 600 800 re f",
    ],
)
def test_a_page_that_is_blank_or_decorated_is_not(drawn: str) -> None:
    assert of_pages(PROSE, drawn, PROSE.replace("Mole", "Looe")).unread == ""


def test_running_lines_and_numbers_of_pages_are_no_text_of_a_scanned_page() -> None:
    top = text("Proceedings of the Penryn Institute", top=780)
    found = of_pages(
        *(f"{top} {text(f'Page {n}', top=20)} {SCAN if n in (2, 5) else PROSE}" for n in range(9))
    )
    assert found.unread == f"pages 3 and 6: {SAYS}"


def test_only_what_is_shown_of_a_page_counts() -> None:
    strip, prose = "q 600 0 0 100 0 400 cm /P Do Q", PROSE.replace("Td", "Td 0 -220 Td")
    assert of_pages(prose, strip).unread == ""
    assert of_pages(prose, strip, page=b"/CropBox [40 390 560 510]").unread == f"page 2: {SAYS}"


def test_a_document_whose_pages_are_all_pictures_below_running_lines_has_no_text_layer() -> None:
    with pytest.raises(UnreadableError, match="no text layer"):
        of_pages(*(f"{text(f'Penryn Institute, sheet {n}', top=780)} {SCAN}" for n in range(9)))


def test_drawings_within_drawings_without_end_and_odd_places_do_no_harm(
    seconds: Callable[..., float],
) -> None:
    odd = "q 1e38 0 0 1e38 -1e38 -1e38 cm /D Do Q"
    assert of_pages(PROSE, odd, within="q 1e38 0 0 1e38 0 0 cm /P Do Q /D Do").text == " ".join(LINES)
    many = "q 1 0 0 1 0 0 cm /P Do Q\n" * 5_000
    assert seconds(5, lambda: of_pages(PROSE, *[many] * 5)) < 5


@pytest.mark.parametrize(
    ("box", "count"),
    [
        (Box(0, 0, 600, 800), 256),
        (Box(-9e9, -9e9, 9e9, 9e9), 256),
        (Box(0, 0, 300, 800), 128),
        (Box(0, 400, 300, 800), 64),
        (Box(float("nan"), 0, 300, 800), 0),
        (Box(-50, -50, -10, -10), 0),
    ],
)
def test_fields_of_a_page_are_counted_as_a_picture_lies_on_it(box: Box, count: int) -> None:
    assert _fields(box, Box(0, 0, 600, 800)).bit_count() == count
