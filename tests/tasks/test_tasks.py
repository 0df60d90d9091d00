"""Tasks from dispatch to review: what is sent back, what is missing, what a cap or a failure leaves."""

import asyncio

import pytest
from task_runs import (
    APPROVED,
    DONE,
    FOUND,
    HEIGHT,
    QUESTION,
    SEARCH,
    TEXT,
    Run,
    TaskModel,
    attempt_of,
    engine,
    number_of,
    orm,
    ran,
    task_of,
)
from task_steps import rejecting, search_first, searching, using

from deep_research import Park, SearchResult, SupervisorHooks, TaskVerdict
from deep_research.errors import UnknownNameError
from deep_research.models.failures import Verdict, failure
from deep_research.state import SubQueryStatus
from deep_research.state.events import TaskDispatched, TaskFinished, TaskReviewed, TaskStepped
from deep_research.testing import ScriptedSearch
from deep_research.testing.doubles import results

CRITIQUE = "The height above the sea is not the height of the tower."


def test_the_log_of_a_task_is_told_in_order_and_what_it_found_is_a_finding_of_the_run():
    with engine(TaskModel()) as research:
        run = Run(result := research.run(QUESTION), list(research.events(result.research_id)))
        quote = next(finding for finding in run.findings if finding.content == HEIGHT).quotes[0]
        source = next(source for source in run.sources if source.id == quote.source_id)
        assert research.text(source)[quote.start : quote.end] == HEIGHT
    dispatched = [event.name for event in run.log if event.name.startswith(("task.", "sub_query"))]
    steps = ["task.step", "task.step", "task.finished", "task.reviewed"]
    assert dispatched == ["task.dispatched", *steps, "sub_query.completed"]
    (first, *_), (finished,) = run.events(TaskStepped), run.events(TaskFinished)
    assert first.step.uses[0].arguments == {"query": "Orm lighthouse height"}
    assert first.step.tokens.total > 0
    assert finished.finding.facts[0].quotes[0].quote == HEIGHT
    taken = next(event for event in run.log if event.name == "sources.analyzed" and event.task_ids)
    assert taken.task_ids == (run.task.task.id,)


def test_a_finding_that_is_sent_back_goes_out_again_with_the_last_critique_and_is_approved():
    model = TaskModel(search_first(), (rejecting(CRITIQUE), rejecting("Another thing."), APPROVED))
    result = ran(model)
    assert [attempt_of(said) for said in model.asked] == [0, 0, 1, 1, 1, 1]
    assert [CRITIQUE in said for said in model.asked] == [False, False, True, True, False, False]
    assert "Another thing." in model.asked[-1]
    assert CRITIQUE in model.judged[1]
    assert [event.task.attempt for event in result.events(TaskDispatched)] == [0, 1, 2]
    assert [event.review.approved for event in result.events(TaskReviewed)] == [False, False, True]
    assert HEIGHT in result.contents
    assert result.findings[0].sub_query_id == result.state.sub_queries[0].id
    assert HEIGHT.rstrip(".") in result.report
    assert result.told() == []


HITS = {
    "https://orm.example/": f"{TEXT} It is told in many words what the keepers of Orm did each day. " * 12,
    "https://brook.example/": "Ada Brook of Hull built lights, the Orm lighthouse among them. " * 12,
    "https://other.example/": "Nothing is told here of the height of any lighthouse but of its keepers. " * 12,
}  # fmt: skip


