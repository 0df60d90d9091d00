"""The golden set: sixty small runs, without a model and with a scripted one, written out to compare two trees.

    python tests/golden/runs.py write FOLDER        the reports, results and events of all runs
    python tests/golden/runs.py compare OLD NEW     shows how two such folders differ, line by line
    python tests/golden/runs.py check COMMIT        writes both the tree as it is and a commit's, and compares

Rebuilding the house must not change a report. Runs are deterministic: a clock that ticks by itself, one unit of work at a
time. ``RENAMED`` is the one table of keys that a rebuild renames.
"""

from __future__ import annotations

import difflib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TREE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "tests"))

# Keys of the JSON as they are called now -> as they were called.
RENAMED = {
    "cheap_model": "economy",
    "on_budget_exhausted": "on_cap",
    "protected_sources": "protected",
    "revise_with_critic": "critique",
    "fetch_enabled": "fetch_pages",
    "reading_sections": "read_sections",
    "summarization_cache": "summarization_cache_enabled",
    "reading_triage": "model_triage",
    "window_allow_dropping": "allow_content_dropping",
    "window_enabled": "token_management_enabled",
    "window_model_tokens": "model_context_overrides",
    "window_runtime": "runtime",
    "window_runtime_overhead": "runtime_overhead",
    "window_safety_margin": "token_safety_margin",
    "answer_coverage": "answered",
    "cache_read": "cached",
    "cache_write": "written",
    "code_verdict": "checked",
    "context_usage": "sent",
    "has_answer": "answered",
    "highlights": "marked",
    "in_source": "found",
    "is_known": "known",
    "is_marked": "marked",
    "is_merged": "taken",
    "is_settled": "settled",
    "marks": "marked",
    "questions": "asked",
    "removals": "removed",
    "repairs": "repaired",
    "replaces_earlier": "kept",
    "usage": "used",
    "user_message": "asked",
    "wording": "told",
}

# Members of the setting `tasks` -> settings that they were.
TASK_SETTINGS = {
    "max_waves": "max_waves",
    **{f"max_{limit}": f"max_task_{limit}" for limit in ("steps", "retries", "tokens", "usd", "seconds")},
    **{name: f"task_{name}" for name in ("sources", "tools", "public_after_private")},
}

# Messages as they read now -> as they read.
REWORDED = {
    "(reading.sections)": "(read_sections)",
    "the rest was done without a model": "what was left to do was done without a model",
    "could exceed the": "could pass the",
    "from its maker": "of whoever made it",
    "supported by the cited sources": "borne out by the cited sources",
    "etter supported is": "etter borne out is",
}

# Settings that are gone.
REMOVED = {"dense_model"}

# Sets, which have no order.
UNORDERED = {"analyzed", "analyzed_now"}

# Fields that a rebuild adds or drops.
ADDED = {
    "irrelevant",
    "irrelevant_ids",
    "search_fanout",
    "section_relevance",
    "block",
    "discoveries",
    "depth",
    "resolution",
    "recalling",
    "history",
    "admission",
    "user",
    "queue",
    "corpora",
    "named_corpora",
    "metadata",
}

# What two runs of one tree do not share.
VARIABLE = ADDED | {"elapsed", "seconds", "at", "lease_until", "duration", "package_version", "fingerprint"}

QUESTIONS = (
    "How tall is the Cape Hatteras lighthouse?",
    "Who designed the Bell Rock lighthouse, what did it cost, and when was it lit?",
    "Why was the Cape Hatteras lighthouse moved?",
    "How does a Fresnel lens work?",
    "What fuels were burnt in lighthouse lamps?",
    "Compare Bell Rock and Skerryvore.",
    "When did the Flannan Isles keepers disappear, and what is known of it?",
    "What is hydraulic lime used for?",
    "Which lighthouse is the oldest one still in use?",
    "How were fog signals made?",
    "What did Gustaf Dalén invent?",
    "Who was Grace Darling?",
    "How many towers stood on the Eddystone rocks?",
    "What is known of the Pharos of Alexandria?",
    "When was electric light first used in a lighthouse?",
    "What is the melting point of tungsten carbide?",
    "Welches ist der höchste Leuchtturm?",
    "List the lighthouses of the Stevenson family.",
    "What does Trinity House do?",
    "How was Minot's Ledge destroyed?",
)
TALL, BELL = QUESTIONS[:2]
COAST = "In which year were the lighthouse towers of the northern coast told of?"
COASTS = ("northern", "eastern", "southern", "western")


