"""The figures of docs/benchmarks.md: ``python tests/benchmarks/run.py [ROW …]``.

Each row prints what was measured and the bar beside it; nothing is asserted, machines differ. CPU is that of the
whole process, all threads.
"""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

ROWS: dict[str, Callable[[Path], None]] = {}


def row(function: Callable[[Path], None]) -> Callable[[Path], None]:
    ROWS[function.__name__] = function
    return function


def show(what: str, measured: str, bar: str) -> None:
    print(f"{what:<46} {measured:<40} bar: {bar}", flush=True)


def repeated(work: Callable[[], float], times: int) -> str:
    values = sorted(work() for _ in range(times))
    return f"min {values[0]:.1f}, median {statistics.median(values):.1f}"


@row
def import_cost(folder: Path) -> None:
    code = (
        "import time,resource; t=time.perf_counter(); from deep_research import DeepResearch;"
        "print((time.perf_counter()-t)*1e3, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss/1024)"
    )
    bare = "import resource; print(0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss/1024)"

    def once(source: str) -> list[float]:
        done = subprocess.run(
            [sys.executable, "-c", source],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        )
        return [float(x) for x in done.stdout.split()]

    runs = [once(code) for _ in range(7)]
    empty = once(bare)[1]
    show(
        "import DeepResearch, fresh process",
        f"{min(r[0] for r in runs):.0f} ms (median {statistics.median(r[0] for r in runs):.0f}),"
        f" {max(r[1] for r in runs):.0f} MB (python alone {empty:.0f})",
        "200 ms, 45 MB",
    )


@row
def one_iteration(folder: Path) -> None:
    from workload import engine

    async def measure() -> tuple[str, int, str]:
        async with engine(folder) as research:
            for _ in range(3):
                await research.arun("A warm-up question")
            cpu, wall = [], []
            for _ in range(20):
                gc.collect()
                clock, started = time.process_time(), time.perf_counter()
                result = await research.arun("The question that is measured")
                cpu.append((time.process_time() - clock) * 1e3)
                wall.append((time.perf_counter() - started) * 1e3)
            commits = serial_commits(research, result.research_id)
            figures = f"CPU min {min(cpu):.1f}, median {statistics.median(cpu):.1f} ms"
            return figures, commits, f"wall {statistics.median(wall):.1f} ms"

    figures, commits, wall = asyncio.run(measure())
    show("one iteration, 5 x 5 x 2 KB", f"{figures}, {commits} commits, {wall}", "10 ms CPU, 12 commits")


def serial_commits(research: object, research_id: str) -> int:
    """Distinct times of hand-in are an upper bound of serial commits: what is handed in together commits together."""
    events = research.events(research_id)  # type: ignore[attr-defined]
    phases = [e.name for e in events if e.name != "sub_query.completed"]
    return len({e.at for e in events if e.name != "sub_query.completed"}) + (len(phases) != len(events))


@row
def sources_260(folder: Path) -> None:
    from workload import engine

    def size(path: Path) -> int:
        return sum(f.stat().st_size for f in path.rglob("*") if f.is_file())

    async def measure() -> None:
        cpu: list[float] = []
        told, sent = 0, written()
        async with engine(folder, queries=9, sources=10, size=20_000, iterations=3) as research:
            for turn in range(6):  # the first warms up
                gc.collect()
                clock = time.process_time()
                result = await research.arun(f"The question that is measured in turn {turn}")
                cpu.append((time.process_time() - clock) * 1e3)
                texts = sum(source.length for source in result.sources)
                told += texts + len(result.state.model_dump_json())
        cpu = cpu[1:]
        show(
            f"three iterations, {len(result.sources)} sources of 20 KB",
            f"CPU min {min(cpu):.0f}, median {statistics.median(cpu):.0f} ms",
            "60 ms CPU",
        )
        show(
            "  store size against state and texts",
            f"{size(folder) / told:.2f}x; to disk {(written() - sent) / told:.2f}x",
            "1.1x; 2.5x",
        )

    asyncio.run(measure())


def written() -> int:
    """Bytes this process sent to the block layer, where the system counts them."""
    with suppress(OSError):
        for line in Path("/proc/self/io").read_text().splitlines():
            if line.startswith("write_bytes"):
                return int(line.split()[1])
    return 0