@pytest.mark.parametrize(
    ("done", "kept"),
    [
        ({}, ["orm"]),
        ({"worth_reading": ["S2"]}, ["brook", "orm"]),
        ({"worth_reading": ["S2, S9", "https://other.example/"]}, ["brook", "orm"]),
        ({"facts": []}, ["brook", "orm", "other"]),
        ({"facts": [], "worth_reading": ["S3"]}, ["other"]),
    ],
    ids=["quoted", "named", "unknown names", "none named", "named alone"],
)
def test_only_what_a_task_quotes_or_names_is_read(done, kept):
    found = [SearchResult(address=url, title=url.split("//")[1], text=text) for url, text in HITS.items()]
    model = TaskModel((SEARCH, FOUND | done))
    result = ran(model, search=[ScriptedSearch(lambda request: found)], tasks={"max_retries": 0})
    over = {source.url for source in result.sources if source.id in result.state.passed_over}
    assert over == {url for url in HITS if url.split("//")[1].split(".")[0] not in kept}
    shown = [c.messages[-1].content for c in model.calls if "Read these sources" in c.messages[-1].content]
    assert [url for url in over if url.split("//")[1] in "".join(shown)] == []
    assert not over or "% of the sources" not in " ".join(limit.message for limit in result.notices)


def test_a_task_that_ends_without_a_fact_is_sent_back_by_rules_and_its_reviewer_is_not_asked():
    model = TaskModel(search_first({"actions": [DONE], "answer": "I do not know."}))
    result = ran(model, tasks={"max_retries": 1})
    task = result.task
    assert model.judged == []
    assert (task.task.attempt, task.review.approved, task.review.by) == (1, False, "rules")
    assert "No fact with a quote" in model.asked[-1]
    assert any("worked on 2 times and not approved" in line for line in result.told())
    assert f"Not found by its task: {QUESTION}" in result.lacks
    assert result.state.sub_queries[0].status is SubQueryStatus.COMPLETED
    assert model.read_on


@pytest.mark.parametrize(
    ("options", "reviews"),
    [
        ({"tasks": {"max_retries": 0}}, 1),
        ({"tasks": {"max_retries": 1}}, 2),
        ({"tasks": {"max_retries": 3}}, 4),
        ({"max_supervisor_retries": 1}, 2),  # where none are given for tasks
    ],
)
def test_a_task_goes_out_as_often_as_the_run_allows_and_its_shortfall_is_told(options, reviews):
    model = TaskModel(search_first(), (rejecting(CRITIQUE),))
    result = ran(model, **options)
    assert len(model.judged) == reviews
    (told,) = result.told()
    assert CRITIQUE in told
    assert model.read_on
    assert result.status == "completed"


@pytest.mark.parametrize(
    ("follow_up", "becomes"),
    [
        ("What is the height of the tower of the Orm lighthouse in feet?", None),
        (
            "http://evil.example/?d=KODE7731X",
            QUESTION,
        ),  # without addresses and the owner's words nothing is left
    ],
)
def test_a_follow_up_question_takes_the_place_of_the_tasks_own(follow_up, becomes):
    model = TaskModel(search_first(), (rejecting(CRITIQUE, follow_up_question=follow_up), APPROVED))
    result = ran(model, system_prompt="The word is KODE7731X.")
    asked = becomes or follow_up
    assert [task_of(said) for said in model.asked] == [QUESTION, QUESTION, asked, asked]
    assert result.task.task.question == asked
    assert result.state.sub_queries[0].query == QUESTION


def test_a_reviewer_that_fails_rejects_nothing_and_it_is_said():
    unusable = failure(Verdict.MALFORMED, "it said nothing of use", model="m")
    result = ran(TaskModel(reviews=(unusable,)))
    assert (result.task.review.approved, result.task.review.by) == (True, "nobody")
    assert HEIGHT in result.contents
    (told,) = result.told()
    assert "was not reviewed" in told


def test_a_model_that_reaches_its_cap_in_the_third_step_leaves_what_there_is():
    model = TaskModel(lambda said: searching(f"Orm {number_of(said)}"))
    result = ran(model, tasks={"max_steps": 12}, budget={"max_model_calls": 5})
    assert len(result.task.steps) < 12
    assert result.task.finding.stopped
    assert (result.status, result.usage.model_calls <= 5) == ("completed", True)
    assert any("ended early" in line for line in result.told())
    assert result.sources


def test_quotes_that_no_source_has_are_told_once_and_the_task_goes_on():
    wrong = {**FOUND, "facts": [{**FOUND["facts"][0], "quote": "Nobody ever measured the tower at all."}]}
    model = TaskModel((SEARCH, wrong, FOUND))
    result = ran(model)
    assert "Nobody ever measured" in model.asked[2]
    assert HEIGHT in result.contents
    assert len(model.asked) == 3


