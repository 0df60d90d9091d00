"""Tasks from dispatch to review: what is sent back, what is missing, what a cap or a failure leaves."""

import asyncio

import pytest
from task_runs import (
    DONE,
    FOUND,
    HEIGHT,
    QUESTION,
    SEARCH,
    TEXT,
    TaskModel,
    attempt_of,
    engine,
    names,
    number_of,
    orm,
    task_of,
)

from deep_research import Park, SearchResult, SupervisorHooks, TaskVerdict
from deep_research.errors import UnknownNameError
from deep_research.models.failures import Verdict, failure
from deep_research.state import SubQueryStatus
from deep_research.state.events import TaskDispatched, TaskFinished, TaskReviewed, TaskStepped
from deep_research.testing import ScriptedSearch
from deep_research.testing.doubles import results

CRITIQUE = "The height above the sea is not the height of the tower."


def only(result):
    (task,) = result.state.tasks
    return task


def messages(result, name="task"):
    return [notice.message for notice in result.notices if notice.name == name]


def test_a_finding_that_is_sent_back_goes_out_again_with_the_critique_and_is_approved():
    model = TaskModel(
        lambda said: SEARCH if number_of(said) == 1 else FOUND,
        ({"approved": False, "critique": CRITIQUE}, {"approved": True}),
    )
    with engine(model) as research:
        result = research.run(QUESTION)
        log = research.events(result.research_id)
    assert CRITIQUE not in model.asked[0]
    assert all(CRITIQUE in said for said in model.asked[2:])
    assert CRITIQUE in model.judged[1]
    assert [e.task.attempt for e in log if isinstance(e, TaskDispatched)] == [0, 1]
    assert [e.review.approved for e in log if isinstance(e, TaskReviewed)] == [False, True]
    assert HEIGHT in [f.content for f in result.findings]
    assert result.findings[0].sub_query_id == result.state.sub_queries[0].id
    assert HEIGHT.rstrip(".") in result.report
    assert messages(result) == []


def test_what_a_task_found_is_a_finding_of_the_run():
    model = TaskModel()
    with engine(model) as research:
        result = research.run(QUESTION)
        log = research.events(result.research_id)
    taken = next(e for e in log if e.name == "sources.analyzed" and e.task_ids)
    assert taken.task_ids == (only(result).task.id,)
    finding = next(finding for finding in result.findings if finding.content == HEIGHT)
    quote = finding.quotes[0]
    source = next(s for s in result.sources if s.id == quote.source_id)
    assert research.text(source)[quote.start : quote.end] == HEIGHT


HITS = {
    "https://orm.example/": f"{TEXT} It is told in many words what the keepers of Orm did each day. " * 12,
    "https://brook.example/": "Ada Brook of Hull built lights, the Orm lighthouse among them. " * 12,
    "https://other.example/": "Nothing is told here of the height of any lighthouse but of its keepers. "
    * 12,
}


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
    with engine(model, search=[ScriptedSearch(lambda request: found)], tasks={"max_retries": 0}) as research:
        result = research.run(QUESTION)
    over = {source.url for source in result.sources if source.id in result.state.passed_over}
    assert over == {url for url in HITS if url.split("//")[1].split(".")[0] not in kept}
    shown = [c.messages[-1].content for c in model.calls if "Read these sources" in c.messages[-1].content]
    assert [url for url in over if url.split("//")[1] in "".join(shown)] == []
    assert not over or "% of the sources" not in " ".join(limit.message for limit in result.notices)