@row
def text_work(folder: Path) -> None:
    import threading

    from deep_research.phases.analysis.extractive_analyzer import analyze
    from deep_research.phases.analysis.handoff import AnalyzerInput, SourceText
    from deep_research.state import DeepResearchPhase, SubQuery

    texts = corpus_texts(5_000_000)
    total = sum(map(len, texts))
    question = "How did keepers of the lighthouse record wind and weather?"
    handoff = AnalyzerInput(
        research_id="deepres-000000000000",
        original_query=question,
        current_phase=DeepResearchPhase.ANALYSIS,
        iteration=1,
        source_count=len(texts),
        high_quality_sources=0,
        sub_queries=(
            SubQuery(id="subq-1", query=question),
            SubQuery(id="subq-2", query="lighthouse keepers wind"),
        ),
        sources=tuple(
            SourceText(id=f"src-{n}", title=f"Text {n}", content=text) for n, text in enumerate(texts)
        ),
    )
    analyze(handoff.model_copy(update={"sources": handoff.sources[:5]}))
    speeds = []
    for _ in range(5):
        clock = time.thread_time()
        analyze(handoff, threading.Event())
        speeds.append(total / 1e6 / (time.thread_time() - clock))
    show(
        "extractive analysis of 5 MB",
        f"max {max(speeds):.1f}, median {statistics.median(speeds):.1f} MB/s",
        "5 MB/s",
    )


def corpus_texts(total: int) -> list[str]:
    """Documents of 20 KB, put together from the sample corpus; no two are the same."""
    root = Path(__file__).resolve().parents[2] / "docs" / "examples" / "corpus"
    parts = [p.read_text(encoding="utf-8") for p in sorted(root.glob("*.md"))]
    everything = "\n\n".join(parts)
    texts = []
    place = 0
    while sum(map(len, texts[-1:])) * len(texts) < total:
        piece = (everything + everything)[place : place + 20_000]
        texts.append(f"# Document {len(texts)}\n\n{piece}")
        place = (place + 7_919) % len(everything)
    return texts


@row
def web_texts(folder: Path) -> None:
    from deep_research.phases.gathering.handoff import GathererInput
    from deep_research.phases.gathering.source_reading import SourceReader
    from deep_research.sources.search.fusion import fused
    from deep_research.state import DeepResearchPhase
    from deep_research.testing.doubles import results

    handoff = GathererInput(
        research_id="",
        original_query="q",
        current_phase=DeepResearchPhase.GATHERING,
        iteration=1,
        sub_queries=("q",),
        max_sources_per_query=5,
    )

    async def measure(size: int) -> list[float]:
        spent = []
        for turn in range(40):
            found = results(f"what the keepers of tower {turn} wrote down", 5, size=size)
            clock = time.process_time()
            await SourceReader().read(
                fused([found]), query="the keepers of the tower", limit=5, handoff=handoff
            )
            spent.append((time.process_time() - clock) * 1e3 / 5)
        return spent[10:]

    for size in (2_000, 20_000):
        spent = asyncio.run(measure(size))
        show(
            f"a text of the web, {size // 1000} KB: matched, told from copies, judged",
            f"CPU min {min(spent):.2f}, median {statistics.median(spent):.2f} ms",
            "-",
        )


@row
def many_runs(folder: Path) -> None:
    from workload import engine

    async def measure(runs: int, active: int) -> None:
        place = folder / f"runs{runs}"
        async with engine(place, delay=0.05, max_active_runs=active) as research:
            await research.arun("A warm-up question")
            lag = asyncio.create_task(worst_lag())
            clock, started = time.process_time(), time.perf_counter()
            results = await asyncio.gather(*(research.arun(f"Question number {n}") for n in range(runs)))
            cpu = (time.process_time() - clock) * 1e3
            wall = time.perf_counter() - started
            lag.cancel()
            done = sum(r.status == "completed" for r in results)
            del results
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            show(
                f"{runs} runs at once, at most {active} active",
                f"{done} completed, {cpu / runs:.1f} ms CPU a run, {wall:.1f} s",
                "5 ms CPU a run" if runs == 100 else "complete",
            )
            if runs > 100:
                show(
                    "  memory and loop lag",
                    f"{peak:.0f} MB, worst lag {LAG[0] * 1e3:.0f} ms",
                    "300 MB, 500 ms",
                )

    asyncio.run(measure(100, 200))
    asyncio.run(measure(1000, 200))


LAG = [0.0]


async def worst_lag() -> None:
    LAG[0] = 0.0
    while True:
        before = time.perf_counter()
        await asyncio.sleep(0.005)
        LAG[0] = max(LAG[0], time.perf_counter() - before - 0.005)


@row
def loop_stall(folder: Path) -> None:
    from workload import Search, engine

    texts = corpus_texts(5_200_000)

    class Real(Search):
        async def search(self, request):  # type: ignore[no-untyped-def]
            found = await super().search(request)
            start = hash(request.query) % len(texts)
            return [
                type(r)(
                    address=r.address, title=r.title, text=texts[(start + n) % len(texts)], quality=r.quality
                )
                for n, r in enumerate(found)
            ]

    async def measure() -> None:
        from workload import Planner

        from deep_research import DeepResearch

        engine_ = DeepResearch(
            search=[Real(26, 10)],
            agents={"planner": Planner(10)},
            data_dir=folder,
            max_sources_per_query=50,
            max_sub_queries=20,
            max_iterations=1,
        )
        async with engine_ as research:
            await research.arun("How did keepers record the wind?")
            watch = asyncio.create_task(worst_lag())
            await asyncio.sleep(0.01)
            result = await research.arun("How did the keepers of a lighthouse record wind and weather?")
            watch.cancel()
            show(
                f"longest loop stall, {len(result.sources)} sources of 20 KB",
                f"{LAG[0] * 1e3:.0f} ms",
                "50 ms",
            )

    del engine
    asyncio.run(measure())


