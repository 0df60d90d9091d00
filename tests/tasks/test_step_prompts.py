"""The prompts of a task's steps: each begins as the one before, and old steps are condensed once."""

from itertools import pairwise

import pytest
from task_runs import FOUND, TaskModel, ran
from task_steps import searching

from deep_research.phases.gathering.tasks.step_prompt import condensed_outputs
from deep_research.sources.search import SearchResult
from deep_research.testing import ScriptedSearch


def count(text):
    return len(text) // 4


@pytest.mark.parametrize("most", [400, 1_000, 2_500, 10_000])
def test_a_step_that_was_condensed_is_never_condensed_again(most):
    steps = [f"Step {n}. " + f"The lamp {n} burns oil of kind {n}. " * 60 for n in range(12)]
    seen = {}
    for many in range(1, len(steps) + 1):
        shown = condensed_outputs([[step] for step in steps[:many]], most, "Which oil burns?", count)
        assert shown[-1] == [steps[many - 1]], "the latest is whole"
        for place, (text,) in enumerate(shown):
            seen.setdefault(place, {})[text] = None
    assert max(map(len, seen.values())) == (1 if most == 10_000 else 2)


def test_each_prompt_of_a_task_begins_as_the_one_before():
    def results(request):
        text = f"{request.query} is told here. " * 40
        return [SearchResult(address=f"https://ok.example/{request.query}", title=request.query, text=text)]

    words = ["lamps", "oil", "wicks", "lenses", "keepers"]
    model = TaskModel([*map(searching, words), FOUND])
    ran(model, "Which oil do lamps burn?", search=[ScriptedSearch(results)], max_task_retries=0)
    steps = [c for c in model.calls if c.form and "calls" in c.form.json_schema["properties"]]
    asked = ["\n".join(call.texts) for call in steps]
    assert len(asked) >= 6
    for before, after in pairwise(asked):
        shared = next(n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b)
        assert shared >= 0.9 * len(before), after[shared : shared + 200]
