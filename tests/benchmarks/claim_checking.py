"""What checking the claims of a report costs: ``python tests/benchmarks/claim_checking.py [FOLDER QUESTIONS]``.

Printed are its share of the processor time of a run: of whole processes, children and start counted, and of a second run
in each of them; for the questions over the sample corpus and, where they are named, for those of a file like
``tests/data/large_manual_questions.toml`` over a folder (``tests/evals/fetch_manuals.py`` gets one); and what a claim
costs in drafts of 100 to 10,000 claims.
"""

from __future__ import annotations

import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from deep_research import DeepResearch  # noqa: E402
from deep_research.report.checking import checked_claims  # noqa: E402
from deep_research.state import ConfidenceLevel, DeepResearchState, Finding, Quote, Source  # noqa: E402
from deep_research.state.journal import Content  # noqa: E402

SAMPLE = ROOT / "docs" / "examples" / "corpus"
SAMPLE_QUESTIONS = ROOT / "tests" / "data" / "corpus_questions.toml"
CLAIMS = (100, 1_000, 10_000)


def spent() -> float:
    """Seconds of processor time of this process and of the children that have ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def two_runs(folder: str, question: str) -> list[dict[str, float]]:
    """A run in this process and one more, the index made and all code loaded by then: what each took, and what of that
    went into its claims, whichever thread did it."""
    from deep_research.phases.synthesis import repair

    checking: list[float] = []
    off_loop = repair.off_loop

    async def timed(size: int, work: Callable[..., Any], *given: Any) -> Any:
        def work_timed() -> Any:
            begun = time.thread_time()
            try:
                return work(*given)
            finally:
                checking.append(time.thread_time() - begun)

        return await off_loop(size, work_timed)

    repair.off_loop = timed  # type: ignore[assignment]
    measured: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as home:
        for begun in (lambda: 0.0, spent):
            checking.clear()
            before = begun()
            result = DeepResearch(corpus=folder, data_dir=home).run(question)
            took = {"claims": len(result.claims), "checking": sum(checking), "run": spent() - before}
            measured.append(took)
    return measured


def shares(name: str, folder: Path, questions: Path) -> None:
    told = tomllib.loads(questions.read_text(encoding="utf-8"))["question"]
    asked = [str(each.get("question") or each["text"]) for each in told]
    pairs: list[list[dict[str, float]]] = []
    for question in asked:
        done = subprocess.run(
            [sys.executable, __file__, "--one", str(folder), question],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        pairs.append(json.loads(done.stdout.splitlines()[-1]))
    for what, runs in zip(("whole processes", "second runs"), zip(*pairs, strict=True), strict=True):
        each = sorted(run["checking"] / run["run"] for run in runs)
        whole = sum(run["checking"] for run in runs) / sum(run["run"] for run in runs)
        print(
            f"{name}, {what}: {len(runs)}, {sum(run['claims'] for run in runs):.0f} claims; share of the CPU: "
            f"{whole:.3f} of all, median {statistics.median(each):.3f}, {each[0]:.3f} to {each[-1]:.3f} (bar .15)",
            flush=True,
        )


def linear() -> None:
    """Claims about one and the same 20 sources of 20 KB: a third are sentences of theirs, a third have another number,
    a third are of words that stand in several."""
    rng = random.Random(4711)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 9))) for _ in range(4_000)]
    told = [[sentence(rng, words) for _ in range(220)] for _ in range(20)]
    texts = ["\n".join(sentences) for sentences in told]
    sources = [source(number, text) for number, text in enumerate(texts)]
    findings = [finding(one, sentences[0]) for one, sentences in zip(sources, told, strict=True)]
    state = DeepResearchState(query="What is known?", sources=tuple(sources), findings=tuple(findings))
    saved = {one.content_hash: text for one, text in zip(sources, texts, strict=True)}
    for count in CLAIMS:
        draft = "\n\n".join(claim(rng, words, told, findings) for _ in range(count))
        begun = time.process_time()
        made = checked_claims(draft, state, saved)
        took = time.process_time() - begun
        print(f"{len(made):>6} claims: {took:7.3f} s, {took / len(made) * 1e3:.2f} ms each", flush=True)


def sentence(rng: random.Random, words: list[str]) -> str:
    chosen = [*rng.choices(words, k=11), str(rng.randint(2, 9_999)), rng.choice(words)]
    return " ".join(chosen).capitalize() + "."


def claim(rng: random.Random, words: list[str], told: list[list[str]], findings: list[Finding]) -> str:
    of = rng.randrange(len(told))
    said = rng.choice(told[of])
    match rng.randrange(3):
        case 1:
            said = " ".join(
                str(rng.randint(10_000, 99_999)) if word.isdigit() else word for word in said.split()
            )
        case 2:
            said = sentence(rng, said[:-1].lower().split() + rng.sample(words, 6))
    return f"{said[:-1]} [{findings[of].id}]."


def source(number: int, text: str) -> Source:
    return Source(
        id=f"src-{number:012x}",
        sub_query_id="subq-1",
        title=f"Text {number}",
        url=f"https://ok.example/{number}",
        content_hash=Content.of(text).hash,
        length=len(text),
    )


def finding(of: Source, said: str) -> Finding:
    quote = Quote(source_id=of.id, quote=said, start=0, end=len(said), content_hash=of.content_hash)
    return Finding(
        id=f"find-{of.id[4:]}",
        content=said,
        confidence=ConfidenceLevel.MEDIUM,
        source_ids=(of.id,),
        quotes=(quote,),
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(two_runs(sys.argv[2], sys.argv[3])))
    else:
        shares("sample corpus", SAMPLE, SAMPLE_QUESTIONS)
        if sys.argv[1:]:
            shares(sys.argv[1], Path(sys.argv[1]), Path(sys.argv[2]))
        linear()