@row
def cancel(folder: Path) -> None:
    from workload import engine

    async def measure() -> None:
        times = []
        async with engine(folder, delay=30.0) as research:
            for n in range(100):
                handle = await research.astart(f"Question number {n}")
                await asyncio.sleep(0.002)
                started = time.perf_counter()
                summary = await handle.acancel()
                times.append((time.perf_counter() - started) * 1e3)
                assert summary.status == "aborted", summary
        show(
            "cancel with a call in flight, 100 tries",
            f"median {statistics.median(times):.0f}, worst {max(times):.0f} ms",
            "100 ms",
        )

    asyncio.run(measure())


@row
def growth(folder: Path) -> None:
    from workload import engine

    async def measure(queries: int, sources: int, iterations: int) -> tuple[int, float]:
        place = folder / f"{queries}-{sources}-{iterations}"
        best = float("inf")
        async with engine(
            place, queries=queries, sources=sources, size=500, iterations=iterations
        ) as research:
            for _ in range(3):
                clock = time.process_time()
                result = await research.arun("The question that is measured")
                best = min(best, time.process_time() - clock)
        return len(result.sources), best * 1e6

    async def everything() -> None:
        few, cheap = await measure(20, 5, 1)
        many, dear = await measure(20, 50, 1)
        show(
            "cost of a source, from 100 to 1,000",
            f"{(dear - cheap) / (many - few):.0f} µs ({cheap / few:.0f} and {dear / many:.0f} overall)",
            "linear",
        )
        _, three = await measure(5, 5, 3)
        _, nine = await measure(5, 5, 9)
        show(
            "cost of an iteration, from 3 to 9",
            f"{(nine - three) / 6e3:.1f} ms ({three / 3e3:.1f} and {nine / 9e3:.1f} overall)",
            "linear",
        )

    asyncio.run(everything())


@row
def fold_10000(folder: Path) -> None:
    from deep_research.state import Notice, RunOptions, Source, SubQuery
    from deep_research.state.events import (
        NoticeAdded,
        PlanMade,
        RunCreated,
        SubQueryCompleted,
        decode,
        encode,
    )
    from deep_research.state.journal import utc_now
    from deep_research.state.reducer import Fold

    events = [RunCreated(research_id="deepres-000000000000", query="q", options=RunOptions())]
    queries = tuple(SubQuery(id=f"subq-{n}", query=f"query {n}", index=n) for n in range(2_500))
    events.append(PlanMade(research_brief="b", sub_queries=queries))
    for n, query in enumerate(queries):
        events += [
            SubQueryCompleted(
                sub_query_id=query.id,
                sources=(Source(id=f"src-{n}", sub_query_id=query.id, title="A title", url=f"docs/{n}.md"),),
            ),
            NoticeAdded(notice=Notice(name="a", message=str(n))),
            NoticeAdded(notice=Notice(name="b", message=str(n))),
            NoticeAdded(notice=Notice(name="c", message=str(n))),
        ]
    events = events[:10_000]
    stamped = [e.model_copy(update={"seq": n, "at": utc_now()}) for n, e in enumerate(events, 1)]
    bodies = [(e.name, e.version, encode(e)) for e in stamped]

    def once() -> float:
        clock = time.process_time()
        state = Fold()
        for kind, version, body in bodies:
            state.apply(decode(kind, version, body))
        state.snapshot()
        return (time.process_time() - clock) * 1e3

    show("fold of 10,000 events", repeated(once, 5) + " ms", "150 ms")


@row
def critical_path(folder: Path) -> None:
    from workload import engine

    async def measure() -> None:
        async with engine(folder, queries=4, delay=1.0, search_delay=0.3) as research:
            started = time.perf_counter()
            await research.arun("The question that is measured")
            wall = time.perf_counter() - started
        show("wall over the critical path, 1 s agents", f"{wall / 3.3:.3f}x", "1.05x")

    asyncio.run(measure())