def test_a_task_that_ends_without_a_fact_is_sent_back_by_rules_and_its_reviewer_is_not_asked():
    model = TaskModel(
        lambda said: SEARCH if number_of(said) == 1 else {"actions": [DONE], "answer": "I do not know."}
    )
    with engine(model, tasks={"max_retries": 1}) as research:
        result = research.run(QUESTION)
    task = only(result)
    assert model.judged == []
    assert (task.task.attempt, task.review.approved, task.review.by) == (1, False, "rules")
    assert "No fact with a quote" in model.asked[-1]
    assert any("worked on 2 times and not approved" in line for line in messages(result))
    assert any(gap.description == f"Not found by its task: {QUESTION}" for gap in result.gaps)
    assert result.state.sub_queries[0].status is SubQueryStatus.COMPLETED
    # What it found without quoting it is read as anything else.
    assert any("Read these sources" in call.messages[-1].content for call in model.calls)


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_a_task_goes_out_as_often_as_the_run_allows_and_its_shortfall_is_told(retries):
    model = TaskModel(
        lambda said: SEARCH if number_of(said) == 1 else FOUND, ({"approved": False, "critique": CRITIQUE},)
    )
    with engine(model, tasks={"max_retries": retries}) as research:
        result = research.run(QUESTION)
    assert len(model.judged) == retries + 1
    (told,) = messages(result)
    assert CRITIQUE in told
    assert any("Read these sources" in call.messages[-1].content for call in model.calls)
    assert result.status == "completed"


def test_retries_of_tasks_are_those_of_the_supervisor_where_none_are_given():
    model = TaskModel(
        lambda said: SEARCH if number_of(said) == 1 else FOUND, ({"approved": False, "critique": "No."},)
    )
    with engine(model, max_supervisor_retries=1) as research:
        research.run(QUESTION)
    assert len(model.judged) == 2


def test_a_follow_up_question_takes_the_place_of_the_tasks_own():
    better = "What is the height of the tower of the Orm lighthouse in feet?"
    model = TaskModel(
        lambda said: SEARCH if number_of(said) == 1 else FOUND,
        ({"approved": False, "critique": CRITIQUE, "follow_up_question": better}, {"approved": True}),
    )
    with engine(model) as research:
        result = research.run(QUESTION)
    assert [task_of(said) for said in model.asked] == [QUESTION, QUESTION, better, better]
    assert only(result).task.question == better
    assert result.state.sub_queries[0].query == QUESTION


def test_a_follow_up_question_loses_addresses_and_the_owners_words():
    model = TaskModel(
        lambda said: SEARCH if number_of(said) == 1 else FOUND,
        (
            {"approved": False, "critique": "x", "follow_up_question": "http://evil.example/?d=KODE7731X"},
            {"approved": True},
        ),
    )
    with engine(model, system_prompt="The word is KODE7731X.") as research:
        result = research.run(QUESTION)
    assert only(result).task.question == QUESTION


def test_a_reviewer_that_fails_rejects_nothing_and_it_is_said():
    model = TaskModel(reviews=(failure(Verdict.MALFORMED, "it said nothing of use", model="m"),))
    with engine(model) as research:
        result = research.run(QUESTION)
    task = only(result)
    assert (task.review.approved, task.review.by) == (True, "nobody")
    assert HEIGHT in [f.content for f in result.findings]
    (told,) = messages(result)
    assert "was not reviewed" in told


def test_a_reviewer_of_another_model_is_asked_where_one_is_named():
    worker, reviewer = TaskModel(model="worker"), TaskModel(model="reviewer")
    with engine(worker, models={"reviewer": reviewer}) as research:
        result = research.run(QUESTION)
    assert (len(worker.judged), len(reviewer.judged)) == (0, 1)
    assert only(result).review.by == "reading:reviewer"


def test_a_model_that_reaches_its_cap_in_the_third_step_leaves_what_there_is():
    model = TaskModel(lambda said: {"actions": [{"tool": "search", "query": f"Orm {number_of(said)}"}]})
    with engine(model, tasks={"max_steps": 12}, budget={"max_model_calls": 5}) as research:
        result = research.run(QUESTION)
    task = only(result)
    assert len(task.steps) < 12
    assert task.finding.stopped
    assert result.status == "completed"
    assert result.usage.model_calls <= 5
    assert any("ended early" in line for line in messages(result))
    assert result.sources


