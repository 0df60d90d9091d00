"""Steps of tasks by a service's own calls of tools: they go back as they came, are kept in the log, and are the same in
a run that goes on elsewhere."""

import json
import secrets
from itertools import pairwise

import pytest
from prompt_reading import as_calls, prompt_of
from servers import Answer, ModelServer
from servers.server_exchange import Called
from task_runs import BUILT, FOUND, HEIGHT, QUESTION, SEARCH, TaskModel, engine, orm, ran
from task_steps import down, searching, using

from deep_research.logs import register_secret
from deep_research.models.anthropic import AnthropicMessages
from deep_research.models.base import Message, Reply, StopReason, TokenUsage
from deep_research.models.openai import OpenAIResponses
from deep_research.models.tool_calls import NativeTurn, ToolCall
from deep_research.phases.gathering.tasks.agent import condensed_outputs
from deep_research.sources.search import SearchResult
from deep_research.testing import ScriptedSearch

pytestmark = pytest.mark.timed

TWO = searching("Orm lamp", "Orm keeper")
FACT = {"content": HEIGHT, "source": "S1", "quote": HEIGHT}
END = {"answer": "It is 90 feet tall.", "facts": [FACT]}


class NativeTaskModel(TaskModel):
    """A `TaskModel` whose service has tools, and thoughts that must come back."""

    has_tools = True

    async def send(self, call, on_text=None):
        if not call.tools:
            return await super().send(call, on_text)
        self.calls.append(call)
        self.asked.append(prompt_of(call))
        number = len(self.asked)
        step = self._steps[min(number, len(self._steps)) - 1]
        if callable(step):
            step()
        calls = []
        for place, given in enumerate(as_calls(step)["calls"]):
            arguments = {name: value for name, value in given.items() if name != "tool"}
            if given["tool"] == "done" and "facts" in step:
                arguments["facts"] = step["facts"]
            calls.append(ToolCall(id=f"toolu_{number}_{place}", name=given["tool"], arguments=arguments))
        thought = {"type": "thinking", "thinking": f"Thought {number}.", "signature": f"sealed-{number}"}
        use = {"type": "tool_use"}
        blocks = [use | {"id": c.id, "name": c.name, "input": c.arguments} for c in calls]
        made = {"calls": tuple(calls), "native": NativeTurn.of([thought, *blocks])}
        used = TokenUsage(input=100, output=20)
        return Reply(text=step.get("thought", ""), stop=StopReason.END, usage=used, **made)

    @property
    def steps(self):
        return [call for call in self.calls if call.tools]


def worked(*steps, tasks=None, **more):
    model = NativeTaskModel(steps)
    with engine(model, tasks={"max_retries": 0, **(tasks or {})}, **more) as research:
        result = research.run(QUESTION)
        turns = [research.text(step.turn_hash) for step in result.state.tasks[0].steps if step.turn_hash]
    return model, result.state.tasks[0], [Message.model_validate_json(turn) for turn in turns]


def test_a_turn_goes_back_as_it_came_with_an_output_for_each_call_and_is_kept_in_the_log():
    model, task, turns = worked(TWO, FOUND)
    first, second = model.steps
    assert [tool.name for tool in first.tools][-1] == "done"
    assert len(first.messages) == 1
    _, turn, outputs = second.messages
    assert turn.native.blocks[0]["signature"] == "sealed-1"
    assert [output.call_id for output in outputs.outputs] == ["toolu_1_0", "toolu_1_1"]
    assert all(HEIGHT in output.text or "S1" in output.text for output in outputs.outputs)
    assert outputs.content.startswith("This is step 2 of at most 8.")
    assert turns == [turn]
    assert [(use.tool, use.arguments) for use in task.steps[0].uses] == [
        ("search", {"query": "Orm lamp"}),
        ("search", {"query": "Orm keeper"}),
    ]
    assert [fact.content for fact in task.finding.facts] == [HEIGHT]


UNQUOTED = {
    "actions": [{"tool": "done"}, *SEARCH["actions"]],
    "facts": [FACT | {"quote": "It is 300 feet tall."}],
}
BAD = {
    "more than four at once": (searching(*(f"Orm {n}" for n in range(6))), "....FF", "At most four tools"),
    "a tool that there is not": (using("browse", query="Orm"), "F", "There is no tool 'browse'"),
    "arguments that do not fit": (using("look_up"), "F", "look_up cannot be used so: section"),
    "an end whose facts are none": (
        using("done") | {"facts": "It is tall."}, "F", "done cannot be used so: facts",
    ),
    "an end whose quotes stand nowhere": (UNQUOTED, "FF", "letter by letter"),
    "words alone": ({"thought": "It must be tall."}, ".", "Nothing was called"),
}  # fmt: skip