@row
def model_path(folder: Path) -> None:
    """The agents that think with a model, each answer taking a second, each search 0.3 s, four sub-queries."""
    from workload import Planning, Search

    from deep_research import DeepResearch

    async def once(name: str, queries: int, seconds: float, **fields: Any) -> tuple[float, Any, Planning]:
        model = Planning(queries, seconds)
        async with DeepResearch(
            model=[model], data_dir=folder / name, max_sub_queries=queries, **fields
        ) as research:
            started = time.perf_counter()
            result = await research.arun("How did the keepers of a lighthouse record wind and weather?")
        assert result.status == "completed", result.reason
        assert result.report_metadata.writer == "synthesizer", result.notices
        return time.perf_counter() - started, result, model

    def spent(result: Any, model: Planning) -> str:
        return f"{len(model.calls)} calls, {result.usage.input_tokens:,} tokens in"

    def large(name: str) -> Path:
        path = folder / f"{name}.toml"
        path.write_text('["reading:m"]\ncontext = 200000\noutput = 32000\n')
        return path

    async def everything() -> None:
        search = [Search(5, 2_000, 0.3)]
        wall, _, _ = await once("four", 4, 1.0, search=search, max_iterations=1, model_file=large("four"))
        critical = 1.0 + 0.3 + 1.0 + 1.0  # plan, search, read, write
        show("wall over the critical path, 1 s models", f"{wall / critical:.3f}x", "1.05x")
        _, result, model = await once(
            "standard", 5, 0.0, search=[Search(5, 2_000)], model_file=large("standard")
        )
        show("  5 sub-queries x 5 sources x 2 KB", spent(result, model), "3 calls, 41,000 tokens (others)")
        corpus = Path(__file__).resolve().parents[2] / "docs" / "examples" / "corpus"
        _, result, model = await once("corpus", 5, 0.0, corpus=corpus, model_file=large("corpus"))
        show(f"  the sample corpus, {len(result.sources)} sources", spent(result, model), "the same")
        small = await once("small", 5, 0.0, search=[Search(5, 2_000)])
        show("  5 x 5 x 2 KB, window of 8,192 tokens", spent(*small[1:]), "-")

    asyncio.run(everything())


@row
def index_speed(folder: Path) -> None:
    from index_speed import measure

    measure(folder, show)


@row
def gather_pages(folder: Path) -> None:
    from gather_pages import measure

    measure(show)


@row
def extraction(folder: Path) -> None:
    from extraction import measure

    measure(folder, show)


@row
def model_calls(folder: Path) -> None:
    from model_calls import overheads

    os.environ.setdefault("ANTHROPIC_API_KEY", "any")
    for sdk, (bare, ours) in overheads().items():
        show(
            f"a call to a model over the bare {sdk}",
            f"{ours - bare:+.2f} ms CPU ({ours:.2f} against {bare:.2f}, the server's in both)",
            "3 ms",
        )


@row
def allocation(folder: Path) -> None:
    from deep_research.budget.allocation import Item, allocate, with_top
    from deep_research.budget.tokens import Counter

    texts = corpus_texts(20_000_000)
    cached = "TIKTOKEN_CACHE_DIR" in os.environ
    counter = asyncio.run(Counter.of("o200k_base" if cached else None))
    clock = time.process_time()
    sizes = [counter.expected(text) for text in texts]
    counted = time.process_time() - clock
    items = with_top([Item(f"src-{n}", size, 1 / (1 + n % 97)) for n, size in enumerate(sizes)])
    spent = []
    for share in (0.05, 0.3, 0.6, 0.9):
        clock = time.process_time()
        allocate(items, int(sum(sizes) * share))
        spent.append(time.process_time() - clock)
    show(
        f"counting and allocating {len(items):,} sources of 20 KB",
        f"{counted + max(spent):.2f} s, {max(spent) * 1e3:.0f} ms of it allocating"
        f" ({'tiktoken' if counter.exact else 'bytes/3'})",
        "1 s",
    )


@row
def condensing(folder: Path) -> None:
    from deep_research.budget.condense import condense

    texts = corpus_texts(3_000_000)
    total = sum(map(len, texts)) / 1e6
    query = "How did keepers of the lighthouse record wind and weather?"
    for percent in (40, 20, 10):
        speeds = []
        for _ in range(4):
            clock = time.process_time()
            for text in texts:
                condense(text, len(text) * percent // 100, query=query, measure=len)
            speeds.append(total / (time.process_time() - clock))
        show(
            f"condensing texts of 20 KB to {percent} %",
            f"max {max(speeds):.1f}, median {statistics.median(speeds):.1f} MB/s",
            "5 MB/s",
        )


def main(names: list[str]) -> int:
    """Each row in a process of its own: what one leaves in memory must not slow the next."""
    for name in names or list(ROWS):
        if name not in ROWS:
            print(f"No row '{name}'. Known: {', '.join(ROWS)}.", file=sys.stderr)
            return 2
    if len(names) != 1:
        return max(subprocess.call([sys.executable, __file__, name]) for name in names or list(ROWS))
    with tempfile.TemporaryDirectory() as folder:
        ROWS[names[0]](Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