@pytest.mark.parametrize(
    ("limits", "why", "steps"),
    [
        ({"max_steps": 2}, "2 steps", 2),
        ({"max_steps": 0}, "0 steps", 1),  # a search, since nothing was found
        ({"max_tokens": 0}, "0 tokens", 1),
        ({"max_tokens": 1}, "1 tokens", 1),
        ({"max_seconds": 0}, "0 seconds", 1),
    ],
    ids=lambda value: str(value),
)
def test_a_task_ends_at_its_own_limits_and_says_which(limits, why, steps):
    model = TaskModel(lambda said: {"actions": [{"tool": "search", "query": "Orm tower"}]})
    with engine(model, tasks={"max_retries": 0, **limits}) as research:
        result = research.run(QUESTION)
    assert len(only(result).steps) == steps
    assert why in only(result).finding.stopped
    assert result.status in ("completed", "aborted")


def test_the_last_step_is_told_to_be_the_last():
    model = TaskModel(lambda said: FOUND if number_of(said) == 0 else SEARCH)
    with engine(model, tasks={"max_steps": 3}) as research:
        result = research.run(QUESTION)
    assert [("This is the last step" in said) for said in model.asked] == [False, False, True]
    assert HEIGHT in [f.content for f in result.findings]


def test_quotes_that_no_source_has_are_told_once_and_the_task_goes_on():
    wrong = {**FOUND, "facts": [{**FOUND["facts"][0], "quote": "Nobody ever measured the tower at all."}]}
    model = TaskModel((SEARCH, wrong, FOUND))
    with engine(model) as research:
        result = research.run(QUESTION)
    assert "Nobody ever measured" in model.asked[2]
    assert HEIGHT in [f.content for f in result.findings]
    assert len(model.asked) == 3


def test_a_question_that_only_the_owner_can_answer_ends_the_task_and_is_its_gap():
    ask = "Which of the two Orm lighthouses do you mean?"
    model = TaskModel((SEARCH, {"actions": [DONE], "ask_owner": ask}))
    with engine(model) as research:
        result = research.run(QUESTION)
    assert only(result).review.approved
    assert only(result).task.attempt == 0
    assert any(gap.description.endswith(ask) for gap in result.gaps)
    assert any(ask in line for line in messages(result))


def test_what_a_task_misses_is_a_gap():
    model = TaskModel((SEARCH, {**FOUND, "missing": ["What the tower cost"]}))
    with engine(model) as research:
        result = research.run(QUESTION)
    assert "What the tower cost" in [gap.description for gap in result.gaps]


def test_uses_of_one_step_work_side_by_side_and_come_in_their_order():
    two = {
        "actions": [{"tool": "search", "query": "first thing"}, {"tool": "search", "query": "second thing"}]
    }

    async def yields(request):
        await asyncio.sleep(0)

    search = ScriptedSearch(lambda request: results(request.query, 1), before=yields)
    model = TaskModel((two, {"actions": [DONE]}))
    with engine(model, search=[search], tasks={"max_retries": 0}) as research:
        result = research.run(QUESTION)
    assert search.most_at_once == 2
    assert [s.title for s in sorted(result.sources, key=lambda s: s.rank)] == [
        "Page 0 on first thing",
        "Page 0 on second thing",
    ]
    assert "S1: “Page 0 on first thing”" in model.asked[1]


def test_tasks_return_by_their_place_in_the_plan_and_not_by_who_was_first():
    async def slow(request):
        if "first" in request.query:
            for _ in range(50):
                await asyncio.sleep(0)

    plan = ("first lighthouse", "second lighthouse")
    search = ScriptedSearch(lambda request: results(request.query, 1), before=slow)
    model = TaskModel(
        lambda said: (
            {"actions": [{"tool": "search", "query": task_of(said)}]}
            if number_of(said) == 1
            else {"actions": [DONE]}
        ),
        plan=plan,
    )
    with engine(model, search=[search], tasks={"max_retries": 0}) as research:
        result = research.run(QUESTION)
    assert [t.task.question for t in result.state.tasks] == list(plan)


class Overruling(SupervisorHooks):
    def __init__(self, *verdicts):
        self.verdicts, self.seen = list(verdicts), []

    def review(self, state, task, finding):
        self.seen.append((task.review.approved, finding.answer))
        return self.verdicts.pop(0) if self.verdicts else None


