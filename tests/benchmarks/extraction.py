"""What it costs to read a document in a child process, by format."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

_TESTS = Path(__file__).resolve().parents[1] / "sources" / "extract"
_INPUTS = Path(__file__).resolve().parents[1] / "data" / "readers"
TIMES = 20


def measure(folder: Path, show: Callable[[str, str, str], None]) -> None:
    from deep_research.sources.extract import Extractor

    documents = _documents()
    for name, (raw, media_type) in documents.items():
        cold = []
        for _ in range(3):
            extractor = Extractor(workers=1)
            begun = time.perf_counter()
            extractor.submit(raw, media_type=media_type).result()
            cold.append((time.perf_counter() - begun) * 1e3)
            if len(cold) < 3:
                extractor.close()
        warm = []
        for _ in range(TIMES):
            begun = time.perf_counter()
            document = extractor.submit(raw, media_type=media_type).result()
            warm.append((time.perf_counter() - begun) * 1e3)
        extractor.close()
        show(
            f"{name}, {len(raw) / 1e3:.0f} KB, {len(document.text) / 1e3:.0f} KB of text",
            f"{statistics.median(warm):.1f} ms, first in a new child {min(cold):.0f} ms",
            "",
        )
    for workers in (1, 2):
        extractor = Extractor(workers=workers)
        pages = [
            documents[name] for name in ("web page", "long web page", "PDF of 4 pages", "Word document")
        ] * 40
        for raw, media_type in pages[:8]:
            extractor.submit(raw, media_type=media_type).result()
        begun = time.perf_counter()
        for future in [extractor.submit(raw, media_type=media_type) for raw, media_type in pages]:
            future.result()
        took = time.perf_counter() - begun
        extractor.close()
        show(f"documents a second, {workers} at once", f"{len(pages) / took:.0f}", "")


def _documents() -> dict[str, tuple[bytes, str]]:
    sys.path.insert(0, str(_TESTS))
    import made

    page = (_INPUTS / "news.html").read_bytes()
    start, end = page.index(b"<h2>What was done"), page.index(b'<div class="ad-slot"')
    table = b"station,day,level\n" + b"".join(b"Mole,%d,%d.40\n" % (n, n % 7) for n in range(5_000))
    return {
        "web page": (page, "text/html"),
        "long web page": (page[:start] + page[start:end] * 200 + page[end:], "text/html"),
        "PDF of 4 pages": (made.report(), "application/pdf"),
        "Word document": (made.document(), ""),
        "CSV": (table, "text/csv"),
        "JSON": (b'{"readings": [' + b'{"day": 1, "level": 3.4},' * 4_999 + b'{"day": 2, "level": 1}]}', ""),
        "plain text": (b"The wall was mended in the year of the storm. " * 2_000, "text/plain"),
    }