def _cases() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The label of each run, its question, and what differs from the usual: keywords of the engine and the run, and a few
    words of this file's own (``web``, ``ends``, ``answer``, ``script``)."""
    for number, question in enumerate(QUESTIONS):
        yield f"keyless-{number:02}", question, {}
    for label, more in {
        "one-round": {"max_iterations": 1},
        "short": {"report_words": 120},
        "since": {"since": "1990-01-01"},
        "one-search": {"budget": {"max_searches": 1}},
        "system-prompt": {"system_prompt": "Answer in feet. Mind the keepers."},
        "min-supported": {"min_supported": 0.9},
        "agents": {"gathering": "agents"},
        "german": {"language": "German"},
        "aborted": {"ends": "SYNTHESIS"},
        "parked": {"parks": "ANALYSIS"},
        "answered": {"parks": "ANALYSIS", "answer": "Say who paid for it."},
        "no-evidence": {"web": True, "nothing": True},
    }.items():
        yield f"keyless-{label}", BELL, more
    yield "keyless-scripted", "Who kept the light?", {"script": {"iterations": 2, "improvements": ("More.",)}}
    yield (
        "keyless-scripted-retry",
        "Who kept the light?",
        {"script": {"retries": {"planner": 1, "analyzer": 1}}},
    )
    for number, question in enumerate(QUESTIONS[:10]):
        yield f"model-{number:02}", question, {"model": True}
    for label, more in {
        "web": {"web": True},
        "one-round": {"max_iterations": 1},
        "agents": {"gathering": "agents"},
        "agents-web": {"gathering": "agents", "web": True},
        "judge-off": {"judge": "off"},
        "judge-doubtful": {"judge": "doubtful"},
        "critique": {"revise_with_critic": True},
        "economy": {"cheap_model": True},
        "triage": {"reading": {"triage": True}},
        "reflection": {"reflection": "always"},
        "cheap": {"budget": {"max_usd": 0.004}},
        "no-money": {"budget": {"max_usd": 0.000001}},
        "babbling": {"babbling": True},
        "parked": {"parks": "PLANNING"},
        "answered": {"parks": "PLANNING", "answer": "Mind the keepers."},
        "aborted": {"ends": "ANALYSIS"},
    }.items():
        yield f"model-{label}", COAST if "web" in more else BELL, {"model": True, **more}


PROFILE = '["reading:m"]\ncontext = 60000\noutput = 8000\nprice = { input = 1.0, output = 4.0 }\n'


def _results(request: Any) -> list[Any]:
    from deep_research.sources.search import SearchResult
    from deep_research.state import SourceQuality

    return [
        SearchResult(
            address=f"https://example.org/{coast}",
            title=f"The {coast} coast",
            text="".join(
                f"The towers of the {coast} coast were told of in the year 1{n}{k:02}. " for k in range(40)
            ),
            quality=SourceQuality.HIGH,
        )
        for n, coast in enumerate(COASTS)
        if coast in request.query or coast < "northern"
    ]


def _hooks(ends: str | None, parks: str | None) -> Any:
    from parking import parking_hooks

    from deep_research import SupervisorHooks
    from deep_research.errors import StopResearch
    from deep_research.state import DeepResearchPhase

    if parks:
        return parking_hooks("think_pause", phases=(DeepResearchPhase[parks],))
    if not ends:
        return None

    def stop(state: Any, phase: Any) -> None:
        if phase is DeepResearchPhase[ends]:
            raise StopResearch("Enough.")

    return SupervisorHooks(before_phase=stop)


