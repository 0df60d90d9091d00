"""One run over so many sources of 100 KB, in a process of its own: prints what it took. See test_large_runs.py."""

import json
import random
import resource
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from prompt_reading import ReadingModel

from deep_research import DeepResearch, SearchResult
from deep_research.testing import ScriptedSearch

EACH, SIZE = 50, 100_000
WORDS = [
    "harbour",
    "light",
    "keeper",
    "stone",
    "tower",
    "reef",
    "bell",
    "cost",
    "lamp",
    "oil",
    "rope",
    "boat",
    "storm",
    "granite",
    "dock",
    "ship",
    "crew",
    "north",
    "south",
    "winter",
    "summer",
    "captain",
    "watch",
    "engine",
]


def text(chance):
    """Sentences no two of which are alike."""
    made, size = [], 0
    while size < SIZE:
        words = " ".join(chance.choices(WORDS, k=12))
        made.append(f"The {words} of {chance.randrange(10_000)} was number {len(made)}.")
        size += len(made[-1]) + 1
    return " ".join(made)


class Planning(ReadingModel):
    """Plans as many searches as it is told."""

    def __init__(self, searches):
        super().__init__()
        self.searches = searches

    def answer(self, call):
        if call.form is None or "sub_queries" not in call.form.json_schema["properties"]:
            return super().answer(call)
        queries = [
            {"query": f"keepers of light {n}", "rationale": "", "priority": 1} for n in range(self.searches)
        ]
        return json.dumps({"research_brief": "All of them.", "sub_queries": queries})


def main():
    sources, folder = int(sys.argv[1]), Path(sys.argv[2])
    profile = folder / "models.toml"
    profile.write_text('["reading:m"]\ncontext = 200000\noutput = 16000\n')

    def found(request):
        chance = random.Random(request.query)
        return [
            SearchResult(address=f"{request.query}/{n}", title=f"Page {n}", text=text(chance))
            for n in range(EACH)
        ]

    with DeepResearch(
        model=[Planning(sources // EACH)],
        search=[ScriptedSearch(found)],
        data_dir=folder / str(sources),
        model_file=profile,
        max_sub_queries=sources // EACH,
        max_sources_per_query=EACH,
        max_iterations=1,
    ) as research:
        result = research.run("Which keeper had the light of the tower?")
    took = resource.getrusage(resource.RUSAGE_SELF)
    # Not `ru_maxrss`, which is that of the process which started this one, where that was larger.
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    figures = {
        "status": result.status,
        "sources": len(result.sources),
        "fidelity": result.report_metadata.fidelity,
        "cpu": round(took.ru_utime + took.ru_stime, 1),
        "peak_mb": round(int(status["VmHWM"].split()[0]) / 1024),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