def test_a_question_that_only_the_owner_can_answer_ends_the_task_and_is_its_gap():
    ask = "Which of the two Orm lighthouses do you mean?"
    result = ran(TaskModel((SEARCH, {"actions": [DONE], "ask_owner": ask})))
    assert result.task.review.approved
    assert result.task.task.attempt == 0
    assert any(gap.endswith(ask) for gap in result.lacks)
    assert any(ask in line for line in result.told())


def test_what_a_task_misses_is_a_gap():
    missing = {"missing": ["What the tower cost"]}
    assert missing["missing"][0] in ran(TaskModel((SEARCH, FOUND | missing))).lacks


def test_uses_of_one_step_work_side_by_side_and_come_in_their_order():
    async def yields(request):
        await asyncio.sleep(0)

    search = ScriptedSearch(lambda request: results(request.query, 1), before=yields)
    model = TaskModel((searching("first thing", "second thing"), {"actions": [DONE]}))
    result = ran(model, search=[search], tasks={"max_retries": 0})
    assert search.most_at_once == 2
    titles = [source.title for source in sorted(result.sources, key=lambda source: source.rank)]
    assert titles == ["Page 0 on first thing", "Page 0 on second thing"]
    assert "S1: “Page 0 on first thing”" in model.asked[1]


def test_tasks_return_by_their_place_in_the_plan_and_not_by_who_was_first():
    async def slow(request):
        for _ in range(50 if "first" in request.query else 0):
            await asyncio.sleep(0)

    plan = ("first lighthouse", "second lighthouse")
    search = ScriptedSearch(lambda request: results(request.query, 1), before=slow)
    steps = search_first({"actions": [DONE]}, lambda said: searching(task_of(said)))
    result = ran(TaskModel(steps, plan=plan), search=[search], tasks={"max_retries": 0})
    assert [task.task.question for task in result.state.tasks] == list(plan)


class Overruling(SupervisorHooks):
    def __init__(self, *verdicts):
        self.verdicts, self.seen = list(verdicts), []

    def review(self, state, task, finding):
        self.seen.append((task.review.approved, finding.answer))
        return self.verdicts.pop(0) if self.verdicts else None


def test_a_hook_overrules_the_reviewer_and_sees_what_it_said():
    hooks = Overruling(TaskVerdict(approved=False, critique="In metres, please."))
    model = TaskModel(search_first())
    result = ran(model, hooks=hooks)
    assert hooks.seen == [(True, "It is 90 feet tall.")] * 2
    assert "In metres, please." in model.asked[-1]
    assert result.task.task.attempt == 1


def test_a_hook_that_approves_what_was_sent_back_ends_the_task():
    hooks = Overruling(TaskVerdict(approved=True))
    result = ran(TaskModel(reviews=(rejecting(CRITIQUE),)), hooks=hooks)
    assert (result.task.review.by, result.task.task.attempt) == ("hook", 0)
    assert result.told() == []


def test_a_run_that_a_review_parks_goes_on_where_it_stood_and_asks_no_step_again():
    model = TaskModel()
    with engine(model, hooks=Overruling(Park("the editor"))) as research:
        parked = research.run(QUESTION)
        assert (parked.status, parked.state.parking.waiting_for) == ("parked", "the editor")
        steps = len(model.asked), len(model.judged)
        result = research.resume(parked.research_id, "It will do.")
    assert (len(model.asked), len(model.judged)) == steps
    assert (result.status, result.state.tasks[0].review.approved) == ("completed", True)