def _run(folder: Path, question: str, options: dict[str, Any]) -> dict[str, Any]:
    from deep_research import Budget, DeepResearch
    from deep_research.testing import FakeClock, ScriptedSearch, scripted_agents

    options = dict(options)
    web, nothing, babbling = (options.pop(name, False) for name in ("web", "nothing", "babbling"))
    hooks = _hooks(options.pop("ends", None), options.pop("parks", None))
    answer, script, with_model = (
        options.pop("answer", None),
        options.pop("script", None),
        options.pop("model", False),
    )
    keywords: dict[str, Any] = {"data_dir": folder, "clock": FakeClock(), "max_concurrent": 1, "hooks": hooks}
    if script is not None:
        keywords["agents"] = scripted_agents(**script)
    elif web:
        keywords["search"] = [ScriptedSearch((lambda request: []) if nothing else _results)]
    else:
        keywords["corpus"] = TREE / "docs" / "examples" / "corpus"
    if with_model:
        (folder / "models.toml").write_text(PROFILE, encoding="utf-8")
        keywords |= {"model": _model(babbling), "model_file": folder / "models.toml"}
    budget = options.pop("budget", None)
    if budget:
        options["budget"] = Budget(**budget)
    engine_only = {"judge", "revise_with_critic", "cheap_model", "reading", "reflection"}
    keywords |= {name: options.pop(name) for name in engine_only & set(options)}
    with DeepResearch(**keywords) as research:
        result = research.run(question, **options)
        if answer is not None:
            result = research.resume(result.research_id, answer=answer)
        events = research.events(result.research_id)
    raw = {
        "result": result.model_dump(mode="json"),
        "events": [event.model_dump(mode="json") for event in events],
    }
    return {"report": result.report or "", **json.loads(json.dumps(raw).replace(result.research_id, "RUN"))}


def _model(babbling: bool) -> Any:
    from prompt_reading import ReadingModel

    class Babbling(ReadingModel):
        def answer(self, call: Any) -> str:
            return "I would rather not."

    return Babbling() if babbling else ReadingModel()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        if isinstance(value.get("tasks"), dict):
            value = {**value, **{TASK_SETTINGS[name]: each for name, each in value["tasks"].items()}}
            del value["tasks"]
        return {
            RENAMED.get(key, key): _plain(sorted(each) if key in UNORDERED else each)
            for key, each in value.items()
            if key not in VARIABLE and key not in REMOVED
        }
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value


def write(folder: Path) -> None:
    """Each run as FOLDER/LABEL.md and FOLDER/LABEL.json."""
    folder.mkdir(parents=True, exist_ok=True)
    for label, question, options in _cases():
        with tempfile.TemporaryDirectory() as home:
            run = _run(Path(home), question, options)
            text = json.dumps(_plain(run), indent=1, ensure_ascii=False, sort_keys=True)
            (folder / f"{label}.json").write_text(text.replace(home, "HOME") + "\n", encoding="utf-8")
        (folder / f"{label}.md").write_text(run["report"], encoding="utf-8")
        print(label, run["result"]["status"], run["result"]["reason"] or "", len(run["report"]), flush=True)


def compare(old: Path, new: Path, most_lines: int = 12) -> int:
    """How many files differ; the first lines of each difference are printed."""
    names = sorted({path.name for folder in (old, new) for path in folder.iterdir()})
    different = 0
    for name in names:
        texts = [
            (folder / name).read_text(encoding="utf-8") if (folder / name).exists() else ""
            for folder in (old, new)
        ]
        if name.endswith(".json"):
            texts[0] = (
                json.dumps(_plain(json.loads(texts[0] or "{}")), indent=1, ensure_ascii=False, sort_keys=True)
                + "\n"
            )
        for now, before in REWORDED.items():
            texts = [text.replace(now, before) for text in texts]
        if texts[0] == texts[1]:
            continue
        different += 1
        print(f"-- {name}")
        lines = difflib.unified_diff(*(text.splitlines() for text in texts), lineterm="", n=1)
        for line, _ in zip(lines, range(most_lines), strict=False):
            print("  ", line[:160])
    print(f"{len(names)} files, {different} differ")
    return different


def check(commit: str) -> int:
    """Compares this tree with a commit of it."""
    with tempfile.TemporaryDirectory() as temporary:
        tree, old, new = (Path(temporary) / name for name in ("tree", "old", "new"))
        subprocess.run(["git", "-C", TREE, "worktree", "add", "--detach", tree, commit], check=True)
        try:
            script = tree / "tests" / "golden" / "runs.py"
            if not script.exists():
                shutil.copy(__file__, script)
            subprocess.run(
                [sys.executable, script, "write", old],
                check=True,
                env={**os.environ, "PYTHONPATH": str(tree)},
            )
        finally:
            subprocess.run(["git", "-C", TREE, "worktree", "remove", "--force", tree], check=True)
        write(new)
        return compare(old, new)


def main(arguments: list[str]) -> int:
    match arguments:
        case ["write", folder]:
            write(Path(folder))
            return 0
        case ["compare", old, new]:
            return min(1, compare(Path(old), Path(new)))
        case ["check", commit]:
            return min(1, check(commit))
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