@pytest.mark.parametrize(("step", "failed", "words"), BAD.values(), ids=BAD)
def test_a_call_that_cannot_be_made_is_answered_and_the_task_goes_on(step, failed, words):
    model, task, _ = worked(SEARCH, step, FOUND)
    assert "".join("F" if use.failed else "." for use in task.steps[1].uses) == failed
    assert words in prompt_of(model.steps[2])
    calls, outputs = model.steps[2].messages[-2].calls, model.steps[2].messages[-1].outputs
    assert [output.call_id for output in outputs] == [call.id for call in calls]
    assert [fact.content for fact in task.finding.facts] == [HEIGHT]


def test_words_alone_are_the_answer_of_the_last_step():
    _, task, _ = worked(SEARCH, {"thought": "It is 90 feet tall."}, tasks={"max_steps": 2})
    assert task.finding.answer == "It is 90 feet tall."


def begin_alike(texts):
    for before, after in pairwise(texts):
        shared = next(n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b)
        assert shared >= 0.9 * len(before), after[shared : shared + 200]


def test_each_prompt_begins_as_the_one_before():
    words = ["lamps", "oil", "wicks", "lenses"]
    model, *_ = worked(*map(searching, words), FOUND)
    tools = [json.dumps([tool.model_dump() for tool in call.tools]) for call in model.steps]
    texts = [told + "\n".join(call.texts) for told, call in zip(tools, model.steps, strict=True)]
    assert len(texts) == 5
    begin_alike(texts)


def test_a_run_that_goes_on_elsewhere_sends_the_same_turns(tmp_path):
    more = {"store": "sqlite", "data_dir": tmp_path, "tasks": {"max_retries": 0}, "search": [orm()]}
    undisturbed, *_ = worked(SEARCH, TWO, FOUND)
    with engine(NativeTaskModel((SEARCH, TWO, down)), **more) as research:
        before = research.run(QUESTION)
    assert before.status == "parked"
    later = NativeTaskModel((FOUND,))
    with engine(later, **more) as research:
        after = research.resume(before.research_id)
    assert after.status == "completed"

    def sent(call):
        return [message.model_dump_json().replace(call.nonce, "") for message in call.messages]

    assert sent(undisturbed.steps[2]) == sent(later.steps[0])


def test_a_turn_with_a_secret_is_kept_nowhere():
    key = secrets.token_hex(20)
    register_secret(key)
    model, task, turns = worked(searching(f"Orm {key}"), SEARCH, FOUND)
    assert len(turns) == 1
    assert task.steps[0].turn_hash is None
    assert all(key not in prompt_of(call) for call in model.steps)


@pytest.mark.parametrize("make", [AnthropicMessages, OpenAIResponses])
def test_over_the_wire_a_task_thinks_between_its_calls(make):
    """The server refuses a turn whose thoughts or ids are not those that it gave."""
    searches = (Called("search", {"query": "Orm"}), Called("search", {"query": "tower"}))
    with ModelServer() as server:
        ending = Answer("", reasoning="Here.", calls=(Called("done", END),))
        server.answers = [Answer("", reasoning="Where is it?", calls=searches), ending]
        url = server.base_url + ("/v1" if make is OpenAIResponses else "")
        agent = make("model-1", api_key="key-0123456789", base_url=url)
        task = ran(TaskModel(), models={"task_agent": [agent]}, tasks={"max_retries": 0}).task
        bodies = [served.body for served in server.log]
        assert all(served.status == 200 for served in server.log)
    assert [fact.content for fact in task.finding.facts] == [HEIGHT]
    assert [use.tool for use in task.steps[0].uses] == ["search", "search"]
    assert len(bodies) == 2
    assert BUILT in json.dumps(bodies[1], ensure_ascii=False)


# Steps without calls of a service's own


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
    ran(model, "Which oil do lamps burn?", search=[ScriptedSearch(results)], tasks={"max_retries": 0})
    steps = [c for c in model.calls if c.form and "calls" in c.form.json_schema["properties"]]
    asked = ["\n".join(call.texts) for call in steps]
    assert len(asked) >= 6
    begin_alike(asked)
