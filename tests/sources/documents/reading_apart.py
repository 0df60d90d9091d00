"""A process of its own that opens folders as corpora and tells what that cost it: ``python reading_apart.py FOLDER …``.

Each folder holds a file and ``honest.md`` beside it. For each it prints a line of JSON: the growth of its memory in MB
(children not counted), what the thread of its loop computed at most between two ticks of a task, and what the whole
process computed at most while a tick was late, in seconds; which documents were found, and what was skipped.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import sys
import time
from contextlib import suppress
from pathlib import Path

from deep_research.sources.documents import LocalCorpus
from deep_research.sources.extract import Extractor
from deep_research.sources.search.base import SearchRequest

HONEST = "# The lamp\n\nThe lamp of Ellery was lit in 1871 by the keeper Ines Okafor.\n"
QUESTION = "When was the lamp of Ellery lit?"
TICK = 0.002  # seconds


class Kept(Extractor):
    """One whose children are used for the next corpus as well: to start them costs more than most files."""

    async def aclose(self) -> None:
        pass

    def close(self) -> None:
        pass


class Ticks:
    """The most that was computed between two ticks of the loop: ``held`` by its own thread; ``late`` by all threads
    while a tick was due, of which the interpreter may have been kept from the loop."""

    def __init__(self) -> None:
        self.held = self.late = 0.0

    async def run(self) -> None:
        while True:
            began, own, computed = time.perf_counter(), time.thread_time(), time.process_time()
            await asyncio.sleep(TICK)
            waited = time.perf_counter() - began - TICK
            self.held = max(self.held, time.thread_time() - own)
            self.late = max(self.late, min(waited, time.process_time() - computed))


def memory(kind: str) -> float:
    """In MB: what the process holds (``VmRSS``), or held at most (``VmHWM``)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(kind):
            return int(line.split()[1]) / 1024
    raise OSError(f"no {kind} is told here")


async def opened(folder: Path, extractor: Extractor) -> dict[str, object]:
    gc.collect()
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)  # what the last one left counts as taken anew
    Path("/proc/self/clear_refs").write_text("5")
    before = memory("VmRSS")
    corpus = LocalCorpus(folder, data_dir=folder.with_name(f"{folder.name} data"), extractor=extractor)
    ticks = Ticks()
    ticking = asyncio.create_task(ticks.run())
    began = time.process_time()
    found = await corpus.search(SearchRequest(query=QUESTION, limit=5))
    computed = time.process_time() - began
    ticking.cancel()
    indexed = corpus.prepare()
    grown = memory("VmHWM") - before
    await corpus.aclose()
    return {
        "folder": folder.name,
        "grown": round(grown, 1),
        "held": round(ticks.held, 4),
        "late": round(ticks.late, 4),
        "computed": round(computed, 3),
        "documents": indexed.documents,
        "found": [result.address for result in found],
        "skipped": {file.path: file.why for file in indexed.skipped},
    }


async def main(folders: list[Path]) -> None:
    extractor = Kept()
    try:
        for folder in folders:
            print(json.dumps(await opened(folder, extractor)), flush=True)
    finally:
        Extractor.close(extractor)


if __name__ == "__main__":
    asyncio.run(main([Path(folder) for folder in sys.argv[1:]]))