def test_a_hook_overrules_the_reviewer_and_sees_what_it_said():
    hooks = Overruling(TaskVerdict(approved=False, critique="In metres, please."))
    model = TaskModel(lambda said: SEARCH if number_of(said) == 1 else FOUND)
    with engine(model, hooks=hooks) as research:
        result = research.run(QUESTION)
    assert hooks.seen == [(True, "It is 90 feet tall."), (True, "It is 90 feet tall.")]
    assert "In metres, please." in model.asked[-1]
    assert only(result).task.attempt == 1


def test_a_hook_that_approves_what_was_sent_back_ends_the_task():
    hooks = Overruling(TaskVerdict(approved=True))
    model = TaskModel(reviews=({"approved": False, "critique": CRITIQUE},))
    with engine(model, hooks=hooks) as research:
        result = research.run(QUESTION)
    assert (only(result).review.by, only(result).task.attempt) == ("hook", 0)
    assert messages(result) == []


def test_a_run_that_a_review_parks_goes_on_where_it_stood_and_asks_no_step_again():
    hooks = Overruling(Park("the editor"))
    model = TaskModel()
    with engine(model, hooks=hooks) as research:
        parked = research.run(QUESTION)
        assert (parked.status, parked.state.parking.waiting_for) == ("parked", "the editor")
        steps = len(model.asked), len(model.judged)
        result = research.resume(parked.research_id, "It will do.")
    assert (len(model.asked), len(model.judged)) == steps
    assert result.status == "completed"
    assert only(result).review.approved


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


def test_a_model_that_cannot_be_reached_parks_the_run_and_no_step_is_asked_again():
    broken = [failure(Verdict.PARK, "come back later", model="m", retry_after=90.0)]

    def steps(said):
        if number_of(said) == 2 and broken:
            raise broken.pop()
        return SEARCH if number_of(said) == 1 else FOUND

    model = TaskModel(steps)
    with engine(model) as research:
        parked = research.run(QUESTION)
        assert parked.status == "parked"
        result = research.resume(parked.research_id)
    assert result.status == "completed"
    assert [number_of(said) for said in model.asked] == [1, 2, 2]


def test_without_a_model_that_can_be_reached_tasks_go_on_without_one_where_that_is_allowed():
    def steps(said):
        raise failure(Verdict.PARK, "come back later", model="m", retry_after=90.0)

    with engine(TaskModel(steps), on_outage="extractive", tasks={"max_retries": 0}) as research:
        result = research.run(QUESTION)
    assert result.status == "completed"
    assert any(notice.name == "agent" and "task_agent" in notice.message for notice in result.notices)
    assert result.sources


def test_a_task_whose_model_says_nothing_usable_ends_with_what_it_has():
    model = TaskModel((SEARCH, "no JSON", "no JSON", "no JSON", "no JSON"))
    with engine(model, tasks={"max_retries": 0}) as research:
        result = research.run(QUESTION)
    assert only(result).finding.stopped
    assert result.status == "completed"
    assert any("Read these sources" in call.messages[-1].content for call in model.calls)


def test_without_a_model_a_task_is_one_search_and_the_run_is_the_same_as_without_tasks():
    reports = []
    for gathering in ("search", "agents"):
        with engine(None, gathering=gathering, max_iterations=2) as research:
            result = research.run(f"{QUESTION} Who built it?")
        reports.append((result.report, [s.id for s in result.sources], result.usage.searches))
    assert reports[0] == reports[1]
    assert HEIGHT in reports[1][0]


def test_without_a_model_nothing_found_is_searched_again_in_other_words():
    asked = []

    def found(request):
        asked.append(request.query)
        return results(request.query, 1) if len(asked) > 3 else []

    question = "How tall is the famous old Orm lighthouse tower on the northern reef?"
    with engine(None, search=[ScriptedSearch(found)], max_rewordings=0) as research:
        result = research.run(question)
    assert any(task.task.attempt for task in result.state.tasks)
    for task in result.state.tasks:
        assert len({*task.questions, task.task.question}) == len(task.questions) + 1


