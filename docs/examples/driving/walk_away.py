"""A run that drives itself: start it, look at how far it is, and read the report in the end."""

import time
from pathlib import Path

from deep_research import DeepResearch

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
PATIENCE_SECONDS = 300

with DeepResearch(corpus=CORPUS, store="memory") as research:
    handle = research.start("Who built Bell Rock, and how tall is the Cape Hatteras lighthouse?")
    until = time.monotonic() + PATIENCE_SECONDS
    while not handle.done() and time.monotonic() < until:
        status = handle.status()
        print(status.phase, *(answer.state for answer in status.answers))
        time.sleep(0.1)
    result = handle.result(timeout=PATIENCE_SECONDS)

print(result.status, result.answer_coverage)
for answer in result.answers:
    print(f"{answer.question}: {answer.text or answer.reason}")
print(result.report)
