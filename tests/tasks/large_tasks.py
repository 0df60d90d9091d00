"""One run of 20 tasks of 12 steps, each of which brings a text of 20 KB; in a process of its own. Prints what it took.
See test_task_costs.py."""

import json
import resource
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
for place in (HERE, HERE.parent):
    sys.path.insert(0, str(place))

from task_runs import TaskModel, engine, number_of, task_of  # noqa: E402
from task_steps import quoting, searching  # noqa: E402

from deep_research.state.reducer import fold  # noqa: E402
from deep_research.testing import ScriptedSearch  # noqa: E402
from deep_research.testing.doubles import page, results  # noqa: E402

TASKS, STEPS, SIZE = 20, 12, 20_000


def step(said):
    if number_of(said):
        return searching(f"{task_of(said)} {number_of(said)}")
    return quoting(page(f"{task_of(said)} 1", 0, size=0))


def peak_mb():
    """The most memory of this process: what `getrusage` says begins with that of the parent that forked it."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM"))


def main(folder):
    plan = tuple(f"keepers of light number {n}" for n in range(TASKS))
    search = ScriptedSearch(lambda request: results(request.query, 1, size=SIZE))
    model, options = TaskModel(step, plan=plan), {"max_sub_queries": TASKS, "tasks": {"max_steps": STEPS}}
    made = engine(model, search=[search], store="sqlite", data_dir=folder, **options)
    with made as research:
        result = research.run("What is known of the keepers of the lights?")
        events = list(research.events(result.research_id))
    texts = sum(source.length for source in result.sources)
    size = sum(path.stat().st_size for path in Path(folder).glob("runs.db*"))
    folds = []
    for part in (events[: len(events) // 4], events):
        clock = time.process_time()
        for _ in range(20):
            fold(part)
        folds.append(time.process_time() - clock)
    steps = sum(event.name == "task.step" for event in events)
    told = {"status": result.status.value, "steps": steps, "events": len(events), "texts": texts}
    print(json.dumps(told | {"database": size, "folds": folds, "peak_mb": peak_mb()}))


main(sys.argv[1])