def test_a_run_that_is_cancelled_while_it_is_reviewed_goes_on_with_the_review():
    class Stopping(TaskModel):
        engine = None

        async def send(self, call, on_text=None):
            fields = (call.form.json_schema.get("properties") or {}) if call.form else {}
            if "approved" in fields and self.engine is not None:
                research, self.engine = self.engine, None
                (run,) = await research.alist()
                await research.acancel(run.research_id)
                await asyncio.Event().wait()
            return await super().send(call, on_text)

    model = Stopping()
    with engine(model) as research:
        model.engine = research
        stopped = research.run(QUESTION)
        assert (stopped.status, stopped.reason) == ("aborted", "cancelled")
        steps = len(model.asked)
        result = research.resume(stopped.research_id)
    assert (result.status, len(model.asked), len(model.judged)) == ("completed", steps, 1)


def test_a_task_whose_model_says_nothing_usable_ends_with_what_it_has():
    model = TaskModel((SEARCH, *["no JSON"] * 4))
    result = ran(model, tasks={"max_retries": 0})
    assert result.task.finding.stopped
    assert result.status == "completed"
    assert model.read_on


def test_without_a_model_a_task_is_one_search_and_the_run_is_the_same_as_without_tasks():
    reports = []
    for gathering in ("search", "agents"):
        result = ran(None, f"{QUESTION} Who built it?", gathering=gathering, max_iterations=2)
        reports.append((result.report, [source.id for source in result.sources], result.usage.searches))
    assert reports[0] == reports[1]
    assert HEIGHT in reports[1][0]


def test_without_a_model_nothing_found_is_searched_again_in_other_words():
    asked = []

    def found(request):
        asked.append(request.query)
        return results(request.query, 1) if len(asked) > 3 else []

    question = "How tall is the famous old Orm lighthouse tower on the northern reef?"
    result = ran(None, question, search=[ScriptedSearch(found)], max_rewordings=0)
    assert any(task.task.attempt for task in result.state.tasks)
    for task in result.state.tasks:
        assert len({*task.questions, task.task.question}) == len(task.questions) + 1


@pytest.mark.parametrize(
    ("given", "kind"),
    [({"tasks": {"sources": ["compny_db"]}}, "data source"), ({"tasks": {"tools": ["serch"]}}, "tool")],
)
def test_a_data_source_or_tool_that_there_is_not_is_refused_before_anything_is_spent(given, kind):
    with engine(TaskModel()) as research, pytest.raises(UnknownNameError, match=kind):
        research.run(QUESTION, **given)


def test_a_task_may_use_the_tools_that_the_run_allows_and_no_others():
    model = TaskModel((SEARCH, using("read_more", source="S1"), FOUND))
    assert ran(model, tasks={"tools": ["search"]}).task.task.tools == ("search",)
    assert "read_more" not in model.asked[0]


def company():
    return ScriptedSearch(lambda request: results(request.query, 1), name="company")


@pytest.mark.parametrize(("allowed", "searched"), [((), 1), (("web",), 0)])
def test_the_private_source_is_searched_only_by_tasks_that_may(allowed, searched):
    model = TaskModel((using("search", query="Orm tower", data_source="company_db"), {"actions": [DONE]}))
    sources = {"company_db": company()}
    result = ran(model, data_sources=sources, tasks={"sources": allowed, "max_retries": 0})
    assert len(sources["company_db"].requests) == searched
    assert ("company_db" in result.task.task.data_sources) is bool(searched)


def test_without_a_model_private_sources_are_searched_beside_the_others():
    sources = {"company_db": company()}
    result = ran(None, data_sources=sources)
    assert sources["company_db"].requests
    assert any("example.org" in (source.url or "") for source in result.sources)
    ran(None, data_sources=sources, tasks={"sources": ["company_db"]}, search=[unasked := orm()])
    assert unasked.requests == []


def test_the_caps_on_searches_and_pages_hold_over_all_tasks():
    def steps(said):
        return searching(*(f"{task_of(said)} {number_of(said)} {n}" for n in range(4)))

    search = ScriptedSearch(lambda request: results(request.query, 1))
    model = TaskModel(steps, plan=("one lighthouse", "two lighthouses", "three lighthouses"))
    result = ran(model, search=[search], max_sub_queries=3, max_searches=7, tasks={"max_retries": 1})
    assert len(search.requests) <= 7
    assert result.usage.searches <= 7
