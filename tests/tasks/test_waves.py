"""Waves of tasks: what the lead is shown, what it may send out, and what it may not."""

import pytest
from prompt_reading import blocks
from task_runs import DONE, ENOUGH, FOUND, HEIGHT, QUESTION, TaskModel, engine, ran, task_of
from task_steps import down, search_first

from deep_research.models.failures import Verdict, failure
from deep_research.state.events import DecisionMade

BEACON = "How tall is the Beacon of Ask?"
LENS = "Who ground the lens of the Orm lighthouse?"


LACKING = {"actions": [DONE], "missing": ["what is asked"]}
step = search_first(lambda said: FOUND if task_of(said) == QUESTION else LACKING)


def wave(*questions, **more):
    tasks = [{"question": question} for question in questions]
    return {"is_enough": False, "thought": "More is needed.", "tasks": tasks, **more}


def led(*waves, tasks=None, **options):
    model = TaskModel(step, waves=waves)
    result = ran(model, tasks={"max_retries": 0, **(tasks or {})}, max_iterations=1, **options)
    decisions = [event for event in result.events(DecisionMade) if event.decision.action == "wave"]
    return model, result, decisions


def questions_of(result):
    return [task.task.question for task in result.state.tasks]


def test_the_lead_sees_every_answer_and_sends_out_what_lacks():
    model, result, decisions = led(wave(BEACON), ENOUGH)
    assert questions_of(result) == [QUESTION, BEACON]
    first, second = model.led
    shown = blocks(first)["task 1"]
    assert f"Task: {QUESTION}" in shown
    assert "Answer: It is 90 feet tall." in shown
    assert HEIGHT in shown
    assert "Not found: what is asked" in blocks(second)["task 2"]
    assert "Wave 2 of at most 3 is done" in second
    assert [each.action.value for each in decisions] == ["iterate", "proceed"]
    assert decisions[0].decision.rationale == "More is needed."
    assert decisions[0].decision.outputs["tasks"] == [BEACON]
    (added,) = [s for s in result.state.sub_queries if s.origin == "lead"]
    assert (added.query, added.iteration) == (BEACON, 1)


LAMPS = [f"How old is lamp {n} of Orm?" for n in range(9)]
SENT = {
    "enough": (ENOUGH, []),
    "no task": (wave(), []),
    "enough with tasks": (wave(BEACON, is_enough=True), []),
    "twice and known": (wave(BEACON, BEACON, QUESTION, "  "), [BEACON]),
    "too many": (wave(*LAMPS), LAMPS[:2]),
    "an address": (wave("See http://evil.example/?q=secret for the Beacon"), ["See for the Beacon"]),
    "nothing else": (wave("http://evil.example/?q=secret"), []),
}


@pytest.mark.parametrize(("said", "tasks"), SENT.values(), ids=SENT)
def test_what_the_lead_may_send_out(said, tasks):
    _, result, _ = led(said, ENOUGH)
    assert questions_of(result)[1:] == tasks


def test_what_is_confidential_of_the_owners_words_is_in_no_task():
    secret = "wave four hundred and twelve of project Nightjar starts in Lerwick"
    _, result, _ = led(wave(f"When does {secret}?"), ENOUGH, system_prompt=f"Know that {secret}.")
    assert not any("Nightjar starts" in question for question in questions_of(result))


@pytest.mark.parametrize("most", [1, 2, 3])
def test_waves_are_bounded(most):
    model = TaskModel(step, waves=lambda said: wave(f"How old is lamp {len(said)} of Orm?"))
    result = ran(model, tasks={"max_retries": 0, "max_waves": most}, max_iterations=1)
    assert len(result.state.tasks) == most
    assert len(model.led) == most - 1


@pytest.mark.parametrize(
    "options",
    [{"budget": {"max_searches": 1}}, {"tasks": {"max_waves": 1}}, {"tasks": {"max_steps": 0}}],
    ids=["no search left", "one wave", "no agent worked"],
)
def test_a_lead_that_could_send_out_nothing_is_not_asked(options):
    model, result, decisions = led(wave(BEACON), **options)
    assert model.led == []
    assert decisions == []
    assert len(result.state.tasks) == 1


@pytest.mark.parametrize(
    "fault", [failure(Verdict.MALFORMED, "no object", model="m"), failure(Verdict.REFUSAL, "no", model="m")]
)
def test_a_lead_that_fails_ends_the_waves_and_the_run_goes_on(fault):
    _, result, decisions = led(fault)
    assert questions_of(result) == [QUESTION]
    assert result.status == "completed"
    assert [each.action.value for each in decisions] == ["proceed"]
    assert decisions[0].decision.rationale.startswith("No further wave")


def test_a_run_that_is_resumed_between_waves_asks_no_lead_again(tmp_path):
    more = {"store": "sqlite", "data_dir": tmp_path, "tasks": {"max_retries": 0}, "max_iterations": 1}
    first = TaskModel(
        lambda said: down() if task_of(said) == BEACON else step(said), waves=(wave(BEACON), ENOUGH)
    )
    with engine(first, **more) as research:
        parked = research.run(QUESTION)
    assert parked.status == "parked"
    second = TaskModel(step, waves=(ENOUGH,))
    with engine(second, **more) as research:
        result = research.resume(parked.research_id)
    assert questions_of(result) == [QUESTION, BEACON]
    assert len(first.led) == 1
    assert ["Wave 2 of" in said for said in second.led] == [True]


@pytest.mark.parametrize(
    ("scope", "tasks", "steps", "words"),
    [("lookup", 2, 4, 400), ("comparison", 3, 6, 600), ("survey", 4, 8, 800)],
)
def test_what_a_question_asks_for_sets_tasks_steps_and_words(scope, tasks, steps, words):
    plan = [f"How tall is tower {n} of Orm?" for n in range(9)]
    model = TaskModel(step, plan=plan, scope=scope)
    state = ran(model, max_sub_queries=4, tasks={"max_waves": 1, "max_retries": 0}, max_iterations=1).state
    assert (state.max_sub_queries, state.task_steps, state.report_words) == (tasks, steps, words)
    assert {task.task.limits.steps for task in state.tasks} == {steps}
    assert len(state.tasks) == tasks
