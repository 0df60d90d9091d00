"""A task whose agent comes to no source is searched as a sub-query is; a step is not made again and again; what is
rejected is no finding."""

import json

import pytest
from task_runs import BUILT, DONE, FOUND, HEIGHT, QUESTION, SEARCH, TaskModel, number_of, ran
from task_steps import rejecting, using

from deep_research import SearchResult
from deep_research.phases.gathering.tasks.task_runner import ENDED_BY_REPETITION, REPEATED, repetitions
from deep_research.state import TaskStep, ToolUse
from deep_research.testing import ScriptedSearch

PAGES = {"tower": HEIGHT, "builder": BUILT, "lamp": "Its lamp burned whale oil until the year 1843."}
PLAN = (QUESTION, "Who built the Orm lighthouse?")
ASKS = "Which of the two Orm lighthouses do you mean?"


def pages():
    found = [
        SearchResult(address=f"https://ok.example/{name}", title=f"The Orm {name}", text=text)
        for name, text in PAGES.items()
    ]
    return ScriptedSearch(lambda request: found)


def thinking(said):
    return {"thought": f"I make up my mind, {number_of(said)}.", "actions": []}


def asking_for(tool):
    return using(tool, query="Orm lighthouse")


WEAK = {
    "that forms no step": ("Let me think about this.",),
    "that knows no tool": tuple(asking_for(tool) for tool in ("browse", "google", "open_page") * 5),
    "that uses its tools wrongly": tuple(using("fetch", link=f"L{n}") for n in range(9)),
    "that is done at once": ({"actions": [DONE], "answer": "It is 300 feet tall."},),
    "that is done with facts of no source": ({**FOUND, "missing": ["Everything else"]},),
    "that asks back": ({"actions": [DONE], "ask_owner": ASKS},),
    "that only thinks": thinking,
}


@pytest.mark.parametrize("weak", WEAK.values(), ids=WEAK)
def test_a_run_with_an_agent_comes_to_what_search_does(weak):
    came = []
    for gathering in ("search", "agents"):
        model = TaskModel(weak, plan=PLAN)
        result = ran(model, gathering=gathering, search=[pages()], max_iterations=2)
        state = result.state
        assert (bool(model.asked), model.judged) == (gathering == "agents", [])
        came.append(
            (
                result.status,
                [(source.id, source.rank, source.sub_query_id) for source in result.sources],
                [(finding.content, finding.quotes, finding.confidence) for finding in result.findings],
                result.lacks,
                [(sub_query.status, sub_query.source_ids) for sub_query in state.sub_queries],
                state.usage.searches,
                result.report_metadata.coverage,
            )
        )
    assert came[0] == came[1]
    assert result.status == "completed"
    assert HEIGHT in result.contents


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        (WEAK["that is done at once"], "Its agent was done before it had a source."),
        (WEAK["that asks back"], f"Its agent asked back: {ASKS}"),
        ((asking_for("search_web"),), "made the same step again"),
    ],
    ids=["done", "asks back", "no step"],
)
def test_it_is_told_that_a_task_was_searched_without_its_agent(steps, why):
    result = ran(TaskModel(steps))
    task = result.task
    assert (task.finding.by_search, task.review.approved, task.task.attempt) == (True, True, 0)
    (told,) = result.told()
    assert "was searched without its agent" in told
    assert why in told


def test_where_a_search_finds_nothing_either_what_the_agent_asked_stands():
    result = ran(TaskModel(WEAK["that asks back"]), search=[ScriptedSearch(lambda request: [])])
    assert result.task.finding.owner_question == ASKS
    assert f"needs to know of you: {ASKS}" in " ".join(result.told())


def test_the_search_that_takes_the_place_of_an_agent_is_within_the_caps():
    search = pages()
    model = TaskModel(WEAK["that is done at once"], plan=PLAN)
    result = ran(model, search=[search], max_searches=1)
    assert len(search.requests) == result.usage.searches == 1


# Steps that are the same


def test_a_step_that_is_the_same_is_refused_once_and_then_ends_the_task():
    search = pages()
    model = TaskModel((SEARCH,))
    result = ran(model, search=[search], tasks={"max_retries": 0})
    assert len(model.asked) == 3
    assert REPEATED in model.asked[2]
    assert [r.query for r in search.requests].count("Orm lighthouse height") == 1
    assert result.task.finding.stopped == ENDED_BY_REPETITION
    assert result.status == "completed"
    assert HEIGHT in result.contents  # its sources are read


def test_an_agent_that_was_refused_may_do_something_else():
    task = ran(TaskModel((SEARCH, SEARCH, FOUND))).task
    assert task.review.approved
    assert not task.finding.stopped


def use(tool, failed=False, **arguments):
    return ToolUse(tool=tool, arguments=arguments, failed=failed)


def step(*uses, thought="So."):
    return TaskStep(number=1, thought=thought, uses=uses)


A, B, MORE = use("search", query="a"), use("search", query="b"), use("read_more", source="S1")


@pytest.mark.parametrize(
    ("uses", "steps", "count"),
    [
        ([A], [], 0),
        ([A], [step(A, thought="Otherwise thought.")], 1),
        ([A], [step(A), step(B), step(A)], 2),
        ([A, B], [step(B, A)], 1),
        ([A, B], [step(A), step(B)], 0),
        ([use("search", query="a", data_source="web")], [step(A)], 0),
        ([MORE], [step(MORE), step(MORE)], 0),
        ([MORE], [step(MORE), step(use("read_more", failed=True, source="S1"))], 1),
        ([], [step(use("think"))], 1),
        ([], [step(use("think"), thought="Other.")], 0),
    ],
)
def test_steps_are_the_same_by_what_they_use_or_where_they_use_nothing_by_what_they_think(uses, steps, count):
    assert repetitions(uses, "So.", steps, {"read_more"}) == count


# What is not carried, or rejected

OTHER = "Ada Brook of Hull built the Orm lighthouse in 1811."


@pytest.mark.parametrize(("words", "stands"), [(OTHER, [OTHER]), ("", [])], ids=["other words", "none"])
def test_a_fact_that_its_quote_does_not_carry_goes_back_once_and_stands_or_is_left_out(words, stands):
    class Asked(TaskModel):
        def answer(self, call):
            if call.form and call.form.name == "Requotes":
                return json.dumps({"findings": [{"finding": "F1", "quotes": [BUILT], "words": words}]})
            return super().answer(call)

    fact = {"content": "It was built in 1711 by Ada Brook.", "source": "S1", "quote": BUILT}
    result = ran(model := Asked((SEARCH, FOUND | {"facts": [fact]})))
    (taken,) = [event for event in result.log if getattr(event, "task_ids", ())]
    assert [call.form.name for call in model.calls if call.form].count("Requotes") == 1
    assert [finding.content for finding in taken.findings] == stands
    assert taken.unfounded == 1 - len(stands)


def test_what_is_rejected_is_no_finding_and_its_source_is_read_as_any_other():
    wrong = FOUND | {"facts": [{**FOUND["facts"][0], "content": "The tower is 900 feet tall."}]}
    model = TaskModel((SEARCH, wrong), (rejecting("No."),))
    result = ran(model, search=[pages()], tasks={"max_retries": 0})
    (taken, *_) = [event for event in result.log if event.name == "sources.analyzed"]
    assert (taken.task_ids, taken.findings) == ((result.task.task.id,), ())
    assert "900" not in " ".join(result.contents)
    assert HEIGHT in result.contents
    assert any(gap.startswith("Not settled by its task") for gap in result.lacks)