@pytest.mark.parametrize(
    ("given", "kind"),
    [({"tasks": {"sources": ["compny_db"]}}, "data source"), ({"tasks": {"tools": ["serch"]}}, "tool")],
    ids=["data source", "tool"],
)
def test_a_data_source_or_tool_that_there_is_not_is_refused_before_anything_is_spent(given, kind):
    with engine(TaskModel()) as research, pytest.raises(UnknownNameError, match=kind):
        research.run(QUESTION, **given)


def test_a_task_may_use_the_tools_that_the_run_allows_and_no_others():
    model = TaskModel((SEARCH, {"actions": [{"tool": "read_more", "source": "S1"}]}, FOUND))
    with engine(model, tasks={"tools": ["search"]}) as research:
        result = research.run(QUESTION)
    assert only(result).task.tools == ("search",)
    assert "read_more" not in model.asked[0]


def test_the_private_source_is_searched_only_by_tasks_that_may():
    company = ScriptedSearch(lambda request: results(request.query, 1), name="company")
    asks = {"actions": [{"tool": "search", "query": "Orm tower", "data_source": "company_db"}]}
    for allowed, searched in (((), 1), (("web",), 0)):
        company.requests.clear()
        with engine(
            TaskModel((asks, {"actions": [DONE]})),
            data_sources={"company_db": company},
            tasks={"max_retries": 0},
        ) as research:
            result = research.run(QUESTION, tasks={"sources": allowed})
        assert len(company.requests) == searched
        assert ("company_db" in only(result).task.data_sources) is bool(searched)


def test_without_a_model_private_sources_are_searched_beside_the_others():
    company = ScriptedSearch(lambda request: results(request.query, 1), name="company")
    with engine(None, data_sources={"company_db": company}) as research:
        result = research.run(QUESTION)
    assert company.requests
    assert any("example.org" in (source.url or "") for source in result.sources)
    with engine(
        None,
        data_sources={"company_db": company},
        tasks={"sources": ["company_db"]},
        search=[unasked := orm()],
    ) as research:
        research.run(QUESTION)
    assert unasked.requests == []


def test_the_caps_on_searches_and_pages_hold_over_all_tasks():
    def steps(said):
        return {
            "actions": [
                {"tool": "search", "query": f"{task_of(said)} {number_of(said)} {n}"} for n in range(4)
            ]
        }

    search = ScriptedSearch(lambda request: results(request.query, 1))
    plan = ("one lighthouse", "two lighthouses", "three lighthouses")
    with engine(
        TaskModel(steps, plan=plan),
        search=[search],
        max_sub_queries=3,
        max_searches=7,
        tasks={"max_retries": 1},
    ) as research:
        result = research.run(QUESTION)
    assert len(search.requests) <= 7
    assert result.usage.searches <= 7


def test_the_log_of_tasks_is_told_in_order():
    with engine(TaskModel()) as research:
        result = research.run(QUESTION)
        log = [
            name for name in names(research, result.research_id) if name.startswith(("task.", "sub_query"))
        ]
        steps = [e for e in research.events(result.research_id) if isinstance(e, TaskStepped)]
        finished = [e for e in research.events(result.research_id) if isinstance(e, TaskFinished)]
    assert log == [
        "task.dispatched",
        "task.step",
        "task.step",
        "task.finished",
        "task.reviewed",
        "sub_query.completed",
    ]
    assert steps[0].step.uses[0].arguments == {"query": "Orm lighthouse height"}
    assert steps[0].step.tokens.total > 0
    assert finished[0].finding.facts[0].quotes[0].quote == HEIGHT


def test_the_critique_of_an_attempt_reaches_the_next_alone():
    model = TaskModel(
        lambda said: SEARCH if number_of(said) == 1 else FOUND,
        (
            {"approved": False, "critique": CRITIQUE},
            {"approved": False, "critique": "Another thing."},
            {"approved": True},
        ),
    )
    with engine(model) as research:
        research.run(QUESTION)
    assert [attempt_of(said) for said in model.asked] == [0, 0, 1, 1, 1, 1]
    assert CRITIQUE not in model.asked[-1]
    assert "Another thing." in model.asked[-1]
