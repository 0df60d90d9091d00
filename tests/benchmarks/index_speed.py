"""How fast the corpus index is, beside plain FTS5 on the same texts.

With ``BENCHMARK_DATA`` set to a folder that holds ``wiki-multihop/corpus.jsonl`` these texts are indexed,
repeated under other names for the large size; otherwise texts of the same length from a seeded Zipf vocabulary.
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
import sqlite3
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

SMALL, LARGE = 9_236, 101_596
QUERIES = 200
ADDED_ONE_BY_ONE = 50
BARS = {SMALL: ("30,000/s", "5 ms"), LARGE: ("15,000/s", "30 ms")}

Text = tuple[str, str]  # title, body


class Figures(NamedTuple):
    speed: float  # passages a second
    median: float  # ms a query
    p95: float
    memory: float  # MB
    one: float  # ms to add one document
    followed: tuple[float, float] = (0.0, 0.0)  # ms of a query, median and p95, when names are followed

    def __str__(self) -> str:
        return (
            f"{self.speed:,.0f}/s, query {self.median:.2f}, p95 {self.p95:.2f} ms,"
            f" +{self.memory:.0f} MB, add one {self.one:.2f} ms"
        )


def measure(folder: Path, show: Callable[[str, str, str], None]) -> None:
    texts, questions = _data()
    for size in (SMALL, LARGE):
        repeated = [(texts[n % len(texts)]) for n in range(size)]
        speed, query = BARS[size]
        # One build of the small size takes a third of a second: both have nine tries, one after the other.
        tries = range(9 if size == SMALL else 1)
        own = max(_own(folder / f"own{size}-{n}.db", repeated, questions) for n in tries)
        bare = max(_bare(folder / f"bare{size}-{n}.db", repeated, questions) for n in tries)
        show(f"index of {size:,} passages", str(own), f"{speed}, p95 {query}, 50 MB, 1 ms")
        median, p95 = own.followed
        show("  its search as the engine uses it", f"names followed: {median:.2f}, p95 {p95:.2f} ms", "-")
        show("  plain FTS5 on the same", str(bare), "-")


def _own(path: Path, texts: Sequence[Text], questions: Sequence[str]) -> Figures:
    from deep_research.sources.documents import CorpusIndex, Document

    documents = [(f"{n:06}.md", Document(title=title, text=body)) for n, (title, body) in enumerate(texts)]
    more = [(f"more-{n}.md", document) for n, (_, document) in enumerate(documents[:ADDED_ONE_BY_ONE])]
    index = CorpusIndex(path)
    before = _peak_from_here()
    started = time.perf_counter()
    passages = index.add(documents).passages
    speed = passages / (time.perf_counter() - started)
    grown = _peak() - before
    took = _timed(lambda question: index.search(question, 10), questions)
    followed = _timed(lambda question: index.search(question, 8, linked=3), questions)
    ones = _timed(lambda document: index.add([document]), more)
    index.close()
    return Figures(speed, *_spread(took), grown, statistics.median(ones), _spread(followed))


def _bare(path: Path, texts: Sequence[Text], questions: Sequence[str]) -> Figures:
    find = "SELECT rowid, title, body FROM t WHERE t MATCH ? ORDER BY bm25(t, 2.0, 1.0) LIMIT 10"
    insert = "INSERT INTO t (title, body) VALUES (?, ?)"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("CREATE VIRTUAL TABLE t USING fts5 (title, body, tokenize='porter unicode61')")

        def add(rows: Sequence[Text]) -> None:
            connection.execute("BEGIN")
            connection.executemany(insert, rows)
            connection.execute("COMMIT")

        before = _peak_from_here()
        started = time.perf_counter()
        add(texts)
        speed = len(texts) / (time.perf_counter() - started)
        grown = _peak() - before
        expressions = [" OR ".join(f'"{word}"' for word in re.findall(r"\w+", q)) for q in questions]
        took = _timed(lambda expression: connection.execute(find, (expression,)).fetchall(), expressions)
        ones = _timed(lambda text: add([text]), texts[:ADDED_ONE_BY_ONE])
    return Figures(speed, *_spread(took), grown, statistics.median(ones))


def _timed(work: Callable[[Any], object], items: Sequence[Any]) -> list[float]:
    took = []
    for item in items:
        started = time.perf_counter()
        work(item)
        took.append((time.perf_counter() - started) * 1e3)
    return took


def _spread(took: list[float]) -> tuple[float, float]:
    return statistics.median(took), sorted(took)[int(len(took) * 0.95)]


def _data() -> tuple[list[Text], list[str]]:
    """Texts and raw questions: real ones when there are some."""
    given = os.environ.get("BENCHMARK_DATA")
    place = Path(given) / "wiki-multihop" if given else None
    if place is None or not (place / "corpus.jsonl").is_file():
        return _generated()
    texts = [(entry["title"], entry["text"]) for entry in _lines(place / "corpus.jsonl")]
    asked = [entry["text"] for file in sorted(place.glob("q*.jsonl")) for entry in _lines(file)]
    return texts, asked[:QUERIES] or [title for title, _ in texts[:QUERIES]]


def _lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def _generated() -> tuple[list[Text], list[str]]:
    chance = random.Random(7)
    words = ["the", "of", "and", "in", "was", "a", "to"]
    words += list(
        {"".join(chance.choices("etaoinshrdlucmfwypvbgk", k=chance.randint(3, 10))) for _ in range(60_000)}
    )
    weights = list(accumulate(1 / rank for rank in range(2, len(words) + 2)))

    def some(count: int) -> str:
        return " ".join(chance.choices(words, cum_weights=weights, k=count))

    texts = [(some(3).title(), f"{some(chance.randint(40, 130))}.") for _ in range(SMALL)]
    questions = []
    for _ in range(QUERIES):
        title, body = chance.choice(texts)
        questions.append(f"What {' '.join(chance.sample(body.split(), 9))} of {title}?")
    return texts, questions


def _peak() -> float:
    """The most memory this process has held, in MB."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _peak_from_here() -> float:
    """The same, after forgetting earlier peaks where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _peak()
